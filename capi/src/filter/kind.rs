//! Where a filter is: on the heap, or in a file that processes share.

use super::mapped::Mapped;
use crate::status::{Failure, Status};
use guira::{CuckooFilter, InsertError};
use std::ops::Deref;

/// The filter of a handle.
///
/// A handle's variant never changes, so the branch on it is predicted.
pub(crate) enum Kind {
    Heap(CuckooFilter),
    Mapped(Box<Mapped>),
}

/// The value of an expression with either filter.
macro_rules! either {
    ($kind:expr, $filter:ident => $value:expr) => {
        match $kind {
            Self::Heap($filter) => $value,
            Self::Mapped($filter) => $value,
        }
    };
}

/// Single calls by hash, which a mapped filter has inline.
impl Kind {
    #[inline(always)]
    pub(crate) fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        either!(self, filter => filter.insert_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        either!(self, filter => filter.insert_unique_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn contains_hash(&self, hash: u64) -> bool {
        either!(self, filter => filter.contains_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn remove_hash(&self, hash: u64) -> bool {
        either!(self, filter => filter.remove_hash(hash))
    }
}

/// For calls that need no seat.
impl Deref for Kind {
    type Target = CuckooFilter;

    #[inline(always)]
    fn deref(&self) -> &CuckooFilter {
        match self {
            Self::Heap(filter) => filter,
            Self::Mapped(filter) => filter.as_filter(),
        }
    }
}

impl Kind {
    /// The filter, for calls that scan it: this process has a seat then.
    pub(crate) fn to_scan(&self) -> Result<&CuckooFilter, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter),
            Self::Mapped(filter) => {
                filter.attach()?;
                Ok(filter.as_filter())
            }
        }
    }

    pub(crate) fn mapped(&self) -> Result<&Mapped, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Mapped(filter) => Ok(filter),
        }
    }

    pub(crate) fn mapped_mut(&mut self) -> Result<&mut Mapped, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Mapped(filter) => Ok(filter),
        }
    }

    /// The failure of an insert. If a process has no seat it is not `BUSY`, because no further call
    /// would help.
    #[cold]
    pub(crate) fn explained(&self, failure: Failure) -> Failure {
        match self {
            Self::Mapped(filter) if failure.0 == Status::Busy => match filter.attach() {
                Ok(()) => failure,
                Err(error) => error.into(),
            },
            _ => failure,
        }
    }
}

fn not_shared() -> Failure {
    Failure::new(
        Status::Unsupported,
        format_args!("the filter is not shared between processes"),
    )
}

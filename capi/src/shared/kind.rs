//! Where a filter is: on the heap, or in memory that processes share.

use super::{Mapped, mapped};
use crate::status::{Failure, Status};
use guira::InsertError;
use std::ops::Deref;

/// The filter of a handle.
///
/// A handle's variant never changes, so the branch on it is predicted.
pub(crate) enum Kind<M: Mapped> {
    Heap(M::Heap),
    Mapped(Box<M>),
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

/// Single calls by hash, which a mapped filter that does not expire has inline.
impl Kind<mapped::Filter> {
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
impl<M: Mapped> Deref for Kind<M> {
    type Target = M::Heap;

    #[inline(always)]
    fn deref(&self) -> &M::Heap {
        match self {
            Self::Heap(filter) => filter,
            Self::Mapped(filter) => filter.as_heap(),
        }
    }
}

impl<M: Mapped> Kind<M> {
    /// The filter, for calls that scan it or begin an epoch: this process has a seat then.
    pub(crate) fn to_scan(&self) -> Result<&M::Heap, Failure> {
        if let Self::Mapped(filter) = self {
            filter.attach()?;
        }
        Ok(self)
    }

    pub(crate) fn mapped(&self) -> Result<&M, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Mapped(filter) => Ok(filter),
        }
    }

    pub(crate) fn mapped_mut(&mut self) -> Result<&mut M, Failure> {
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
                Err(error) => error,
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

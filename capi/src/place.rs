//! Where a filter is: on the heap, or in memory that processes share, to use it or only to read it.

#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64")),
    path = "place/unmapped.rs"
)]
mod mapped;

use crate::status::{Failure, Status};
use guira::{Builder, Hashed, InsertError, Lifetime, SeededState};
use std::{ffi::c_int, path::Path};

/// A filter on the heap.
pub(crate) type Heap<T> = guira::Filter<SeededState, T>;

/// A lifetime of items, and the filters of this lifetime in memory that processes share.
pub(crate) trait Shareable: Lifetime + Sized {
    type Shared: Mapped<Self>;
    type Reader: Reads<Self>;
}

/// Where a filter is that other processes have made.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64")),
    expect(dead_code, reason = "no filter can be there")
)]
pub(crate) enum Source<'a> {
    Path(&'a Path),
    Memfd(c_int),
}

/// What a handle is for.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A filter in memory that processes share. Without a path, the memory has no name.
pub(crate) trait Mapped<T: Lifetime>: Sized {
    /// # Safety
    ///
    /// As [`SharedFilter::create_for`](guira_shm::SharedFilter::create_for).
    unsafe fn create(
        path: Option<&Path>,
        builder: Builder<SeededState, T>,
        max_processes: usize,
    ) -> Result<Self, Failure>;

    /// # Safety
    ///
    /// As [`SharedFilter::create_copy`](guira_shm::SharedFilter::create_copy).
    unsafe fn copy(
        path: Option<&Path>,
        filter: &Heap<T>,
        max_processes: usize,
    ) -> Result<Self, Failure>;

    /// The filter, unless its items have another lifetime.
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](guira_shm::SharedFilter::open).
    unsafe fn open(source: Source<'_>) -> Result<Option<Self>, Failure>;

    /// The descriptor of a filter that has no path.
    fn memfd(&self) -> Option<c_int>;

    fn as_filter(&self) -> &Heap<T>;

    fn contains_hash(&self, hash: u64) -> bool;

    fn insert_hash(&self, hash: u64) -> Result<(), InsertError>;

    fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError>;

    fn remove_hash(&self, hash: u64) -> bool;

    fn attach(&self) -> Result<(), Failure>;

    /// The number of dead processes after which it cleaned up.
    fn repair(&self) -> usize;

    fn recount(&mut self) -> Result<usize, Failure>;

    fn participants(&self) -> Participants;

    fn was_closed_cleanly(&self) -> bool;
}

/// The processes that share a filter.
pub(crate) struct Participants {
    pub(crate) in_use: usize,
    pub(crate) max: usize,
    pub(crate) deaths: u64,
}

/// A filter in memory that this process only reads.
pub(crate) trait Reads<T: Lifetime>: Sized {
    /// The filter, unless its items have another lifetime.
    ///
    /// # Safety
    ///
    /// As [`SharedReader::open`](guira_shm::SharedReader::open).
    unsafe fn open(source: Source<'_>) -> Result<Option<Self>, Failure>;

    /// # Safety
    ///
    /// No call writes to the filter.
    unsafe fn as_filter(&self) -> &Heap<T>;

    fn contains_hash(&self, hash: u64) -> bool;
}

/// The filter of a handle.
///
/// A handle's variant never changes, so the branch on it is predicted. There are two variants, so that the
/// branch is one comparison.
pub(crate) enum Place<T: Shareable> {
    Heap(Heap<T>),
    Memory(Box<Memory<T>>),
}

/// A filter in memory that processes share.
pub(crate) enum Memory<T: Shareable> {
    Shared(T::Shared),
    Reader(T::Reader),
}

impl<T: Shareable> Memory<T> {
    #[inline(always)]
    fn shared(&self) -> Result<&T::Shared, Failure> {
        match self {
            Self::Shared(filter) => Ok(filter),
            Self::Reader(_) => Err(only_reads()),
        }
    }
}

/// Filters that processes share.
impl<T: Shareable> Place<T> {
    /// # Safety
    ///
    /// As [`Mapped::create`].
    pub(crate) unsafe fn create(
        path: Option<&Path>,
        builder: Builder<SeededState, T>,
        max_processes: usize,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let made = unsafe { T::Shared::create(path, builder, max_processes) }?;
        Ok(Self::Memory(Box::new(Memory::Shared(made))))
    }

    /// # Safety
    ///
    /// As [`Mapped::copy`].
    pub(crate) unsafe fn copy(
        &self,
        path: Option<&Path>,
        max_processes: usize,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let made = unsafe { T::Shared::copy(path, self.to_scan()?, max_processes) }?;
        Ok(Self::Memory(Box::new(Memory::Shared(made))))
    }

    /// The filter, unless its items have another lifetime.
    ///
    /// # Safety
    ///
    /// As [`Mapped::open`].
    pub(crate) unsafe fn open(source: Source<'_>, access: Access) -> Result<Option<Self>, Failure> {
        Ok(match access {
            Access::Read => {
                // SAFETY: the caller promises it.
                let opened = unsafe { T::Reader::open(source) }?;
                opened.map(|it| Self::Memory(Box::new(Memory::Reader(it))))
            }
            Access::Write => {
                // SAFETY: the caller promises it.
                let opened = unsafe { T::Shared::open(source) }?;
                opened.map(|it| Self::Memory(Box::new(Memory::Shared(it))))
            }
        })
    }

    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self, Self::Heap(_))
    }

    pub(crate) fn shared(&self) -> Result<&impl Mapped<T>, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Memory(memory) => memory.shared(),
        }
    }

    pub(crate) fn shared_mut(&mut self) -> Result<&mut impl Mapped<T>, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Memory(memory) => match &mut **memory {
                Memory::Shared(filter) => Ok(filter),
                Memory::Reader(_) => Err(only_reads()),
            },
        }
    }
}

/// A call in a function of its own: it would cost the others registers where they are saved.
#[inline(never)]
pub(crate) fn apart<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// Single calls by hash, which some filters have inline.
impl<T: Shareable> Place<T> {
    #[inline(always)]
    pub(crate) fn contains_hash(&self, hash: u64) -> bool {
        match self {
            Self::Heap(filter) => filter.contains(&Hashed(hash)),
            Self::Memory(memory) => match &**memory {
                Memory::Shared(filter) => filter.contains_hash(hash),
                Memory::Reader(filter) => apart(|| filter.contains_hash(hash)),
            },
        }
    }

    #[inline(always)]
    pub(crate) fn insert_hash(&self, hash: u64) -> Result<(), Failure> {
        let inserted = match self {
            Self::Heap(filter) => filter.insert(&Hashed(hash)),
            Self::Memory(memory) => memory.shared()?.insert_hash(hash),
        };
        inserted.map_err(|error| self.explained(error))
    }

    #[inline(always)]
    pub(crate) fn insert_unique_hash(&self, hash: u64) -> Result<bool, Failure> {
        let inserted = match self {
            Self::Heap(filter) => filter.insert_unique(&Hashed(hash)),
            Self::Memory(memory) => memory.shared()?.insert_unique_hash(hash),
        };
        inserted.map_err(|error| self.explained(error))
    }

    #[inline(always)]
    pub(crate) fn remove_hash(&self, hash: u64) -> Result<bool, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter.remove(&Hashed(hash))),
            Self::Memory(memory) => Ok(memory.shared()?.remove_hash(hash)),
        }
    }
}

impl<T: Shareable> Place<T> {
    /// The filter, for calls that only read it.
    #[inline(always)]
    pub(crate) fn to_read(&self) -> &Heap<T> {
        match self {
            Self::Heap(filter) => filter,
            Self::Memory(memory) => match &**memory {
                Memory::Shared(filter) => filter.as_filter(),
                // SAFETY: callers only read.
                Memory::Reader(filter) => unsafe { filter.as_filter() },
            },
        }
    }

    /// The filter, for calls that write to it.
    #[inline(always)]
    pub(crate) fn to_write(&self) -> Result<&Heap<T>, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter),
            Self::Memory(memory) => Ok(memory.shared()?.as_filter()),
        }
    }

    /// The filter, for calls that scan it or begin an epoch: this process has a seat then.
    pub(crate) fn to_scan(&self) -> Result<&Heap<T>, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter),
            Self::Memory(memory) => {
                let filter = memory.shared()?;
                filter.attach()?;
                Ok(filter.as_filter())
            }
        }
    }

    /// The failure of an insert. If a process has no seat it is not `BUSY`, because no further call
    /// would help.
    #[cold]
    pub(crate) fn explained(&self, error: impl Into<Failure>) -> Failure {
        let failure = error.into();
        if let (Self::Memory(memory), Status::Busy) = (self, failure.0)
            && let Memory::Shared(filter) = &**memory
            && let Err(error) = filter.attach()
        {
            return error;
        }
        failure
    }
}

#[cold]
fn not_shared() -> Failure {
    Failure::unsupported("the filter is not shared between processes")
}

#[cold]
fn only_reads() -> Failure {
    Failure::unsupported("this handle only looks items up")
}

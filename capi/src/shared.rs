//! Filters that processes share, of both kinds: what a handle has of one, and its calls.

mod calls;
mod kind;
#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64")),
    path = "shared/unmapped.rs"
)]
pub(crate) mod mapped;

use crate::status::Failure;
pub(crate) use calls::*;
use guira::SeededState;
pub(crate) use kind::Kind;
use std::{ffi::c_int, path::Path};

/// A filter in memory that processes share.
pub(crate) trait Mapped: Sized {
    /// The same kind of filter on the heap.
    type Heap;

    /// What makes a filter of this kind.
    type Builder;

    /// # Safety
    ///
    /// As [`SharedFilter::create_for`](guira_shm::SharedFilter::create_for).
    unsafe fn create(
        path: &Path,
        builder: Self::Builder,
        max_processes: usize,
    ) -> Result<Self, Failure>;

    /// # Safety
    ///
    /// As [`SharedFilter::open`](guira_shm::SharedFilter::open).
    unsafe fn open(path: &Path) -> Result<Self, Failure>;

    fn create_memfd(builder: Self::Builder, max_processes: usize) -> Result<Self, Failure>;

    /// # Safety
    ///
    /// As [`SharedFilter::create_copy`](guira_shm::SharedFilter::create_copy).
    unsafe fn create_copy(
        path: &Path,
        filter: &Self::Heap,
        max_processes: usize,
    ) -> Result<Self, Failure>;

    fn create_memfd_copy(filter: &Self::Heap, max_processes: usize) -> Result<Self, Failure>;

    fn of_memfd(descriptor: c_int) -> Result<Self, Failure>;

    /// The descriptor of a filter that has no path.
    fn memfd(&self) -> Option<c_int>;

    fn as_heap(&self) -> &Self::Heap;

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
pub(crate) trait Reads: Sized {
    /// # Safety
    ///
    /// As [`SharedReader::open`](guira_shm::SharedReader::open).
    unsafe fn open(path: &Path) -> Result<Self, Failure>;

    fn of_memfd(descriptor: c_int) -> Result<Self, Failure>;

    fn hasher(&self) -> &SeededState;

    fn contains_hash(&self, hash: u64) -> bool;

    fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]);

    fn count_hash(&self, hash: u64) -> usize;

    fn len(&self) -> usize;

    fn capacity(&self) -> usize;
}

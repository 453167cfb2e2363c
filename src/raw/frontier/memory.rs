//! What a scan returns when the allocator refuses the memory that it needs beside the filter.

use crate::{
    error::{InsertError, SnapshotError},
    sync::once::NoMemory,
};
use std::{
    alloc::{self, Layout},
    convert::Infallible,
    io,
};

/// An error of a caller of scans.
pub(crate) trait ScanError: Sized {
    /// There is no memory to scan a filter of this number of buckets.
    fn without_memory(buckets: usize) -> Self;
}

impl ScanError for InsertError {
    fn without_memory(_buckets: usize) -> Self {
        Self::Memory
    }
}

impl ScanError for SnapshotError {
    fn without_memory(buckets: usize) -> Self {
        Self::Memory { buckets }
    }
}

impl ScanError for io::Error {
    fn without_memory(_buckets: usize) -> Self {
        io::ErrorKind::OutOfMemory.into()
    }
}

/// A caller that cannot return an error, such as `digest`, ends as a `Vec` does.
impl ScanError for Infallible {
    fn without_memory(_buckets: usize) -> Self {
        alloc::handle_alloc_error(Layout::new::<u64>())
    }
}

/// The result as one of the caller's.
pub(super) fn checked<T, E: ScanError>(
    result: Result<T, NoMemory>,
    buckets: usize,
) -> Result<T, E> {
    result.map_err(|NoMemory| E::without_memory(buckets))
}

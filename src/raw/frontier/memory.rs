//! What a scan returns when it cannot begin, or when the allocator refuses the memory that it needs beside
//! the filter.

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

    /// Processes share the filter, and this one has no seat.
    fn without_seat(buckets: usize) -> Self;
}

/// Processes share the filter, and this one cannot become a member.
#[derive(Debug)]
pub(crate) struct NoSeat;

impl NoSeat {
    const TEXT: &str = "this process has no seat in the shared filter, and none is free";
}

impl ScanError for InsertError {
    fn without_memory(_buckets: usize) -> Self {
        Self::Memory
    }

    fn without_seat(_buckets: usize) -> Self {
        Self::TooManyInFlight
    }
}

impl ScanError for SnapshotError {
    fn without_memory(buckets: usize) -> Self {
        Self::Memory { buckets }
    }

    fn without_seat(_buckets: usize) -> Self {
        Self::Io(io::Error::other(NoSeat::TEXT))
    }
}

/// A caller that cannot return an error, such as `digest`, ends as a `Vec` does.
impl ScanError for Infallible {
    fn without_memory(_buckets: usize) -> Self {
        alloc::handle_alloc_error(Layout::new::<u64>())
    }

    fn without_seat(_buckets: usize) -> Self {
        panic!("{}", NoSeat::TEXT)
    }
}

/// The result as one of the caller's.
pub(super) fn checked<T, E: ScanError>(
    result: Result<T, NoMemory>,
    buckets: usize,
) -> Result<T, E> {
    result.map_err(|NoMemory| E::without_memory(buckets))
}

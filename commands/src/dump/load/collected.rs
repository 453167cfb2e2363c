//! The snapshot of a filter with a window, of which the library reads all at once.

use super::{Header, LoadError};
use crate::{Clock, Filter};
use guira::SnapshotError;

/// So many times the bytes of a snapshot are in use at most: those, and the words that are read from
/// them, in a vector that grows.
const TIMES: u64 = 3;

/// What has come of it. All that it will need is taken account of from the first piece on.
#[derive(Debug)]
pub(super) struct Collected {
    free: usize,
    needed: usize,
    bytes: Vec<u8>,
    /// Of the filter.
    clock: Clock,
}

impl Collected {
    /// Nothing; so many bytes are free.
    pub(super) fn new(free: usize, clock: Clock) -> Self {
        Self {
            free,
            needed: 0,
            bytes: Vec::new(),
            clock,
        }
    }

    /// Takes the next piece of a snapshot of `length` bytes; how many bytes of it.
    pub(super) fn take(&mut self, length: u64, piece: &[u8]) -> Result<usize, LoadError> {
        let (needed, free) = (TIMES.saturating_mul(length), self.free);
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        if needed > free {
            return Err(LoadError::Memory { needed, free });
        }
        self.needed = needed;
        let missing = length.saturating_sub(self.bytes.len() as u64);
        let taken = piece
            .len()
            .min(usize::try_from(missing).unwrap_or(usize::MAX));
        self.bytes.try_reserve(taken).map_err(|_| {
            LoadError::Allocator(SnapshotError::Memory {
                buckets: needed / size_of::<u64>(),
            })
        })?;
        self.bytes.extend_from_slice(&piece[..taken]);
        Ok(taken)
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.needed
    }

    /// The filter. It has aged by nothing: a dump has no clock.
    pub(super) fn finish(self, header: Header) -> Result<Filter, SnapshotError> {
        let mut rest = &self.bytes[..];
        let filter = Filter::read_from(&mut rest, header, self.clock)?;
        match rest.len() {
            0 => Ok(filter),
            count => Err(SnapshotError::TrailingBytes { count }),
        }
    }
}

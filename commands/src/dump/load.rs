//! `CF.LOADCHUNK`: a filter that a client restores, built as its pieces come.

use super::{Header, HeaderError, LENGTH_BYTES, OFFSET_BITS, offset_of};
use crate::{Clock, Filter, FilterDecoder};
use guira::SnapshotError;
use thiserror::Error;

/// A snapshot is shorter than its filter's bytes times this number. If the filter doubles while the
/// snapshot is written, the snapshot starts again, each time with twice as many words as before.
const LONGEST: usize = 3;

/// Bytes of a snapshot beside those.
const BESIDE: usize = 1 << 20;

/// What a filter that is loaded may take up.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes that are free.
    pub free: usize,
    /// Bytes that filters may have at all.
    pub limit: usize,
}

/// A filter that has received some of its pieces.
#[derive(Debug)]
pub struct Load {
    /// Bytes that have come.
    come: u64,
    /// The bytes of the snapshot, which come before it.
    length: [u8; LENGTH_BYTES],
    /// And how many these may be.
    most: u64,
    snapshot: FilterDecoder,
}

/// A dump cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It has another header.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// This is not the next piece. The load can continue with the next one.
    #[error("Couldn't load chunk!")]
    Position,
    /// There are bytes after its end.
    #[error("Couldn't load chunk!")]
    Surplus,
    /// It is damaged.
    #[error("Couldn't load chunk!")]
    Damaged(#[source] SnapshotError),
    /// It says that it has more bytes than any filter that may be loaded.
    #[error("Couldn't load chunk! The dump is said to have {length} bytes, and {most} are allowed")]
    Length {
        /// Bytes that it is said to have.
        length: u64,
        /// Bytes that are allowed.
        most: u64,
    },
    /// There is not as much memory free as may be used.
    #[error("OOM the filter needs {needed} bytes, and {free} are free")]
    Memory {
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that were free when the load began.
        free: usize,
    },
    /// The system has no memory.
    #[error("OOM {0}")]
    Allocator(SnapshotError),
}

impl Load {
    /// Of the filter with this header, which was dumped first. If it has a window, it goes by `clock`.
    ///
    /// # Errors
    ///
    /// [`LoadError::Header`]
    pub fn begin(header: &[u8], memory: Memory, clock: Clock) -> Result<Self, LoadError> {
        let header = Header::from_bytes(header)?;
        Ok(Self {
            come: 0,
            length: [0; LENGTH_BYTES],
            most: longest(memory.limit),
            snapshot: FilterDecoder::new(header, clock, memory.free),
        })
    }

    /// Takes the next piece, after which the dump continues at `position`: true if it was the last
    /// one.
    ///
    /// # Errors
    ///
    /// [`LoadError`]; unless it is [`LoadError::Position`], the load is to be given up.
    pub fn take(&mut self, position: u64, piece: &[u8]) -> Result<bool, LoadError> {
        let (_, end) = offset_of(position);
        if piece.is_empty() || end != self.come + piece.len() as u64 {
            return Err(LoadError::Position);
        }
        let begun = LENGTH_BYTES.min(self.come.try_into().unwrap_or(LENGTH_BYTES));
        let of_length = piece.len().min(LENGTH_BYTES - begun);
        let (of_length, of_snapshot) = piece.split_at(of_length);
        self.length[begun..begun + of_length.len()].copy_from_slice(of_length);
        self.come = end;
        let Some(come) = self.come.checked_sub(LENGTH_BYTES as u64) else {
            return Ok(false);
        };
        let (length, most) = (u64::from_le_bytes(self.length), self.most);
        if length > most {
            return Err(LoadError::Length { length, most });
        }
        let taken = self.snapshot.feed(of_snapshot)?;
        if taken < of_snapshot.len() || come > length {
            return Err(LoadError::Surplus);
        }
        Ok(come == length)
    }

    /// Bytes that it takes up.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.snapshot.memory_usage()
    }

    /// The filter, after the last piece.
    ///
    /// # Errors
    ///
    /// [`LoadError::Damaged`], if it is, or if there are pieces to come.
    pub fn finish(self) -> Result<Filter, LoadError> {
        Ok(self.snapshot.finish()?)
    }
}

impl From<SnapshotError> for LoadError {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::TooLarge { asked, allowed } => Self::Memory {
                needed: asked,
                free: allowed,
            },
            SnapshotError::Memory { .. } => Self::Allocator(error),
            _ => Self::Damaged(error),
        }
    }
}

/// The most bytes of a snapshot if filters may have `memory` bytes.
fn longest(memory: usize) -> u64 {
    let most = memory.saturating_mul(LONGEST).saturating_add(BESIDE) as u64;
    most.min(1 << OFFSET_BITS)
}

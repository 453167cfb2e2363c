//! `CF.LOADCHUNK`: a filter that a client restores, built as its pieces arrive.

use super::{Header, HeaderError, LENGTH_BYTES, OFFSET_BITS, offset_of};
use crate::{Clock, Filter, FilterDecoder};
use guira::SnapshotError;
use thiserror::Error;

/// A snapshot is shorter than the bytes of its filter times this number. If the filter doubles while
/// the snapshot is written, the snapshot starts again, each time with twice the number of words.
const LONGEST: usize = 3;

/// Additional bytes of a snapshot.
const BESIDE: usize = 1 << 20;

/// The memory that a loaded filter may take.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The number of free bytes.
    pub free: usize,
    /// The maximum size of any filter in bytes.
    pub limit: usize,
}

/// A filter that has received some of its pieces.
#[derive(Debug)]
pub struct Load {
    /// The number of bytes received.
    come: u64,
    /// The length of the snapshot, which precedes the snapshot.
    length: [u8; LENGTH_BYTES],
    /// The maximum length.
    most: u64,
    snapshot: FilterDecoder,
}

/// The reason why a dump cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The header is not that of a dump.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The piece is not the next one. The load can continue with the next piece.
    #[error("Couldn't load chunk!")]
    Position,
    /// There are bytes after the end of the snapshot.
    #[error("Couldn't load chunk!")]
    Surplus,
    /// The snapshot is damaged.
    #[error("Couldn't load chunk!")]
    Damaged(#[source] SnapshotError),
    /// The announced length exceeds that of any filter that may be loaded.
    #[error("Couldn't load chunk! The dump is said to have {length} bytes, and {most} are allowed")]
    Length {
        /// The announced length in bytes.
        length: u64,
        /// The allowed length in bytes.
        most: u64,
    },
    /// There is not enough free memory.
    #[error("OOM the filter needs {needed} bytes, and {free} are free")]
    Memory {
        /// The number of bytes that the filter needs.
        needed: usize,
        /// The number of bytes that were free when the load started.
        free: usize,
    },
    /// The system is out of memory.
    #[error("OOM {0}")]
    Allocator(SnapshotError),
}

impl Load {
    /// Starts to load the filter with this header, the first part of a dump. `clock` is for filters
    /// with a window.
    ///
    /// # Errors
    ///
    /// [`LoadError::Header`]
    pub fn begin(header: &[u8], memory: Memory, clock: Clock) -> Result<Self, LoadError> {
        let header = Header::from_bytes(header)?;
        Ok(Self {
            come: 0,
            length: [0; LENGTH_BYTES],
            most: longest_snapshot(memory.limit).min(1 << OFFSET_BITS),
            snapshot: FilterDecoder::new(header, clock, memory.free),
        })
    }

    /// Adds the next piece, after which the dump continues at `position`. Returns true if it was the
    /// last piece.
    ///
    /// # Errors
    ///
    /// [`LoadError`]. After any error but [`LoadError::Position`], the load cannot be continued.
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

    /// The number of bytes that the load occupies.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.snapshot.memory_usage()
    }

    /// Returns the filter, after the last piece.
    ///
    /// # Errors
    ///
    /// [`LoadError::Damaged`], if the snapshot is damaged or incomplete.
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

/// The maximum length of the snapshots of filters that may occupy `memory` bytes in all.
#[must_use]
pub fn longest_snapshot(memory: usize) -> u64 {
    memory.saturating_mul(LONGEST).saturating_add(BESIDE) as u64
}

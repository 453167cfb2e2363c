//! A filter that has received some of its pieces by `CF.LOADCHUNK`.
//!
//! It is a value as a filter is: saved, replicated, moved and expired by the engine. A replica that
//! comes in the midst of a load has what is there already, and gets the other pieces.
//!
//! Its pieces are kept beside the filter that is built from them, because that filter cannot be
//! taken apart again. So a load takes its memory twice, and the last piece takes no longer than the
//! others. A load that was restored from a file, a payload or another key only has its pieces, so
//! it takes no more memory than they do. They are decoded when the next piece comes, and only then
//! is it known whether they are right.

use guira::SnapshotError;
use guira_commands::{
    Clock, Filter,
    dump::{Header, LENGTH_BYTES, Load, LoadError, Memory, PIECE, position_of},
};
use std::{fmt, sync::Arc};

/// Nothing is refused for its size.
pub(crate) const ANY_SIZE: Memory = Memory {
    free: usize::MAX,
    limit: usize::MAX,
};

pub(crate) struct Loading {
    header: Box<[u8]>,
    come: Come,
    /// `None` until what was restored is decoded.
    load: Option<Load>,
    clock: Clock,
}

/// All that has come, in pieces of 1 MiB. Smaller pieces share one, so that a piece of one byte takes
/// up no more than that.
#[derive(Default)]
struct Come {
    pieces: Vec<Vec<u8>>,
    bytes: u64,
}

/// Where a load is after a piece.
#[derive(Debug)]
pub(crate) enum Progress {
    /// There are pieces to come.
    GoesOn,
    /// That was the last one.
    Done(Arc<Filter>),
}

impl Loading {
    /// Of a filter that goes by `clock` if it has a window.
    pub(crate) fn begin(header: &[u8], memory: Memory, clock: Clock) -> Result<Self, LoadError> {
        Ok(Self {
            load: Some(Load::begin(header, memory, clock.clone())?),
            clock,
            header: header.into(),
            come: Come::default(),
        })
    }

    /// Takes the next piece. `memory` limits what was restored, and is not decoded yet. After an error
    /// other than [`LoadError::Position`] it is good for nothing.
    pub(crate) fn take(
        &mut self,
        position: u64,
        piece: &[u8],
        memory: Memory,
    ) -> Result<Progress, LoadError> {
        let mut load = match self.load.take() {
            Some(load) => load,
            None => self.decoded(memory)?,
        };
        let is_last = load.take(position, piece);
        match is_last {
            Ok(true) => return load.finish().map(|filter| Progress::Done(filter.into())),
            Ok(false) => self.come.push(piece)?,
            Err(LoadError::Position) => {}
            Err(error) => return Err(error),
        }
        self.load = Some(load);
        is_last.map(|_| Progress::GoesOn)
    }

    /// What had this [`header`](Self::header), without its [`pieces`](Self::pieces).
    pub(crate) fn restore(header: &[u8], clock: Clock) -> Result<Self, LoadError> {
        Header::from_bytes(header)?;
        Ok(Self {
            header: header.into(),
            come: Come::default(),
            load: None,
            clock,
        })
    }

    /// Takes the next of these pieces, and decodes nothing.
    pub(crate) fn restore_piece(&mut self, piece: &[u8]) -> Result<(), LoadError> {
        self.come.push(piece)?;
        match self.come.is_whole() {
            // A load that has ended is a filter.
            true => Err(LoadError::Surplus),
            false => Ok(()),
        }
    }

    /// What has come, decoded.
    fn decoded(&self, memory: Memory) -> Result<Load, LoadError> {
        let mut load = Load::begin(&self.header, memory, self.clock.clone())?;
        let mut end = 0;
        for piece in self.pieces() {
            end += piece.len() as u64;
            if load.take(position_of(0, end), piece)? {
                return Err(LoadError::Surplus);
            }
        }
        Ok(load)
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.come.pieces.iter().map(|piece| &**piece)
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let load = self.load.as_ref().map_or(0, Load::memory_usage);
        self.header.len() + self.come.memory_usage() + load
    }
}

impl Come {
    const PIECE: usize = PIECE as usize;

    fn push(&mut self, mut bytes: &[u8]) -> Result<(), LoadError> {
        let no_memory = |_| {
            LoadError::Allocator(SnapshotError::Memory {
                buckets: bytes.len() / size_of::<u64>(),
            })
        };
        while !bytes.is_empty() {
            let Some(last) = self
                .pieces
                .last_mut()
                .filter(|last| last.len() < Self::PIECE)
            else {
                self.pieces.try_reserve(1).map_err(no_memory)?;
                self.pieces.push(Vec::new());
                continue;
            };
            let room = Self::PIECE - last.len();
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            if last.capacity() - last.len() < now.len() {
                // It doubles, up to a whole piece.
                let more = last.len().min(room).max(now.len());
                last.try_reserve_exact(more).map_err(no_memory)?;
            }
            last.extend_from_slice(now);
            self.bytes += now.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// True if all bytes are there that the first ones announce.
    fn is_whole(&self) -> bool {
        let length = self.pieces.first().and_then(|piece| piece.first_chunk());
        length.is_some_and(|length| self.bytes - LENGTH_BYTES as u64 >= u64::from_le_bytes(*length))
    }

    fn memory_usage(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(Vec::capacity).sum();
        pieces + self.pieces.capacity() * size_of::<Vec<u8>>()
    }
}

impl fmt::Debug for Loading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loading")
            .field("come", &self.come.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_byte_take_up_no_more_than_that() {
        let mut come = Come::default();
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
        for byte in &bytes {
            come.push(&[*byte]).unwrap();
        }
        assert_eq!(come.bytes, 3_000_000);
        assert_eq!(come.pieces.concat(), bytes);
        assert!(come.pieces.iter().all(|piece| piece.len() <= Come::PIECE));
        assert!(come.memory_usage() < bytes.len() + Come::PIECE + 1000);
    }

    #[test]
    fn pieces_are_cut_at_the_same_places_however_they_come() {
        let bytes = vec![7; 2 * Come::PIECE + 5];
        for size in [999, Come::PIECE - 1, Come::PIECE + 1, bytes.len()] {
            let mut come = Come::default();
            for piece in bytes.chunks(size) {
                come.push(piece).unwrap();
            }
            let lengths = come.pieces.iter().map(Vec::len);
            assert!(lengths.eq([Come::PIECE, Come::PIECE, 5]), "{size}");
            assert!(come.memory_usage() <= 3 * Come::PIECE + 1000, "{size}");
        }
    }
}

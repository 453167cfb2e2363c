//! A filter that has received some of its pieces by `CF.LOADCHUNK`.
//!
//! It is a value like a finished filter: the engine saves, replicates, migrates and expires it. A
//! replica that connects during a load gets the pieces so far, and then the others.
//!
//! The pieces are kept beside the filter that is built from them, because that filter cannot be
//! taken apart again. A load therefore takes twice its memory, and its last piece takes no longer
//! than the others. A load restored from a file, a payload or another key has only its pieces, and
//! takes no more memory than they do. They are decoded, and checked, when the next piece arrives.

use guira::SnapshotError;
use guira_commands::{
    Clock, Filter,
    dump::{Header, LENGTH_BYTES, Load, LoadError, Memory, PIECE, position_of},
};
use std::fmt;

/// A memory limit that no filter exceeds.
pub(crate) const ANY_SIZE: Memory = Memory {
    free: usize::MAX,
    limit: usize::MAX,
};

pub(crate) struct Loading {
    header: Box<[u8]>,
    come: Come,
    /// `None` until restored pieces are decoded.
    load: Option<Load>,
    clock: Clock,
}

/// All received bytes, in chunks of up to 1 MiB. Small pieces share a chunk, so that a piece of one
/// byte takes one byte.
#[derive(Default)]
struct Come {
    pieces: Vec<Vec<u8>>,
    bytes: u64,
}

/// The state of a load after a piece.
#[derive(Debug)]
pub(crate) enum Progress {
    /// More pieces are expected.
    GoesOn,
    /// That was the last piece.
    Done(Box<Filter>),
}

impl Loading {
    /// Starts a load. `clock` is for filters with a window.
    pub(crate) fn begin(header: &[u8], memory: Memory, clock: Clock) -> Result<Self, LoadError> {
        Ok(Self {
            load: Some(Load::begin(header, memory, clock.clone())?),
            clock,
            header: header.into(),
            come: Come::default(),
        })
    }

    /// Adds the next piece. `memory` limits what decoding restored pieces may take. After an error
    /// other than [`LoadError::Position`] the load cannot be continued.
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

    /// Restores a load from its [`header`](Self::header), before its [`pieces`](Self::pieces).
    pub(crate) fn restore(header: &[u8], clock: Clock) -> Result<Self, LoadError> {
        Header::from_bytes(header)?;
        Ok(Self {
            header: header.into(),
            come: Come::default(),
            load: None,
            clock,
        })
    }

    /// Adds the next restored piece without decoding it.
    pub(crate) fn restore_piece(&mut self, piece: &[u8]) -> Result<(), LoadError> {
        self.come.push(piece)?;
        match self.come.is_whole() {
            // A load that is complete would have been a filter.
            true => Err(LoadError::Surplus),
            false => Ok(()),
        }
    }

    /// Decodes all restored pieces.
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
                // The capacity doubles, up to a whole chunk.
                let more = last.len().min(room).max(now.len());
                last.try_reserve_exact(more).map_err(no_memory)?;
            }
            last.extend_from_slice(now);
            self.bytes += now.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// True if all bytes that the header announces are present.
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

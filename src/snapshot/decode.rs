//! The bytes of a snapshot as a sequence of items, for both kinds of filter.
//!
//! Every snapshot is a header, then numbers of 8 bytes and chunks of words, then the checksum.
//! [`Content`] decides which item follows which.

use super::{
    content::Content,
    fill_from,
    header::HEADER_BYTES,
    item::{Came, Next},
};
use crate::{error::SnapshotError, lifetime::Lifetime};
use std::io::Read;

/// The buffer of a chunk grows by at least this number of words.
const STEP: usize = 512;

/// The state of a decoder between two bytes.
pub(crate) struct Decoder<T: Lifetime> {
    next: Next,
    /// The bytes of the current item, unless it is a chunk.
    item: [u8; HEADER_BYTES],
    /// The number of bytes of the current item that have arrived.
    filled: usize,
    sum: crc32fast::Hasher,
    /// The limit for the bytes of the buckets.
    most: usize,
    /// The words of the current chunk that have arrived, or the words of the last chunk.
    words: Vec<u64>,
    /// Everything after the header.
    content: Option<Content<T>>,
}

impl<T: Lifetime> Decoder<T> {
    /// A decoder for a filter whose buckets occupy at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            next: Next::Header,
            item: [0; HEADER_BYTES],
            filled: 0,
            sum: crc32fast::Hasher::new(),
            most,
            words: Vec::new(),
            content: None,
        }
    }

    /// Reads the snapshot up to its last byte.
    pub(crate) fn read_on(mut self, mut reader: impl Read) -> Result<Content<T>, SnapshotError> {
        while !self.is_complete() {
            let room = self.room()?;
            let count = room.len();
            fill_from(&mut reader, room)?;
            self.take(count, 0)?;
        }
        self.finish()
    }

    /// Takes the next bytes and returns how many of them belong to the snapshot.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<usize, SnapshotError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.room()?;
            let (now, after) = rest.split_at(room.len().min(rest.len()));
            if now.is_empty() {
                break;
            }
            room[..now.len()].copy_from_slice(now);
            self.take(now.len(), after.len())?;
            rest = after;
        }
        Ok(bytes.len() - rest.len())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.next == Next::Nothing
    }

    /// The bytes on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        let content = self.content.as_ref().map_or(0, Content::memory_usage);
        size_of_val(&*self.words) + size_of::<u64>() * self.spare_words() + content
    }

    fn spare_words(&self) -> usize {
        self.words.capacity() - self.words.len()
    }

    /// The content of the complete snapshot.
    pub(crate) fn finish(self) -> Result<Content<T>, SnapshotError> {
        let complete = self.is_complete();
        self.content
            .filter(|_| complete)
            .ok_or(SnapshotError::Truncated)
    }

    /// The space for the next bytes. It ends with the current item, and is empty if the snapshot is
    /// complete.
    fn room(&mut self) -> Result<&mut [u8], SnapshotError> {
        let bytes = match self.next {
            Next::Chunk(words) => {
                self.make_room(words)?;
                bytemuck::cast_slice_mut(&mut self.words)
            }
            Next::Header => &mut self.item[..],
            Next::Number => &mut self.item[..8],
            Next::Sum => &mut self.item[..4],
            Next::Nothing => &mut [],
            Next::Broken => return Err(SnapshotError::Truncated),
        };
        let filled = self.filled.min(bytes.len());
        Ok(&mut bytes[filled..])
    }

    /// Makes room for the words of the chunk behind the bytes that have arrived. The buffer at most
    /// doubles as bytes arrive, and ends with the exact size of the chunk.
    fn make_room(&mut self, words: usize) -> Result<(), SnapshotError> {
        if self.filled == 0 {
            self.words.clear();
        }
        let start = self.words.len();
        if self.filled / 8 < start || start == words {
            return Ok(());
        }
        let more = STEP.min(words - start);
        if self.spare_words() < more {
            let reserve = start.max(STEP).min(words - start);
            let reserved = self.words.try_reserve_exact(reserve);
            reserved.map_err(|_| SnapshotError::Memory {
                buckets: self.content.as_ref().map_or(words, Content::buckets),
            })?;
        }
        self.words.resize(start + more, 0);
        Ok(())
    }

    /// Takes `count` bytes that were written to the [`room`](Self::room). The caller has `at_hand`
    /// more.
    fn take(&mut self, count: usize, at_hand: usize) -> Result<(), SnapshotError> {
        let new = self.filled..self.filled + count;
        self.filled += count;
        let whole = match self.next {
            Next::Chunk(words) => {
                self.sum.update(&bytemuck::cast_slice(&self.words)[new]);
                8 * words
            }
            // The checksum covers the bytes before it.
            Next::Sum => 4,
            next => {
                self.sum.update(&self.item[new]);
                match next {
                    Next::Header => HEADER_BYTES,
                    _ => 8,
                }
            }
        };
        if self.filled < whole {
            return Ok(());
        }
        self.filled = 0;
        // An error leaves the decoder broken.
        let item = std::mem::replace(&mut self.next, Next::Broken);
        self.next = self.after(item, at_hand)?;
        Ok(())
    }

    /// Returns what follows `item`, which has completely arrived.
    fn after(&mut self, item: Next, at_hand: usize) -> Result<Next, SnapshotError> {
        let number = u64::from_le_bytes(std::array::from_fn(|index| self.item[index]));
        match (item, &mut self.content) {
            (Next::Header, _) => {
                self.content = Some(Content::begin(&self.item, self.most)?);
                Ok(Next::Number)
            }
            (Next::Number, Some(content)) => content.number(number),
            (Next::Chunk(_), Some(content)) => {
                for word in &mut self.words {
                    *word = u64::from_le(*word);
                }
                content.chunk(Came {
                    words: &self.words,
                    at_hand,
                })
            }
            (Next::Sum, _) => {
                let (stored, computed) = (number as u32, self.sum.clone().finalize());
                match stored == computed {
                    true => Ok(Next::Nothing),
                    false => Err(SnapshotError::Checksum { stored, computed }),
                }
            }
            _ => Err(SnapshotError::Truncated),
        }
    }
}

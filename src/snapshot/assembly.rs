//! A table that is built chunk by chunk, and allocated once enough of it has arrived.
//!
//! Until then, chunks are kept. Afterwards each chunk that arrives lets a few of them go to the table, so
//! that no chunk takes much longer than another one.

use super::{decode::Came, header::check_size};
use crate::error::SnapshotError;
use std::{collections::VecDeque, ops::Range};

/// The table is allocated once one in this number of its bytes has arrived, or is in the caller's
/// buffer. A header alone therefore allocates nothing, whatever size it claims.
const SHARE: usize = 4;

/// The number of words in the largest block of chunks that are kept until the table is allocated. A
/// block of a single chunk can be larger.
const BLOCK: usize = 8192;

/// A new block has room for one chunk, or for 1/`SLACK` of the words that are already kept.
const SLACK: usize = 8;

/// The number of kept chunks that go to the table for each chunk that arrives. With 2, none is left when
/// the last chunk arrives, because less than a quarter of all is kept when the table is allocated.
const AT_ONCE: usize = 2;

/// A filter that is built from chunks, in the order of their buckets.
pub(crate) trait Place {
    /// Takes the words of the next chunk of buckets, and the `number` that precedes them in the
    /// snapshot.
    fn put(
        &mut self,
        buckets: Range<usize>,
        words: &[u64],
        number: u64,
    ) -> Result<(), SnapshotError>;

    /// The bytes on the heap.
    fn bytes(&self) -> usize;
}

/// The chunks of one pass over a table, and the table `P` that they become.
pub(crate) struct Assembly<P> {
    /// The number of buckets in a plane.
    buckets: usize,
    /// The number of buckets in a chunk, except for the last one.
    chunk: usize,
    doublings: u32,
    /// Where the next chunk begins.
    bucket: usize,
    /// The chunks that are not in the table yet, each followed by its number. No chunk is split over
    /// two blocks.
    kept: VecDeque<Vec<u64>>,
    kept_words: usize,
    /// The number of words of the first block that are no longer needed.
    used: usize,
    /// The bucket where the first kept chunk begins.
    first: usize,
    place: Option<P>,
}

impl<P: Place> Assembly<P> {
    /// A pass over 2^`doublings` planes of `buckets`, in chunks of `chunk` buckets.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::TooLarge`] if these take up more than `most` bytes.
    pub(crate) fn begin(
        (buckets, doublings): (usize, u32),
        chunk: usize,
        most: usize,
    ) -> Result<Self, SnapshotError> {
        check_size(buckets << doublings, most)?;
        Ok(Self {
            buckets,
            chunk,
            doublings,
            bucket: 0,
            kept: VecDeque::new(),
            kept_words: 0,
            used: 0,
            first: 0,
            place: None,
        })
    }

    /// The number of words in all planes.
    pub(crate) fn words(&self) -> usize {
        self.buckets << self.doublings
    }

    /// How often the filter of this pass has doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.doublings
    }

    /// True if no chunk has arrived yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.bucket == 0
    }

    /// True if all chunks have arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.bucket == self.buckets
    }

    /// The number of words in the next chunk.
    pub(crate) fn next_words(&self) -> usize {
        self.next_buckets().len() << self.doublings
    }

    fn next_buckets(&self) -> Range<usize> {
        self.bucket..self.buckets.min(self.bucket + self.chunk)
    }

    /// Takes the words and the number of the next chunk. `make` allocates the table.
    pub(crate) fn put(
        &mut self,
        Came { words, at_hand }: Came<'_>,
        number: u64,
        make: impl FnOnce() -> Result<P, SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let buckets = self.next_buckets();
        let come = (self.kept_words + words.len()).saturating_add(at_hand / size_of::<u64>());
        if self.place.is_none() && come >= self.words() / SHARE {
            self.place = Some(make()?);
        }
        match &mut self.place {
            Some(place) if self.kept.is_empty() => place.put(buckets.clone(), words, number)?,
            _ => {
                self.keep(words, number)?;
                self.place_kept()?;
            }
        }
        self.bucket = buckets.end;
        Ok(())
    }

    /// Puts the first kept chunks into the table, if there is one.
    #[cold]
    fn place_kept(&mut self) -> Result<(), SnapshotError> {
        let Some(place) = &mut self.place else {
            return Ok(());
        };
        let size = (self.chunk << self.doublings) + 1;
        for _ in 0..AT_ONCE {
            let Some(block) = self.kept.front() else {
                break;
            };
            let rest = &block[self.used..];
            if let Some((&number, words)) = rest[..size.min(rest.len())].split_last() {
                place.put(self.first..self.first + self.chunk, words, number)?;
            }
            self.first += self.chunk;
            self.used += size;
            if self.used >= block.len() {
                self.kept.pop_front();
                self.used = 0;
            }
        }
        Ok(())
    }

    /// Keeps a chunk. This is never the last chunk.
    #[cold]
    fn keep(&mut self, words: &[u64], number: u64) -> Result<(), SnapshotError> {
        let buckets = self.words();
        let no_memory = |_| SnapshotError::Memory { buckets };
        let needed = words.len() + 1;
        let has_room = |block: &Vec<u64>| block.capacity() - block.len() >= needed;
        if !self.kept.back().is_some_and(has_room) {
            let mut block = Vec::new();
            let size = (self.kept_words / SLACK).min(BLOCK).max(needed);
            block.try_reserve_exact(size).map_err(no_memory)?;
            self.kept.try_reserve(1).map_err(no_memory)?;
            self.kept.push_back(block);
        }
        if let Some(block) = self.kept.back_mut() {
            block.extend_from_slice(words);
            block.push(number);
            self.kept_words += words.len();
        }
        Ok(())
    }

    /// The bytes on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        let blocks = self.kept.iter();
        let words: usize = blocks.map(Vec::capacity).sum();
        size_of::<u64>() * words
            + self.kept.capacity() * size_of::<Vec<u64>>()
            + self.place.as_ref().map_or(0, P::bytes)
    }

    /// Returns the table. The decoder calls this only when all chunks have arrived.
    pub(crate) fn finish(self) -> Result<P, SnapshotError> {
        let is_whole = self.kept.is_empty();
        self.place
            .filter(|_| is_whole)
            .ok_or(SnapshotError::Truncated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has come to the table, in order.
    #[derive(Default)]
    struct Log(Vec<(Range<usize>, Vec<u64>, u64)>);

    impl Place for Log {
        fn put(
            &mut self,
            buckets: Range<usize>,
            words: &[u64],
            number: u64,
        ) -> Result<(), SnapshotError> {
            self.0.push((buckets, words.to_vec(), number));
            Ok(())
        }

        fn bytes(&self) -> usize {
            0
        }
    }

    /// A client that loads a piece waits for that piece, and not for what has arrived before.
    #[test]
    fn each_chunk_lets_few_of_them_go_to_the_table() {
        for (buckets, chunk, doublings) in [
            (1, 8, 0),
            (5, 8, 3),
            (16, 8, 1),
            (1000, 8, 0),
            (777, 16, 2),
            (40_000, 64, 4),
        ] {
            let mut assembly =
                Assembly::<Log>::begin((buckets, doublings), chunk, usize::MAX).unwrap();
            let mut all = Vec::new();
            while !assembly.is_complete() {
                let (from, number) = (assembly.bucket, all.len() as u64);
                let words: Vec<u64> = (0..assembly.next_words() as u64)
                    .map(|it| it * number)
                    .collect();
                let placed = |it: &Assembly<Log>| it.place.as_ref().map_or(0, |log| log.0.len());
                let before = placed(&assembly);
                let came = Came {
                    words: &words,
                    at_hand: 0,
                };
                assembly.put(came, number, || Ok(Log::default())).unwrap();
                assert!(placed(&assembly) - before <= AT_ONCE);
                all.push((from..assembly.bucket, words, number));
            }
            assert_eq!(assembly.finish().unwrap().0, all);
        }
    }
}

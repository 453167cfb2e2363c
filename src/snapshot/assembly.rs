//! A table that is built chunk by chunk, and allocated once enough of it has arrived.

use super::{header::check_size, item::Came};
use crate::error::SnapshotError;
use std::ops::Range;

/// The table is allocated once one in this number of its bytes has arrived, or is in the caller's
/// buffer. A header alone therefore allocates nothing, whatever size it claims.
const SHARE: usize = 4;

/// The number of words in the largest block of chunks that are kept until the table is allocated. A
/// block of a single chunk can be larger.
const BLOCK: usize = 8192;

/// A new block has room for one chunk, or for 1/`SLACK` of the words that are already kept.
const SLACK: usize = 8;

/// Each word that arrives after the table was allocated moves about this number of kept words there.
/// A server that moved all of them at once would answer no other client for 13 ms per 250 MB of table.
const MOVED: usize = 8;

/// A filter that is built from chunks, in any order.
pub(crate) trait Place {
    /// Takes the words of a chunk of buckets, and the `number` that precedes them in the snapshot.
    fn put(&mut self, buckets: Range<usize>, words: &[u64], number: u64);

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
    /// The first chunks, which arrived before the table was allocated and are not in it yet. Each is
    /// followed by its number. No chunk is split over two blocks.
    kept: Vec<Vec<u64>>,
    /// The number of words in these chunks.
    kept_words: usize,
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
            kept: Vec::new(),
            kept_words: 0,
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
            Some(place) => {
                place.put(buckets.clone(), words, number);
                self.move_kept(MOVED * words.len());
            }
            None => self.keep(words, number)?,
        }
        self.bucket = buckets.end;
        Ok(())
    }

    /// Moves at least `words` of the kept words to the table, or all of them. Those of the last buckets
    /// are moved first.
    fn move_kept(&mut self, words: usize) {
        let enough = self.kept_words.saturating_sub(words);
        let size = (self.chunk << self.doublings) + 1;
        while let Some(place) = &mut self.place
            && self.kept_words > enough
            && let Some(block) = self.kept.pop()
        {
            // A block is freed before more pages of the table are touched.
            for chunk in block.chunks_exact(size).rev() {
                if let Some((&number, words)) = chunk.split_last() {
                    self.kept_words -= words.len();
                    let start = self.kept_words >> self.doublings;
                    place.put(start..start + self.chunk, words, number);
                }
            }
        }
    }

    /// Keeps a chunk. This is never the last chunk, because the table is allocated before that one.
    #[cold]
    fn keep(&mut self, words: &[u64], number: u64) -> Result<(), SnapshotError> {
        let buckets = self.words();
        let no_memory = |_| SnapshotError::Memory { buckets };
        let needed = words.len() + 1;
        let has_room = |block: &Vec<u64>| block.capacity() - block.len() >= needed;
        if !self.kept.last().is_some_and(has_room) {
            let mut block = Vec::new();
            let size = (self.kept_words / SLACK).min(BLOCK).max(needed);
            block.try_reserve_exact(size).map_err(no_memory)?;
            self.kept.try_reserve(1).map_err(no_memory)?;
            self.kept.push(block);
        }
        if let Some(block) = self.kept.last_mut() {
            block.extend_from_slice(words);
            block.push(number);
            self.kept_words += words.len();
        }
        Ok(())
    }

    /// The bytes on the heap. Beside the table, kept words are not counted: the pages of the table where
    /// they will be have not been written, so the system has not provided these.
    pub(crate) fn memory_usage(&self) -> usize {
        let kept = || size_of::<u64>() * self.kept.iter().map(Vec::capacity).sum::<usize>();
        self.kept.capacity() * size_of::<Vec<u64>>()
            + self.place.as_ref().map_or_else(kept, P::bytes)
    }

    /// Returns the table. The decoder calls this only when all chunks have arrived. Those after the
    /// allocation are three times as large as those before it, so all of these have been moved.
    pub(crate) fn finish(self) -> Result<P, SnapshotError> {
        debug_assert_eq!(self.kept_words, 0, "a chunk is missing in the table");
        self.place.ok_or(SnapshotError::Truncated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was put, by its first bucket.
    #[derive(Default)]
    struct Put {
        chunks: std::collections::BTreeMap<usize, (Vec<u64>, u64)>,
        words: usize,
    }

    impl Place for Put {
        fn put(&mut self, buckets: Range<usize>, words: &[u64], number: u64) {
            let chunk = (words.to_vec(), number);
            assert_eq!(self.chunks.insert(buckets.start, chunk), None);
            self.words += words.len();
        }

        fn bytes(&self) -> usize {
            1 << 30
        }
    }

    #[test]
    fn kept_chunks_move_little_by_little() {
        for (buckets, doublings, chunk) in [
            (1 << 20, 0, 1024),
            (1 << 18, 2, 64),
            (1000, 1, 96),
            (5, 3, 1),
        ] {
            let mut assembly =
                Assembly::<Put>::begin((buckets, doublings), chunk, 1 << 30).unwrap();
            let mut expected = std::collections::BTreeMap::new();
            let mut before = 0;
            while !assembly.is_complete() {
                let (start, size) = (assembly.bucket, assembly.next_words());
                let words: Vec<u64> = (0..size as u64)
                    .map(|word| word << 32 | start as u64)
                    .collect();
                let number = !(start as u64);
                let came = Came {
                    words: &words,
                    at_hand: 0,
                };
                let mut is_new = false;
                let make = || {
                    is_new = true;
                    Ok(Put::default())
                };
                assembly.put(came, number, make).unwrap();
                expected.insert(start, (words, number));
                let come: usize = expected.values().map(|(words, _)| words.len()).sum();
                let put = assembly.place.as_ref().map_or(0, |place| place.words);
                assert_eq!(put + assembly.kept_words, come);
                assert!(
                    put - before <= (1 + MOVED) * size + BLOCK.max(size),
                    "{put}, {before}"
                );
                assert_eq!(put > 0, come >= assembly.words() / SHARE);
                assert_eq!(is_new, before == 0 && put > 0);
                before = put;
            }
            assert_eq!(assembly.finish().unwrap().chunks, expected);
        }
    }
}

//! A table that is built chunk by chunk, and allocated once enough of it has arrived.

use super::{decode::Came, header::check_size};
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
    /// The chunks that arrived before the table was allocated, each followed by its number. No
    /// chunk is split over two blocks.
    kept: Vec<Vec<u64>>,
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
            self.place = Some(self.allocate(make)?);
        }
        match &mut self.place {
            Some(place) => place.put(buckets.clone(), words, number)?,
            None => self.keep(words, number)?,
        }
        self.bucket = buckets.end;
        Ok(())
    }

    /// Returns the table, with the chunks that were kept until now.
    #[cold]
    fn allocate(
        &mut self,
        make: impl FnOnce() -> Result<P, SnapshotError>,
    ) -> Result<P, SnapshotError> {
        let mut place = make()?;
        let size = (self.chunk << self.doublings) + 1;
        let mut start = 0;
        // Each block is freed before more pages of the table are touched.
        for block in std::mem::take(&mut self.kept) {
            for chunk in block.chunks_exact(size) {
                if let Some((&number, words)) = chunk.split_last() {
                    place.put(start..start + self.chunk, words, number)?;
                    start += self.chunk;
                }
            }
        }
        Ok(place)
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
        self.place.ok_or(SnapshotError::Truncated)
    }
}

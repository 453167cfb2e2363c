//! The filter of a snapshot, built as its bytes come.

use super::{
    header::{HEADER_BYTES, Header},
    image::Image,
    stream::{CHUNK_FOLLOWS, PASS_ENDS},
};
use crate::{
    error::SnapshotError,
    filter::CuckooFilter,
    geometry::Geometry,
    hash::SeededState,
    raw::{
        RawFilter,
        any::{AnyFilter, of_series, with_layout},
        frontier::chunk_buckets,
    },
    table::scan::Restored,
};
use std::{fmt, hash::BuildHasher, ops::Range};

/// Builds a filter from a snapshot whose bytes come piece by piece: from a network, say.
///
/// In contrast to [`read_from`](CuckooFilter::read_from) it needs no reader that waits, and no
/// memory beside the filter but for some KiB; where the filter has doubled more than six times,
/// 8 bytes for each plane of 8 buckets. A snapshot of a few bytes can ask for a filter of many
/// gigabytes, so the caller says how many bytes the buckets may take up. They are allocated when
/// the snapshot has said how many there are, before they come.
///
/// ```
/// use guira::{CuckooFilter, SnapshotDecoder};
///
/// let filter = CuckooFilter::with_capacity(1_000);
/// filter.insert("ani")?;
///
/// let mut decoder = SnapshotDecoder::new(1 << 20);
/// for piece in filter.to_bytes().chunks(100) {
///     assert_eq!(decoder.feed(piece)?, piece.len());
/// }
/// assert!(decoder.is_complete());
/// assert!(decoder.finish()?.contains("ani"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SnapshotDecoder {
    next: Next,
    /// What comes next, unless it is a chunk.
    item: [u8; HEADER_BYTES],
    /// So many bytes of what comes next are there.
    filled: usize,
    sum: crc32fast::Hasher,
    /// Bytes that the buckets may take up. `None`: as many as justified by those that have come.
    most: Option<usize>,
    /// All after the header.
    body: Option<Body>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    Header,
    Level,
    Tag,
    Chunk,
    Sum,
    Nothing,
    /// There was an error.
    Broken,
}

struct Body {
    header: Header,
    doublings: u32,
    /// Where the next chunk begins.
    bucket: usize,
    words: Vec<u64>,
    /// Where in `words` the chunk begins that comes now.
    begin: usize,
    /// Where the chunks of a pass are put; if there is a limit. Else they stay in `words`.
    place: Option<Place>,
}

/// A filter, chunk by chunk.
struct Place {
    raw: AnyFilter,
    restored: Restored,
    /// The first word that no filter can have written. It may be so because bytes were changed,
    /// which the checksum tells.
    result: Result<(), SnapshotError>,
}

impl SnapshotDecoder {
    /// Of a filter whose buckets take up at most `max_bytes`, at 8 bytes each.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self::with_limit(Some(max_bytes))
    }

    pub(super) fn with_limit(most: Option<usize>) -> Self {
        Self {
            next: Next::Header,
            item: [0; HEADER_BYTES],
            filled: 0,
            sum: crc32fast::Hasher::new(),
            most,
            body: None,
        }
    }

    /// Takes the next bytes; how many of them belong to the snapshot: all, unless it ends before.
    ///
    /// ```
    /// use guira::{CuckooFilter, SnapshotDecoder, SnapshotError};
    ///
    /// let bytes = CuckooFilter::with_capacity(1_000_000).to_bytes();
    /// let mut decoder = SnapshotDecoder::new(1 << 20);
    /// let refused = decoder.feed(&bytes[..100]);
    /// assert!(matches!(refused, Err(SnapshotError::TooLarge { allowed: 1_048_576, .. })));
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. [`SnapshotError::TooLarge`] if the
    /// buckets take up more than allowed. From the first error on the decoder takes nothing.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, SnapshotError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.room()?;
            let (now, after) = rest.split_at(room.len().min(rest.len()));
            if now.is_empty() {
                break;
            }
            room[..now.len()].copy_from_slice(now);
            self.take(now.len())?;
            rest = after;
        }
        Ok(bytes.len() - rest.len())
    }

    /// True if the snapshot is there as a whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Bytes on the heap: those of the filter that is built, and some more.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let Some(body) = &self.body else {
            return 0;
        };
        let place = body.place.as_ref();
        8 * body.words.capacity()
            + place.map_or(0, |place| with_layout!(&place.raw, raw => raw.bytes()))
    }

    /// The filter.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Truncated`] unless the snapshot is [complete](Self::is_complete), and what
    /// else is wrong with it.
    pub fn finish(self) -> Result<CuckooFilter, SnapshotError> {
        self.finish_with(SeededState::new)
    }

    /// The filter, which hashed with `hasher`.
    ///
    /// ```
    /// use guira::{CuckooFilter, SnapshotDecoder};
    /// use std::hash::RandomState;
    ///
    /// let hasher = RandomState::new();
    /// let filter = CuckooFilter::builder().hasher(hasher.clone()).build()?;
    /// filter.insert("ani")?;
    ///
    /// let mut decoder = SnapshotDecoder::new(1 << 20);
    /// decoder.feed(&filter.to_bytes())?;
    /// assert!(decoder.finish_with_hasher(hasher)?.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn finish_with_hasher<S: BuildHasher + 'static>(
        self,
        hasher: S,
    ) -> Result<CuckooFilter<S>, SnapshotError> {
        self.finish_with(|_| hasher)
    }

    pub(super) fn finish_with<S: BuildHasher + 'static>(
        self,
        hasher: impl FnOnce(u64) -> S,
    ) -> Result<CuckooFilter<S>, SnapshotError> {
        let complete = self.is_complete();
        let body = self.body.filter(|_| complete);
        let body = body.ok_or(SnapshotError::Truncated)?;
        let hasher = body.header.hashing.hasher(hasher)?;
        let geometry = body.header.geometry;
        let Body {
            doublings,
            words,
            place,
            ..
        } = body;
        match place {
            None => CuckooFilter::from_image(hasher, geometry, Image { doublings, words }),
            Some(mut place) => {
                place.result?;
                place.raw.has_stored(&place.restored);
                Ok(CuckooFilter {
                    hasher,
                    raw: place.raw,
                    geometry,
                })
            }
        }
    }

    /// Where to put the bytes that come next, not more than there are to come; none if the
    /// snapshot is there as a whole.
    pub(super) fn room(&mut self) -> Result<&mut [u8], SnapshotError> {
        let bytes = match (self.next, &mut self.body) {
            (Next::Chunk, Some(body)) => {
                body.make_room(self.filled, self.most.is_some())?;
                bytemuck::cast_slice_mut(&mut body.words[body.begin..])
            }
            (Next::Header, _) => &mut self.item[..],
            (Next::Level | Next::Tag, _) => &mut self.item[..8],
            (Next::Sum, _) => &mut self.item[..4],
            (Next::Nothing, _) => &mut [],
            (Next::Chunk | Next::Broken, _) => return Err(SnapshotError::Truncated),
        };
        let filled = self.filled.min(bytes.len());
        Ok(&mut bytes[filled..])
    }

    /// Takes `count` bytes that were put into the [`room`](Self::room).
    pub(super) fn take(&mut self, count: usize) -> Result<(), SnapshotError> {
        let new = self.filled..self.filled + count;
        self.filled += count;
        let whole = match (self.next, &self.body) {
            (Next::Chunk, Some(body)) => {
                self.sum
                    .update(&bytemuck::cast_slice(&body.words[body.begin..])[new]);
                8 * body.chunk_words()
            }
            (next, _) => {
                // The checksum is that of the bytes before it.
                if next != Next::Sum {
                    self.sum.update(&self.item[new]);
                }
                match next {
                    Next::Header => HEADER_BYTES,
                    Next::Sum => 4,
                    _ => 8,
                }
            }
        };
        if self.filled < whole {
            return Ok(());
        }
        self.filled = 0;
        // Unless that is an error.
        let next = std::mem::replace(&mut self.next, Next::Broken);
        self.next = self.after(next)?;
        Ok(())
    }

    /// What comes after `item`, which is there as a whole.
    fn after(&mut self, item: Next) -> Result<Next, SnapshotError> {
        let Some(body) = &mut self.body else {
            self.body = Some(Body::new(Header::from_bytes(&self.item)?));
            return Ok(Next::Level);
        };
        let number = u64::from_le_bytes(std::array::from_fn(|index| self.item[index]));
        match item {
            Next::Level => {
                body.begin_pass(number, self.most)?;
                Ok(Next::Tag)
            }
            Next::Tag => match number {
                CHUNK_FOLLOWS => Ok(Next::Chunk),
                PASS_ENDS => Ok(Next::Level),
                found => Err(SnapshotError::Geometry {
                    what: "chunk tag",
                    found,
                }),
            },
            Next::Chunk => Ok(match body.end_chunk() {
                true => Next::Sum,
                false => Next::Tag,
            }),
            Next::Sum => {
                let (stored, computed) = (number as u32, self.sum.clone().finalize());
                match stored == computed {
                    true => Ok(Next::Nothing),
                    false => Err(SnapshotError::Checksum { stored, computed }),
                }
            }
            Next::Header | Next::Nothing | Next::Broken => Err(SnapshotError::Truncated),
        }
    }
}

impl Body {
    fn new(header: Header) -> Self {
        Self {
            header,
            doublings: 0,
            bucket: 0,
            words: Vec::new(),
            begin: 0,
            place: None,
        }
    }

    /// Begins again, at another level: a pass that was cut off is void.
    fn begin_pass(&mut self, level: u64, most: Option<usize>) -> Result<(), SnapshotError> {
        let geometry = self.header.geometry;
        if level > u64::from(geometry.series.levels) {
            return Err(SnapshotError::Geometry {
                what: "level",
                found: level,
            });
        }
        (self.doublings, self.bucket, self.begin) = (level as u32, 0, 0);
        // Before the next ones are made.
        (self.words, self.place) = (Vec::new(), None);
        if let Some(allowed) = most {
            let asked = 8 * (geometry.buckets << self.doublings);
            if asked > allowed {
                return Err(SnapshotError::TooLarge { asked, allowed });
            }
            self.place = Some(Place::new(geometry, self.doublings)?);
        }
        Ok(())
    }

    fn chunk(&self) -> Range<usize> {
        let Geometry {
            buckets, series, ..
        } = self.header.geometry;
        self.bucket..buckets.min(self.bucket + chunk_buckets(series.levels))
    }

    /// Words of the chunk that comes now.
    fn chunk_words(&self) -> usize {
        self.chunk().len() << self.doublings
    }

    /// Makes room for words behind the `filled` bytes of the chunk. Memory grows with the bytes that
    /// really come: by as much as it is, and at last to the total exactly.
    fn make_room(&mut self, filled: usize, one_chunk: bool) -> Result<(), SnapshotError> {
        const STEP: usize = 512;
        let (start, end) = (self.words.len(), self.begin + self.chunk_words());
        if self.begin + filled / 8 < start || start == end {
            return Ok(());
        }
        let step = STEP.min(end - start);
        let buckets = self.header.geometry.buckets << self.doublings;
        if self.words.capacity() - start < step {
            let total = if one_chunk { end } else { buckets };
            let more = start.max(STEP).min(total - start);
            let reserved = self.words.try_reserve_exact(more);
            reserved.map_err(|_| SnapshotError::Memory { buckets })?;
        }
        self.words.resize(start + step, 0);
        Ok(())
    }

    /// The chunk is there as a whole: true if it was the last one.
    fn end_chunk(&mut self) -> bool {
        let buckets = self.chunk();
        let words = &mut self.words[self.begin..];
        for word in &mut *words {
            *word = u64::from_le(*word);
        }
        self.bucket = buckets.end;
        match &mut self.place {
            Some(place) => {
                place.put(buckets, words);
                self.words.clear();
            }
            None => self.begin = self.words.len(),
        }
        self.bucket == self.header.geometry.buckets
    }
}

impl Place {
    fn new(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
        let levels = geometry.series.table_levels();
        let raw =
            of_series!(geometry.series, L => RawFilter::<L>::for_images(geometry, doublings)?);
        Ok(Self {
            raw,
            restored: Restored::new(levels.first, levels.first + doublings),
            result: Ok(()),
        })
    }

    fn put(&mut self, buckets: Range<usize>, words: &[u64]) {
        if self.result.is_ok() {
            let restored = &mut self.restored;
            self.result =
                with_layout!(&self.raw, raw => raw.table.store_image(buckets, words, restored));
        }
    }
}

impl fmt::Debug for SnapshotDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotDecoder")
            .field("is_complete", &self.is_complete())
            .field("memory_usage", &self.memory_usage())
            .finish_non_exhaustive()
    }
}

//! The public decoder for snapshots of a plain filter.

use super::{
    decode::{Body, Came, Decoder, Next},
    header::{HEADER_BYTES, Header},
    passes::Passes,
    place::Place,
    stream::{CHUNK_FOLLOWS, PASS_ENDS},
};
use crate::{error::SnapshotError, filter::CuckooFilter, hash::SeededState};
use std::{fmt, hash::BuildHasher};

/// Builds a [`CuckooFilter`] from a snapshot that arrives in pieces, for example from a network.
///
/// Unlike [`read_from`](CuckooFilter::read_from), it needs no blocking reader.
/// [`ExpiringSnapshotDecoder`](crate::ExpiringSnapshotDecoder) does the same for snapshots of an
/// [`ExpiringFilter`](crate::ExpiringFilter).
///
/// A snapshot of a few bytes can claim a filter of many gigabytes, so the caller sets a limit for
/// the buckets. Within the limit, memory grows with the input. The decoder allocates the table when
/// a quarter of it has arrived, or is in the current piece. It therefore allocates at most 5 bytes
/// per byte of input and some KiB. It occupies at most a quarter of the table more than the filter
/// does. Its time is linear in the input, whatever the bytes are.
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
pub struct SnapshotDecoder(Decoder<Plain>);

impl SnapshotDecoder {
    /// A decoder for a filter whose buckets occupy at most `max_bytes`, at 8 bytes each.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self(Decoder::new(max_bytes))
    }

    /// Takes the next bytes, and returns how many of them belong to the snapshot.
    ///
    /// The result is `bytes.len()` unless the snapshot ends earlier. O(bytes).
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
    /// buckets need more than the limit. After an error the decoder accepts no further bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, SnapshotError> {
        self.0.feed(bytes)
    }

    /// True if the whole snapshot has arrived.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// The bytes that the decoder occupies on the heap, including the filter that it builds.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.0.memory_usage()
    }

    /// Returns the filter. O(1).
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Truncated`] if the snapshot is not [complete](Self::is_complete).
    /// [`SnapshotError::Hasher`] if the filter used another hasher. Other variants say what is
    /// wrong with the bytes.
    pub fn finish(self) -> Result<CuckooFilter, SnapshotError> {
        self.0.finish()?.finish(SeededState::new)
    }

    /// Returns the filter, which used `hasher`. O(1).
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
        self.0.finish()?.finish(|_| hasher)
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

/// The bytes after the header: passes over the filter. The last one counts.
pub(super) struct Plain {
    header: Header,
    passes: Passes<Place>,
}

impl Plain {
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: impl FnOnce(u64) -> S,
    ) -> Result<CuckooFilter<S>, SnapshotError> {
        let hasher = self.header.hashing.hasher(hasher)?;
        self.passes.finish()?.finish(hasher)
    }
}

impl Body for Plain {
    fn begin(header: &[u8; HEADER_BYTES], most: usize) -> Result<(Self, Next), SnapshotError> {
        let header = Header::from_bytes(header)?;
        let passes = Passes::new(header.geometry, most);
        Ok((Self { header, passes }, Next::Number))
    }

    fn number(&mut self, number: u64, _: Came<'_>) -> Result<Next, SnapshotError> {
        let Some(next) = self.passes.next_chunk() else {
            return self.passes.begin(number);
        };
        match number {
            CHUNK_FOLLOWS => Ok(next),
            PASS_ENDS if self.passes.end() => Ok(Next::Number),
            found => Err(SnapshotError::Geometry {
                what: "chunk tag",
                found,
            }),
        }
    }

    fn chunk(&mut self, came: Came<'_>) -> Result<Next, SnapshotError> {
        let geometry = self.header.geometry;
        let make = |doublings| Place::new(geometry, doublings);
        Ok(match self.passes.put(came, CHUNK_FOLLOWS, make)? {
            true => Next::Sum,
            false => Next::Number,
        })
    }

    fn buckets(&self) -> usize {
        self.passes.words()
    }

    fn memory_usage(&self) -> usize {
        self.passes.memory_usage()
    }
}

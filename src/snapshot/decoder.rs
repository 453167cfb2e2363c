//! The public decoder for snapshots.

use super::decode::Decoder;
use crate::{
    error::SnapshotError,
    filter::Filter,
    hash::SeededState,
    lifetime::{Expiring, Forever, Lifetime},
};
use std::fmt;

/// Builds a [`CuckooFilter`](crate::CuckooFilter) from a snapshot that arrives in pieces, for example from a network.
///
/// Unlike [`read_from`](crate::CuckooFilter::read_from), it needs no blocking reader.
/// [`ExpiringSnapshotDecoder`] does the same for snapshots of an
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
pub type SnapshotDecoder = FilterDecoder<Forever>;

/// A [`SnapshotDecoder`] for snapshots of an [`ExpiringFilter`](crate::ExpiringFilter).
pub type ExpiringSnapshotDecoder = FilterDecoder<Expiring>;

/// Builds a [`Filter`] from a snapshot that arrives in pieces: see [`SnapshotDecoder`].
pub struct FilterDecoder<T: Lifetime>(Decoder<T>);

impl<T: Lifetime> FilterDecoder<T> {
    /// A decoder for a filter whose buckets occupy at most `max_bytes`, at 8 bytes each.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self(Decoder::new(max_bytes))
    }

    pub(super) fn into_inner(self) -> Decoder<T> {
        self.0
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
    /// [`Restore::finish`](crate::Restore::finish) does the same with another hasher, or after a known time:
    ///
    /// ```
    /// use guira::{ExpiringFilter, ExpiringSnapshotDecoder};
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    ///
    /// let mut decoder = ExpiringSnapshotDecoder::new(1 << 20);
    /// decoder.feed(&filter.to_bytes())?;
    /// let later = ExpiringFilter::restore().elapsed(Duration::from_secs(3600));
    /// assert!(!later.finish(decoder)?.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Truncated`] if the snapshot is not [complete](Self::is_complete).
    /// [`SnapshotError::Hasher`] if the filter used another hasher. Other variants say what is
    /// wrong with the bytes.
    pub fn finish(self) -> Result<Filter<SeededState, T>, SnapshotError> {
        Filter::restore().finish(self)
    }
}

impl<T: Lifetime> fmt::Debug for FilterDecoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterDecoder")
            .field("is_complete", &self.is_complete())
            .field("memory_usage", &self.memory_usage())
            .finish_non_exhaustive()
    }
}

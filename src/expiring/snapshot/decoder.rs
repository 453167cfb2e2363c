//! The public decoder for snapshots of an expiring filter.

use super::{
    END_OF_TIME, PASS_ENDS,
    header::Header,
    place::{CYCLE, Place},
};
use crate::{
    error::SnapshotError,
    expiring::ExpiringFilter,
    hash::SeededState,
    snapshot::{
        decode::{Body, Came, Decoder, Next},
        header::HEADER_BYTES,
        passes::Passes,
    },
    table::time::{Now, beginning::Beginning},
};
use std::{fmt, hash::BuildHasher, time::Duration};

/// Builds an [`ExpiringFilter`] from a snapshot that arrives in pieces, for example from a network.
///
/// Unlike [`read_from`](ExpiringFilter::read_from), it needs no blocking reader. Its memory and
/// time have the bounds of [`SnapshotDecoder`](crate::SnapshotDecoder), which does the same for
/// snapshots of a [`CuckooFilter`](crate::CuckooFilter).
///
/// ```
/// use guira::{ExpiringFilter, ExpiringSnapshotDecoder};
/// use std::time::Duration;
///
/// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
/// filter.insert("ani")?;
///
/// let mut decoder = ExpiringSnapshotDecoder::new(1 << 20);
/// for piece in filter.to_bytes().chunks(100) {
///     assert_eq!(decoder.feed(piece)?, piece.len());
/// }
/// assert!(decoder.is_complete());
/// assert!(decoder.finish()?.contains("ani"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExpiringSnapshotDecoder(Decoder<Timed>);

impl ExpiringSnapshotDecoder {
    /// A decoder for a filter whose buckets occupy at most `max_bytes`, at 8 bytes each.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self(Decoder::new(max_bytes))
    }

    /// Takes the next bytes, and returns how many of them belong to the snapshot.
    ///
    /// The result is `bytes.len()` unless the snapshot ends before. O(bytes).
    ///
    /// ```
    /// use guira::{ExpiringFilter, ExpiringSnapshotDecoder, SnapshotError};
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(1_000_000);
    /// let bytes = builder.build()?.to_bytes();
    /// let mut decoder = ExpiringSnapshotDecoder::new(1 << 20);
    /// let refused = decoder.feed(&bytes[..100]);
    /// assert!(matches!(refused, Err(SnapshotError::TooLarge { allowed: 1_048_576, .. })));
    /// # Ok::<(), guira::BuildError>(())
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

    /// Returns the filter, which continues as if no time had passed since the snapshot was written.
    /// O(1), or O(buckets) if an epoch began while it was written.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Truncated`] if the snapshot is not [complete](Self::is_complete).
    /// [`SnapshotError::Hasher`] if the filter used another hasher. Other variants say what is
    /// wrong with the bytes.
    pub fn finish(self) -> Result<ExpiringFilter, SnapshotError> {
        self.restore(Duration::ZERO)
    }

    /// Returns the filter, and lets the time pass since the snapshot was written, as
    /// [`ExpiringFilter::restore`]. O(buckets) if epochs begin in that time.
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
    /// assert!(!decoder.restore(Duration::from_secs(3600))?.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn restore(self, elapsed: Duration) -> Result<ExpiringFilter, SnapshotError> {
        self.0.finish()?.finish(SeededState::new, elapsed)
    }

    /// [`finish`](Self::finish) for a filter that used `hasher`.
    ///
    /// ```
    /// use guira::{ExpiringFilter, ExpiringSnapshotDecoder};
    /// use std::{hash::RandomState, time::Duration};
    ///
    /// let hasher = RandomState::new();
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).hasher(hasher.clone());
    /// let filter = builder.build()?;
    /// filter.insert("ani")?;
    ///
    /// let mut decoder = ExpiringSnapshotDecoder::new(1 << 20);
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
    ) -> Result<ExpiringFilter<S>, SnapshotError> {
        self.restore_with_hasher(hasher, Duration::ZERO)
    }

    /// [`restore`](Self::restore) for a filter that used `hasher`.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn restore_with_hasher<S: BuildHasher + 'static>(
        self,
        hasher: S,
        elapsed: Duration,
    ) -> Result<ExpiringFilter<S>, SnapshotError> {
        self.0.finish()?.finish(|_| hasher, elapsed)
    }
}

impl fmt::Debug for ExpiringSnapshotDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringSnapshotDecoder")
            .field("is_complete", &self.is_complete())
            .field("memory_usage", &self.memory_usage())
            .finish_non_exhaustive()
    }
}

/// What the next number is, unless a pass has to begin.
#[derive(Clone, Copy)]
enum Number {
    /// The epoch of a chunk, or what replaces a chunk.
    OfChunk,
    /// The epoch at the end.
    End,
    /// How long ago one of the last epochs began.
    Age,
}

/// The bytes after the header: passes, in which each chunk has its epoch; the epoch at the end; and how
/// long ago that one began, the one before it, and so on.
pub(super) struct Timed {
    header: Header,
    passes: Passes<Place>,
    next: Number,
    /// The last epoch of this pass that has come.
    last: u64,
    /// How long ago the last epochs began, the one at the end first.
    ages: Vec<Duration>,
}

impl Timed {
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: impl FnOnce(u64) -> S,
        elapsed: Duration,
    ) -> Result<ExpiringFilter<S>, SnapshotError> {
        let hasher = self.header.hashing.hasher(hasher)?;
        let window = self.header.window;
        let (begun, ages) = window.pass(&self.ages, elapsed);
        // No overflow: both are below 2^63.
        let epoch = self.last + begun;
        let now = Now::new(epoch % CYCLE, window.oldest_live(&ages));
        let beginning = Beginning::in_epoch(now.epoch(), ages);
        self.passes
            .finish()?
            .finish(hasher, (epoch, now), beginning)
    }

    /// Takes an epoch, which is not before the one that came last in this pass.
    fn take_epoch(&mut self, epoch: u64) -> Result<(), SnapshotError> {
        if !(self.last..END_OF_TIME).contains(&epoch) {
            return Err(SnapshotError::Geometry {
                what: "epoch",
                found: epoch,
            });
        }
        self.last = epoch;
        Ok(())
    }

    /// Takes the age of one of the last epochs.
    fn take_age(&mut self, nanos: u64) -> Result<Next, SnapshotError> {
        let (window, age) = (self.header.window, Duration::from_nanos(nanos));
        let younger = self.ages.last().copied().unwrap_or_default();
        if age < younger || age > window.ttl {
            return Err(SnapshotError::Geometry {
                what: "nanoseconds of an epoch",
                found: nanos,
            });
        }
        self.ages.push(age);
        Ok(match self.ages.len() < window.epochs as usize {
            true => Next::Number,
            false => Next::Sum,
        })
    }
}

impl Body for Timed {
    fn begin(header: &[u8; HEADER_BYTES], most: usize) -> Result<(Self, Next), SnapshotError> {
        let header = Header::from_bytes(header)?;
        let body = Self {
            passes: Passes::new(header.geometry, most),
            header,
            next: Number::OfChunk,
            last: 0,
            ages: Vec::new(),
        };
        Ok((body, Next::Number))
    }

    fn number(&mut self, number: u64, _: Came<'_>) -> Result<Next, SnapshotError> {
        let Some(chunk) = self.passes.next_chunk() else {
            return self.passes.begin(number);
        };
        match self.next {
            Number::OfChunk if number == PASS_ENDS && self.passes.end() => {
                // A thread that helps with the next pass may have read its first chunks before the last
                // ones of this pass were read.
                self.last = 0;
                Ok(Next::Number)
            }
            Number::OfChunk => {
                self.take_epoch(number)?;
                Ok(chunk)
            }
            Number::End => {
                self.take_epoch(number)?;
                self.next = Number::Age;
                Ok(Next::Number)
            }
            Number::Age => self.take_age(number),
        }
    }

    fn chunk(&mut self, came: Came<'_>) -> Result<Next, SnapshotError> {
        let Header {
            geometry, window, ..
        } = self.header;
        let make = |doublings| Place::new(geometry, window, doublings);
        if self.passes.put(came, self.last, make)? {
            self.next = Number::End;
        }
        Ok(Next::Number)
    }

    fn buckets(&self) -> usize {
        self.passes.words()
    }

    fn memory_usage(&self) -> usize {
        self.passes.memory_usage()
    }
}

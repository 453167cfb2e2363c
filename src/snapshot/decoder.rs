//! The public decoder for snapshots.

use super::{
    decode::{Came, Decoder, Next},
    header::{HEADER_BYTES, Header},
    passes::Passes,
    place::Place,
    stream::{END_OF_TIME, pass_ends},
};
use crate::{
    error::SnapshotError,
    filter::Filter,
    hash::SeededState,
    lifetime::{Expiring, Forever, Kind, Lifetime},
    raw::restore::CYCLE,
    table::time::{Now, beginning::Beginning},
};
use std::{fmt, hash::BuildHasher, time::Duration};

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

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
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
    /// # Errors
    ///
    /// [`SnapshotError::Truncated`] if the snapshot is not [complete](Self::is_complete).
    /// [`SnapshotError::Hasher`] if the filter used another hasher. Other variants say what is
    /// wrong with the bytes.
    pub fn finish(self) -> Result<Filter<SeededState, T>, SnapshotError> {
        self.0.finish()?.finish(SeededState::new, Duration::ZERO)
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
    ) -> Result<Filter<S, T>, SnapshotError> {
        self.0.finish()?.finish(|_| hasher, Duration::ZERO)
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

impl FilterDecoder<Expiring> {
    /// Returns the filter, and lets the time pass since the snapshot was written, as
    /// [`restore`](crate::ExpiringFilter::restore). O(buckets) if epochs begin in that time.
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
    pub fn restore(
        self,
        elapsed: Duration,
    ) -> Result<Filter<SeededState, Expiring>, SnapshotError> {
        self.0.finish()?.finish(SeededState::new, elapsed)
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
    ) -> Result<Filter<S, Expiring>, SnapshotError> {
        self.0.finish()?.finish(|_| hasher, elapsed)
    }
}

/// What a number of the snapshot is.
#[derive(Clone, Copy)]
enum Number {
    /// The epoch of the chunk that follows, or the end of the pass.
    OfChunk,
    /// The last epoch.
    End,
    /// How long ago one of the last epochs began, in nanoseconds.
    Age,
}

/// What follows the header.
pub(crate) struct Content<T: Kind> {
    pub(crate) header: Header,
    passes: Passes<Place<T>>,
    next: Number,
    last: u64,
    /// How long ago the last epochs began, the last one first.
    ages: Vec<Duration>,
}

impl<T: Lifetime> Content<T> {
    /// The filter, after it was not in use for `elapsed`.
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: impl FnOnce(u64) -> S,
        elapsed: Duration,
    ) -> Result<Filter<S, T>, SnapshotError> {
        let hasher = self.header.hashing.hasher(hasher)?;
        let place = self.passes.finish()?;
        if !T::EXPIRES {
            return place.finish(hasher, (0, Now::new(0, 0)), Beginning::default());
        }
        let window = self.header.window;
        let (begun, ages) = window.pass(&self.ages, elapsed);
        // No overflow: both are below 2^63.
        let epoch = self.last + begun;
        let now = Now::new(epoch % CYCLE, window.oldest_live(&ages));
        let beginning = Beginning::in_epoch(now.epoch(), ages);
        place.finish(hasher, (epoch, now), beginning)
    }

    fn take_epoch(&mut self, epoch: u64) -> Result<(), SnapshotError> {
        let refuse = |what| Err(SnapshotError::Geometry { what, found: epoch });
        if !T::EXPIRES && epoch != 0 {
            return refuse("chunk tag");
        }
        if !(self.last..END_OF_TIME).contains(&epoch) {
            return refuse("epoch");
        }
        self.last = epoch;
        Ok(())
    }

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

    /// What follows this header, of a filter whose buckets occupy at most `most` bytes. A number comes
    /// first.
    pub(super) fn begin(header: &[u8; HEADER_BYTES], most: usize) -> Result<Self, SnapshotError> {
        let header = Header::from_bytes::<T>(header)?;
        Ok(Self {
            passes: Passes::new(header.geometry, most),
            header,
            next: Number::OfChunk,
            last: 0,
            ages: Vec::new(),
        })
    }

    /// Takes a number, and returns what follows.
    pub(super) fn number(&mut self, number: u64) -> Result<Next, SnapshotError> {
        let Some(chunk) = self.passes.next_chunk() else {
            return self.passes.begin(number);
        };
        match self.next {
            Number::OfChunk if number == pass_ends::<T>() && self.passes.end() => {
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

    /// Takes a chunk, and returns what follows.
    pub(super) fn chunk(&mut self, came: Came<'_>) -> Result<Next, SnapshotError> {
        let header = self.header;
        let make = |doublings| Place::new(header, doublings);
        let is_last = self.passes.put(came, self.last, make)?;
        if is_last && !T::EXPIRES {
            return Ok(Next::Sum);
        }
        if is_last {
            self.next = Number::End;
        }
        Ok(Next::Number)
    }

    /// The number of buckets in all planes of the table that is being built.
    pub(super) fn buckets(&self) -> usize {
        self.passes.words()
    }

    /// The bytes on the heap.
    pub(super) fn memory_usage(&self) -> usize {
        self.passes.memory_usage()
    }
}

//! A filter from its bytes: the hasher, the time since they were written, and a limit.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use super::file::Loaded;
use super::{
    content::Content,
    decode::Decoder,
    decoder::FilterDecoder,
    header::{check_size, check_sum},
};
use crate::{
    error::SnapshotError,
    filter::Filter,
    hash::SeededState,
    lifetime::{Expiring, Lifetime, Timing},
};
use std::{fmt, hash::BuildHasher, io::Read, marker::PhantomData, time::Duration};

/// How a filter is restored from bytes, made by [`Filter::restore`].
///
/// ```
/// use guira::{CuckooFilter, SnapshotError};
/// use std::hash::RandomState;
///
/// let hasher = RandomState::new();
/// let filter = CuckooFilter::builder().hasher(hasher.clone()).build()?;
/// filter.insert("ani")?;
/// let bytes = filter.to_bytes();
/// let copy = CuckooFilter::restore().hasher(hasher).from_bytes(&bytes)?;
/// assert!(copy.contains("ani"));
///
/// let refused = CuckooFilter::from_bytes(&bytes); // by the default hasher
/// assert!(matches!(refused, Err(SnapshotError::Hasher { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Restore<S, T> {
    make: Make<S>,
    elapsed: Option<Duration>,
    max_bytes: usize,
    lifetime: PhantomData<T>,
}

/// Where the hasher comes from.
enum Make<S> {
    OfSeed(fn(u64) -> S),
    Given(S),
}

impl<S> Make<S> {
    fn hasher(self, seed: u64) -> S {
        match self {
            Self::OfSeed(make) => make(seed),
            Self::Given(hasher) => hasher,
        }
    }
}

impl<T: Lifetime> Filter<SeededState, T> {
    /// Restores a filter that had another hasher, after a known time, or within a limit of memory.
    pub fn restore() -> Restore<SeededState, T> {
        Restore {
            make: Make::OfSeed(SeededState::new),
            elapsed: None,
            max_bytes: usize::MAX,
            lifetime: PhantomData,
        }
    }

    /// Reads a snapshot.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. O(bytes).
    /// An [`ExpiringFilter`](crate::ExpiringFilter) continues as if no time had passed since the
    /// snapshot was written, unless [`elapsed`](Restore::elapsed) says so.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let mut file = filter.to_bytes();
    /// file.extend(b"what follows");
    ///
    /// let mut reader = &file[..];
    /// let copy = CuckooFilter::read_from(&mut reader)?;
    /// assert!(copy.contains("ani"));
    /// assert_eq!(reader, b"what follows");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. [`SnapshotError::Io`] has the error of
    /// `reader`.
    ///
    /// The call allocates at most 5 bytes per byte read, and some KiB.
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Self::restore().read_from(reader)
    }

    /// Makes a filter from a snapshot.
    ///
    /// ```
    /// use guira::{CuckooFilter, SnapshotError};
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let mut bytes = filter.to_bytes();
    /// assert!(CuckooFilter::from_bytes(&bytes)?.contains("ani"));
    ///
    /// bytes.truncate(100);
    /// let error = CuckooFilter::from_bytes(&bytes);
    /// assert!(matches!(error, Err(SnapshotError::Truncated)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_from`](Self::read_from), and [`SnapshotError::TrailingBytes`] if bytes follow the
    /// snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Self::restore().from_bytes(bytes)
    }

    /// Makes the empty filter that a [header](Self::header) describes.
    ///
    /// A header of a few bytes can ask for 32 GiB. `max_bytes` limits the memory of the buckets before
    /// growth, at 8 bytes each. Unlike a [`SnapshotDecoder`](crate::SnapshotDecoder), the call allocates
    /// all of it at once. O(buckets), like [`build`](crate::Builder::build).
    ///
    /// A filter that can grow allocates more as items are inserted. The header says how many times it may
    /// double, at most 18.
    ///
    /// ```
    /// use guira::{CuckooFilter, SnapshotError};
    ///
    /// let header = CuckooFilter::with_capacity(1_000_000).header();
    /// let refused = CuckooFilter::from_header(&header, 1 << 20);
    /// assert!(matches!(refused, Err(SnapshotError::TooLarge { allowed: 1_048_576, .. })));
    /// assert!(CuckooFilter::from_header(&header, 1 << 22).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// * [`SnapshotError::TooLarge`]: the buckets need more than `max_bytes`. Nothing was allocated.
    /// * [`SnapshotError::Memory`]: the allocator refuses the memory.
    /// * [`SnapshotError::Hasher`]: the filter of this header had another hasher.
    /// * Other variants of [`SnapshotError`]: the bytes are not a valid header.
    pub fn from_header(header: &[u8], max_bytes: usize) -> Result<Self, SnapshotError> {
        Self::restore().max_bytes(max_bytes).from_header(header)
    }
}

/// What to restore by.
impl<S, T: Lifetime> Restore<S, T> {
    /// The hasher that the filter had. By default, a [`SeededState`] with the seed in the bytes.
    pub fn hasher<H>(self, hasher: H) -> Restore<H, T> {
        Restore {
            make: Make::Given(hasher),
            elapsed: self.elapsed,
            max_bytes: self.max_bytes,
            lifetime: PhantomData,
        }
    }

    /// The most memory for the buckets, at 8 bytes each: otherwise [`SnapshotError::TooLarge`].
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }
}

impl<S> Restore<S, Expiring> {
    /// The time since the snapshot was written, for instance before a restart: it passes in the filter.
    ///
    /// It is the time since [`write_to`](Filter::write_to) or [`to_bytes`](Filter::to_bytes)
    /// returned, so take a time stamp after the call, not before it. A value that is too small
    /// makes items live longer by the difference. A value that is too large makes them expire
    /// early.
    ///
    /// The snapshot carries the age of its epoch. So however often a process restarts, items live
    /// for the [TTL](crate::ExpiringFilter::ttl), and for at most TTL · (1 + 1/E) if epochs begin on time.
    /// Epochs that were due within `elapsed` begin during the call, and their dead items are left out.
    /// An epoch that was overdue when the snapshot was written counts as due one nanosecond later.
    ///
    /// The current epoch of the filter continues by its own clock at once. If you tick the filter by
    /// a [clock of your own](crate::ExpiringFilter::tick_at), do so first right after this call: the age of
    /// the epoch then counts from there.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let bytes = filter.to_bytes();
    ///
    /// let after = |seconds| {
    ///     let elapsed = Duration::from_secs(seconds);
    ///     ExpiringFilter::restore().elapsed(elapsed).from_bytes(&bytes)
    /// };
    /// assert!(after(59)?.contains("ani"));
    /// assert!(!after(3600)?.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn elapsed(self, elapsed: Duration) -> Self {
        Self {
            elapsed: Some(elapsed),
            ..self
        }
    }
}

/// What to restore from.
impl<S: BuildHasher + 'static, T: Lifetime> Restore<S, T> {
    /// [`Filter::read_from`].
    ///
    /// # Errors
    ///
    /// As [`Filter::read_from`].
    pub fn read_from<R: Read>(self, reader: R) -> Result<Filter<S, T>, SnapshotError> {
        let content = Decoder::new(self.max_bytes).read_on(reader)?;
        self.of(content, Duration::ZERO)
    }

    /// [`Filter::from_bytes`].
    ///
    /// # Errors
    ///
    /// As [`Filter::from_bytes`].
    pub fn from_bytes(self, bytes: &[u8]) -> Result<Filter<S, T>, SnapshotError> {
        let mut decoder = FilterDecoder::new(self.max_bytes);
        let taken = decoder.feed(bytes)?;
        let filter = self.finish(decoder)?;
        match bytes.len() - taken {
            0 => Ok(filter),
            count => Err(SnapshotError::TrailingBytes { count }),
        }
    }

    /// [`FilterDecoder::finish`]. The limit is that of the decoder.
    ///
    /// # Errors
    ///
    /// As [`FilterDecoder::finish`].
    pub fn finish(self, decoder: FilterDecoder<T>) -> Result<Filter<S, T>, SnapshotError> {
        self.of(decoder.into_inner().finish()?, Duration::ZERO)
    }

    /// [`Filter::load`]. The time that passes is the one that was given, or else the time since
    /// [`save`](Filter::save).
    ///
    /// # Errors
    ///
    /// As [`Filter::load`].
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn load(self, path: impl AsRef<std::path::Path>) -> Result<Filter<S, T>, SnapshotError> {
        let loaded = Loaded::read(path.as_ref(), self.max_bytes)?;
        self.of(loaded.content, loaded.elapsed)
    }

    /// The filter of this content, after this time if no other one was given.
    fn of(self, content: Content<T>, elapsed: Duration) -> Result<Filter<S, T>, SnapshotError> {
        let elapsed = self.elapsed.unwrap_or(elapsed);
        content.finish(|seed| self.make.hasher(seed), elapsed)
    }

    /// [`Filter::from_header`]. No time passes in an empty filter.
    ///
    /// # Errors
    ///
    /// As [`Filter::from_header`].
    pub fn from_header(self, header: &[u8]) -> Result<Filter<S, T>, SnapshotError> {
        let header = check_sum::<T>(header)?;
        let hasher = header.hashing.hasher(|seed| self.make.hasher(seed))?;
        let buckets = header.geometry.buckets;
        check_size(buckets, self.max_bytes)?;
        Filter::empty(hasher, &header.geometry, header.window, T::Timing::start)
            .ok_or(SnapshotError::Memory { buckets })
    }
}

impl<S, T> fmt::Debug for Restore<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restore")
            .field("elapsed", &self.elapsed)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

//! Snapshots: the words of a filter as bytes, written while threads use the filter.
//!
//! `docs/FORMAT.md` describes the bytes. [`crate::raw::frontier`] explains why a scan is correct
//! while copies move, and [`Table::read_chunk`](crate::table::Table::read_chunk) why it is correct during
//! growth.

pub(crate) mod assembly;
pub(crate) mod decode;
pub(crate) mod decoder;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) mod file;
pub(crate) mod header;
pub(crate) mod passes;
mod place;
mod restore;
pub(crate) mod stream;
pub(crate) mod summed;

use crate::{
    error::SnapshotError,
    filter::Filter,
    hash::SeededState,
    lifetime::{Lifetime, Timing},
    raw::{frontier::chunk_buckets, ops::Ops},
    table::time::beginning::Reading,
};
use decode::Decoder;
use header::Header;
use passes::Copying;
use place::Place;
use std::{
    hash::BuildHasher,
    io::{self, Read, Write},
    time::Duration,
};
pub(crate) use stream::fill_from;
use stream::{Encoder, pass_ends};

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// Writes a snapshot of the filter, while threads use the filter.
    ///
    /// Every item that is present during the whole call is in the snapshot. An item that is
    /// inserted or removed during the call may be in it or not. If no thread changes the filter,
    /// the snapshot is exact, down to the place of each fingerprint.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) each item that is live during the whole call is
    /// in the snapshot with its time. The snapshot has the age of the epoch by the filter's own clock.
    /// An item that is refreshed during the call may be in it in its old or its new state. In its old
    /// state it can be missing, if it would have expired without the refresh. If you tick the filter by
    /// another clock, call [`write_to_at`](crate::ExpiringFilter::write_to_at).
    ///
    /// An item that is relocated during the call may be in the snapshot twice. An item that was
    /// removed just before the call may be in it, too, if its relocation was still in progress.
    ///
    /// During the call no relocation crosses the position of the scan. An insert that has no other
    /// path reads the next part of the filter in place of the call. It reads at most all that is
    /// left, which takes about a second per GiB. So no insert fails because `writer` is slow.
    ///
    /// O(buckets). The call needs some KiB of memory, and 60 bytes per 4 KiB of the filter. If the
    /// filter has doubled more than six times, it needs 140 bytes per word of a bucket: 140 KiB
    /// after ten doublings. The parts that inserts have read stay in memory until the call ends: at
    /// most the size of the filter, and nothing unless an insert needs it. An insert that gets no
    /// memory for it may return [`BlockedByScan`](crate::InsertError::BlockedByScan).
    ///
    /// To report progress, wrap `writer`. All but about 1 % of the bytes are written in proportion
    /// to the scanned buckets. The total for a fixed filter is about
    /// [`memory_usage`](Self::memory_usage).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let mut file = Vec::new();
    /// filter.write_to(&mut file)?;
    /// assert!(CuckooFilter::read_from(&file[..])?.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `writer`.
    pub fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        self.write(writer, &|| self.timing.read())
    }

    fn write<W: Write>(&self, writer: W, clock: &dyn Fn() -> Reading) -> io::Result<()> {
        let header = Header::of(self).to_bytes();
        let mut encoder = Encoder::new(writer, &header, pass_ends::<T>())?;
        self.raw.scan(&mut encoder).map_err(|error| match error {
            SnapshotError::Io(error) => error,
            // A scan has no other error.
            _ => io::ErrorKind::OutOfMemory.into(),
        })?;
        if T::EXPIRES {
            let (end, ages) = self.raw.end_and_ages(clock);
            encoder.put_number(end.epoch())?;
            for age in self.window().ages_in_snapshot(ages, end.uncounted() > 0) {
                encoder.put_number(age)?;
            }
        }
        encoder.end()
    }

    /// [Writes](Self::write_to) a snapshot into a vector.
    ///
    /// The vector is about as large as the filter. As with any `Vec`, the process aborts if there
    /// is no memory for it.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let copy = CuckooFilter::from_bytes(&filter.to_bytes())?;
    /// assert!(copy.contains("ani"));
    /// assert_eq!(copy.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes_by(&|| self.timing.read())
    }

    fn bytes_by(&self, clock: &dyn Fn() -> Reading) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.snapshot_len_hint());
        match self.write(&mut bytes, clock) {
            Ok(()) => bytes,
            Err(error) => unreachable!("a vector takes all bytes: {error}"),
        }
    }

    /// The bytes of a snapshot that begins now: how much memory to reserve for it.
    ///
    /// A snapshot is longer only if the filter doubles before it is complete.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// let mut bytes = Vec::new();
    /// bytes.try_reserve_exact(filter.snapshot_len_hint())?;
    /// filter.write_to(&mut bytes)?;
    /// assert_eq!(bytes.len(), filter.snapshot_len_hint());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot_len_hint(&self) -> usize {
        let geometry = self.geometry();
        let tags = geometry
            .buckets
            .div_ceil(chunk_buckets(geometry.series.levels));
        // The doublings, the words, and a tag per chunk; if items expire, the last epoch, and the ages of
        // the last ones.
        let end = if T::EXPIRES {
            1 + self.timing.epochs() as usize
        } else {
            0
        };
        header::len_with(1 + self.buckets() + tags + end)
    }

    /// Reads a snapshot of a filter that used `hasher`.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. O(bytes).
    ///
    /// ```
    /// use guira::{CuckooFilter, SnapshotError};
    /// use std::hash::RandomState;
    ///
    /// let hasher = RandomState::new();
    /// let filter = CuckooFilter::builder().hasher(hasher.clone()).build()?;
    /// filter.insert("ani")?;
    /// let bytes = filter.to_bytes();
    /// let copy = CuckooFilter::read_from_with_hasher(&bytes[..], hasher)?;
    /// assert!(copy.contains("ani"));
    ///
    /// let error = CuckooFilter::read_from_with_hasher(&bytes[..], RandomState::new());
    /// assert!(matches!(error, Err(SnapshotError::Hasher { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. [`SnapshotError::Io`] has the error of
    /// `reader`.
    ///
    /// The call allocates at most 5 bytes per byte read, and some KiB.
    /// [`SnapshotDecoder`](crate::SnapshotDecoder) accepts a limit.
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<T>::read(reader)?.finish(|_| hasher, Duration::ZERO)
    }

    /// Makes a filter from a snapshot of a filter that used `hasher`.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::RandomState;
    ///
    /// let hasher = RandomState::new();
    /// let filter = CuckooFilter::builder().hasher(hasher.clone()).build()?;
    /// filter.insert("ani")?;
    /// let copy = CuckooFilter::from_bytes_with_hasher(&filter.to_bytes(), hasher)?;
    /// assert!(copy.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher), and
    /// [`SnapshotError::TrailingBytes`] if bytes follow the snapshot.
    pub fn from_bytes_with_hasher(bytes: &[u8], hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<T>::whole(bytes, |it| it.finish(|_| hasher, Duration::ZERO))
    }
}

impl<T: Lifetime> Filter<SeededState, T> {
    /// Reads a snapshot.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. O(bytes).
    /// An [`ExpiringFilter`](crate::ExpiringFilter) continues as if no time had passed since the
    /// snapshot was written; [`restore`](crate::ExpiringFilter::restore) takes that time into account.
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
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Decoder::<T>::read(reader)?.finish(SeededState::new, Duration::ZERO)
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
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher), and
    /// [`SnapshotError::TrailingBytes`] if bytes follow the snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Decoder::<T>::whole(bytes, |it| it.finish(SeededState::new, Duration::ZERO))
    }
}

impl<S: Clone + BuildHasher + 'static, T: Lifetime> Clone for Filter<S, T> {
    /// Like [`try_clone`](Self::try_clone), but panics instead of returning an error.
    ///
    /// # Panics
    ///
    /// If that returns an error, which is one of memory unless processes share the filter.
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(clone) => clone,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<S: Clone + BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// Copies the filter, while threads use it.
    ///
    /// The copy is what [`read_from`](crate::CuckooFilter::read_from) makes of a snapshot that
    /// [`write_to`](Self::write_to) writes at the same time. O(buckets). The copy of an
    /// [`ExpiringFilter`](crate::ExpiringFilter) goes by the same clock, also if that is a clock of the
    /// caller.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let copy = filter.try_clone()?;
    /// assert!(filter.remove("ani"));
    /// assert!(copy.contains("ani") && !filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Memory`] if there is no memory for the copy. A filter in memory that processes
    /// share can have other ones: without a seat it cannot be scanned, and its words may be impossible.
    pub fn try_clone(&self) -> Result<Self, SnapshotError> {
        let header = Header::of(self);
        let make = |doublings| Place::<T>::new(header, doublings);
        let mut copying = Copying::new(header.geometry, make);
        self.raw.scan(&mut copying)?;
        let (end, beginning) = self.raw.end_and_beginning();
        let place = copying.finish()?;
        let mut copy = place.finish(self.hasher.clone(), (end.epoch(), end), beginning)?;
        copy.timing = self.timing.duplicate();
        Ok(copy)
    }
}

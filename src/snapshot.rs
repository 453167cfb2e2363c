//! Snapshots: the words of a filter as bytes, written while threads use the filter.
//!
//! `docs/FORMAT.md` describes the bytes. [`crate::raw::frontier`] explains why a scan is correct
//! while copies move, and [`Table::read_chunk`](crate::table::Table::read_chunk) why it is correct during
//! growth.

pub(crate) mod assembly;
mod content;
pub(crate) mod decode;
pub(crate) mod decoder;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) mod file;
pub(crate) mod header;
pub(crate) mod item;
pub(crate) mod passes;
mod place;
pub(crate) mod restore;
pub(crate) mod stream;
pub(crate) mod summed;

use crate::{
    error::SnapshotError,
    filter::Filter,
    lifetime::{Expiring, Lifetime, Timing},
    raw::{any::Ops, frontier::chunk_buckets},
    table::time::beginning::Reading,
};
use header::Header;
use passes::Copying;
use place::Place;
use std::{
    hash::BuildHasher,
    io::{self, Write},
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
}

impl<S: BuildHasher + 'static> Filter<S, Expiring> {
    /// [`write_to`](Self::write_to) for a filter that is ticked by a
    /// [clock of the caller](Self::tick_at). The clock is read at the end of the call.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6).build()?;
    /// let seconds = Duration::from_secs;
    /// filter.tick_at(|| seconds(100));
    /// let mut file = Vec::new();
    /// filter.write_to_at(&mut file, || seconds(107))?;
    ///
    /// let copy = ExpiringFilter::read_from(&file[..])?;
    /// copy.tick_at(|| seconds(1_000));
    /// assert_eq!(copy.epoch_age_at(seconds(1_001)), Some(seconds(8)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `writer`.
    pub fn write_to_at<W: Write>(&self, writer: W, clock: impl Fn() -> Duration) -> io::Result<()> {
        self.write(writer, &|| Reading::of_caller(clock()))
    }

    /// [`write_to_at`](Self::write_to_at) into a vector, as [`to_bytes`](Self::to_bytes).
    ///
    /// While no thread changes the filter, the bytes at one reading of the clock are the same.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let now = || Duration::from_secs(5);
    /// let copy = ExpiringFilter::from_bytes(&filter.to_bytes_at(now))?;
    /// assert_eq!(copy.to_bytes_at(now), filter.to_bytes_at(now));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes_at(&self, clock: impl Fn() -> Duration) -> Vec<u8> {
        self.bytes_by(&|| Reading::of_caller(clock()))
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

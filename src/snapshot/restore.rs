//! Snapshots by a clock of the caller, and after a time in which the filter was not in use.

use super::decode::Decoder;
use crate::{
    error::SnapshotError, filter::Filter, hash::SeededState, lifetime::Expiring,
    table::time::beginning::Reading,
};
use std::{
    hash::BuildHasher,
    io::{self, Read, Write},
    time::Duration,
};

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

    /// [`restore`](crate::ExpiringFilter::restore) for a filter that used `hasher`.
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn restore_with_hasher<R: Read>(
        reader: R,
        hasher: S,
        elapsed: Duration,
    ) -> Result<Self, SnapshotError> {
        Decoder::<Expiring>::read(reader)?.finish(|_| hasher, elapsed)
    }
}

impl Filter<SeededState, Expiring> {
    /// Reads a snapshot after a restart: lets the time pass since it was written.
    ///
    /// `elapsed` is the time since [`write_to`](Self::write_to) or [`to_bytes`](Self::to_bytes)
    /// returned, so take a time stamp after the call, not before it. A value that is too small
    /// makes items live longer by the difference. A value that is too large makes them expire
    /// early.
    ///
    /// The snapshot carries the age of its epoch. So however often a process restarts, items live
    /// for the [TTL](Self::ttl), and for at most TTL · (1 + 1/E) if epochs begin on time. Epochs
    /// that were due within `elapsed` begin during the call, and their dead items are left out.
    /// An epoch that was overdue when the snapshot was written counts as due one nanosecond later.
    ///
    /// The current epoch of the filter continues by its own clock at once. If you tick the filter by
    /// a [clock of your own](Self::tick_at), do so first right after this call: the age of the epoch
    /// then counts from there. O(bytes).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let bytes = filter.to_bytes();
    ///
    /// let after = |seconds| ExpiringFilter::restore(&bytes[..], Duration::from_secs(seconds));
    /// assert!(after(59)?.contains("ani"));
    /// assert!(!after(3600)?.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn restore<R: Read>(reader: R, elapsed: Duration) -> Result<Self, SnapshotError> {
        Decoder::<Expiring>::read(reader)?.finish(SeededState::new, elapsed)
    }
}

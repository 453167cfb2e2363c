//! Snapshots of an expiring filter, written while threads use the filter.
//!
//! `docs/FORMAT.md` describes the bytes. A tag says an epoch only modulo 2^t, and a scan may take
//! many epochs. Each chunk of words therefore has the epoch in which it was read, as its tag.

pub(crate) mod decoder;
pub(super) mod header;
mod place;

use super::{ExpiringFilter, any::with_layout};
use crate::{
    error::SnapshotError,
    fault::faulty,
    geometry::Geometry,
    hash::SeededState,
    raw::{
        RawFilter,
        frontier::{chunk_buckets, memory::ScanError, scan::Chunk},
    },
    snapshot::{decode::Decoder, header::len_with, image::Sink, passes::Copying, stream::Encoder},
    table::{
        class::Class,
        layout::{TimedLayout, Word},
        time::{
            Now, Time,
            beginning::{Beginning, Reading},
        },
        word::Bucket,
    },
};
use decoder::Timed;
use header::Header;
use place::Place;
use std::{
    hash::BuildHasher,
    io::{self, Read, Write},
    time::Duration,
};

/// Epochs from this one on are refused: no filter reaches them, and they would overflow.
const END_OF_TIME: u64 = 1 << 63;

/// Replaces the epoch of a chunk, but never of the first one of a pass. The filter has doubled, and the
/// scan starts again at a higher level.
const PASS_ENDS: u64 = u64::MAX;

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// Writes a snapshot of the filter, while threads use the filter.
    ///
    /// Every item that is present and live during the whole call is in the snapshot, with its time.
    /// An item that is inserted, refreshed or removed during the call may be in it in its old or
    /// its new state. In its old state a refreshed item can be missing, if it would have expired
    /// without the refresh.
    ///
    /// The snapshot carries the age of the current epoch by the filter's own clock. If you tick the
    /// filter by another clock, call [`write_to_at`](Self::write_to_at).
    ///
    /// Memory, progress and the effect on inserts are as for
    /// [`CuckooFilter::write_to`](crate::CuckooFilter::write_to).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(2).build()?;
    /// filter.insert("ani")?;
    /// filter.advance();
    /// let mut file = Vec::new();
    /// filter.write_to(&mut file)?;
    ///
    /// let copy = ExpiringFilter::read_from(&file[..])?;
    /// assert!(copy.contains("ani"));
    /// copy.advance();
    /// assert!(copy.contains("ani"));
    /// copy.advance();
    /// assert!(!copy.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `writer`.
    pub fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        self.write(writer, || self.clock.read())
    }

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
        self.write(writer, || Reading::of_caller(clock()))
    }

    fn write<W: Write>(&self, writer: W, clock: impl Fn() -> Reading) -> io::Result<()> {
        let header = Header::of(self).to_bytes();
        let mut encoder = Encoder::new(writer, &header, PASS_ENDS)?;
        with_layout!(&self.raw, raw => raw.scan_by_epoch(&mut encoder))?;
        let (end, ages) = with_layout!(&self.raw, raw => raw.moment_and_ages(clock));
        encoder.put_number(end.epoch())?;
        for age in self.window.ages_in_snapshot(ages, end.uncounted() > 0) {
            encoder.put_number(age)?;
        }
        encoder.end()
    }

    /// [Writes](Self::write_to) a snapshot into a vector.
    ///
    /// The vector is about as large as the filter. As with any `Vec`, the process aborts if there
    /// is no memory for it.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let copy = ExpiringFilter::from_bytes(&filter.to_bytes())?;
    /// assert!(copy.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes_by(|| self.clock.read())
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
        self.bytes_by(|| Reading::of_caller(clock()))
    }

    fn bytes_by(&self, clock: impl Fn() -> Reading) -> Vec<u8> {
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
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert_eq!(filter.to_bytes().len(), filter.snapshot_len_hint());
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn snapshot_len_hint(&self) -> usize {
        let Geometry {
            buckets, series, ..
        } = self.geometry;
        let chunks = buckets.div_ceil(chunk_buckets(series.levels));
        // The doublings, the words, the epoch of each chunk, the epoch at the end, and the ages.
        len_with(1 + self.buckets() + chunks + 1 + self.window.epochs as usize)
    }

    /// Reads a snapshot of a filter that used `hasher`.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. The
    /// filter continues as if no time had passed since the snapshot was written.
    /// [`restore_with_hasher`](Self::restore_with_hasher) takes that time into account. O(bytes).
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. [`SnapshotError::Io`] has the error of
    /// `reader`.
    ///
    /// The call allocates at most 5 bytes per byte read, and some KiB.
    /// [`ExpiringSnapshotDecoder`](crate::ExpiringSnapshotDecoder) accepts a limit.
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Self::restore_with_hasher(reader, hasher, Duration::ZERO)
    }

    /// [`restore`](ExpiringFilter::restore) for a filter that used `hasher`.
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn restore_with_hasher<R: Read>(
        reader: R,
        hasher: S,
        elapsed: Duration,
    ) -> Result<Self, SnapshotError> {
        Decoder::<Timed>::read(reader)?.finish(|_| hasher, elapsed)
    }

    /// Makes a filter from a snapshot of a filter that used `hasher`.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{hash::RandomState, time::Duration};
    ///
    /// let hasher = RandomState::new();
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).hasher(hasher.clone());
    /// let filter = builder.build()?;
    /// filter.insert("ani")?;
    /// let copy = ExpiringFilter::from_bytes_with_hasher(&filter.to_bytes(), hasher)?;
    /// assert!(copy.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher), and
    /// [`SnapshotError::TrailingBytes`] if bytes follow the snapshot.
    pub fn from_bytes_with_hasher(bytes: &[u8], hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<Timed>::whole(bytes, |timed| timed.finish(|_| hasher, Duration::ZERO))
    }
}

impl ExpiringFilter {
    /// Reads a snapshot.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. The
    /// filter continues as if no time had passed since the snapshot was written; see
    /// [`restore`](Self::restore). O(bytes).
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Self::restore(reader, Duration::ZERO)
    }

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
        Decoder::<Timed>::read(reader)?.finish(SeededState::new, elapsed)
    }

    /// Makes a filter from a snapshot.
    ///
    /// ```
    /// use guira::{ExpiringFilter, SnapshotError};
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// let bytes = filter.to_bytes();
    /// let cut = ExpiringFilter::from_bytes(&bytes[..100]);
    /// assert!(matches!(cut, Err(SnapshotError::Truncated)));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher), and
    /// [`SnapshotError::TrailingBytes`] if bytes follow the snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Decoder::<Timed>::whole(bytes, |timed| {
            timed.finish(SeededState::new, Duration::ZERO)
        })
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for ExpiringFilter<S> {
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

impl<S: Clone + BuildHasher + 'static> ExpiringFilter<S> {
    /// Copies the filter with the times of its items, while threads use it.
    ///
    /// The copy is what [`read_from`](ExpiringFilter::read_from) makes of a snapshot that
    /// [`write_to`](Self::write_to) writes at the same time. It goes by the same clock as the
    /// filter, also if that is a clock of the caller. O(buckets).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let copy = filter.try_clone()?;
    /// assert!(filter.remove("ani"));
    /// assert!(copy.contains("ani") && !filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CuckooFilter::try_clone`](crate::CuckooFilter::try_clone).
    pub fn try_clone(&self) -> Result<Self, SnapshotError> {
        let make = |doublings| Place::new(self.geometry, self.window, doublings);
        let mut copying = Copying::new(self.geometry, make);
        let (end, beginning) = with_layout!(&self.raw, raw => {
            raw.scan_by_epoch(&mut copying)?;
            raw.end_and_beginning()
        });
        let copy = copying.finish()?;
        let copy = copy.finish(self.hasher.clone(), (end.epoch(), end), beginning)?;
        Ok(Self {
            clock: self.clock.clone(),
            ..copy
        })
    }
}

impl<L: TimedLayout> RawFilter<L> {
    /// Hands all words to `sink`, each chunk with the epoch in which it was read, and without the copies
    /// that were dead then.
    pub(super) fn scan_by_epoch<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let (table, most) = (&self.table, self.time.most());
        let mut scan = self.begin_scan(Some(table.scan_level()))?;
        let mut words = Vec::new();
        while let Some(Chunk { begins, image, .. }) = scan.next()? {
            if begins {
                sink.begin_pass(image.level - table.first_level())?;
            }
            let epoch = image.epoch;
            let now = Now::new(epoch, most);
            let live = |&word: &u64| L::without_dead(now, Word::<L>::unpack(word)).pack();
            words.clear();
            words.extend(image.words.iter().map(live));
            sink.chunk(&words, epoch)?;
        }
        Ok(())
    }

    /// The words, as a snapshot has them.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn live_image(&self) -> Vec<u64> {
        let mut image = crate::snapshot::image::Image::default();
        let Ok(()) = self.scan_by_epoch(&mut image);
        image.0
    }

    /// Hands the copies of each chunk to `take`, with the epoch in which it was read: the class of each
    /// copy that was not older than E then, and its age. Returns the moment at the end, which says what
    /// is live.
    ///
    /// As [`scan_classes`](Self::scan_classes), the scan does not start again when the filter doubles.
    pub(super) fn scan_live<E: ScanError>(
        &self,
        mut take: impl FnMut(u64, &mut dyn Iterator<Item = (Class, u64)>) -> Result<(), E>,
    ) -> Result<Now, E> {
        let most = self.time.most();
        let mut scan = self.begin_scan(None)?;
        while let Some(Chunk { buckets, image, .. }) = scan.next()? {
            let epoch = image.epoch;
            let now = Now::new(epoch, most);
            let copies = self.table.copies_in(buckets, &image.words);
            let ages = copies.map(|(class, entry)| (class, L::age(now, entry)));
            take(epoch, &mut ages.filter(|&(_, age)| age <= most))?;
        }
        Ok(self.moment())
    }

    /// The moment, and what is known of the beginnings of the last epochs.
    ///
    /// The beginnings are read first. Otherwise a later epoch could begin between the reads, and the
    /// copy would have the beginning of that later epoch. It would then consider its own epoch
    /// over, and never end it.
    pub(crate) fn end_and_beginning(&self) -> (Now, Beginning) {
        let early = faulty!(None, EndBeforeBeginning => Some(self.moment()));
        let beginning = self.time.beginning.duplicate();
        (early.unwrap_or_else(|| self.moment()), beginning)
    }

    /// The moment, and how long ago the last epochs began, that one first.
    fn moment_and_ages(&self, clock: impl Fn() -> Reading) -> (Now, Vec<Duration>) {
        loop {
            let now = self.moment();
            let beginning = &self.time.beginning;
            let ages = beginning.ages(now.epoch(), self.time.most(), clock());
            // The ages may belong to other epochs if one has begun in the time between.
            if Time::<Word<L>>::is_still(&self.time, now) {
                return (now, ages);
            }
        }
    }
}

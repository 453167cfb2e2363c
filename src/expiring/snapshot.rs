//! Snapshots of an expiring filter, written while threads use the filter.
//!
//! `docs/FORMAT.md` describes the bytes. A tag says an epoch only modulo 2^t, and a scan may take
//! many epochs. Each chunk of words therefore has the epoch in which it was read.

pub(crate) mod decoder;
pub(super) mod header;
mod place;

use super::{ExpiringFilter, any::with_layout};
use crate::{
    error::{MemoryError, SnapshotError},
    hash::SeededState,
    raw::{
        RawFilter,
        frontier::{chunk_buckets, memory::ScanError, scan::Chunk},
    },
    snapshot::{assembly::Place as _, decode::Decoder, header::len_with, summed::Summed},
    table::{
        layout::PackedLayout,
        time::{Epochs, Now},
        word::{Bucket, Word},
    },
};
use decoder::Chunks;
use header::Header;
use place::Place;
use std::{
    hash::BuildHasher,
    io::{self, Read, Write},
    time::Duration,
};

/// Words in a chunk. The last one may have fewer.
const CHUNK: usize = chunk_buckets(0);

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// Writes a snapshot of the filter, while threads use the filter.
    ///
    /// Every item that is present and live during the whole call is in the snapshot, with its time.
    /// An item that is inserted, refreshed or removed during the call may be in it in its old or
    /// its new state. In its old state a refreshed item can be missing, if it would have expired
    /// without the refresh.
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
        let mut out = Summed::new(writer);
        out.put(&Header::of(self).to_bytes())?;
        let end = with_layout!(&self.raw, raw => raw.scan_by_epoch(|words, step| {
            out.put_numbers([words, &[step]])
        }))?;
        out.put(&end.to_le_bytes())?;
        out.end()
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
        let mut bytes = Vec::with_capacity(self.snapshot_len_hint());
        match self.write_to(&mut bytes) {
            Ok(()) => bytes,
            Err(error) => unreachable!("a vector takes all bytes: {error}"),
        }
    }

    /// The bytes of a snapshot: how much memory to reserve for it.
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
        // The words, the epoch of each chunk, and the epoch at the end.
        len_with(self.buckets() + self.buckets().div_ceil(CHUNK) + 1)
    }

    /// Reads a snapshot of a filter that used `hasher`.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. The
    /// filter continues in the epoch of the snapshot: use [`elapse`](Self::elapse) for the time
    /// since then. O(bytes).
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. [`SnapshotError::Io`] has the error of
    /// `reader`.
    ///
    /// The call allocates at most 5 bytes per byte read, and some KiB.
    /// [`ExpiringSnapshotDecoder`](crate::ExpiringSnapshotDecoder) accepts a limit.
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<Chunks>::read(reader)?.finish(|_| hasher)
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
        Decoder::<Chunks>::whole(bytes, |chunks| chunks.finish(|_| hasher))
    }

    /// Lets time pass in which the filter was not in use, for example while its snapshot was
    /// stored.
    ///
    /// The call begins as many epochs as fit into `elapsed`, rounded down, so items live at most
    /// one epoch longer. O(buckets) per epoch, for at most E + 1 epochs.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let mut filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// filter.elapse(Duration::from_secs(59));
    /// assert!(filter.contains("ani"));
    /// filter.elapse(Duration::from_secs(3600));
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn elapse(&mut self, elapsed: Duration) {
        let epochs = elapsed.as_nanos() / self.epoch_length().as_nanos();
        // After E + 1 epochs every copy is dead, and further epochs change nothing.
        let most = u128::from(self.epochs()) + 1;
        for _ in 0..epochs.min(most) {
            self.advance();
        }
    }
}

impl ExpiringFilter {
    /// Reads a snapshot.
    ///
    /// The call reads up to the last byte of the snapshot, and leaves the bytes after it. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Decoder::<Chunks>::read(reader)?.finish(SeededState::new)
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
        Decoder::<Chunks>::whole(bytes, |chunks| chunks.finish(SeededState::new))
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for ExpiringFilter<S> {
    /// Like [`try_clone`](Self::try_clone), but panics instead of returning an error.
    ///
    /// # Panics
    ///
    /// If there is no memory for the copy.
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
    /// [`write_to`](Self::write_to) writes at the same time. O(buckets).
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
    /// [`MemoryError`] if there is no memory for the copy.
    pub fn try_clone(&self) -> Result<Self, MemoryError> {
        let copy = || {
            let mut place = Place::new(self.geometry, self.window)?;
            let mut start = 0;
            let end = with_layout!(&self.raw, raw => raw.scan_by_epoch(|words, epoch| {
                let buckets = start..start + words.len();
                start = buckets.end;
                place.put(buckets, words, epoch)
            }))?;
            place.finish(self.hasher.clone(), end)
        };
        match copy() {
            Ok(clone) => Ok(clone),
            Err(SnapshotError::Memory { buckets }) => Err(MemoryError { buckets }),
            Err(error) => unreachable!("an image of this filter: {error}"),
        }
    }
}

impl<L: PackedLayout<Time = Epochs>> RawFilter<L> {
    /// Passes each chunk to `sink`, with the epoch in which it was read and without the copies that
    /// were dead then. Returns the epoch at the end.
    pub(super) fn scan_by_epoch<E: ScanError>(
        &self,
        mut sink: impl FnMut(&[u64], u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        let oldest = self.moment().oldest;
        let mut scan = self.begin_scan(None)?;
        let mut words = Vec::new();
        while let Some(Chunk { image, .. }) = scan.next()? {
            let epoch = image.epoch;
            let now = Now { epoch, oldest };
            let live = |&word: &u64| Word::<L>::unpack(word).without_dead(now).pack();
            words.clear();
            words.extend(image.words.iter().map(live));
            sink(&words, epoch)?;
        }
        Ok(self.moment().epoch)
    }
}

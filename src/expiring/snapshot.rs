//! Snapshots of an expiring filter, taken while all threads go on, and restored.
//!
//! `docs/FORMAT.md` describes the bytes. A tag says an epoch only modulo 2^t, and a scan may take
//! many epochs. So with each chunk of words there is the epoch in which it was read.

pub(crate) mod decoder;
pub(super) mod header;
mod place;

use super::{ExpiringFilter, any::with_layout};
use crate::{
    error::{MemoryError, SnapshotError},
    hash::SeededState,
    raw::{
        RawFilter,
        frontier::{chunk_buckets, scan::Chunk},
    },
    snapshot::{assembly::Place as _, decode::Decoder, summed::Summed},
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

/// Words in a chunk, but for the last one.
const CHUNK: usize = chunk_buckets(0);

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// Writes a snapshot of the filter, while any number of threads go on.
    ///
    /// Every item that is present, and does not expire, during the whole call is in the snapshot,
    /// with its time. An item that is inserted, refreshed or removed meanwhile may be in it as it
    /// was before or after: so it is left out if it would have expired without the refresh. The rest is
    /// as for [`CuckooFilter::write_to`](crate::CuckooFilter::write_to).
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
    /// Those of `writer`.
    pub fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        let mut out = Summed::new(writer);
        out.put(&Header::of(self).to_bytes())?;
        let end = with_layout!(&self.raw, raw => raw.scan_by_epoch(|words, step| {
            out.put_numbers([words, &[step]])
        }))?;
        out.put(&end.to_le_bytes())?;
        out.end()
    }

    /// [`write_to`](Self::write_to) into a vector of about the size of the filter.
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
        let mut bytes = Vec::with_capacity(self.buckets() * 8 + self.buckets() / 64 + 256);
        match self.write_to(&mut bytes) {
            Ok(()) => bytes,
            Err(error) => unreachable!("a vector takes all bytes: {error}"),
        }
    }

    /// Reads a snapshot whose filter hashed with `hasher`, up to its last byte; bytes after it are
    /// left.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. Memory grows with the bytes that are
    /// read: at most 5 bytes for each of them, besides some KiB. [`ExpiringSnapshotDecoder`] takes a
    /// limit.
    ///
    /// [`ExpiringSnapshotDecoder`]: crate::ExpiringSnapshotDecoder
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<Chunks>::read(reader)?.finish(|_| hasher)
    }

    /// The filter of the snapshot that `bytes` are, whose filter hashed with `hasher`.
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
    /// [`SnapshotError::TrailingBytes`] if the snapshot ends before the bytes do.
    pub fn from_bytes_with_hasher(bytes: &[u8], hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<Chunks>::whole(bytes, |chunks| chunks.finish(|_| hasher))
    }

    /// Lets `elapsed` pass at once: time in which the filter was not in use, such as the time that a
    /// snapshot was stored. It begins as many epochs as fit into `elapsed`, rounded down, so items
    /// live at most one epoch longer.
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
        // After so many all is dead, and what more there are changes nothing.
        let most = u128::from(self.epochs()) + 1;
        for _ in 0..epochs.min(most) {
            self.advance();
        }
    }
}

impl ExpiringFilter {
    /// Reads a snapshot, up to its last byte; bytes after it are left.
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Decoder::<Chunks>::read(reader)?.finish(SeededState::new)
    }

    /// The filter of the snapshot that `bytes` are.
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
    /// [`SnapshotError::TrailingBytes`] if the snapshot ends before the bytes do.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Decoder::<Chunks>::whole(bytes, |chunks| chunks.finish(SeededState::new))
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for ExpiringFilter<S> {
    /// [`try_clone`](Self::try_clone), with a panic in place of the error.
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
    /// A filter with the items of this one and their times, while any number of threads use it: as by
    /// [`write_to`](Self::write_to) and [`read_from`](ExpiringFilter::read_from).
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
    /// Hands chunk by chunk to `sink`, each with the epoch in which it was read, and without the
    /// copies that were dead then. The result is the epoch at the end.
    pub(super) fn scan_by_epoch<E>(
        &self,
        mut sink: impl FnMut(&[u64], u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        let oldest = self.moment().oldest;
        let mut scan = self.begin_scan(None);
        let mut words = Vec::new();
        while let Some(Chunk { image, .. }) = scan.next() {
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

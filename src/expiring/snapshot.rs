//! Snapshots of an expiring filter, taken while all threads go on, and restored.
//!
//! `docs/FORMAT.md` describes the bytes. A tag says a step only modulo 2^t, and a scan may take
//! many steps. So with each chunk of words there is the step in which it was read.

pub(super) mod header;
mod read;

use super::{
    ExpiringFilter,
    any::{in_steps, of_bits, with_layout},
};
use crate::{
    error::SnapshotError,
    hash::SeededState,
    raw::{
        RawFilter,
        frontier::{chunk_buckets, scan::Chunk},
    },
    snapshot::{summed::Summed, whole},
    table::{
        Levels, Table,
        layout::PackedLayout,
        scan::Restored,
        time::{Epochs, Moment, Now},
        word::{Bits, Bucket, Word},
    },
};
use header::Header;
use read::Reader;
use std::{
    convert::Infallible,
    hash::BuildHasher,
    io::{self, Read, Write},
    time::Duration,
};

/// Words in a chunk, but for the last one.
const CHUNK: usize = chunk_buckets(0);

/// The words of a filter, as a snapshot has them.
struct Image {
    /// Chunk by chunk.
    words: Vec<u64>,
    /// For each chunk the step in which it was read.
    steps: Vec<u64>,
    /// The step after the last chunk was read.
    end: u64,
}

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
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).steps(2).build()?;
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
        let end = with_layout!(&self.raw, raw => raw.scan_in_steps(|words, step| {
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
    /// [`SnapshotError`] says what is wrong with the bytes. No more memory is allocated than twice
    /// as many bytes as were read, and some KiB.
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Self::read(reader, |_| hasher)
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
        whole(bytes, |reader| Self::read_from_with_hasher(reader, hasher))
    }

    /// Lets the time pass that the filter was not in use: that a snapshot lay on a disk, say. It
    /// begins as many whole steps as `elapsed` has, so items live longer by a step at most.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let mut filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// filter.age(Duration::from_secs(59));
    /// assert!(filter.contains("ani"));
    /// filter.age(Duration::from_secs(3600));
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn age(&mut self, elapsed: Duration) {
        let steps = elapsed.as_nanos() / self.step_length().as_nanos();
        // After so many all is dead, and what more there are changes nothing.
        let most = u128::from(self.steps()) + 1;
        for _ in 0..steps.min(most) {
            self.advance();
        }
    }

    fn read<R: Read>(reader: R, hasher: impl FnOnce(u64) -> S) -> Result<Self, SnapshotError> {
        let mut reader = Reader::new(reader);
        let header = Header::from_bytes(&reader.take()?)?;
        let image = reader.image(header.geometry.buckets)?;
        let hasher = header.hashing.hasher(hasher)?;
        Self::from_image(hasher, &header, image)
    }

    fn from_image(hasher: S, header: &Header, image: Image) -> Result<Self, SnapshotError> {
        let (geometry, window) = (header.geometry, header.window);
        let raw = of_bits!(geometry.series.fingerprint_bits, L => {
            RawFilter::<L>::from_steps(image, window.steps)?
        });
        Ok(Self {
            hasher,
            raw,
            geometry,
            window,
        })
    }
}

impl ExpiringFilter {
    /// Reads a snapshot, up to its last byte; bytes after it are left.
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Self::read(reader, SeededState::new)
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
        whole(bytes, |reader| Self::read_from(reader))
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for ExpiringFilter<S> {
    /// A filter with the items of this one and their times, which other threads may use meanwhile:
    /// as by [`write_to`](Self::write_to) and back.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let copy = filter.clone();
    /// assert!(filter.remove("ani"));
    /// assert!(copy.contains("ani") && !filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no memory for it.
    fn clone(&self) -> Self {
        let image = with_layout!(&self.raw, raw => raw.image_in_steps());
        let header = Header::of(self);
        match Self::from_image(self.hasher.clone(), &header, image) {
            Ok(filter) => filter,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<L: PackedLayout<Time = Epochs>> RawFilter<L> {
    /// Hands chunk by chunk to `sink`, each with the step in which it was read, and without the
    /// copies that were dead then. The result is the step at the end.
    pub(super) fn scan_in_steps<E>(
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

    fn image_in_steps(&self) -> Image {
        let mut image = Image {
            words: Vec::with_capacity(self.table.buckets()),
            steps: Vec::new(),
            end: 0,
        };
        let Ok(end) = self.scan_in_steps(|words, step| {
            image.words.extend_from_slice(words);
            image.steps.push(step);
            Ok::<(), Infallible>(())
        });
        image.end = end;
        image
    }

    /// The filter of an image, with copies that are live up to an age of `oldest`. What has died
    /// since its chunk was read is left out. An error is a word that no scan can have made.
    fn from_steps(image: Image, oldest: u32) -> Result<Self, SnapshotError> {
        let Image {
            mut words,
            steps,
            end,
        } = image;
        let oldest = u64::from(oldest);
        for ((chunk, words), step) in words.chunks_mut(CHUNK).enumerate().zip(steps) {
            let then = Now {
                epoch: step,
                oldest,
            };
            for (index, bits) in words.iter_mut().enumerate() {
                let word = Word::<L>::unpack(*bits);
                if !Word::<L>::is_image(Bits(*bits)) || word.without_dead(then) != word {
                    return Err(SnapshotError::Word {
                        bucket: chunk * CHUNK + index,
                        plane: 0,
                        bits: *bits,
                    });
                }
                // In whole numbers: since `step` more steps may have begun than tags tell apart.
                let since = end - step;
                let is_dead = |entry| Moment::<L>::age(then, entry) + since > oldest;
                *bits = word.without_entries(is_dead).pack();
            }
        }
        let buckets = words.len();
        let mut restored = Restored::new(0, 0);
        let table = Table::of_image(Levels::FIXED, words, &mut restored)?;
        let raw = Self::with_table(table).ok_or(SnapshotError::Memory { buckets })?;
        raw.len.add(restored.items);
        let raw = in_steps(raw, oldest as u32, end);
        // What is dead has been left out.
        raw.time.sweep_ends(raw.moment());
        Ok(raw)
    }
}

//! Snapshots: the filter's words as bytes, taken while all threads go on.
//!
//! `docs/FORMAT.md` describes the bytes. What makes a scan right although
//! fingerprints move meanwhile is in [`crate::raw::frontier`] and, for growth, in
//! [`Table::scan`](crate::table::Table::scan).

pub(crate) mod assembly;
mod classes;
pub(crate) mod decode;
pub(crate) mod decoder;
pub(crate) mod header;
mod image;
mod place;
mod stream;
pub(crate) mod summed;

use crate::{
    error::{MemoryError, SnapshotError},
    filter::CuckooFilter,
    hash::SeededState,
    raw::any::with_layout,
};
use decode::Decoder;
use decoder::Passes;
use header::Header;
use place::Copying;
use std::{
    hash::BuildHasher,
    io::{self, Read, Write},
};
use stream::Encoder;
pub(crate) use stream::fill_from;

impl<S: BuildHasher + 'static> CuckooFilter<S> {
    /// Writes a snapshot of the filter, while any number of threads go on.
    ///
    /// Every item that is present during the whole call is in the snapshot.
    /// An item that is inserted or removed meanwhile may be in it or not.
    /// An item that is being relocated just when the scan passes may be in it twice. It may
    /// also be in it though it was removed just before the call, if the relocation had not
    /// yet been given up.
    /// With no writers the snapshot is exact, down to the place of each fingerprint.
    ///
    /// While the call runs, no relocation crosses the place where it is. An insert that has no other
    /// way reads the next part of the filter in place of the call: at most all that is left, which
    /// takes about a second a GiB. So inserts do not fail because `writer` is slow.
    ///
    /// The call needs some KiB of memory beyond the filter, and 60 bytes for each 4 KiB of it. Where
    /// the filter has doubled more than six times, it needs 140 bytes for each word that a bucket has
    /// by then: 140 KiB after ten doublings. What inserts have read stays in memory until the call
    /// ends: at most as many bytes as the filter has, and none unless an insert needs it. An insert
    /// that gets no memory for it may answer [`Full`](crate::InsertError::Full).
    ///
    /// Wrap `writer` to observe the progress. All but about
    /// 1 % of the bytes come in proportion to the buckets scanned. For a
    /// fixed filter [`memory_usage`](Self::memory_usage) is about their number.
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
    /// Those of `writer`.
    pub fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        let mut encoder = Encoder::new(writer, &Header::of(self))?;
        with_layout!(&self.raw, raw => raw.scan(&mut encoder))?;
        encoder.end()
    }

    /// [`write_to`](Self::write_to) into a vector of about the size of the filter.
    /// As with any `Vec`, the process is aborted if there is no memory for it.
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
        let mut bytes = Vec::with_capacity(self.buckets() * 8 + self.buckets() / 64 + 256);
        match self.write_to(&mut bytes) {
            Ok(()) => bytes,
            Err(error) => unreachable!("a vector takes all bytes: {error}"),
        }
    }

    /// Reads a snapshot whose filter hashed with `hasher`, up to its last byte;
    /// bytes after it are left.
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
    /// [`SnapshotError`] says what is wrong with the bytes. Memory grows with the bytes that are
    /// read: at most 5 bytes for each of them, besides some KiB. [`SnapshotDecoder`] takes a limit.
    ///
    /// [`SnapshotDecoder`]: crate::SnapshotDecoder
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<Passes>::read(reader)?.finish(|_| hasher)
    }

    /// The filter of the snapshot that `bytes` are, whose filter hashed with `hasher`.
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
    /// [`SnapshotError::TrailingBytes`] if the snapshot ends before the bytes do.
    pub fn from_bytes_with_hasher(bytes: &[u8], hasher: S) -> Result<Self, SnapshotError> {
        Decoder::<Passes>::whole(bytes, |passes| passes.finish(|_| hasher))
    }
}

impl CuckooFilter {
    /// Reads a snapshot, up to its last byte; bytes after it are left.
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
        Decoder::<Passes>::read(reader)?.finish(SeededState::new)
    }

    /// The filter of the snapshot that `bytes` are.
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
    /// [`SnapshotError::TrailingBytes`] if the snapshot ends before the bytes do.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Decoder::<Passes>::whole(bytes, |passes| passes.finish(SeededState::new))
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for CuckooFilter<S> {
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

impl<S: Clone + BuildHasher + 'static> CuckooFilter<S> {
    /// A filter with the items of this one, while any number of threads use it: as by
    /// [`write_to`](Self::write_to) and [`read_from`](CuckooFilter::read_from).
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
    /// [`MemoryError`] if there is no memory for the copy.
    pub fn try_clone(&self) -> Result<Self, MemoryError> {
        let mut copying = Copying::new(self.geometry);
        let scanned = with_layout!(&self.raw, raw => raw.scan(&mut copying));
        match scanned.and_then(|()| copying.finish(self.hasher.clone())) {
            Ok(clone) => Ok(clone),
            Err(SnapshotError::Memory { buckets }) => Err(MemoryError { buckets }),
            Err(error) => unreachable!("an image of this filter: {error}"),
        }
    }
}

//! Snapshots: the filter's words as bytes, taken while all threads go on.
//!
//! `docs/FORMAT.md` describes the bytes. What makes a scan right although
//! fingerprints move meanwhile is in [`crate::raw::frontier`] and, for growth, in
//! [`Table::scan`](crate::table::Table::scan).

mod classes;
pub(crate) mod decoder;
pub(crate) mod header;
mod image;
mod stream;
pub(crate) mod summed;

use crate::{
    error::SnapshotError,
    filter::CuckooFilter,
    geometry::Geometry,
    hash::SeededState,
    raw::RawFilter,
    raw::any::{of_series, with_layout},
};
use header::Header;
use image::Image;
pub(crate) use image::chunks;
use std::{
    hash::BuildHasher,
    io::{self, Read, Write},
};
pub(crate) use stream::fill_from;
use stream::{Encoder, decode};

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
    /// [`SnapshotError`] says what is wrong with the bytes. No more memory is
    /// allocated than twice as many bytes as were read, and some KiB.
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Self::read(reader, |_| hasher)
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
        whole(bytes, |reader| Self::read_from_with_hasher(reader, hasher))
    }

    fn read<R: Read>(reader: R, hasher: impl FnOnce(u64) -> S) -> Result<Self, SnapshotError> {
        decode(reader)?.finish_with(hasher)
    }

    fn from_image(hasher: S, geometry: Geometry, image: Image) -> Result<Self, SnapshotError> {
        let raw = of_series!(geometry.series, L => RawFilter::<L>::from_image(geometry, image)?);
        Ok(Self {
            hasher,
            raw,
            geometry,
        })
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
        Self::read(reader, SeededState::new)
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
        whole(bytes, |reader| Self::read_from(reader))
    }
}

/// What `read` makes of `bytes`, if it takes them all.
pub(crate) fn whole<T>(
    mut bytes: &[u8],
    read: impl FnOnce(&mut &[u8]) -> Result<T, SnapshotError>,
) -> Result<T, SnapshotError> {
    let value = read(&mut bytes)?;
    match bytes.len() {
        0 => Ok(value),
        count => Err(SnapshotError::TrailingBytes { count }),
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for CuckooFilter<S> {
    /// A filter with the items of this one, which other threads may use
    /// meanwhile: as by [`write_to`](Self::write_to) and back.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let copy = filter.clone();
    /// assert!(filter.remove("ani"));
    /// assert!(copy.contains("ani") && !filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no memory for it. As with a `Vec`, the process may be aborted instead.
    fn clone(&self) -> Self {
        let image = with_layout!(&self.raw, raw => raw.image());
        match Self::from_image(self.hasher.clone(), self.geometry, image) {
            Ok(clone) => clone,
            Err(error) => panic!("{error}"),
        }
    }
}

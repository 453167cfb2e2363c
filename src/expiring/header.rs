//! header: an empty expiring filter in a few bytes.

use super::{ExpiringFilter, any::AnyExpiring, snapshot::header::Header};
use crate::{
    error::SnapshotError,
    hash::SeededState,
    snapshot::header::{check_size, check_sum, with_checksum},
};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// The bytes that an empty filter like this one can be made from: its layout, its buckets, its
    /// capacity, its TTL and epochs, and the seed of the default hasher.
    ///
    /// They begin like a [snapshot](Self::write_to). `docs/FORMAT.md` in the repository
    /// describes them.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let like_it = ExpiringFilter::from_header(&filter.header(), 1 << 20)?;
    /// assert!(like_it.is_empty());
    /// like_it.insert("ani")?;
    /// assert_eq!(like_it.digest(), filter.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(&self) -> [u8; 68] {
        with_checksum(Header::of(self).to_bytes())
    }

    /// The empty filter that a [header](Self::header) describes, which hashes with `hasher`. It is
    /// in its first epoch.
    ///
    /// A header of a few bytes can ask for 32 GiB, so the caller says how many bytes the buckets
    /// may take up, at 8 bytes each. Unlike a decoder of snapshots, it allocates all of them at once.
    /// It takes as long as [`build`]: O(buckets).
    ///
    /// [`build`]: crate::ExpiringBuilder::build
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{hash::RandomState, time::Duration};
    ///
    /// let hasher = RandomState::new();
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).hasher(hasher.clone());
    /// let filter = builder.build()?;
    /// let header = filter.header();
    /// let like_it = ExpiringFilter::from_header_with_hasher(&header, hasher, 1 << 20)?;
    /// assert_eq!(like_it.ttl(), filter.ttl());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. [`SnapshotError::TooLarge`] if the
    /// buckets take up more than `max_bytes`: nothing is allocated then.
    pub fn from_header_with_hasher(
        header: &[u8],
        hasher: S,
        max_bytes: usize,
    ) -> Result<Self, SnapshotError> {
        Self::of_header(header, |_| hasher, max_bytes)
    }

    fn of_header(
        header: &[u8],
        hasher: impl FnOnce(u64) -> S,
        max_bytes: usize,
    ) -> Result<Self, SnapshotError> {
        let header = check_sum(header, Header::from_bytes)?;
        let hasher = header.hashing.hasher(hasher)?;
        let Header {
            geometry, window, ..
        } = header;
        let buckets = geometry.buckets;
        check_size(buckets, max_bytes)?;
        let raw = AnyExpiring::new(&geometry, window.epochs);
        let raw = raw.ok_or(SnapshotError::Memory { buckets })?;
        Ok(Self::from_parts(hasher, raw, geometry, window))
    }
}

impl ExpiringFilter {
    /// The empty filter that a [header](Self::header) describes.
    ///
    /// A header of a few bytes can ask for 32 GiB, so the caller says how many bytes the buckets
    /// may take up, at 8 bytes each.
    ///
    /// ```
    /// use guira::{ExpiringFilter, SnapshotError};
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(1_000_000);
    /// let header = builder.build()?.header();
    /// let refused = ExpiringFilter::from_header(&header, 1 << 20);
    /// assert!(matches!(refused, Err(SnapshotError::TooLarge { allowed: 1_048_576, .. })));
    /// assert!(ExpiringFilter::from_header(&header, 1 << 22).is_ok());
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_header_with_hasher`](Self::from_header_with_hasher).
    pub fn from_header(header: &[u8], max_bytes: usize) -> Result<Self, SnapshotError> {
        Self::of_header(header, SeededState::new, max_bytes)
    }
}

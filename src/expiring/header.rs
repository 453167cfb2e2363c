//! header: an empty expiring filter in 68 bytes.

use super::{ExpiringFilter, any::AnyExpiring, snapshot::header::Header};
use crate::{
    error::SnapshotError,
    hash::SeededState,
    snapshot::header::{check_size, check_sum, with_checksum},
};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// The bytes that describe an empty filter like this one.
    ///
    /// They contain its layout, buckets, capacity, TTL and epochs, and the seed of the default
    /// hasher. They begin like a [snapshot](Self::write_to), and `docs/FORMAT.md` in the repository
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

    /// Makes the empty filter that a [header](Self::header) describes, with `hasher`, in epoch 0.
    ///
    /// A header of a few bytes can ask for 32 GiB. `max_bytes` limits the memory of the buckets, at
    /// 8 bytes each. Unlike an [`ExpiringSnapshotDecoder`](crate::ExpiringSnapshotDecoder), the
    /// call allocates all of it at once. O(buckets), like [`build`](crate::ExpiringBuilder::build).
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
    /// * [`SnapshotError::TooLarge`]: the buckets need more than `max_bytes`. Nothing was
    ///   allocated.
    /// * [`SnapshotError::Memory`]: the allocator refuses the memory.
    /// * [`SnapshotError::Hasher`]: the filter of this header had another hasher.
    /// * Other variants of [`SnapshotError`]: the bytes are not a valid header.
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
    /// Makes the empty filter that a [header](Self::header) describes, in epoch 0.
    ///
    /// A header of a few bytes can ask for 32 GiB. `max_bytes` limits the memory of the buckets, at
    /// 8 bytes each.
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

//! header: an empty filter in 68 bytes.

use crate::{
    error::SnapshotError,
    filter::Filter,
    hash::SeededState,
    lifetime::{Lifetime, Timing},
    snapshot::header::{Header, check_size, check_sum, with_checksum},
};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// The bytes that describe an empty filter like this one.
    ///
    /// They contain its layout, its buckets before growth, its capacities, and the seed of the
    /// default hasher. They begin like a [snapshot](Self::write_to), and `docs/FORMAT.md` in the
    /// repository describes them.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let like_it = CuckooFilter::from_header(&filter.header(), 1 << 20)?;
    /// assert!(like_it.is_empty());
    /// like_it.merge(&filter)?;
    /// assert_eq!(like_it.digest(), filter.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(&self) -> [u8; 68] {
        with_checksum(Header::of(self).to_bytes())
    }

    /// Makes the empty filter that a [header](Self::header) describes, with `hasher`.
    ///
    /// A header of a few bytes can ask for 32 GiB. `max_bytes` limits the memory of the buckets
    /// before growth, at 8 bytes each. Unlike a [`SnapshotDecoder`](crate::SnapshotDecoder), the
    /// call allocates all of it at once. O(buckets), like [`build`](crate::Builder::build).
    ///
    /// A filter that can grow allocates more as items are inserted. The header says how many times
    /// it may double, at most 18.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::RandomState;
    ///
    /// let hasher = RandomState::new();
    /// let filter = CuckooFilter::builder().hasher(hasher.clone()).build()?;
    /// let header = filter.header();
    /// let like_it = CuckooFilter::from_header_with_hasher(&header, hasher, 1 << 20)?;
    /// assert_eq!(like_it.capacity(), filter.capacity());
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
        let header = check_sum::<T>(header)?;
        let hasher = header.hashing.hasher(hasher)?;
        let buckets = header.geometry.buckets;
        check_size(buckets, max_bytes)?;
        Self::empty(hasher, &header.geometry, header.window, T::Timing::start)
            .ok_or(SnapshotError::Memory { buckets })
    }
}

impl<T: Lifetime> Filter<SeededState, T> {
    /// Makes the empty filter that a [header](Self::header) describes.
    ///
    /// A header of a few bytes can ask for 32 GiB. `max_bytes` limits the memory of the buckets
    /// before growth, at 8 bytes each.
    ///
    /// ```
    /// use guira::{CuckooFilter, SnapshotError};
    ///
    /// let header = CuckooFilter::with_capacity(1_000_000).header();
    /// let refused = CuckooFilter::from_header(&header, 1 << 20);
    /// assert!(matches!(refused, Err(SnapshotError::TooLarge { allowed: 1_048_576, .. })));
    /// assert!(CuckooFilter::from_header(&header, 1 << 22).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_header_with_hasher`](Self::from_header_with_hasher).
    pub fn from_header(header: &[u8], max_bytes: usize) -> Result<Self, SnapshotError> {
        Self::of_header(header, SeededState::new, max_bytes)
    }
}

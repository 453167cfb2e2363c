//! The operations on hashes.

use super::{AnyExpiring, ExpiringFilter, any::with_layout_or};
use crate::error::InsertError;

/// Operations on hashes, for callers that already have the hash of an item.
///
/// All 64 bits of a hash must be as good as random. `filter.insert(item)` is the same as
/// `filter.insert_hash(filter.hash_of(item))`.
impl<S> ExpiringFilter<S> {
    /// [`insert`](Self::insert) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        with_layout_or!(
            &self.raw,
            raw => raw.insert(raw.class(hash)),
            shared => shared.insert(hash)
        )
    }

    /// [`insert_unique`](Self::insert_unique) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_layout_or!(
            &self.raw,
            raw => raw.insert_unique(raw.class(hash)),
            shared => shared.insert_unique(hash)
        )
    }

    /// [`refresh`](Self::refresh) by hash.
    ///
    /// # Errors
    ///
    /// As [`refresh`](Self::refresh).
    #[inline]
    pub fn refresh_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_layout_or!(
            &self.raw,
            raw => raw.refresh(raw.class(hash)),
            shared => shared.refresh(hash)
        )
    }

    /// [`insert_or_refresh`](Self::insert_or_refresh) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert_or_refresh`](Self::insert_or_refresh).
    #[inline]
    pub fn insert_or_refresh_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_layout_or!(
            &self.raw,
            raw => raw.insert_or_refresh(raw.class(hash)),
            shared => shared.insert_or_refresh(hash)
        )
    }

    /// [`contains`](Self::contains) by hash.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// let hash = filter.hash_of("ani");
    /// filter.insert_hash(hash)?;
    /// assert!(filter.contains_hash(hash) && filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        match &self.raw {
            // It needs more registers than the other layouts. Inlined, it would slow them down.
            any @ AnyExpiring::Growing(_) => any.contains_hash_growing(hash),
            any => with_layout_or!(
                any,
                raw => raw.contains(raw.class(hash)),
                shared => shared.contains(hash)
            ),
        }
    }

    /// [`remove`](Self::remove) by hash.
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        with_layout_or!(
            &self.raw,
            raw => raw.remove(raw.class(hash)),
            shared => shared.remove(hash)
        )
    }

    /// [`count`](Self::count) by hash.
    #[inline]
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        with_layout_or!(
            &self.raw,
            raw => raw.count(raw.class(hash)),
            shared => shared.count(hash)
        )
    }
}

//! What a filter does with the hash of an item.

use crate::{
    error::InsertError,
    filter::Filter,
    hash::hash_of,
    lifetime::{Expiring, Lifetime},
    raw::ops::Ops,
};
use std::hash::{BuildHasher, Hash};

impl<S: BuildHasher, T: Lifetime> Filter<S, T> {
    /// The hash by which the filter knows `item`, for the operations on hashes.
    ///
    /// With the default hasher it is [`BuildHasher::hash_one`] of the [`hasher`](Self::hasher). With
    /// any other hasher it is that result, hashed again by the default hasher with the seed 0: see
    /// [`Builder::hasher`](crate::Builder::hasher).
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::{BuildHasher, RandomState};
    ///
    /// let filter = CuckooFilter::builder().hasher(RandomState::new()).build()?;
    /// let hash = filter.hash_of("ani");
    /// filter.insert("ani")?;
    /// assert!(filter.contains_hash(hash));
    /// assert_ne!(hash, filter.hasher().hash_one("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn hash_of<Q: Hash + ?Sized>(&self, item: &Q) -> u64 {
        hash_of(&self.hasher, item)
    }
}

/// Operations on hashes, for callers that already have the hash of an item.
///
/// All 64 bits of a hash must be as good as random, because the filter uses it as it is. Low bits make
/// the fingerprint, and high bits choose the buckets. `filter.insert(item)` is the same as
/// `filter.insert_hash(filter.hash_of(item))`.
impl<S, T: Lifetime> Filter<S, T> {
    /// [`insert`](Self::insert) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// filter.insert_hash(hash)?;
    /// assert!(filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        self.raw_for_write().insert(hash)
    }

    /// [`insert_and_count`](Self::insert_and_count) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// assert_eq!(filter.insert_and_count_hash(hash), Ok(1));
    /// assert_eq!(filter.insert_and_count("ani"), Ok(2));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_and_count_hash(&self, hash: u64) -> Result<usize, InsertError> {
        self.raw_for_write().insert_and_count(hash)
    }

    /// [`insert_unique`](Self::insert_unique) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// assert_eq!(filter.insert_unique_hash(hash), Ok(true));
    /// assert_eq!(filter.insert_unique("ani"), Ok(false));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.raw_for_write().insert_unique(hash)
    }

    /// [`contains`](Self::contains) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// assert!(!filter.contains_hash(hash));
    /// filter.insert("ani")?;
    /// assert!(filter.contains_hash(hash));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.raw.contains(hash)
    }

    /// [`remove`](Self::remove) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// filter.insert("ani")?;
    /// assert!(filter.remove_hash(hash));
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        self.raw_for_write().remove(hash)
    }

    /// [`count`](Self::count) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// filter.insert("ani")?;
    /// filter.insert("ani")?;
    /// assert_eq!(filter.count_hash(hash), 2);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        self.raw.count(hash)
    }
}

impl<S> Filter<S, Expiring> {
    /// [`refresh`](Self::refresh) by hash.
    ///
    /// # Errors
    ///
    /// As [`refresh`](Self::refresh).
    #[inline]
    pub fn refresh_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.raw_for_write().refresh(hash)
    }

    /// [`insert_or_refresh`](Self::insert_or_refresh) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert_or_refresh`](Self::insert_or_refresh).
    #[inline]
    pub fn insert_or_refresh_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.raw_for_write().insert_or_refresh(hash)
    }
}

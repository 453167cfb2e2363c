//! Operations on many items: by hash and by item, with the same code.

use crate::{error::BatchError, filter::CuckooFilter, raw::any::with_layout};
use std::hash::{BuildHasher, Hash};

/// The batches of hashes: for callers who have hashes already.
/// All 64 bits of a hash must be as good as random.
impl<S> CuckooFilter<S> {
    /// [`contains_batch`](Self::contains_batch) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// let hashes = ["ani", "koel"].map(|name| filter.hasher().hash_one(name));
    /// let mut found = [false; 2];
    /// filter.contains_hash_batch(&hashes, &mut found);
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        self.contains_each(hashes, |&hash| hash, results);
    }

    /// [`insert_batch`](Self::insert_batch) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hashes = ["ani", "koel"].map(|name| filter.hasher().hash_one(name));
    /// filter.insert_hash_batch(&hashes)?;
    /// assert!(filter.contains("ani") && filter.contains("koel"));
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](Self::insert_batch).
    pub fn insert_hash_batch(&self, hashes: &[u64]) -> Result<(), BatchError> {
        self.insert_each(hashes, |&hash| hash)
    }

    /// [`insert_unique_batch`](Self::insert_unique_batch) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani").expect("room");
    /// let hashes = ["ani", "koel"].map(|name| filter.hasher().hash_one(name));
    /// let mut inserted = [false; 2];
    /// filter.insert_unique_hash_batch(&hashes, &mut inserted)?;
    /// assert_eq!(inserted, [false, true]);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert_unique_batch`](Self::insert_unique_batch).
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn insert_unique_hash_batch(
        &self,
        hashes: &[u64],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        self.insert_unique_each(hashes, |&hash| hash, inserted)
    }

    /// [`remove_batch`](Self::remove_batch) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// let hash = filter.hasher().hash_one("ani");
    /// let mut removed = [false; 2];
    /// filter.remove_hash_batch(&[hash, hash], &mut removed);
    /// assert_eq!(removed, [true, false]);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn remove_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        self.remove_each(hashes, |&hash| hash, results);
    }

    fn contains_each<T>(&self, items: &[T], hash: impl Fn(&T) -> u64, results: &mut [bool]) {
        with_layout!(&self.raw, raw => raw.contains_all(items, hash, results));
    }

    fn insert_each<T>(&self, items: &[T], hash: impl Fn(&T) -> u64) -> Result<(), BatchError> {
        with_layout!(&self.raw, raw => raw.insert_all(items, hash))
    }

    fn insert_unique_each<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        with_layout!(&self.raw, raw => raw.insert_unique_all(items, hash, inserted))
    }

    fn remove_each<T>(&self, items: &[T], hash: impl Fn(&T) -> u64, results: &mut [bool]) {
        with_layout!(&self.raw, raw => raw.remove_all(items, hash, results));
    }
}

/// Operations on many items: each does what as many calls for one item do, in order.
/// The cache misses of neighbouring items overlap, which saves time in a large filter.
impl<S: BuildHasher> CuckooFilter<S> {
    /// [`contains`](Self::contains) for many items: `results[i]` becomes the
    /// answer for `items[i]`. Two to four times as fast as one by one where the
    /// table is larger than the cache; for a long row of items
    /// [`contains_iter`](Self::contains_iter) needs no slices.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_batch(&["ani", "koel"])?;
    /// let mut found = [false; 3];
    /// filter.contains_batch(&["ani", "guira", "koel"], &mut found);
    /// assert_eq!(found, [true, false, true]);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn contains_batch<T: Hash>(&self, items: &[T], results: &mut [bool]) {
        self.contains_each(items, |item| self.hasher.hash_one(item), results);
    }

    /// [`insert`](Self::insert) for many items, in order.
    ///
    /// A filter that cannot grow counts the items when the batch ends:
    /// until then, [`len`](Self::len) is without them.
    ///
    /// ```
    /// use guira::{CuckooFilter, InsertError};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_batch(&["ani", "koel"])?;
    /// assert_eq!(filter.len(), 2);
    ///
    /// filter.clear();
    /// // Of one item only some copies fit.
    /// let index = 2 * filter.bucket_slots();
    /// let error = filter.insert_batch(&["guira"; 100]).unwrap_err();
    /// assert_eq!((error.index, error.error), (index, InsertError::TooManyCopies));
    /// assert_eq!(filter.len(), index);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The batch ends at the first item that cannot be inserted.
    /// [`BatchError`] gives its index: all items before it are in, and none from it on.
    pub fn insert_batch<T: Hash>(&self, items: &[T]) -> Result<(), BatchError> {
        self.insert_each(items, |item| self.hasher.hash_one(item))
    }

    /// [`insert_unique`](Self::insert_unique) for many items, in order:
    /// `inserted[i]` becomes true if this call added `items[i]`, and false if that was present.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let seen = CuckooFilter::with_capacity(100);
    /// let mut inserted = [false; 3];
    /// seen.insert_unique_batch(&["ani", "koel", "ani"], &mut inserted)?;
    /// assert_eq!(inserted, [true, true, false]);
    /// assert_eq!(seen.len(), 2);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The batch ends at the first item that gets an error.
    /// [`BatchError`] gives its index: all items before it are decided, and none from it on
    /// was inserted by this call. From this index on `inserted` stays as it was.
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn insert_unique_batch<T: Hash>(
        &self,
        items: &[T],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        self.insert_unique_each(items, |item| self.hasher.hash_one(item), inserted)
    }

    /// [`remove`](Self::remove) for many items, in order: `results[i]` becomes
    /// the answer for `items[i]`.
    ///
    /// Only remove what was inserted: see [Removing](Self#removing).
    ///
    /// A filter that cannot grow counts what is gone when the batch ends:
    /// until then, [`len`](Self::len) is with it.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_batch(&["ani", "koel"])?;
    /// let mut removed = [false; 2];
    /// filter.remove_batch(&["ani", "koel"], &mut removed);
    /// assert_eq!(removed, [true, true]);
    /// assert!(filter.is_empty());
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn remove_batch<T: Hash>(&self, items: &[T], results: &mut [bool]) {
        self.remove_each(items, |item| self.hasher.hash_one(item), results);
    }
}

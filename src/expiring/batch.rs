//! Operations on many items: a pipeline, as in a `CuckooFilter`.

use super::{ExpiringFilter, any::with_layout};
use crate::{error::BatchError, raw::RawFilter};
use std::hash::{BuildHasher, Hash};

/// Operations on many items. Each does what one call per item would do, in order. The cache misses
/// of neighbouring items overlap, which saves time if the filter is larger than the caches.
impl<S: BuildHasher> ExpiringFilter<S> {
    /// [`contains`](Self::contains) for many items: `results[i]` becomes the answer for `items[i]`.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let mut found = [false; 2];
    /// filter.contains_batch(&["ani", "koel"], &mut found);
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn contains_batch<T: Hash>(&self, items: &[T], results: &mut [bool]) {
        let hash = |item: &T| self.hash_of(item);
        with_layout!(&self.raw, raw => raw.contains_all(items, hash, results));
    }

    /// [`insert`](Self::insert) for many items, in order.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert_batch(&["ani", "koel"])?;
    /// assert!(filter.contains("koel"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BatchError`] gives the index of the first item that could not be inserted. The items before
    /// it are inserted, and none from it on.
    pub fn insert_batch<T: Hash>(&self, items: &[T]) -> Result<(), BatchError> {
        let hash = |item: &T| self.hash_of(item);
        with_layout!(&self.raw, raw => raw.insert_all(items, hash))
    }

    /// [`insert_unique`](Self::insert_unique) for many items, in order: `inserted[i]` becomes true if
    /// this call added `items[i]`, and false if the item was present.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// let mut inserted = [false; 3];
    /// filter.insert_unique_batch(&["ani", "koel", "ani"], &mut inserted)?;
    /// assert_eq!(inserted, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BatchError`] gives the index of the first item with an error. The items before it are
    /// decided, and from it on `inserted` is unchanged.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn insert_unique_batch<T: Hash>(
        &self,
        items: &[T],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        let hash = |item: &T| self.hash_of(item);
        with_layout!(&self.raw, raw => raw
            .insert_all_with(items, hash, inserted, RawFilter::insert_unique))
    }

    /// [`insert_or_refresh`](Self::insert_or_refresh) for many items, in order: `inserted[i]` becomes
    /// true if this call added `items[i]`, and false if it refreshed the item.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let mut inserted = [false; 2];
    /// filter.insert_or_refresh_batch(&["ani", "koel"], &mut inserted)?;
    /// assert_eq!(inserted, [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert_unique_batch`](Self::insert_unique_batch).
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn insert_or_refresh_batch<T: Hash>(
        &self,
        items: &[T],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        let hash = |item: &T| self.hash_of(item);
        with_layout!(&self.raw, raw => raw
            .insert_all_with(items, hash, inserted, RawFilter::insert_or_refresh))
    }

    /// [`refresh`](Self::refresh) for many items, in order: `present[i]` becomes the answer for
    /// `items[i]`.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let mut present = [false; 2];
    /// filter.refresh_batch(&["ani", "koel"], &mut present)?;
    /// assert_eq!(present, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BatchError`] gives the index of the first item with an error. The items before it are
    /// refreshed or absent, and from it on `present` is unchanged.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn refresh_batch<T: Hash>(
        &self,
        items: &[T],
        present: &mut [bool],
    ) -> Result<(), BatchError> {
        let hash = |item: &T| self.hash_of(item);
        with_layout!(&self.raw, raw => raw
            .insert_all_with(items, hash, present, RawFilter::refresh))
    }

    /// [`remove`](Self::remove) for many items, in order: `results[i]` becomes the answer for
    /// `items[i]`.
    ///
    /// Remove only items that were inserted and have not expired: see [Copies](Self#copies).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let mut removed = [false; 2];
    /// filter.remove_batch(&["ani", "ani"], &mut removed);
    /// assert_eq!(removed, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn remove_batch<T: Hash>(&self, items: &[T], results: &mut [bool]) {
        let hash = |item: &T| self.hash_of(item);
        with_layout!(&self.raw, raw => raw.remove_all(items, hash, results));
    }
}

/// The batches by hash, for callers that have hashes. All 64 bits of a hash must be as good as
/// random. Errors and panics are those of the method without `hash`.
impl<S> ExpiringFilter<S> {
    /// [`contains_batch`](Self::contains_batch) by hash.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        with_layout!(&self.raw, raw => raw.contains_all(hashes, |&hash| hash, results));
    }

    /// [`insert_batch`](Self::insert_batch) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](Self::insert_batch).
    pub fn insert_hash_batch(&self, hashes: &[u64]) -> Result<(), BatchError> {
        with_layout!(&self.raw, raw => raw.insert_all(hashes, |&hash| hash))
    }

    /// [`insert_unique_batch`](Self::insert_unique_batch) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert_unique_batch`](Self::insert_unique_batch).
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn insert_unique_hash_batch(
        &self,
        hashes: &[u64],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        with_layout!(&self.raw, raw => raw
            .insert_all_with(hashes, |&hash| hash, inserted, RawFilter::insert_unique))
    }

    /// [`insert_or_refresh_batch`](Self::insert_or_refresh_batch) by hash.
    ///
    /// # Errors
    ///
    /// As [`insert_or_refresh_batch`](Self::insert_or_refresh_batch).
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn insert_or_refresh_hash_batch(
        &self,
        hashes: &[u64],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        with_layout!(&self.raw, raw => raw
            .insert_all_with(hashes, |&hash| hash, inserted, RawFilter::insert_or_refresh))
    }

    /// [`refresh_batch`](Self::refresh_batch) by hash.
    ///
    /// # Errors
    ///
    /// As [`refresh_batch`](Self::refresh_batch).
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn refresh_hash_batch(
        &self,
        hashes: &[u64],
        present: &mut [bool],
    ) -> Result<(), BatchError> {
        with_layout!(&self.raw, raw => raw
            .insert_all_with(hashes, |&hash| hash, present, RawFilter::refresh))
    }

    /// [`remove_batch`](Self::remove_batch) by hash.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn remove_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        with_layout!(&self.raw, raw => raw.remove_all(hashes, |&hash| hash, results));
    }
}

//! Operations on many items: a pipeline, as in a `CuckooFilter`.

use super::{ExpiringFilter, any::with_layout};
use crate::error::BatchError;
use std::hash::{BuildHasher, Hash};

impl<S: BuildHasher> ExpiringFilter<S> {
    /// Stores for each of `items` whether it is present, as [`contains`](Self::contains) says.
    /// Faster than one by one where the filter is larger than the caches.
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
    pub fn contains_batch<T: Hash>(&self, items: &[T], found: &mut [bool]) {
        let hash = |item: &T| self.hasher.hash_one(item);
        with_layout!(&self.raw, raw => raw.contains_all(items, hash, found));
    }

    /// Adds those of `items` that are absent, each as [`insert_unique`](Self::insert_unique) does,
    /// in order, and stores which were.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// let mut first = [false; 3];
    /// filter.insert_unique_batch(&["ani", "koel", "ani"], &mut first)?;
    /// assert_eq!(first, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BatchError`] at the first item that gets an error: those before it are decided.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn insert_unique_batch<T: Hash>(
        &self,
        items: &[T],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        let hash = |item: &T| self.hasher.hash_one(item);
        with_layout!(&self.raw, raw => raw.insert_unique_all(items, hash, inserted))
    }

    /// Adds a copy of each of `items`, seen now, in order.
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
    /// [`BatchError`] at the first item that gets an error: those before it are in.
    pub fn insert_batch<T: Hash>(&self, items: &[T]) -> Result<(), BatchError> {
        let hash = |item: &T| self.hasher.hash_one(item);
        with_layout!(&self.raw, raw => raw.insert_all(items, hash))
    }
}

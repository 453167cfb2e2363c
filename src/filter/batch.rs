//! What a filter does with many items at once.

use crate::{
    error::BatchError,
    filter::Filter,
    hash::Hashable,
    lifetime::{Expiring, Lifetime},
    raw::any::Ops,
};
use std::hash::BuildHasher;

/// Batches of items: equivalent to one call per item, in order.
///
/// The cache misses of neighbouring items overlap, which saves time in a large filter.
impl<S: BuildHasher, T: Lifetime> Filter<S, T> {
    /// Looks up each item: `results[i]` becomes [`contains`](Self::contains) of `items[i]`.
    ///
    /// It is two to four times as fast as single calls if the table is larger than the cache. For a
    /// long sequence of items, [`contains_iter`](Self::contains_iter) needs no slices. Wait-free,
    /// O(1) per item.
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
    /// If the slices differ in length.
    pub fn contains_batch<Q: Hashable>(&self, items: &[Q], results: &mut [bool]) {
        self.raw
            .contains_all(items, |item| self.hash_of(item).0, results);
    }

    /// Adds a copy of each item, in order, as [`insert`](Self::insert) does.
    ///
    /// A filter that cannot grow updates [`len`](Self::len) once, at the end of the batch.
    ///
    /// ```
    /// use guira::{CuckooFilter, InsertError};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_batch(&["ani", "koel"])?;
    /// assert_eq!(filter.len(), 2);
    ///
    /// filter.clear();
    /// // Only 2 × `bucket_slots` copies of one item fit.
    /// let index = 2 * filter.bucket_slots();
    /// let error = filter.insert_batch(&["guira"; 100]).unwrap_err();
    /// assert_eq!((error.index, error.error), (index, InsertError::TooManyCopies));
    /// assert_eq!(filter.len(), index);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The batch ends at the first item that cannot be inserted. [`BatchError`] has the index of
    /// that item and its error. All items before it were inserted, and none after it.
    pub fn insert_batch<Q: Hashable>(&self, items: &[Q]) -> Result<(), BatchError> {
        // A slice of nothings takes no memory.
        let answers = &mut vec![(); items.len()];
        self.raw_for_write()
            .insert_all(items, |item| self.hash_of(item).0, answers)
    }

    /// Adds each absent item, in order: `inserted[i]` becomes
    /// [`insert_unique`](Self::insert_unique) of `items[i]`.
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
    /// The batch ends at the first item that gets an error. [`BatchError`] has the index of that
    /// item and its error. All items before it are decided. This call inserted none after it, and left
    /// the rest of `inserted` unchanged.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn insert_unique_batch<Q: Hashable>(
        &self,
        items: &[Q],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        self.raw_for_write()
            .insert_all_unique(items, |item| self.hash_of(item).0, inserted)
    }

    /// Removes a copy of each item, in order: `results[i]` becomes [`remove`](Self::remove) of
    /// `items[i]`.
    ///
    /// Remove only items that were inserted: see
    /// [Removing](crate::CuckooFilter#removing).
    ///
    /// A filter that cannot grow updates [`len`](Self::len) once, at the end of the batch.
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
    /// If the slices differ in length.
    pub fn remove_batch<Q: Hashable>(&self, items: &[Q], results: &mut [bool]) {
        self.raw_for_write()
            .remove_all(items, |item| self.hash_of(item).0, results);
    }
}

impl<S: BuildHasher> Filter<S, Expiring> {
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
    pub fn refresh_batch<Q: Hashable>(
        &self,
        items: &[Q],
        present: &mut [bool],
    ) -> Result<(), BatchError> {
        self.raw_for_write()
            .refresh_all(items, |item| self.hash_of(item).0, present)
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
    pub fn insert_or_refresh_batch<Q: Hashable>(
        &self,
        items: &[Q],
        inserted: &mut [bool],
    ) -> Result<(), BatchError> {
        self.raw_for_write()
            .insert_or_refresh_all(items, |item| self.hash_of(item).0, inserted)
    }
}

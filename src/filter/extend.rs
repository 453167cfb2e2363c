//! A filter takes the items of an iterator.

use crate::{error::BatchError, filter::CuckooFilter, raw::batch::GROUP};
use arrayvec::ArrayVec;
use std::hash::{BuildHasher, Hash};

/// Inserts a copy of each item, as [`insert_batch`](CuckooFilter::insert_batch) does.
///
/// Items are taken from the iterator and inserted in groups of 32, so an iterator
/// that looks into the filter finds only the groups before its own.
///
/// ```
/// use guira::CuckooFilter;
///
/// let mut filter = CuckooFilter::with_capacity(1_000);
/// filter.extend(0..500_u32);
/// filter.extend(&["ani", "koel"]);
/// assert!(filter.contains(&499_u32) && filter.contains("koel"));
/// assert_eq!(filter.len(), 502);
/// ```
///
/// # Panics
///
/// At the first item that cannot be inserted, with the text of the
/// [`InsertError`](crate::InsertError); all items before it are in.
/// Where a filter may be full, call [`insert_batch`](CuckooFilter::insert_batch), which
/// returns the error.
impl<T: Hash, S: BuildHasher> Extend<T> for CuckooFilter<S> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        (&*self).extend(items);
    }
}

/// As for the filter itself: a filter that threads share takes items through a reference.
///
/// ```
/// use guira::CuckooFilter;
/// use std::thread;
///
/// let filter = CuckooFilter::with_capacity(1_000);
/// thread::scope(|scope| {
///     scope.spawn(|| (&filter).extend(0..250_u32));
///     scope.spawn(|| (&filter).extend(250..500_u32));
/// });
/// assert_eq!(filter.len(), 500);
/// ```
///
/// # Panics
///
/// As for the filter itself.
impl<T: Hash, S: BuildHasher> Extend<T> for &CuckooFilter<S> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let mut hashes = items.into_iter().map(|item| self.hasher.hash_one(item));
        let mut inserted = 0;
        loop {
            let group: ArrayVec<u64, GROUP> = hashes.by_ref().take(GROUP).collect();
            if let Err(BatchError { index, error }) = self.insert_hash_batch(&group) {
                panic!("item {} was not inserted: {error}", inserted + index);
            }
            if !group.is_full() {
                return;
            }
            inserted += group.len();
        }
    }
}

//! A filter takes the items of an iterator.

use crate::{
    error::BatchError,
    filter::Filter,
    hash::{Hashable, Hashed},
    lifetime::Lifetime,
    raw::batch::GROUP,
};
use arrayvec::ArrayVec;
use std::hash::BuildHasher;

impl<S: BuildHasher, T: Lifetime> Filter<S, T> {
    /// Inserts a copy of each item of an iterator, as [`insert_batch`](Self::insert_batch).
    ///
    /// There is no `Extend`, as that could only panic when the filter is full.
    ///
    /// Items are taken from the iterator and inserted in groups of 32. An iterator that looks into
    /// the filter therefore sees only the groups before its own.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.try_extend(0..500_u32)?;
    /// filter.try_extend(["ani", "koel"])?;
    /// assert!(filter.contains(&499_u32) && filter.contains("koel"));
    /// assert_eq!(filter.len(), 502);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BatchError`] gives the index of the first item that could not be inserted. The items before
    /// it are inserted. Up to 31 items after it were taken from the iterator and are not inserted.
    pub fn try_extend<Q: Hashable>(
        &self,
        items: impl IntoIterator<Item = Q>,
    ) -> Result<(), BatchError> {
        let hashes = items.into_iter().map(|item| self.hash_of(&item));
        in_groups(hashes, |group| self.insert_batch(group))
    }
}

/// Hands the hashes to `insert` group by group, and gives its error the index in all of them.
fn in_groups(
    mut hashes: impl Iterator<Item = Hashed>,
    insert: impl Fn(&[Hashed]) -> Result<(), BatchError>,
) -> Result<(), BatchError> {
    let mut inserted = 0;
    loop {
        let group: ArrayVec<Hashed, GROUP> = hashes.by_ref().take(GROUP).collect();
        insert(&group).map_err(|error| error.after(inserted))?;
        if !group.is_full() {
            return Ok(());
        }
        inserted += group.len();
    }
}

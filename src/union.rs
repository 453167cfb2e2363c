//! union: raises each item to the larger of the numbers of copies in two filters.

use crate::{error::MergeError, filter::Filter, lifetime::Lifetime, raw::any::Ops};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// Adds what `other` has and `self` lacks, while threads use both filters. `other` does not
    /// change.
    ///
    /// If `self` has *a* copies of an item and `other` has *b*, `self` then has max(*a*, *b*).
    /// [`merge`](Self::merge) makes it *a* + *b*. Use `union_with` if the filters may share items,
    /// as in a fleet whose nodes see the same keys. Then an item that each node has added
    /// by [`insert_unique`](Self::insert_unique) is in once.
    ///
    /// Copies are counted per class: items that collide in fingerprint and buckets count as one
    /// item. If the filters have different items of one class, the larger number stays, and
    /// [`contains`](Self::contains) is true for all of them. A [`remove`](Self::remove) of one may
    /// then remove the other. So remove from a union only if a false negative is acceptable at the
    /// [false-positive rate](Self::false_positive_rate).
    ///
    /// Both filters must be compatible, as for [`merge`](Self::merge).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(1_000).seed(42);
    /// let (here, there) = (builder.clone().build()?, builder.build()?);
    /// for name in ["ani", "koel"] {
    ///     here.insert_unique(name)?;
    /// }
    /// for name in ["koel", "guira"] {
    ///     there.insert_unique(name)?;
    /// }
    /// here.union_with(&there)?;
    /// here.union_with(&there)?; // changes nothing
    /// assert_eq!(here.len(), 3);
    /// assert_eq!(here.count("koel"), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Items that expire
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) the younger age wins. If `other` has seen an item
    /// later than `self`, the copy in `self` becomes younger. It then expires in `self` no earlier than
    /// one TTL after that, as after a [`merge`](Self::merge). If another thread was stopped in the middle
    /// of a move or a refresh of the item, `self` may have the old copy beside a younger one. The old
    /// copy expires by itself. The number in [`MergeError::Insert`] includes the copies that became
    /// younger.
    ///
    /// Filters that are united back and forth, once per epoch, give each other the one epoch again and
    /// again, and their items never expire. Unite in one direction.
    ///
    /// # Concurrent changes
    ///
    /// Relocations in either filter change nothing. For an item that threads insert or remove during
    /// the call:
    ///
    /// | during the call | `self` afterwards |
    /// |---|---|
    /// | it stays in `other` | has it, unless it is removed from `self` after the call has reached it |
    /// | a copy is inserted into or removed from `other` | may have the copy or not |
    /// | it is removed from `self` | may have it again, if `other` has it |
    /// | [`insert_unique`](Self::insert_unique) or another union adds it to `self` | has the larger number, not the sum |
    /// | [`insert`](Self::insert) adds a copy to `self` | may have that copy besides |
    ///
    /// No step waits for another thread. O(buckets of `other`), and for each copy two lookups and
    /// perhaps an insert. Memory is as for [`merge`](Self::merge).
    ///
    /// # Errors
    ///
    /// * [`MergeError::SameFilter`], [`MergeError::Geometry`] or [`MergeError::Hasher`]: the
    ///   filters are not compatible. Nothing was added.
    /// * [`MergeError::Insert`]: an insert into `self` failed. The error has the number of copies
    ///   added before, which stay.
    ///
    /// A repeated call adds only what is still missing. So a union can be resumed after an error.
    pub fn union_with(&self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let mut merged = 0;
        let of_other = |class, age| other.raw.present_for_union(class, age);
        let raise = &mut |copies: &[_]| {
            let singles = other.raw.find_singles(copies);
            self.raw
                .raise_copies(&of_other, singles, copies, &mut merged)
        };
        let ahead = &|copies: &[_]| self.prefetch_both(other, copies);
        let raised = other.raw.scan_copies(ahead, raise);
        raised.map_err(|error| MergeError::Insert { merged, error })
    }
}

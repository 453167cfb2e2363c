//! intersection and difference: removes what another filter lacks, or what it has.

use crate::{
    error::MergeError,
    filter::Filter,
    lifetime::Lifetime,
    raw::{
        any::Ops,
        lower::{DIFFERENCE, INTERSECTION, Keep, Other},
    },
};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// Removes what `other` lacks, while threads use both filters. `other` does not change.
    ///
    /// If `self` has *a* copies of an item and `other` has *b*, `self` then has min(*a*, *b*).
    /// An item that is in both filters during the whole call stays. An item that is absent from
    /// `other` during the whole call is gone afterwards, except at the
    /// [false-positive rate](Self::false_positive_rate).
    ///
    /// Copies are counted per class: items that collide in fingerprint and buckets count as one
    /// item, so the smaller number of their copies stays. An item that the call has removed must
    /// not be [removed](Self::remove) once more, because that can remove another one of its class.
    /// So let no thread remove what only `self` has. Remove an item of both filters from `self`
    /// first, and then from `other`.
    ///
    /// Both filters must be compatible, as for [`merge`](Self::merge).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(1_000).seed(42);
    /// let (here, there) = (builder.clone().build()?, builder.build()?);
    /// here.try_extend(["ani", "koel", "koel"])?;
    /// there.try_extend(["koel", "guira"])?;
    /// here.intersect_with(&there)?;
    /// assert_eq!(here.count("koel"), 1);
    /// assert_eq!(here.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Items that expire
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) both numbers are those of live copies. The
    /// youngest copies stay, and keep their ages in `self`: what an insert or a refresh has promised
    /// is not taken back. So an item can stay for one TTL after `other` has lost it. Call
    /// `intersect_with` once per epoch to remove what `other` loses.
    ///
    /// # Concurrent changes
    ///
    /// Relocations in either filter, and growth, remove nothing. For an item that threads insert or
    /// remove during the call:
    ///
    /// | during the call | `self` afterwards |
    /// |---|---|
    /// | it stays in both filters | has it |
    /// | a copy is inserted into or removed from `other` | counts it or not |
    /// | a copy is inserted into `self` | has this copy only if it is within the number of `other` |
    /// | a copy is removed from `self` | lacks it; no other copy goes for it, unless the call had removed it before |
    ///
    /// Calls that run at the same time exclude each other: each takes a copy only while more copies
    /// are there than are to stay. If a thread was stopped in the middle of a relocation in the two
    /// buckets of an item, `self` may keep more copies of it. A repeated call removes them.
    ///
    /// No step waits for another thread. O(buckets of `self`), and for each copy a lookup in `other`.
    /// The call needs as much memory as [`merge`](Self::merge).
    ///
    /// # Errors
    ///
    /// * [`MergeError::SameFilter`], [`MergeError::Geometry`] or [`MergeError::Hasher`]: the
    ///   filters are not compatible. Nothing was removed.
    /// * [`MergeError::Scan`]: `self` could not be read to its end. What was removed is gone.
    ///
    /// A repeated call removes only what is still to be removed. So an intersection can be resumed
    /// after an error.
    pub fn intersect_with(&self, other: &Self) -> Result<(), MergeError> {
        self.lower_by(other, INTERSECTION)
    }

    /// Removes what `other` has, while threads use both filters. `other` does not change.
    ///
    /// If `other` has any copy of an item, all its copies are removed from `self`, as by `ZDIFF` of
    /// Redis or `EXCEPT` of SQL. So a repeated call removes nothing more. An item that is in both
    /// filters during the whole call is gone afterwards.
    ///
    /// **A difference can lose items.** An item that is absent from `other` is removed, too, if
    /// `other` has an item that collides with it in fingerprint and buckets. That happens at the
    /// [false-positive rate](Self::false_positive_rate). An item that collides with none stays. Do
    /// not use `difference_with` if a false negative of `self` does harm. Instead keep both filters,
    /// and ask for items that are in `self` and not in `other`.
    ///
    /// Both filters must be compatible, as for [`merge`](Self::merge).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(1_000).seed(42);
    /// let (here, there) = (builder.clone().build()?, builder.build()?);
    /// here.try_extend(["ani", "koel", "koel"])?;
    /// there.try_extend(["koel", "guira"])?;
    /// here.difference_with(&there)?;
    /// assert!(here.contains("ani"));
    /// assert_eq!(here.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) live copies decide.
    ///
    /// # Concurrent changes
    ///
    /// Relocations in either filter, and growth, change nothing. An item that is inserted or removed
    /// during the call, in either filter, may be in `self` or not. A [`remove`](Self::remove) of an
    /// item that the call has removed can remove another one of its class.
    ///
    /// Cost, memory and errors are as for [`intersect_with`](Self::intersect_with).
    pub fn difference_with(&self, other: &Self) -> Result<(), MergeError> {
        self.lower_by(other, DIFFERENCE)
    }

    fn lower_by(&self, other: &Self, keep: Keep) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let of_other = Other {
            find: &|copies| other.raw.find_classes(copies),
            count: &|class| other.raw.count_class(class),
        };
        let ahead = &|copies: &[_]| self.prefetch_both(other, copies);
        let scanned = self.raw.scan_copies(ahead, &mut |copies| {
            self.raw.lower_copies(of_other, keep, copies);
            Ok(())
        });
        scanned.map_err(|error| MergeError::Scan { error })
    }
}

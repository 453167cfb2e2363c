//! union: each item is then in as often, and as young, as in either filter.

use super::{ExpiringFilter, any::with_layout};
use crate::error::MergeError;
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// Adds what `other` has and `self` lacks, while threads use both filters. `other` does not
    /// change.
    ///
    /// As [`CuckooFilter::union_with`](crate::CuckooFilter::union_with): an item is then in `self` as
    /// often as in the filter that had it most often. The younger age wins: if `other` has seen an
    /// item later than `self`, the copy in `self` becomes younger. It then expires in `self` no
    /// earlier than one TTL after that, as after a [`merge`](Self::merge).
    ///
    /// If another thread was stopped in the middle of a move or a refresh of the item, `self` may have
    /// the old copy beside a younger one. The old copy expires by itself.
    ///
    /// A repeated call changes nothing, except that it makes copies younger that `other` has seen
    /// since. But filters that are united back and forth, once per epoch, give each other the one
    /// epoch again and again, and their items never expire. Unite in one direction.
    ///
    /// Both filters must be compatible, as for [`merge`](Self::merge).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6).seed(42);
    /// let (here, there) = (builder.clone().build()?, builder.build()?);
    /// here.insert_unique("ani")?;
    /// for _ in 0..5 {
    ///     here.advance();
    /// }
    /// there.insert_unique("ani")?;
    /// here.union_with(&there)?;
    /// assert_eq!(here.count("ani"), 1);
    /// for _ in 0..6 {
    ///     here.advance();
    /// }
    /// assert!(here.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CuckooFilter::union_with`](crate::CuckooFilter::union_with). The number in
    /// [`MergeError::Insert`] includes the copies that became younger.
    pub fn union_with(&self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let mut merged = 0;
        let of_other =
            |class, age| with_layout!(&other.raw, raw => raw.present_for_union(class, age));
        let raised = with_layout!(&other.raw, raw => raw.scan_copies(&mut |copies| {
            with_layout!(&self.raw, raw => raw.raise_copies(&of_other, copies, &mut merged))
        }));
        raised.map_err(|error| MergeError::Insert { merged, error })
    }
}

//! merge: adds the live copies of another filter, with the time that each has left.

use super::{ExpiringFilter, any::with_layout};
use crate::{
    error::{MergeError, Mismatch},
    merge::mismatch,
    snapshot::header::probe,
};
use std::{hash::BuildHasher, ptr};

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// Adds a copy of every live copy in `other`, while any number of threads use both filters.
    /// `other` does not change.
    ///
    /// Each copy keeps its time: it expires in this filter no earlier than one TTL after `other` has
    /// last seen it. If both filters begin their epochs on time, it expires less than two epochs
    /// later than in `other`. The epochs of the two filters need not begin at the same moments, and
    /// their numbers do not matter.
    ///
    /// Otherwise as [`CuckooFilter::merge`](crate::CuckooFilter::merge): copies add up, and calls
    /// that overlap with writes to `other` may miss them or merge a copy twice. Merge in one
    /// direction: copies that are merged back and forth between two filters, once per epoch, never
    /// expire.
    ///
    /// Both filters must have the same TTL, epochs, fingerprints, buckets and hasher: filters made
    /// by one [`ExpiringBuilder`](crate::ExpiringBuilder) with one seed, those of
    /// [`from_header`](Self::from_header), and clones.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6).seed(42);
    /// let (here, there) = (builder.clone().build()?, builder.build()?);
    /// there.insert("koel")?;
    /// here.insert("ani")?;
    /// here.merge(&there)?;
    /// assert!(here.contains("ani") && here.contains("koel"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MergeError::SameFilter`], [`MergeError::Geometry`] or [`MergeError::Hasher`] before
    /// anything is merged. [`MergeError::Insert`] if an insert into `self` fails; what was merged
    /// before stays.
    pub fn merge(&self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let mut merged = 0;
        let inserted = with_layout!(&other.raw, raw => raw.scan_copies(&mut |copies| {
            with_layout!(&self.raw, raw => raw.insert_copies(copies, &mut merged))
        }));
        inserted.map_err(|error| MergeError::Insert { merged, error })
    }

    /// An error unless both filters place items alike and measure time alike.
    pub(super) fn check_mergeable(&self, other: &Self) -> Result<(), MergeError> {
        if ptr::eq(self, other) {
            return Err(MergeError::SameFilter);
        }
        if let Some(mismatch) = mismatch(self.geometry, other.geometry) {
            return Err(MergeError::Geometry(mismatch));
        }
        if self.ttl() != other.ttl() {
            return Err(MergeError::Geometry(Mismatch::Ttl {
                this: self.ttl(),
                other: other.ttl(),
            }));
        }
        if self.epochs() != other.epochs() {
            return Err(MergeError::Geometry(Mismatch::Epochs {
                this: self.epochs(),
                other: other.epochs(),
            }));
        }
        let [this, other] = [self, other].map(|filter| probe(filter.hasher()));
        if this != other {
            return Err(MergeError::Hasher { this, other });
        }
        Ok(())
    }
}

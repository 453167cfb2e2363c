//! merge: adds what another filter holds, while all threads go on in both.

use crate::{
    error::{MergeError, Mismatch},
    filter::CuckooFilter,
    geometry::Geometry,
    raw::any::with_layout,
    snapshot::header::probe,
};
use std::{hash::BuildHasher, ptr};

impl<S: BuildHasher + 'static> CuckooFilter<S> {
    /// Adds a copy of every copy that is in `other`, while any number of threads go on in both
    /// filters: one for each slot of `other` that is in use. `other` stays as it is.
    ///
    /// Every copy that is in `other` during the whole call is in `self` afterwards, unless it is
    /// removed from `self`. Copies add up: an item of which both filters have one has two then, so
    /// that each owner can still remove its own. Of one item at most 2 × S copies fit, as
    /// always. In a growing filter, `self` may double meanwhile.
    ///
    /// Both filters must be able to grow, or neither. They must have the same fingerprints,
    /// the same buckets before they grow, and hashers that agree: filters made by one
    /// [`Builder`](crate::Builder) with one seed, those of [`from_header`](Self::from_header), and
    /// clones. How far each has grown does not matter, nor how far it may.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(1_000).seed(42);
    /// let here = builder.clone().build()?;
    /// here.insert("ani")?;
    ///
    /// // Another machine builds its filter alike, and sends a snapshot.
    /// let there = builder.build()?;
    /// there.insert("koel")?;
    /// let bytes = there.to_bytes();
    ///
    /// here.merge(&CuckooFilter::from_bytes(&bytes)?)?;
    /// assert!(here.contains("ani") && here.contains("koel"));
    /// assert_eq!(here.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Beside writers of `other`
    ///
    /// It is as with [a snapshot](Self::write_to). An item that is inserted into `other`
    /// meanwhile may be merged or not. One that is removed from `other` meanwhile may be merged
    /// or not, too; nothing removes it from `self` then but a [`remove`](Self::remove) by its
    /// owner. One that is being relocated in `other` just when the call passes may be merged
    /// twice, or once though it was removed just before. So `self` never lacks an item, but may
    /// hold copies that nobody will remove. While nobody writes to `other` the copies are exact.
    ///
    /// It needs as much memory as [a snapshot](Self::write_to), and half of it where `other` has
    /// doubled more than six times: 70 KiB after ten doublings. No step waits for another thread.
    /// Two filters may be merged into each other at once: what is inserted into either during the
    /// call may be merged back and so have further copies.
    ///
    /// # Errors
    ///
    /// [`MergeError::SameFilter`], [`MergeError::Geometry`] or [`MergeError::Hasher`] before
    /// anything is done. [`MergeError::Insert`] if an insert into `self` fails; it says how many
    /// copies were merged before. Nothing is lost from either filter, and what was merged stays.
    /// To repeat the call is safe for lookups, but it begins again: what was merged before has
    /// one copy more then.
    pub fn merge(&self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let mut merged = 0;
        let inserted = other.raw.scan_classes(
            &mut |classes| with_layout!(&self.raw, raw => raw.insert_classes(classes, &mut merged)),
        );
        inserted.map_err(|error| MergeError::Insert { merged, error })
    }

    /// An error unless both filters give every item the same class.
    fn check_mergeable(&self, other: &Self) -> Result<(), MergeError> {
        if ptr::eq(self, other) {
            return Err(MergeError::SameFilter);
        }
        if let Some(mismatch) = mismatch(self.geometry, other.geometry) {
            return Err(MergeError::Geometry(mismatch));
        }
        let [this, other] = [self, other].map(|filter| probe(filter.hasher()));
        if this != other {
            return Err(MergeError::Hasher { this, other });
        }
        Ok(())
    }
}

/// What differs between two filters that place items differently.
pub(crate) fn mismatch(this: Geometry, other: Geometry) -> Option<Mismatch> {
    let (series, of_other) = (this.series, other.series);
    if series.bits() != of_other.bits() {
        return Some(Mismatch::FingerprintBits {
            this: series.bits(),
            other: of_other.bits(),
        });
    }
    if series.prefixes != of_other.prefixes {
        // For each size of fingerprints there is at most one layout of semi-sorted words.
        return Some(Mismatch::SemiSorted {
            this: series.prefixes > 0,
            other: of_other.prefixes > 0,
        });
    }
    if (series.levels > 0) != (of_other.levels > 0) {
        return Some(Mismatch::Growth {
            this: series.levels > 0,
            other: of_other.levels > 0,
        });
    }
    (this.buckets != other.buckets).then_some(Mismatch::Buckets {
        this: this.buckets,
        other: other.buckets,
    })
}

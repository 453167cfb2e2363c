//! merge: adds the copies of another filter, while threads use both.

use crate::{
    error::{MergeError, Mismatch},
    filter::Filter,
    geometry::Series,
    lifetime::Lifetime,
    raw::{any::Ops, copies::Seen},
    snapshot::header::probe,
};
use std::{hash::BuildHasher, ptr};

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// Adds every copy that `other` holds, while threads use both filters. `other` does not change.
    ///
    /// Every copy that is in `other` during the whole call is in `self` afterwards, unless a thread
    /// removes it from `self`. Copies add up: if both filters have one copy of an item, `self` then
    /// has two, and each owner can remove its own. At most 2 × [`bucket_slots`](Self::bucket_slots)
    /// copies of one item fit. A growing filter may double during the call.
    ///
    /// Both filters must have the same fingerprint size, kind of words, number of buckets before
    /// growth, and hasher. Both must be able to grow, or neither. How far each has grown, or can
    /// grow, does not matter. Compatible filters are made by one [`Builder`](crate::Builder) with
    /// one seed, by [`from_header`](Self::from_header), or by cloning.
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
    /// # Items that expire
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter), each live copy is added with its time. It expires
    /// in `self` no earlier than one TTL after `other` has last seen it. If both filters begin their
    /// epochs on time, it expires less than two epochs later than in `other`. The epochs of the two
    /// filters need not begin at the same moments, and their numbers do not matter; the TTL and its
    /// number of epochs must be the same. Merge in one direction: copies that are merged back and forth
    /// between two filters, once per epoch, never expire.
    ///
    /// # Concurrent changes of `other`
    ///
    /// `self` never lacks a copy that it should have. If threads change `other` during the call,
    /// `self` can get copies that no owner removes:
    ///
    /// | a copy in `other` that, during the call, is | is in `self` afterwards |
    /// |---|---|
    /// | inserted | once or not |
    /// | removed | once or not; only a [`remove`](Self::remove) by its owner deletes it from `self` |
    /// | relocated | once or twice, or once although it was removed just before |
    ///
    /// If no thread changes `other`, the copies are exact.
    ///
    /// Two filters may be merged into each other at the same time. Copies that either receives
    /// during the call may then be merged back, and so have further copies.
    ///
    /// No step waits for another thread. O(buckets of `other`), and an insert per copy. The call
    /// needs as much memory as [a snapshot](Self::write_to), or half of it if `other` has doubled
    /// more than six times: 70 KiB after ten doublings.
    ///
    /// # Errors
    ///
    /// * [`MergeError::SameFilter`], [`MergeError::Geometry`] or [`MergeError::Hasher`]: the
    ///   filters are not compatible. Nothing was merged.
    /// * [`MergeError::Insert`]: an insert into `self` failed. The error has the number of copies
    ///   merged before, which stay. Nothing is lost from either filter.
    ///
    /// A repeated call starts from the beginning: each copy that was merged before is added once
    /// more.
    pub fn merge(&self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let mut merged = 0;
        let insert = &mut |copies: &[_]| self.raw.insert_copies(copies, &mut merged);
        let ahead = &|copies: &[_]| self.raw.prefetch_copies(copies);
        let inserted = other.raw.scan_copies(ahead, insert);
        inserted.map_err(|error| MergeError::Insert { merged, error })
    }

    /// Whether `other` can be merged into `self`: they give every item the same fingerprint and buckets.
    ///
    /// [`merge`](Self::merge), [`union_with`](Self::union_with),
    /// [`intersect_with`](Self::intersect_with) and [`difference_with`](Self::difference_with) check
    /// this before they change anything. A caller with several filters can check all of them first.
    /// O(1).
    ///
    /// # Errors
    ///
    /// [`MergeError::SameFilter`], [`MergeError::Geometry`] or [`MergeError::Hasher`].
    pub fn check_mergeable(&self, other: &Self) -> Result<(), MergeError> {
        // Two handles of a filter that processes share are one filter.
        let memory = other.raw.memory();
        if ptr::eq(self, other) || memory.is_some() && self.raw.memory() == memory {
            return Err(MergeError::SameFilter);
        }
        if let Some(mismatch) = mismatch(self, other) {
            return Err(MergeError::Geometry(mismatch));
        }
        let [this, other] = [self, other].map(|filter| probe(filter.hasher()));
        if this != other {
            return Err(MergeError::Hasher { this, other });
        }
        Ok(())
    }

    /// Prefetches the words of these copies in both filters.
    pub(crate) fn prefetch_both(&self, other: &Self, copies: &[Seen]) {
        for filter in [self, other] {
            filter.raw.prefetch_copies(copies);
        }
    }
}

/// The first property that differs between two filters and on which the places of items depend.
fn mismatch<S, T: Lifetime>(this: &Filter<S, T>, other: &Filter<S, T>) -> Option<Mismatch> {
    let geometries = [this, other].map(Filter::geometry);
    let series = geometries.map(|geometry| geometry.series);
    let windows = [this, other].map(Filter::window);
    macro_rules! mismatch {
        ($variant:ident, $pair:expr) => {{
            let [this, other] = $pair;
            (this != other).then_some(Mismatch::$variant { this, other })
        }};
    }
    let all = [
        mismatch!(FingerprintBits, series.map(Series::bits)),
        // For each size of fingerprints there is at most one layout of semi-sorted words.
        mismatch!(SemiSorted, series.map(|series| series.prefixes > 0)),
        mismatch!(Growth, series.map(|series| series.levels > 0)),
        mismatch!(Buckets, geometries.map(|geometry| geometry.buckets)),
        mismatch!(Ttl, windows.map(|window| window.ttl)),
        mismatch!(Epochs, windows.map(|window| window.epochs)),
    ];
    all.into_iter().flatten().next()
}

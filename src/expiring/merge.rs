//! merge: adds the live copies of another filter, with the time that each has left.

use super::{ExpiringFilter, any::with_layout};
use crate::{
    error::{InsertError, MergeError, Mismatch},
    merge::mismatch,
    raw::{RawFilter, batch::GROUP, frontier::memory::ScanError},
    snapshot::header::probe,
    table::{class::Class, layout::TimedLayout},
};
use arrayvec::ArrayVec;
use std::{hash::BuildHasher, ptr};

/// A copy that was live when a scan read it: its class, and the epochs since it was last seen.
type Seen = (Class, u64);

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
        let inserted = with_layout!(&other.raw, raw => raw.scan_seen(&mut |copies| {
            with_layout!(&self.raw, raw => raw.insert_seen(copies, &mut merged))
        }));
        inserted.map_err(|error| MergeError::Insert { merged, error })
    }

    /// An error unless both filters place items alike and measure time alike.
    pub(super) fn check_mergeable(&self, other: &Self) -> Result<(), MergeError> {
        let memory = with_layout!(&other.raw, raw => raw.memory());
        // Two handles of a filter that processes share are one filter.
        if ptr::eq(self, other) || with_layout!(&self.raw, raw => raw.is_in_memory_of(memory)) {
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

impl<L: TimedLayout> RawFilter<L> {
    /// Hands each live copy to `take`, up to [`GROUP`] at a time, until that fails: of each copy
    /// that is present during the whole call, as a snapshot has it. A copy that a scan read in an
    /// earlier epoch may have died since, or been refreshed: its age is then more than E, as that of
    /// each copy that is dead.
    pub(crate) fn scan_seen<E: ScanError>(
        &self,
        take: &mut dyn FnMut(&[Seen]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut group = ArrayVec::<Seen, GROUP>::new();
        self.scan_live(|epoch, copies| {
            // Further epochs may begin while the copies of a chunk are inserted.
            let now = self.moment();
            let passed = now.epoch() - epoch;
            for (class, age) in copies {
                let age = age + passed;
                let dead = self.time.most() + 1;
                group.push((class, if age <= now.oldest() { age } else { dead }));
                if group.is_full() {
                    take(&group)?;
                    group.clear();
                }
            }
            Ok(())
        })?;
        take(&group)
    }

    /// Inserts the copies, and adds to `inserted` how many.
    pub(crate) fn insert_seen(
        &self,
        copies: &[Seen],
        inserted: &mut usize,
    ) -> Result<(), InsertError> {
        self.prefetch_words(copies.iter().map(|&(class, _)| class));
        self.time.go_by_number();
        let most = self.time.most();
        for &(class, age) in copies.iter().filter(|&&(_, age)| age <= most) {
            // The copy was seen in an epoch that may have lasted until `age - 1` epochs ago, and
            // the current epoch of this filter may be about to end. So with its full age the copy
            // could expire an epoch too early.
            self.insert_aged(class, age.saturating_sub(1))?;
            *inserted += 1;
        }
        Ok(())
    }
}

//! digest: a number that says whether two expiring filters hold the same copies.

use super::{ExpiringFilter, any::with_layout, snapshot::header::Header};
use crate::{digest::State, raw::RawFilter, table::layout::TimedLayout};
use std::{collections::BTreeMap, convert::Infallible, hash::BuildHasher};

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// A 128-bit number that depends only on the [header](Self::header) and on the live copies of
    /// each class and age.
    ///
    /// The age of a copy is the number of epochs since it was last seen. The order of inserts, the
    /// places of copies and the numbers of the filters' epochs do not matter. Otherwise as
    /// [`CuckooFilter::digest`](crate::CuckooFilter::digest).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// let copy = ExpiringFilter::from_bytes(&filter.to_bytes())?;
    /// assert_eq!(copy.digest(), filter.digest());
    /// copy.advance();
    /// assert_ne!(copy.digest(), filter.digest());
    /// copy.refresh("ani")?;
    /// assert_eq!(copy.digest(), filter.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn digest(&self) -> u128 {
        let start = State::of_header(&Header::of(self).to_bytes());
        let of_ages = with_layout!(&self.raw, raw => raw.sums_by_age(start));
        of_ages
            .into_iter()
            .fold(start.value(), |digest, (age, sum)| {
                let [low, high] = [sum as u64, (sum >> 64) as u64];
                let state = start.absorb(age).absorb(low).absorb(high);
                digest.wrapping_add(state.value())
            })
    }
}

impl<L: TimedLayout> RawFilter<L> {
    /// The ages of live copies, each with the sum over its copies.
    fn sums_by_age(&self, start: State) -> Vec<(u64, u128)> {
        // Copies are grouped by the epoch in which they were seen, because further epochs may begin
        // during the scan.
        let mut sums: BTreeMap<u64, u128> = BTreeMap::new();
        let Ok(end) = self.scan_live(|epoch, copies| {
            for (class, age) in copies {
                // In a filter of a hostile snapshot, the copy may have been seen before epoch 0.
                let sum = sums.entry(epoch.wrapping_sub(age)).or_default();
                *sum = sum.wrapping_add(start.absorb_class(class).value());
            }
            Ok::<(), Infallible>(())
        });
        let ages = sums
            .into_iter()
            .map(|(seen, sum)| (end.epoch().wrapping_sub(seen), sum));
        ages.filter(|&(age, _)| age <= end.oldest()).collect()
    }
}

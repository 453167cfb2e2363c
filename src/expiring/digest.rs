//! digest: a number that says whether two expiring filters hold the same.

use super::{ExpiringFilter, any::with_layout, snapshot::header::Header};
use crate::{
    digest::{State, number},
    raw::RawFilter,
    table::{
        class::Class,
        entry::Fingerprint,
        layout::{Layout, PackedLayout},
        time::{Epochs, Moment, Now},
        word::{Bucket, Word},
    },
};
use std::{collections::BTreeMap, convert::Infallible, hash::BuildHasher};

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// A number for what the filter holds. Two filters of one [header](Self::header) that hold
    /// equally many live copies of each class and age have the same digest, in whatever order these
    /// came, wherever they are now, and whatever the numbers of the filters' epochs are. An age is
    /// the number of epochs since the copy was last seen.
    ///
    /// The rest is as for [`CuckooFilter::digest`](crate::CuckooFilter::digest).
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
        let oldest = self.window.epochs.into();
        let of_ages = with_layout!(&self.raw, raw => raw.sums_by_age(start, oldest));
        of_ages
            .into_iter()
            .fold(start.value(), |digest, (age, sum)| {
                let [low, high] = [sum as u64, (sum >> 64) as u64];
                let state = start.absorb(age).absorb(low).absorb(high);
                digest.wrapping_add(state.value())
            })
    }
}

impl<L: PackedLayout<Time = Epochs>> RawFilter<L> {
    /// The ages of live copies, each with the sum over its copies.
    fn sums_by_age(&self, start: State, oldest: u64) -> Vec<(u64, u128)> {
        let buckets = self.table.buckets();
        // By the step in which they were seen: further steps may begin while they are read.
        let mut sums: BTreeMap<u64, u128> = BTreeMap::new();
        let mut first = 0;
        let Ok(end) = self.scan_by_epoch(|words, step| {
            let now = Now {
                epoch: step,
                oldest,
            };
            for (bucket, &bits) in (first..).zip(words) {
                for entry in Word::<L>::unpack(bits).residents(Fingerprint::NONE) {
                    let class = Class::of_resident(L::fingerprint(entry), bucket, buckets);
                    // Of a hostile snapshot it may be before the first one.
                    let seen = step.wrapping_sub(Moment::<L>::age(now, entry));
                    let sum = sums.entry(seen).or_default();
                    *sum = sum.wrapping_add(start.absorb(number(class)).value());
                }
            }
            first += words.len();
            Ok::<(), Infallible>(())
        });
        let ages = sums
            .into_iter()
            .map(|(seen, sum)| (end.wrapping_sub(seen), sum));
        ages.filter(|&(age, _)| age <= oldest).collect()
    }
}

//! A chain of filters for one writer, behind a lock.

use super::RATE;
use crate::{entry::Entry, hasher::SharedHasher, keys::Key, peer::Peer};
use rand::{SeedableRng, rngs::SmallRng};
use scalable_cuckoo_filter::{ScalableCuckooFilter, ScalableCuckooFilterBuilder};
use std::sync::RwLock;

struct Scalable<K: Key> {
    filter: RwLock<ScalableCuckooFilter<K, SharedHasher, SmallRng>>,
}

const POISONED: &str = "no thread panics with the lock held";

impl<K: Key> Peer<K> for Scalable<K> {
    /// It grows rather than refuse.
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.filter.write().expect(POISONED).insert(key);
        true
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.read().expect(POISONED).contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        self.filter.write().expect(POISONED).remove(key)
    }

    fn bytes(&self) -> usize {
        self.filter.read().expect(POISONED).bits() as usize / 8
    }
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "RwLock<scalable_cuckoo_filter>",
        note: "one lock; asked for a rate of 0.023 %",
        deletes: true,
        copies: true,
        large: false,
        make: |items| {
            let builder = ScalableCuckooFilterBuilder::new()
                .initial_capacity(items)
                .false_positive_probability(RATE)
                .hasher(SharedHasher::default())
                .rng(SmallRng::seed_from_u64(1));
            Box::new(Scalable {
                filter: RwLock::new(builder.finish()),
            })
        },
    }
}

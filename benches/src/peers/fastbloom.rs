//! A concurrent Bloom filter, which cannot delete.

use super::RATE;
use crate::{entry::Entry, hasher, keys::Key, lanes::Contestant, peer::Peer};
use fastbloom::AtomicBloomFilter;
use guira::SeededState;

struct Bloom {
    filter: AtomicBloomFilter<SeededState>,
}

impl<K: Key> Peer<K> for Bloom {
    /// It takes everything, at the price of its rate.
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.filter.insert(key);
        true
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    #[inline(always)]
    fn remove(&self, _: &K) -> bool {
        unreachable!("a Bloom filter takes no part where keys are removed")
    }

    fn bytes(&self) -> usize {
        self.filter.num_bits() / 8
    }
}

/// Asked for this rate.
pub(super) fn make<K: Key>(items: usize, rate: f64) -> Box<dyn Contestant<K>> {
    let builder = AtomicBloomFilter::with_false_pos(rate).hasher(hasher::state());
    Box::new(Bloom {
        filter: builder.expected_items(items),
    })
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "fastbloom (atomic)",
        note: "lock-free, no deletes; asked for a rate of 0.023 %",
        deletes: false,
        copies: false,
        large: true,
        make: |items| make(items, RATE),
    }
}

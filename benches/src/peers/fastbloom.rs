//! A concurrent Bloom filter, which cannot delete.

use super::RATE;
use crate::{entry::Entry, hasher, keys::Key, peer::Peer};
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

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "fastbloom (atomic)",
        note: "lock-free, no deletes; asked for a rate of 0.023 %",
        deletes: false,
        copies: false,
        large: true,
        make: |items| {
            let builder = AtomicBloomFilter::with_false_pos(RATE).hasher(hasher::state());
            Box::new(Bloom {
                filter: builder.expected_items(items),
            })
        },
    }
}

//! The closest peer: inserts by compare-exchange, one lock for evictions and removes.

use crate::{
    hasher::SharedHasher,
    keys::Key,
    peer::{Entry, Peer},
};
use atomic_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};

struct Atomic {
    filter: CuckooFilter<SharedHasher>,
}

/// Bits of a fingerprint: 4, 8, 16 or 32 are on offer.
const BITS: usize = 16;

impl<K: Key> Peer<K> for Atomic {
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.filter.insert(key).is_ok()
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        self.filter.remove(key)
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.filter) + self.filter.capacity() * BITS / 8
    }
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "atomic-cuckoo-filter",
        note: "one lock for evictions and removes; 16 bits × 4",
        deletes: true,
        copies: true,
        large: true,
        make: |items| {
            let builder = CuckooFilterBuilder::<SharedHasher>::default();
            let builder = builder
                .capacity(items)
                .fingerprint_size(BITS)
                .bucket_size(4);
            Box::new(Atomic {
                filter: builder.build().expect("a valid configuration"),
            })
        },
    }
}

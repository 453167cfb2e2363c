//! The closest peer: inserts by compare-exchange, one lock for evictions and removes.

use crate::{entry::Entry, hasher::SharedHasher, keys::Key, lanes::Contestant, peer::Peer};
use atomic_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};
use std::hash::{DefaultHasher, Hasher};

struct Atomic<H: Hasher + Default> {
    filter: CuckooFilter<H>,
}

/// Bits of a fingerprint: 4, 8, 16 or 32 are on offer.
const BITS: usize = 16;

impl<K: Key, H: Hasher + Default + Send + Sync> Peer<K> for Atomic<H> {
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

fn make<K: Key, H: Hasher + Default + Send + Sync + 'static>(
    items: usize,
) -> Box<dyn Contestant<K>> {
    let builder = CuckooFilterBuilder::<H>::default();
    let builder = builder
        .capacity(items)
        .fingerprint_size(BITS)
        .bucket_size(4);
    Box::new(Atomic {
        filter: builder.build().expect("a valid configuration"),
    })
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "atomic-cuckoo-filter",
        note: "one lock for evictions and removes; 16 bits × 4",
        deletes: true,
        copies: true,
        large: true,
        make: make::<K, SharedHasher>,
    }
}

pub(super) fn with_own_hasher<K: Key>() -> Entry<K> {
    Entry {
        name: "atomic-cuckoo-filter, own hasher",
        note: "the same as its users get it: by default it hashes with the standard library's SipHash",
        make: make::<K, DefaultHasher>,
        ..entry()
    }
}

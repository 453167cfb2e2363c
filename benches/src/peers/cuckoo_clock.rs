//! A mutex for each bucket, which lookups lock as well.

use crate::{entry::Entry, hasher, keys::Key, peer::Peer};
use cuckoo_clock::{CuckooFilter, config::CuckooConfiguration};
use guira::SeededState;

struct Clock {
    filter: CuckooFilter<SeededState>,
}

impl<K: Key> Peer<K> for Clock {
    /// A fingerprint that comes back was put out of the filter: it may be this key's.
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.filter.insert(key).is_none()
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
        self.filter.get_memory_usage()
    }
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "cuckoo-clock",
        note: "a mutex for each bucket; 16 bits × 4",
        deletes: true,
        copies: true,
        large: false,
        make: |items| {
            let builder = CuckooConfiguration::builder(items)
                .fingerprint_bits(16.try_into().expect("16 bits are allowed"))
                .bucket_size(4.try_into().expect("4 slots are allowed"));
            let configuration = builder.build().expect("a valid configuration");
            Box::new(Clock {
                filter: CuckooFilter::new(configuration, hasher::state()),
            })
        },
    }
}

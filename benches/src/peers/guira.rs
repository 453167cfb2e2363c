//! The filter that all this is about.

use crate::{entry::Entry, hasher, keys::Key, peer::Peer};
use guira::CuckooFilter;
use std::sync::Arc;

/// guira, with access to what only it has.
#[derive(Debug)]
pub struct Guira(pub CuckooFilter);

impl Guira {
    /// A filter for `items` items with fingerprints of `bits` bits.
    ///
    /// # Panics
    ///
    /// If there is no such layout, or no memory.
    #[must_use]
    pub fn new(items: usize, bits: u32) -> Self {
        let builder = CuckooFilter::builder()
            .capacity(items)
            .fingerprint_bits(bits);
        Self(
            builder
                .hasher(hasher::state())
                .build()
                .expect("a layout of guira, and memory for it"),
        )
    }
}

impl<K: Key> Peer<K> for Guira {
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.0.insert(key).is_ok()
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        self.0.remove(key)
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }
}

/// Shared with a thread that is no contestant: one that takes snapshots.
impl<K: Key> Peer<K> for Arc<Guira> {
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        (**self).insert(key)
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        (**self).contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        (**self).remove(key)
    }

    fn bytes(&self) -> usize {
        Peer::<K>::bytes(&**self)
    }
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "guira",
        note: "lock-free; 15 bits × 4",
        deletes: true,
        copies: true,
        large: true,
        make: |items| Box::new(Guira::new(items, 15)),
    }
}

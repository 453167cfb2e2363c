//! A quotient filter for one writer, behind a lock.

use super::RATE;
use crate::{entry::Entry, hasher, keys::Key, lanes::Contestant, peer::Peer};
use guira::SeededState;
use qfilter::Filter;
use std::sync::RwLock;

struct Quotient {
    filter: RwLock<Filter<Box<[u8]>, SeededState>>,
}

const POISONED: &str = "no thread panics with the lock held";

impl<K: Key> Peer<K> for Quotient {
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.filter
            .write()
            .expect(POISONED)
            .insert_duplicated(key)
            .is_ok()
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
        self.filter.read().expect(POISONED).memory_usage()
    }
}

/// Asked for this rate.
pub(super) fn make<K: Key>(items: usize, rate: f64) -> Box<dyn Contestant<K>> {
    let filter = Filter::new_with_hasher(items as u64, rate, hasher::state());
    Box::new(Quotient {
        filter: RwLock::new(filter.expect("a valid configuration")),
    })
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "RwLock<qfilter>",
        note: "one lock; asked for a rate of 0.023 %",
        deletes: true,
        copies: true,
        large: true,
        make: |items| make(items, RATE),
    }
}

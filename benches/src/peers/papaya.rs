//! An exact concurrent set, for scale: it stores the keys.

use crate::{entry::Entry, hasher, keys::Key, peer::Peer};
use guira::SeededState;
use papaya::HashSet;

struct Set<K> {
    set: HashSet<K, SeededState>,
}

impl<K: Key> Peer<K> for Set<K> {
    /// A set keeps one copy: the second is refused.
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.set.pin().insert(key.clone())
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.set.pin().contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        self.set.pin().remove(key)
    }

    /// Reckoned, as papaya does not tell: 9 bytes for each place of its table,
    /// which it does not fill beyond three quarters, and an allocation for each key.
    fn bytes(&self) -> usize {
        let allocation = (size_of::<K>() + 8).next_multiple_of(16).max(32);
        let places = (self.set.len() * 8 / 6).next_power_of_two();
        self.set.len() * allocation + places * 9
    }
}

pub(super) fn entry<K: Key>() -> Entry<K> {
    Entry {
        name: "papaya::HashSet",
        note: "lock-free, exact: stores the keys",
        deletes: true,
        copies: false,
        large: false,
        make: |items| {
            let set = HashSet::with_capacity_and_hasher(items, hasher::state());
            Box::new(Set { set })
        },
    }
}

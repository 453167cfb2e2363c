//! A filter for one writer, shared in the two usual ways: behind one lock, and
//! in shards with a lock each.

use crate::{
    entry::Entry,
    hasher::{self, SharedHasher},
    keys::Key,
    peer::Peer,
};
use crossbeam_utils::CachePadded;
use cuckoofilter::CuckooFilter;
use std::{
    hash::BuildHasher,
    sync::{Mutex, MutexGuard, RwLock},
};

type Filter = CuckooFilter<SharedHasher>;

const POISONED: &str = "no thread panics with the lock held";

struct BehindLock {
    filter: RwLock<Filter>,
}

impl<K: Key> Peer<K> for BehindLock {
    /// An error means that another item was dropped for this one.
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        self.filter.write().expect(POISONED).add(key).is_ok()
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.read().expect(POISONED).contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        self.filter.write().expect(POISONED).delete(key)
    }

    fn bytes(&self) -> usize {
        self.filter.read().expect(POISONED).memory_usage()
    }
}

pub(super) fn behind_lock<K: Key>() -> Entry<K> {
    Entry {
        name: "RwLock<cuckoofilter>",
        note: "one lock; 8 bits × 4",
        deletes: true,
        copies: true,
        large: true,
        make: |items| {
            Box::new(BehindLock {
                filter: RwLock::new(Filter::with_capacity(items)),
            })
        },
    }
}

const SHARDS: usize = 64;

struct Sharded {
    shards: Vec<CachePadded<Mutex<Filter>>>,
}

impl Sharded {
    /// The shard comes from the hash of the hash: the filter uses all its bits.
    #[inline(always)]
    fn shard<K: Key>(&self, key: &K) -> (u64, MutexGuard<'_, Filter>) {
        let hash = hasher::state().hash_one(key);
        let shard = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        (hash, self.shards[shard as usize].lock().expect(POISONED))
    }
}

impl<K: Key> Peer<K> for Sharded {
    #[inline(always)]
    fn insert(&self, key: &K) -> bool {
        let (hash, mut filter) = self.shard(key);
        filter.add(&hash).is_ok()
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        let (hash, filter) = self.shard(key);
        filter.contains(&hash)
    }

    #[inline(always)]
    fn remove(&self, key: &K) -> bool {
        let (hash, mut filter) = self.shard(key);
        filter.delete(&hash)
    }

    fn bytes(&self) -> usize {
        let bytes =
            |shard: &CachePadded<Mutex<Filter>>| shard.lock().expect(POISONED).memory_usage();
        self.shards.iter().map(bytes).sum()
    }
}

pub(super) fn sharded<K: Key>() -> Entry<K> {
    Entry {
        name: "64 × Mutex<cuckoofilter>",
        note: "a lock for each of 64 shards; 8 bits × 4; hashes twice",
        deletes: true,
        copies: true,
        large: false,
        make: |items| {
            let shard = |_| CachePadded::new(Mutex::new(Filter::with_capacity(items / SHARDS)));
            Box::new(Sharded {
                shards: (0..SHARDS).map(shard).collect(),
            })
        },
    }
}

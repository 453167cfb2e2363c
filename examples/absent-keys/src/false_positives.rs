//! Keys for which the filter is known to be wrong.
//!
//! A filter answers the same for the same key, so a client that repeats a lookup of an absent key may get
//! the same false positive each time. Once the database has said that a key is absent, a bounded set
//! remembers it. (Adaptive cuckoo filters change the fingerprint instead, and need a map to the keys:
//! [arXiv 1704.06818](https://arxiv.org/abs/1704.06818).)
//!
//! # Why no committed key is in the set
//!
//! A lookup reads the database and then adds its key. In between, a PUT may commit that key. So:
//!
//! - A PUT of a new key calls [`begin_insert`](FalsePositives::begin_insert) before it commits, and drops
//!   the result afterwards. Until then, the key is not in the set, and no lookup can add it.
//! - A lookup calls [`begin_lookup`](FalsePositives::begin_lookup) before it reads the database. It adds its
//!   key only if no PUT was in progress then, and none has begun since.
//!
//! Keys share a few locks, and so the numbers of PUTs. A PUT of another key can therefore keep a lookup
//! from adding its key, which costs a read of the database at the next lookup.

#[cfg(test)]
mod tests;

use lru::LruCache;
use std::{
    hash::{BuildHasher, RandomState},
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The number of parts. Each has a lock, which is held for a few instructions.
const PARTS: usize = 16;

/// The most keys of a part. When it is full, the key that was not looked up for the longest time goes.
const MOST_KEYS: NonZeroUsize = NonZeroUsize::new(1024).expect("not 0");

pub(crate) struct FalsePositives {
    parts: [Mutex<Part>; PARTS],
    hasher: RandomState,
}

struct Part {
    /// Absent keys that the filter reports as present.
    keys: LruCache<Box<str>, ()>,
    /// The PUTs in progress.
    inserts: usize,
    /// The PUTs that have begun.
    begun: u64,
}

/// What a lookup knows of the PUTs before its read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup {
    /// The PUTs that had begun, if all of them had ended.
    begun: Option<u64>,
}

/// A PUT of a new key, which ends on drop.
pub(crate) struct Insert<'a> {
    part: &'a Mutex<Part>,
}

impl FalsePositives {
    pub(crate) fn new() -> Self {
        let part = |_| {
            Mutex::new(Part {
                keys: LruCache::new(MOST_KEYS),
                inserts: 0,
                begun: 0,
            })
        };
        Self {
            parts: [(); PARTS].map(part),
            hasher: RandomState::new(),
        }
    }

    fn part(&self, key: &str) -> &Mutex<Part> {
        &self.parts[(self.hasher.hash_one(key) % PARTS as u64) as usize]
    }

    /// True if the database said that the key is absent, and no PUT of the key has begun since then.
    pub(crate) fn contains(&self, key: &str) -> bool {
        lock(self.part(key)).keys.get(key).is_some()
    }

    /// Call this before the read of the database.
    pub(crate) fn begin_lookup(&self, key: &str) -> Lookup {
        let part = lock(self.part(key));
        Lookup {
            begun: (part.inserts == 0).then_some(part.begun),
        }
    }

    /// The read of the database has shown that the key is absent.
    pub(crate) fn add(&self, lookup: Lookup, key: &str) {
        let mut part = lock(self.part(key));
        if lookup.begun == Some(part.begun) {
            part.keys.put(key.into(), ());
        }
    }

    /// Call this before a new key is committed.
    pub(crate) fn begin_insert(&self, key: &str) -> Insert<'_> {
        let part = self.part(key);
        let mut locked = lock(part);
        locked.inserts += 1;
        locked.begun += 1;
        locked.keys.pop(key);
        drop(locked);
        Insert { part }
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| lock(part).keys.len()).sum()
    }
}

impl Drop for Insert<'_> {
    fn drop(&mut self) {
        lock(self.part).inserts -= 1;
    }
}

/// No operation panics while it has a lock.
fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

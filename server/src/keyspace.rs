//! The keys, and the memory that all of them take up.
//!
//! No lock on the data path: the map is a concurrent one, its values are shared,
//! and a filter that is deleted while a command works on it lives until that
//! command is done.

use crate::filter::{Filter, Growth, GrowthError, Options};
use guira::{BuildError, CuckooFilter};
use papaya::{Guard, HashMap};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use thiserror::Error;

/// Bytes that a key is charged for beside its name and its filter: what the server keeps with the
/// filter, the entry of the map and its place in the table, and what the allocator rounds up.
const OVERHEAD: usize = size_of::<Filter>() - size_of::<CuckooFilter>() + 112;

/// Bytes of a key, at most: metrics show all keys, and patterns go over them.
pub const LONGEST_KEY: usize = 4096;

/// Filters that [`Keyspace::clear`] gives back in one go.
const FREED_TOGETHER: usize = 64;

/// What is charged for a filter whose key was taken away: nothing can be added.
const GONE: usize = usize::MAX;

/// All keys.
#[derive(Debug)]
pub struct Keyspace {
    map: HashMap<Box<[u8]>, Arc<Filter>>,
    /// Bytes in use.
    used: AtomicUsize,
    /// Bytes that may be in use; `usize::MAX` for no limit.
    limit: usize,
    /// How far the last filter grows that was made without a `MAXCAPACITY`, and its options.
    furthest: Mutex<Option<(Options, Growth)>>,
}

/// There is no room for a filter.
#[derive(Debug, Error)]
pub enum ReserveError {
    /// The key has a filter.
    #[error("ERR item exists")]
    Exists,
    /// The key is too long.
    #[error("ERR the key has {0} bytes, and {LONGEST_KEY} are allowed")]
    Key(usize),
    /// The library refused.
    #[error("ERR {0}")]
    Build(#[from] BuildError),
    /// The memory limit is in the way of its growth.
    #[error("OOM with MAXCAPACITY items the filter needs {needed} bytes, and maxmemory is {limit}")]
    Growth {
        /// Bytes of the filter when it has grown, at least.
        needed: usize,
        /// The limit.
        limit: usize,
    },
    /// The memory limit is in the way.
    #[error(
        "OOM the filter needs {needed} bytes, and of maxmemory, {limit}, there are {free} left"
    )]
    Memory {
        /// Bytes of the filter.
        needed: usize,
        /// The limit.
        limit: usize,
        /// What is left of it.
        free: usize,
    },
}

impl Keyspace {
    /// No keys, and a limit for their bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            map: HashMap::new(),
            used: AtomicUsize::new(0),
            limit,
            furthest: Mutex::new(None),
        }
    }

    /// Hands the filter of `key` to `work`.
    pub fn with<R>(&self, key: &[u8], work: impl FnOnce(&Arc<Filter>) -> R) -> Option<R> {
        self.map.pin().get(key).map(work)
    }

    /// The filter of `key`.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Arc<Filter>> {
        self.with(key, Arc::clone)
    }

    /// Makes the filter that `options` ask for. It grows up to `max_capacity` items, or without
    /// that number as [`Growth::furthest`] says.
    ///
    /// # Errors
    ///
    /// [`ReserveError`]; nothing has changed then.
    pub fn reserve(
        &self,
        key: &[u8],
        options: Options,
        max_capacity: Option<usize>,
    ) -> Result<Arc<Filter>, ReserveError> {
        if self.map.pin().contains_key(key) {
            return Err(ReserveError::Exists);
        }
        // The least that it can need, before anything is allocated.
        self.check(options.capacity)?;
        let growth = match max_capacity {
            Some(items) => {
                Growth::up_to(items, &options, self.limit).map_err(|error| match error {
                    GrowthError::Build(error) => ReserveError::Build(error),
                    GrowthError::Memory { needed } => ReserveError::Growth {
                        needed,
                        limit: self.limit,
                    },
                })?
            }
            None => self.furthest_growth(options)?,
        };
        let filter = Filter::build(options, growth)?;
        self.put(key, filter)
    }

    /// [`Growth::furthest`], which is remembered: many keys are made alike, and it takes the
    /// making of a few filters to know it. What these leave between the keys' memory is saved, too.
    fn furthest_growth(&self, options: Options) -> Result<Growth, BuildError> {
        let known = *lock(&self.furthest);
        if let Some((of, growth)) = known
            && of == options
        {
            return Ok(growth);
        }
        let growth = Growth::furthest(&options, self.limit)?;
        *lock(&self.furthest) = Some((options, growth));
        Ok(growth)
    }

    /// Gives `key` this filter, if it has none.
    ///
    /// # Errors
    ///
    /// [`ReserveError`]; nothing has changed then.
    pub fn put(&self, key: &[u8], filter: Filter) -> Result<Arc<Filter>, ReserveError> {
        check_key(key)?;
        let (filter, bytes) = to_be_charged(key, filter);
        self.charge(bytes)?;
        let map = self.map.pin();
        match map.try_insert(key.into(), filter) {
            Ok(filter) => Ok(filter.clone()),
            Err(_) => {
                self.release(bytes);
                Err(ReserveError::Exists)
            }
        }
    }

    /// Takes the key away: true if it was there.
    pub fn delete(&self, key: &[u8]) -> bool {
        let guard = self.map.guard();
        let removed = self.remove(key, &guard);
        // The map would keep what was removed until there are some dozens of it.
        guard.flush();
        removed
    }

    /// Takes all keys away.
    pub fn clear(&self) {
        for keys in self.keys().chunks(FREED_TOGETHER) {
            let guard = self.map.guard();
            for key in keys {
                self.remove(key, &guard);
            }
            guard.flush();
        }
    }

    fn remove(&self, key: &[u8], guard: &impl Guard) -> bool {
        let removed = self.map.remove(key, guard);
        if let Some(filter) = removed {
            // Acquire: see `recharge`.
            self.release(filter.charged.swap(GONE, Ordering::Acquire));
        }
        removed.is_some()
    }

    /// Adds these keys, which a save held, to a keyspace that has none yet.
    pub fn fill(&self, filters: impl IntoIterator<Item = (Box<[u8]>, Filter)>) {
        let map = self.map.pin();
        for (key, filter) in filters {
            let (filter, bytes) = to_be_charged(&key, filter);
            self.used.fetch_add(bytes, Ordering::Relaxed);
            map.insert(key, filter);
        }
    }

    /// The keys and filters there are; what is changed meanwhile may be among
    /// them or not. Each filter is looked up when its turn comes, so that one which is deleted
    /// before is not kept.
    pub fn entries(&self) -> impl Iterator<Item = (Box<[u8]>, Arc<Filter>)> {
        let with_filter = |key: Box<[u8]>| {
            let filter = self.get(&key)?;
            Some((key, filter))
        };
        self.keys().into_iter().filter_map(with_filter)
    }

    /// The keys there are; see [`entries`](Self::entries).
    #[must_use]
    pub fn keys(&self) -> Vec<Box<[u8]>> {
        // A key that is deleted and made again meanwhile can come by twice.
        let keys: BTreeSet<_> = self.map.pin().keys().cloned().collect();
        keys.into_iter().collect()
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// True if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that are charged for all keys.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may be charged.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// True if filters have grown beyond the limit: no more inserts then.
    #[inline]
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.used() > self.limit
    }

    /// Charges for what `filter` has grown. Called after inserts into it.
    #[inline]
    pub fn settle(&self, filter: &Filter) {
        if filter.has_grown() {
            self.recharge(filter);
        }
    }

    #[cold]
    fn recharge(&self, filter: &Filter) {
        let bytes = bytes(filter);
        let charged = &filter.charged;
        let mut before = charged.load(Ordering::Relaxed);
        // Not so for a filter that has been taken away.
        while before < bytes {
            self.used.fetch_add(bytes - before, Ordering::Relaxed);
            // Release: `delete` gives back only what has been added.
            match charged.compare_exchange(before, bytes, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => {
                    self.release(bytes - before);
                    before = now;
                }
            }
        }
    }

    /// Charges `bytes`, if the limit allows it.
    ///
    /// # Errors
    ///
    /// [`ReserveError::Memory`]
    pub fn charge(&self, bytes: usize) -> Result<(), ReserveError> {
        let fits = |used: usize| Some(used.checked_add(bytes)?).filter(|&sum| sum <= self.limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .map(drop)
            .map_err(|used| self.refusal(bytes, used))
    }

    /// Gives back what was charged.
    pub fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn check(&self, bytes: usize) -> Result<(), ReserveError> {
        let used = self.used();
        if used.saturating_add(bytes) > self.limit {
            return Err(self.refusal(bytes, used));
        }
        Ok(())
    }

    /// Bytes that are left of the limit.
    #[must_use]
    pub fn free(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }

    pub(crate) fn refusal(&self, needed: usize, used: usize) -> ReserveError {
        ReserveError::Memory {
            needed,
            limit: self.limit,
            free: self.limit.saturating_sub(used),
        }
    }
}

/// A panic while the lock was held leaves nothing half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a key that is too long.
pub(crate) fn check_key(key: &[u8]) -> Result<(), ReserveError> {
    match key.len() {
        ..=LONGEST_KEY => Ok(()),
        bytes => Err(ReserveError::Key(bytes)),
    }
}

/// The filter as the value of `key`, and the bytes to charge for both.
fn to_be_charged(key: &[u8], mut filter: Filter) -> (Arc<Filter>, usize) {
    filter.overhead = key.len() + OVERHEAD;
    filter.has_grown();
    let bytes = bytes(&filter);
    filter.charged.store(bytes, Ordering::Relaxed);
    (Arc::new(filter), bytes)
}

/// Bytes of a filter and its key.
fn bytes(filter: &Filter) -> usize {
    filter.cuckoo.memory_usage() + filter.overhead
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::{Barrier, atomic::AtomicBool},
        thread,
        time::{Duration, Instant},
    };

    fn unlimited(options: Options) -> Filter {
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        Filter::build(options, growth).unwrap()
    }

    /// A save of many filters takes long, and does not keep what is deleted meanwhile.
    #[test]
    fn entries_are_looked_up_when_their_turn_comes() {
        let keyspace = Keyspace::new(usize::MAX);
        for key in [b"a", b"b"] {
            keyspace.reserve(key, Options::default(), None).unwrap();
        }
        let mut entries = keyspace.entries();
        assert!(entries.next().is_some_and(|(key, _)| *key == *b"a"));
        keyspace.delete(b"b");
        assert!(entries.next().is_none());
    }

    /// Whoever comes too late would charge for it once more, for a moment.
    #[test]
    fn one_of_all_is_told_that_a_filter_has_grown() {
        let filter = unlimited(Options::default());
        let told = AtomicUsize::new(0);
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for round in 1..=2_000 {
                        if barrier.wait().is_leader() {
                            filter.charged_buckets.store(0, Ordering::Relaxed);
                        }
                        barrier.wait();
                        told.fetch_add(filter.has_grown().into(), Ordering::Relaxed);
                        barrier.wait();
                        assert_eq!(told.load(Ordering::Relaxed), round);
                    }
                });
            }
        });
    }

    /// A save with a key twice could not be loaded.
    #[test]
    fn no_key_is_there_twice() {
        let keyspace = Keyspace::new(usize::MAX);
        let options = Options {
            capacity: 4,
            expansion: 0,
            ..Options::default()
        };
        let keys: Vec<String> = (0..20).map(|key| format!("key {key}")).collect();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for key in &keys {
                        keyspace.delete(key.as_bytes());
                        keyspace
                            .reserve(key.as_bytes(), options, None)
                            .expect("a small filter");
                    }
                }
            });
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(300) {
                let entries: Vec<_> = keyspace.entries().collect();
                let distinct: BTreeSet<_> = entries.iter().map(|(key, _)| key).collect();
                assert_eq!(entries.len(), distinct.len());
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(keyspace.entries().count(), keys.len());
        for key in &keys {
            assert!(keyspace.delete(key.as_bytes()));
        }
        assert_eq!((keyspace.used(), keyspace.len()), (0, 0));
    }
}

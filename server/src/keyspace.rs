//! The keys, and the memory that they occupy.
//!
//! There is no lock on the data path: the map is concurrent, its values are shared, and a deleted
//! filter lives until the commands that use it end. Adding or deleting a key, or changing its
//! deadline, takes a lock.

mod deadlines;
mod entry;
mod error;
mod list;
mod map;
mod names;
mod replace;
mod ticks;
mod watch;

pub use entry::{Entry, now};
pub use error::ReserveError;
pub use map::Step;
pub use names::{CopyError, Deadline, RenameError};
pub use ticks::Lane;
pub use watch::Watched;

use crate::{lock::lock, used::Used};
use deadlines::{Deadlines, INDEXED};
use guira::{BuildError, CuckooFilter};
use guira_commands::{Clock, Filter, Growth, GrowthError, Wanted, bytes_refused};
use map::Map;
use papaya::Guard;
use std::sync::{
    Arc, Mutex, RwLock,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};
use ticks::{SCHEDULED, Ticks};

/// The bytes that a key is charged in addition to its name and its filter. They cover the server's
/// state beside the filter, the entry of the map and its slot in the table, and the allocator's
/// rounding.
const OVERHEAD: usize = size_of::<Entry>() - size_of::<CuckooFilter>() + 80;

/// The maximum length of a key in bytes. Metrics show all keys, and patterns are matched against them.
pub const LONGEST_KEY: usize = 4096;

/// The number of filters that [`Keyspace::clear`] frees together.
const FREED_TOGETHER: usize = 64;

/// A filter of this many bytes or more is freed by [`Keyspace::reap`].
const LARGE: usize = 1 << 20;

/// The number of keys that are listed together if there is no memory for a list of all.
const LISTED_TOGETHER: usize = 16;

/// The charge of a filter whose key was deleted. Nothing can be added to it.
const GONE: usize = usize::MAX;

/// All keys.
#[derive(Debug)]
pub struct Keyspace {
    map: Map,
    /// When keys expire. Locked by a thread that adds, removes or renames keys.
    deadlines: Mutex<Deadlines>,
    /// When the epochs of filters are due.
    ticks: Ticks,
    /// Locked for reading by a thread that lists all keys, so that no key is renamed during the
    /// listing and missed.
    names: RwLock<()>,
    /// The number of keys that have expired.
    expired: AtomicU64,
    /// Large filters that are no longer values of keys. They are freed when nothing else refers to them,
    /// because that takes long, and the last reference may be that of a thread that serves clients.
    gone: Mutex<Vec<Arc<Entry>>>,
    /// The number of lookups of missing keys to read them.
    misses: AtomicU64,
    /// The number of keys that clients watch.
    watched: AtomicUsize,
    /// Held by a client while it checks whether watched keys have changed, and runs its transaction.
    turn: Mutex<()>,
    /// The number of bytes in use.
    used: AtomicUsize,
    /// The same bytes, and the bytes of requests and replies.
    total: Arc<Used>,
    /// The maximum number of bytes in use; `usize::MAX` for no limit.
    limit: AtomicUsize,
    /// The growth of the last filter without a window, with the requested options and the limit for
    /// which it was computed.
    growth: Mutex<Option<(Wanted, usize, Growth)>>,
}

/// The limit that `--maxmemory` specifies, where 0 means none.
#[must_use]
pub fn shown_limit(limit: usize) -> usize {
    match limit {
        usize::MAX => 0,
        limit => limit,
    }
}

impl Keyspace {
    /// No keys, with a limit for their bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            map: Map::new(),
            deadlines: Mutex::default(),
            ticks: Ticks::default(),
            names: RwLock::default(),
            expired: AtomicU64::new(0),
            gone: Mutex::default(),
            misses: AtomicU64::new(0),
            watched: AtomicUsize::new(0),
            turn: Mutex::default(),
            used: AtomicUsize::new(0),
            total: Arc::default(),
            limit: limit.into(),
            growth: Mutex::new(None),
        }
    }

    /// Calls `work` with the filter of `key`.
    pub fn with<R>(&self, key: &[u8], work: impl FnOnce(&Arc<Entry>) -> R) -> Option<R> {
        let guard = self.map.guard();
        let filter = self.map.get(key, &guard)?;
        (!filter.has_expired()).then(|| work(filter))
    }

    /// True if the key exists.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.with(key, |_| ()).is_some()
    }

    /// The filter of `key`.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        self.with(key, Arc::clone)
    }

    /// Creates the `wanted` filter as the value of `key`, if the key does not exist.
    ///
    /// # Errors
    ///
    /// [`ReserveError`]. Nothing has changed then.
    pub fn reserve(&self, key: &[u8], wanted: &Wanted) -> Result<Arc<Entry>, ReserveError> {
        if self.contains(key) {
            return Err(ReserveError::Exists);
        }
        let growth = self.growth(wanted).map_err(|error| match error {
            GrowthError::Build(error) => self.unbuilt(error),
            GrowthError::Memory { needed } => ReserveError::Growth {
                needed,
                limit: self.limit(),
            },
        })?;
        let filter = Filter::wanted(wanted, growth, Clock::Process);
        self.put(key, filter.map_err(|error| self.unbuilt(error))?)
    }

    /// The reason why a filter was not built: the limit, if it does not allow the filter either.
    fn unbuilt(&self, error: BuildError) -> ReserveError {
        let needed = bytes_refused(&error).unwrap_or(0);
        match needed > self.free() {
            true => self.refusal(needed, self.used()),
            false => ReserveError::Build(error),
        }
    }

    /// [`Growth::of`], with a cache: many keys have equal options, and computing the growth builds a
    /// few filters. The cache also avoids the gaps that these leave between the memory of keys.
    fn growth(&self, wanted: &Wanted) -> Result<Growth, GrowthError> {
        let known = *lock(&self.growth);
        let (wanted, limit) = (wanted.without_seed(), self.limit());
        if let Some((of, under, growth)) = known
            && (of, under) == (wanted, limit)
        {
            return Ok(growth);
        }
        let growth = Growth::of(&wanted, limit)?;
        *lock(&self.growth) = Some((wanted, limit, growth));
        Ok(growth)
    }

    /// Makes `filter` the value of `key`, if the key does not exist.
    ///
    /// # Errors
    ///
    /// [`ReserveError`]. Nothing has changed then.
    pub fn put(&self, key: &[u8], filter: Filter) -> Result<Arc<Entry>, ReserveError> {
        check_key(key)?;
        let (filter, bytes) = to_be_charged(key, filter.into());
        self.charge(bytes)?;
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        if self.is_taken(key, &mut deadlines, &guard) {
            self.release(bytes);
            return Err(ReserveError::Exists);
        }
        self.map.insert(key, filter.clone(), &guard);
        self.ticks.add(&filter);
        Ok(filter)
    }

    /// True if the key exists. An expired key is evicted.
    fn is_taken(&self, key: &[u8], deadlines: &mut Deadlines, guard: &impl Guard) -> bool {
        match self.map.get(key, guard) {
            Some(filter) if filter.has_expired() => {
                self.remove(key, deadlines, guard);
                self.expired.fetch_add(1, Ordering::Relaxed);
                false
            }
            found => found.is_some(),
        }
    }

    /// Deletes the key, and returns whether it existed.
    pub fn delete(&self, key: &[u8]) -> bool {
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        let there =
            self.is_taken(key, &mut deadlines, &guard) && self.remove(key, &mut deadlines, &guard);
        drop(deadlines);
        // Otherwise the map would keep removed entries until there are dozens of them.
        guard.flush();
        there
    }

    /// Deletes all keys.
    pub fn clear(&self) {
        if let Ok(keys) = self.keys() {
            for keys in keys.chunks(FREED_TOGETHER) {
                self.remove_all(keys.iter());
            }
            return;
        }
        // There is no memory for a list of all keys, so this takes short steps, which is slower.
        self.in_short_steps(|keys| self.remove_all(keys.iter()));
    }

    /// Calls `work` with all keys, a few at a time.
    fn in_short_steps(&self, mut work: impl FnMut(Vec<Box<[u8]>>)) {
        let mut cursor = 0;
        loop {
            let step = self.scan(cursor, LISTED_TOGETHER);
            work(step.keys.into_iter().map(|(_, key)| key).collect());
            cursor = step.next;
            if cursor == 0 {
                return;
            }
        }
    }

    fn remove_all<'a>(&self, keys: impl Iterator<Item = &'a Box<[u8]>>) {
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        for key in keys {
            self.remove(key, &mut deadlines, &guard);
        }
        drop(deadlines);
        guard.flush();
    }

    /// Evicts expired keys, at most a few, and returns them. Call it until it returns none. Other
    /// threads wait only for the lock, and only for a short time.
    pub fn expire_some(&self) -> Vec<Box<[u8]>> {
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        let now = now();
        let mut expired = Vec::new();
        while expired.len() < FREED_TOGETHER
            && let Some(key) = deadlines.due(now)
        {
            self.remove(&key, &mut deadlines, &guard);
            expired.push(key);
        }
        drop(deadlines);
        guard.flush();
        self.expired
            .fetch_add(expired.len() as u64, Ordering::Relaxed);
        expired
    }

    fn remove(&self, key: &[u8], deadlines: &mut Deadlines, guard: &impl Guard) -> bool {
        let removed = self.map.remove(key, guard);
        if let Some(filter) = removed {
            self.discharge(key, filter, deadlines);
        }
        removed.is_some()
    }

    /// Releases the charge of a filter that is no longer the value of `key`.
    fn discharge(&self, key: &[u8], filter: &Arc<Entry>, deadlines: &mut Deadlines) {
        deadlines.set(key, filter, None);
        if filter.memory_usage() >= LARGE {
            let mut gone = lock(&self.gone);
            // Without memory for this, the filter is freed with its last reference.
            if gone.try_reserve(1).is_ok() {
                gone.push(filter.clone());
            }
        }
        // Acquire: see `recharge`.
        self.release(filter.charged.swap(GONE, Ordering::Acquire));
        self.ticks.remove(filter);
    }

    /// True if there may be something to [`reap`](Self::reap).
    #[must_use]
    pub fn has_gone(&self) -> bool {
        !lock(&self.gone).is_empty()
    }

    /// The number of large filters that were deleted and are not freed yet.
    #[must_use]
    pub fn gone(&self) -> usize {
        lock(&self.gone).len()
    }

    /// Frees large filters that were deleted, unless they are still in use. This may take long.
    pub fn reap(&self) {
        let free = |gone: &mut Arc<Entry>| Arc::strong_count(gone) == 1;
        let freed: Vec<_> = lock(&self.gone).extract_if(.., free).collect();
        // Without the lock.
        drop(freed);
    }

    /// Counts lookups of missing keys to read them.
    pub(crate) fn missed(&self, lookups: usize) {
        self.misses.fetch_add(lookups as u64, Ordering::Relaxed);
    }

    /// The number of lookups of missing keys to read them.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// Adds the keys of a save, each with its deadline, to an empty keyspace.
    pub fn fill(&self, filters: impl IntoIterator<Item = (Box<[u8]>, Filter, Option<i64>)>) {
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        for (key, filter, deadline) in filters {
            let (filter, bytes) = to_be_charged(&key, filter.into());
            self.add(bytes);
            if deadline.is_some() {
                self.set_deadline(&key, &filter, deadline, &mut deadlines);
            }
            self.ticks.add(&filter);
            self.map.insert(&key, filter, &guard);
        }
    }

    /// The number of keys, which may include keys that have just expired.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The number of keys with a deadline.
    #[must_use]
    pub fn expiring(&self) -> usize {
        lock(&self.deadlines).len()
    }

    /// True if an expired key has not been evicted yet.
    #[must_use]
    pub fn has_expired(&self) -> bool {
        lock(&self.deadlines).due(now()).is_some()
    }

    /// The number of keys that have expired.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Resets the counts of expired and of missing keys.
    pub fn reset_counts(&self) {
        self.misses.store(0, Ordering::Relaxed);
        self.expired.store(0, Ordering::Relaxed);
    }

    /// True if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes charged for all keys.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The bytes charged for all keys, and the bytes of requests and replies.
    #[must_use]
    pub fn total(&self) -> &Arc<Used> {
        &self.total
    }

    /// The maximum number of bytes that may be charged.
    #[must_use]
    pub fn limit(&self) -> usize {
        // Relaxed: the number orders nothing.
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the maximum. Bytes that are charged already stay charged.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// True if filters have grown beyond the limit, so that inserts are refused.
    #[inline]
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.used() > self.limit()
    }

    /// Records a change of `filter`, and charges for its growth. Called after inserts into the filter,
    /// before their replies.
    #[inline]
    pub fn settle(&self, filter: &Entry) {
        if filter.has_grown() {
            self.recharge(filter);
        }
        self.changed(filter);
    }

    #[cold]
    fn recharge(&self, filter: &Entry) {
        let bytes = bytes(filter);
        let charged = &filter.charged;
        let mut before = charged.load(Ordering::Relaxed);
        // The loop ends at once for a deleted filter, whose charge is `GONE`.
        while before < bytes {
            self.add(bytes - before);
            // Release: `discharge` releases only bytes that have been added.
            match charged.compare_exchange(before, bytes, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => {
                    self.release(bytes - before);
                    before = now;
                }
            }
        }
    }

    /// Sets the bytes that the key of this filter occupies. The caller ensures that no other thread
    /// deletes the key during the call.
    fn set_overhead(&self, filter: &Entry, overhead: usize) {
        let overhead = u32::try_from(overhead).unwrap_or(u32::MAX);
        filter.overhead.store(overhead, Ordering::Relaxed);
        self.recharge(filter);
        let bytes = bytes(filter);
        let mut before = filter.charged.load(Ordering::Relaxed);
        while before > bytes {
            // AcqRel: as in `recharge`, on both sides.
            match filter.charged.compare_exchange(
                before,
                bytes,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return self.release(before - bytes),
                Err(now) => before = now,
            }
        }
    }

    /// Charges `bytes` if the limit allows it.
    ///
    /// # Errors
    ///
    /// [`ReserveError::Memory`]
    pub fn charge(&self, bytes: usize) -> Result<(), ReserveError> {
        let limit = self.limit();
        let fits = |used: usize| Some(used.checked_add(bytes)?).filter(|&sum| sum <= limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .map(|_| {
                self.total.add(bytes);
            })
            .map_err(|used| self.refusal(bytes, used))
    }

    /// Charges `bytes` regardless of the limit.
    fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.total.add(bytes);
    }

    /// Releases charged bytes.
    pub fn release(&self, bytes: usize) {
        self.total.subtract(bytes);
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The number of bytes up to the limit.
    #[must_use]
    pub fn free(&self) -> usize {
        self.limit().saturating_sub(self.used())
    }

    pub(crate) fn refusal(&self, needed: usize, used: usize) -> ReserveError {
        ReserveError::Memory {
            needed,
            limit: self.limit(),
            free: self.limit().saturating_sub(used),
        }
    }
}

/// Rejects a key that is too long.
pub(crate) fn check_key(key: &[u8]) -> Result<(), ReserveError> {
    match key.len() {
        ..=LONGEST_KEY => Ok(()),
        bytes => Err(ReserveError::Key(bytes)),
    }
}

/// The number of bytes of a key in addition to its filter.
fn overhead(key: &[u8], deadline: Option<i64>) -> usize {
    let in_map = key.len() + OVERHEAD;
    let in_index = deadline.map_or(0, |_| key.len() + INDEXED);
    in_map + in_index
}

/// True if the filter is the value of a key.
fn is_kept(filter: &Entry) -> bool {
    filter.charged.load(Ordering::Relaxed) != GONE
}

/// The filter as the value of `key`, and the number of bytes to charge for both.
fn to_be_charged(key: &[u8], filter: Entry) -> (Arc<Entry>, usize) {
    let overhead = u32::try_from(overhead(key, None)).unwrap_or(u32::MAX);
    filter.overhead.store(overhead, Ordering::Relaxed);
    filter.has_grown();
    let bytes = bytes(&filter);
    filter.charged.store(bytes, Ordering::Relaxed);
    (Arc::new(filter), bytes)
}

/// The number of bytes that a key with this filter and deadline is charged.
pub(crate) fn charge_of(key: &[u8], filter: &Filter, deadline: Option<i64>) -> usize {
    let scheduled = filter.window().map_or(0, |_| SCHEDULED);
    filter.memory_usage() + overhead(key, deadline) + scheduled
}

/// The number of bytes of a filter and its key.
fn bytes(filter: &Entry) -> usize {
    let scheduled = filter.window().map_or(0, |_| SCHEDULED);
    filter.memory_usage() + filter.overhead.load(Ordering::Relaxed) as usize + scheduled
}

#[cfg(test)]
mod tests;

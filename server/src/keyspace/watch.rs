//! `WATCH`: whether a key is as it was.

use super::{Entry, Keyspace, is_kept, lock};
use std::sync::{
    Arc, MutexGuard, Weak,
    atomic::{
        Ordering::{Relaxed, SeqCst},
        fence,
    },
};

/// A key that a client watches, as it was when that began. Changes are counted while there is
/// any such value.
#[derive(Debug)]
pub struct Watched {
    key: Box<[u8]>,
    /// Its filter, and how many changes of that had been counted.
    found: Option<(Weak<Entry>, u32)>,
}

impl Watched {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Keyspace {
    /// Watches `key`, until [`unwatch`](Self::unwatch).
    #[must_use]
    pub fn watch(&self, key: &[u8]) -> Watched {
        self.watched.fetch_add(1, Relaxed);
        // SeqCst: pairs with that of `changed`. A thread that does not see the watcher has made its
        // change before, and the watching client sees that change when it looks.
        fence(SeqCst);
        Watched {
            key: key.into(),
            found: self.get(key).map(|filter| {
                let changes = filter.changes.load(Relaxed);
                (Arc::downgrade(&filter), changes)
            }),
        }
    }

    /// Ends it.
    pub fn unwatch(&self, watched: Watched) {
        drop(watched);
        self.watched.fetch_sub(1, Relaxed);
    }

    /// True if the key has not changed, so far as that was answered. One that was missing and is
    /// missing is the same, whatever was there in between.
    #[must_use]
    pub fn is_as_it_was(&self, watched: &Watched) -> bool {
        let now = self.get(&watched.key);
        match (&watched.found, now) {
            (None, None) => true,
            (Some((filter, changes)), Some(now)) => {
                filter.as_ptr() == Arc::as_ptr(&now)
                    && is_kept(&now)
                    && now.changes.load(Relaxed) == *changes
            }
            _ => false,
        }
    }

    /// Keeps others that watch keys from doing what depends on them, until the value is dropped.
    pub fn take_turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Takes note of a change, which is made but not answered yet.
    #[inline]
    pub fn changed(&self, filter: &Entry) {
        // SeqCst: see `watch`.
        fence(SeqCst);
        if self.watched.load(Relaxed) > 0 {
            filter.changes.fetch_add(1, Relaxed);
        }
    }
}

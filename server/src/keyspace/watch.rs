//! `WATCH`: detects whether a key has changed.

use super::{Entry, Keyspace, is_kept, lock};
use std::sync::{
    Arc, MutexGuard, Weak,
    atomic::{
        Ordering::{Relaxed, SeqCst},
        fence,
    },
};

/// A watched key, with its state when the client began to watch. Changes are counted while a
/// value of this type exists.
#[derive(Debug)]
pub struct Watched {
    key: Box<[u8]>,
    /// Its filter, and the number of changes counted at that time.
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
        // SeqCst: pairs with the fence of `changed`. A thread that does not see the watcher has made
        // its change before, so the watching client observes that change when it checks.
        fence(SeqCst);
        Watched {
            key: key.into(),
            found: self.get(key).map(|filter| {
                let changes = filter.changes.load(Relaxed);
                (Arc::downgrade(&filter), changes)
            }),
        }
    }

    /// Stops watching.
    pub fn unwatch(&self, watched: Watched) {
        drop(watched);
        self.watched.fetch_sub(1, Relaxed);
    }

    /// True if no acknowledged change has been made to the key. A missing key counts as unchanged if
    /// it was missing before, whatever happened in between.
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

    /// Prevents transactions of other clients that watch keys, until the returned value is dropped.
    pub fn take_turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Records a change that is made and not yet acknowledged.
    #[inline]
    pub fn changed(&self, filter: &Entry) {
        // SeqCst: see `watch`.
        fence(SeqCst);
        if self.watched.load(Relaxed) > 0 {
            filter.changes.fetch_add(1, Relaxed);
        }
    }
}

//! An index of the keys that expire, ordered by time.

use super::Entry;
use std::{collections::BTreeSet, sync::atomic::Ordering::Relaxed};

/// The bytes that a key with a deadline is charged in addition to its name in the index.
pub(super) const INDEXED: usize = 64;

/// The keys with deadlines. A key is here exactly when its filter has a deadline.
#[derive(Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(i64, Box<[u8]>)>);

impl Deadlines {
    /// Sets the deadline of `key`, whose filter is `filter`, to `to`.
    pub(super) fn set(&mut self, key: &[u8], filter: &Entry, to: Option<i64>) {
        if let Some(before) = filter.deadline() {
            self.0.remove(&(before, key.into()));
        }
        if let Some(at) = to {
            self.0.insert((at, key.into()));
        }
        // Relaxed: it orders nothing, and every writer holds the lock of the index.
        filter.deadline.store(to.unwrap_or(0), Relaxed);
    }

    /// A key whose deadline has passed.
    pub(super) fn due(&self, now: i64) -> Option<Box<[u8]>> {
        let (at, key) = self.0.first()?;
        (*at <= now).then(|| key.clone())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

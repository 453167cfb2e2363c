//! An index of the keys that expire, ordered by time.

use super::Entry;
use std::{collections::BTreeSet, sync::atomic::Ordering::Relaxed};

/// Bytes that a key with a deadline is charged for beside its name in the index.
pub(super) const INDEXED: usize = 64;

/// The keys that expire, with their times. A key is here exactly when its filter has a deadline.
#[derive(Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(i64, Box<[u8]>)>);

impl Deadlines {
    /// The deadline of `key`, whose filter this is, becomes `to`.
    pub(super) fn set(&mut self, key: &[u8], filter: &Entry, to: Option<i64>) {
        if let Some(before) = filter.deadline() {
            self.0.remove(&(before, key.into()));
        }
        if let Some(at) = to {
            self.0.insert((at, key.into()));
        }
        // Relaxed: it orders nothing; who writes it holds the lock of the index.
        filter.deadline.store(to.unwrap_or(0), Relaxed);
    }

    /// A key whose time has come.
    pub(super) fn due(&self, now: i64) -> Option<Box<[u8]>> {
        let (at, key) = self.0.first()?;
        (*at <= now).then(|| key.clone())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

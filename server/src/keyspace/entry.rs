//! The value of a key: a filter, and the keyspace's own state of it.

use guira_commands::Filter;
use std::{
    ops::Deref,
    sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// A filter that is or was the value of a key.
#[derive(Debug)]
pub struct Entry {
    filter: Filter,
    /// The number of buckets when its memory was last charged.
    pub(super) charged_buckets: AtomicUsize,
    /// The bytes of its key in addition to the filter.
    pub(super) overhead: AtomicU32,
    /// The number of changes while a client watched; see [`super::watch`].
    pub(super) changes: AtomicU32,
    /// The deadline of its key in milliseconds since 1970; 0 for none.
    pub(crate) deadline: AtomicI64,
    /// The bytes charged for it; see [`super::Keyspace`].
    pub(super) charged: AtomicUsize,
}

impl From<Filter> for Entry {
    fn from(filter: Filter) -> Self {
        Self {
            filter,
            charged_buckets: AtomicUsize::new(0),
            overhead: AtomicU32::new(0),
            changes: AtomicU32::new(0),
            deadline: AtomicI64::new(0),
            charged: AtomicUsize::new(0),
        }
    }
}

impl Deref for Entry {
    type Target = Filter;

    #[inline]
    fn deref(&self) -> &Filter {
        &self.filter
    }
}

impl AsRef<Filter> for Entry {
    #[inline]
    fn as_ref(&self) -> &Filter {
        &self.filter
    }
}

impl Entry {
    /// The deadline of its key in milliseconds since 1970.
    #[must_use]
    pub fn deadline(&self) -> Option<i64> {
        Some(self.deadline.load(Ordering::Relaxed)).filter(|&at| at != 0)
    }

    /// True if its key has expired.
    #[inline]
    #[must_use]
    pub fn has_expired(&self) -> bool {
        self.deadline().is_some_and(|at| at <= now())
    }

    /// True if it has grown since the last call. It is cheap enough to call after every insert.
    pub(super) fn has_grown(&self) -> bool {
        let buckets = self.filter.buckets();
        // Relaxed: it only chooses the thread that charges. The exchange lets one thread charge;
        // otherwise too much would be charged for a moment.
        self.charged_buckets.load(Ordering::Relaxed) != buckets
            && self.charged_buckets.swap(buckets, Ordering::Relaxed) != buckets
    }
}

/// The wall-clock time in milliseconds since 1970.
#[must_use]
pub fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    })
}

//! Counters off the fast path.

// Not through `sync`: as in `len`.
use std::sync::atomic::{AtomicU64, Ordering};

/// What a filter has been through; see [`CuckooFilter::stats`](crate::CuckooFilter::stats).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Items in the filter, as [`len`](crate::CuckooFilter::len) gives them.
    pub items: usize,
    /// Used slots of all slots, from 0 to 1.
    pub load_factor: f64,
    /// Bytes that the filter takes up.
    pub memory_usage: usize,
    /// How often the filter has doubled.
    pub level: u32,
    /// Buckets that the doubling that has begun has yet to look at, most of which it has
    /// to split; 0 if none has.
    pub buckets_to_split: usize,
    /// Residents moved to their alternate bucket to make room.
    pub relocations: u64,
    /// Relocations that the longest path so far took.
    pub longest_path: u64,
    /// Inserts that were answered with `Full`.
    pub failed_inserts: u64,
    /// Lookups that a relocation, or an `insert_unique` under way, made read again.
    pub retried_lookups: u64,
    /// Lookups that answered true without proof, after their last attempt.
    pub conservative_lookups: u64,
}

/// The counters behind [`Stats`]. All Relaxed: they order nothing.
#[derive(Default)]
pub(crate) struct Counters {
    relocations: Relocations,
    retried_lookups: AtomicU64,
    conservative_lookups: AtomicU64,
}

#[derive(Default)]
struct Relocations {
    total: AtomicU64,
    longest_path: AtomicU64,
    failed_inserts: AtomicU64,
}

// Relaxed throughout: they count, and order nothing.
impl Counters {
    pub(crate) fn relocated(&self, path: u64) {
        self.relocations.total.fetch_add(path, Ordering::Relaxed);
        if self.relocations.longest_path.load(Ordering::Relaxed) < path {
            self.relocations
                .longest_path
                .fetch_max(path, Ordering::Relaxed);
        }
    }

    pub(crate) fn failed(&self) {
        self.relocations
            .failed_inserts
            .fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retried_lookups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn conservative(&self) {
        self.conservative_lookups.fetch_add(1, Ordering::Relaxed);
    }

    /// The part of [`Stats`] that is counted here; the rest is 0.
    pub(crate) fn stats(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            relocations: get(&self.relocations.total),
            longest_path: get(&self.relocations.longest_path),
            failed_inserts: get(&self.relocations.failed_inserts),
            retried_lookups: get(&self.retried_lookups),
            conservative_lookups: get(&self.conservative_lookups),
            ..Stats::default()
        }
    }
}

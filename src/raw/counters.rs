//! Counters off the fast path.

use crate::stats::Stats;
// In models, these counters are not explored: see `len`.
use crate::sync::{Ordering, unchecked::AtomicU64};

/// The counters in [`Stats`] of the threads that fall on one shard.
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

// Relaxed throughout: these are counters, which order nothing.
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

    /// All counters, for the simulator of caches in `coherence/`.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        use crate::coherence::Field;
        vec![
            Field::of("counters.relocations", &self.relocations),
            Field::of("counters.retried_lookups", &self.retried_lookups),
            Field::of("counters.conservative_lookups", &self.conservative_lookups),
        ]
    }

    /// Adds the counts to those in `stats`.
    pub(crate) fn add_to(&self, stats: &mut Stats) {
        // Relaxed: as above.
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.relocations += get(&self.relocations.total);
        stats.longest_path = stats.longest_path.max(get(&self.relocations.longest_path));
        stats.failed_inserts += get(&self.relocations.failed_inserts);
        stats.retried_lookups += get(&self.retried_lookups);
        stats.conservative_lookups += get(&self.conservative_lookups);
    }
}

impl From<Stats> for Counters {
    /// Counters that continue from these counts.
    fn from(stats: Stats) -> Self {
        Self {
            relocations: Relocations {
                total: AtomicU64::new(stats.relocations),
                longest_path: AtomicU64::new(stats.longest_path),
                failed_inserts: AtomicU64::new(stats.failed_inserts),
            },
            retried_lookups: AtomicU64::new(stats.retried_lookups),
            conservative_lookups: AtomicU64::new(stats.conservative_lookups),
        }
    }
}

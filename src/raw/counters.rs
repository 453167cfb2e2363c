//! Counters off the fast path.

use crate::stats::Stats;
// Unchecked: as in `len`.
use crate::sync::{Ordering, unchecked::AtomicU64};

/// The counters behind [`Stats`].
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

    /// Each of them.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        use crate::coherence::Field;
        vec![
            Field::of("counters.relocations", &self.relocations),
            Field::of("counters.retried_lookups", &self.retried_lookups),
            Field::of("counters.conservative_lookups", &self.conservative_lookups),
        ]
    }

    /// The part of [`Stats`] that is counted here; the rest is 0.
    pub(crate) fn stats(&self) -> Stats {
        // Relaxed: as above.
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

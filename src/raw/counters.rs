//! Counters off the fast path. Most small filters never need them.

use crate::stats::Stats;
// Unchecked: as in `len`.
use crate::sync::{Ordering, unchecked::AtomicU64};
use once_cell::race::OnceBox;

/// The counters behind [`Stats`]. They are allocated by the first thread that is about to move or to
/// split, or that has failed to insert. Lookups count only there, so they never allocate.
#[derive(Default)]
pub(crate) struct Counters(OnceBox<[Numbers; 1]>);

#[derive(Default)]
struct Numbers {
    relocations: AtomicU64,
    longest_path: AtomicU64,
    failed_inserts: AtomicU64,
    retried_lookups: AtomicU64,
    conservative_lookups: AtomicU64,
}

// Relaxed throughout: they count, and order nothing.
impl Counters {
    /// Allocates the counters. Without memory for them nothing is counted.
    pub(crate) fn prepare(&self) {
        if self.0.get().is_none()
            && let Some(numbers) = numbers()
        {
            // An error says that another thread was first: its numbers count.
            let _ = self.0.set(numbers);
        }
    }

    pub(crate) fn relocated(&self, path: u64) {
        let Some([numbers]) = self.0.get() else {
            return;
        };
        numbers.relocations.fetch_add(path, Ordering::Relaxed);
        if numbers.longest_path.load(Ordering::Relaxed) < path {
            numbers.longest_path.fetch_max(path, Ordering::Relaxed);
        }
    }

    pub(crate) fn failed(&self) {
        self.prepare();
        self.count(|numbers| &numbers.failed_inserts);
    }

    pub(crate) fn retried(&self) {
        self.count(|numbers| &numbers.retried_lookups);
    }

    pub(crate) fn conservative(&self) {
        self.count(|numbers| &numbers.conservative_lookups);
    }

    fn count(&self, number: impl FnOnce(&Numbers) -> &AtomicU64) {
        if let Some([numbers]) = self.0.get() {
            number(numbers).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.0.get().map_or(0, size_of_val)
    }

    /// The counters, which share one allocation.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        let numbers = self.0.get().into_iter();
        numbers
            .map(|numbers| crate::coherence::Field::of("counters", numbers))
            .collect()
    }

    /// The part of [`Stats`] that is counted here; the rest is 0.
    pub(crate) fn stats(&self) -> Stats {
        let Some([numbers]) = self.0.get() else {
            return Stats::default();
        };
        // Relaxed: as above.
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            relocations: get(&numbers.relocations),
            longest_path: get(&numbers.longest_path),
            failed_inserts: get(&numbers.failed_inserts),
            retried_lookups: get(&numbers.retried_lookups),
            conservative_lookups: get(&numbers.conservative_lookups),
            ..Stats::default()
        }
    }
}

/// Zeros; `None` if there is no memory.
fn numbers() -> Option<Box<[Numbers; 1]>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(1).ok()?;
    numbers.push(Numbers::default());
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_never_allocate_the_counters() {
        let counters = Counters::default();
        counters.retried();
        counters.conservative();
        assert_eq!((counters.bytes(), counters.stats()), (0, Stats::default()));
        counters.prepare();
        counters.retried();
        counters.relocated(3);
        counters.relocated(2);
        let stats = counters.stats();
        assert_eq!(counters.bytes(), size_of::<Numbers>());
        assert_eq!((stats.retried_lookups, stats.conservative_lookups), (1, 0));
        assert_eq!((stats.relocations, stats.longest_path), (5, 3));
    }

    #[test]
    fn a_failed_insert_is_counted_though_nothing_moved() {
        let counters = Counters::default();
        counters.failed();
        assert_eq!(counters.stats().failed_inserts, 1);
    }
}

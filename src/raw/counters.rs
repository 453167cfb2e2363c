//! Counters off the fast path.

use crate::stats::Stats;
// In models, these counters are not explored: see `len`.
use crate::sync::{
    Ordering,
    unchecked::{AtomicU32, AtomicU64},
};

/// The counters of one shard.
#[derive(Clone, Copy)]
pub(crate) enum Counting<'a> {
    Large(&'a Counters),
    Small(&'a SmallCounters),
}

macro_rules! in_either {
    ($counting:ident, $counters:ident => $count:expr) => {
        match $counting {
            Counting::Large($counters) => $count,
            Counting::Small($counters) => $count,
        }
    };
}

impl Counting<'_> {
    /// An insert has moved `path` copies.
    pub(crate) fn relocated(self, path: u64) {
        in_either!(self, counters => counters.relocated(path));
    }

    /// An insert has found no room.
    pub(crate) fn failed(self) {
        in_either!(self, counters => counters.failed());
    }

    /// A lookup reads again.
    pub(crate) fn retried(self) {
        in_either!(self, counters => counters.retried());
    }

    /// A lookup has given up.
    pub(crate) fn conservative(self) {
        in_either!(self, counters => counters.conservative());
    }
}

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

/// Adds to a counter, and returns what it was.
fn add(counter: &AtomicU64, by: u64) -> u64 {
    // Relaxed: a counter orders nothing.
    counter.fetch_add(by, Ordering::Relaxed)
}

fn get(counter: &AtomicU64) -> u64 {
    // Relaxed: as in `add`.
    counter.load(Ordering::Relaxed)
}

impl Counters {
    fn relocated(&self, path: u64) {
        add(&self.relocations.total, path);
        if get(&self.relocations.longest_path) < path {
            // Relaxed: as in `add`.
            let order = Ordering::Relaxed;
            self.relocations.longest_path.fetch_max(path, order);
        }
    }

    fn failed(&self) {
        add(&self.relocations.failed_inserts, 1);
    }

    fn retried(&self) {
        add(&self.retried_lookups, 1);
    }

    fn conservative(&self) {
        add(&self.conservative_lookups, 1);
    }

    /// All counters, for the simulator of caches in `coherence/`.
    #[cfg(guira_faults)]
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

/// The counters of a small filter, which has one shard. They take 24 bytes instead of 40, because there
/// may be very many small filters.
#[derive(Default)]
pub(crate) struct SmallCounters {
    /// The number of relocations, and in the [lowest bits](Self::LENGTH_BITS) the longest path.
    relocations: AtomicU64,
    failed_inserts: AtomicU64,
    retried_lookups: AtomicU32,
    conservative_lookups: AtomicU32,
}

impl SmallCounters {
    /// A path is far shorter than the number of buckets of a small filter.
    const LENGTH_BITS: u32 = 16;
    const LONGEST: u64 = (1 << Self::LENGTH_BITS) - 1;

    /// From here on lookups are no longer counted: below the largest number by more than there are
    /// threads, so that no thread adds to the largest one.
    const ENOUGH: u32 = u32::MAX - (1 << 24);

    fn relocated(&self, path: u64) {
        let more = path << Self::LENGTH_BITS;
        let mut seen = add(&self.relocations, more);
        let length = path.min(Self::LONGEST);
        while seen & Self::LONGEST < length {
            let longer = seen & !Self::LONGEST | length;
            // Relaxed: as in `add`.
            let order = Ordering::Relaxed;
            match self
                .relocations
                .compare_exchange(seen, longer, order, order)
            {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    fn failed(&self) {
        add(&self.failed_inserts, 1);
    }

    fn retried(&self) {
        Self::add_one(&self.retried_lookups);
    }

    fn conservative(&self) {
        Self::add_one(&self.conservative_lookups);
    }

    fn add_one(counter: &AtomicU32) {
        // Relaxed, both: as in `add`.
        if counter.load(Ordering::Relaxed) < Self::ENOUGH {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All counters, for the simulator of caches in `coherence/`.
    #[cfg(guira_faults)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        vec![crate::coherence::Field::of("counters.small", self)]
    }

    /// Adds the counts to those in `stats`.
    pub(crate) fn add_to(&self, stats: &mut Stats) {
        let relocations = get(&self.relocations);
        stats.relocations += relocations >> Self::LENGTH_BITS;
        stats.longest_path = stats.longest_path.max(relocations & Self::LONGEST);
        stats.failed_inserts += get(&self.failed_inserts);
        // Relaxed: as in `add`.
        let of_lookups = |counter: &AtomicU32| u64::from(counter.load(Ordering::Relaxed));
        stats.retried_lookups += of_lookups(&self.retried_lookups);
        stats.conservative_lookups += of_lookups(&self.conservative_lookups);
    }
}

impl From<Stats> for SmallCounters {
    /// Counters that continue from these counts, or from the largest ones that they can have.
    fn from(stats: Stats) -> Self {
        let most = u64::MAX >> Self::LENGTH_BITS;
        let total = stats.relocations.min(most) << Self::LENGTH_BITS;
        let of_lookups = |count: u64| {
            let count = u32::try_from(count).unwrap_or(Self::ENOUGH);
            AtomicU32::new(count.min(Self::ENOUGH))
        };
        Self {
            relocations: AtomicU64::new(total | stats.longest_path.min(Self::LONGEST)),
            failed_inserts: AtomicU64::new(stats.failed_inserts),
            retried_lookups: of_lookups(stats.retried_lookups),
            conservative_lookups: of_lookups(stats.conservative_lookups),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats_of(add_to: impl Fn(&mut Stats)) -> [u64; 5] {
        let mut stats = Stats::default();
        add_to(&mut stats);
        [
            stats.relocations,
            stats.longest_path,
            stats.failed_inserts,
            stats.retried_lookups,
            stats.conservative_lookups,
        ]
    }

    #[test]
    fn small_counters_count_like_large_ones() {
        let (large, small) = (Counters::default(), SmallCounters::default());
        for counting in [Counting::Large(&large), Counting::Small(&small)] {
            [2, 9, 9, 4]
                .into_iter()
                .for_each(|path| counting.relocated(path));
            (0..2).for_each(|_| counting.failed());
            (0..3).for_each(|_| counting.retried());
            (0..4).for_each(|_| counting.conservative());
        }
        assert_eq!(stats_of(|stats| large.add_to(stats)), [24, 9, 2, 3, 4]);
        assert_eq!(stats_of(|stats| small.add_to(stats)), [24, 9, 2, 3, 4]);
        let mut both = Stats::default();
        large.add_to(&mut both);
        large.add_to(&mut both);
        assert_eq!((both.relocations, both.longest_path), (48, 9));
        let small = SmallCounters::from(both);
        let large = Counters::from(both);
        assert_eq!(stats_of(|stats| large.add_to(stats)), [48, 9, 4, 6, 8]);
        assert_eq!(stats_of(|stats| small.add_to(stats)), [48, 9, 4, 6, 8]);
    }

    #[test]
    fn small_counters_end_at_their_largest_numbers() {
        const ENOUGH: u64 = SmallCounters::ENOUGH as u64;
        let small = SmallCounters::from(Stats {
            // The first number that does not fit.
            relocations: 1 << 48,
            longest_path: SmallCounters::LONGEST - 1,
            retried_lookups: ENOUGH + 1,
            conservative_lookups: u64::MAX,
            ..Stats::default()
        });
        small.retried();
        small.conservative();
        let expected = [
            u64::MAX >> 16,
            SmallCounters::LONGEST - 1,
            0,
            ENOUGH,
            ENOUGH,
        ];
        assert_eq!(stats_of(|stats| small.add_to(stats)), expected);
        let small = SmallCounters::default();
        small.relocated(SmallCounters::LONGEST + 2);
        let expected = [SmallCounters::LONGEST + 2, SmallCounters::LONGEST, 0, 0, 0];
        assert_eq!(stats_of(|stats| small.add_to(stats)), expected);
    }
}

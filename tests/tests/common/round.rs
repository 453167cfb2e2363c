//! Rounds of concurrent operations on a tiny, nearly full filter, in which hardly any insert
//! succeeds without relocations.

use super::filters::{most_copies, slots, tiny, tiny_counting};
use guira::{CuckooFilter, Hashed};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{fmt, ops::AddAssign, thread};

/// The parameters of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) bits: u32,
    /// The size of counters; 0 for none.
    pub(crate) counter_bits: u32,
    pub(crate) buckets: usize,
    pub(crate) threads: usize,
    /// The number of operations of each thread.
    pub(crate) operations: usize,
    /// The share of slots that are filled at the beginning.
    pub(crate) load: f64,
    /// The number of classes per slot. With few classes, each has many copies; with many, each is
    /// often absent.
    pub(crate) crowd: f64,
    /// Threads yield at random between operations. Frequent yields make them advance more evenly on
    /// few cores.
    pub(crate) yields: bool,
    pub(crate) seed: u64,
}

/// The events of one or more rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) rounds: u64,
    pub(crate) operations: u64,
    pub(crate) full: u64,
    pub(crate) relocations: u64,
    pub(crate) retried: u64,
    pub(crate) conservative: u64,
    /// The number of doublings.
    pub(crate) levels: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.operations += other.operations;
        self.full += other.full;
        self.relocations += other.relocations;
        self.retried += other.retried;
        self.conservative += other.conservative;
        self.levels += other.levels;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rounds,
            operations,
            full,
            relocations,
            retried,
            conservative,
            levels,
        } = self;
        write!(
            f,
            "{operations} operations in {rounds} rounds, {full} full, {relocations} relocations, \
             {retried} lookups retried, {conservative} conservative, {levels} doublings"
        )
    }
}

/// Fills `filter` to `load` with copies of all classes in turn, as far as they fit.
pub(crate) fn fill(filter: &CuckooFilter, classes: &[u64], load: f64) -> Vec<i64> {
    let wanted = (slots(filter) as f64 * load).round() as usize;
    let mut copies = vec![0; classes.len()];
    for _ in 0..most_copies(filter) {
        for (copies, &class) in copies.iter_mut().zip(classes) {
            let more = filter.slots_in_use() < wanted;
            *copies += i64::from(more && filter.insert(&Hashed(class)).is_ok());
        }
    }
    copies
}

impl Round {
    /// The number of classes of the round, at least two for each thread.
    pub(crate) fn classes_wanted(&self, filter: &CuckooFilter) -> usize {
        let count = (slots(filter) as f64 * self.crowd) as usize;
        count.max(2 * self.threads)
    }

    /// The filter of the round, which is empty.
    pub(crate) fn filter(&self) -> CuckooFilter {
        match self.counter_bits {
            0 => tiny(self.bits, self.buckets),
            counter_bits => tiny_counting((self.bits, counter_bits), self.buckets),
        }
    }

    pub(crate) fn random(&self, thread: usize) -> SmallRng {
        SmallRng::seed_from_u64(self.seed ^ (thread as u64 + 1) << 32)
    }

    pub(crate) fn give_way(&self, random: &mut SmallRng) {
        if self.yields && random.random_ratio(1, 8) {
            thread::yield_now();
        }
    }

    pub(crate) fn at_rest(
        &self,
        filter: &CuckooFilter,
        copies: i64,
        unfounded: u64,
    ) -> Result<(), String> {
        let (len, stats) = (filter.len(), filter.stats());
        if len as i64 != copies {
            return Err(format!(
                "len is {len} at rest instead of {copies} in {self:?}"
            ));
        }
        if unfounded > stats.conservative_lookups {
            return Err(format!(
                "{unfounded} lookups found an absent class, {} of them because they found no proof of absence, in {self:?}",
                stats.conservative_lookups
            ));
        }
        Ok(())
    }

    /// Empties the filter, and checks that each class then fits as often as its pair has slots. A
    /// mark or a copy that was left behind would occupy a slot.
    pub(crate) fn no_slot_is_lost(
        &self,
        filter: &CuckooFilter,
        classes: &[u64],
    ) -> Result<(), String> {
        for &class in classes {
            while filter.remove(&Hashed(class)) {}
        }
        if !filter.is_empty() {
            return Err(format!("{} copies are left in {self:?}", filter.len()));
        }
        if filter.slots_in_use() != 0 {
            let slots = filter.slots_in_use();
            return Err(format!("{slots} slots are left in use in {self:?}"));
        }
        // During a doubling, words differ in their number of slots.
        filter.finish_growth();
        for &class in classes {
            let fitted = (0..)
                .take_while(|_| filter.insert(&Hashed(class)).is_ok())
                .count();
            if fitted != most_copies(filter) {
                return Err(format!(
                    "only {fitted} copies fit when all is removed, in {self:?}"
                ));
            }
            while filter.remove(&Hashed(class)) {}
        }
        Ok(())
    }

    pub(crate) fn report(&self, filter: &CuckooFilter) -> Report {
        let stats = filter.stats();
        Report {
            rounds: 1,
            operations: (self.threads * self.operations) as u64,
            full: 0,
            relocations: stats.relocations,
            retried: stats.retried_lookups,
            conservative: stats.conservative_lookups,
            levels: stats.doublings.into(),
        }
    }
}

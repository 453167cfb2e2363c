//! How much is measured.

use crate::measure::size;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of each measurement.
    pub rounds: usize,
    /// Tables in the second-level cache have two to this power slots,
    pub log_small: u32,
    /// tables in the third-level cache this,
    pub log_medium: u32,
    /// and tables out of cache this.
    pub log_large: u32,
    /// Tables whose snapshots and epochs are timed: 2 bytes a slot.
    pub log_huge: u32,
    /// Items of fixed filters that are asked for a rate.
    pub items: [u64; 2],
    /// Lookups and removes in one round of a loop.
    pub steps: u64,
    /// How long all runs of one part with several threads take together, without what prepares them.
    pub threads: Duration,
}

/// A table's place in the memory of the machine, and its slots as a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// As the keys of tables have it.
    pub(crate) key: &'static str,
    pub(crate) log_slots: u32,
    /// A table out of cache is filled once: that takes long, and its rate is a mean of millions.
    pub(crate) is_large: bool,
}

impl Size {
    /// "64 K slots", "32 M slots".
    pub(crate) fn slots(self) -> String {
        format!("{} slots", size(self.log_slots))
    }
}

impl Effort {
    /// What the report is made with.
    pub const FULL: Self = Self {
        rounds: 5,
        log_small: 16,
        log_medium: 20,
        log_large: 25,
        log_huge: 27,
        items: [1_000_000, 10_000_000],
        steps: 1 << 20,
        threads: Duration::from_secs(75),
    };
    /// What shows that all of it works.
    pub const QUICK: Self = Self {
        rounds: 1,
        log_small: 11,
        log_medium: 14,
        log_large: 17,
        log_huge: 18,
        items: [10_000, 50_000],
        steps: 1 << 12,
        threads: Duration::from_millis(500),
    };

    /// Tables in the second-level cache, in the third-level cache, and out of cache.
    pub(crate) fn sizes(&self) -> [Size; 3] {
        [
            ("small", self.log_small),
            ("medium", self.log_medium),
            ("large", self.log_large),
        ]
        .map(|(key, log_slots)| Size {
            key,
            log_slots,
            is_large: log_slots == self.log_large,
        })
    }

    /// How long one of this number of runs of several threads takes.
    pub(crate) fn run(&self, runs: usize) -> Duration {
        self.threads / u32::try_from(runs).unwrap_or(u32::MAX)
    }
}

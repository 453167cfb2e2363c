//! How much is measured.

use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of each measurement. Some measurements in cache have three times this number
    /// ([`Effort::rounds_at`]).
    pub rounds: usize,
    /// Tables in the second-level cache have two to this power slots,
    pub log_small: u32,
    /// tables in the third-level cache this,
    pub log_medium: u32,
    /// and tables out of cache this.
    pub log_large: u32,
    /// Items of filters that are asked for a rate.
    pub items: [u64; 2],
    /// Tables whose snapshots are timed: 2 bytes a slot.
    pub log_huge: u32,
    /// How long each concurrent run takes.
    pub run: Duration,
    /// Lookups and removes in one round of a loop.
    pub steps: u64,
}

impl Effort {
    /// Rounds of comparisons by ratio, for tables of this size: in cache they are short,
    /// and other jobs on the machine disturb them more.
    #[must_use]
    pub fn rounds_at(&self, log_slots: u32) -> usize {
        match log_slots < self.log_large {
            true => 3 * self.rounds,
            false => self.rounds,
        }
    }

    /// What the report is made with.
    pub const FULL: Self = Self {
        rounds: 5,
        log_small: 16,
        log_medium: 20,
        log_large: 25,
        items: [1_000_000, 10_000_000],
        log_huge: 29,
        run: Duration::from_millis(120),
        steps: 1 << 20,
    };
    /// What shows that all of it works.
    pub const QUICK: Self = Self {
        rounds: 1,
        log_small: 11,
        log_medium: 14,
        log_large: 17,
        items: [10_000, 50_000],
        log_huge: 18,
        run: Duration::from_millis(2),
        steps: 1 << 12,
    };
}

//! How long single operations take.

use hdrhistogram::Histogram;
use std::time::{Duration, Instant};

/// The longest time that is told apart.
const LONGEST: Duration = Duration::from_secs(60);

/// Histograms of nanoseconds: lookups and inserts apart.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Lookups.
    pub lookups: Histogram<u64>,
    /// Inserts, accepted or refused.
    pub inserts: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram =
            || Histogram::new_with_max(LONGEST.as_nanos() as u64, 3).expect("3 digits are allowed");
        Self {
            lookups: histogram(),
            inserts: histogram(),
        }
    }
}

impl Latencies {
    /// Adds what another thread has noted.
    pub fn add(&mut self, other: &Self) {
        let range = "all histograms have one range";
        self.lookups.add(&other.lookups).expect(range);
        self.inserts.add(&other.inserts).expect(range);
    }

    #[inline(always)]
    pub(crate) fn lookup<const TIMED: bool>(&mut self, operation: impl FnOnce() -> bool) -> bool {
        if !TIMED {
            return operation();
        }
        let start = Instant::now();
        let found = operation();
        self.lookups.saturating_record(nanoseconds(start));
        found
    }

    #[inline(always)]
    pub(crate) fn insert<const TIMED: bool>(&mut self, operation: impl FnOnce() -> bool) -> bool {
        if !TIMED {
            return operation();
        }
        let start = Instant::now();
        let accepted = operation();
        self.inserts.saturating_record(nanoseconds(start));
        accepted
    }
}

fn nanoseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// What reading the clock twice takes, in nanoseconds: in every latency.
#[must_use]
pub fn clock_cost() -> u64 {
    let mut costs = Latencies::default();
    for _ in 0..100_000 {
        costs.lookup::<true>(|| true);
    }
    costs.lookups.value_at_quantile(0.5)
}

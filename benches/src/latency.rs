//! How long single operations take.

use crate::table::Table;
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};

/// The longest time that is told apart.
const LONGEST: Duration = Duration::from_secs(60);

/// The columns of a table of latencies, each with its share of the operations.
pub(crate) const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("max", 1.0),
];

/// A histogram of nanoseconds.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        let longest = LONGEST.as_nanos() as u64;
        Self(Histogram::new_with_max(longest, 3).expect("3 digits are allowed"))
    }
}

impl Times {
    /// Notes how long `operation` takes, if it is to be `TIMED`.
    #[inline(always)]
    pub(crate) fn note<const TIMED: bool, R>(&mut self, operation: impl FnOnce() -> R) -> R {
        if !TIMED {
            return operation();
        }
        let start = Instant::now();
        let result = operation();
        let elapsed = start.elapsed().as_nanos();
        self.0
            .saturating_record(u64::try_from(elapsed).unwrap_or(u64::MAX));
        result
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all histograms have one range");
    }

    /// Nanoseconds of the slowest operation but for this share.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64
    }

    /// Fills in the columns of a row whose names begin with `prefix`.
    pub(crate) fn fill_in(&self, table: &mut Table, row: &str, prefix: &str) {
        for (name, share) in QUANTILES.iter().filter(|_| !self.0.is_empty()) {
            table.push(row, &format!("{prefix}{name}"), self.quantile(*share));
        }
    }
}

/// What reading the clock twice takes: in every latency.
pub(crate) fn clock_cost() -> Times {
    let mut costs = Times::default();
    (0..100_000).for_each(|_| costs.note::<true, _>(|| ()));
    costs
}

//! Threads use an expiring filter while time advances. No item expires early, two calls never both
//! add an item first, and expired items are absent.
//!
//! Each thread knows when its own items were inserted or refreshed, by clock readings before and
//! after each call. From the reading before the call on, an item must be present for the TTL. A
//! result that says otherwise is wrong if the reading after *that* call is within the TTL. An item
//! is expired if E + 1 epochs have begun since the reading after its last call, where other threads
//! record when epochs began. After that it is found only at the false-positive rate. Of the items
//! that all threads add, two calls may both be first only if one of them came after the other's
//! TTL.
//!
//! Each layout takes 0.3 seconds, or its share of `GUIRA_STRESS_SECONDS`:
//!
//! ```text
//! GUIRA_STRESS_SECONDS=600 cargo test --release -p guira-tests --test all expiring_stress:: -- --nocapture
//! ```

mod timed {
    pub(crate) mod own;
    pub(crate) mod round;
    pub(crate) mod shared;
    pub(crate) mod steps;
    pub(crate) mod violation;
}

use crate::common::stress::stress_time;
use rand::{RngExt, rngs::SmallRng};
use std::time::{Duration, Instant};
use timed::round::{Report, Round};

const LAYOUTS: u32 = 5;

/// The time for each layout, and for a round.
fn budget() -> (Duration, Duration) {
    match stress_time() {
        Some(all) => (all / LAYOUTS, Duration::from_secs(3)),
        None => (Duration::from_millis(300), Duration::from_millis(150)),
    }
}

/// On a busy machine, few operations may happen in a few rounds.
const PATIENCE: Duration = Duration::from_secs(600);

/// Eight standard deviations, and ten more for counts that are nearly 0, because each run has
/// another seed.
fn tolerance(expected: f64) -> f64 {
    8.0 * expected.sqrt() + 10.0
}

/// How many items the filters are for. With `GUIRA_STRESS_SECONDS`, filters that grow become large.
fn capacities(bits: Option<u32>) -> [usize; 3] {
    match bits {
        None if stress_time().is_some() => [1_000, 30_000, 1_000_000],
        _ => [60, 600, 6_000],
    }
}

fn stress(bits: Option<u32>, max_steps: u32) {
    let (budget, lasts) = budget();
    // Each run has another seed: repeating the last one would find less.
    let mut random: SmallRng = rand::make_rng();
    let (start, mut report) = (Instant::now(), Report::default());
    let much = |report: &Report| {
        let relocated = report.rounds < 16 || report.relocations > 0;
        let grown = bits.is_some() || report.doublings > 0;
        relocated && grown && report.firsts > 0 && report.absent > 0
    };
    while start.elapsed() < budget || !much(&report) {
        let late = start.elapsed() > budget + PATIENCE;
        assert!(!late, "too little happens: {report}");
        let few = random.random_range(1..=max_steps.min(3));
        let capacity: usize = capacities(bits)[random.random_range(0..3)];
        let steps = if random.random() { max_steps } else { few };
        let round = Round {
            bits,
            steps,
            threads: [2, 4, 8, 16][report.rounds as usize % 4],
            capacity,
            // At most all items that the filter holds at the end of an epoch.
            items: (capacity + capacity / steps as usize) * random.random_range(80..=100) / 100,
            pause: [1, 8, 64][random.random_range(0..3)],
            removes: random.random(),
            yields: random.random(),
            lasts,
            seed: random.random(),
        };
        report += round
            .run()
            .unwrap_or_else(|violation| panic!("{violation}"));
    }
    let bits = bits.map_or("growing".to_owned(), |bits| format!("{bits} bits"));
    println!("{bits}: {report}");
    let too_many = report.false_positives as f64 - report.expected;
    assert!(
        too_many <= tolerance(report.expected),
        "{bits}: too many false positives: {report}"
    );
}

/// One layout after the other, so that the numbers of threads are as stated.
#[test]
fn nothing_expires_early_in_any_layout() {
    let fixed = [(9, 5), (11, 13), (16, 13), (26, 13)];
    for (bits, max_steps) in fixed {
        stress(Some(bits), max_steps);
    }
    stress(None, 13);
}

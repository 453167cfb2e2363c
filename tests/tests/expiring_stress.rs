//! Threads, a clock and a filter that forgets by it: nothing is forgotten too early, nothing comes
//! first twice, and what is forgotten is gone.
//!
//! Each thread knows when its own items were inserted or refreshed, by readings of the clock before
//! and after each call. From the reading before on, an item must be there for the TTL: an answer
//! that it is absent is wrong if the reading after *that* call is no later. An item counts as gone
//! if E + 1 epochs have begun since the reading after its last call; other threads record when they
//! began. After that it is found only at the rate of false positives. Of items that all threads
//! add, two calls may both come first only if one came when the other's TTL had passed.
//!
//! Each test runs for 1 second, or for its share of `GUIRA_STRESS_SECONDS`:
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

use rand::{RngExt, rngs::SmallRng};
use std::{
    env,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use timed::round::{Report, Round};

/// One layout at a time: the numbers of threads are meant as they are.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const LAYOUTS: u32 = 4;

/// Of each layout, and how long a round is.
fn budget() -> (Duration, Duration) {
    match env::var("GUIRA_STRESS_SECONDS") {
        Ok(seconds) => {
            let seconds: u32 = seconds
                .parse()
                .expect("GUIRA_STRESS_SECONDS is a whole number");
            let seconds = Duration::from_secs(seconds.into());
            (seconds / LAYOUTS, Duration::from_secs(3))
        }
        Err(_) => (Duration::from_millis(1_200), Duration::from_millis(600)),
    }
}

/// On a busy machine a few rounds may bring little.
const PATIENCE: Duration = Duration::from_secs(600);

/// Eight standard deviations, and ten more for counts that are nearly 0: no two runs are alike.
fn tolerance(expected: f64) -> f64 {
    8.0 * expected.sqrt() + 10.0
}

fn stress(bits: u32, max_steps: u32) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (budget, lasts) = budget();
    // Another seed each time: a run that repeats the last one would find less.
    let mut random: SmallRng = rand::make_rng();
    let (start, mut report) = (Instant::now(), Report::default());
    let much = |report: &Report| {
        let relocated = report.rounds < 16 || report.relocations > 0;
        relocated && report.firsts > 0 && report.absent > 0
    };
    while start.elapsed() < budget || !much(&report) {
        let late = start.elapsed() > budget + PATIENCE;
        assert!(!late, "too little happens: {report}");
        let few = random.random_range(1..=max_steps.min(3));
        let capacity: usize = [60, 600, 6_000][random.random_range(0..3)];
        let steps = if random.random() { max_steps } else { few };
        let round = Round {
            bits,
            steps,
            threads: [2, 4, 8, 16][report.rounds as usize % 4],
            capacity,
            // Up to all that is in the filter at the end of a step.
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
    println!("{bits} bits: {report}");
    let too_many = report.false_positives as f64 - report.expected;
    assert!(
        too_many <= tolerance(report.expected),
        "{bits} bits: too many false positives: {report}"
    );
}

#[test]
fn fingerprints_of_9_bits() {
    stress(9, 5);
}

#[test]
fn fingerprints_of_11_bits() {
    stress(11, 13);
}

#[test]
fn fingerprints_of_16_bits() {
    stress(16, 13);
}

#[test]
fn fingerprints_of_26_bits() {
    stress(26, 13);
}

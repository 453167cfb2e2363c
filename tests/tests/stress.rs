//! Random rounds in all layouts, with 2 to 16 threads. The filters have 2 to 16 buckets and are
//! nearly full, or double during the round. No result may ever be wrong.
//!
//! Each layout takes 0.2 seconds, or its share of `GUIRA_STRESS_SECONDS`:
//!
//! ```text
//! GUIRA_STRESS_SECONDS=600 cargo test --release -p guira-tests --test all stress:: -- --nocapture
//! ```
//!
//! A failure prints the round with its seed. The interleaving depends on the machine, so it may
//! take many repetitions to see the failure again.

use crate::common::{
    filters::{BITS, GROWABLE_BITS, GROWABLE_COUNTING},
    round::{Report, Round},
    stress::stress_time,
};
use rand::{RngExt, rngs::SmallRng};
use std::time::{Duration, Instant};

/// On a busy machine, some rounds take long, and in some hardly anything happens.
const PATIENCE: Duration = Duration::from_secs(600);

/// The time for each layout.
fn budget() -> Duration {
    let layouts = BITS.len() + GROWABLE_BITS.len() + 4;
    stress_time().map_or(Duration::from_millis(200), |all| all / layouts as u32)
}

fn stress(bits: u32, counter_bits: u32) {
    // Each run has another seed: repeating the last one would find less.
    let mut random: SmallRng = rand::make_rng();
    let grows = match counter_bits {
        0 => GROWABLE_BITS.contains(&bits),
        _ => GROWABLE_COUNTING.contains(&(bits, counter_bits)),
    };
    let much = |report: &Report| match grows {
        true => report.relocations > 0 && report.levels > 0,
        false => report.relocations > 0 && report.full > 0,
    };
    for threads in [2, 4, 8, 16] {
        let (start, mut report) = (Instant::now(), Report::default());
        while report.rounds < 2 || start.elapsed() < budget() / 4 || !much(&report) {
            let late = start.elapsed() > budget() + PATIENCE;
            assert!(!late, "too little happens: {report}");
            let round = Round {
                bits,
                counter_bits,
                threads,
                buckets: random.random_range(2..=16),
                operations: 40_000 / threads,
                load: random.random_range(0.9..=0.98),
                crowd: random.random_range(0.2..=1.5),
                yields: random.random(),
                seed: random.random(),
            };
            let owned = report.rounds % 2 == 0;
            let done = if owned { round.owned() } else { round.shared() };
            report += done.unwrap_or_else(|violation| panic!("{violation}"));
        }
        println!("{bits} bits, counters of {counter_bits}, {threads} threads: {report}");
    }
}

/// One layout after the other, so that the numbers of threads are as stated.
#[test]
fn no_result_is_wrong_in_any_layout() {
    let plain = BITS.into_iter().chain(GROWABLE_BITS);
    let counting = [(11, 4), (12, 8), (13, 4), (28, 8)];
    for (bits, counter_bits) in plain.map(|bits| (bits, 0)).chain(counting) {
        stress(bits, counter_bits);
    }
}

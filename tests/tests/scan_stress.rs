//! Scans during concurrent writes. Each item that stays in the filter must be in each snapshot,
//! clone, merge and union, and no more often than possible.
//!
//! Four threads insert and remove items of their own, until the filter is nearly full, and check
//! every result. No insert may be refused, except because other threads are in the way. Two other
//! threads scan the filter.
//!
//! Each kind takes a quarter of a second, or its share of `GUIRA_STRESS_SECONDS`:
//!
//! ```text
//! GUIRA_STRESS_SECONDS=600 cargo test --release -p guira-tests --test all scan_stress:: -- --nocapture
//! ```

mod scanned {
    pub(crate) mod clears;
    pub(crate) mod expiring;
    pub(crate) mod patience;
    pub(crate) mod report;
    pub(crate) mod snapshots;
}

use crate::common::stress::stress_time;
use guira::{Builder, CuckooFilter, ExpiringFilter, Prefer};
use rand::{RngExt, rngs::SmallRng};
use scanned::{clears, expiring, patience::contended, report::Report, snapshots};
use std::time::{Duration, Instant};

const LAYOUTS: u32 = 5;

/// The time for each layout, and for a round.
fn budget() -> (Duration, Duration) {
    match stress_time() {
        Some(all) => (all / LAYOUTS, Duration::from_secs(2)),
        None => (Duration::from_millis(250), Duration::from_millis(50)),
    }
}

/// Runs rounds of all kinds, until the time is over and every kind of event has happened.
fn stress(name: &str, rounds: &[&dyn Fn(usize, u64, Duration) -> Report]) {
    let (budget, lasts) = budget();
    // Each run has another seed: repeating the last one would find less.
    let mut random: SmallRng = rand::make_rng();
    let (start, mut report) = (Instant::now(), Report::default());
    let (mut done, before) = (0, contended());
    while done < 2 * rounds.len() || start.elapsed() < budget {
        let capacity = [600, 6_000, 60_000][done / rounds.len() % 3];
        report += rounds[done % rounds.len()](capacity, random.random(), lasts);
        done += 1;
    }
    println!(
        "{name}: {done} rounds, {report}, {} contended inserts",
        contended() - before
    );
    assert!(report.scans > 0 && report.operations > 0 && report.relocations > 0);
}

fn plain(name: &str, builder: impl Fn(usize) -> Builder) {
    let build = |capacity: usize, seed| builder(capacity).seed(seed).build().expect("a filter");
    stress(
        name,
        &[
            &|capacity, seed, lasts| snapshots::round(&build(capacity, seed), capacity, lasts),
            &|capacity, seed, lasts| clears::round(&build(capacity, seed), capacity, lasts),
        ],
    );
}

/// One kind after the other, so that the numbers of threads are as stated.
#[test]
fn what_stays_is_in_each_scan_of_any_layout() {
    let builder = CuckooFilter::builder;
    plain("fixed", |capacity| builder().capacity(capacity));
    plain("30 bits", |capacity| {
        builder().capacity(capacity).fingerprint_bits(30)
    });
    plain("growing", |capacity| {
        let builder = builder().capacity(capacity / 20).max_capacity(capacity);
        builder.false_positive_rate(1e-4)
    });
    plain("space", |capacity| {
        let builder = builder().capacity(capacity).prefer(Prefer::Space);
        builder.false_positive_rate(0.01)
    });
    stress(
        "expiring",
        &[&|capacity, seed, lasts| {
            let builder = ExpiringFilter::builder(Duration::from_secs(3600)).epochs(12);
            let builder = builder.capacity(capacity).seed(seed);
            expiring::round(&builder.build().expect("a filter"), capacity, lasts)
        }],
    );
}

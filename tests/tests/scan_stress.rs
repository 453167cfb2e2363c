//! Scans during concurrent writes. Each item that stays in the filter must be in each snapshot,
//! clone, merge and union, and no more often than possible.
//!
//! Four threads insert and remove items of their own, until the filter is nearly full, and check
//! every result. No insert may be refused, except because other threads are in the way. Two other
//! threads scan the filter.
//!
//! Each test runs for a quarter of a second, or for its share of `GUIRA_STRESS_SECONDS`:
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
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The tests run one at a time, so that the numbers of threads are as stated.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

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
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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

#[test]
fn fixed_filters() {
    plain("fixed", |capacity| {
        CuckooFilter::builder().capacity(capacity)
    });
}

#[test]
fn long_fingerprints() {
    plain("30 bits", |capacity| {
        let builder = CuckooFilter::builder().capacity(capacity);
        builder.fingerprint_bits(30)
    });
}

#[test]
fn growing_filters() {
    plain("growing", |capacity| {
        let builder = CuckooFilter::builder().capacity(capacity / 20);
        builder.max_capacity(capacity).false_positive_rate(1e-4)
    });
}

#[test]
fn semi_sorted_words() {
    plain("space", |capacity| {
        let builder = CuckooFilter::builder().capacity(capacity);
        builder.false_positive_rate(0.01).prefer(Prefer::Space)
    });
}

#[test]
fn expiring_filters() {
    stress(
        "expiring",
        &[&|capacity, seed, lasts| {
            let builder = ExpiringFilter::builder(Duration::from_secs(3600)).epochs(12);
            let builder = builder.capacity(capacity).seed(seed);
            expiring::round(&builder.build().expect("a filter"), capacity, lasts)
        }],
    );
}

//! Any hasher that keeps items apart is good enough. `capacity` items fit, and absent keys of the same
//! pattern are found at most 1.3 times as often as the rate allows.
//!
//! All hashers are fixed, so a test always fails or never. `GUIRA_LONG=1` adds a rate of 0.01 %.

use crate::common::{identity::Identity, stress::is_long};
use guira::{CuckooFilter, ExpiringFilter, Prefer};
use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    time::Duration,
};

const CAPACITY: u64 = 58_000;

/// The lowest one takes nine tenths of the time.
fn rates() -> &'static [f64] {
    match is_long() {
        true => &[0.01, 0.001, 0.0001],
        false => &[0.01, 0.001],
    }
}

/// The most keys of a pattern.
const KEYS: u64 = 1 << 23;

/// A pattern of keys: its name, and its key of a number below [`KEYS`].
type Pattern = (&'static str, fn(u64) -> u64);

const PATTERNS: [Pattern; 6] = [
    ("numbers", |number| number),
    ("multiples of 2^16", |number| number << 16),
    ("multiples of 2^32", |number| number << 32),
    ("multiples of 2^40", |number| number << 40),
    ("bits of floats", |number| (number as f64).to_bits()),
    ("addresses", |number| 0x7f3a_5c00_0000 + 64 * number),
];

/// Inserts the first keys of each pattern into filters of each rate, and looks up the next ones.
fn test<S: BuildHasher + Clone>(hasher: &S) {
    for (name, key) in PATTERNS {
        for &rate in rates() {
            let capacity = CAPACITY as usize;
            let builder = CuckooFilter::builder()
                .hasher(hasher.clone())
                .false_positive_rate(rate);
            let fixed = builder.clone().capacity(capacity);
            let growing = builder.capacity(capacity / 16 + 1).max_capacity(capacity);
            let builders = [
                ("fixed", fixed.clone()),
                ("small", fixed.prefer(Prefer::Space)),
                ("growing", growing),
            ];
            for (kind, builder) in builders {
                let filter = builder.build().expect("a filter");
                let result = filter.try_extend((0..CAPACITY).map(key));
                assert_eq!(result, Ok(()), "{kind}, {name}, {rate}");
                // 300 of them may be found, and 390 are five standard deviations more.
                let absent = (300.0 / rate) as u64;
                assert!(CAPACITY + absent <= KEYS);
                let next = (CAPACITY..CAPACITY + absent).map(key);
                let found = filter.contains_iter(next).filter(|&found| found).count();
                assert!(found <= 390, "{kind}, {name}, {rate}: {found} of {absent}");
            }
        }
    }
}

#[test]
fn fx_hash() {
    test(&rustc_hash::FxBuildHasher);
}

#[test]
fn fnv() {
    test(&fnv::FnvBuildHasher::default());
}

#[test]
fn foldhash() {
    test(&foldhash::fast::FixedState::with_seed(7));
}

#[test]
fn identity() {
    test(&Identity::default());
}

#[test]
fn sip_hash() {
    test(&BuildHasherDefault::<DefaultHasher>::default());
}

#[test]
fn expiring_filters_have_room_and_keep_the_rate() {
    for (name, key) in PATTERNS {
        let filter = ExpiringFilter::builder(Duration::from_secs(60))
            .capacity(CAPACITY as usize)
            .false_positive_rate(0.001)
            .hasher(Identity::default())
            .build()
            .expect("a filter");
        let result = filter.try_extend((0..CAPACITY).map(key));
        assert_eq!(result, Ok(()), "{name}");
        let next = (CAPACITY..CAPACITY + 300_000).map(key);
        let found = filter.contains_iter(next).filter(|&found| found).count();
        assert!(found <= 390, "{name}: {found}");
    }
}

//! Filters that prefer space have the slots, the rates and the capacities that they should, and their
//! snapshots stay as they are.

use crate::snapshot::common::fields::{PREFIXES, with_byte};
use guira::{Builder, CuckooFilter, Prefer, SnapshotError};

/// A rate for each layout, with the number of its slots.
const LAYOUTS: [(f64, usize); 5] = [
    (0.025, 7),
    (0.0056, 6),
    (0.0011, 5),
    (0.00013, 4),
    (3e-6, 3),
];

const ITEMS: u64 = 20_000;

fn builder(rate: f64) -> Builder {
    CuckooFilter::builder()
        .capacity(ITEMS as usize)
        .false_positive_rate(rate)
        .prefer(Prefer::Space)
        .seed(42)
}

fn full(rate: f64) -> CuckooFilter {
    let filter = builder(rate).build().expect("a filter");
    for item in 0..ITEMS {
        filter.insert(&item).expect("all fit");
    }
    filter
}

#[test]
fn the_rate_is_the_one_asked_for() {
    for (rate, slots) in LAYOUTS {
        let filter = full(rate);
        assert_eq!(filter.bucket_slots(), slots, "{rate}");
        assert!(filter.false_positive_rate() <= rate, "{rate}");
        // Enough lookups to find 400 items, but at most 4 million.
        let absent = ((400.0 / rate) as u64).min(4_000_000);
        let hits = (ITEMS..ITEMS + absent).filter(|item| filter.contains(item));
        let (hits, expected) = (hits.count() as f64, rate * absent as f64);
        // Four standard deviations. The rate varies with the seed, which is fixed.
        assert!(hits <= expected + 4.0 * expected.sqrt(), "{rate}: {hits}");
        // If hardly any are found, the test itself is wrong.
        let few = 0.8 * expected - 4.0 * expected.sqrt();
        assert!(hits >= few.max(1.0), "{rate}: {hits}");
    }
}

/// The checksums of snapshots. Their contents must not change within a version of the format.
#[test]
fn snapshots_stay_as_they_are() {
    let checksums = LAYOUTS.map(|(rate, _)| {
        let bytes = full(rate).to_bytes();
        // The checksum covers everything except the snapshot's own one, with which all results
        // would be equal.
        crc32fast::hash(&bytes[..bytes.len() - 4])
    });
    let expected = [
        4_202_648_011,
        3_715_640_575,
        2_708_998_702,
        2_569_877_561,
        3_567_245_067,
    ];
    assert_eq!(checksums, expected);
}

/// A header with a number of prefixes that no layout has.
#[test]
fn prefixes_that_there_are_not_are_refused() {
    let header = with_byte(&full(0.0056).header(), PREFIXES, 9);
    let refused = CuckooFilter::from_header(&header, 1 << 20).err();
    let what_is_wrong = match refused {
        Some(SnapshotError::Geometry { what, found }) => Some((what, found)),
        _ => None,
    };
    assert_eq!(what_is_wrong, Some(("prefixes", 9)));
}

/// Tables of each size hold their capacity.
#[test]
fn capacities_are_kept() {
    for (rate, _) in LAYOUTS {
        for capacity in [1, 2, 5, 9, 17, 40, 100, 333, 1000, 5000] {
            for seed in 0..20 {
                let builder = builder(rate).capacity(capacity).seed(seed);
                let filter = builder.build().expect("a filter");
                for item in 0..capacity {
                    let inserted = filter.insert_unique(&item);
                    assert!(inserted.is_ok(), "{item} of {capacity} at {rate}");
                }
            }
        }
    }
}

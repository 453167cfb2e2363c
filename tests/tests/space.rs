//! Filters that prefer space keep all promises. They find their items, at the requested rate, and
//! work with snapshots, headers and merges.

use crate::snapshot::common::fields::{PREFIXES, WORDS, with, with_byte};
use guira::{Builder, CuckooFilter, MergeError, Mismatch, Prefer, SnapshotError};

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
fn all_that_fit_are_found_and_removed() {
    for (rate, slots) in LAYOUTS {
        let filter = full(rate);
        assert_eq!(filter.bucket_slots(), slots, "{rate}");
        assert!((0..ITEMS).all(|item| filter.contains(&item)), "{rate}");
        assert_eq!(filter.insert_unique(&0_u64), Ok(false));
        let copies = (0..100)
            .take_while(|_| filter.insert("ani").is_ok())
            .count();
        assert!((1..=2 * slots).contains(&copies), "{rate}");
        assert_eq!(filter.count("ani"), copies, "{rate}");
        (0..copies).for_each(|_| assert!(filter.remove("ani"), "{rate}"));
        assert!((0..ITEMS).all(|item| filter.remove(&item)), "{rate}");
        assert!(filter.is_empty(), "{rate}");
    }
}

#[test]
fn the_rate_is_the_one_asked_for() {
    for (rate, _) in LAYOUTS {
        let filter = full(rate);
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

#[test]
fn a_snapshot_and_a_header_make_the_same_filter() {
    for (rate, slots) in LAYOUTS {
        let filter = full(rate);
        let copy = CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot");
        assert_eq!((copy.len(), copy.bucket_slots()), (filter.len(), slots));
        assert!((0..ITEMS).all(|item| copy.contains(&item)), "{rate}");
        assert_eq!(copy.digest(), filter.digest(), "{rate}");

        let empty = CuckooFilter::from_header(&filter.header(), 1 << 20).expect("a header");
        assert_eq!(empty.capacity(), filter.capacity());
        empty.merge(&filter).expect("room");
        assert_eq!(empty.digest(), filter.digest(), "{rate}");
        empty.remove(&0_u64);
        assert_ne!(empty.digest(), filter.digest(), "{rate}");
        copy.clear();
        assert!(copy.is_empty(), "{rate}");
    }
}

/// A snapshot with a word that encodes no fingerprints.
#[test]
fn a_word_that_is_none_is_refused() {
    for (rate, _) in LAYOUTS {
        let filter = builder(rate).build().expect("a filter");
        let bytes = filter.to_bytes();
        // The words: the largest fingerprint before the empty slots, a mark, and a head out of
        // range.
        for word in [1, 1 << 63, u64::MAX] {
            let refused = CuckooFilter::from_bytes(&with(&bytes, WORDS, word)).err();
            assert!(
                matches!(refused, Some(SnapshotError::Word { bucket: 0, .. })),
                "{rate}, {word:#x}: {refused:?}"
            );
        }
    }
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

#[test]
fn filters_of_other_fingerprints_are_not_merged() {
    let [(one, _), (other, _), ..] = LAYOUTS;
    let refused = builder(one)
        .build()
        .unwrap()
        .merge(&builder(other).build().unwrap());
    assert!(
        matches!(
            refused,
            Err(MergeError::Geometry(Mismatch::FingerprintBits { .. }))
        ),
        "{refused:?}"
    );
    let of_15_bits = CuckooFilter::builder().fingerprint_bits(15).seed(1);
    let packed = of_15_bits.clone().build().unwrap();
    let semi_sorted = of_15_bits
        .prefer(Prefer::Space)
        .false_positive_rate(0.000_14);
    let semi_sorted = semi_sorted.build().unwrap();
    let refused = semi_sorted.merge(&packed);
    assert!(
        matches!(
            refused,
            Err(MergeError::Geometry(Mismatch::SemiSorted { .. }))
        ),
        "{refused:?}"
    );
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

//! Buckets and fingerprints are uniform, and a class is one from either bucket.

use super::*;
use crate::{
    hash::SeededState,
    table::layout::{F10x6, F15x4, F30x2, G9x6},
};
use proptest::prelude::*;
use std::hash::BuildHasher;

/// Half the buckets of the largest table: on 32 bits no larger one has an address.
const MAX_PAIRS: usize = if usize::BITS > 32 {
    1 << 31
} else {
    isize::MAX as usize / 16
};

#[derive(Clone, Copy, Debug)]
struct EightBits;

impl Layout for EightBits {
    const FINGERPRINT_BITS: u32 = 8;
    const SLOTS: usize = 4;
    const LANE_BITS: u32 = 8;
    const PHASE_BITS: u32 = 0;
}

#[test]
fn alternate_is_its_own_inverse_for_every_small_table() {
    for buckets in (2..200).step_by(2) {
        for fingerprint in 1..=EightBits::FINGERPRINT {
            for bucket in 0..buckets {
                let other = alternate(fingerprint, bucket, buckets);
                assert!(other < buckets, "{fingerprint} in {bucket} of {buckets}");
                assert_eq!(alternate(fingerprint, other, buckets), bucket);
            }
        }
    }
}

proptest! {
    #[test]
    fn alternate_is_its_own_inverse_for_large_tables(
        fingerprint in 1..1_u64 << 30,
        pairs in 1..=MAX_PAIRS,
        at: u64,
    ) {
        let buckets = 2 * pairs;
        let bucket = scale(at, buckets);
        let other = alternate(fingerprint, bucket, buckets);
        prop_assert!(other < buckets);
        prop_assert_eq!(alternate(fingerprint, other, buckets), bucket);
    }

    /// A relocation must find the class that the item's hash gave.
    #[test]
    fn a_class_is_the_same_from_both_buckets(hash: u64, pairs in 1..=MAX_PAIRS) {
        let buckets = 2 * pairs;
        let class = Class::of_hash::<F15x4>(hash, buckets);
        prop_assert!(class.p < class.q && class.q < buckets);
        prop_assert!((1..=F15x4::FINGERPRINT).contains(&class.fingerprint));
        for bucket in [class.p, class.q] {
            prop_assert_eq!(Class::of_resident(class.fingerprint, bucket, buckets), class);
        }
    }
}

#[test]
fn the_ends_of_the_hash_range_are_in_range() {
    for buckets in [2, 4, 1000, 2 * MAX_PAIRS] {
        for hash in [0, 1, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let class = Class::of_hash::<F30x2>(hash, buckets);
            assert!((1..=F30x2::FINGERPRINT).contains(&class.fingerprint));
            assert!(class.q < buckets);
        }
    }
    assert_eq!(fingerprint::<F10x6>(0), 1);
    assert_eq!(fingerprint::<F10x6>(u64::MAX), F10x6::FINGERPRINT);
    assert_eq!(scale(u64::MAX, 1000), 999);
}

/// A pair of one bucket would hold half as much.
#[test]
fn the_two_buckets_of_a_pair_differ() {
    for buckets in (2..200).step_by(2) {
        for fingerprint in 1..=EightBits::FINGERPRINT {
            for bucket in 0..buckets {
                let other = alternate(fingerprint, bucket, buckets);
                assert_eq!(
                    bucket % 2 + other % 2,
                    1,
                    "{fingerprint} in {bucket} of {buckets}"
                );
            }
        }
    }
}

const HASHES: u64 = 1 << 20;

/// The statistic of Pearson's test, in standard deviations from its mean.
///
/// Its distribution has mean `n` and variance `2n` for `n` degrees of freedom
/// and is nearly normal for the hundreds of bins here. Beyond 4: by chance
/// once in 15 000 seeds. The seeds are fixed, so a test passes always or never.
fn deviation_from_uniform(bins: &[u64]) -> f64 {
    let expected = bins.iter().sum::<u64>() as f64 / bins.len() as f64;
    let statistic: f64 = bins
        .iter()
        .map(|&seen| (seen as f64 - expected).powi(2) / expected)
        .sum();
    let freedom = (bins.len() - 1) as f64;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

fn histogram(bins: usize, values: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut histogram = vec![0; bins];
    values.for_each(|value| histogram[value] += 1);
    histogram
}

#[test]
fn fingerprints_are_uniform_and_never_zero() {
    for seed in [0, 42] {
        let state = SeededState::new(seed);
        let values = (0..HASHES).map(|item| fingerprint::<F10x6>(state.hash_one(item)) as usize);
        let histogram = histogram(1024, values);
        assert_eq!(histogram[0], 0, "fingerprint 0 means an empty slot");
        let deviation = deviation_from_uniform(&histogram[2..]);
        assert!(deviation.abs() < 4.0, "seed {seed}: {deviation}");
        let twice = histogram[1] as f64 / (HASHES as f64 / 512.0);
        assert!((0.9..1.1).contains(&twice), "seed {seed}: {twice}");
    }
}

#[test]
fn buckets_are_uniform() {
    for (seed, buckets) in [(0, 1000), (42, 1014), (7, 1024)] {
        let state = SeededState::new(seed);
        let hashes = || (0..HASHES).map(|item| state.hash_one(item));
        let classes = || hashes().map(|hash| Class::of_hash::<F15x4>(hash, buckets));
        // A random one of the two: both are of one item.
        let either = classes()
            .zip(hashes())
            .map(|(class, hash)| match hash >> 32 & 1 {
                0 => class.p,
                _ => class.q,
            });
        let deviation = deviation_from_uniform(&histogram(buckets, either));
        assert!(deviation.abs() < 4.0, "seed {seed}: {deviation}");
    }
}

/// Each pair of a fingerprint is as likely as the others.
#[test]
fn pairs_are_uniform() {
    const BUCKETS: usize = 64;
    let state = SeededState::new(42);
    let mut pairs = std::collections::HashMap::<(u64, usize), u64>::new();
    for item in 0..HASHES {
        let class = Class::of_hash::<EightBits>(state.hash_one(item), BUCKETS);
        *pairs.entry((class.fingerprint, class.p)).or_default() += 1;
    }
    pairs.retain(|&(fingerprint, _), _| fingerprint != 1);
    assert_eq!(pairs.len() as u64, (EightBits::FINGERPRINT - 1) * 32);
    let bins: Vec<u64> = pairs.into_values().collect();
    let deviation = deviation_from_uniform(&bins);
    assert!(deviation.abs() < 4.0, "{deviation}");
}

/// Were bucket and fingerprint not independent, items of one bucket would
/// share fingerprints more often than the false-positive rate says.
#[test]
fn bucket_and_fingerprint_are_independent() {
    let state = SeededState::new(42);
    let values = (0..HASHES).map(|item| {
        let hash = state.hash_one(item);
        scale(hash, 32) * 32 + (fingerprint::<G9x6>(hash) as usize) % 32
    });
    // Residue 0 has one fingerprint less, and residue 1 that one's items. Leave them out.
    let histogram = histogram(1024, values);
    let bins: Vec<u64> = (0..1024)
        .filter(|bin| bin % 32 > 1)
        .map(|bin| histogram[bin])
        .collect();
    let deviation = deviation_from_uniform(&bins);
    assert!(deviation.abs() < 4.0, "{deviation}");
}

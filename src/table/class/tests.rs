//! Buckets and fingerprints are uniform, and a class is one from either bucket.

use super::*;
use crate::{
    hash::SeededState,
    table::layout::{F10x6, F15x4, F30x2, Growing, Lanes, PackedLayout, S8x6, S9x5, S12x4},
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

impl PackedLayout for EightBits {
    const LEVELS: &'static [Lanes] = &[Lanes::new(8, 4, 8)];
    const PHASE_BITS: u32 = 0;
    type Time = crate::table::time::Timeless;
    type Counted = ();
    type Kind = crate::memory::CanGrow;
}

/// The fingerprints of a fixed filter, and the largest of them.
const fn fixed<L: PackedLayout<Time = crate::table::time::Timeless>>() -> (Fingerprints<L>, u64) {
    (Fingerprints::new(0), L::LEVELS[0].largest)
}

/// And the two buckets of a pair differ: a pair of one bucket would hold half as much.
#[test]
fn alternate_is_its_own_inverse_for_every_small_table() {
    for buckets in (2..200).step_by(2) {
        for fingerprint in 1..=fixed::<EightBits>().1 {
            for bucket in 0..buckets {
                let of = |bucket| alternate(Fingerprint::new(fingerprint), bucket, buckets);
                let other = of(bucket);
                assert!(other < buckets, "{fingerprint} in {bucket} of {buckets}");
                assert_eq!(of(other), bucket);
                assert_ne!(
                    bucket % 2,
                    other % 2,
                    "{fingerprint} in {bucket} of {buckets}"
                );
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
        let bucket = scale(at, buckets).0;
        let other = alternate(Fingerprint::new(fingerprint), bucket, buckets);
        prop_assert!(other < buckets);
        prop_assert_eq!(alternate(Fingerprint::new(fingerprint), other, buckets), bucket);
    }

    /// A relocation must find the class that the item's hash gave.
    #[test]
    fn a_class_is_the_same_from_both_buckets(hash: u64, pairs in 1..=MAX_PAIRS) {
        let buckets = 2 * pairs;
        let (fingerprints, largest) = fixed::<F15x4>();
        let class = Class::of_hash(hash, fingerprints, buckets);
        prop_assert!(class.p < class.q && class.q < buckets);
        prop_assert!((1..=largest).contains(&class.fingerprint.bits()));
        for bucket in [class.p, class.q] {
            prop_assert_eq!(Class::of_resident(class.fingerprint, bucket, buckets), class);
        }
    }
}

#[test]
fn the_ends_of_the_hash_range_are_in_range() {
    for buckets in [2, 4, 1000, 2 * MAX_PAIRS] {
        for hash in [0, 1, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let (fingerprints, largest) = fixed::<F30x2>();
            let class = Class::of_hash(hash, fingerprints, buckets);
            assert!((1..=largest).contains(&class.fingerprint.bits()));
            assert!(class.q < buckets);
        }
    }
    let (fingerprints, largest) = fixed::<F10x6>();
    assert_eq!(fingerprints.of(0), Fingerprint::new(1));
    assert_eq!(fingerprints.of(u64::MAX), Fingerprint::new(largest));
    assert_eq!(scale(u64::MAX, 1000).0, 999);
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
        let (fingerprints, _) = fixed::<F10x6>();
        let values = (0..HASHES).map(|item| fingerprints.of(state.hash_one(item)).bits() as usize);
        let histogram = histogram(1024, values);
        assert_eq!(histogram[0], 0, "fingerprint 0 means an empty slot");
        let deviation = deviation_from_uniform(&histogram[2..]);
        assert!(deviation.abs() < 4.0, "seed {seed}: {deviation}");
        let twice = histogram[1] as f64 / (HASHES as f64 / 512.0);
        assert!((0.9..1.1).contains(&twice), "seed {seed}: {twice}");
    }
}

/// Hashes are uniform within one pair, too, and its fingerprints must be, in what words of any level have
/// of them. The more pairs there are, the fewer bits of a hash they leave.
#[test]
fn fingerprints_of_a_pair_are_uniform() {
    const BITS: u32 = 10;
    let state = SeededState::new(42);
    let numbers = [1 << 10, 3 << 22, 1 << 24, 123_456_789, 1 << 31];
    for pairs in numbers.into_iter().filter(|&it| it <= MAX_PAIRS as u64) {
        let hashes = u64::MAX / pairs;
        for first in Growing::MAX_LEVEL - 10..Growing::MAX_LEVEL {
            let fingerprints = Fingerprints::<Growing>::new(first);
            let values = (0..HASHES).map(|item| {
                let offset = (u128::from(state.hash_one(item)) * u128::from(hashes)) >> 64;
                let hash = pairs / 3 * hashes + offset as u64;
                let class = Class::of_hash(hash, fingerprints, 2 * pairs as usize);
                class.fingerprint.bits() as usize >> (40 - BITS)
            });
            let histogram = histogram(1 << BITS, values);
            // Raised fingerprints are there twice.
            let deviation = deviation_from_uniform(&histogram[4..]);
            assert!(
                deviation.abs() < 4.0,
                "{pairs} pairs, from {first}: {deviation}"
            );
        }
    }
}

/// Scaled onto as many as there are, which is no power of two.
#[test]
fn fingerprints_of_semi_sorted_words_are_uniform_and_never_zero() {
    fn check<L: Layout>() {
        let fingerprints = Fingerprints::<L>::new(0);
        let state = SeededState::new(42);
        let of_item = |item: u64| fingerprints.of(state.hash_one(item)).bits();
        assert!((0..HASHES).all(|item| (1..=L::LARGEST).contains(&of_item(item))));
        let values = (0..HASHES).map(|item| of_item(item) as usize);
        let histogram = histogram(L::LARGEST as usize + 1, values);
        // Where the low bits are taken as they are, 1 is twice as likely.
        let deviation = deviation_from_uniform(&histogram[2..]);
        assert!(deviation.abs() < 4.0, "{deviation}");
        let ends = [0, u64::MAX].map(|hash| fingerprints.of(hash).bits());
        assert_eq!(ends, [1, L::LARGEST]);
    }
    check::<S8x6>();
    check::<S9x5>();
    check::<S12x4>();
}

#[test]
fn buckets_are_uniform() {
    for (seed, buckets) in [(0, 1000), (42, 1014), (7, 1024)] {
        let state = SeededState::new(seed);
        let hashes = || (0..HASHES).map(|item| state.hash_one(item));
        let (fingerprints, _) = fixed::<F15x4>();
        let classes = || hashes().map(|hash| Class::of_hash(hash, fingerprints, buckets));
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
        let class = Class::of_hash(state.hash_one(item), fixed::<EightBits>().0, BUCKETS);
        *pairs
            .entry((class.fingerprint.bits(), class.p))
            .or_default() += 1;
    }
    pairs.retain(|&(fingerprint, _), _| fingerprint != 1);
    assert_eq!(pairs.len() as u64, (fixed::<EightBits>().1 - 1) * 32);
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
        scale(hash, 32).0 * 32 + (fixed::<F10x6>().0.of(hash).bits() as usize) % 32
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

/// Something is left of each fingerprint of a growable filter at the last level. Fingerprints that
/// had to be raised for that are spread over the planes like the others.
#[test]
fn fingerprints_last_until_the_last_level() {
    let state = SeededState::new(42);
    for first in [0, 13, 22, 30] {
        let fingerprints = Fingerprints::<Growing>::new(first);
        let all = || (0..HASHES).map(|item| fingerprints.of(state.hash_one(item)).bits());
        assert!(all().all(|it| it >> 31 != 0 && it < 1 << 40));
        assert!(all().all(|it| it.trailing_zeros() >= first));
        let planes = 1 << (31 - first).min(10);
        let plane = |it: u64| (it >> first) as usize & (planes - 1);
        let deviation = deviation_from_uniform(&histogram(planes, all().map(plane)));
        assert!(deviation.abs() < 4.0, "from {first}: {deviation}");
        let upper = histogram(512, all().map(|it| (it >> 31) as usize));
        let twice = upper[1] as f64 / (HASHES as f64 / 512.0);
        assert!((1.9..2.1).contains(&twice), "from {first}: {twice}");
    }
}

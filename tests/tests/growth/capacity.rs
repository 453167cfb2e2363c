//! Distinct items up to the maximal capacity fit into a filter that grows.

use super::{growable, insert_twice, items_in_the_end};
use guira::{BuildError, Builder, CuckooFilter};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Distinct items up to the maximal capacity fit, by each method that inserts.
#[test]
fn max_capacity_fits() {
    let mut configurations = vec![
        (1, 10, 0.02),
        (10, 1_000, 0.02),
        (10, 100_000, 0.01),
        (10, 100_000, 0.0001),
        (100, 3_000, 1e-6),
        (1_000, 200_000, 0.001),
        (20_000, 40_000, 0.02),
    ];
    let mut random = StdRng::seed_from_u64(11);
    for _ in 0..40 {
        let a = 2_f64.powf(random.random_range(0.0..13.0)) as usize;
        let b = a * 2_f64.powf(random.random_range(0.0..5.0)) as usize;
        let rate = 10_f64.powf(random.random_range(-5.0..-1.7));
        configurations.push((a, b.max(500), rate));
    }
    for (a, b, rate) in configurations {
        for seed in 0..6 {
            let filter = growable(a, b, rate, seed);
            let place = format!("{a} to {b} at {rate}, seed {seed}");
            let items: Vec<u64> = (0..b as u64).map(|item| item | seed << 32).collect();
            match seed % 3 {
                0 => items
                    .iter()
                    .for_each(|item| filter.insert(item).expect(&place)),
                1 => items.iter().for_each(|item| {
                    filter.insert_unique(item).expect(&place);
                }),
                _ => filter.insert_batch(&items).expect(&place),
            }
            assert!(
                items.iter().all(|item| filter.contains(item)),
                "{place}: false negative"
            );
            if seed % 3 != 1 {
                assert_eq!(filter.len(), b, "{place}");
            }
            assert!(
                filter.false_positive_rate() <= rate,
                "{place}: promised rate"
            );
        }
    }
}

/// The same for small filters, in which single items matter.
#[test]
fn tiny_capacities_fit() {
    let fits = |b: usize, rate: f64, seed: u64| {
        let filter = growable(b.div_ceil(2), b, rate, seed);
        (0..b as u64).all(|item| filter.insert(&item).is_ok())
    };
    for rate in [0.02, 0.001, 1e-5] {
        for b in 1..60 {
            let failed = (0..100).filter(|&seed| !fits(b, rate, seed)).count();
            assert_eq!(failed, 0, "seeds of 100 for {b} items at {rate}");
        }
    }
}

/// The same for small filters that double several times, through words of each layout.
#[test]
fn small_filters_that_grow_hold_their_maximal_capacity() {
    let mut levels = [0; 9];
    let mut fill = |builder: Builder, b: usize, seeds: u64| {
        let mut failed = 0;
        for seed in 0..seeds {
            let filter = match builder.clone().seed(seed).build() {
                // The layout does not allow enough doublings.
                Err(BuildError::Growth { .. }) => return,
                filter => filter.expect("a filter"),
            };
            let refused = (0..b as u64).filter(|item| filter.insert(item).is_err());
            failed += usize::from(refused.count() > 0);
            levels[filter.stats().doublings as usize] += 1;
        }
        assert_eq!(failed, 0, "of {seeds} seeds, {builder:?}");
    };
    for a in [1, 2, 3, 5, 8, 16, 40] {
        for times in [4, 16, 64] {
            let builder = CuckooFilter::builder().capacity(a).max_capacity(a * times);
            for rate in [0.03, 0.01, 0.001] {
                fill(builder.clone().false_positive_rate(rate), a * times, 40);
            }
            for bits in 10..=40 {
                fill(builder.clone().fingerprint_bits(bits), a * times, 8);
            }
        }
    }
    assert!(levels[1..6].iter().all(|&ended| ended > 0), "{levels:?}");
}

/// After many doublings, the remaining bits of a fingerprint leave few choices of an alternate
/// bucket.
#[test]
fn max_capacity_fits_with_few_bits_left() {
    let items = 3 * items_in_the_end();
    for (bits, times) in [(10, 4), (11, 8), (13, 32), (15, 200), (16, 400)] {
        let filter = CuckooFilter::builder()
            .capacity(items as usize / times)
            .max_capacity(items as usize)
            .false_positive_rate(0.5)
            .fingerprint_bits(bits)
            .seed(1)
            .build()
            .expect("a filter");
        let full = (0..items).find(|item| filter.insert(item).is_err());
        assert_eq!(
            full,
            None,
            "{bits} bits, {times} times: {:?}",
            filter.stats()
        );
        assert_eq!(bits - filter.stats().doublings, 9, "bits that are left");
    }
}

#[test]
fn two_copies_of_each_item_fit() {
    for seed in 0..20 {
        // With longer fingerprints, words would have one slot.
        let filter = CuckooFilter::builder()
            .capacity(1_024)
            .max_capacity(1_024 * 1_024)
            .fingerprint_bits(27)
            .seed(seed)
            .build()
            .expect("a filter");
        assert_eq!(filter.bucket_slots(), 2);
        insert_twice(&filter, 20_000, seed);
        assert!(filter.stats().doublings > 2 && filter.bucket_slots() == 2);
    }
}

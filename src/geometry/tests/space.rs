//! Filters that prefer space.

use super::*;
use crate::Prefer;

fn for_space(capacity: usize, rate: f64, bits: Option<u32>) -> Result<Geometry, BuildError> {
    choose_of(SPACE, capacity, None, rate, bits)
}

#[test]
fn a_small_table_keeps_the_rate_and_is_never_the_larger_one() {
    for rate in RATES {
        for capacity in capacities() {
            let fast = fixed(capacity, rate, None).expect("a table");
            let small = for_space(capacity, rate, None).expect("a table");
            assert!(small.buckets <= fast.buckets, "{capacity} items at {rate}");
            if small.buckets == fast.buckets {
                assert_eq!(small, fast, "{capacity} items at {rate}");
            }
            let reached = rate_at_capacity(small);
            assert!(reached <= rate * (1.0 + 1e-12), "{capacity}: {reached}");
        }
    }
}

/// Some of these are in the documentation of [`Builder::prefer`](crate::Builder::prefer).
#[test]
fn a_small_table_has_fewer_bits_an_item() {
    for (rate, fast, small) in [
        (0.03, 11.0, 9.4),
        (0.02, 11.0, 9.9),
        (0.01, 12.5, 11.0),
        (0.005, 13.3, 12.5),
        (0.003, 13.3, 13.3),
        (0.001, 16.8, 14.7),
        (1e-4, 23.2, 20.8),
        (1e-5, 23.2, 23.2),
    ] {
        let bits = [fixed, for_space].map(|choose| {
            let geometry = choose(1_000_000, rate, None).expect("a table");
            (64 * geometry.buckets) as f64 / geometry.capacity as f64
        });
        let bits = bits.map(|it| (it * 10.0).round() / 10.0);
        assert_eq!(bits, [fast, small], "{rate}");
    }
}

#[test]
fn the_bits_of_a_table_choose_its_words() {
    let speed = [(10, 6), (12, 5), (15, 4), (20, 3), (30, 2)].map(|it| (Prefer::Speed, it));
    let space = [(9, 7), (11, 6), (13, 5)].map(|it| (Prefer::Space, it));
    for (prefer, (bits, slots)) in speed.into_iter().chain(space) {
        let builder = CuckooFilter::builder().prefer(prefer);
        let filter = builder.fingerprint_bits(bits).build().expect("a filter");
        let layout = (filter.fingerprint_bits(), filter.bucket_slots());
        assert_eq!(layout, (bits, slots));
    }
    // Two layouts have 15 bits, and two have 20.
    for (bits, of_packed, of_semi_sorted) in [(15, 0.0003, 0.000_15), (20, 1e-5, 4e-6)] {
        let table = |choose: fn(_, _, _) -> Result<_, BuildError>, rate| -> Geometry {
            choose(100_000, rate, Some(bits)).expect("a table")
        };
        let packed = table(fixed, of_packed);
        assert_eq!(table(for_space, of_packed), packed);
        let packed = table(fixed, of_semi_sorted);
        assert!(table(for_space, of_semi_sorted).buckets < packed.buckets);
    }
    let refused = for_space(1, 0.5, Some(14));
    let expected = BuildError::FingerprintBits {
        asked: 14,
        allowed: vec![9, 10, 11, 12, 13, 15, 20, 30],
    };
    assert_eq!(refused, Err(expected));
}

#[test]
fn a_filter_that_may_grow_does_not_prefer_space() {
    let builder = CuckooFilter::builder().max_capacity(77_000);
    let refused = builder.prefer(Prefer::Space).build().err();
    let max_capacity = 77_000;
    assert_eq!(refused, Some(BuildError::GrowthInSpace { max_capacity }));
}

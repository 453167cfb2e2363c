//! Filters that grow have their rate and their room at every level.

use super::*;

/// At every level the rate asked for is kept, and the room only grows.
#[test]
fn a_filter_that_grows_keeps_its_rate_at_every_level() {
    for rate in [0.03, 0.01, 0.001, 1e-4] {
        for capacity in [0, 100, 1_000, 50_000] {
            for doublings in [0, 1, 4, 8] {
                assert_keeps_its_rate(0, capacity, capacity << doublings, rate);
            }
        }
    }
}

#[test]
fn a_filter_cannot_grow_to_less_than_it_has() {
    let error = growable(100, 99, 0.01, None).unwrap_err();
    assert_eq!(
        error,
        BuildError::MaxCapacity {
            asked: 99,
            capacity: 100
        }
    );
    assert_eq!(
        error.to_string(),
        "max_capacity 99 is less than the capacity, 100"
    );
}

/// 32 buckets are no large start, however few a fixed filter would have.
#[test]
fn filters_for_a_few_items_can_grow() {
    for capacity in 1..=32 {
        for bits in 10..=Growing::LONGEST {
            let grown = growable(capacity, 8 * capacity, 0.5, Some(bits));
            assert!(grown.is_ok(), "{capacity} items, {bits} bits: {grown:?}");
        }
    }
}

#[test]
fn growth_that_is_too_far_is_refused_and_the_least_start_is_named() {
    let most = 1 << 28;
    let error = growable(10, most, 0.01, Some(15)).unwrap_err();
    let BuildError::Growth {
        asked: 10,
        max_capacity,
        min,
        ..
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(max_capacity, most);
    assert!(growable(min, most, 0.01, Some(15)).is_ok());
    assert_eq!(
        error.to_string(),
        format!(
            "a filter for 10 items cannot grow to {most} at a false-positive rate of 0.01: \
             it must start with a capacity of at least {min}"
        )
    );
}

/// Up to the largest table that the platform has, and not only to what a search for it
/// happens to reach.
#[test]
fn large_tables_have_room_for_what_was_asked() {
    for series in all_fixed() {
        let largest = series.max_capacity(0.5);
        for capacity in [20, 14, 10, 8, 5, 3, 2].map(|part| largest / part) {
            let buckets = series.buckets(capacity, 0.5, 0).expect("a modest rate");
            let bits = series.fingerprint_bits;
            let room = series.room(buckets, 0);
            assert!(buckets <= MAX_BUCKETS, "{capacity} items of {bits} bits");
            assert!(
                room >= capacity,
                "{room} for {capacity} items of {bits} bits"
            );
        }
        assert!(series.buckets(usize::MAX, 0.5, 0) > Some(MAX_BUCKETS));
    }
}

#[test]
fn no_growable_filter_is_too_large_to_be_refused() {
    for (capacity, max_capacity) in [
        (usize::MAX, usize::MAX),
        (usize::MAX / 2 + 1, usize::MAX),
        (1, usize::MAX),
    ] {
        for rate in [0.5, 0.01, 0.001, 1e-6, 1e-8] {
            let builder = CuckooFilter::builder().capacity(capacity);
            let builder = builder.max_capacity(max_capacity).false_positive_rate(rate);
            let error = builder.build().expect_err("more than any machine has");
            assert!(!error.to_string().is_empty());
        }
    }
}

//! Filters that begin with words of one slot: low rates, and many doublings.

use super::{assert_rate, growable, insert_twice};
use crate::common::stress::is_long;
use guira::InsertError;

/// The capacity, the rate, and the number of doublings that a filter must allow at least.
const FAR: [(usize, f64, u32); 5] = [
    (1_000, 1e-5, 18),
    (1_000, 1e-6, 16),
    (1_000, 1e-7, 13),
    (1_000, 3e-8, 12),
    (10, 1e-6, 22),
];

#[test]
fn a_low_rate_allows_many_doublings() {
    for (capacity, rate, doublings) in FAR {
        let max_capacity = capacity << doublings;
        let filter = growable(capacity, max_capacity, rate, 0);
        assert_eq!(filter.bucket_slots(), 1, "{capacity} to {max_capacity}");
        assert_eq!(filter.max_capacity(), max_capacity);
        // At most 1/1024 of its size at the end, or what the items need.
        let words = filter.buckets();
        assert!(
            words <= (max_capacity >> 10).max(3 * capacity).max(32),
            "{words}"
        );
        assert!(filter.false_positive_rate() <= rate);
    }
}

/// Distinct items up to the maximal capacity fit, and are found, in words of each number of slots.
/// `GUIRA_LONG=1` tries 10 800 seeds.
#[test]
fn small_filters_of_one_slot_refuse_nothing() {
    let seeds = if is_long() { 1_200 } else { 100 };
    let mut slots = [0; 4];
    for (capacity, end, rate) in [
        (1, 600, 1e-5),
        (2, 1_000, 1e-6),
        (3, 1_000, 1e-7),
        (5, 2_000, 3e-8),
        (8, 3_000, 1e-6),
        (13, 3_000, 1e-5),
        (40, 6_000, 1e-7),
        (100, 20_000, 1e-6),
        (300, 20_000, 3e-8),
    ] {
        for seed in 0..seeds {
            let filter = growable(capacity, end * 50, rate, seed);
            assert_eq!(filter.bucket_slots(), 1, "{capacity} to {end} at {rate}");
            for item in 0..end {
                let inserted = match item % 2 {
                    0 => filter.insert(&item),
                    _ => filter.insert_unique(&item).map(|new| assert!(new)),
                };
                let place = || format!("{item} of {capacity}, seed {seed}: {:?}", filter.stats());
                assert_eq!(inserted, Ok(()), "{}", place());
            }
            assert_eq!(filter.len(), end);
            assert!((0..end).all(|item| filter.contains(&item)));
            assert!((0..end).all(|item| filter.remove(&item)));
            assert_eq!(filter.len(), 0);
            slots[filter.bucket_slots()] += 1;
        }
    }
    assert!(slots[1] > 0 && slots[2] > 0, "{slots:?}");
}

/// The maximal capacity fits, beyond the levels of one slot, and the rate is kept at each level.
#[test]
fn a_filter_of_one_slot_grows_to_its_maximal_capacity() {
    let (end, rate) = (500_000, 1e-5);
    let filter = growable(300, end, rate, 5);
    assert_eq!(filter.bucket_slots(), 1);
    let mut doublings = 0;
    for item in 0..end {
        filter.insert(&item).expect("it grows");
        if filter.stats().doublings > doublings {
            doublings = filter.stats().doublings;
            assert_rate(&filter, rate, &format!("{doublings} doublings"));
        }
    }
    assert!(filter.bucket_slots() > 1 && doublings >= 9, "{doublings}");
    assert_rate(&filter, rate, "at the end");
    assert!((0..end).all(|item| filter.contains(&item)));
}

/// A third copy is refused without growth. After the levels of one slot there is room for more.
#[test]
fn two_copies_of_an_item_fit_into_words_of_one_slot() {
    let filter = growable(100, 100 << 12, 1e-6, 3);
    assert_eq!(filter.bucket_slots(), 1);
    for copies in 1..=2 {
        assert_eq!(filter.insert("ani"), Ok(()));
        assert_eq!(filter.count("ani"), copies);
    }
    assert_eq!(filter.insert("ani"), Err(InsertError::TooManyCopies));
    assert_eq!(filter.stats().doublings, 0);
    let more = 0..40_000_u64;
    assert!(more.clone().all(|item| filter.insert(&item).is_ok()));
    assert_eq!(filter.bucket_slots(), 2);
    assert_eq!(filter.insert("ani"), Ok(()));
    assert_eq!(filter.count("ani"), 3);
    assert!((0..3).all(|_| filter.remove("ani")) && !filter.remove("ani"));
}

/// The filter doubles early for the copies, up to the levels of two slots.
#[test]
fn two_copies_of_each_item_fit() {
    for seed in 0..20 {
        let filter = growable(100, 100 << 12, 1e-6, seed);
        assert_eq!(filter.bucket_slots(), 1);
        insert_twice(&filter, 3_000, seed);
        assert!(filter.bucket_slots() == 2, "{:?}", filter.stats());
        assert!((0..3_000_u64).all(|item| filter.remove(&item) && filter.remove(&item)));
    }
}

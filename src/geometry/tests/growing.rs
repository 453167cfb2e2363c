//! Filters that grow have their rate and their room at every level.

use super::*;

fn growing(items: usize, most: usize, epochs: u32, rate: f64) -> Result<Geometry, BuildError> {
    choose_of(with_epochs(epochs), items, Some(most), rate, None)
}

/// Filters whose items stay, for which there are 0 epochs, and those whose items expire.
#[test]
fn a_filter_that_grows_keeps_its_rate_at_every_level() {
    let (mut grows, mut fixed) = (0, 0);
    for rate in [0.03, 0.01, 0.001, 1e-4] {
        for (epochs, doublings) in [(0, 1), (0, 4), (0, 8), (1, 1), (5, 3), (12, 5), (13, 6)] {
            for items in [0, 100, 1_000, 50_000]
                .into_iter()
                .filter(|&it| it > 0 || epochs == 0)
            {
                match assert_keeps_its_rate(epochs, items, items << doublings, rate) {
                    None => (),
                    Some(0) => fixed += 1,
                    Some(_) => grows += 1,
                }
            }
        }
    }
    assert!(grows > 40 && fixed > 5, "{grows}, {fixed}");
}

#[test]
fn refusals_of_filters_that_grow_name_what_can_be_had() {
    for epochs in [0, 12] {
        let (asked, capacity) = (99, 100);
        let refused = growing(capacity, asked, epochs, 0.01).unwrap_err();
        assert_eq!(refused, BuildError::MaxCapacity { asked, capacity });
        let text = "max_capacity 99 is less than the capacity, 100";
        assert_eq!(refused.to_string(), text);
        let of_bits =
            |items, most, bits| choose_of(with_epochs(epochs), items, Some(most), 0.01, Some(bits));
        let (asked, allowed) = (41, (10..=40).collect());
        let refused = of_bits(100, 10_000, asked);
        assert_eq!(refused, Err(BuildError::FingerprintBits { asked, allowed }));
        let most = 1 << 28;
        let refused = of_bits(10, most, 15).unwrap_err();
        let BuildError::Growth {
            asked: 10,
            max_capacity,
            min,
            ..
        } = refused
        else {
            panic!("{refused:?}")
        };
        assert_eq!(max_capacity, most);
        assert!(of_bits(min, most, 15).is_ok(), "{min}");
        let text = format!(
            "a filter for 10 items cannot grow to {most} at a false-positive rate of 0.01: \
             it must start with a capacity of at least {min}"
        );
        assert_eq!(refused.to_string(), text);
    }
    let refused = growing(1_000, 1_000_000, 12, 1e-8);
    assert!(matches!(
        refused,
        Err(BuildError::RateOfFingerprint { asked: 1e-8, .. })
    ));
    for (items, most) in [(usize::MAX, usize::MAX), (1, usize::MAX)] {
        assert!(growing(items, most, 1, 0.5).is_err());
    }
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
            assert!(room >= capacity, "{room} for {capacity} of {bits} bits");
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

/// The items of a TTL, and the items in the filter.
#[test]
fn what_arrives_and_what_stands_belong_together() {
    for epochs in 1..=Geometry::MAX_EPOCHS {
        for items in (0..2_000).chain([usize::MAX >> (usize::BITS / 2), usize::MAX >> 24]) {
            let standing = Geometry::standing(items, epochs);
            assert_eq!(Geometry::arriving(standing, epochs), items, "{epochs}");
            assert!(Geometry::arriving(standing.saturating_sub(1), epochs) < items.max(1));
        }
    }
}

/// Each doubling takes one bit, from 40 bits down to 9.
#[test]
fn the_longest_series_has_31_doublings() {
    let all: Vec<Series> = Series::all(with_epochs(13), true).collect();
    assert_eq!(all.len(), 360);
    assert_eq!(all.iter().map(|series| series.levels).max(), Some(31));
    for series in all {
        let (first, last) = (series.slots(0), series.slots(series.levels));
        assert!(first <= last && (2..=4).contains(&last), "{series:?}");
    }
    assert_eq!(Series::all(with_epochs(14), true).count(), 0);
}

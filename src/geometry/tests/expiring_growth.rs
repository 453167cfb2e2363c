//! Expiring filters that grow have their rate and their room at every level.

use super::*;

fn growing(items: usize, most: usize, epochs: u32, rate: f64) -> Result<Geometry, BuildError> {
    choose_of(with_epochs(epochs), items, Some(most), rate, None)
}

#[test]
fn a_window_that_grows_keeps_its_rate_at_every_level() {
    let (mut grows, mut fixed) = (0, 0);
    for rate in [0.03, 0.01, 0.001, 1e-4] {
        for items in [100, 1_000, 50_000] {
            for (epochs, doublings) in [(1, 1), (5, 3), (12, 5), (13, 6)] {
                match assert_keeps_its_rate(epochs, items, items << doublings, rate) {
                    None => (),
                    Some(0) => fixed += 1,
                    Some(_) => grows += 1,
                }
            }
        }
    }
    assert!(grows > 20 && fixed > 5, "{grows}, {fixed}");
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

#[test]
fn refusals_name_what_can_be_had() {
    let refused = growing(100, 99, 12, 0.01);
    let expected = BuildError::MaxCapacity {
        asked: 99,
        capacity: 100,
    };
    assert_eq!(refused, Err(expected));

    let refused = choose_of(with_epochs(12), 100, Some(10_000), 0.5, Some(41));
    let allowed = (10..=40).collect();
    assert_eq!(
        refused,
        Err(BuildError::FingerprintBits { asked: 41, allowed })
    );

    let refused = growing(1_000, 1_000_000, 12, 1e-8).unwrap_err();
    assert!(
        matches!(refused, BuildError::RateOfFingerprint { asked: 1e-8, .. }),
        "{refused:?}"
    );

    let of_15_bits = |items| choose_of(with_epochs(12), items, Some(100_000_000), 0.01, Some(15));
    let refused = of_15_bits(10).unwrap_err();
    let BuildError::Growth { asked: 10, min, .. } = refused else {
        panic!("{refused:?}")
    };
    assert!(of_15_bits(min).is_ok(), "{min}");

    for (items, most) in [(usize::MAX, usize::MAX), (1, usize::MAX)] {
        assert!(growing(items, most, 1, 0.5).is_err());
    }
}

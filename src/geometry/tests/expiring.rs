//! The tables of expiring filters.

use super::*;

fn expiring(items: usize, epochs: u32, rate: f64) -> Result<Geometry, BuildError> {
    choose_of(with_epochs(epochs), items, None, rate, None)
}

/// What is in the filter at the end of an epoch that lasts by half too long.
fn most(items: usize, epochs: u32) -> usize {
    items + (3 * items).div_ceil(2 * epochs as usize)
}

#[test]
fn a_ttl_an_epoch_and_half_an_epoch_fit_at_the_rate_asked_for() {
    for epochs in 1..=Geometry::MAX_EPOCHS {
        for rate in [0.5, 0.1, 0.03, 0.01, 0.001, 1e-4, 1e-6, 1e-7] {
            for items in [0, 1, 2, 7, 30, 1_000, 12_345, 1_000_000] {
                let geometry = expiring(items, epochs, rate).unwrap();
                let held = most(items, epochs);
                assert_eq!(geometry.capacity, held);
                let what = format!("{items} items, {epochs} epochs at {rate}: {geometry:?}");
                assert!(geometry.series.room(geometry.buckets, 0) >= held, "{what}");
                assert!(rate_at_capacity(geometry) <= rate * (1.0 + 1e-12), "{what}");
            }
        }
    }
}

#[test]
fn each_rate_has_its_layout() {
    // The shortest that reaches it, or one that is no larger.
    for (epochs, rate, bits) in [
        (5, 0.1, 9),
        (5, 0.025, 9),
        (5, 0.01, 11),
        (6, 0.1, 11),
        (12, 0.005, 11),
        (12, 0.001, 16),
        (12, 1e-4, 16),
        (12, 1e-5, 26),
        (13, 1e-7, 26),
    ] {
        let geometry = expiring(100_000, epochs, rate).unwrap();
        let chosen = geometry.series.fingerprint_bits;
        assert_eq!(chosen, bits, "{epochs} epochs at {rate}");
    }
}

#[test]
fn asking_for_more_of_an_expiring_filter_never_makes_it_smaller() {
    for bits in [Some(9), Some(11), Some(16), Some(26), None] {
        for epochs in [1, 2, 5, 12, 13] {
            if bits == Some(9) && epochs > 5 {
                continue;
            }
            let buckets = |items| {
                let geometry = choose_of(with_epochs(epochs), items, None, 0.5, bits);
                geometry.unwrap().buckets
            };
            // Two buckets, which are those of every item, have more room than four.
            let all = (0..400).chain((400..100_000).step_by(997)).map(buckets);
            assert!(all.is_sorted(), "{epochs} epochs, {bits:?}");
        }
    }
}

#[test]
fn fewer_epochs_need_more_room() {
    for bits in [9, 11, 16, 26] {
        let max = if bits == 9 { 5 } else { 13 };
        let all = (1..=max)
            .map(|epochs| choose_of(with_epochs(epochs), 100_000, None, 0.5, Some(bits)))
            .map(|geometry| geometry.unwrap().buckets);
        assert!(all.is_sorted_by(|few, more| few > more), "{bits}");
    }
}

#[test]
fn refusals_name_what_can_be_had() {
    let refused = expiring(1_000, 12, 1e-8);
    let Err(BuildError::RateOfFingerprint {
        asked: 1e-8,
        fingerprint_bits: 26,
        min,
    }) = refused
    else {
        panic!("{refused:?}")
    };
    assert!(expiring(1_000, 12, min).is_ok() && expiring(1_000, 12, min * 0.99).is_err());

    for asked in [0.0, -0.5, 1.0, 1e-9, f64::NAN] {
        let refused = expiring(1_000, 12, asked).unwrap_err();
        assert!(matches!(refused, BuildError::FalsePositiveRate { min, .. } if min == MIN_RATE));
    }

    for (epochs, asked, allowed) in [(5, 12, vec![9, 11, 16, 26]), (6, 9, vec![11, 16, 26])] {
        let refused = choose_of(with_epochs(epochs), 10, None, 0.5, Some(asked));
        assert_eq!(refused, Err(BuildError::FingerprintBits { asked, allowed }));
    }
    for (epochs, items) in [
        (1, usize::MAX),
        (1, usize::MAX / 2),
        (12, usize::MAX),
        (12, usize::MAX / 2),
    ] {
        let refused = expiring(items, epochs, 0.5);
        assert!(
            matches!(refused, Err(BuildError::Capacity { .. })),
            "{refused:?}"
        );
    }
}

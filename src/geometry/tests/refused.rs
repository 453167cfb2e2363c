//! What cannot be built is refused, and the error names what can.

use super::*;

fn is_too_large(refused: &Result<Geometry, BuildError>) -> bool {
    matches!(refused, Err(BuildError::Capacity { .. }))
}

#[test]
fn errors_say_what_was_asked_and_what_can_be_had() {
    use BuildError::{Capacity, FalsePositiveRate, FingerprintBits, Memory, RateOfFingerprint};
    let (asked, min, max, allowed, fingerprint_bits) = (0.0, MIN_RATE, 7, vec![10, 12], 15);
    for (error, text) in [
        (
            FalsePositiveRate { asked, min },
            "false-positive rate 0 is not in the range [2e-9, 1)",
        ),
        (
            FingerprintBits { asked: 11, allowed },
            "unsupported fingerprint size 11: use one of [10, 12]",
        ),
        (
            RateOfFingerprint {
                asked: 1e-5,
                fingerprint_bits,
                min: 0.25,
            },
            "15-bit fingerprints do not reach a false-positive rate of 1e-5: the range is [0.25, 1)",
        ),
        (
            Capacity {
                asked: 9,
                fingerprint_bits,
                max,
            },
            "capacity 9 is too large: with 15-bit fingerprints at most 7 items fit",
        ),
        (Memory { buckets: 5 }, "no memory for 5 buckets of 8 bytes"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_rate_outside_of_the_range_is_refused() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let outside = [
        0.0,
        -0.0,
        -1.0,
        1.0,
        1.5,
        1e-300,
        1.999_999e-9,
        nan,
        inf,
        -inf,
        f64::MAX,
    ];
    for bits in BITS.map(Some).into_iter().chain([None]) {
        for asked in outside {
            match fixed(100, asked, bits) {
                Err(BuildError::FalsePositiveRate { asked: named, min }) => {
                    assert_eq!((named.to_bits(), min), (asked.to_bits(), MIN_RATE));
                }
                other => panic!("{asked}, {bits:?}: {other:?}"),
            }
        }
    }
    let just_below_one = 1.0_f64.next_down();
    assert!(choose(100, just_below_one).is_ok());
    assert!(choose(100, MIN_RATE).is_ok());
}

#[test]
fn fingerprints_of_another_size_are_refused() {
    let sizes = (0..40).chain([64, u32::MAX]);
    for asked in sizes.filter(|bits| !BITS.contains(bits)) {
        let error = fixed(100, 0.01, Some(asked)).unwrap_err();
        let allowed = BITS.to_vec();
        assert_eq!(error, BuildError::FingerprintBits { asked, allowed });
    }
}

/// The rate named as the lowest is allowed; one a little lower is not.
#[test]
fn a_rate_that_the_fingerprint_does_not_reach_is_refused() {
    for (bits, series) in BITS.into_iter().zip(all_fixed()) {
        let min = series.rate(MIN_LOAD, 0);
        if min >= MIN_RATE {
            assert!(fixed(100, min, Some(bits)).is_ok(), "{bits} bits, {min}");
            let asked = min * 0.999;
            let (refused, fingerprint_bits) = (fixed(100, asked, Some(bits)), bits);
            let expected = BuildError::RateOfFingerprint {
                asked,
                fingerprint_bits,
                min,
            };
            assert_eq!(refused, Err(expected));
        } else {
            assert!(fixed(100, MIN_RATE, Some(bits)).is_ok());
        }
    }
}

#[test]
fn what_is_named_for_a_filter_that_grows_too_far_is_no_longer_too_far() {
    let mut named = 0;
    for bits in (10..=27).map(Some).chain([None]) {
        for rate in RATES {
            for capacity in [0, 174, 1_000, 1 << 20, 1 << 26, usize::MAX / 4] {
                let place = format!("{capacity}, {rate:?}, {bits:?}");
                for asked in [usize::MAX / 4, usize::MAX] {
                    let max = match growable(capacity, asked, rate, bits) {
                        Err(BuildError::Capacity { max, .. }) => max,
                        Err(BuildError::Growth { min, .. }) => {
                            let other = growable(min, asked, rate, bits);
                            assert!(other.is_ok(), "{place}: {min} is too little: {other:?}");
                            continue;
                        }
                        Err(BuildError::RateOfFingerprint { .. }) => continue,
                        // With addresses of 32 bits.
                        Ok(geometry) if geometry.fits() => continue,
                        other => panic!("{place}: {other:?}"),
                    };
                    named += 1;
                    assert!(max < asked, "{place}: {max}");
                    let fits = match growable(capacity, max, rate, bits) {
                        Err(BuildError::Growth { min, .. }) => growable(min, max, rate, bits),
                        // Its start is larger than any table.
                        Err(BuildError::MaxCapacity { .. }) => {
                            let start = growable(max, max, rate, bits);
                            assert!(start.is_ok(), "{place}, {max}: {start:?}");
                            continue;
                        }
                        other => other,
                    };
                    let fits = fits.unwrap_or_else(|error| panic!("{place}, {max}: {error}"));
                    assert!(fits.fits(), "{place}: {fits:?}");
                    // Not far off the true limit. (A filter that need not grow may hold more.)
                    if bits.is_none() {
                        continue;
                    }
                    let beyond = growable(max, max + max / 100_000, rate, bits);
                    assert!(is_too_large(&beyond), "{place}: {beyond:?}");
                }
            }
        }
    }
    assert!(named > 100, "{named} times a largest capacity was named");
}

#[test]
fn a_capacity_that_is_too_large_is_refused_and_the_largest_is_named() {
    for bits in BITS.map(Some).into_iter().chain([None]) {
        for rate in RATES {
            let error = match fixed(usize::MAX, rate, bits) {
                Err(BuildError::RateOfFingerprint { .. }) => continue,
                other => other,
            };
            let Err(BuildError::Capacity {
                asked: usize::MAX,
                fingerprint_bits,
                max,
            }) = error
            else {
                panic!("{rate:?}, {bits:?}: {error:?}")
            };
            assert!(bits.is_none_or(|bits| bits == fingerprint_bits));
            let most = fixed(max, rate, bits);
            assert!(most.is_ok(), "{max} items, {rate:?}, {bits:?}: {most:?}");
            assert!(most.unwrap().buckets <= MAX_BUCKETS);
            // Not far off the true limit.
            let beyond = fixed(max + max / 1_000_000, rate, bits);
            assert!(is_too_large(&beyond), "{beyond:?}");
        }
    }
    // On 64 bits 2^48: far more than a table can have, though not than addresses.
    let least = usize::MAX >> ((usize::BITS - 32) / 2);
    for capacity in [usize::MAX, usize::MAX - 1, usize::MAX / 2, least] {
        assert!(is_too_large(&choose(capacity, 0.001)), "{capacity}");
    }
}

#[test]
fn memory_that_cannot_be_had_is_an_error_not_an_abort() {
    for series in all_fixed().into_iter().chain(all_growable()) {
        let geometry = Geometry {
            series,
            buckets: usize::MAX / 8 - 1,
            capacity: 0,
            max_capacity: 0,
        };
        assert!(AnyFilter::new(&geometry, 0).is_none());
    }
}

#[test]
#[should_panic(expected = "is too large: with 15-bit fingerprints at most")]
fn with_capacity_panics_with_the_errors_text() {
    let _ = CuckooFilter::with_capacity(usize::MAX);
}

#[test]
fn capacity_zero_is_refused_by_the_builder_alone() {
    for rate in RATES {
        assert_eq!(choose(0, rate).unwrap().buckets, 2);
    }
    let refused = CuckooFilter::builder().capacity(0).build();
    assert_eq!(refused.err(), Some(BuildError::ZeroCapacity));
}

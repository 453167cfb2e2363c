//! The builder of expiring filters refuses what cannot be met, and says what can.

use guira::{BuildError, ExpiringFilter};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(60);

#[test]
fn the_builder_refuses_what_cannot_be_met() {
    let builder = || ExpiringFilter::builder(TTL);
    for asked in [0, 14, u32::MAX] {
        let refused = builder().epochs(asked).build().err();
        assert_eq!(refused, Some(BuildError::Epochs { asked, max: 13 }));
    }
    for (asked, epochs, least) in [(11, 12, 12), (0, 12, 12), (0, 1, 1), (12, 13, 13)] {
        let asked = Duration::from_millis(asked);
        let min = Duration::from_millis(least);
        let refused = ExpiringFilter::builder(asked).epochs(epochs).build().err();
        assert_eq!(refused, Some(BuildError::Ttl { asked, min }));
        assert!(ExpiringFilter::builder(min).epochs(epochs).build().is_ok());
    }
    for bits in [0, 10, 12, 15, 27, u32::MAX] {
        let refused = builder().fingerprint_bits(bits).build().err();
        let Some(BuildError::FingerprintBits { asked, allowed }) = refused else {
            panic!("{bits} bits: {refused:?}")
        };
        assert_eq!((asked, allowed), (bits, vec![11, 16, 26]));
    }
    for asked in [0.0, -1.0, 1.0, 1e-12, f64::INFINITY] {
        let refused = builder().false_positive_rate(asked).build().err();
        let named = matches!(refused, Some(BuildError::FalsePositiveRate { asked: told, .. }) if told == asked);
        assert!(named, "{asked}: {refused:?}");
    }
    let refused = builder().false_positive_rate(f64::NAN).build().err();
    assert!(matches!(refused, Some(BuildError::FalsePositiveRate { asked, .. }) if asked.is_nan()));
    // Even the longest fingerprints do not reach a lower rate.
    let refused = builder().false_positive_rate(1e-8).build().err();
    let Some(BuildError::RateOfFingerprint {
        asked,
        fingerprint_bits,
        min,
    }) = refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!((asked, fingerprint_bits), (1e-8, 26));
    assert!(builder().false_positive_rate(min).build().is_ok());
    let refused = builder().capacity(usize::MAX).build().err();
    assert!(
        matches!(refused, Some(BuildError::Capacity { .. })),
        "{refused:?}"
    );
}

/// With at most 5 epochs, tags have 3 bits, and fingerprints are longer.
#[test]
fn short_tags_are_for_few_epochs() {
    let builder = |epochs| ExpiringFilter::builder(TTL).epochs(epochs);
    for epochs in 1..=5 {
        let filter = builder(epochs)
            .fingerprint_bits(9)
            .build()
            .expect("a filter");
        assert_eq!(filter.bucket_slots(), 5);
    }
    for epochs in 6..=13 {
        assert!(builder(epochs).fingerprint_bits(9).build().is_err());
    }
}

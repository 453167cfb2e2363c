//! With the feature `serde`, text and binary formats preserve an expiring filter and the times of
//! its items.

use super::{LAYOUTS, aged, epochs, filter};
use crate::snapshot::common::damaged::assert_postcard_is_refused;
use guira::ExpiringFilter;

#[test]
fn what_is_read_is_the_filter_that_was_written() {
    for bits in LAYOUTS {
        for epochs in epochs(bits) {
            let (seen, _) = aged(bits, epochs);
            let text = serde_json::to_string(&seen).expect("text");
            let bytes = postcard::to_stdvec(&seen).expect("bytes");
            let restored: [ExpiringFilter; 2] = [
                serde_json::from_str(&text).expect("a filter"),
                postcard::from_bytes(&bytes).expect("a filter"),
            ];
            assert!(!seen.is_empty());
            // Both continue by their own clocks, so the age of the epoch is another one.
            let parts = |it: &ExpiringFilter| (it.epoch(), it.digest(), it.header());
            for restored in &restored {
                assert_eq!(parts(restored), parts(&seen), "{bits}, {epochs}");
            }
        }
    }
}

#[test]
fn damage_is_an_error() {
    let bytes = postcard::to_stdvec(&filter(11, 20, 3)).expect("bytes");
    assert_postcard_is_refused::<ExpiringFilter>(&bytes);
}

#[test]
fn errors_say_what_is_wrong() {
    let filter = filter(11, 20, 3);
    let mut value = serde_json::to_value(&filter).expect("a value");
    value[0] = 1.into();
    let plain = guira::CuckooFilter::with_capacity(20);
    let plain = serde_json::to_value(&plain).expect("a value");
    for (value, expected) in [
        (value, "was made with another hasher"),
        (plain, "this is not a snapshot"),
        (serde_json::json!([1]), "invalid length 1"),
    ] {
        let error = serde_json::from_value::<ExpiringFilter>(value).expect_err("no filter");
        let error = error.to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

//! With the feature `serde`, text and binary formats preserve an expiring filter and the times of
//! its items.

use super::{LAYOUTS, aged, epochs, filter};
use crate::snapshot::common::damaged::assert_postcard_is_refused;
use guira::ExpiringFilter;
use serde::{Deserialize, Serialize};

/// A structure of an application that contains a filter.
#[derive(Serialize, Deserialize)]
struct Saved {
    name: String,
    seen: ExpiringFilter,
    generation: u32,
}

#[test]
fn items_expire_as_they_would_have() {
    for bits in LAYOUTS {
        for epochs in epochs(bits) {
            let (seen, items) = aged(bits, epochs);
            let saved = Saved {
                name: "seen".into(),
                seen,
                generation: 7,
            };
            let text = serde_json::to_string(&saved).expect("text");
            let bytes = postcard::to_stdvec(&saved).expect("bytes");
            let restored: [Saved; 2] = [
                serde_json::from_str(&text).expect("a filter"),
                postcard::from_bytes(&bytes).expect("a filter"),
            ];
            for _ in 0..=epochs {
                for Saved {
                    name,
                    seen,
                    generation,
                } in &restored
                {
                    assert_eq!((name.as_str(), *generation), ("seen", 7));
                    assert_eq!(seen.epoch(), saved.seen.epoch());
                    for item in 0..items {
                        assert_eq!(seen.count(&item), saved.seen.count(&item), "{item}");
                    }
                    seen.advance();
                }
                saved.seen.advance();
            }
            assert!(saved.seen.is_empty());
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

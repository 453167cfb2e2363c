//! Feature `serde`: a filter goes through text and binary formats as the bytes of
//! its snapshot.

use crate::common::layouts::{LAYOUTS, fill, filter};
use guira::CuckooFilter;
use serde::{Deserialize, Serialize};

/// What an application keeps beside a filter.
#[derive(Serialize, Deserialize)]
struct Saved {
    name: String,
    seen: CuckooFilter,
    generation: u32,
}

fn saved(bits: u32) -> Saved {
    let seen = filter(bits, 500).expect("a filter");
    fill(&seen, 0..seen.max_capacity());
    Saved {
        name: "seen".into(),
        seen,
        generation: 7,
    }
}

fn assert_same(restored: &Saved, saved: &Saved) {
    assert_eq!(restored.seen.to_bytes(), saved.seen.to_bytes());
    assert_eq!(restored.name, saved.name);
    assert_eq!(restored.generation, saved.generation);
}

#[test]
fn json() {
    for bits in LAYOUTS {
        let saved = saved(bits);
        let text = serde_json::to_string(&saved).expect("text");
        assert_same(&serde_json::from_str(&text).expect("a filter"), &saved);
        let reader = text.as_bytes();
        assert_same(&serde_json::from_reader(reader).expect("a filter"), &saved);
    }
}

#[test]
fn postcard() {
    for bits in LAYOUTS {
        let saved = saved(bits);
        let bytes = postcard::to_stdvec(&saved).expect("bytes");
        let snapshot = saved.seen.to_bytes();
        assert!(bytes.len() < snapshot.len() + 16, "nothing is added");
        assert!(bytes.windows(snapshot.len()).any(|part| part == snapshot));
        assert_same(&postcard::from_bytes(&bytes).expect("a filter"), &saved);
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let filter = filter(15, 20).expect("a filter");
    let text = serde_json::to_string(&filter).expect("text");
    let error = |text: &str| {
        let error = serde_json::from_str::<CuckooFilter>(text).expect_err("no filter");
        error.to_string()
    };
    let of_snapshot = error(&text.replacen("103", "104", 1));
    assert!(
        of_snapshot.contains("this is not a snapshot"),
        "{of_snapshot}"
    );
    let of_format = error("12");
    assert!(
        of_format.contains("expected the bytes of a snapshot of a cuckoo filter"),
        "{of_format}"
    );
    assert!(error("[]").contains("the snapshot is truncated"));
    assert!(error("[256]").contains("256"));
}

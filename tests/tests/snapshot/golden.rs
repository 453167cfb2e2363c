//! Snapshots that were made by format version 2 in the past. A release that reads
//! them otherwise, or makes other bytes of the same filter, breaks what users have
//! on their disks: never replace these files, only add to them.
//!
//! `GUIRA_MAKE_GOLDEN=1` makes those that are missing.

use crate::common::layouts::{GROWABLE, LAYOUTS, fill, filter, growing};
use guira::CuckooFilter;
use std::{fs, path::PathBuf};

const ITEMS: [&str; 5] = ["ani", "guira", "koel", "roadrunner", "смешливая кукушка"];

/// A filter with items of several types; a growable one in the middle of its second doubling.
fn original(bits: u32) -> CuckooFilter {
    let (filter, _) = growing(bits, 1).unwrap_or_else(|| {
        let filter = filter(bits, 150).expect("a filter");
        let items = fill(&filter, 0..100);
        (filter, items)
    });
    for item in ITEMS {
        filter.insert(item).expect("room");
        filter.insert(item.as_bytes()).expect("room");
    }
    filter
}

fn path(bits: u32) -> PathBuf {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let kind = if GROWABLE.contains(&bits) {
        "growable"
    } else {
        "fixed"
    };
    data.join(format!("v2-{kind}-{bits}.guira"))
}

#[test]
fn old_snapshots_can_be_read_and_answer() {
    for bits in LAYOUTS {
        let path = path(bits);
        if std::env::var_os("GUIRA_MAKE_GOLDEN").is_some() && !path.exists() {
            fs::write(&path, original(bits).to_bytes()).expect("a new file");
        }
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let restored = CuckooFilter::from_bytes(&bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(restored.fingerprint_bits(), bits);
        assert_eq!(restored.hasher().seed(), 0x5eed);
        assert_eq!(restored.to_bytes(), bytes, "{bits}: the same bytes again");
        for item in ITEMS {
            assert!(restored.contains(item), "{bits}: {item}");
            assert!(restored.contains(item.as_bytes()), "{bits}: {item}");
        }
        assert!(
            (0..100_usize).all(|item| restored.contains(&item)),
            "{bits}"
        );
        let growing = restored.stats().buckets_to_split > 0;
        assert_eq!(growing, GROWABLE.contains(&bits), "{bits}");
        // All can be taken out again: each is where it is looked for.
        let items = restored.len() - 2 * ITEMS.len();
        assert!((0..items).all(|item| restored.remove(&item)), "{bits}");
        for item in ITEMS {
            assert!(restored.remove(item) && restored.remove(item.as_bytes()));
        }
        assert!(restored.is_empty());
    }
}

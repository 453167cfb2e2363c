//! Snapshots that earlier builds wrote in format version 2. A release that reads them differently,
//! or writes other bytes for the same filter, breaks the files of users: never replace these files,
//! only add new ones.
//!
//! `GUIRA_MAKE_GOLDEN=1` creates missing files.

use super::common::{
    fields::{FINGERPRINT_BITS, PREFIXES},
    layouts::{LAYOUTS, SEMI_SORTED, fill, filter, growing, semi_sorted},
};
use crate::common::filters::GROWABLE_BITS;
use guira::CuckooFilter;
use std::{fs, path::PathBuf};

const ITEMS: [&str; 5] = ["ani", "guira", "koel", "roadrunner", "смешливая кукушка"];

/// Inserts items of several types.
fn with_items(filter: CuckooFilter) -> CuckooFilter {
    for item in ITEMS {
        filter.insert(item).expect("room");
        filter.insert(item.as_bytes()).expect("room");
    }
    filter
}

/// A growable filter is in the middle of its second doubling.
fn original(bits: u32) -> CuckooFilter {
    let (filter, _) = growing(bits, 1).unwrap_or_else(|| {
        let filter = filter(bits, 150);
        let items = fill(&filter, 0..100);
        (filter, items)
    });
    with_items(filter)
}

/// The filter of a file. It gives the results that it gave when the file was written. With
/// `GUIRA_MAKE_GOLDEN`, a missing file is created from `original`.
fn golden(name: &str, original: impl FnOnce() -> CuckooFilter) -> CuckooFilter {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let path = data.join(format!("v2-{name}.guira"));
    if std::env::var_os("GUIRA_MAKE_GOLDEN").is_some() && !path.exists() {
        fs::write(&path, original().to_bytes()).expect("a new file");
    }
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let restored = CuckooFilter::from_bytes(&bytes)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(restored.hasher().seed(), 0x5eed);
    assert_eq!(restored.to_bytes(), bytes, "{name}: the same bytes again");
    for item in ITEMS {
        assert!(restored.contains(item), "{name}: {item}");
        assert!(restored.contains(item.as_bytes()), "{name}: {item}");
    }
    assert!(
        (0..100_usize).all(|item| restored.contains(&item)),
        "{name}"
    );
    restored
}

/// Checks that all items can be removed, so each is where lookups expect it.
fn assert_removes_all(restored: &CuckooFilter) {
    let items = restored.len() - 2 * ITEMS.len();
    assert!((0..items).all(|item| restored.remove(&item)));
    for item in ITEMS {
        assert!(restored.remove(item) && restored.remove(item.as_bytes()));
    }
    assert!(restored.is_empty());
}

#[test]
fn old_snapshots_can_be_read_and_answer() {
    for bits in LAYOUTS {
        let growable = GROWABLE_BITS.contains(&bits);
        let kind = if growable { "growable" } else { "fixed" };
        let restored = golden(&format!("{kind}-{bits}"), || original(bits));
        assert_eq!(restored.fingerprint_bits(), bits);
        let growing = restored.stats().buckets_to_split > 0;
        assert_eq!(growing, growable, "{bits}");
        assert_removes_all(&restored);
    }
}

#[test]
fn old_snapshots_of_semi_sorted_words_can_be_read_and_answer() {
    for (name, rate) in SEMI_SORTED {
        let restored = golden(&format!("semi-sorted-{name}"), || {
            let filter = semi_sorted(rate, 150);
            fill(&filter, 0..100);
            with_items(filter)
        });
        assert!(restored.false_positive_rate() <= rate, "{name}");
        let [bits, slots, _, prefixes] = restored.header()[FINGERPRINT_BITS..=PREFIXES] else {
            panic!("a header of four small numbers");
        };
        assert_eq!(format!("{bits}x{slots}"), name);
        assert_ne!(prefixes, 0, "{name}");
        assert_removes_all(&restored);
    }
}

#[test]
fn old_snapshots_with_counters_can_be_read_and_answer() {
    for (bits, counter_bits, doublings) in [(11, 4, 0), (12, 8, 0), (13, 4, 1), (28, 8, 1)] {
        let restored = golden(&format!("counters-{bits}-{counter_bits}"), || {
            let builder = CuckooFilter::builder().fingerprint_bits(bits).seed(0x5eed);
            let builder = builder.counter_bits(counter_bits).capacity(150);
            let filter = match doublings {
                0 => builder.build(),
                _ => builder.max_capacity(5_000).build(),
            };
            let filter = filter.expect("a filter");
            let mut items = fill(&filter, 0..100);
            while filter.stats().buckets_to_split == 0 && doublings > 0 {
                items += fill(&filter, items..items + 1);
            }
            for item in 0..10_usize {
                filter.insert_batch(&[item; 7]).expect("room");
            }
            with_items(filter)
        });
        assert_eq!(restored.counter_bits(), counter_bits);
        assert!((0..10_usize).all(|item| restored.count(&item) >= 8));
        for item in 0..10_usize {
            assert!((0..7).all(|_| restored.remove(&item)));
        }
        assert_removes_all(&restored);
        assert_eq!(restored.slots_in_use(), 0);
    }
}

//! Snapshots under churn: what is present throughout is in them.
#![cfg(guira_shuttle)]

use guira::CuckooFilter;
use guira_shuttle_tests::{
    Law, Seen, controls,
    items::{Part, at_once, chance, hash},
};
use std::sync::Arc;

const LOST: &str = "lost from the snapshot";
const NOT_LOADED: &str = "a snapshot does not load";
const NOT_CLONED: &str = "cannot hold the word";
const MISSED: &str = "an item is not found";
const NOT_REMOVED: &str = "remove of a present item is false";
const REST: &str = "at rest";

/// A filter with residents, and hashes that are not in it.
struct Filled {
    filter: CuckooFilter,
    residents: Vec<u64>,
    newcomers: Vec<u64>,
}

/// 8 buckets of 3 slots, of which two are empty.
fn fixed() -> Filled {
    let builder = CuckooFilter::builder().capacity(4).fingerprint_bits(20);
    let filter = builder.seed(0).build().expect("a small filter");
    let slots = filter.buckets() * filter.bucket_slots();
    assert_eq!(slots, 24, "as the law is made for");
    fill(filter, |filter| filter.len() + 2 >= slots)
}

/// 4 buckets of 6 slots, twice as many by now, and on the way to four times.
fn grown() -> Filled {
    fill(growable(4, 2), |filter| {
        let stats = filter.stats();
        stats.level == 1 && stats.buckets_to_split > 0
    })
}

/// An empty filter that can double `levels` times, with 9 bits and 6 slots. The
/// builder makes none that is so small, but a snapshot may say that there is one
/// (docs/FORMAT.md).
fn growable(buckets: u64, levels: u8) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(2).max_capacity(20);
    let builder = builder.fingerprint_bits(9).seed(0);
    let mut bytes = builder.build().expect("a small filter").to_bytes();
    bytes.truncate(64);
    bytes[14] = levels;
    bytes[16..24].copy_from_slice(&buckets.to_le_bytes());
    bytes.extend([0; 8]); // the level
    for _ in 0..buckets / 2 {
        bytes.extend([0; 24]); // a chunk: its mark, and two words
    }
    let sum = crc32fast::hash(&bytes);
    bytes.extend(sum.to_le_bytes());
    CuckooFilter::from_bytes(&bytes).expect("what FORMAT.md says")
}

fn fill(filter: CuckooFilter, enough: impl Fn(&CuckooFilter) -> bool) -> Filled {
    let mut residents = Vec::new();
    let mut hashes = (0..64).map(hash);
    while !enough(&filter) {
        let hash = hashes.next().expect("enough hashes");
        if filter.insert_hash(hash).is_ok() {
            residents.push(hash);
        }
    }
    let newcomers = hashes.take(6).collect();
    Filled {
        filter,
        residents,
        newcomers,
    }
}

/// Removes items of its own and inserts them and others, back and forth: those
/// that are left. Of the item `kept` a second copy comes and one goes.
fn churn(filter: &CuckooFilter, own: [u64; 2], new: [u64; 2], kept: u64) -> Vec<u64> {
    let mut left = Vec::new();
    for (own, new) in own.into_iter().zip(new) {
        if filter.insert_hash(kept).is_ok() {
            assert!(filter.remove_hash(kept), "{NOT_REMOVED}");
        }
        assert!(filter.remove_hash(own), "{NOT_REMOVED}");
        for hash in [new, own] {
            if filter.insert_hash(hash).is_ok() {
                assert!(filter.contains_hash(hash), "{MISSED}");
                left.push(hash);
            }
        }
    }
    left
}

/// The filter of a snapshot.
fn copy(filter: &CuckooFilter, by_bytes: bool) -> CuckooFilter {
    if by_bytes {
        CuckooFilter::from_bytes(&filter.to_bytes()).expect(NOT_LOADED)
    } else {
        filter.clone()
    }
}

/// A snapshot while three threads remove and insert.
fn snapshot(filled: fn() -> Filled) -> impl Fn(&Seen) {
    move |seen| {
        let Filled {
            filter,
            mut residents,
            newcomers,
        } = filled();
        let filter = Arc::new(filter);
        let before = filter.stats();
        let mut parts: Vec<Part<(Vec<u64>, [bool; 2])>> = Vec::new();
        for new in newcomers.chunks_exact(2) {
            let own = [residents.pop(), residents.pop()].map(|own| own.expect("residents"));
            let (filter, new) = (filter.clone(), [new[0], new[1]]);
            let kept = residents[parts.len()];
            parts.push(Box::new(move || {
                (churn(&filter, own, new, kept), [false; 2])
            }));
        }
        let (scanner, present, by_bytes) = (filter.clone(), residents.clone(), chance(2));
        parts.push(Box::new(move || {
            let before = scanner.stats();
            let copy = copy(&scanner, by_bytes);
            for hash in present {
                assert!(copy.contains_hash(hash), "{LOST}: {hash:#x}");
            }
            let after = scanner.stats();
            let moved = after.relocations > before.relocations;
            let split = after.buckets_to_split < before.buckets_to_split;
            (Vec::new(), [moved, split])
        }));
        let results = at_once(parts);
        let [moved, split] = results[newcomers.len() / 2].1;

        residents.extend(results.into_iter().flat_map(|result| result.0));
        assert_eq!(filter.len(), residents.len(), "{REST}");
        let copy = copy(&filter, !by_bytes);
        assert_eq!(copy.len(), residents.len(), "{REST}");
        assert_eq!(copy.to_bytes(), filter.to_bytes(), "{REST}");
        for hash in residents {
            assert_eq!(copy.count_hash(hash), 1, "{REST}");
        }
        let after = filter.stats();
        seen.note("moved meanwhile", moved);
        seen.note("by bytes", by_bytes);
        seen.note("by clone", !by_bytes);
        if before.level > 0 {
            seen.note("a second doubling", after.level > before.level);
            seen.note("split meanwhile", split);
        }
    }
}

fn law() -> Law {
    Law::new("snapshot", snapshot(fixed))
}

fn law_of_growth() -> Law {
    Law::new("snapshot of a grown filter", snapshot(grown))
}

#[test]
fn what_is_present_is_in_a_snapshot() {
    law().holds();
}

#[test]
fn what_is_present_is_in_a_snapshot_of_a_grown_filter() {
    law_of_growth().holds();
}

/// What the law says when it is broken.
const LAWS: [&str; 6] = [LOST, NOT_LOADED, NOT_CLONED, MISSED, NOT_REMOVED, REST];

controls! {
    LAWS;
    a_move_heeds_the_frontier: law, FrontierIgnored;
    shadows_are_in_a_snapshot: law, ScanNoShadows;
    a_move_heeds_the_frontier_of_a_grown_filter: law_of_growth, FrontierIgnored;
    a_split_copies_before_it_cuts: law_of_growth, CutFirst;
}

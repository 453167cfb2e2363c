//! Snapshots while the filter changes contain every item that is always present.
#![cfg(guira_shuttle)]

use guira::{CuckooFilter, Hashed};
use guira_shuttle_tests::{
    Law, Seen, controls,
    crowded::{Filled, MISSED, NOT_REMOVED, churn, fixed, grown},
    items::{Part, at_once, chance},
};
use std::sync::Arc;

const LOST: &str = "lost from the snapshot";
const NOT_LOADED: &str = "a snapshot does not load";
const NOT_CLONED: &str = "cannot hold the word";
const REST: &str = "at rest";

/// The filter of a snapshot.
fn copy(filter: &CuckooFilter, by_bytes: bool) -> CuckooFilter {
    if by_bytes {
        CuckooFilter::from_bytes(&filter.to_bytes()).expect(NOT_LOADED)
    } else {
        filter.clone()
    }
}

/// A snapshot, while three threads remove and insert.
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
                assert!(copy.contains(&Hashed(hash)), "{LOST}: {hash:#x}");
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
            assert_eq!(copy.count(&Hashed(hash)), 1, "{REST}");
        }
        let after = filter.stats();
        seen.note("moved meanwhile", moved);
        seen.note("by bytes", by_bytes);
        seen.note("by clone", !by_bytes);
        if before.doublings > 0 {
            seen.note("a second doubling", after.doublings > before.doublings);
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

/// The messages if the law is broken.
const LAWS: [&str; 6] = [LOST, NOT_LOADED, NOT_CLONED, MISSED, NOT_REMOVED, REST];

controls! {
    LAWS;
    a_move_heeds_the_frontier: law, FrontierIgnored;
    shadows_are_in_a_snapshot: law, ScanNoShadows;
    a_move_heeds_the_frontier_of_a_grown_filter: law_of_growth, FrontierIgnored;
    a_split_copies_before_it_cuts: law_of_growth, CutFirst;
}

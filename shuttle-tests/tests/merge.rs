//! Merges while both filters change: an item that is always present in the source is in the target.
#![cfg(guira_shuttle)]

use guira::{CuckooFilter, Hashed, InsertError, MergeError};
use guira_shuttle_tests::{
    Law, Seen, controls,
    crowded::{Filled, MISSED, NOT_REMOVED, churn, fixed, grown},
    items::{Part, at_once},
};
use std::sync::Arc;

const NOT_MERGED: &str = "not merged";
const NOT_FULL: &str = "a merge fails, but not for lack of room";
const REST: &str = "at rest";

/// Whether everything was merged, and what happened to the source during the merge.
#[derive(Default)]
struct Meanwhile {
    whole: bool,
    moved: bool,
    split: bool,
    doubled: bool,
}

/// A merge, while two threads remove and insert in the source, and one in the target.
fn merge(filled: fn() -> Filled) -> impl Fn(&Seen) {
    move |seen| {
        let Filled {
            filter: other,
            mut residents,
            newcomers,
        } = filled();
        let filter = CuckooFilter::from_header(&other.header(), 1 << 20).expect("a header");
        let (filter, other) = (Arc::new(filter), Arc::new(other));
        let level = other.stats().doublings;
        let mut parts: Vec<Part<Meanwhile>> = Vec::new();
        for new in newcomers[..4].chunks_exact(2) {
            let own = [residents.pop(), residents.pop()].map(|own| own.expect("residents"));
            let (other, new) = (other.clone(), [new[0], new[1]]);
            let kept = residents[parts.len()];
            parts.push(Box::new(move || {
                churn(&other, own, new, kept);
                Meanwhile::default()
            }));
        }
        let (writer, new) = (filter.clone(), newcomers[4]);
        parts.push(Box::new(move || {
            if writer.insert(&Hashed(new)).is_ok() {
                assert!(writer.contains(&Hashed(new)), "{MISSED}");
                assert!(writer.remove(&Hashed(new)), "{NOT_REMOVED}");
            }
            Meanwhile::default()
        }));
        let (into, from, present) = (filter.clone(), other.clone(), residents.clone());
        parts.push(Box::new(move || {
            let before = from.stats();
            let merged = into.merge(&from);
            if let Err(error) = merged {
                // The target is as full as the source, and an item that is being moved may be
                // merged twice.
                let is_full = matches!(
                    error,
                    MergeError::Insert {
                        error: InsertError::Full
                            | InsertError::Contended
                            | InsertError::TooManyCopies,
                        ..
                    }
                );
                assert!(is_full, "{NOT_FULL}: {error:?}");
                return Meanwhile::default();
            }
            for hash in present {
                assert!(into.contains(&Hashed(hash)), "{NOT_MERGED}: {hash:#x}");
            }
            let after = from.stats();
            Meanwhile {
                whole: true,
                moved: after.relocations > before.relocations,
                split: after.buckets_to_split < before.buckets_to_split,
                doubled: after.doublings > before.doublings,
            }
        }));
        let results = at_once(parts);
        let of_merge = results.last().expect("the merge");
        if of_merge.whole {
            for hash in residents {
                assert!(filter.count(&Hashed(hash)) >= 1, "{REST}: {hash:#x}");
            }
        }
        seen.note("all is merged", of_merge.whole);
        seen.note("moved meanwhile", of_merge.moved);
        if level > 0 {
            seen.note("split meanwhile", of_merge.split);
            seen.note("doubled meanwhile", of_merge.doubled);
        }
    }
}

fn law() -> Law {
    Law::new("merge", merge(fixed))
}

fn law_of_growth() -> Law {
    Law::new("merge of a grown filter", merge(grown))
}

#[test]
fn what_is_present_is_merged() {
    law().holds();
}

#[test]
fn what_is_present_is_merged_from_a_grown_filter() {
    law_of_growth().holds();
}

/// The messages if the law is broken.
const LAWS: [&str; 5] = [NOT_MERGED, NOT_FULL, MISSED, NOT_REMOVED, REST];

controls! {
    LAWS;
    a_move_heeds_the_frontier: law, FrontierIgnored;
    shadows_are_merged: law, ScanNoShadows;
    a_move_heeds_the_frontier_of_a_grown_filter: law_of_growth, FrontierIgnored;
    a_split_copies_before_it_cuts: law_of_growth, CutFirst;
}

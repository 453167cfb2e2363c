//! A merge of expiring filters adds every live copy with its remaining time, even if an epoch
//! begins in one of the filters.
//!
//! Only the merging thread uses the other filter. A second thread in it would only multiply the
//! interleavings.

use crate::common::expiring::{is_live, one, youngest};
use guira::model::{Expiring, Fault, Item, Step};
use guira_loom_tests::{ENDS, P, Scenario, direction, even, odd};

const OLD: &str = "a merged copy is older than in the other filter";
const LOST: &str = "a live item is not merged";
const REST: &str = "copies at rest";

/// Merges `filter` into an empty one, and returns the number of copies of the item in it.
fn merged<const SLOTS: usize>(filter: &Expiring<SLOTS>, x: Item) -> usize {
    let into = Expiring::new(filter.epoch(), &[&[], &[]]);
    assert!(into.merge(filter), "there is room");
    assert!(is_live(&into, x), "{LOST}");
    into.ages_at_rest(x).len()
}

/// An epoch begins in the target filter, and then y is inserted into the word of x. If y was there
/// first, the merge must know of the epoch.
///
/// In the other filter, x was seen two epochs ago. In the target it is one epoch younger, because
/// the current epoch may be about to end.
fn merge_while_an_epoch_begins() -> Scenario<Expiring<3, 2>> {
    let (x, y, z) = (even(0), even(1), odd(0));
    Scenario::new("merge, an epoch and an insert", move || {
        Expiring::new(0, &[&[], &[(z, 0); 3]])
    })
    .thread(move |filter| filter.merge(&Expiring::new(2, &one(P, &[(x, 0)])).scanned()))
    .thread(move |filter| {
        let begun = filter.advance();
        filter.try_insert(y).expect("there is room");
        begun
    })
    .law(move |filter, _| {
        let in_p: Vec<_> = filter
            .at_rest()
            .into_iter()
            .filter(|&(bucket, ..)| bucket == P)
            .collect();
        let first = |fingerprint| {
            let place = in_p.iter().position(|&(_, found, _)| found == fingerprint);
            place.expect("it is there")
        };
        let ages = filter.ages_at_rest(x);
        if first(y.fingerprint()) < first(x.fingerprint()) {
            assert_eq!(ages[0], 1, "{OLD}");
        }
        assert!(ages.len() == 1 || ages == [1, 2], "{REST}");
    })
    .outcomes(&[[1, 1]])
}

/// An epoch begins in the source filter, and then its item is refreshed.
fn refresh_beside_a_merge(bucket: usize) -> Scenario<Expiring<2>> {
    let x = even(0);
    let name = format!("merge, an epoch and a refresh in bucket {bucket}");
    Scenario::new(&name, move || {
        Expiring::new(0, &one(bucket, &[(x, 0)])).scanned()
    })
    .thread(move |filter| merged(filter, x))
    .thread(move |filter| {
        filter.advance();
        filter.refresh(x) == Ok(true)
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
    .outcomes(&[[1, 1]])
}

/// An item is moved in the source filter, whose epoch ends.
fn move_beside_a_merge(from: usize) -> Scenario<Expiring<2>> {
    let x = even(0);
    let name = format!("merge, a move {} and an epoch", direction(from));
    Scenario::new(&name, move || {
        Expiring::new(1, &one(from, &[(x, 1)])).scanned()
    })
    .thread(move |filter| merged(filter, x))
    .thread(move |filter| {
        let moved = filter.relocate_seen(x, 1, from);
        filter.advance();
        moved
    })
    .law(move |filter, _| assert_eq!(youngest(filter, x), Some(1), "{REST}"))
    .outcomes(&[[1, 0], [1, 1], [2, 0], [2, 1]])
}

#[test]
fn a_merged_copy_keeps_its_time() {
    merge_while_an_epoch_begins().holds();
}

#[test]
fn what_is_refreshed_meanwhile_is_merged() {
    for bucket in ENDS {
        refresh_beside_a_merge(bucket).holds();
    }
}

#[test]
fn what_is_moved_meanwhile_is_merged() {
    for from in ENDS {
        move_beside_a_merge(from).holds();
    }
}

#[test]
fn without_a_second_look_at_the_epoch_it_fails() {
    merge_while_an_epoch_begins().must_fail(Fault::MergeNoSecondNow, OLD);
    for bucket in ENDS {
        refresh_beside_a_merge(bucket).must_fail(Fault::ScanNoSecondNow, LOST);
    }
}

#[test]
fn a_merge_that_sees_a_refreshed_copy_knows_of_its_epoch() {
    for bucket in ENDS {
        refresh_beside_a_merge(bucket).must_fail(Step::Scan, LOST);
    }
}

#[test]
fn without_a_frontier_it_fails() {
    move_beside_a_merge(ENDS[1]).must_fail(Fault::FrontierIgnored, LOST);
}

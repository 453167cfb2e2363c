//! Filters of semi-sorted words keep the promises, although each change reorders the slots of a
//! word.
//!
//! All filters have the same steps, which the other files explore. This file has one scenario for each
//! operation, and a step that it needs.

use guira::model::{Fault, Item, Model, SemiSorted};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd};

const FOUND: &str = "false negative";
const ANSWER: &str = "items and answers disagree";
const PRESENT: &str = "remove of a present item is false";
const ONCE: &str = "removed and left do not add up";
const TWICE: &str = "not exactly one insert_unique";
const SCANNED: &str = "lost from the snapshot";

/// A filter with these items in `bucket`.
fn with(bucket: usize, items: &[Item]) -> SemiSorted {
    let mut residents: [&[Item]; 2] = [&[]; 2];
    residents[bucket] = items;
    SemiSorted::new(&residents)
}

/// A lookup, while the item is moved. Its word has another item, which is larger or smaller.
fn lookup(from: usize, x: Item, beside: Item) -> Scenario<SemiSorted> {
    let of = [x, beside].map(Item::fingerprint);
    let name = format!("semi-sorted lookup of {of:?}, move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x, beside]))
        .thread(move |filter| {
            assert!(filter.contains(x), "{FOUND}");
            true
        })
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
            assert_eq!(filter.copies_at_rest(beside), 1, "copies at rest");
        })
        .outcomes(&[[1, 1]])
}

/// Two inserts, with room for one.
fn last_slot() -> Scenario<SemiSorted> {
    let (x, y, full) = (even(0), even(1), [odd(0), odd(1)]);
    Scenario::new("semi-sorted, two inserts, one slot", move || {
        SemiSorted::new(&[&full, &[full[0]]])
    })
    .thread(move |filter| filter.insert(x))
    .thread(move |filter| filter.insert(y))
    .law(move |filter, results| {
        assert_eq!(
            [filter.copies_at_rest(x), filter.copies_at_rest(y)],
            results,
            "{ANSWER}"
        );
        assert_eq!(filter.copies_at_rest(full[0]), 2, "a resident is lost");
        assert_eq!(filter.copies_at_rest(full[1]), 1, "a resident is lost");
    })
    .mains(&[0])
    .outcomes(&[[0, 1], [1, 0]])
    .least_bound(3)
}

/// A remove of the only copy, while it is moved.
fn remove(from: usize) -> Scenario<SemiSorted> {
    let x = even(0);
    let name = format!("semi-sorted remove, move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            true
        })
        .thread(move |filter| {
            filter.relocate(x, from);
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}"))
        .outcomes(&[[1, 1]])
}

/// Two calls for an absent item, which one thread then moves.
fn uniques() -> Scenario<SemiSorted> {
    let x = even(0);
    let unique = move |filter: &SemiSorted| filter.insert_unique(x).expect("there is room");
    Scenario::new("semi-sorted, two uniques, one moves it", || with(P, &[]))
        .thread(unique)
        .thread(move |filter| {
            let inserted = unique(filter);
            filter.relocate(x, P);
            inserted
        })
        .law(move |filter, results| {
            assert_eq!(results[0] + results[1], 1, "{TWICE}");
            assert_eq!(filter.copies_at_rest(x), 1, "{ANSWER}");
        })
        .outcomes(&[[0, 1], [1, 0]])
}

/// A snapshot, while the item is moved.
fn snapshot(from: usize) -> Scenario<SemiSorted> {
    let x = even(0);
    let name = format!("semi-sorted snapshot, move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(move |filter| {
            let [copies] = filter.scan([x]);
            assert!(copies > 0, "{SCANNED}");
            true
        })
        .thread(move |filter| {
            filter.relocate(x, from);
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 1]])
}

#[test]
fn a_lookup_finds_what_is_moved_meanwhile() {
    // These items have different prefixes.
    let (x, y) = (even(0), Model::<2>::item(2, P, Q, 99));
    for from in ENDS {
        lookup(from, x, y).holds();
        lookup(from, y, x).holds();
    }
}

#[test]
fn a_slot_is_claimed_once() {
    last_slot().holds();
}

#[test]
fn a_copy_is_removed_once() {
    ENDS.into_iter().for_each(|from| remove(from).holds());
}

#[test]
fn an_absent_item_is_added_once() {
    uniques().holds();
}

#[test]
fn a_snapshot_has_what_is_moved_meanwhile() {
    ENDS.into_iter().for_each(|from| snapshot(from).holds());
}

#[test]
fn without_its_steps_it_fails() {
    lookup(Q, even(0), odd(1)).must_fail(Fault::NoAdvance, FOUND);
    last_slot().must_fail(Fault::ClaimUnchecked, "len and the words disagree");
    remove(Q).must_fail(Fault::RemoveIgnoresMarks, PRESENT);
    uniques().must_fail(Fault::UniqueNoReservation, TWICE);
    snapshot(Q).must_fail(Fault::FrontierIgnored, SCANNED);
}

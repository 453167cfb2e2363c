//! A union raises each item to the number of copies in the other filter, and no further. Another
//! union, an `insert_unique`, and moves in either filter run concurrently.

use guira::model::{Fault, Item, Model, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd, with};

const MORE: &str = "more copies than in either filter";
const LOST: &str = "an item is not united";

/// A filter with these copies of one item, which only one thread uses.
fn source(bucket: usize, copies: usize, x: Item) -> Model<2> {
    with(bucket, &vec![x; copies]).scanned_by(2)
}

fn unite(filter: &Model<2>, bucket: usize, copies: usize, x: Item) -> usize {
    assert!(
        filter.union_with(&source(bucket, copies, x)).is_some(),
        "there is room"
    );
    0
}

/// Two filters with `there` copies each are united into a filter with `here` copies.
fn two_unions(x: Item, here: usize, there: usize) -> Scenario {
    let name = format!("two unions of {there} with {here}, of {x:?}");
    let start = move || match here {
        0 => Model::new(&[&[], &[]]),
        _ => with(P, &vec![x; here]),
    };
    Scenario::new(&name, start)
        .thread(move |filter| unite(filter, P, there, x))
        .thread(move |filter| unite(filter, Q, there, x))
        .law(move |filter, _| {
            let copies = filter.copies_at_rest(x);
            assert!(copies >= there, "{LOST}");
            assert!(copies == here.max(there), "{MORE}");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[0, 0]])
}

/// As `two_unions` of one copy each, but the second thread also moves the item away from its home.
fn two_unions_and_move() -> Scenario {
    let x = even(0);
    Scenario::new("two unions, one moves the item", || Model::new(&[&[], &[]]))
        .thread(move |filter| unite(filter, P, 1, x))
        .thread(move |filter| {
            unite(filter, Q, 1, x);
            filter.relocate(x, P);
            0_usize
        })
        .law(move |filter, _| {
            let copies = filter.copies_at_rest(x);
            assert!(copies >= 1, "{LOST}");
            assert!(copies == 1, "{MORE}");
        })
        .large()
        .outcomes(&[[0, 0]])
}

/// A union of one copy, and an `insert_unique` of the item.
fn union_and_unique(x: Item) -> Scenario {
    let name = format!("union and unique of {x:?}");
    Scenario::new(&name, || Model::new(&[&[], &[]]))
        .thread(move |filter| unite(filter, P, 1, x))
        .thread(move |filter| filter.insert_unique(x) == Ok(true))
        .law(move |filter, _| {
            let copies = filter.copies_at_rest(x);
            assert!(copies >= 1, "{LOST}");
            assert!(copies == 1, "{MORE}");
        })
        .outcomes(&[[0, 0], [0, 1]])
}

/// A union into a filter in which the item moves.
fn union_beside_a_move(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("union, move {} in the filter", direction(from));
    Scenario::new(&name, move || with(from, &[x]))
        .thread(move |filter| unite(filter, P, 1, x))
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| {
            assert!(filter.copies_at_rest(x) == 1, "{MORE}");
        })
        .outcomes(&[[0, 1]])
}

/// A union of a filter in which the item moves. Unlike a merge, it never counts a copy twice.
fn union_of_what_moves(from: usize, chunk: usize) -> Scenario {
    let x = even(0);
    let name = format!("union by {chunk}, move {} in the other", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(chunk))
        .thread(move |filter| {
            let into = Model::new(&[&[], &[]]);
            assert!(into.union_with(filter).is_some(), "there is room");
            let copies = into.count(x);
            assert!(copies >= 1, "{LOST}");
            assert!(copies == 1, "{MORE}");
            copies
        })
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .loads_only()
        .mains(&[0])
        .large()
        .outcomes(&[[1, 0], [1, 1]])
}

/// A union of a filter from which the item is removed. The result may contain the item or not.
fn union_of_what_goes(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("union, remove from {from} in the other");
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(move |filter| {
            let into = Model::new(&[&[], &[]]);
            assert!(into.union_with(filter).is_some(), "there is room");
            into.count(x)
        })
        .thread(move |filter| filter.remove(x))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "copies at rest"))
        .outcomes(&[[0, 1], [1, 1]])
}

#[test]
fn two_unions_add_what_one_would() {
    for x in [even(0), odd(0)] {
        two_unions(x, 0, 1).holds();
    }
    two_unions(even(0), 1, 2).holds();
    two_unions_and_move().holds();
}

#[test]
fn a_union_and_a_unique_add_one_copy() {
    for x in [even(0), odd(0)] {
        union_and_unique(x).holds();
    }
}

#[test]
fn moves_change_no_number() {
    for from in ENDS {
        union_beside_a_move(from).holds();
        for chunk in [1, 2] {
            union_of_what_moves(from, chunk).holds();
        }
    }
}

#[test]
fn what_is_removed_from_the_other_is_united_or_not() {
    for from in ENDS {
        union_of_what_goes(from).holds();
    }
}

#[test]
fn a_number_that_is_not_looked_at_again_is_exceeded() {
    two_unions(even(0), 0, 1).must_fail(Fault::UnionBlindly, MORE);
    union_and_unique(even(0)).must_fail(Fault::UnionBlindly, MORE);
}

#[test]
fn without_reservations_it_fails() {
    two_unions_and_move().must_fail(Fault::UniqueNoReservation, MORE);
}

#[test]
fn without_a_frontier_it_fails() {
    union_of_what_moves(Q, 1).must_fail(Fault::FrontierIgnored, LOST);
}

#[test]
fn a_count_sees_what_was_delivered() {
    union_of_what_moves(P, 2).must_fail(Step::Deliver, MORE);
}

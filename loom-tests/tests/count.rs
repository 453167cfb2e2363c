//! `count` returns the number of copies at one moment of the call.

use crate::common::moves::relocate_times;
use guira::model::{Fault, Item, Model, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd, other, with};

const LAW: &str = "wrong count";

/// The count of an item that never has a second copy.
fn count_of_one(filter: &Model<2>, item: Item) -> usize {
    let count = filter.count(item);
    assert!(count <= 1, "{LAW}: {count}");
    count
}

/// A count, while one of the copies is moved, possibly back and forth.
fn moves(from: usize, copies: usize, times: usize) -> Scenario {
    let x = even(0);
    let name = format!("count of {copies}, {times} moves {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, &[x, x][..copies]))
        .thread(move |filter| {
            let count = filter.count(x);
            assert_eq!(count, copies, "{LAW}");
            count
        })
        .thread(move |filter| relocate_times(filter, x, from, times))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), copies, "copies at rest"))
        .outcomes(&[[copies, times]]);
    match times {
        1 => scenario.large_with_exchanges(),
        2 => scenario.mains(&[0]).large().loads_only(),
        _ => scenario.mains(&[0]).large().large().loads_only(),
    }
}

/// A count, while two movers are active.
fn two_movers(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("count of 2, two movers {}", direction(from));
    Scenario::new(&name, move || with(from, &[x, x]))
        .thread(move |filter| {
            assert_eq!(filter.count(x), 2, "{LAW}");
            true
        })
        .thread(move |filter| filter.relocate(x, from))
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 2, "copies at rest"))
        .mains(&[0])
        .large()
        .large()
        .loads_only()
        .outcomes(&[[1, 0, 1], [1, 1, 0], [1, 1, 1]])
}

/// The item is removed and inserted into the other bucket. It never has two copies.
fn remove_and_insert(unique: bool) -> Scenario {
    // `insert` chooses Q if both buckets are equally full, and `insert_unique` claims there.
    let x = odd(0);
    let name = format!("count, remove and insert, unique: {unique}");
    Scenario::new(&name, move || with(P, &[x]))
        .thread(move |filter| count_of_one(filter, x))
        .thread(move |filter| {
            assert!(filter.remove(x), "a present item is removed");
            if unique {
                assert_eq!(
                    filter.insert_unique(x),
                    Ok(true),
                    "an absent item is inserted"
                );
            } else {
                assert!(filter.insert(x), "there is room");
            }
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 1], [1, 1]])
}

/// The item is removed and inserted, and then again at its first place, so that P looks as before.
fn remove_and_insert_twice() -> Scenario {
    let (x, y) = (odd(0), odd(1));
    Scenario::new("count, remove and insert twice", move || with(P, &[x]))
        .thread(move |filter| count_of_one(filter, x))
        .thread(move |filter| {
            assert!(filter.remove(x), "a present item is removed");
            assert!(filter.insert(x), "there is room");
            assert!(filter.remove(x), "a present item is removed");
            // Both inserts choose Q if the buckets are equally full. After the first insert, P is
            // the emptier one.
            assert!(filter.insert(y), "there is room");
            assert!(filter.insert(x), "there is room");
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .large_with_exchanges()
        .outcomes(&[[0, 1], [1, 1]])
}

/// The item goes from P to Q, back, and to Q again: once by a move, and otherwise by a remove and
/// an insert. Each word has the same contents twice, and only the version differs.
fn there_and_back(moved: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("count, thrice to the other bucket, moved time {moved}"),
        move || with(P, &[x]),
    )
    .thread(move |filter| count_of_one(filter, x))
    .thread(move |filter| {
        for (time, from) in [P, Q, P].into_iter().enumerate() {
            if time == moved {
                relocate_times(filter, x, from, 1);
            } else {
                assert!(filter.remove(x), "a present item is removed");
                filter.insert_into(x, other(from));
            }
        }
        true
    })
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .large()
    .loads_only()
    .outcomes(&[[0, 1], [1, 1]])
}

/// The new copy of a move is removed while the original still exists.
fn move_and_remove(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("count, move {}, remove", direction(from)),
        move || with(from, &[x]),
    )
    .thread(move |filter| count_of_one(filter, x))
    .thread(move |filter| filter.relocate(x, from))
    .thread(move |filter| {
        assert!(filter.remove(x), "a present item is removed");
        let count = filter.count(x);
        assert_eq!(count, 0, "{LAW} after the remove");
        true
    })
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "copies at rest"))
    .mains(&[0])
    .large()
    .loads_only()
    .outcomes(&[[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
}

#[test]
fn a_move_does_not_change_the_count() {
    for from in ENDS {
        for copies in [1, 2] {
            moves(from, copies, 1).holds();
        }
    }
}

#[test]
fn two_moves_do_not_change_the_count() {
    for from in ENDS {
        moves(from, 1, 2).holds();
    }
}

#[test]
fn three_moves_do_not_change_the_count() {
    for from in ENDS {
        moves(from, 1, 3).holds();
    }
}

#[test]
fn two_movers_do_not_change_the_count() {
    for from in ENDS {
        two_movers(from).holds();
    }
}

#[test]
fn an_item_taken_out_and_put_back_is_never_counted_twice() {
    for unique in [false, true] {
        remove_and_insert(unique).holds();
    }
    remove_and_insert_twice().holds();
    for moved in [1, 2] {
        there_and_back(moved).holds();
    }
}

#[test]
fn a_removed_item_is_not_counted() {
    for from in ENDS {
        move_and_remove(from).holds();
    }
}

#[test]
fn each_second_look_of_count_is_needed() {
    moves(P, 1, 1).must_fail(Fault::CountNoRereadP, LAW);
    remove_and_insert_twice().must_fail(Fault::CountNoRereadQ, LAW);
    there_and_back(1).must_fail(Fault::CountNoValidate, LAW);
}

#[test]
fn count_observes_the_stripe_of_the_lower_bucket() {
    there_and_back(1).must_fail(Fault::CountWrongStripe, LAW);
}

#[test]
fn the_releases_that_a_count_relies_on_are_needed() {
    moves(Q, 1, 1).must_fail(Step::Deliver, LAW);
    remove_and_insert(false).must_fail(Step::Claim, LAW);
}

#[test]
fn the_orderings_of_the_second_looks_are_needed() {
    moves(P, 1, 2).must_fail(Step::RereadP, LAW);
    there_and_back(2).must_fail(Step::RereadQ, LAW);
}

#[test]
fn the_wrong_counts_are_right_but_for_their_faults() {
    for from in ENDS {
        moves(from, 1, 1).holds_rehearsed();
    }
}

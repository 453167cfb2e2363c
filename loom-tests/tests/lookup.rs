//! There are no false negatives: a lookup finds an item that is always present.

use crate::common::{
    find::{LAW, find},
    moves::relocate_times,
};
use guira::model::{Fault, Item, Model, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, with};

/// A lookup, while one copy is moved up to three times, back and forth.
fn moves(from: usize, times: usize) -> Scenario {
    let x = even(0);
    let scenario = Scenario::new(
        &format!("lookup, {times} moves {}", direction(from)),
        move || with(from, &[x]),
    )
    .thread(move |filter| find(filter, x))
    .thread(move |filter| relocate_times(filter, x, from, times))
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        assert_eq!(
            filter.stats().conservative_lookups,
            0,
            "the lookup needed no more attempts"
        );
    })
    .outcomes(&[[1, times]]);
    match times {
        1 => scenario,
        2 => scenario.large(),
        _ => scenario.mains(&[0]).large(),
    }
}

/// A lookup, while one of two copies is moved and the other one is removed.
fn move_and_remove(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("lookup, move {}, remove", direction(from)),
        move || with(from, &[x, x]),
    )
    .thread(move |filter| find(filter, x))
    .thread(move |filter| filter.relocate(x, from))
    .thread(move |filter| filter.remove(x))
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .mains(&[0])
    .large()
    .outcomes(&[[1, 1, 1]])
}

/// Inserts an item that is present, and removes one of the two copies.
fn insert_and_remove<const SLOTS: usize>(filter: &Model<SLOTS>, item: Item) -> bool {
    assert!(filter.insert(item), "there is room");
    filter.remove(item)
}

/// A lookup, while the only copy is moved and an equal item is inserted and removed.
fn move_and_window<const SLOTS: usize>(name: &str, from: usize) -> Scenario<Model<SLOTS>> {
    let x = even(0);
    Scenario::new(name, move || with(from, &[x]))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| filter.relocate(x, from))
        .thread(move |filter| insert_and_remove(filter, x))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1, 1]])
        .deep_outcomes(&[[1, 0, 1]])
}

/// The same with buckets of two slots.
fn window_beside_move(from: usize) -> Scenario {
    let name = format!("lookup, move {}, insert and remove", direction(from));
    move_and_window(&name, from)
}

/// The same with buckets of three slots: the removed copy is in delivery.
fn window_in_delivery() -> Scenario<Model<3>> {
    move_and_window("lookup, move Q to P, insert and remove in delivery", Q)
}

/// A lookup, while two movers are active.
fn two_movers(residents: [usize; 2], from: [usize; 2]) -> Scenario {
    let x = even(0);
    let copies = residents[P] + residents[Q];
    let setup = move || Model::new(&[&[x; 2][..residents[P]], &[x; 2][..residents[Q]]]);
    Scenario::new(
        &format!("lookup, movers from {from:?} of {residents:?}"),
        setup,
    )
    .thread(move |filter| find(filter, x))
    .thread(move |filter| filter.relocate(x, from[0]))
    .thread(move |filter| filter.relocate(x, from[1]))
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), copies, "copies at rest"))
    .mains(&[0])
    .large()
}

/// There is no relocation. An equal item is inserted where the lookup has already read, and then
/// one of the two is removed.
fn window(resident: usize) -> Scenario {
    // `insert` chooses the emptier bucket, which is the other one.
    let x = even(0);
    Scenario::new(
        &format!("lookup, insert and remove, resident in {resident}"),
        move || with(resident, &[x]),
    )
    .thread(move |filter| find(filter, x))
    .thread(move |filter| insert_and_remove(filter, x))
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .outcomes(&[[1, 1]])
}

#[test]
fn a_lookup_finds_what_is_moved_meanwhile() {
    for from in ENDS {
        moves(from, 1).holds();
        moves(from, 2).holds();
    }
}

#[test]
fn a_lookup_finds_what_is_moved_three_times() {
    for from in ENDS {
        moves(from, 3).holds();
    }
}

#[test]
fn a_lookup_finds_the_copy_that_a_remove_leaves() {
    for from in ENDS {
        move_and_remove(from).holds();
        window_beside_move(from).holds();
        window(from).holds();
    }
    window_in_delivery().holds();
}

#[test]
fn a_lookup_finds_what_two_movers_move() {
    two_movers([0, 2], [Q, Q])
        .outcomes(&[[1, 0, 1], [1, 1, 0], [1, 1, 1]])
        .holds();
    two_movers([2, 0], [P, P])
        .outcomes(&[[1, 0, 1], [1, 1, 0], [1, 1, 1]])
        .holds();
    two_movers([1, 0], [P, Q])
        .outcomes(&[[1, 1, 0], [1, 1, 1]])
        .holds();
    two_movers([0, 1], [Q, P])
        .outcomes(&[[1, 1, 0], [1, 1, 1]])
        .holds();
}

#[test]
fn without_advance_it_fails() {
    moves(Q, 1).must_fail(Fault::NoAdvance, LAW);
}

#[test]
fn with_a_late_advance_it_fails() {
    moves(Q, 1).must_fail(Fault::AdvanceLate, LAW);
}

#[test]
fn with_the_original_erased_first_it_fails() {
    for from in ENDS {
        moves(from, 1).must_fail(Fault::EraseFirst, LAW);
    }
}

#[test]
fn without_trailing_it_fails() {
    for from in ENDS {
        moves(from, 1).must_fail(Fault::NoTrailing, LAW);
    }
}

#[test]
fn without_validation_it_fails() {
    moves(Q, 1).must_fail(Fault::ContainsNoValidate, LAW);
}

#[test]
fn without_reading_again_it_fails() {
    moves(Q, 1).must_fail(Fault::ContainsNoReread, LAW);
}

#[test]
fn with_the_stripe_of_the_higher_bucket_it_fails() {
    moves(Q, 1).must_fail(Fault::ContainsWrongStripe, LAW);
}

#[test]
fn if_remove_takes_from_the_higher_bucket_first_it_fails() {
    window(Q).must_fail(Fault::RemoveHigherFirst, LAW);
}

/// The equal item is inserted into Q when the lookup has passed it, and the other copy is then removed
/// from P, where removes look first. Nothing is moved, so the version does not change.
#[test]
fn if_a_lookup_reads_the_higher_bucket_first_it_fails() {
    window(P).must_fail(Fault::ContainsReadsHigherFirst, LAW);
}

#[test]
fn each_ordering_of_a_lookup_against_a_move_counts() {
    moves(Q, 1).must_fail(Step::Observe, LAW);
    moves(P, 1).must_fail(Step::ReadP, LAW);
    moves(Q, 1).must_fail(Step::ReadQ, LAW);
    moves(Q, 1).must_fail(Step::Advance, LAW);
    moves(P, 1).must_fail(Step::Erase, LAW);
}

/// The later steps Advance and Decide release the marks, and the other bits of the word are in its
/// release sequence.
#[test]
fn neither_an_outline_nor_a_shadow_need_be_released() {
    for from in ENDS {
        moves(from, 1).holds_relaxed(Step::Outline);
        moves(from, 1).holds_relaxed(Step::Shadow);
    }
}

#[test]
fn the_release_of_a_remove_counts() {
    window(P).must_fail(Step::Take, LAW);
    window_in_delivery().must_fail(Step::Kill, LAW);
}

#[test]
fn the_wrong_lookups_are_right_but_for_their_faults() {
    for from in ENDS {
        moves(from, 1).holds_rehearsed();
    }
}

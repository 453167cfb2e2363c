//! Each copy is removed exactly once: the number of removes that return true is the number of
//! copies. A present item is removed, and a removed one is gone.

use crate::common::removes::{ONCE, PRESENT, one_remove_too_many, remove_and_reinsert, second_copy};
use guira::model::{Fault, Model, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, other, with};

/// One remove of the only copy, while it is moved.
fn move_and_remove(from: usize, times: usize) -> Scenario {
    let x = even(0);
    let name = format!("remove, {times} moves {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            true
        })
        .thread(move |filter| {
            let mut from = from;
            for _ in 0..times {
                filter.relocate(x, from);
                from = other(from);
            }
            times
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}"))
        .outcomes(&[[1, times]])
}

/// Two removes of the only copy, while it is moved.
fn move_and_two_removes(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("two removes, move {}", direction(from)),
        move || with(from, &[x]),
    )
    .thread(move |filter| filter.remove(x))
    .thread(move |filter| filter.relocate(x, from))
    .thread(move |filter| filter.remove(x))
    .law(move |filter, results| {
        assert_eq!(
            results[0] + results[2] + filter.copies_at_rest(x),
            1,
            "{ONCE}"
        );
    })
    .mains(&[0])
    .large()
    .outcomes(&[[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]])
}

/// Two movers, and a thread that removes once more than there are copies.
fn two_movers(from: [usize; 2], residents: [usize; 2]) -> Scenario {
    let x = even(0);
    let copies = residents[P] + residents[Q];
    let setup = move || Model::new(&[&[x; 2][..residents[P]], &[x; 2][..residents[Q]]]);
    let name = format!("removes, movers from {from:?} of {residents:?}");
    one_remove_too_many(
        Scenario::new(&name, setup),
        x,
        copies,
        Model::copies_at_rest,
        move |filter| {
            filter.relocate(x, from[0]);
        },
        move |filter| {
            filter.relocate(x, from[1]);
        },
    )
}

/// As `two_movers`, but another item then fills the slot that the first mover leaves.
fn chain_and_mover() -> Scenario {
    let item = |a, b| Model::<2>::item(4, a, b, 0);
    let (x, y, new) = (item(0, 1), item(0, 3), item(2, 3));
    // The path moves y from 3 into the slot of 0 that x leaves for 1.
    Scenario::new("removes, path of two and a mover", move || {
        Model::new(&[&[x], &[], &[], &[y]])
    })
    .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x)))
    .thread(move |filter| {
        filter.relocate_chain(y, 3, x, 0, new);
        0_usize
    })
    .thread(move |filter| {
        filter.relocate(x, 0);
        0_usize
    })
    .law(move |filter, results| {
        assert_eq!(results[0] + filter.copies_at_rest(x), 1, "{ONCE}");
        assert_eq!(filter.copies_at_rest(y), 1, "the bystander");
    })
    .mains(&[0])
    .large()
    .outcomes(&[[1, 0, 0]])
}

/// A second copy is inserted into Q, and the one in P is removed.
fn window() -> Scenario {
    let x = even(0);
    second_copy(
        Scenario::new("two removes, insert into Q", move || with(P, &[x])),
        x,
        Model::copies_at_rest,
    )
}

/// The item is removed and inserted again, while a move is in progress.
fn reinsert(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("removes and re-insert, move {}", direction(from));
    remove_and_reinsert(
        Scenario::new(&name, move || with(from, &[x])),
        x,
        Model::copies_at_rest,
        move |filter| {
            filter.relocate(x, from);
        },
    )
    .large()
}

/// A move is given up because the original is removed.
fn given_up(from: usize) -> Scenario {
    let (x, y) = (even(0), even(1));
    Scenario::new(
        &format!("remove, move {}, bystander", direction(from)),
        move || with(from, &[x, y]),
    )
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .thread(move |filter| filter.relocate(x, from))
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}");
        assert_eq!(filter.copies_at_rest(y), 1, "the bystander");
    })
    .outcomes(&[[1, 0], [1, 1]])
}

/// A completed remove is visible even if the mover is stopped: a later lookup and a later remove
/// return false.
fn ghost(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("lookup after remove, move {}", direction(from)),
        move || with(from, &[x]),
    )
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        assert!(!filter.contains(x), "a removed item is still there");
        assert!(!filter.remove(x), "a removed item is removed again");
        true
    })
    .thread(move |filter| filter.relocate(x, from))
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}");
        assert_eq!(
            filter.stats().conservative_lookups,
            0,
            "the lookup needed no more attempts"
        );
    })
    .outcomes(&[[1, 0], [1, 1]])
}

#[test]
fn a_present_item_is_removed_while_it_is_moved() {
    for from in ENDS {
        move_and_remove(from, 1).holds();
        move_and_remove(from, 2).holds();
        given_up(from).holds();
    }
}

#[test]
fn one_copy_is_removed_once() {
    for from in ENDS {
        move_and_two_removes(from).holds();
    }
}

#[test]
fn two_movers_do_not_multiply_removes() {
    two_movers([Q, Q], [0, 1]).holds();
    two_movers([P, P], [1, 0]).holds();
    two_movers([Q, P], [0, 1]).holds();
    two_movers([P, Q], [1, 0]).holds();
}

#[test]
fn two_movers_do_not_multiply_removes_of_two() {
    two_movers([Q, Q], [0, 2]).holds();
    two_movers([P, P], [2, 0]).holds();
    two_movers([Q, P], [1, 1]).holds();
}

#[test]
fn a_remove_finds_the_copy_that_another_one_leaves() {
    window().holds();
}

#[test]
fn remove_reads_the_lower_bucket_first() {
    window().must_fail(Fault::RemoveReadsHigherFirst, PRESENT);
}

#[test]
fn a_path_and_a_mover_do_not_multiply_removes() {
    chain_and_mover().holds();
}

#[test]
fn a_removed_item_comes_back() {
    for from in ENDS {
        reinsert(from).holds();
    }
}

#[test]
fn a_completed_remove_is_seen() {
    for from in ENDS {
        ghost(from).holds();
    }
}

#[test]
fn each_step_of_remove_is_needed() {
    move_and_remove(Q, 1).must_fail(Fault::RemoveNoValidate, PRESENT);
    move_and_remove(Q, 1).must_fail(Fault::RemoveNoReread, PRESENT);
    move_and_remove(Q, 1).must_fail(Fault::RemoveIgnoresMarks, PRESENT);
}

#[test]
fn remove_observes_the_stripe_of_the_lower_bucket() {
    move_and_remove(Q, 1).must_fail(Fault::RemoveWrongStripe, PRESENT);
}

#[test]
fn each_step_of_a_move_is_needed_by_remove() {
    given_up(Q).must_fail(Fault::NoRetract, "a mark is left");
    given_up(Q).must_fail(Fault::DecideBlindly, "len and the words disagree");
    move_and_remove(Q, 1).must_fail(Fault::NoTrailing, PRESENT);
}

#[test]
fn a_removed_shadow_is_held_until_the_original_is_gone() {
    two_movers([Q, Q], [0, 1]).must_fail(Fault::RemoveNoKilled, "Mark::Shadow");
}

#[test]
fn a_copy_is_held_until_the_original_is_gone() {
    two_movers([Q, Q], [0, 1]).must_fail(Fault::NoDelivered, "Mark::Shadow");
    chain_and_mover().must_fail(Fault::SettleEarly, "Mark::Shadow");
}

#[test]
fn marks_are_no_copies() {
    ghost(Q).must_fail(Fault::ContainsTrustsMarks, "a removed item is still there");
}

#[test]
fn the_orderings_that_remove_relies_on_are_needed() {
    move_and_remove(P, 1).must_fail(Step::LoadForUpdate, PRESENT);
    // After three moves, P looks as before. A reader that sees this must see the version.
    move_and_remove(Q, 3).must_fail(Step::RereadP, PRESENT);
    // A reader that sees T must see its S.
    move_and_remove(P, 1).must_fail(Step::Decide, PRESENT);
}

/// The later steps Advance and Decide release the first two. After Retract, the word has its former
/// contents, and its release sequence continues.
#[test]
fn neither_an_outline_nor_a_shadow_nor_its_retreat_need_be_released() {
    for from in ENDS {
        for step in [Step::Outline, Step::Shadow, Step::Retract] {
            move_and_remove(from, 1).holds_relaxed(step);
            given_up(from).holds_relaxed(step);
            ghost(from).holds_relaxed(step);
        }
    }
}

#[test]
fn the_wrong_removes_and_moves_are_right_but_for_their_faults() {
    for from in ENDS {
        move_and_remove(from, 1).holds_rehearsed();
        given_up(from).holds_rehearsed();
    }
}

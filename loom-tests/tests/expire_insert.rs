//! In an expiring filter, an insert leaves a copy of the current epoch, and no live item is
//! removed.

use crate::common::expiring::{is_live, one};
use guira::model::{Expiring, Fault, Step};
use guira_loom_tests::{ENDS, P, Scenario, direction, even, odd};

const OLD: &str = "an insert in this step is as old as the step before";
const EMPTIED: &str = "a live item is emptied";
const REST: &str = "copies at rest";
const MORE: &str = "more copies than items";

/// An epoch begins, and then another item is inserted into the word that the insert uses. If the
/// other item was there first, the insert must know of the epoch.
fn insert_while_a_step_begins() -> Scenario<Expiring<3>> {
    let (x, y, z) = (even(0), even(1), odd(0));
    Scenario::new("insert, a step and another insert", move || {
        Expiring::new(0, &[&[], &[(z, 0); 3]])
    })
    .thread(move |filter| filter.insert(x))
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
            assert_eq!(ages[0], 0, "{OLD}");
        }
        assert_eq!(ages.len(), 1, "{MORE}");
    })
    .outcomes(&[[1, 1]])
}

/// A step begins, and the item is removed: during the insert, or after it.
fn insert_a_step_and_a_remove() -> Scenario<Expiring<2>> {
    let x = even(0);
    Scenario::new("insert, a step and a remove", move || {
        Expiring::new(0, &[&[], &[]])
    })
    .thread(move |filter| filter.insert(x))
    .thread(move |filter| {
        filter.advance();
        filter.remove(x)
    })
    .law(move |filter, results| {
        assert_eq!(filter.ages_at_rest(x).len(), 1 - results[1], "{MORE}");
    })
    .outcomes(&[[1, 0], [1, 1]])
}

/// The tag of a dead copy is that of the next epoch again. A thread that is about to remove the
/// copy meets a new copy with the same bits.
fn sweep_over_a_wrap() -> Scenario<Expiring<2>> {
    let x = even(0);
    Scenario::new("a sweep that sleeps while tags begin anew", move || {
        Expiring::new(3, &[&[(x, 0)], &[]])
    })
    .thread(Expiring::advance)
    .thread(move |filter| {
        filter.advance();
        filter.insert(x)
    })
    .law(move |filter, _| assert!(is_live(filter, x), "{EMPTIED}"))
    .outcomes(&[[0, 1], [1, 1]])
}

/// A dead copy is moved while an epoch begins. The sweep must leave a marked copy to its mover.
fn sweep_beside_a_move(from: usize) -> Scenario<Expiring<2>> {
    let (x, y) = (even(0), even(1));
    let name = format!("a sweep beside a move {} of a dead copy", direction(from));
    Scenario::new(&name, move || {
        Expiring::new(3, &one(from, &[(x, 1), (y, 2)]))
    })
    .thread(move |filter| filter.relocate_seen(x, 1, from))
    .thread(Expiring::advance)
    .law(move |filter, _| {
        // Because of the move, the sweep may have missed x. y was live.
        assert!(filter.at_rest().len() <= 2, "{REST}");
    })
    .outcomes(&[[0, 1], [1, 1]])
}

/// Both words are full of dead copies, and two inserts make room.
fn inserts_into_dead_words() -> Scenario<Expiring<2>> {
    let (x, y, z) = (even(0), even(1), odd(0));
    Scenario::new("two inserts into words full of dead copies", move || {
        Expiring::new(2, &[&[(z, 0), (z, 0)], &[(z, 0), (z, 0)]])
    })
    .thread(move |filter| filter.insert(x))
    .thread(move |filter| filter.insert(y))
    .law(move |filter, _| {
        assert_eq!(filter.ages_at_rest(x), [0], "{REST}");
        assert_eq!(filter.ages_at_rest(y), [0], "{REST}");
        assert_eq!(filter.at_rest().len(), 2, "{REST}");
    })
    .mains(&[0])
    .large()
    .outcomes(&[[1, 1]])
}

#[test]
fn an_insert_is_as_young_as_the_step() {
    insert_while_a_step_begins().holds();
}

#[test]
fn an_insert_leaves_one_copy() {
    insert_a_step_and_a_remove().holds();
}

#[test]
fn nothing_live_is_emptied_by_a_sweep_that_slept() {
    sweep_over_a_wrap().holds();
    sweep_over_a_wrap().holds_rehearsed();
}

#[test]
fn a_sweep_leaves_marked_words_alone() {
    for from in ENDS {
        sweep_beside_a_move(from).holds();
    }
}

#[test]
fn dead_copies_make_room() {
    inserts_into_dead_words().holds();
    inserts_into_dead_words().holds_rehearsed();
}

#[test]
fn without_a_second_look_at_the_step_it_fails() {
    insert_while_a_step_begins().must_fail(Fault::InsertNoSecondNow, OLD);
}

#[test]
fn if_an_insert_that_was_too_early_adds_another_copy_it_fails() {
    insert_while_a_step_begins().must_fail(Fault::InsertOnceMore, MORE);
    insert_a_step_and_a_remove().must_fail(Fault::InsertOnceMore, MORE);
}

#[test]
fn a_dead_copy_is_withheld_and_found_dead_again() {
    sweep_over_a_wrap().must_fail(Fault::ExpireAtOnce, EMPTIED);
    sweep_over_a_wrap().must_fail(Fault::ExpireTrustsOldNow, EMPTIED);
}

#[test]
fn whoever_withholds_a_copy_knows_of_its_step() {
    sweep_over_a_wrap().must_fail(Step::Withhold, EMPTIED);
}

#[test]
fn if_marked_copies_go_it_fails() {
    for from in ENDS {
        sweep_beside_a_move(from).must_fail(Fault::SweepMarked, "word.is_marked(Mark::");
    }
}

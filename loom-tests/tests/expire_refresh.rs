//! A refreshed item is as young as a new one, and no refresh makes a copy older.

use crate::common::expiring::{LIVE, find, is_live, one, youngest};
use guira::model::{Expiring, Fault};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even};
use loom::thread;

const PRESENT: &str = "refresh of a live item is false";
const OLD: &str = "a refresh in this step is as old as the step before";
const OLDER: &str = "a live item has grown old";
const REST: &str = "answers and copies disagree";

type Expires = Scenario<Expiring<2>>;

/// The item is refreshed while it is moved, and must be found one epoch later.
fn beside_a_move(from: usize) -> Expires {
    let x = even(0);
    let name = format!("refresh, a step, lookup, move {}", direction(from));
    Scenario::new(&name, move || Expiring::new(1, &one(from, &[(x, 0)])))
        .thread(move |filter| filter.relocate_seen(x, 0, from))
        .thread(move |filter| {
            assert_eq!(filter.refresh(x), Ok(true), "{PRESENT}");
            filter.advance();
            find(filter, x)
        })
        .law(move |filter, _| assert_eq!(youngest(filter, x), Some(1), "{LIVE}"))
        .large_with_exchanges()
        .outcomes(&[[0, 1], [1, 1]])
}

/// Two refreshes. Each finds the copy withheld by the other one.
fn two(from: usize) -> Expires {
    let x = even(0);
    let name = format!("two refreshes, a step, lookup, in {from}");
    Scenario::new(&name, move || Expiring::new(1, &one(from, &[(x, 0)])))
        .thread(move |filter| filter.refresh(x) == Ok(true))
        .thread(move |filter| {
            assert_eq!(filter.refresh(x), Ok(true), "{PRESENT}");
            filter.advance();
            find(filter, x)
        })
        .law(move |filter, _| assert!(is_live(filter, x), "{REST}"))
        .outcomes(&[[1, 1]])
}

/// A refresh is preempted until the tag of its copy repeats. The copy that it then finds is another
/// one.
fn over_a_wrap() -> Expires {
    let x = even(0);
    Scenario::new("a refresh that sleeps while tags begin anew", move || {
        Expiring::new(3, &[&[(x, 2)], &[]])
    })
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .thread(move |filter| {
        for _ in 0..3 {
            filter.advance();
        }
        filter.insert(x)
    })
    .law(move |filter, _| assert_eq!(youngest(filter, x), Some(0), "{OLDER}"))
    .outcomes(&[[0, 1], [1, 1]])
}

/// An epoch begins, and another item is inserted into the word of the refreshed one. A thread that
/// then finds the old tag knows that the refresh will learn of the epoch.
fn while_a_step_begins() -> Expires {
    let (x, y) = (even(0), even(1));
    Scenario::new("refresh, a step and an insert", move || {
        Expiring::new(1, &[&[(x, 0)], &[(y, 1), (y, 1)]])
    })
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .thread(move |filter| {
        filter.advance();
        filter.try_insert(y).expect("there is room");
        filter.contains(x)
    })
    .law(move |filter, results| {
        assert_eq!(is_live(filter, x), results[0] == 1, "{REST}");
        if *results == [1, 0] {
            assert_eq!(youngest(filter, x), Some(0), "{OLD}");
        }
    })
    .outcomes(&[[0, 0], [1, 0], [1, 1]])
}

/// The same while a mark hides the item, so that the refresh adds another copy.
fn beside_a_mark() -> Expires {
    let (x, y) = (even(0), even(1));
    Scenario::new("refresh beside a mark, a step and an insert", move || {
        Expiring::new(1, &one(Q, &[(x, 0), (y, 1)])).withheld(y, 1, Q)
    })
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .thread(move |filter| {
        // The refresh has yielded, to let the owner of the mark finish.
        thread::yield_now();
        filter.begin_epoch();
        filter.try_insert(y).expect("there is room beside its copy");
        filter.contains(x)
    })
    .law(move |filter, results| {
        if *results == [1, 0] {
            filter.begin_epoch();
            assert!(filter.contains(x), "{OLD}");
        }
    })
    .outcomes(&[[0, 0], [1, 0], [1, 1]])
}

/// The item is moved to the word that a refresh has already read.
fn absent_beside_a_move(from: usize) -> Expires {
    let x = even(0);
    let name = format!("refresh, move {}", direction(from));
    Scenario::new(&name, move || Expiring::new(1, &one(from, &[(x, 1)])))
        .thread(move |filter| {
            assert_eq!(filter.refresh(x), Ok(true), "{PRESENT}");
            true
        })
        .thread(move |filter| filter.relocate_seen(x, 1, from))
        .law(move |filter, _| assert_eq!(youngest(filter, x), Some(0), "{REST}"))
        .outcomes(&[[1, 1]])
}

/// The copy in Q expires while another one is in P.
fn replaced() -> Expires {
    let x = even(0);
    Scenario::new("refresh, insert, the old copy expires", move || {
        Expiring::new(1, &[&[], &[(x, 0)]])
    })
    .thread(move |filter| {
        assert_eq!(filter.refresh(x), Ok(true), "{PRESENT}");
        true
    })
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        filter.advance()
    })
    .law(move |filter, _| assert!(is_live(filter, x), "{LIVE}"))
    .outcomes(&[[1, 1]])
}

#[test]
fn a_refresh_is_not_lost_by_a_move() {
    for from in ENDS {
        beside_a_move(from).holds();
    }
    beside_a_move(Q).holds_rehearsed();
}

#[test]
fn two_refreshes_share_the_work() {
    for from in ENDS {
        two(from).holds();
    }
}

#[test]
fn a_refresh_that_slept_makes_nothing_older() {
    over_a_wrap().holds();
}

#[test]
fn a_refreshed_item_is_as_young_as_the_step() {
    while_a_step_begins().holds();
    while_a_step_begins().holds_rehearsed();
    beside_a_mark().holds();
}

#[test]
fn a_refresh_finds_what_is_there() {
    for from in ENDS {
        absent_beside_a_move(from).holds();
    }
    replaced().holds();
}

#[test]
fn a_move_is_decided_for_the_tag_of_its_outline() {
    for from in ENDS {
        beside_a_move(from).must_fail(Fault::DecideAnyTag, LIVE);
    }
}

#[test]
fn a_refresh_leaves_what_others_have_marked() {
    beside_a_move(P).must_fail(Fault::RefreshMarked, LIVE);
    two(P).must_fail(Fault::WithheldByAnother, "word.is_marked(Mark::Withheld");
}

#[test]
fn a_copy_is_withheld_and_the_step_read_again() {
    over_a_wrap().must_fail(Fault::RefreshAtOnce, OLDER);
    over_a_wrap().must_fail(Fault::RefreshTrustsOldNow, OLDER);
}

#[test]
fn without_a_second_look_at_the_step_it_fails() {
    while_a_step_begins().must_fail(Fault::RefreshNoSecondNow, OLD);
    replaced().must_fail(Fault::RefreshNoSecondNow, PRESENT);
    beside_a_mark().must_fail(Fault::RefreshBesideMarksOnce, OLD);
}

#[test]
fn without_validation_it_fails() {
    absent_beside_a_move(Q).must_fail(Fault::RefreshNoValidate, PRESENT);
}

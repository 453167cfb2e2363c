//! A union of expiring filters raises each item to the larger of the two numbers of copies, which
//! are as young as in either filter. Another union, moves, or calls that change the copies of the
//! item run concurrently.
//!
//! Only the uniting thread uses the other filter. A second thread in it would only multiply the
//! interleavings.

use crate::common::expiring::{is_live, one, youngest};
use guira::model::{Expiring, Fault, Item};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd};

const MORE: &str = "more copies than in either filter";
const LOST: &str = "an item is not united";
const OLD: &str = "a united item is older than in the other filter";
const OLDER: &str = "a live item has grown old";
const REST: &str = "answers and copies disagree";

type Expires<const SLOTS: usize = 2> = Scenario<Expiring<SLOTS>>;

/// The epoch in which a scenario begins. A copy of this epoch has age 0.
const NOW: u64 = 1;
/// The epoch before. A copy of this epoch is live, but too old for a union of a copy of age 0.
const BEFORE: u64 = 0;

/// Unites another filter, which has this number of copies of age 0. Returns the number of copies
/// that the call added or made younger.
fn unite<const SLOTS: usize>(filter: &Expiring<SLOTS>, copies: usize, x: Item) -> usize {
    let other = Expiring::new(NOW, &one(P, &vec![(x, NOW); copies])).scanned();
    filter.union_with(&other).expect("there is room")
}

/// Two unions of one copy. Each finds the copy that the other has added. The second thread then may
/// move it away from its home.
fn two_add(x: Item, is_moved: bool) -> Expires {
    let moved = if is_moved { ", and a move of it" } else { "" };
    let name = format!("two unions of one copy of {x:?}{moved}");
    let scenario = Scenario::new(&name, || Expiring::new(NOW, &[&[], &[]]))
        .thread(move |filter| unite(filter, 1, x))
        .thread(move |filter| {
            let changed = unite(filter, 1, x);
            if is_moved {
                filter.relocate_seen(x, NOW, P);
            }
            changed
        })
        .law(move |filter, _| {
            let ages = filter.ages_at_rest(x);
            assert!(!ages.is_empty(), "{LOST}");
            assert!(ages.len() == 1, "{MORE}");
            assert_eq!(ages, [0], "{OLD}");
        })
        .outcomes(&[[0, 1], [1, 0]]);
    match is_moved {
        true => scenario.loads_only(),
        false => scenario,
    }
}

/// Two unions make one old copy younger. If one of them is preempted there, the other one adds a
/// copy.
fn two_renew(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("two unions of an old copy in {bucket}");
    Scenario::new(&name, move || {
        Expiring::new(NOW, &one(bucket, &[(x, BEFORE)]))
    })
    .thread(move |filter| unite(filter, 1, x))
    .thread(move |filter| unite(filter, 1, x))
    .law(move |filter, changed| {
        let ages = filter.ages_at_rest(x);
        assert_eq!(ages[0], 0, "{OLD}");
        assert!(ages.len() == changed[0] + changed[1], "{MORE}");
    })
    .mains(&[0])
    .outcomes(&[[0, 1], [1, 0]])
    .deep_outcomes(&[[1, 1]])
}

/// Two unions, after a thread was stopped while it withheld an old copy.
fn two_beside_a_stopped_thread(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("two unions beside a stopped thread in {bucket}");
    Scenario::new(&name, move || {
        Expiring::new(NOW, &one(bucket, &[(x, BEFORE)])).withheld(x, BEFORE, bucket)
    })
    .thread(move |filter| unite(filter, 1, x))
    .thread(move |filter| unite(filter, 1, x))
    .law(move |filter, _| {
        // The old copy expires by itself.
        assert!(filter.count(x) == 2, "{MORE}");
        filter.advance();
        assert!(filter.count(x) == 1, "{MORE}");
    })
    .mains(&[0])
    .loads_only()
    .outcomes(&[[0, 1], [1, 0]])
}

/// A union of two copies into a filter with one, which is moved.
fn beside_a_move(from: usize, seen: u64) -> Expires {
    let x = even(0);
    let (direction, age) = (direction(from), NOW - seen);
    let name = format!("union of two copies, move {direction} of one of age {age}");
    Scenario::new(&name, move || Expiring::new(NOW, &one(from, &[(x, seen)])))
        .thread(move |filter| unite(filter, 2, x))
        .thread(move |filter| filter.relocate_seen(x, seen, from))
        .law(move |filter, results| {
            let ages = filter.ages_at_rest(x);
            assert!(ages.len() >= 2 && ages[1] == 0, "{LOST}");
            // If the mover is preempted, an old copy stays in addition to the new ones.
            assert!(ages.len() == 2 || ages == [0, 0, age], "{MORE}");
            assert!(ages.len() == 2 || age != 0, "{MORE}");
            let added = ages.len() - 1;
            assert!(results[0] >= added && results[0] <= 2, "{REST}");
        })
        .large()
}

fn beside_a_move_of_a_young_copy(from: usize) -> Expires {
    beside_a_move(from, NOW).outcomes(&[[1, 1]])
}

fn beside_a_move_of_an_old_copy(from: usize) -> Expires {
    beside_a_move(from, BEFORE).outcomes(&[[2, 0], [2, 1]])
}

/// A union of a filter in which the item moves. Unlike a merge, it never counts a copy twice.
fn of_what_moves(from: usize) -> Expires {
    let x = even(0);
    let name = format!("union, move {} in the other", direction(from));
    Scenario::new(&name, move || {
        Expiring::new(NOW, &one(from, &[(x, NOW)])).scanned()
    })
    .thread(move |filter| {
        let into = Expiring::new(NOW, &[&[], &[]]);
        let changed = into.union_with(filter).expect("there is room");
        let ages = into.ages_at_rest(x);
        assert!(!ages.is_empty(), "{LOST}");
        assert!(ages.len() == 1, "{MORE}");
        assert_eq!(ages, [0], "{OLD}");
        changed
    })
    .thread(move |filter| filter.relocate_seen(x, NOW, from))
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
    .mains(&[0])
    .loads_only()
    .large()
    .outcomes(&[[1, 0], [1, 1]])
}

/// The copy that a union makes younger is refreshed concurrently.
fn beside_a_refresh(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("union, refresh in {bucket}");
    Scenario::new(&name, move || {
        Expiring::new(NOW, &one(bucket, &[(x, BEFORE)]))
    })
    .thread(move |filter| unite(filter, 1, x))
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .law(move |filter, _| {
        let ages = filter.ages_at_rest(x);
        assert_eq!(ages[0], 0, "{OLD}");
        // If one of them is preempted, the other one adds a copy.
        assert!(ages.len() <= 2, "{MORE}");
    })
    .outcomes(&[[0, 1], [1, 1]])
}

/// The item is removed: a copy that the union has added or made younger, or one from before. If
/// there was none, the remove may find nothing.
fn beside_a_remove(residents: [&'static [u64]; 2]) -> Expires {
    let x = even(0);
    let copies = move |bucket: usize| residents[bucket].iter().map(move |&seen| (x, seen));
    let before = residents[P].len() + residents[Q].len();
    let name = format!("union, remove of {before}");
    Scenario::new(&name, move || {
        let [p, q]: [Vec<_>; 2] = ENDS.map(|bucket| copies(bucket).collect());
        Expiring::new(NOW, &[&p, &q])
    })
    .thread(move |filter| unite(filter, 1, x))
    .thread(move |filter| filter.remove(x))
    .law(move |filter, results| {
        let left = filter.ages_at_rest(x).len();
        let [changed, removed] = *results else {
            unreachable!("two threads")
        };
        if before == 0 {
            assert_eq!(left + removed, changed, "{REST}");
        } else {
            assert_eq!(removed, 1, "{REST}");
            assert!(left <= 1, "{MORE}");
        }
    })
}

/// An epoch begins, and another item is inserted into the word of the old copy that a union makes
/// younger. A thread that then finds the old tag knows that the union will learn of the epoch.
fn while_an_epoch_begins() -> Expires {
    let (x, y) = (even(0), even(1));
    Scenario::new("union, an epoch and an insert", move || {
        Expiring::new(NOW, &[&[(x, BEFORE)], &[(y, NOW), (y, NOW)]])
    })
    .thread(move |filter| unite(filter, 1, x))
    .thread(move |filter| {
        filter.advance();
        filter.try_insert(y).expect("there is room");
        filter.contains(x)
    })
    .law(move |filter, results| {
        assert!(is_live(filter, x), "{LOST}");
        if results[1] == 0 {
            assert_eq!(youngest(filter, x), Some(0), "{OLD}");
        }
    })
    .large_with_exchanges()
    .outcomes(&[[1, 0], [1, 1], [2, 0], [2, 1]])
}

/// A union is preempted until the tag of the copy that it would make younger repeats. The copy that
/// it then finds is a new one.
fn over_a_wrap() -> Scenario<Expiring<2, 2>> {
    let x = even(0);
    let old = move || Expiring::new(2, &[&[(x, 0)], &[]]);
    Scenario::new("a union that sleeps while tags begin anew", old)
        .thread(move |filter| filter.union_with(&old().scanned()).is_some())
        .thread(move |filter| {
            for _ in 0..2 {
                filter.advance();
            }
            filter.insert(x)
        })
        .law(move |filter, _| {
            for _ in 0..Expiring::<2, 2>::OLDEST {
                filter.advance();
            }
            assert!(filter.contains(x), "{OLDER}");
        })
        .large()
        .outcomes(&[[1, 1]])
}

/// A union of one copy, and an `insert_unique` of the item.
fn beside_a_unique(x: Item) -> Expires {
    let name = format!("union and unique of {x:?}");
    Scenario::new(&name, || Expiring::new(NOW, &[&[], &[]]))
        .thread(move |filter| unite(filter, 1, x))
        .thread(move |filter| filter.insert_unique(x) == Ok(true))
        .law(move |filter, _| {
            let ages = filter.ages_at_rest(x);
            assert!(!ages.is_empty(), "{LOST}");
            assert!(ages.len() == 1, "{MORE}");
            assert_eq!(ages, [0], "{OLD}");
        })
        .outcomes(&[[0, 1], [1, 0]])
}

#[test]
fn two_unions_add_one_copy() {
    for x in [even(0), odd(0)] {
        two_add(x, false).holds();
    }
    two_add(even(0), true).holds();
}

#[test]
fn two_unions_make_one_copy_younger() {
    for bucket in ENDS {
        two_renew(bucket).holds();
        two_beside_a_stopped_thread(bucket).holds();
    }
}

#[test]
fn moves_change_no_number() {
    for from in ENDS {
        beside_a_move_of_a_young_copy(from).holds();
        beside_a_move_of_an_old_copy(from).holds();
        of_what_moves(from).holds();
    }
}

#[test]
fn a_refresh_and_a_union_make_one_copy_younger() {
    for bucket in ENDS {
        beside_a_refresh(bucket).holds();
    }
}

#[test]
fn a_remove_takes_one_copy() {
    beside_a_remove([&[], &[]])
        .outcomes(&[[1, 0], [1, 1], [2, 1]])
        .holds();
    beside_a_remove([&[BEFORE], &[]])
        .outcomes(&[[1, 1], [2, 1]])
        .holds();
    beside_a_remove([&[], &[BEFORE]])
        .outcomes(&[[1, 1], [2, 1]])
        .holds();
}

#[test]
fn a_union_learns_of_an_epoch() {
    while_an_epoch_begins().holds();
}

#[test]
fn a_union_makes_no_copy_older() {
    over_a_wrap().holds();
}

#[test]
fn a_union_and_a_unique_add_one_copy() {
    for x in [even(0), odd(0)] {
        beside_a_unique(x).holds();
    }
}

#[test]
fn a_number_that_is_not_looked_at_again_is_exceeded() {
    two_add(even(0), false).must_fail(Fault::UnionBlindly, MORE);
    beside_a_unique(even(0)).must_fail(Fault::UnionBlindly, MORE);
}

#[test]
fn beside_marks_young_copies_are_counted() {
    two_beside_a_stopped_thread(P).must_fail(Fault::UnionBesideMarksBlindly, MORE);
}

#[test]
fn one_change_may_be_too_few() {
    beside_a_move_of_an_old_copy(P).must_fail(Fault::UnionLooksOnce, LOST);
    while_an_epoch_begins().must_fail(Fault::UnionLooksOnce, OLD);
}

#[test]
fn copies_are_counted_at_one_moment() {
    of_what_moves(P).must_fail(Fault::UnionNoValidate, MORE);
}

#[test]
fn without_reservations_it_fails() {
    two_add(even(0), true).must_fail(Fault::UniqueNoReservation, MORE);
}

#[test]
fn a_copy_that_is_younger_stays_so() {
    over_a_wrap().must_fail(Fault::UnionMakesOlder, OLDER);
}

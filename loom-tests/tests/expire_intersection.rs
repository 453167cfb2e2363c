//! In an expiring filter an intersection leaves the youngest copies, beside calls that begin an epoch, and
//! removes, refreshes and moves.

use crate::common::expiring::{LIVE, find, youngest};
use guira::model::{Expiring, ExpiringProcesses, Fault};
use guira_loom_tests::{P, Q, Scenario, even};

const LOST: &str = "a copy that is to stay is gone";
const LEFT: &str = "a copy that is to go is left";
const OLD: &str = "a refreshed copy is old";

type Expires = Scenario<Expiring<2>>;

/// A filter in epoch 1, in which copies are live that were seen in epochs 0 and 1.
fn seen(in_p: u64, in_q: u64) -> Expiring<2> {
    let x = even(0);
    Expiring::new(1, &[&[(x, in_p)], &[(x, in_q)]])
}

/// A young copy is in one word and an old one in the other. The next epoch begins, in which only the
/// young one is live.
fn beside_an_epoch(young: usize) -> Expires {
    let x = even(0);
    let name = format!("intersection, a step, the young copy in {young}");
    let start = move || if young == P { seen(1, 0) } else { seen(0, 1) };
    Scenario::new(&name, start)
        .thread(move |filter| {
            filter.lower(x, 1);
            find(filter, x)
        })
        .thread(Expiring::advance)
        .law(move |filter, _| {
            assert!(filter.contains(x), "{LOST}");
            assert!(filter.count(x) == 1, "{LEFT}");
        })
        .large_with_exchanges()
        .outcomes(&[[1, 1]])
}

/// Two intersections; one thread moves the copy that is left.
fn two_and_a_move() -> Expires {
    let x = even(0);
    Scenario::new("two intersections, a move up, in epochs", || seen(1, 1))
        .thread(move |filter| {
            filter.lower(x, 1);
            0_usize
        })
        .thread(move |filter| {
            filter.lower(x, 1);
            filter.relocate_seen(x, 1, Q)
        })
        .law(move |filter, _| assert!(youngest(filter, x) == Some(0), "{LOST}"))
        .mains(&[0])
        .loads_only()
        .outcomes(&[[0, 0], [0, 1]])
}

/// A refresh of one of two old copies. It ends with a young one.
fn beside_a_refresh() -> Expires {
    let x = even(0);
    Scenario::new("intersection, refresh", || seen(0, 0))
        .thread(move |filter| {
            filter.lower(x, 1);
            find(filter, x)
        })
        .thread(move |filter| {
            assert_eq!(filter.refresh(x), Ok(true), "{LIVE}");
            1_usize
        })
        .law(move |filter, _| assert!(youngest(filter, x) == Some(0), "{OLD}"))
        .loads_only()
        .large()
        .outcomes(&[[1, 1]])
}

/// A copy comes to P while a remove is on its way to the one in Q.
fn beside_a_remove() -> Expires {
    let x = even(0);
    Scenario::new("insert and intersection, remove, in epochs", move || {
        Expiring::new(1, &[&[], &[(x, 1)]])
    })
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        filter.lower(x, 1);
        0_usize
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{LIVE}");
        filter.contains(x)
    })
    .law(move |filter, results| {
        let copies = filter.count(x);
        assert!(results[1] == 0 || copies == 1, "{LOST}");
        assert!(copies <= 1, "{LEFT}");
    })
    .outcomes(&[[0, 0], [0, 1]])
}

/// A difference of a filter beside a step, in which an item expires. Another one stays.
fn difference_beside_an_epoch() -> Expires {
    let (x, y) = (even(0), even(1));
    Scenario::new("difference, a step", move || {
        Expiring::new(1, &[&[(x, 1)], &[(y, 1)]]).scanned()
    })
    .thread(move |filter| {
        filter.difference_with(&Expiring::new(1, &[&[(x, 1)], &[]]));
        assert!(!filter.contains(x), "{LEFT}");
        find(filter, y)
    })
    .thread(Expiring::advance)
    .loads_only()
    .outcomes(&[[1, 1]])
}

/// Process 1 dies while it guards both copies, after `steps` steps, and process 2 repairs what it has left.
/// Process 0 removes both copies.
fn dying(steps: usize) -> Scenario<ExpiringProcesses> {
    let x = even(0);
    let start = move || ExpiringProcesses::new(3, 1, &[&[(x, 1)], &[(x, 1)]]);
    Scenario::new(&format!("guards, {steps} steps"), start)
        .thread(move |all| {
            all.die_guarding(1, (x, 1), steps);
            0_usize
        })
        .thread(|all| all.repair(2, 1))
        .thread(move |all| usize::from(all.of(0).remove(x)) + usize::from(all.of(0).remove(x)))
        .law(move |all, results| {
            all.at_rest(&[1]);
            assert!(results[2] + all.ages(x).len() == 2, "{LOST}");
        })
        .loads_only()
        .outcomes(&[[0, 0, 2], [0, 1, 2]])
}

#[test]
fn the_youngest_copy_stays() {
    for young in [P, Q] {
        beside_an_epoch(young).holds();
    }
    two_and_a_move().holds();
    difference_beside_an_epoch().holds();
}

#[test]
fn a_refreshed_copy_stays() {
    beside_a_refresh().holds();
}

#[test]
fn what_a_remove_has_left_stays() {
    beside_a_remove().holds();
}

#[test]
fn no_guard_outlives_a_process() {
    for steps in 2..=4 {
        dying(steps).holds();
    }
}

#[test]
fn without_guards_it_fails() {
    two_and_a_move().must_fail(Fault::LowerUnguarded, LOST);
}


//! Recovery: what a process that was killed has begun, another one ends, beside any other thread.
//!
//! In each scenario process 1 dies in an operation, and process 2 repairs what it has left.

use crate::common::processes::{COPIES, dying, find, item};
use guira::model::{Fault, Processes, STEPS, STEPS_OF_PATH};
use guira_loom_tests::{ENDS, Q, Scenario, even, other};

const LITTER: &str = "a mark is left";
/// A mover that lives finds its own mark gone.
const MARK: &str = "is_marked(Mark::";

/// A remove beside.
fn removed(from: usize, steps: usize) -> Scenario<Processes> {
    let x = item(from);
    dying(from, steps)
        .thread(move |all| all.of(0).remove(x))
        .law(move |all, results| {
            all.at_rest(&[1]);
            assert_eq!(results[2], 1, "remove of a present item is false");
            assert_eq!(all.copies(x), 0, "{COPIES}");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// A second mover beside, in either direction. It may find the item, or not, and then it may move it.
fn moved(from: usize, to: usize, steps: usize) -> Scenario<Processes> {
    let x = item(from);
    dying(from, steps)
        .thread(move |all| {
            all.of(0).relocate(x, to);
            0_usize
        })
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert_eq!(all.copies(x), 1, "{COPIES}");
        })
        .outcomes(&[[0, 0, 0], [0, 1, 0]])
}

/// Process 1 dies in a path: the item leaves Q, and the other one is to follow it.
fn in_path(steps: usize) -> Scenario<Processes> {
    let (x, next) = (even(0), even(1));
    Scenario::new(&format!("path, {steps} steps"), move || {
        Processes::new(3, &[&[next], &[x]])
    })
    .thread(move |all| {
        all.die_in_path(1, x, Q, next, steps);
        0_usize
    })
    .thread(|all| all.repair(2, 1))
    .thread(move |all| find(all.of(0), next))
    .law(move |all, _| {
        all.at_rest(&[1]);
        assert_eq!((all.copies(x), all.copies(next)), (1, 1), "{COPIES}");
    })
    .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

#[test]
fn it_is_removed_once() {
    for from in ENDS {
        for steps in 0..=STEPS {
            removed(from, steps).large_with_exchanges().holds();
        }
    }
}

#[test]
fn another_mover_is_not_mistaken_for_the_dead_one() {
    for from in ENDS {
        for steps in 0..=STEPS {
            moved(from, from, steps).large_with_exchanges().holds();
        }
        for steps in [2, 3, 5, 7] {
            moved(from, other(from), steps)
                .large_with_exchanges()
                .holds();
        }
    }
}

#[test]
fn a_path_leaves_no_outline() {
    for steps in [7, 8, 9, 10, 11, STEPS_OF_PATH] {
        in_path(steps).large().holds();
    }
}

#[test]
fn the_gate_says_whose_a_mark_is() {
    moved(Q, Q, 1).must_fail(Fault::NoGate, MARK);
}

#[test]
fn gates_are_freed_last() {
    moved(Q, Q, 2).must_fail(Fault::GatesFirst, MARK);
}

#[test]
fn the_gate_comes_before_the_outline_that_an_erase_leaves() {
    in_path(8).must_fail(Fault::NextGateLate, LITTER);
}

/// Process 0 moves the item, and process 2 looks whether it is dead.
#[test]
fn only_the_dead_are_repaired() {
    let x = even(0);
    Scenario::new("alive", move || Processes::new(3, &[&[], &[x]]))
        .thread(move |all| all.of(0).relocate(x, Q))
        .thread(|all| all.repair(2, 0))
        .law(move |all, _| {
            all.at_rest(&[]);
            assert_eq!(all.copies(x), 1, "{COPIES}");
        })
        .must_fail(Fault::FalseDeath, MARK);
}

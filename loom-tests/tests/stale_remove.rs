//! A remove that kills a shadow never hits the shadow of another move.
//!
//! The remove has seen S in one word and T in the other, but exchanges only the word with S. While
//! it is preempted, that move ends, the copy returns to its former place, and another mover sets
//! its mark. The word then has the bits that the remove has seen, but this move is not decided. If
//! a second remove then takes the copy itself, two removes return true for one copy.

use guira::model::{Fault, Item, Step};
use guira_loom_tests::{ENDS, P, Scenario, direction, even, odd, with};

const ONCE: &str = "removed and left do not add up";
/// The mover finds that its undecided shadow was killed.
const KILLED: &str = "Mark::Outline";

/// `even` in one direction and `odd` in the other, for variety.
fn item(from: usize) -> Item {
    if from == P { even(0) } else { odd(0) }
}

/// One thread ends the move with which the scenario begins, and performs the next one. The other
/// thread removes twice.
fn stale(from: usize) -> Scenario {
    let x = item(from);
    let name = format!("stale remove, {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).decided(x, from))
        .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x)))
        .thread(move |filter| {
            let taken = filter.take_and_replace(x, from);
            filter.relocate(x, from);
            taken
        })
        .law(move |filter, results| {
            let removed: usize = results.iter().sum();
            assert_eq!(removed + filter.copies_at_rest(x), 2, "{ONCE}");
        })
}

/// A third thread performs the next move, which may begin before the remove.
fn stale_beside(from: usize) -> Scenario {
    let x = item(from);
    let name = format!("stale remove, mover beside, {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).decided(x, from))
        .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x)))
        .thread(move |filter| filter.take_and_replace(x, from))
        .thread(move |filter| {
            filter.relocate(x, from);
            0_usize
        })
        .law(move |filter, results| {
            let removed: usize = results.iter().sum();
            assert_eq!(removed + filter.copies_at_rest(x), 2, "{ONCE}");
        })
}

#[test]
fn a_stale_remove_hits_no_other_shadow() {
    for from in ENDS {
        stale(from)
            .outcomes(&[[0, 1], [1, 0], [1, 1], [2, 0]])
            .holds();
    }
}

#[test]
fn nor_that_of_a_mover_which_came_before_it() {
    for from in ENDS {
        stale_beside(from)
            .mains(&[0, 1])
            .large()
            .outcomes(&[[0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0]])
            .holds();
    }
}

#[test]
fn it_takes_the_hold() {
    for from in ENDS {
        stale(from).must_fail(Fault::KillNoHold, KILLED);
    }
}

#[test]
fn it_holds_the_stripe_of_the_lower_bucket() {
    for from in ENDS {
        stale(from).must_fail(Fault::KillWrongStripe, KILLED);
    }
}

#[test]
fn movers_give_way_to_the_hold() {
    for from in ENDS {
        stale(from).must_fail(Fault::HoldIgnored, KILLED);
    }
}

#[test]
fn movers_look_for_the_hold_after_their_outline() {
    for from in ENDS {
        stale_beside(from).must_fail(Fault::HoldSeenEarly, KILLED);
    }
}

#[test]
fn neither_an_outline_nor_a_shadow_nor_its_retreat_need_be_released() {
    for from in ENDS {
        for step in [Step::Outline, Step::Shadow, Step::Retract] {
            stale(from)
                .outcomes(&[[0, 1], [1, 0], [1, 1], [2, 0]])
                .holds_relaxed(step);
        }
    }
}

#[test]
fn the_hold_is_ordered() {
    for from in ENDS {
        stale_beside(from).must_fail(Step::Hold, KILLED);
        stale_beside(from).must_fail(Step::Advance, KILLED);
    }
}

//! A clear removes all copies that were inserted before it, while they are moved and their words
//! are split.

use guira::model::{Fault, Model};
use guira_loom_tests::{
    ENDS, P, Q, Scenario, direction, even,
    growth::{Growth, ending, growing},
    odd, with,
};

const LAW: &str = "left by the clear";

/// Bits of an item that goes to the new word in the first split.
const GOES: u64 = 0b111;

fn cleared<const PHASE_BITS: u32>(filter: &Model<2, PHASE_BITS>) -> usize {
    filter.clear();
    0
}

/// A clear while an item is moved.
fn one_mover(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("clear, move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(cleared)
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{LAW}"))
        .outcomes(&[[0, 0], [0, 1]])
}

/// A clear, while an item is moved and another one of its class is inserted, which may stay.
fn mover_and_insert(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("clear, move {}, insert", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(cleared)
        .thread(move |filter| filter.relocate(x, from))
        .thread(move |filter| filter.insert(x))
        .law(move |filter, _| assert!(filter.copies_at_rest(x) <= 1, "{LAW}"))
        .large()
        .large()
        .mains(&[0])
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// Two clears, and an item of another class.
fn two_clears() -> Scenario {
    let (x, y) = (even(0), odd(0));
    Scenario::new("two clears", move || with(P, &[x, y]).scanned_by(1))
        .thread(cleared)
        .thread(cleared)
        .law(move |filter, _| {
            for item in [x, y] {
                assert_eq!(filter.copies_at_rest(item), 0, "{LAW}");
            }
        })
        .mains(&[0])
        .outcomes(&[[0, 0]])
}

/// A clear while the item's word is split.
fn splits(bucket: usize) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("clear, split of bucket {bucket}");
    Growth::new(&name, move || growing(bucket, &[x], 1).scanned_by(1))
        .thread(cleared)
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{LAW}"))
        .outcomes(&[[0, 0]])
}

#[test]
fn what_is_moved_meanwhile_is_removed() {
    for from in ENDS {
        one_mover(from).holds();
        mover_and_insert(from).holds();
    }
}

#[test]
fn what_is_split_meanwhile_is_removed() {
    for from in ENDS {
        splits(from).holds();
    }
}

#[test]
fn clears_meet() {
    two_clears().holds();
}

#[test]
fn without_a_frontier_it_fails() {
    one_mover(Q).must_fail(Fault::FrontierIgnored, LAW);
}

#[test]
fn without_fences_it_fails() {
    one_mover(Q).must_fail(Fault::NoFence, LAW);
}

#[test]
fn without_shadows_it_fails() {
    for from in ENDS {
        one_mover(from).must_fail(Fault::ScanNoShadows, LAW);
    }
}

//! An intersection takes a copy only while enough others stay, and what the other filter lacks goes. A
//! difference removes what the other filter has. Moves, splits, inserts, removes and further
//! intersections run concurrently.

use guira::model::{Counting, Fault, Growing, Item, Model, Step};
use guira_loom_tests::{
    ENDS, P, Q, Scenario, direction, even,
    growth::{Growth, ending, split},
    with,
};

const LOST: &str = "a copy that is to stay is gone";
const LEFT: &str = "a copy that is to go is left";

/// A filter with copies of one item in both words.
fn in_both(x: Item, copies: [usize; 2]) -> Model<2> {
    Model::new(&[&[x; 2][..copies[P]], &[x; 2][..copies[Q]]])
}

/// The copies at rest are at least `most`, and another intersection leaves exactly these. (One beside a
/// mark may leave more.)
fn leaves(filter: &Model<2>, x: Item, most: usize) {
    assert!(filter.copies_at_rest(x) >= most, "{LOST}");
    filter.lower(x, most);
    assert!(filter.copies_at_rest(x) == most, "{LEFT}");
}

/// Two intersections; one thread moves a copy afterwards.
fn two_and_a_move(copies: [usize; 2], most: usize) -> Scenario {
    let x = even(0);
    let name = format!("two intersections of {copies:?}, a move up");
    Scenario::new(&name, move || in_both(x, copies))
        .thread(move |filter| {
            filter.lower(x, most);
            0_usize
        })
        .thread(move |filter| {
            filter.lower(x, most);
            filter.relocate(x, Q)
        })
        .law(move |filter, _| leaves(filter, x, most))
        .mains(&[0])
        .large()
        .outcomes(&[[0, 0], [0, 1]])
}

/// An intersection beside a move of one of the copies.
fn beside_a_move(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("intersection, move {}", direction(from));
    Scenario::new(&name, move || in_both(x, [1, 1]))
        .thread(move |filter| {
            filter.lower(x, 1);
            filter.contains(x)
        })
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, results| {
            assert!(results[0] == 1, "{LOST}");
            leaves(filter, x, 1);
        })
        .large_with_exchanges()
        .outcomes(&[[1, 0], [1, 1]])
}

/// A move carries a copy past the look at the number of copies.
fn single_beside_a_move() -> Scenario {
    let x = even(0);
    Scenario::new("number, move up", move || in_both(x, [1, 1]))
        .thread(move |filter| filter.has_single(x))
        .thread(move |filter| filter.relocate(x, Q))
        .law(move |_, results| assert!(results[0] == 0, "{LEFT}"))
        .outcomes(&[[0, 1]])
}

/// A copy comes to P while a remove is on its way to the one in Q. If the remove was before the
/// intersection takes a copy, that has one to leave.
fn beside_a_remove() -> Scenario {
    let x = even(0);
    Scenario::new("insert into P and intersection, remove", move || in_both(x, [0, 1]))
        .thread(move |filter| {
            filter.insert_into(x, P);
            filter.lower(x, 1);
            0_usize
        })
        .thread(move |filter| {
            assert!(filter.remove(x), "a copy is there");
            filter.contains(x)
        })
        .law(move |filter, results| {
            let copies = filter.copies_at_rest(x);
            assert!(results[1] == 0 || copies == 1, "{LOST}");
            assert!(copies <= 1, "{LEFT}");
        })
        .outcomes(&[[0, 0], [0, 1]])
}

/// A copy in P is removed, and another one comes, while a second remove is on its way to the one in Q.
fn beside_removes_and_an_insert() -> Scenario {
    let x = even(0);
    Scenario::new("intersection, removes, insert into P", move || in_both(x, [1, 1]))
        .thread(move |filter| {
            filter.lower(x, 1);
            0_usize
        })
        .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x) && filter.contains(x)))
        .thread(move |filter| {
            filter.insert_into(x, P);
            0_usize
        })
        .law(move |filter, results| {
            assert!(results[1] < 2 || filter.copies_at_rest(x) >= 1, "{LOST}");
        })
        .mains(&[0])
        .loads_only()
        .large()
        .outcomes(&[[0, 1, 0], [0, 2, 0]])
}

/// An intersection beside an insert of a further copy.
fn beside_an_insert(unique: bool) -> Scenario {
    let x = even(0);
    Scenario::new(&format!("intersection, insert, unique: {unique}"), move || in_both(x, [1, 1]))
        .thread(move |filter| {
            filter.lower(x, 1);
            0_usize
        })
        .thread(move |filter| match unique {
            true => filter.insert_unique(x) == Ok(true),
            false => filter.insert(x),
        })
        .law(move |filter, _| leaves(filter, x, 1))
        .outcomes(if unique { &[[0, 0]] } else { &[[0, 1]] })
}

/// An item is removed from both filters, first from the one that is intersected. Another one of its class
/// stays in both.
fn removed_from_both() -> Scenario<[Model<2>; 2]> {
    let x = even(0);
    Scenario::new("intersection, removes from both", move || [(); 2].map(|()| in_both(x, [1, 1])))
        .thread(move |[filter, other]| {
            filter.lower_to(other, x);
            0_usize
        })
        .thread(move |[filter, other]| {
            assert!(filter.remove(x) && other.remove(x), "copies are there");
            0_usize
        })
        .law(move |[filter, _], _| assert!(filter.copies_at_rest(x) >= 1, "{LOST}"))
        .large_with_exchanges()
        .outcomes(&[[0, 0]])
}

/// The item moves in the other filter, which has it, or lacks it after all.
fn moves_in_the_other(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("intersection and difference, move {} in the other", direction(from));
    Scenario::new(&name, move || with(from, &[x]))
        .thread(move |other| {
            let filter = with(P, &[x]).scanned_by(2);
            filter.intersect_with(other);
            assert!(filter.copies_at_rest(x) == 1, "{LOST}");
            filter.difference_with(other);
            assert!(filter.copies_at_rest(x) == 0, "{LEFT}");
            0_usize
        })
        .thread(move |other| other.relocate(x, from))
        .loads_only()
        .large()
        .outcomes(&[[0, 1]])
}

/// The item moves in the filter, and the other one lacks it.
fn moves_in_the_filter(from: usize, chunk: usize) -> Scenario {
    let x = even(0);
    let name = format!("intersection by {chunk}, move {} of what goes", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(chunk))
        .thread(move |filter| {
            filter.intersect_with(&Model::new(&[&[], &[]]));
            0_usize
        })
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| assert!(filter.copies_at_rest(x) == 0, "{LEFT}"))
        .large_with_exchanges()
        .outcomes(&[[0, 0], [0, 1]])
}

/// Slots with counters: two copies are in P and one in Q, and two are to stay.
fn counted() -> Scenario<Counting<2>> {
    let x = even(0);
    Scenario::new("two intersections with counters, a move", move || {
        Counting::new(&[&[(x, 2)], &[(x, 1)]])
    })
    .thread(move |filter| {
        filter.lower(x, 2);
        0_usize
    })
    .thread(move |filter| {
        filter.lower(x, 2);
        filter.relocate(x, 1, Q)
    })
    .law(move |filter, _| {
        assert!(filter.count(x) >= 2, "{LOST}");
        filter.lower(x, 2);
        assert!(filter.copies_at_rest(x) == 2, "{LEFT}");
    })
    .mains(&[0])
    .loads_only()
    .outcomes(&[[0, 0], [0, 1]])
}

/// An intersection, while a word is split.
fn while_split(bucket: usize) -> Growth {
    let x = ending(0b111, 0);
    let start = move || Growing::growing(&[&[x], &[x]], 1);
    Growth::new(&format!("intersection, split of {bucket}"), start)
        .thread(move |filter| {
            filter.lower(x, 1);
            filter.contains(x)
        })
        .thread(move |filter| {
            split(filter, x, &[bucket], 0);
            0_usize
        })
        .law(move |filter, results| {
            let copies = filter.copies_at_rest(x);
            assert!(results[0] == 1 && copies >= 1, "{LOST}");
            assert!(copies == 1, "{LEFT}");
        })
        .outcomes(&[[1, 0]])
}

/// The item moves and its words are split, and the other filter lacks it.
fn goes_while_split(from: usize) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("intersection, move {}, split of what goes", direction(from));
    let residents = move || match from {
        P => Growing::growing(&[&[x], &[]], 1),
        _ => Growing::growing(&[&[], &[x]], 1),
    };
    Growth::new(&name, move || residents().scanned_by(1))
        .thread(move |filter| {
            filter.intersect_with(&Growing::growing(&[&[], &[]], 1));
            0_usize
        })
        .thread(move |filter| {
            filter.relocate(x, from);
            split(filter, x, &[from], 0);
            0_usize
        })
        .law(move |filter, _| assert!(filter.copies_at_rest(x) == 0, "{LEFT}"))
        .loads_only()
        .large()
        .outcomes(&[[0, 0]])
}

#[test]
fn two_intersections_take_what_one_would() {
    two_and_a_move([1, 1], 1).holds();
    two_and_a_move([1, 2], 2).holds();
    counted().holds();
}

#[test]
fn a_move_loses_nothing_and_hides_nothing() {
    for from in ENDS {
        beside_a_move(from).holds();
        moves_in_the_other(from).holds();
        for chunk in [1, 2] {
            moves_in_the_filter(from, chunk).holds();
        }
    }
    single_beside_a_move().holds();
}

#[test]
fn a_split_loses_nothing_and_hides_nothing() {
    for bucket in ENDS {
        while_split(bucket).holds();
        goes_while_split(bucket).holds();
    }
}

#[test]
fn what_a_remove_has_left_stays() {
    beside_a_remove().holds();
    beside_removes_and_an_insert().holds();
    removed_from_both().holds();
}

#[test]
fn an_insert_adds_at_most_its_copy() {
    beside_an_insert(false).holds();
    beside_an_insert(true).holds();
}

#[test]
fn without_guards_it_fails() {
    two_and_a_move([1, 1], 1).must_fail(Fault::LowerUnguarded, LOST);
    two_and_a_move([1, 2], 2).must_fail(Fault::LowerCountsOnce, LOST);
    counted().must_fail(Fault::KillAllCopies, LOST);
}

#[test]
fn a_remove_that_does_not_look_again_overlooks_a_guard() {
    beside_a_remove().must_fail(Fault::RemoveTrustsOldP, LOST);
    beside_a_remove().must_fail(Step::Guard, LOST);
}

#[test]
fn a_guard_in_q_comes_last() {
    beside_removes_and_an_insert().must_fail(Fault::LowerGuardsQFirst, LOST);
}

#[test]
fn the_other_filter_is_counted_first() {
    removed_from_both().must_fail(Fault::LowerCountsOtherLast, LOST);
}

#[test]
fn without_validation_a_copy_is_overlooked() {
    single_beside_a_move().must_fail(Fault::SingleNoValidate, LEFT);
    moves_in_the_filter(Q, 1).must_fail(Fault::FrontierIgnored, LEFT);
    moves_in_the_other(Q).must_fail(Fault::ContainsNoValidate, "a copy that is to");
}

//! A snapshot contains every item that is present during the whole call.

use guira::model::{Fault, Item, Model};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd, other, with};

const LAW: &str = "lost from the snapshot";

/// Takes a snapshot, which must contain all `items`. Returns the number of copies of the first one.
fn snapshot<const SLOTS: usize, const ITEMS: usize>(
    filter: &Model<SLOTS>,
    items: [Item; ITEMS],
) -> usize {
    let copies = filter.scan(items);
    assert!(copies.iter().all(|&copies| copies > 0), "{LAW}: {copies:?}");
    copies[0]
}

/// All outcomes of a snapshot with up to `copies` copies of the first item, and up to `moves`
/// moves. A move in progress may show both copies.
fn outcomes(copies: usize, moves: usize) -> Vec<[usize; 2]> {
    (1..=copies)
        .flat_map(|copies| (0..=moves).map(move |moves| [copies, moves]))
        .collect()
}

/// These outcomes with one more result at the end.
fn and<const N: usize>(outcomes: &[[usize; 2]], last: [usize; N]) -> Vec<[usize; 3]> {
    outcomes
        .iter()
        .flat_map(|&[a, b]| last.map(|c| [a, b, c]))
        .collect()
}

/// Moves an item back and forth until a move is given up, and returns the number of moves.
fn moves<const SLOTS: usize>(
    filter: &Model<SLOTS>,
    x: Item,
    ends: [usize; 2],
    times: usize,
) -> usize {
    let from = |time: usize| ends[time % 2];
    (0..times)
        .take_while(|&time| filter.relocate(x, from(time)))
        .count()
}

/// A snapshot that scans `chunk` buckets at a time, while an item is moved once or back and forth.
fn one_mover(from: usize, times: usize, chunk: usize) -> Scenario {
    let x = even(0);
    let name = format!("snapshot by {chunk}, {times} moves {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(chunk))
        .thread(move |filter| snapshot(filter, [x]))
        .thread(move |filter| moves(filter, x, [from, other(from)], times))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// The same with an item whose buckets `ends` are two of four: both scanned, both not yet scanned,
/// or one of each.
fn one_mover_of_four(ends: [usize; 2], times: usize) -> Scenario {
    let x = Model::<2>::item(4, ends[0], ends[1], 0);
    let setup = move || {
        let mut residents: [&[Item]; 4] = [&[]; 4];
        let x = [x];
        residents[ends[0]] = &x;
        Model::new(&residents).scanned_by(1)
    };
    Scenario::new(&format!("snapshot, {times} moves between {ends:?}"), setup)
        .thread(move |filter| snapshot(filter, [x]))
        .thread(move |filter| moves(filter, x, ends, times))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// A snapshot, while two movers move two items of one pair.
fn two_movers(from: [usize; 2]) -> Scenario<Model<3>> {
    let (x, y) = (even(0), odd(0));
    let setup = move || {
        let of = |bucket| {
            let items = [(x, from[0]), (y, from[1])];
            let items = items.into_iter().filter(move |item| item.1 == bucket);
            items.map(|item| item.0).collect::<Vec<_>>()
        };
        Model::new(&[&of(P), &of(Q)]).scanned_by(1)
    };
    Scenario::new(&format!("snapshot, movers from {from:?}"), setup)
        .thread(move |filter| snapshot(filter, [x, y]))
        .thread(move |filter| filter.relocate(x, from[0]))
        .thread(move |filter| filter.relocate(y, from[1]))
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(x), 1, "copies of x at rest");
            assert_eq!(filter.copies_at_rest(y), 1, "copies of y at rest");
        })
        .mains(&[0, 1])
        .large()
}

/// A snapshot, while two movers move items of two pairs.
fn two_pairs() -> Scenario {
    let (x, y) = (Model::<2>::item(4, 0, 1, 0), Model::<2>::item(4, 2, 3, 0));
    Scenario::new("snapshot, movers of two pairs", move || {
        Model::new(&[&[], &[x], &[y], &[]]).scanned_by(1)
    })
    .thread(move |filter| snapshot(filter, [x, y]))
    .thread(move |filter| filter.relocate(x, 1))
    .thread(move |filter| filter.relocate(y, 2))
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies of x at rest");
        assert_eq!(filter.copies_at_rest(y), 1, "copies of y at rest");
    })
    .mains(&[0, 1])
    .large()
}

/// A snapshot during a chain: y moves from bucket 1 to 2, x moves from 0 into the slot of y, and a
/// new item is inserted behind x.
fn chain(from: [usize; 3]) -> Scenario {
    let [first, middle, last] = from;
    let x = Model::<2>::item(4, first, middle, 0);
    let y = Model::<2>::item(4, middle, last, 0);
    let new = Model::<2>::item(4, first, middle, 1);
    let setup = move || {
        let mut residents: [&[Item]; 4] = [&[]; 4];
        let (x, y) = ([x], [y]);
        residents[first] = &x;
        residents[middle] = &y;
        Model::new(&residents).scanned_by(1)
    };
    Scenario::new(&format!("snapshot, chain over {from:?}"), setup)
        .thread(move |filter| snapshot(filter, [x, y]))
        .thread(move |filter| filter.relocate_chain(x, first, y, middle, new))
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(x), 1, "copies of x at rest");
            assert_eq!(filter.copies_at_rest(y), 1, "copies of y at rest");
        })
}

/// A snapshot, while one of two copies is moved and one is removed.
fn move_and_remove(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("snapshot, move {}, remove", direction(from)),
        move || with(from, &[x, x]).scanned_by(1),
    )
    .thread(move |filter| snapshot(filter, [x]))
    .thread(move |filter| filter.relocate(x, from))
    .thread(move |filter| filter.remove(x))
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// A snapshot, while the item is moved, and a copy is inserted and removed.
fn move_and_window(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("snapshot, move {}, insert and remove", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(move |filter| snapshot(filter, [x]))
        .thread(move |filter| filter.relocate(x, from))
        .thread(move |filter| {
            assert!(filter.insert(x), "there is room");
            filter.remove(x)
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// Two snapshots at the same time. One of them finds no place among the frontiers.
fn two_snapshots(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("two snapshots, move {}", direction(from)),
        move || with(from, &[x]).scanned_by(1),
    )
    .thread(move |filter| snapshot(filter, [x]))
    .thread(move |filter| snapshot(filter, [x]))
    .thread(move |filter| filter.relocate(x, from))
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .mains(&[0, 2])
    .large()
}

/// Two snapshots in succession that use the same place among the frontiers.
fn snapshot_after_snapshot(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("snapshot after snapshot, move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(move |filter| snapshot(filter, [x]) + snapshot(filter, [x]))
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

#[test]
fn a_snapshot_has_what_is_moved_meanwhile() {
    for from in ENDS {
        for chunk in [1, 2] {
            for times in [1, 2, 3] {
                one_mover(from, times, chunk)
                    .outcomes(&outcomes(2, times))
                    .holds();
            }
        }
    }
}

/// The move is in the scanned part, in the part to come, or across the frontier.
#[test]
fn a_snapshot_has_what_is_moved_far_from_it() {
    for (p, q) in [(0, 1), (2, 3), (0, 3), (1, 2)] {
        for ends in [[p, q], [q, p]] {
            one_mover_of_four(ends, 2).outcomes(&outcomes(2, 2)).holds();
        }
    }
}

#[test]
fn a_snapshot_has_what_two_movers_move() {
    let outcomes = and(&outcomes(2, 1), [0, 1]);
    for from in [[P, P], [P, Q], [Q, P], [Q, Q]] {
        two_movers(from).outcomes(&outcomes).holds();
    }
    two_pairs().outcomes(&outcomes).holds();
}

#[test]
fn a_snapshot_has_what_a_chain_moves() {
    for from in [[0, 1, 2], [2, 1, 0], [3, 2, 1], [1, 2, 3]] {
        chain(from).outcomes(&outcomes(2, 1)).holds();
    }
}

#[test]
fn a_snapshot_has_the_copy_that_a_remove_leaves() {
    for from in ENDS {
        move_and_remove(from)
            .outcomes(&and(&outcomes(3, 1), [1]))
            .holds();
        move_and_window(from)
            .outcomes(&and(&outcomes(3, 1), [1]))
            .holds();
    }
}

#[test]
fn two_snapshots_have_what_is_moved_meanwhile() {
    let both = [[1, 1], [1, 2], [2, 1], [2, 2]];
    for from in ENDS {
        two_snapshots(from).outcomes(&and(&both, [0, 1])).holds();
        let sums = [2, 3, 4].map(|copies| [[copies, 0], [copies, 1]]);
        snapshot_after_snapshot(from)
            .outcomes(sums.as_flattened())
            .holds();
    }
}

#[test]
fn without_a_frontier_it_fails() {
    one_mover(Q, 1, 1).must_fail(Fault::FrontierIgnored, LAW);
    one_mover(P, 2, 1).must_fail(Fault::FrontierIgnored, LAW);
    one_mover(Q, 1, 2).must_fail(Fault::FrontierIgnored, LAW);
    one_mover_of_four([3, 0], 1).must_fail(Fault::FrontierIgnored, LAW);
    chain([2, 1, 0]).must_fail(Fault::FrontierIgnored, LAW);
    two_snapshots(Q).must_fail(Fault::FrontierIgnored, LAW);
}

#[test]
fn without_fences_it_fails() {
    one_mover(Q, 1, 1).must_fail(Fault::NoFence, LAW);
    one_mover(Q, 1, 2).must_fail(Fault::NoFence, LAW);
    two_snapshots(Q).must_fail(Fault::NoFence, LAW);
}

#[test]
fn without_shadows_it_fails() {
    for from in ENDS {
        one_mover(from, 1, 1).must_fail(Fault::ScanNoShadows, LAW);
    }
}

#[test]
fn the_wrong_scans_are_right_but_for_their_faults() {
    let outcomes = outcomes(2, 1);
    chain([0, 1, 2]).outcomes(&outcomes).holds_rehearsed();
}

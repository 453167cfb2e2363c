//! Slots with counters: each insert adds one copy and each remove takes one, also from a slot that
//! moves.

use crate::common::{
    find::LAW,
    removes::{ONCE, PRESENT},
};
use guira::model::{Counting, Fault, Item, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even};

type Fixed = Counting<2>;

const COUNT: &str = "wrong count";

const LEN: &str = "len and the words disagree";

/// Both calls returned true, or none did.
const WINNER: &str = "insert_unique of a present item";

/// A filter of two buckets with one slot of these copies.
fn with(bucket: usize, item: Item, copies: usize) -> Fixed {
    let slot = [(item, copies)];
    let mut residents: [&[(Item, usize)]; 2] = [&[], &[]];
    residents[bucket] = &slot;
    Counting::new(&residents)
}

/// A thread moves the slot, if it still has these copies.
fn moved(scenario: Scenario<Fixed>, item: Item, copies: usize, from: usize) -> Scenario<Fixed> {
    scenario.thread(move |filter| {
        filter.relocate(item, copies, from);
        0_usize
    })
}

/// A remove for each copy, while the slot moves: all but the last one only take from the counter.
fn removes(from: usize, copies: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("{copies} removes and one more, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, copies)).thread(move |filter| {
        for _ in 0..copies {
            assert!(filter.remove(x), "{PRESENT}");
        }
        assert!(!filter.remove(x), "{ONCE}");
        true
    });
    moved(scenario, x, copies, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}"))
        .outcomes(&[[1, 0]])
}

/// Two threads remove, while the slot moves.
fn two_removes(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("two removes of two, move {}", direction(from));
    let remove = move |filter: &Fixed| filter.remove(x);
    let scenario = Scenario::new(&name, move || with(from, x, 2))
        .thread(remove)
        .thread(remove);
    moved(scenario, x, 2, from)
        .law(move |filter, results| {
            assert_eq!(results[0] + results[1], 2, "{PRESENT}");
            assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1, 0]])
}

/// A remove, and two movers of one slot.
fn two_movers(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("two removes of two, two movers {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, 2)).thread(move |filter| {
        let removed = usize::from(filter.remove(x)) + usize::from(filter.remove(x));
        assert_eq!(removed, 2, "{PRESENT}");
        removed
    });
    moved(moved(scenario, x, 2, from), x, 2, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}"))
        .mains(&[0])
        .large()
        .outcomes(&[[2, 0, 0]])
}

/// A decided move ends and another one begins, while a thread removes. Its first remove may have seen
/// the marks of the move that ends.
fn stale(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("stale removes from a slot of two, {}", direction(from));
    Scenario::new(&name, move || with(from, x, 2).decided(x, 2, from))
        .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x)))
        .thread(move |filter| {
            let taken = filter.take_and_replace(x, 2, from);
            filter.relocate(x, 2, from);
            taken
        })
        .law(move |filter, results| {
            let removed: usize = results.iter().sum();
            assert_eq!(removed + filter.copies_at_rest(x), 4, "{ONCE}");
        })
        .outcomes(&[[0, 2], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]])
}

/// An insert, while the slot moves. It adds to the slot, or takes another one.
fn insert(from: usize, copies: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("insert beside {copies}, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, copies)).thread(move |filter| {
        assert!(filter.insert(x), "there is room");
        assert!(filter.contains(x), "{LAW}");
        true
    });
    moved(scenario, x, copies, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), copies + 1, "copies at rest"))
        .outcomes(&[[1, 0]])
}

/// An insert and a remove, while the slot moves.
fn insert_and_remove(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("insert and remove, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, 1))
        .thread(move |filter| filter.insert(x))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            true
        });
    moved(scenario, x, 1, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .mains(&[0, 1])
        .large()
        .outcomes(&[[1, 1, 0]])
}

/// Two inserts of one item that is absent, or in a slot.
fn two_inserts(copies: usize) -> Scenario<Fixed> {
    let x = even(0);
    let insert = move |filter: &Fixed| filter.insert(x);
    let setup = move || match copies {
        0 => Counting::new(&[&[], &[]]),
        _ => with(Q, x, copies),
    };
    Scenario::new(&format!("two inserts beside {copies}"), setup)
        .thread(insert)
        .thread(insert)
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(x), copies + 2, "copies at rest");
            assert_eq!(filter.slots_of(x), (copies + 2).div_ceil(4), "slots");
        })
        .outcomes(&[[1, 1]])
        .least_bound(3)
}

/// A lookup, while another thread removes a copy and the slot moves: a copy is left at any time.
fn lookup(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("lookup, remove of one of two, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, 2))
        .thread(move |filter| {
            assert!(filter.contains(x), "{LAW}");
            true
        })
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            true
        });
    moved(scenario, x, 2, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .mains(&[0, 1])
        .large()
        .outcomes(&[[1, 1, 0]])
}

/// A count, while the slot moves.
fn count(from: usize, copies: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("count of {copies}, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, copies)).thread(move |filter| {
        let count = filter.count(x);
        assert_eq!(count, copies, "{COUNT}");
        count
    });
    moved(scenario, x, copies, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), copies, "copies at rest"))
        .large_with_exchanges()
        .outcomes(&[[copies, 0]])
}

/// A remove and then a count in one thread, while the slot moves.
fn count_after_remove(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("remove of one of three, count, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, 3)).thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        let count = filter.count(x);
        assert_eq!(count, 2, "{COUNT}");
        count
    });
    moved(scenario, x, 3, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 2, "{ONCE}"))
        .outcomes(&[[2, 0]])
}

/// A slot moves to a bucket that has another one of the item. The two become one.
fn join(from: usize, removes: bool) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("two slots join, move {}, remove: {removes}", direction(from));
    let setup = move || {
        let slots: [&[(Item, usize)]; 2] = match from {
            P => [&[(x, 2)], &[(x, 1)]],
            _ => [&[(x, 1)], &[(x, 2)]],
        };
        Counting::new(&slots)
    };
    let taken = usize::from(removes);
    let scenario = Scenario::new(&name, setup).thread(move |filter| {
        let found = if removes { filter.remove(x) } else { filter.insert(x) };
        assert!(found, "{PRESENT}");
        let count = filter.count(x);
        assert_eq!(count, if removes { 2 } else { 4 }, "{COUNT}");
        true
    });
    moved(scenario, x, 2, from)
        .law(move |filter, _| {
            let copies = 3 + 1 - 2 * taken;
            assert_eq!(filter.copies_at_rest(x), copies, "copies at rest");
        })
        .large_with_exchanges()
        .outcomes(&[[1, 0]])
}

/// `insert_unique` of a present item, while its slot moves, and one copy is removed.
fn unique(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("insert_unique beside two, remove, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, 2))
        .thread(move |filter| {
            assert_eq!(filter.insert_unique(x), Ok(false), "{WINNER}");
            true
        })
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            true
        });
    moved(scenario, x, 2, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1, 0]])
}

/// A union raises an item from one copy to three, while its slot moves.
fn union(from: usize) -> Scenario<(Fixed, Fixed)> {
    let x = even(0);
    let name = format!("union from 1 to 3, move {}", direction(from));
    Scenario::new(&name, move || (with(from, x, 1), with(P, x, 3).scanned_by(1)))
        .thread(move |(here, there)| here.union_with(there).is_some())
        .thread(move |(here, _)| {
            here.relocate(x, 1, from);
            0_usize
        })
        .law(move |(here, _), _| assert_eq!(here.copies_at_rest(x), 3, "copies at rest"))
        .large()
        .outcomes(&[[1, 0]])
}

/// Two unions raise an item to three copies, in words of one slot, which its copies fill.
fn two_unions(copies: usize) -> Scenario<[Counting<1>; 2]> {
    let x = even(0);
    let setup = move || {
        let slots: [&[(Item, usize)]; 2] = match copies {
            0 => [&[], &[]],
            1 => [&[(x, 1)], &[]],
            _ => [&[(x, 1)], &[(x, 1)]],
        };
        let here = Counting::new(&slots);
        [here, Counting::new(&[&[(x, 3)], &[]]).scanned_by(1)]
    };
    let raise = move |[here, there]: &[Counting<1>; 2]| {
        assert!(here.union_with(there).is_some(), "the copies fit");
        true
    };
    Scenario::new(&format!("two unions from {copies} to 3"), setup)
        .thread(raise)
        .thread(raise)
        .law(move |[here, _], _| assert_eq!(here.copies_at_rest(x), 3, "copies at rest"))
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1]])
}

/// A snapshot, while the slot moves and a copy is removed.
fn snapshot(from: usize) -> Scenario<Fixed> {
    let x = even(0);
    let name = format!("snapshot of two, move {}", direction(from));
    let scenario = Scenario::new(&name, move || with(from, x, 2).scanned_by(1)).thread(move |filter| {
        let [copies] = filter.scan([x]);
        assert!(copies >= 2, "a copy is missing: {copies}");
        true
    });
    moved(scenario, x, 2, from)
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 2, "copies at rest"))
        .outcomes(&[[1, 0]])
}

#[test]
fn each_copy_is_removed_once_while_its_slot_moves() {
    for from in ENDS {
        removes(from, 2).holds();
        removes(from, 3).holds();
        two_removes(from).holds();
        two_movers(from).holds();
        stale(from).holds();
    }
}

#[test]
fn each_insert_adds_a_copy_while_the_slot_moves() {
    for from in ENDS {
        insert(from, 1).holds();
        insert(from, 3).holds();
        insert(from, 4).holds();
        insert_and_remove(from).holds();
    }
    for copies in [0, 1, 2, 3] {
        two_inserts(copies).holds();
    }
}

#[test]
fn a_counted_item_is_found() {
    for from in ENDS {
        lookup(from).holds();
        unique(from).holds();
    }
}

#[test]
fn counts_are_those_of_one_moment() {
    for from in ENDS {
        count(from, 3).holds();
        count_after_remove(from).holds();
    }
}

#[test]
fn slots_of_one_item_join() {
    for from in ENDS {
        join(from, true).holds();
        join(from, false).holds();
    }
}

#[test]
fn unions_and_snapshots_carry_counts() {
    for from in ENDS {
        union(from).holds();
        snapshot(from).holds();
    }
}

#[test]
fn unions_add_no_copy_too_many_where_no_slot_is_empty() {
    two_unions(1).holds();
    two_unions(2).holds();
}

#[test]
fn unions_count_what_others_have_added() {
    two_unions(2).must_fail(Fault::UnionBlindly, "copies at rest");
}

#[test]
fn a_remove_takes_one_copy_of_a_slot_that_moves() {
    removes(Q, 2).must_fail(Fault::KillAllCopies, PRESENT);
    count_after_remove(Q).must_fail(Fault::KillAllCopies, COUNT);
}

#[test]
fn what_a_remove_takes_from_a_slot_stays_taken() {
    removes(Q, 2).must_fail(Fault::DeliverOldCount, ONCE);
    count_after_remove(Q).must_fail(Fault::DeliverOldCount, LEN);
}

#[test]
fn a_move_is_decided_for_the_count_that_was_outlined() {
    insert(Q, 1).must_fail(Fault::DecideAnyTag, LEN);
}

#[test]
fn an_insert_leaves_a_slot_alone_that_moves() {
    insert(Q, 1).must_fail(Fault::CountMarked, LEN);
}

#[test]
fn the_count_of_a_slot_that_moves_is_that_of_its_shadow() {
    count_after_remove(Q).must_fail(Fault::CountFromTrailing, COUNT);
}

#[test]
fn removes_from_a_shadow_need_the_hold() {
    for from in ENDS {
        stale(from).must_fail(Fault::KillNoHold, LEN);
        stale(from).must_fail(Fault::KillWrongStripe, LEN);
        stale(from).must_fail(Fault::HoldIgnored, LEN);
    }
}

#[test]
fn counted_copies_need_the_steps_of_other_copies() {
    lookup(Q).must_fail(Fault::ContainsNoValidate, LAW);
    count(Q, 3).must_fail(Fault::CountNoRereadP, COUNT);
    removes(Q, 2).must_fail(Fault::RemoveNoValidate, PRESENT);
    snapshot(Q).must_fail(Fault::FrontierIgnored, "a copy is missing");
}

#[test]
fn the_orderings_that_counters_rely_on_are_needed() {
    removes(P, 2).must_fail(Step::LoadForUpdate, PRESENT);
    removes(P, 2).must_fail(Step::Decide, PRESENT);
}

#[test]
fn the_wrong_operations_are_right_but_for_their_faults() {
    for from in ENDS {
        removes(from, 2).holds_rehearsed();
        insert(from, 1).holds_rehearsed();
        count(from, 3).holds_rehearsed();
    }
}

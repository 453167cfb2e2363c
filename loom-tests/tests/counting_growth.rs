//! Slots with counters, while their words are split. A filter does not grow for copies of one item.

use crate::common::{
    find::LAW,
    removes::{ONCE, PRESENT},
};
use guira::{
    InsertError,
    model::{Counting, Fault, Growing, Item, Step},
};
use guira_loom_tests::{P, Q, Scenario};

type Grows = Counting<2, 6>;

const COPIES: &str = "copies at rest";

const GROWN: &str = "the filter has grown for copies of one item";

const LEN: &str = "len and the words disagree";

/// The `nth` item of the pair (P, Q) whose fingerprint ends in these three bits.
fn ending(low: u64, nth: usize) -> Item {
    Growing::<2>::item_ending(2, (P, Q), low, 3, nth)
}

fn with(bucket: usize, item: Item, copies: usize) -> Grows {
    let slot = [(item, copies)];
    let mut residents: [&[(Item, usize)]; 2] = [&[], &[]];
    residents[bucket] = &slot;
    Counting::new(&residents)
}

/// One call on a slot of two copies, while its word is split. It must leave `left` copies.
fn call(
    name: &str,
    low: u64,
    bucket: usize,
    left: usize,
    call: impl Fn(&Grows, Item) -> usize + Send + Sync + 'static,
    result: usize,
) -> Scenario<Grows> {
    let x = ending(low, 0);
    let name = format!("{name}, split of bucket {bucket}, {low:03b}");
    Scenario::new(&name, move || with(bucket, x, 2))
        .thread(move |filter| call(filter, x))
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), left, "{COPIES}"))
        .outcomes(&[[result, 0]])
}

fn insert(low: u64, bucket: usize) -> Scenario<Grows> {
    let insert = |filter: &Grows, x| {
        assert!(filter.insert(x), "there is room");
        assert!(filter.contains(x), "{LAW}");
        1
    };
    call("insert", low, bucket, 3, insert, 1)
}

fn remove(low: u64, bucket: usize) -> Scenario<Grows> {
    let remove = |filter: &Grows, x| {
        assert!(filter.remove(x), "{PRESENT}");
        assert!(filter.contains(x), "{LAW}");
        1
    };
    call("remove of one of two", low, bucket, 1, remove, 1)
}

fn removes(low: u64, bucket: usize) -> Scenario<Grows> {
    let remove = |filter: &Grows, x| {
        assert!(filter.remove(x) && filter.remove(x), "{PRESENT}");
        assert!(!filter.remove(x), "{ONCE}");
        1
    };
    call("removes of two", low, bucket, 0, remove, 1)
}

fn count(low: u64, bucket: usize) -> Scenario<Grows> {
    let count = |filter: &Grows, x| filter.count(x);
    call("count of two", low, bucket, 2, count, 2)
}

/// The slot moves, while the word that it leaves or enters is split, and a copy is removed.
fn move_and_remove(from: usize, split: usize) -> Scenario<Grows> {
    let x = ending(0b101, 0);
    let name = format!("remove of one of two, move from {from}, split of {split}");
    Scenario::new(&name, move || with(from, x, 2))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            assert_eq!(filter.count(x), 1, "{ONCE}");
            true
        })
        .thread(move |filter| {
            filter.relocate(x, 2, from);
            0_usize
        })
        .thread(move |filter| {
            filter.split(x, split, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "{COPIES}"))
        .mains(&[0])
        .large()
        .loads_only()
        .outcomes(&[[1, 0, 0]])
}

/// The same with an insert.
fn move_and_insert(from: usize, split: usize) -> Scenario<Grows> {
    let x = ending(0b101, 0);
    let name = format!("insert beside two, move from {from}, split of {split}");
    Scenario::new(&name, move || with(from, x, 2))
        .thread(move |filter| filter.insert(x))
        .thread(move |filter| {
            filter.relocate(x, 2, from);
            0_usize
        })
        .thread(move |filter| {
            filter.split(x, split, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 3, "{COPIES}"))
        .mains(&[0])
        .large()
        .loads_only()
        .outcomes(&[[1, 0, 0]])
}

/// An insert of a class that fills both of its words, while a copy is removed. The insert takes the place of
/// that copy, or returns `TooManyCopies`. The filter does not grow.
fn full_pair(low: u64) -> Scenario<Grows> {
    let x = ending(low, 0);
    let name = format!("insert into a pair full of copies beside a remove, {low:03b}");
    let full = move || Counting::new(&[&[(x, 4), (x, 4)], &[(x, 4), (x, 4)]]);
    Scenario::new(&name, full)
        .thread(move |filter: &Grows| match filter.try_insert(x) {
            Ok(()) => 1_usize,
            Err(error) => {
                assert_eq!(error, InsertError::TooManyCopies, "the reason");
                0
            }
        })
        .thread(move |filter| usize::from(filter.remove(x)))
        .law(move |filter, results| {
            assert!(filter.level() == 0 && !filter.is_growing(0), "{GROWN}");
            assert_eq!(filter.copies_at_rest(x), 15 + results[0], "{COPIES}");
        })
        .outcomes(&[[0, 1], [1, 1]])
}

#[test]
fn a_filter_does_not_grow_for_copies_of_one_item() {
    full_pair(0b001).holds();
    full_pair(0b001).must_fail(Fault::GrowForCopies, GROWN);
}

#[test]
fn copies_are_counted_while_their_word_is_split() {
    for (low, bucket) in [(0b000, P), (0b001, Q), (0b111, P)] {
        insert(low, bucket).holds();
        remove(low, bucket).holds();
        removes(low, bucket).holds();
        count(low, bucket).holds();
    }
}

#[test]
fn a_slot_moves_beside_a_split() {
    for (from, split) in [(P, P), (P, Q), (Q, P), (Q, Q)] {
        move_and_remove(from, split).holds();
        move_and_insert(from, split).holds();
    }
}

#[test]
fn a_split_freezes_its_word_first() {
    insert(0b001, Q).must_fail(Fault::NoFreeze, LEN);
    remove(0b001, Q).must_fail(Fault::NoFreeze, LEN);
}

#[test]
fn a_word_is_cut_after_the_new_one_is_there() {
    count(0b001, Q).must_fail(Fault::CutFirst, "");
}

#[test]
fn an_insert_heeds_the_phase_of_its_word() {
    insert(0b001, Q).must_fail(Fault::PhaseIgnored, "");
}

#[test]
fn the_orderings_that_counts_beside_a_split_rely_on_are_needed() {
    count(0b001, Q).must_fail(Step::Cut, "");
}

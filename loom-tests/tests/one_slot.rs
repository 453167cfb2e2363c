//! Words of one slot, and their split into words of two. The one slot holds a fingerprint, with
//! or without a mark, or a reservation.

use crate::common::{
    find::{LAW, find},
    removes::{ONCE, PRESENT},
};
use guira::model::{Fault, Growing, Item, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, growth::UNMADE, other};

type OneSlot = Scenario<Growing<1>>;

/// Both calls returned true, or none did.
const WINNER: &str = "exactly one inserts";

/// The item is in no word.
const GONE: &str = "len and the words disagree: []";

fn ending(low: u64, nth: usize) -> Item {
    Growing::<1>::item_ending(2, (P, Q), low, 3, nth)
}

/// A filter with one item in `bucket`, whose words can be split `levels` times.
fn with(bucket: usize, item: Option<Item>, levels: u32) -> Growing<1> {
    let item = item.as_slice();
    let mut residents: [&[Item]; 2] = [&[], &[]];
    residents[bucket] = item;
    Growing::growing(&residents, levels + 2)
}

fn split(filter: &Growing<1>, item: Item, buckets: &[usize], level: u32) -> bool {
    for &bucket in buckets {
        filter.split(item, bucket, level);
    }
    true
}

/// A lookup, while the word of the item is split. It has one slot at first, and then two.
fn lookup(low: u64, bucket: usize, times: u32) -> OneSlot {
    let x = ending(low, 0);
    let name = format!("lookup of {low:03b}, {times} splits of bucket {bucket}");
    OneSlot::new(&name, move || with(bucket, Some(x), times))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| {
            for level in 0..times {
                filter.split(x, bucket, level);
            }
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 1]])
}

/// A lookup, while the item moves from one word to the other, and one of them is split.
fn move_and_split(from: usize, bucket: usize) -> OneSlot {
    let x = ending(0b111, 0);
    let name = format!("lookup, move {}, split of {bucket}", direction(from));
    OneSlot::new(&name, move || with(from, Some(x), 1))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| {
            assert!(filter.relocate(x, from), "nothing is in the way of the move");
            true
        })
        .thread(move |filter| split(filter, x, &[bucket], 0))
        .law(move |filter, _| {
            assert_eq!(filter.at_rest().len(), 1, "copies at rest");
            assert_eq!(filter.at_rest()[0].0, other(from), "the move is done");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1, 1]])
}

/// An insert into an empty word, while this word is split.
fn insert() -> OneSlot {
    // If both buckets are empty, the insert chooses Q, because the lowest bit of the item is 1.
    let x = ending(0b111, 0);
    OneSlot::new("insert, split", move || with(P, None, 1))
        .thread(move |filter| {
            assert!(filter.insert(x), "there is room");
            find(filter, x)
        })
        .thread(move |filter| split(filter, x, &[Q], 0))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 1]])
}

/// Two inserts into a pair whose two words are full. Only words of two slots have room for all.
fn inserts_on_demand() -> OneSlot {
    let (a, b) = (ending(0b000, 0), ending(0b001, 0));
    let new = [ending(0b010, 0), ending(0b011, 0)];
    let insert = move |filter: &Growing<1>, item| {
        assert_eq!(filter.try_insert(item), Ok(()), "it grows: {filter:?}");
        find(filter, item)
    };
    let setup = move || Growing::growing(&[&[a], &[b]], 2);
    OneSlot::new("two inserts that grow", setup)
        .thread(move |filter| insert(filter, new[0]))
        .thread(move |filter| insert(filter, new[1]))
        .law(move |filter, _| {
            for item in [a, b].into_iter().chain(new) {
                assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
            }
            filter.finish_growth();
            assert_eq!(filter.at_rest().len(), 4, "after the splits");
        })
        .mains(&[0])
        .large()
        .large()
        .outcomes(&[[1, 1]])
}

/// Two removes of one copy, while its word is split.
fn removes(bucket: usize) -> OneSlot {
    let x = ending(0b111, 0);
    let name = format!("two removes, split of {bucket}");
    OneSlot::new(&name, move || with(bucket, Some(x), 1))
        .thread(move |filter| filter.remove(x))
        .thread(move |filter| filter.remove(x))
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            0_usize
        })
        .law(move |filter, results| {
            assert_eq!(results[0] + results[1], 1, "{ONCE}");
            assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}");
        })
        .mains(&[0, 2])
        .outcomes(&[[0, 1, 0], [1, 0, 0]])
}

/// A remove, while the item moves.
fn remove_and_move(from: usize) -> OneSlot {
    let x = ending(0b111, 0);
    let name = format!("remove, move {}", direction(from));
    OneSlot::new(&name, move || with(from, Some(x), 0))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            assert!(!filter.contains(x), "a removed item is still there");
            true
        })
        .thread(move |filter| {
            filter.relocate(x, from);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}"))
        .outcomes(&[[1, 0]])
}

/// Two calls of `insert_unique`, while the words of the pair are split, or another item moves out of
/// one of them. A reservation takes the only slot of a word.
fn uniques(name: &str, resident: Option<Item>, third: fn(&Growing<1>, Item)) -> OneSlot {
    let x = ending(0b111, 0);
    let insert = move |filter: &Growing<1>| {
        let inserted = filter.insert_unique(x).expect("there is room");
        assert!(filter.contains(x), "{LAW}");
        inserted
    };
    OneSlot::new(&format!("two insert_unique, {name}"), move || with(P, resident, 1))
        .thread(insert)
        .thread(move |filter| {
            third(filter, resident.unwrap_or(x));
            0_usize
        })
        .thread(insert)
        .law(move |filter, results| {
            assert_eq!(results[0] + results[2], 1, "{WINNER}");
            assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[0, 0, 1], [1, 0, 0]])
}

/// Two calls of `insert_unique`. One thread then moves the item out of `from`, if it is there.
fn uniques_and_move(from: usize) -> OneSlot {
    let x = ending(0b111, 0);
    let insert = move |filter: &Growing<1>| filter.insert_unique(x).expect("there is room");
    let name = format!("two insert_unique, move {}", direction(from));
    OneSlot::new(&name, move || with(P, None, 0))
        .thread(move |filter| insert(filter))
        .thread(move |filter| {
            let inserted = insert(filter);
            filter.relocate(x, from);
            inserted
        })
        .law(move |filter, results| {
            assert_eq!(results[0] + results[1], 1, "{WINNER}");
            assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        })
        .outcomes(&[[0, 1], [1, 0]])
}

fn uniques_and_splits() -> OneSlot {
    uniques("split of Q", None, |filter, x| filter.split(x, Q, 0))
}

fn uniques_and_remove() -> OneSlot {
    uniques("remove of another item", Some(ending(0b010, 0)), |filter, y| {
        assert!(filter.remove(y), "{PRESENT}");
    })
}

#[test]
fn a_lookup_finds_what_is_split_into_two_slots() {
    for bucket in ENDS {
        for low in [0b111, 0b110] {
            lookup(low, bucket, 1).holds();
            lookup(low, bucket, 2).holds();
        }
    }
}

#[test]
fn a_lookup_finds_what_is_moved_and_split() {
    for from in ENDS {
        for bucket in ENDS {
            move_and_split(from, bucket).holds();
        }
    }
}

#[test]
fn an_insert_is_in_the_word_that_counts() {
    insert().holds();
    inserts_on_demand().holds();
}

#[test]
fn one_copy_is_removed_once() {
    for bucket in ENDS {
        removes(bucket).holds();
        remove_and_move(bucket).holds();
    }
}

#[test]
fn one_insert_unique_wins() {
    uniques_and_splits().holds();
    uniques_and_remove().holds();
    for from in ENDS {
        uniques_and_move(from).holds();
    }
}

#[test]
fn lookups_need_each_step_of_the_split() {
    lookup(0b111, P, 1).must_fail(Fault::CutFirst, UNMADE);
    lookup(0b111, P, 1).must_fail(Fault::ContainsAnyPlane, LAW);
    lookup(0b111, P, 1).must_fail(Step::Cut, UNMADE);
    lookup(0b111, P, 1).must_fail(Step::ReadP, UNMADE);
    lookup(0b111, Q, 1).must_fail(Step::ReadQ, UNMADE);
    move_and_split(Q, P).must_fail(Fault::NoAdvance, LAW);
}

#[test]
fn writers_leave_a_frozen_word_alone() {
    insert().must_fail(Fault::NoFreeze, GONE);
    insert().must_fail(Fault::FrozenIgnored, GONE);
    insert().must_fail(Fault::PhaseIgnored, LAW);
    removes(P).must_fail(Fault::FrozenIgnored, ONCE);
    move_and_split(Q, Q).must_fail(Fault::MarkDropped, "is_marked(Mark::Trailing");
}

#[test]
fn a_block_is_published_before_a_word_is_frozen() {
    inserts_on_demand().must_fail(Fault::PublishLate, UNMADE);
}

#[test]
fn a_reservation_takes_the_only_slot() {
    uniques_and_move(Q).must_fail(Fault::UniqueNoReservation, WINNER);
    uniques_and_splits().must_fail(Fault::ReservationKept, "a reservation is left");
}

//! Each copy is removed exactly once, and a present item is removed, while words are split and where
//! they are ahead of the hint.

use crate::common::removes::{ONCE, PRESENT, one_remove_too_many, remove_and_reinsert, second_copy};
use guira::model::{Fault, Growing};
use guira_loom_tests::{
    ENDS, P, Q, direction,
    growth::{Growth, ending, growing, split},
    other,
};

/// A removed item is in the word that a split has created.
const BACK: &str = "len and the words disagree: [(0,";

/// Two removes of one copy, while its word is split.
fn removes(bucket: usize, times: u32) -> Growth {
    let x = ending(0b111, 0);
    Growth::new(
        &format!("two removes, {times} splits of {bucket}"),
        move || growing(bucket, &[x], times),
    )
    .thread(move |filter| filter.remove(x))
    .thread(move |filter| filter.remove(x))
    .thread(move |filter| {
        for level in 0..times {
            split(filter, x, &[bucket], level);
        }
        0_usize
    })
    .law(move |filter, results| {
        assert_eq!(results[0] + results[1], 1, "{ONCE}");
        assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}");
    })
    .mains(&[0, 2])
    .outcomes(&[[0, 1, 0], [1, 0, 0]])
}

/// A remove, while the item is moved and a word is split.
fn move_and_remove(from: usize, bucket: usize) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("remove, move {}, split of {bucket}", direction(from));
    Growth::new(&name, move || growing(from, &[x], 1))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            assert!(!filter.contains(x), "a removed item is still there");
            true
        })
        .thread(move |filter| {
            filter.relocate(x, from);
            0_usize
        })
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}"))
        .mains(&[0])
        .large()
        .outcomes(&[[1, 0, 0]])
}

/// The splitting thread also moves the item, before and after the split.
fn mover_that_splits(from: usize) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("removes, move {}, split, move back", direction(from));
    Growth::new(&name, move || growing(from, &[x], 1))
        .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x)))
        .thread(move |filter| {
            filter.relocate(x, from);
            split(filter, x, &[other(from)], 0);
            filter.relocate(x, other(from));
            0_usize
        })
        .law(move |filter, results| {
            assert_eq!(results[0], 1, "{PRESENT}");
            assert_eq!(filter.copies_at_rest(x), 0, "{ONCE}");
        })
        .large()
        .outcomes(&[[1, 0]])
}

/// The item is removed and inserted again, while its word is split and another thread also removes
/// it.
fn reinsert(bucket: usize) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("remove and re-insert, split of {bucket}");
    remove_and_reinsert(
        Growth::new(&name, move || growing(bucket, &[x], 1)),
        x,
        Growing::copies_at_rest,
        move |filter| split(filter, x, &[bucket], 0),
    )
}

/// A second copy is inserted into Q, and the one in P is removed. Both words are ahead of the hint.
fn window() -> Growth {
    let x = ending(0b111, 0);
    let both_split = move || {
        let filter = growing(P, &[x], 1);
        split(&filter, x, &ENDS, 0);
        filter
    };
    second_copy(
        Growth::new("two removes, insert into Q, both split", both_split),
        x,
        Growing::copies_at_rest,
    )
}

/// Two movers and removes, while one of the movers splits words between its moves.
fn two_movers(from: [usize; 2], residents: [usize; 2]) -> Growth {
    let x = ending(0b111, 0);
    let copies = residents[P] + residents[Q];
    let setup = move || Growing::growing(&[&[x; 2][..residents[P]], &[x; 2][..residents[Q]]], 1);
    let name = format!("removes, movers from {from:?} of {residents:?}, split");
    one_remove_too_many(
        Growth::new(&name, setup),
        x,
        copies,
        Growing::copies_at_rest,
        move |filter| {
            filter.relocate(x, from[0]);
        },
        move |filter| {
            split(filter, x, &[other(from[1])], 0);
            filter.relocate(x, from[1]);
        },
    )
}

/// Two threads split the same words, which contain several copies and other items.
fn two_splitters() -> Growth {
    let (x, y) = (ending(0b111, 0), ending(0b010, 0));
    let splits = move |filter: &Growing<2>| {
        split(filter, x, &[P, Q], 0);
        0_usize
    };
    Growth::new("remove, two splitters", move || {
        Growing::growing(&[&[x, y], &[y, x]], 1)
    })
    .thread(splits)
    .thread(splits)
    .thread(move |filter| filter.remove(x))
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "{ONCE}");
        assert_eq!(filter.copies_at_rest(y), 2, "{ONCE}");
    })
    .mains(&[0, 2])
    .large()
    .outcomes(&[[0, 0, 1]])
}

#[test]
fn one_copy_is_removed_once_while_it_is_split() {
    for bucket in ENDS {
        removes(bucket, 1).holds();
    }
    removes(Q, 2).large().holds();
}

#[test]
fn a_present_item_is_removed_while_it_is_moved_and_split() {
    for from in ENDS {
        mover_that_splits(from).holds();
        move_and_remove(from, P).holds();
        move_and_remove(from, Q).holds();
    }
}

#[test]
fn a_removed_item_comes_back_while_its_word_is_split() {
    for bucket in ENDS {
        reinsert(bucket).holds();
    }
}

#[test]
fn a_remove_between_two_levels_finds_the_copy_that_another_one_leaves() {
    window().holds();
}

#[test]
fn remove_reads_the_lower_bucket_first_between_two_levels() {
    window().must_fail(Fault::RemoveReadsHigherFirst, PRESENT);
}

#[test]
fn two_movers_and_a_split_do_not_multiply_removes() {
    two_movers([Q, Q], [0, 1]).holds();
    two_movers([P, P], [1, 0]).holds();
    two_movers([Q, P], [0, 1]).holds();
}

#[test]
fn two_splitters_make_one_split() {
    two_splitters().holds();
}

#[test]
fn a_writer_does_not_change_a_frozen_word() {
    removes(P, 1).must_fail(Fault::FrozenIgnored, ONCE);
    removes(P, 1).must_fail(Fault::NoFreeze, BACK);
}

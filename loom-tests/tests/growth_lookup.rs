//! A lookup finds a present item while words are split and packed again, and sees nothing in a word
//! of another level.

use crate::common::{
    find::{LAW, find},
    moves::relocate_times,
};
use guira::model::{Fault, Growing, Step};
use guira_loom_tests::{
    ENDS, P, Q, direction,
    growth::{Growth, UNMADE, ending, growing, split},
    other,
};

/// Bits of an item that goes to the new word in the first three splits.
const GOES: u64 = 0b111;
/// Bits of an item that stays in the first split and goes in the second.
const GOES_LATER: u64 = 0b110;

/// A word of one level was read as if it had another level.
const MISTAKEN: &str = "an absent item is found";

/// A lookup, while the word of the item is split `times` times in a row.
fn splits(low: u64, bucket: usize, times: u32) -> Growth {
    let x = ending(low, 0);
    let name = format!("lookup of {low:03b}, {times} splits of bucket {bucket}");
    Growth::new(&name, move || growing(bucket, &[x], times))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| {
            for level in 0..times {
                filter.split(x, bucket, level);
            }
            true
        })
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
            assert_eq!(filter.level_of(x, bucket), times, "all splits are done");
        })
        .outcomes(&[[1, 1]])
}

/// A lookup, while the item is moved and one or both words are split.
fn move_and_split(low: u64, from: usize, buckets: &'static [usize]) -> Growth {
    let x = ending(low, 0);
    let name = format!(
        "lookup of {low:03b}, move {}, split of {buckets:?}",
        direction(from)
    );
    let scenario = Growth::new(&name, move || growing(from, &[x], 1))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| relocate_times(filter, x, from, 1))
        .thread(move |filter| {
            split(filter, x, buckets, 0);
            true
        })
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
            assert_eq!(
                filter.stats().conservative_lookups,
                0,
                "the lookup needed no more attempts"
            );
        })
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1, 1]]);
    // If both words are repacked, two preemptions take 4 million iterations.
    if buckets.len() == 2 {
        scenario.large()
    } else {
        scenario
    }
}

/// One thread moves the item, and splits the source and the target word.
fn move_then_split(from: usize) -> Growth {
    let x = ending(GOES, 0);
    Growth::new(
        &format!("lookup, move {}, then both split", direction(from)),
        move || growing(from, &[x], 2),
    )
    .thread(move |filter| find(filter, x))
    .thread(move |filter| {
        relocate_times(filter, x, from, 1);
        split(filter, x, &[other(from), from], 0);
        relocate_times(filter, x, other(from), 1)
    })
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .mains(&[0])
    .large()
    .loads_only()
    .outcomes(&[[1, 1]])
}

/// A lookup, while two threads split the same word.
fn two_splitters(times: u32) -> Growth {
    let x = ending(GOES, 0);
    let splits = move |filter: &guira::model::Growing<2>| {
        for level in 0..times {
            filter.split(x, P, level);
        }
        true
    };
    Growth::new(
        &format!("lookup, two splitters, {times} splits"),
        move || growing(P, &[x], times),
    )
    .thread(move |filter| find(filter, x))
    .thread(splits)
    .thread(splits)
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .mains(&[0])
    .large()
    .outcomes(&[[1, 1, 1]])
}

/// A lookup of one of two items that stay in their word while it is split and repacked.
fn two_in_a_word(bucket: usize) -> Growth {
    let [x, y] = [0b000, 0b010].map(|low| ending(low, 0));
    let name = format!("lookup of two, split of bucket {bucket}");
    Growth::new(&name, move || growing(bucket, &[x, y], 1))
        .thread(move |filter| find(filter, x) && find(filter, y))
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            true
        })
        .law(move |filter, _| {
            for item in [x, y] {
                assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
            }
        })
        .outcomes(&[[1, 1]])
}

/// A lookup of an absent item, while a word is split. At the next level, that word contains the
/// bits that are the fingerprint of the absent item at this level.
fn mistaken(bucket: usize) -> Growth {
    let x = ending(0b110, 0);
    let absent = Growing::<2>::mistaken_for(x);
    let name = format!("lookup of an absent item, split of bucket {bucket}");
    Growth::new(&name, move || growing(bucket, &[x], 1))
        .thread(move |filter| {
            assert!(!filter.contains(absent), "{MISTAKEN}");
            true
        })
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 1]])
}

#[test]
fn a_lookup_finds_what_is_packed_anew() {
    for bucket in ENDS {
        two_in_a_word(bucket).holds();
        mistaken(bucket).holds();
    }
}

#[test]
fn a_word_says_something_else_at_another_level() {
    for bucket in ENDS {
        mistaken(bucket).must_fail(Fault::ContainsMatchesFirst, MISTAKEN);
        two_in_a_word(bucket).must_fail(Fault::PackedAsBefore, "copies at rest");
    }
}

#[test]
fn a_lookup_finds_what_is_split_meanwhile() {
    for bucket in ENDS {
        for low in [GOES, GOES_LATER] {
            splits(low, bucket, 1).holds();
            splits(low, bucket, 2).holds();
            splits(low, bucket, 3).holds();
        }
    }
}

#[test]
fn a_lookup_finds_what_is_moved_and_split() {
    for from in ENDS {
        move_and_split(GOES, from, if from == P { &[P] } else { &[Q] }).holds();
        move_and_split(GOES, from, if from == P { &[Q] } else { &[P] }).holds();
        move_and_split(GOES_LATER, from, &[P]).holds();
        move_and_split(GOES_LATER, from, &[Q]).holds();
        move_and_split(GOES_LATER, from, &[P, Q]).holds();
        move_then_split(from).holds();
    }
}

#[test]
fn a_lookup_finds_what_two_threads_split() {
    two_splitters(1).holds();
    two_splitters(2).holds();
}

#[test]
fn the_new_word_is_made_before_the_old_one_is_cut() {
    splits(GOES, P, 1).must_fail(Fault::CutFirst, UNMADE);
}

#[test]
fn nothing_is_absent_from_words_that_do_not_count() {
    splits(GOES, P, 1).must_fail(Fault::ContainsAnyPlane, LAW);
    splits(GOES_LATER, Q, 2).must_fail(Fault::ContainsAnyPlane, LAW);
}

#[test]
fn a_move_advances_the_version_while_words_are_split() {
    move_and_split(GOES, Q, &[P]).must_fail(Fault::NoAdvance, LAW);
    move_then_split(Q)
        .mains(&[1])
        .must_fail(Fault::NoAdvance, LAW);
}

#[test]
fn the_orderings_of_a_split_are_needed() {
    splits(GOES, P, 1).must_fail(Step::Cut, UNMADE);
    splits(GOES, P, 1).must_fail(Step::ReadP, UNMADE);
    splits(GOES, Q, 1).must_fail(Step::ReadQ, UNMADE);
}

/// A thread that cuts has created the new word, or has observed it, and Cut releases it.
#[test]
fn a_new_word_need_not_be_released() {
    for bucket in ENDS {
        splits(GOES, bucket, 1).holds_relaxed(Step::Copy);
        splits(GOES, bucket, 2).holds_relaxed(Step::Copy);
    }
    two_splitters(1).holds_relaxed(Step::Copy);
    two_splitters(2).holds_relaxed(Step::Copy);
}

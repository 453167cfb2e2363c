//! While words are split, a snapshot contains every item that is present during the whole call, and
//! exactly once if the item is not moved.

use crate::common::{
    levels::while_levels_complete,
    splits::{while_a_word_is_split, while_moved_and_split},
};
use guira::model::{Fault, Growing, Item, Step};
use guira_loom_tests::{
    ENDS, P, Q, direction,
    growth::{Growth, ending, growing},
};

const LAW: &str = "lost from the snapshot";

/// Bits of an item that goes to the new word in the first two splits.
const GOES: u64 = 0b111;
/// Bits of an item that stays in the first split and goes in the second.
const GOES_LATER: u64 = 0b110;

/// The number of copies of the item in a snapshot, at least one.
fn scanned(filter: &Growing<2>, x: Item) -> usize {
    let [copies] = filter.scan([x]);
    assert!(copies > 0, "{LAW}");
    copies
}

/// A filter with the item in P, where only the word of bucket `ahead` is split. Snapshots scan
/// `chunk` buckets at a time.
fn split_ahead(x: Item, ahead: usize, chunk: usize) -> Growing<2> {
    let filter = growing(P, &[x], 1).scanned_by(chunk);
    filter.split(x, ahead, 0);
    filter
}

/// A snapshot, while the word of the item is split.
fn splits(low: u64, bucket: usize) -> Growth {
    let x = ending(low, 0);
    let name = format!("snapshot of {low:03b}, split of bucket {bucket}");
    let snapshot = Growth::new(&name, move || growing(bucket, &[x], 1).scanned_by(1))
        .thread(move |filter| scanned(filter, x));
    while_a_word_is_split(snapshot, x, bucket)
}

/// A snapshot, while all words are split `levels` times, so that it starts new passes.
fn levels(low: u64, bucket: usize, levels: u32) -> Growth {
    let x = ending(low, 0);
    let name = format!("snapshot of {low:03b} in {bucket}, {levels} levels");
    let snapshot = Growth::new(&name, move || growing(bucket, &[x], levels).scanned_by(1))
        .thread(move |filter| scanned(filter, x));
    while_levels_complete(snapshot, x, levels)
}

/// A snapshot, while the item is moved and one or both words are split. If the move is in progress
/// at that time, the item may be in the snapshot twice.
fn move_and_split(from: usize, buckets: &'static [usize]) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("snapshot, move {}, split of {buckets:?}", direction(from));
    let snapshot = Growth::new(&name, move || growing(from, &[x], 1).scanned_by(1))
        .thread(move |filter| scanned(filter, x));
    while_moved_and_split(snapshot, x, from, buckets).mains(&[0, 1])
}

/// A snapshot in chunks of `chunk` buckets, while a second copy is inserted into Q and the first
/// one is removed from P. The word of `ahead` was split before.
fn copies_come_and_go(ahead: usize, chunk: usize) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("snapshot by {chunk}, insert and remove, bucket {ahead} is split");
    Growth::new(&name, move || split_ahead(x, ahead, chunk))
        .thread(move |filter| scanned(filter, x))
        .thread(move |filter| {
            filter.insert_into(x, Q);
            usize::from(filter.remove(x))
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 1], [2, 1]])
}

/// The same, while that thread continues the splits, and another thread also splits.
fn copies_come_and_go_while_swept(ahead: usize) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("snapshot, insert and remove, splits, bucket {ahead} is split");
    Growth::new(&name, move || split_ahead(x, ahead, 2))
        .thread(move |filter| scanned(filter, x))
        .thread(move |filter| {
            assert!(filter.insert(x), "there is room");
            usize::from(filter.remove(x))
        })
        .thread(move |filter| {
            filter.finish_growth();
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .mains(&[0, 1])
        .large()
        .outcomes(&[[1, 1, 0], [2, 1, 0]])
}

#[test]
fn a_snapshot_has_a_class_whose_copies_come_and_go() {
    for ahead in ENDS {
        copies_come_and_go(ahead, 1).holds();
        copies_come_and_go(ahead, 2).holds();
        copies_come_and_go_while_swept(ahead).holds();
    }
}

#[test]
fn a_snapshot_has_what_is_split_meanwhile() {
    for bucket in ENDS {
        for low in [GOES, GOES_LATER] {
            splits(low, bucket).holds();
            levels(low, bucket, 1).holds();
        }
    }
    levels(GOES, Q, 2).holds();
    levels(GOES_LATER, P, 2).holds();
}

#[test]
fn a_snapshot_has_what_is_moved_and_split() {
    for from in ENDS {
        move_and_split(from, &[P]).holds();
        move_and_split(from, &[Q]).holds();
    }
}

#[test]
fn the_new_word_is_made_before_the_old_one_is_cut() {
    splits(GOES, P).must_fail(Fault::CutFirst, LAW);
}

#[test]
fn a_chunk_is_scanned_bucket_by_bucket() {
    copies_come_and_go(P, 2).must_fail(Fault::ScanByPlane, LAW);
    copies_come_and_go_while_swept(P).must_fail(Fault::ScanByPlane, LAW);
}

#[test]
fn a_scan_sees_what_a_split_made() {
    splits(GOES, P).must_fail(Step::Scan, LAW);
    splits(GOES, P).must_fail(Step::Cut, LAW);
}

//! A merge adds every copy that is in the other filter during the whole call, while items of that
//! filter move and its words are split.
//!
//! Only the merging thread uses the target filter. Inserts are the same there as elsewhere, and a
//! second thread would only multiply the interleavings.

use crate::common::{
    levels::while_levels_complete,
    splits::{while_a_word_is_split, while_moved_and_split},
};
use guira::model::{Fault, Growing, Item, Model, Step};
use guira_loom_tests::{
    ENDS, P, Q, Scenario, direction, even,
    growth::{Growth, ending, growing},
    with,
};

const LAW: &str = "not merged";

/// The message of loom if a merge sees a word whose level is beyond the planes, but does not see
/// that there are more planes. It then repeats the chunk without end.
const ENDLESS: &str = "Model exceeded maximum number of branches";

/// Bits of an item that goes to the new word in the first two splits.
const GOES: u64 = 0b111;
/// Bits of an item that stays in the first split and goes in the second.
const GOES_LATER: u64 = 0b110;

/// Merges the filter into an empty one, and returns the number of copies of the item in it.
fn merged<const PHASE_BITS: u32>(
    into: &Model<2, PHASE_BITS>,
    filter: &Model<2, PHASE_BITS>,
    x: Item,
) -> usize {
    assert!(into.merge(filter), "there is room");
    let copies = into.count(x);
    assert!(copies > 0, "{LAW}");
    copies
}

fn merged_fixed(filter: &Model<2>, x: Item) -> usize {
    merged(&Model::new(&[&[], &[]]), filter, x)
}

fn merged_growing(filter: &Growing<2>, x: Item) -> usize {
    merged(&Growing::growing(&[&[], &[]], 0), filter, x)
}

/// A merge that scans `chunk` buckets at a time, while an item is moved.
fn one_mover(from: usize, chunk: usize) -> Scenario {
    let x = even(0);
    let name = format!("merge by {chunk}, move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(chunk))
        .thread(move |filter| merged_fixed(filter, x))
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 0], [1, 1], [2, 0], [2, 1]])
}

/// A merge, while the word of the item is split.
fn splits(low: u64, bucket: usize) -> Growth {
    let x = ending(low, 0);
    let name = format!("merge of {low:03b}, split of bucket {bucket}");
    let merge = Growth::new(&name, move || growing(bucket, &[x], 1).scanned_by(1))
        .thread(move |filter| merged_growing(filter, x));
    while_a_word_is_split(merge, x, bucket)
}

/// A merge, while all words are split `levels` times. A chunk is scanned again, each time over more
/// planes.
fn levels(low: u64, bucket: usize, levels: u32) -> Growth {
    let x = ending(low, 0);
    let name = format!("merge of {low:03b} in {bucket}, {levels} levels");
    let merge = Growth::new(&name, move || growing(bucket, &[x], levels).scanned_by(1))
        .thread(move |filter| merged_growing(filter, x));
    while_levels_complete(merge, x, levels)
}

/// A merge, while the item is moved and one or both words are split.
fn move_and_split(from: usize, buckets: &'static [usize]) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("merge, move {}, split of {buckets:?}", direction(from));
    let merge = Growth::new(&name, move || growing(from, &[x], 1).scanned_by(1))
        .thread(move |filter| merged_growing(filter, x));
    while_moved_and_split(merge, x, from, buckets).mains(&[0])
}

/// A merge in chunks of `chunk` buckets, while a second copy is inserted into Q and the first one
/// is removed from P. P is split, and Q is not.
fn copies_come_and_go(chunk: usize) -> Growth {
    let x = ending(GOES, 0);
    let setup = move || {
        let filter = growing(P, &[x], 1).scanned_by(chunk);
        filter.split(x, P, 0);
        filter
    };
    Growth::new(&format!("merge by {chunk}, insert and remove"), setup)
        .thread(move |filter| merged_growing(filter, x))
        .thread(move |filter| {
            filter.insert_into(x, Q);
            usize::from(filter.remove(x))
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[1, 1], [2, 1]])
}

#[test]
fn what_is_moved_meanwhile_is_merged() {
    for from in ENDS {
        for chunk in [1, 2] {
            one_mover(from, chunk).holds();
        }
    }
}

#[test]
fn what_is_split_meanwhile_is_merged() {
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
fn what_is_moved_and_split_meanwhile_is_merged() {
    for from in ENDS {
        move_and_split(from, &[P]).holds();
        move_and_split(from, &[Q]).holds();
    }
}

#[test]
fn a_class_whose_copies_come_and_go_is_merged() {
    copies_come_and_go(1).holds();
    copies_come_and_go(2).holds();
}

#[test]
fn without_a_frontier_it_fails() {
    one_mover(Q, 1).must_fail(Fault::FrontierIgnored, LAW);
    one_mover(Q, 2).must_fail(Fault::FrontierIgnored, LAW);
}

#[test]
fn without_fences_it_fails() {
    one_mover(Q, 1).must_fail(Fault::NoFence, LAW);
}

#[test]
fn without_shadows_it_fails() {
    for from in ENDS {
        one_mover(from, 1).must_fail(Fault::ScanNoShadows, LAW);
    }
}

#[test]
fn a_chunk_is_scanned_bucket_by_bucket() {
    copies_come_and_go(2).must_fail(Fault::ScanByPlane, LAW);
}

#[test]
fn the_new_word_is_made_before_the_old_one_is_cut() {
    splits(GOES, P).must_fail(Fault::CutFirst, LAW);
}

#[test]
fn a_merge_that_sees_a_split_sees_its_planes() {
    splits(GOES, P).must_fail(Step::Scan, ENDLESS);
    splits(GOES, P).must_fail(Step::Cut, LAW);
}

//! If a thread writes something and then inserts an item, a thread that finds the item sees the
//! write, even if others have moved the item or split its word.

use guira::model::{Model, Step};
use guira_loom_tests::{
    ENDS, P, Q, Scenario, direction, even,
    growth::{Growth, ending, growing},
    odd, other, with,
};
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const LAW: &str = "an item is found before what was written before it was inserted";

loom::lazy_static! {
    /// The write is outside the filter, and nothing else orders it.
    static ref WRITTEN: AtomicUsize = AtomicUsize::new(0);
}

fn write() {
    WRITTEN.store(1, Relaxed);
}

/// Checks that the lookup found nothing that was not yet written.
fn law(found: usize) -> usize {
    assert!(WRITTEN.load(Relaxed) >= found, "{LAW}");
    found
}

/// A pair in which `bucket` is the emptier one.
fn emptier(bucket: usize) -> Model<2> {
    with(other(bucket), &[odd(0)])
}

/// A lookup, while the item is inserted into `bucket` and moved from there.
fn moved(bucket: usize) -> Scenario {
    let x = even(0);
    let name = format!("lookup, insert, move {}", direction(bucket));
    Scenario::new(&name, move || emptier(bucket))
        .thread(move |filter| law(filter.contains(x).into()))
        .thread(move |filter| {
            write();
            assert!(filter.insert(x), "there is room");
            true
        })
        .thread(move |filter| filter.relocate(x, bucket))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
}

/// A count instead of the lookup, and `insert_unique` instead of `insert`.
fn counted(bucket: usize) -> Scenario {
    let x = even(0);
    let name = format!("count, insert_unique into {bucket}");
    Scenario::new(&name, move || emptier(bucket))
        .thread(move |filter| law(filter.count(x)))
        .thread(move |filter| {
            write();
            assert_eq!(filter.insert_unique(x), Ok(true));
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 1], [1, 1]])
}

/// A second `insert_unique`, which finds the item present.
fn told_present() -> Scenario {
    let x = even(0);
    Scenario::new("two calls of insert_unique", move || emptier(P))
        .thread(move |filter| {
            let added = filter.insert_unique(x).expect("there is room");
            law(usize::from(!added))
        })
        .thread(move |filter| {
            write();
            filter.insert_unique(x).expect("there is room")
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 0], [1, 1]])
}

/// A lookup, while the word into which the item is inserted is split.
fn split(low: u64, bucket: usize) -> Growth {
    let (x, resident) = (ending(low, 0), ending(low ^ 1, 0));
    let name = format!("lookup of {low:03b}, insert, split of bucket {bucket}");
    Growth::new(&name, move || growing(other(bucket), &[resident], 1))
        .thread(move |filter| law(filter.contains(x).into()))
        .thread(move |filter| {
            write();
            assert!(filter.insert(x), "there is room");
            true
        })
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 1, 1], [1, 1, 1]])
}

#[test]
fn what_came_before_an_insert_is_visible() {
    for bucket in ENDS {
        moved(bucket).holds();
        counted(bucket).holds();
    }
    told_present().holds();
}

#[test]
fn what_came_before_an_insert_is_visible_beyond_a_split() {
    for bucket in ENDS {
        split(0b000, bucket).holds();
        split(0b001, bucket).holds();
    }
}

#[test]
fn the_release_of_an_insert_counts() {
    moved(P).must_fail(Step::Claim, LAW);
}

// A move orders the write twice: LoadForUpdate and Decide acquire it, and Outline and all later
// steps release it. Therefore none of these orderings alone has a control here.

#[test]
fn each_ordering_of_a_lookup_counts() {
    moved(P).must_fail(Step::ReadP, LAW);
    moved(Q).must_fail(Step::ReadQ, LAW);
}

//! In an expiring filter that grows, copies keep their times while their words are split, and what is
//! dead goes, in whichever plane it is.

use crate::common::expiring::{LIVE, find, is_live, one};
use guira::model::{Fault, GrowingExpiring, Item, Step};
use guira_loom_tests::{
    ENDS, P, Q, Scenario, direction,
    growth::{UNMADE, ending},
};

const BACK: &str = "an expired item is back";
const COUNT: &str = "wrong count";
const LEFT: &str = "a dead copy is left in a step that has been swept";
const LOST: &str = "lost from the snapshot";
const OLD: &str = "a copy is older than the call that made it young";
const ONCE: &str = "removed and left do not add up";
const PRESENT: &str = "a live item is taken for absent";
const REST: &str = "copies at rest";
const TWICE: &str = "not exactly one call added the item";

/// Bits of an item that goes to the new word in the first two splits.
const GOES: u64 = 0b111;
/// Bits of one that stays in the first and goes in the second.
const GOES_LATER: u64 = 0b110;

type Filter = GrowingExpiring<2>;
type Grows = Scenario<Filter>;

/// A filter in `epoch` that has `copies` in `bucket` and nothing in the other one, and that can double
/// more often than a scenario does.
fn growing(epoch: u64, bucket: usize, copies: &[(Item, u64)]) -> Filter {
    Filter::growing(epoch, &one(bucket, copies), 4)
}

/// The word of the item is split, and the item is refreshed in two steps.
fn lookup(low: u64, bucket: usize, levels: u32) -> Grows {
    let x = ending(low, 0);
    let name = format!("lookup of {low:03b}, {levels} splits of bucket {bucket}, a step");
    Grows::new(&name, move || growing(1, bucket, &[(x, 0)]))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| {
            for level in 0..levels {
                filter.split(x, bucket, level);
            }
            let refreshed = filter.refresh(x) == Ok(true);
            filter.advance();
            refreshed && filter.refresh(x) == Ok(true)
        })
        .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
        .large_with_exchanges()
        .outcomes(&[[1, 1]])
}

/// The item is moved by one thread, and its word is split by another.
fn lookup_beside_a_move(from: usize) -> Grows {
    let x = ending(GOES, 0);
    let name = format!("lookup, move {}, split of {from}", direction(from));
    Grows::new(&name, move || growing(1, from, &[(x, 0)]))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| filter.relocate_seen(x, 0, from))
        .thread(move |filter| {
            filter.split(x, from, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [1], "{REST}"))
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1, 0]])
}

/// The word into which the item is put is split, and a step begins. The other word is full.
fn insert() -> Grows {
    let (x, y) = (ending(GOES, 0), ending(GOES_LATER, 0));
    Grows::new("insert, a split and a step", move || {
        growing(0, Q, &[(y, 0), (y, 0)])
    })
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        find(filter, x)
    })
    .thread(move |filter| {
        filter.split(x, P, 0);
        filter.begin_epoch()
    })
    .law(move |filter, _| assert!(is_live(filter, x), "{LIVE}"))
    .outcomes(&[[1, 1]])
}

/// Both words of the item are split while it is inserted and counted, beside an older copy.
fn insert_and_count(low: u64) -> Grows {
    let x = ending(low, 0);
    let name = format!("insert and count of {low:03b}, two splits");
    Grows::new(&name, move || growing(1, Q, &[(x, 0)]))
        .thread(move |filter| {
            let count = filter.insert_and_count(x).expect("there is room");
            assert_eq!(count, 2, "{COUNT}");
            true
        })
        .thread(move |filter| {
            for bucket in ENDS {
                filter.split(x, bucket, 0);
            }
            true
        })
        .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0, 1], "{REST}"))
        .outcomes(&[[1, 1]])
}

fn unique(filter: &Filter, item: Item) -> usize {
    filter.insert_unique(item).expect("there is room").into()
}

/// The second call comes when the word is split, and a step begins before or after it. An expired copy
/// of the item is in the word.
fn two_uniques(bucket: usize) -> Grows {
    let x = ending(GOES, 0);
    let name = format!("two uniques, a split of bucket {bucket}, a step");
    Grows::new(&name, move || growing(2, bucket, &[(x, 0)]))
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            filter.begin_epoch();
            unique(filter, x)
        })
        .law(move |filter, results| {
            assert_eq!(results[0] + results[1], 1, "{TWICE}");
            assert!(is_live(filter, x), "{REST}");
        })
        .large()
        .outcomes(&[[0, 1], [1, 0]])
}

/// The word of the item is split while the item is refreshed.
fn refresh(low: u64) -> Grows {
    let x = ending(low, 0);
    let name = format!("refresh of {low:03b}, two splits, a step");
    Grows::new(&name, move || growing(1, P, &[(x, 0)]))
        .thread(move |filter| {
            let epoch = filter.epoch();
            // If the step comes first, the item has expired.
            let refreshed = filter.refresh(x) == Ok(true);
            assert!(
                refreshed || filter.epoch() > epoch || epoch > 1,
                "{PRESENT}"
            );
            refreshed
        })
        .thread(move |filter| {
            filter.split(x, P, 0);
            filter.split(x, P, 1);
            filter.begin_epoch()
        })
        .law(move |filter, results| {
            assert_eq!(is_live(filter, x), results[0] == 1, "{OLD}");
        })
        .outcomes(&[[0, 1], [1, 1]])
}

/// Each of two threads removes a copy, and one of them splits the word before.
fn removes(low: u64, bucket: usize) -> Grows {
    let x = ending(low, 0);
    let name = format!("two removes of {low:03b}, a split of bucket {bucket}");
    Grows::new(&name, move || growing(1, bucket, &[(x, 0)]))
        .thread(move |filter| filter.remove(x))
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            filter.remove(x)
        })
        .law(move |filter, results| {
            let left = filter.ages_at_rest(x).len();
            assert_eq!(results[0] + results[1] + left, 1, "{ONCE}");
            assert_eq!(left, 0, "{PRESENT}");
        })
        .outcomes(&[[0, 1], [1, 0]])
}

/// A dead copy is carried to a new word while the sweep is on its way.
fn sweep(low: u64, bucket: usize, levels: u32) -> Grows {
    let (x, y) = (ending(low, 0), ending(GOES, 1));
    let name = format!("a sweep beside {levels} splits of bucket {bucket}, {low:03b} is dead");
    Grows::new(&name, move || growing(2, bucket, &[(x, 0), (y, 1)]))
        .thread(Filter::sweep)
        .thread(move |filter| {
            for level in 0..levels {
                filter.split(x, bucket, level);
            }
            0_usize
        })
        .law(move |filter, _| {
            assert!(filter.is_swept() && !filter.holds_dead(), "{LEFT}");
            assert_eq!(filter.ages_at_rest(y), [1], "{REST}");
        })
        .outcomes(&[[1, 0]])
}

/// A copy has been dead for its last step, and in the next one its tag says that it is young. That step
/// begins when all words of all levels have been swept.
fn advance(low: u64) -> Grows {
    let x = ending(low, 0);
    let name = format!("a step beside a level, {low:03b} has expired");
    Grows::new(&name, move || growing(3, P, &[(x, 0)]))
        .thread(move |filter| {
            let begun = filter.advance();
            assert!(!filter.contains(x), "{BACK}");
            begun
        })
        .thread(move |filter| {
            filter.begin_level(0);
            filter.finish_growth();
            0_usize
        })
        .law(|filter, _| assert_eq!(filter.at_rest(), [], "{BACK}"))
        .large()
        .outcomes(&[[1, 0]])
}

/// A snapshot while the item's word is split, the item is refreshed and a step begins.
fn snapshot(low: u64, bucket: usize) -> Grows {
    let x = ending(low, 0);
    let name = format!("snapshot of {low:03b}, split of bucket {bucket}, refresh, a step");
    Grows::new(&name, move || growing(1, bucket, &[(x, 0)]).scanned())
        .thread(move |filter| {
            let [copies] = filter.scan([x]);
            assert!(copies > 0, "{LOST}");
            copies
        })
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            let refreshed = filter.refresh(x) == Ok(true);
            filter.begin_epoch();
            refreshed && filter.refresh(x) == Ok(true)
        })
        .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
        .large_with_exchanges()
        .outcomes(&[[1, 1]])
}

#[test]
fn a_lookup_finds_a_live_item_while_its_word_is_split() {
    for bucket in ENDS {
        lookup(GOES, bucket, 1).holds();
        lookup(GOES_LATER, bucket, 2).holds();
        lookup_beside_a_move(bucket).holds();
    }
}

#[test]
fn an_insert_into_a_word_that_is_split_keeps_its_time() {
    insert().holds();
}

#[test]
fn an_insert_counts_all_copies_while_their_words_are_split() {
    for low in [GOES, GOES_LATER] {
        insert_and_count(low).holds();
    }
}

#[test]
fn one_of_two_uniques_adds_the_item() {
    for bucket in ENDS {
        two_uniques(bucket).holds();
    }
}

#[test]
fn a_refresh_in_a_word_that_is_split_is_kept() {
    refresh(GOES).holds();
    refresh(GOES_LATER).holds();
}

#[test]
fn a_copy_is_removed_once_while_its_word_is_split() {
    for bucket in ENDS {
        removes(GOES, bucket).holds();
        removes(GOES_LATER, bucket).holds();
    }
}

#[test]
fn a_sweep_reaches_what_splits_carry_away() {
    for bucket in ENDS {
        sweep(GOES, bucket, 1).holds();
        sweep(GOES_LATER, bucket, 2).holds();
    }
}

#[test]
fn what_has_expired_does_not_come_back() {
    advance(GOES).holds();
    advance(GOES_LATER).holds();
}

#[test]
fn a_snapshot_has_a_live_item_while_its_word_is_split() {
    for bucket in ENDS {
        snapshot(GOES, bucket).holds();
    }
}

#[test]
fn a_lookup_that_does_not_route_or_look_at_the_time_again_fails() {
    lookup(GOES, P, 1).must_fail(Fault::ContainsAnyPlane, LIVE);
    lookup(GOES, P, 1).must_fail(Fault::ContainsNoSecondNow, LIVE);
    lookup(GOES, P, 1).must_fail(Fault::CutFirst, UNMADE);
    lookup(GOES, P, 1).must_fail(Step::Cut, UNMADE);
}

#[test]
fn a_split_that_does_not_freeze_fails() {
    insert().must_fail(Fault::NoFreeze, LIVE);
    removes(GOES, P).must_fail(Fault::NoFreeze, ONCE);
    removes(GOES, P).must_fail(Fault::FrozenIgnored, ONCE);
}

#[test]
fn a_split_that_keeps_a_reservation_or_drops_a_mark_fails() {
    two_uniques(Q).must_fail(Fault::ReservationKept, "a reservation is left");
    refresh(GOES).must_fail(Fault::MarkDropped, "is_marked(Mark::Withheld");
}

#[test]
fn a_sweep_of_too_few_planes_fails() {
    for bucket in ENDS {
        sweep(GOES, bucket, 1).must_fail(Fault::SweepPlaneZero, LEFT);
        sweep(GOES, bucket, 1).must_fail(Fault::SweepBoundEarly, LEFT);
    }
    sweep(GOES_LATER, P, 2).must_fail(Fault::SweepPlaneZero, LEFT);
    sweep(GOES_LATER, P, 2).must_fail(Fault::SweepBoundEarly, LEFT);
    advance(GOES).must_fail(Fault::SweepPlaneZero, BACK);
}

#[test]
fn a_snapshot_that_does_not_look_at_the_time_again_fails() {
    snapshot(GOES, P).must_fail(Fault::ScanNoSecondNow, LOST);
    snapshot(GOES, P).must_fail(Fault::CutFirst, LOST);
    snapshot(GOES, P).must_fail(Step::Scan, LOST);
}

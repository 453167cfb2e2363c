//! In an expiring filter with counters, each occurrence counts until it expires, whichever slot it shares.

use crate::common::expiring::{LIVE, find, one};
use guira::model::{ExpiringCounting, Fault};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd};

const COUNT: &str = "wrong count";
const LEN: &str = "len and the words disagree";
const PRESENT: &str = "remove of a live item is false";
const AGES: &str = "the occurrences have other ages";

type Counts = Scenario<ExpiringCounting<2>>;

/// Two inserts of one item in one epoch, beside copies of this epoch and of the one before.
fn two_inserts(now: usize, before: usize) -> Counts {
    let x = even(0);
    let insert = move |filter: &ExpiringCounting<2>| {
        let count = filter.insert_and_count(x);
        count.expect("there is room") - now - before
    };
    let setup = move || {
        let copies: Vec<_> = [vec![(x, 1); now], vec![(x, 0); before]].concat();
        ExpiringCounting::new(1, &one(Q, &copies))
    };
    Scenario::new(&format!("two inserts beside {now} and {before}"), setup)
        .thread(insert)
        .thread(insert)
        .law(move |filter, results| {
            let ages = [vec![0; now + 2], vec![1; before]].concat();
            assert_eq!(filter.ages_at_rest(x), ages, "{AGES}");
            assert_eq!(results.iter().max(), Some(&2), "{COUNT}");
        })
        .outcomes(&[[1, 2], [2, 1]])
        // With two preemptions there are hardly any interleavings.
        .least_bound(3)
}

/// Two inserts into different words. The second one makes room there, so the first one may have seen both
/// words as full as each other.
fn inserts_into_both_words() -> Counts {
    let (x, y, z) = (even(0), even(1), even(2));
    let insert =
        move |filter: &ExpiringCounting<2>| filter.insert_and_count(x).expect("there is room");
    Scenario::new("two inserts into different words", move || {
        ExpiringCounting::new(1, &[&[(y, 1)], &[(z, 1)]])
    })
    .thread(insert)
    .thread(move |filter| {
        assert!(filter.remove(z), "{PRESENT}");
        insert(filter)
    })
    .law(move |filter, results| {
        assert_eq!(filter.ages_at_rest(x), [0, 0], "{AGES}");
        assert_eq!(results.iter().max(), Some(&2), "{COUNT}");
    })
    .outcomes(&[[1, 2], [2, 1], [2, 2]])
}

/// An insert beside an older copy in Q, which goes to P, back, and to P again: each word is empty twice.
fn insert_beside_three_moves() -> Counts {
    let x = even(0);
    Scenario::new("insert, three moves of an older copy", move || {
        ExpiringCounting::new(1, &one(Q, &[(x, 0)]))
    })
    .thread(move |filter| {
        let count = filter.insert_and_count(x).expect("there is room");
        assert_eq!(count, 2, "{COUNT}");
        count
    })
    .thread(move |filter| {
        for from in [Q, P, Q] {
            filter.relocate_seen(x, 0, from);
        }
        0_usize
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0, 1], "{AGES}"))
    .mains(&[0])
    .large()
    .large()
    .loads_only()
    .outcomes(&[[2, 0]])
}

/// An epoch begins during an insert, and copies that it might have joined expire.
fn insert_beside_a_sweep(bucket: usize) -> Counts {
    let x = even(0);
    let name = format!("insert, the copies in {bucket} expire");
    Scenario::new(&name, move || {
        ExpiringCounting::new(1, &one(bucket, &[(x, 0), (x, 0)]))
    })
    .thread(move |filter| filter.insert(x))
    .thread(ExpiringCounting::advance)
    .law(move |filter, _| {
        // The epoch may have begun after the insert.
        let ages = filter.ages_at_rest(x);
        assert!(ages == [0] || ages == [1], "{AGES}: {ages:?}");
    })
    .outcomes(&[[1, 1]])
}

/// Copies of a tag that means the next epoch again are swept by a thread that slept.
fn sweep_over_a_wrap() -> Counts {
    let x = even(0);
    Scenario::new(
        "a sweep of two copies sleeps until tags repeat",
        move || ExpiringCounting::new(3, &[&[(x, 0), (x, 0)], &[]]),
    )
    .thread(ExpiringCounting::advance)
    .thread(move |filter| {
        filter.advance();
        filter.insert(x) && filter.insert(x)
    })
    .law(move |filter, _| {
        // Two that were dead may seem to be live again, as no sweep reaches them under the mark.
        let live = filter.ages_at_rest(x).into_iter().filter(|&age| age <= 1);
        assert!([2, 4].contains(&live.count()), "{COUNT}");
    })
    .outcomes(&[[0, 1], [1, 1]])
}

/// An epoch begins during an insert into P, beside an older copy that stays live and must not become younger.
/// If an insert of another item in the new epoch was there first, this one must know of the epoch.
fn insert_while_an_epoch_begins() -> Scenario<ExpiringCounting<3, 2>> {
    let (x, y) = (even(0), even(1));
    Scenario::new("insert beside an older copy, an epoch begins", move || {
        ExpiringCounting::new(1, &[&[(x, 0)], &[(odd(0), 1), (odd(1), 1), (odd(2), 1)]])
    })
    .thread(move |filter| {
        let count = filter.insert_and_count(x).expect("there is room");
        assert_eq!(count, 2, "{COUNT}");
        true
    })
    .thread(move |filter| {
        let begun = filter.advance();
        filter.try_insert(y).expect("there is room");
        begun
    })
    .law(move |filter, _| {
        let ages = filter.ages_at_rest(x);
        assert!(ages == [0, 2] || ages == [1, 2], "{AGES}: {ages:?}");
        let all = filter.at_rest();
        let place = |fingerprint, ages: [u64; 2]| {
            let is_it = |&&(_, found, age): &&_| found == fingerprint && ages.contains(&age);
            all.iter()
                .position(|copy| is_it(&copy))
                .expect("it is there")
        };
        if place(y.fingerprint(), [0, 1]) < place(x.fingerprint(), [0, 1]) {
            assert_eq!(ages[0], 0, "{AGES}");
        }
    })
    .outcomes(&[[1, 1]])
}

/// The same, where both words are full but for counters. The copy that was too early shares its slot, and
/// is taken back.
fn insert_into_a_full_word() -> Scenario<ExpiringCounting<2, 2>> {
    let x = even(0);
    Scenario::new("insert into a full word, an epoch begins", move || {
        ExpiringCounting::new(1, &[&[(x, 1), (x, 0)], &[(odd(0), 1)]])
    })
    .thread(move |filter| filter.insert(x))
    .thread(ExpiringCounting::advance)
    .law(move |filter, _| {
        let ages = filter.ages_at_rest(x);
        assert!(ages == [0, 1, 2] || ages == [1, 1, 2], "{AGES}: {ages:?}");
    })
    .outcomes(&[[1, 1]])
}

/// An insert, while a slot of this epoch, or of the one before, is moved.
fn insert_beside_a_move(from: usize, seen: u64) -> Counts {
    let x = even(0);
    let name = format!("insert, copies of epoch {seen} move {}", direction(from));
    Scenario::new(&name, move || {
        ExpiringCounting::new(1, &one(from, &[(x, seen), (x, seen)]))
    })
    .thread(move |filter| {
        let count = filter.insert_and_count(x).expect("there is room");
        assert_eq!(count, 3, "{COUNT}");
        find(filter, x)
    })
    .thread(move |filter| {
        filter.relocate_seen(x, seen, from);
        0_usize
    })
    .law(move |filter, _| {
        let age = 1 - seen;
        assert_eq!(filter.ages_at_rest(x), [0, age, age], "{AGES}");
    })
    .outcomes(&[[1, 0]])
}

/// An insert and a remove, where the oldest copies are in Q beside a younger one in P.
fn insert_and_remove() -> Counts {
    let x = even(0);
    Scenario::new("insert, remove of one of two old copies", move || {
        ExpiringCounting::new(1, &[&[(x, 1)], &[(x, 0), (x, 0)]])
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .thread(move |filter| filter.insert(x))
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0, 0, 1], "{AGES}"))
    .outcomes(&[[1, 1]])
}

/// Two removes of one slot, while it is moved.
fn removes_beside_a_move(from: usize) -> Counts {
    let x = even(0);
    let remove = move |filter: &ExpiringCounting<2>| {
        assert!(filter.remove(x), "{PRESENT}");
        0_usize
    };
    let name = format!("two removes of three, move {}", direction(from));
    Scenario::new(&name, move || {
        ExpiringCounting::new(1, &one(from, &[(x, 0), (x, 0), (x, 0)]))
    })
    .thread(move |filter| remove(filter) + remove(filter))
    .thread(move |filter| {
        filter.relocate_seen(x, 0, from);
        0_usize
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [1], "{AGES}"))
    .outcomes(&[[0, 0]])
}

/// The copies expire, while one of them is removed.
fn remove_beside_a_sweep(bucket: usize) -> Counts {
    let x = even(0);
    let name = format!("remove, two copies expire in {bucket}");
    Scenario::new(&name, move || {
        ExpiringCounting::new(1, &one(bucket, &[(x, 0), (x, 0)]))
    })
    .thread(move |filter| filter.remove(x))
    .thread(ExpiringCounting::advance)
    .law(move |filter, _| assert_eq!(filter.at_rest(), [], "{AGES}"))
    .outcomes(&[[0, 1], [1, 1]])
}

/// A refresh makes one of two copies younger, beside an insert.
fn insert_and_refresh(bucket: usize) -> Counts {
    let x = even(0);
    let name = format!("insert, refresh of one of two in {bucket}");
    Scenario::new(&name, move || {
        ExpiringCounting::new(1, &one(bucket, &[(x, 0), (x, 0)]))
    })
    .thread(move |filter| filter.insert(x))
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0, 0, 1], "{AGES}"))
    .outcomes(&[[1, 1]])
}

/// The word of the old copies in Q has no room for a younger one. So a remove takes one of them beside the
/// copy in P, and another remove, which has seen P without it, takes the last one.
fn removes_in_a_full_word() -> Counts {
    let (x, y) = (even(0), even(1));
    Scenario::new("lookup, two removes from a full word", move || {
        ExpiringCounting::new(1, &[&[], &[(x, 0), (x, 0), (y, 1)]])
    })
    .thread(move |filter| find(filter, x))
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .law(move |filter, _| assert_eq!(filter.count(x), 1, "{COUNT}"))
    .outcomes(&[[1, 1, 1]])
}

#[test]
fn inserts_of_one_epoch_share_a_slot() {
    two_inserts(0, 0).holds();
    two_inserts(1, 1).holds();
}

#[test]
fn an_insert_counts_all_copies_at_one_moment() {
    inserts_into_both_words().holds();
    insert_beside_three_moves().holds();
}

#[test]
fn an_insert_does_not_join_copies_that_expire() {
    for bucket in ENDS {
        insert_beside_a_sweep(bucket).holds();
    }
    sweep_over_a_wrap().holds();
    sweep_over_a_wrap().holds_rehearsed();
}

#[test]
fn an_insert_makes_no_other_copy_younger() {
    insert_while_an_epoch_begins().holds();
    insert_into_a_full_word().holds();
}

#[test]
fn a_move_carries_all_copies() {
    for from in ENDS {
        for seen in [0, 1] {
            insert_beside_a_move(from, seen).holds();
        }
        removes_beside_a_move(from).holds();
    }
}

#[test]
fn one_copy_is_removed_or_refreshed() {
    insert_and_remove().holds();
    for bucket in ENDS {
        remove_beside_a_sweep(bucket).holds();
        insert_and_refresh(bucket).holds();
    }
}

#[test]
fn a_lookup_finds_what_is_left_of_a_full_word() {
    removes_in_a_full_word().holds();
}

#[test]
fn if_an_insert_counts_words_of_different_moments_it_fails() {
    inserts_into_both_words().must_fail(Fault::InsertCountsEarly, COUNT);
    inserts_into_both_words().must_fail(Fault::NoFence, COUNT);
    insert_beside_three_moves().must_fail(Fault::InsertCountsNoValidate, COUNT);
}

#[test]
fn if_an_insert_joins_an_older_slot_it_fails() {
    insert_beside_a_sweep(Q).must_fail(Fault::CountAnyTag, AGES);
}

#[test]
fn if_an_insert_is_late_it_fails() {
    insert_while_an_epoch_begins().must_fail(Fault::InsertNoSecondNow, AGES);
    insert_while_an_epoch_begins().must_fail(Fault::InsertRenewsOldest, AGES);
    insert_into_a_full_word().must_fail(Fault::InsertRenewsOldest, AGES);
}

#[test]
fn if_a_move_drops_copies_it_fails() {
    insert_beside_a_move(P, 0).must_fail(Fault::DeliverOneCopy, LEN);
    removes_beside_a_move(P).must_fail(Fault::DeliverOldCount, LEN);
}

#[test]
fn if_a_sweep_counts_one_copy_it_fails() {
    insert_beside_a_sweep(Q).must_fail(Fault::SweepOneCopy, LEN);
}

#[test]
fn if_a_slot_is_emptied_at_once_it_fails() {
    sweep_over_a_wrap().must_fail(Fault::ExpireAtOnce, COUNT);
}

#[test]
fn if_all_copies_become_younger_it_fails() {
    insert_and_remove().must_fail(Fault::RenewAllCopies, AGES);
    insert_and_refresh(Q).must_fail(Fault::RenewAllCopies, AGES);
}

#[test]
fn unannounced_it_fails_in_a_full_word() {
    removes_in_a_full_word().must_fail(Fault::OldestUnannounced, LIVE);
}

//! In an expiring filter, a lookup finds a live item, and an expired item does not become live
//! again.

use crate::common::expiring::{LIVE, find, is_live, one, youngest};
use guira::model::{Expiring, Fault, Item, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd};

const BACK: &str = "an expired item is back";
const REST: &str = "copies at rest";

type Expires<const E: u64 = 1> = Scenario<Expiring<2, E>>;

/// A copy is inserted into P, an epoch begins, and the copy in Q, until then the only one, expires
/// and is removed.
fn replaced() -> Expires {
    let x = even(0);
    Scenario::new("lookup, insert, the old copy expires", move || {
        Expiring::new(1, &[&[], &[(x, 0)]])
    })
    .thread(move |filter| find(filter, x))
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        filter.advance()
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [1], "{REST}"))
    .outcomes(&[[1, 1]])
}

/// The item is refreshed in this epoch and in the next one. A reader must not compare the tag of
/// one with the other epoch.
fn kept_young(
    what: &str,
    look: impl Fn(&Expiring<2>, Item) -> bool + Send + Sync + 'static,
) -> Expires {
    let x = even(0);
    let name = format!("{what}, two refreshes in two steps");
    Scenario::new(&name, move || Expiring::new(1, &[&[(x, 0)], &[]]))
        .thread(move |filter| look(filter, x))
        .thread(move |filter| {
            let refreshed = filter.refresh(x) == Ok(true);
            filter.advance();
            refreshed && filter.refresh(x) == Ok(true)
        })
        .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
        .outcomes(&[[1, 1]])
}

fn looked_up() -> Expires {
    kept_young("lookup", find)
}

fn counted() -> Expires {
    kept_young("count", |filter, item| {
        assert_eq!(filter.count(item), 1, "{LIVE}");
        true
    })
}

/// The item is refreshed. A copy under W still counts.
fn withheld(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("lookup, refresh in {bucket}");
    Scenario::new(&name, move || Expiring::new(1, &one(bucket, &[(x, 0)])))
        .thread(move |filter| {
            assert!(filter.count(x) > 0, "{LIVE}");
            find(filter, x)
        })
        .thread(move |filter| filter.refresh(x) == Ok(true))
        .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
        .outcomes(&[[1, 1]])
}

/// A refresh is too late and removes the copy instead. A reader that misses the copy must know of
/// the epoch.
fn refreshed_too_late() -> Expires {
    let x = even(0);
    Scenario::new("lookup, refresh, the item expires", move || {
        Expiring::new(1, &[&[(x, 0)], &[]])
    })
    .thread(move |filter| {
        let found = filter.contains(x);
        assert!(found || filter.epoch() > 1, "{LIVE}");
        found
    })
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .thread(Expiring::advance)
    .law(move |filter, results| {
        assert_eq!(is_live(filter, x), results[1] == 1, "{REST}");
    })
    .outcomes(&[[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
}

/// With E = 2, a refresh reads the next epoch while W is set. A reader that sees the tag of that
/// epoch must know of it.
fn refreshed_in_the_next_step() -> Expires<2> {
    let x = even(0);
    Scenario::new("lookup, refresh beside a step", move || {
        Expiring::new(1, &[&[(x, 0)], &[]])
    })
    .thread(move |filter| find(filter, x))
    .thread(move |filter| filter.refresh(x) == Ok(true))
    .thread(Expiring::advance)
    .law(move |filter, _| assert!(youngest(filter, x) <= Some(1), "{REST}"))
    .outcomes(&[[1, 1, 1]])
}

/// The only copy is moved, is refreshed before or after that, and then an epoch begins.
fn moved(from: usize) -> Expires {
    let x = even(0);
    let name = format!("lookup, move {}, refresh", direction(from));
    Scenario::new(&name, move || Expiring::new(1, &one(from, &[(x, 0)])))
        .thread(move |filter| find(filter, x))
        .thread(move |filter| filter.relocate_seen(x, 0, from))
        .thread(move |filter| filter.refresh(x) == Ok(true))
        .law(move |filter, _| assert_eq!(youngest(filter, x), Some(0), "{REST}"))
        .mains(&[0])
        .large()
        .loads_only()
        .outcomes(&[[1, 0, 1], [1, 1, 1]])
}

/// A copy has been dead for the longest possible time: in the next epoch, its tag would make it
/// young. A thread that sees that epoch must see that the copy was removed.
fn gone(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("lookups of an expired item in {bucket}");
    Scenario::new(&name, move || Expiring::new(3, &one(bucket, &[(x, 0)])))
        .thread(move |filter| {
            for _ in 0..2 {
                assert!(!filter.contains(x), "{BACK}");
            }
            0_usize
        })
        .thread(Expiring::advance)
        .law(|filter, _| assert_eq!(filter.at_rest(), [], "{BACK}"))
        .outcomes(&[[0, 1]])
}

/// There are copies of all ages, and two epochs begin. Dead copies are removed, and live ones stay.
fn two_steps() -> Expires {
    let (x, y, z) = (even(0), even(1), odd(0));
    Scenario::new("two threads advance, copies of all ages", move || {
        Expiring::new(5, &[&[(x, 5), (y, 4)], &[(z, 3), (y, 3)]])
    })
    .thread(Expiring::advance)
    .thread(Expiring::advance)
    .law(move |filter, results| {
        let steps = results[0] + results[1];
        assert_eq!(filter.epoch(), 5 + steps as u64, "steps");
        // A dead copy may be left in a word that one thread had marked when the other swept it.
        assert_eq!(is_live(filter, x), steps == 1, "{REST}");
        assert!(!is_live(filter, y) && !is_live(filter, z), "{BACK}");
    })
    .mains(&[0])
    .large()
    .outcomes(&[[0, 1], [1, 0], [1, 1]])
}

#[test]
fn a_lookup_finds_what_replaces_a_copy_that_expires() {
    replaced().holds();
    replaced().holds_rehearsed();
}

#[test]
fn a_lookup_finds_what_is_refreshed() {
    looked_up().holds();
    looked_up().holds_rehearsed();
    counted().holds();
    counted().holds_rehearsed();
    for bucket in ENDS {
        withheld(bucket).holds();
    }
}

#[test]
fn a_lookup_finds_what_is_refreshed_and_moved() {
    for from in ENDS {
        moved(from).holds();
    }
}

#[test]
fn who_misses_an_item_knows_of_the_step() {
    refreshed_too_late().holds();
    refreshed_in_the_next_step().holds();
}

#[test]
fn an_expired_item_does_not_come_back() {
    for bucket in ENDS {
        gone(bucket).holds();
    }
}

#[test]
fn what_is_dead_goes_and_what_is_live_stays() {
    two_steps().holds();
}

#[test]
fn without_a_second_look_at_the_step_it_fails() {
    replaced().must_fail(Fault::ContainsNoSecondNow, LIVE);
    counted().must_fail(Fault::CountNoSecondNow, LIVE);
    looked_up().must_fail(Fault::ContainsNoSecondNow, LIVE);
}

#[test]
fn with_the_step_read_after_the_words_it_fails() {
    looked_up().must_fail(Fault::ContainsReadsNowLate, LIVE);
}

#[test]
fn a_withheld_copy_is_a_copy() {
    withheld(P).must_fail(Fault::WithheldOverlooked, LIVE);
    withheld(Q).must_fail(Fault::WithheldOverlooked, LIVE);
}

#[test]
fn each_step_is_swept_before_the_next_one_begins() {
    gone(P).must_fail(Fault::AdvanceUnswept, BACK);
}

#[test]
fn each_ordering_of_a_lookup_against_time_counts() {
    refreshed_too_late().must_fail(Step::Empty, LIVE);
    refreshed_in_the_next_step().must_fail(Step::Renew, LIVE);
    gone(P).must_fail(Step::ReadEpoch, BACK);
    gone(P).must_fail(Step::Tick, BACK);
}

/// The word has its contents from before W, and its release sequence continues.
#[test]
fn the_end_of_w_need_not_be_released() {
    refreshed_too_late().holds_relaxed(Step::Release);
}

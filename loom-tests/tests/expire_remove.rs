//! In an expiring filter, a remove takes the oldest copy, and readers find the remaining ones.

use crate::common::expiring::{LIVE, find, is_live, one, youngest};
use guira::model::{Expiring, Fault};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even};

const PRESENT: &str = "remove of a live item is false";
const LEFT: &str = "the younger copy is not left";
const REST: &str = "answers and copies disagree";

type Expires = Scenario<Expiring<2>>;

/// A younger copy is inserted into P, and the old one in Q is removed.
fn window() -> Expires {
    let x = even(0);
    Scenario::new("lookup, insert, remove of the old copy", move || {
        Expiring::new(1, &[&[], &[(x, 0)]])
    })
    .thread(move |filter| find(filter, x))
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
    .outcomes(&[[1, 1]])
}

/// The same beside a mark in the word of the old copy, which is then taken from there. The mark is that of
/// a move of the copy itself, or that of a stopped sweep.
fn window_beside_a_mark(moves: bool) -> Expires {
    let (x, y) = (even(0), even(1));
    let name = format!("lookup, insert, remove of the old copy, marked: {moves}");
    Scenario::new(&name, move || match moves {
        true => Expiring::new(1, &one(P, &[(x, 0)])).decided(x, 0, P),
        false => Expiring::new(1, &one(Q, &[(x, 0), (y, 1)])).withheld(y, 1, Q),
    })
    .thread(move |filter| find(filter, x))
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .law(move |filter, _| assert_eq!(filter.count(x), 1, "{REST}"))
    .outcomes(&[[1, 1]])
}

/// Of two copies in `from`, the one of age `moved` is moved while one is removed. The remaining one
/// must be live in the next epoch.
fn oldest(from: usize, moved: u64) -> Expires {
    let x = even(0);
    let direction = direction(from);
    let name = format!("remove, a step, lookup, move {direction} of age {moved}");
    Scenario::new(&name, move || {
        Expiring::new(1, &one(from, &[(x, 0), (x, 1)]))
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        filter.advance();
        find(filter, x)
    })
    .thread(move |filter| {
        filter.relocate_seen(x, 1 - moved, from);
        0_usize
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [1], "{REST}"))
    .large_with_exchanges()
    .outcomes(&[[1, 0]])
}

/// The young copy is in P, and the old one is in Q, or is being moved out of Q.
fn in_both() -> Expires {
    let x = even(0);
    Scenario::new("remove, a step, lookup, copies in both words", move || {
        Expiring::new(1, &[&[(x, 1)], &[(x, 0)]])
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        filter.advance();
        find(filter, x)
    })
    .thread(move |filter| {
        filter.relocate_seen(x, 0, Q);
        0_usize
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [1], "{REST}"))
    .large_with_exchanges()
    .outcomes(&[[1, 0]])
}

/// Two old copies are in Q, and a young one is in P. In the next epoch at most the young one is
/// live. A remove takes it if the old ones have expired.
fn two_old() -> Expires {
    let x = even(0);
    Scenario::new(
        "remove, a step, two old copies beside a young one",
        move || Expiring::new(1, &[&[(x, 1)], &[(x, 0), (x, 0)]]),
    )
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .thread(Expiring::advance)
    .law(move |filter, _| {
        let live = filter.ages_at_rest(x).into_iter().filter(|&age| age <= 1);
        assert!(live.count() <= 1, "{REST}");
    })
    .outcomes(&[[1, 1]])
}

/// The number of removes is the number of old copies.
fn two_removes() -> Expires {
    let x = even(0);
    let remove = move |filter: &Expiring<2>| {
        assert!(filter.remove(x), "{PRESENT}");
        find(filter, x)
    };
    Scenario::new(
        "two removes, two old copies beside a young one",
        move || Expiring::new(1, &[&[(x, 1)], &[(x, 0), (x, 0)]]),
    )
    .thread(remove)
    .thread(remove)
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{REST}"))
    .outcomes(&[[1, 1]])
}

/// With E = 2, a remove is preempted before it loads the words. It then finds a copy of a later
/// epoch, whose tag would be the oldest one in the epoch that the remove has read.
fn late_for_the_words() -> Scenario<Expiring<2, 2>> {
    let x = even(0);
    Scenario::new("remove, two steps, insert", move || {
        Expiring::new(0, &[&[], &[(x, 0)]])
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .thread(move |filter| {
        filter.advance();
        filter.advance();
        filter.insert(x)
    })
    .law(move |filter, _| assert_eq!(filter.ages_at_rest(x), [0], "{LEFT}"))
    .outcomes(&[[1, 1]])
}

/// A refresh withholds the copy.
fn beside_a_refresh(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("remove, refresh in {bucket}");
    Scenario::new(&name, move || Expiring::new(1, &one(bucket, &[(x, 0)])))
        .thread(move |filter| {
            assert!(filter.remove(x), "{PRESENT}");
            assert!(!filter.contains(x), "a removed item is still there");
            true
        })
        .thread(move |filter| filter.refresh(x) == Ok(true))
        .law(move |filter, _| assert_eq!(filter.at_rest(), [], "{REST}"))
        .outcomes(&[[1, 0], [1, 1]])
}

/// The item expires. Either the remove or the sweep takes it, and it is counted once.
fn beside_a_sweep(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("remove, the item expires in {bucket}");
    Scenario::new(&name, move || Expiring::new(1, &one(bucket, &[(x, 0)])))
        .thread(move |filter| filter.remove(x))
        .thread(Expiring::advance)
        .law(move |filter, _| {
            assert!(!is_live(filter, x), "{REST}");
        })
        .outcomes(&[[0, 1], [1, 1]])
}

/// The item expires while it is refreshed and removed.
fn beside_both(bucket: usize) -> Expires {
    let x = even(0);
    let name = format!("remove, refresh, the item expires in {bucket}");
    Scenario::new(&name, move || Expiring::new(1, &one(bucket, &[(x, 0)])))
        .thread(move |filter| filter.remove(x))
        .thread(move |filter| filter.refresh(x) == Ok(true))
        .thread(Expiring::advance)
        .law(move |filter, results| {
            // If it was refreshed and not removed, the item is live. Otherwise it is absent or
            // dead.
            assert_eq!(is_live(filter, x), *results == [0, 1, 1], "{REST}");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[0, 0, 1], [1, 0, 1], [1, 1, 1]])
}

/// The copy in Q expires while another one is in P.
fn replaced() -> Expires {
    let x = even(0);
    Scenario::new("remove, insert, the old copy expires", move || {
        Expiring::new(1, &[&[], &[(x, 0)]])
    })
    .thread(move |filter| {
        assert!(filter.remove(x), "{PRESENT}");
        true
    })
    .thread(move |filter| {
        filter.try_insert(x).expect("there is room");
        filter.advance()
    })
    .law(move |filter, _| assert!(youngest(filter, x) <= Some(1), "{REST}"))
    .outcomes(&[[1, 1]])
}

#[test]
fn a_lookup_finds_the_copy_that_a_remove_leaves() {
    window().holds();
    for moves in [false, true] {
        window_beside_a_mark(moves).holds();
    }
}

#[test]
fn the_oldest_copy_is_removed() {
    for from in ENDS {
        oldest(from, 0).holds();
        oldest(from, 1).holds();
    }
    in_both().holds();
    two_old().holds();
    two_removes().holds();
    late_for_the_words().holds();
}

#[test]
fn a_withheld_copy_is_removed_once() {
    for bucket in ENDS {
        beside_a_refresh(bucket).holds();
        beside_a_sweep(bucket).holds();
        beside_both(bucket).holds();
    }
}

#[test]
fn a_remove_finds_what_replaces_a_copy_that_expires() {
    replaced().holds();
}

#[test]
fn taken_from_q_beside_a_copy_in_p_it_fails() {
    window().must_fail(Fault::OldestFromQ, LIVE);
    // A lookup that has passed the original of a move reads again in any case.
    window_beside_a_mark(false).must_fail(Fault::OldestUnannounced, LIVE);
}

#[test]
fn if_the_words_need_not_have_stood_together_it_fails() {
    oldest(Q, 1).must_fail(Fault::OldestNoValidate, LIVE);
}

#[test]
fn without_a_second_look_at_the_step_it_fails() {
    late_for_the_words().must_fail(Fault::OldestNoSecondNow, LEFT);
    replaced().must_fail(Fault::OldestNoSecondNow, PRESENT);
}

#[test]
fn if_the_lower_word_comes_first_it_fails() {
    in_both().must_fail(Fault::RemoveYoungest, LIVE);
}

#[test]
fn a_withheld_copy_is_left_to_its_setter() {
    beside_a_refresh(P).must_fail(Fault::RemoveNoKilled, "word.is_marked(Mark::Withheld");
}

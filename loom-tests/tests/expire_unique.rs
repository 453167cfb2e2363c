//! When calls race to add an absent item, exactly one returns true, even if an epoch begins.

use crate::common::expiring::{is_live, youngest};
use guira::model::{Expiring, Fault, Item};
use guira_loom_tests::{Scenario, even};

const TWICE: &str = "not exactly one call added the item";
const REST: &str = "answers and copies disagree";

type Expires = Scenario<Expiring<2>>;

fn unique(filter: &Expiring<2>, item: Item) -> usize {
    filter.insert_unique(item).expect("there is room").into()
}

fn insert_or_refresh(filter: &Expiring<2>, item: Item) -> usize {
    filter
        .insert_or_refresh(item)
        .expect("there is room")
        .into()
}

/// Two calls. The second one begins after `before`.
fn two(
    name: &str,
    step: u64,
    residents: [Vec<(Item, u64)>; 2],
    call: fn(&Expiring<2>, Item) -> usize,
    before: impl Fn(&Expiring<2>) + Send + Sync + 'static,
) -> Expires {
    let x = even(0);
    Scenario::new(name, move || {
        Expiring::new(step, &[&residents[0], &residents[1]])
    })
    .thread(move |filter| call(filter, x))
    .thread(move |filter| {
        before(filter);
        call(filter, x)
    })
    .law(move |filter, results| {
        assert_eq!(results[0] + results[1], 1, "{TWICE}");
        assert!(is_live(filter, x), "{REST}");
    })
    .outcomes(&[[0, 1], [1, 0]])
}

/// An epoch begins before the second call.
fn over_a_step(call: fn(&Expiring<2>, Item) -> usize, what: &str) -> Expires {
    let name = format!("two {what}, a step");
    two(&name, 0, [vec![], vec![]], call, |filter| {
        filter.advance();
    })
}

/// Another item is in the home word, so the first call reserves away from home. That item is
/// removed before the second call, which reserves at home in the next epoch.
fn home_and_away() -> Expires {
    let y = even(1);
    let name = "a unique away from home, a step, a unique at home";
    two(name, 0, [vec![(y, 0)], vec![]], unique, move |filter| {
        filter.advance();
        assert!(filter.remove(y), "a live item is not removed");
    })
}

/// The item has expired in the word that is not its home.
fn expired() -> Expires {
    let x = even(0);
    let name = "two uniques of an expired item";
    two(name, 2, [vec![], vec![(x, 0)]], unique, |_| ())
}

/// The same with a full home, until the second call makes room there.
fn expired_away() -> Expires {
    let (x, y, z) = (even(0), even(1), even(2));
    let name = "two uniques of an expired item, at home and away";
    let residents = [vec![(y, 2), (z, 2)], vec![(x, 0)]];
    two(name, 2, residents, unique, move |filter| {
        assert!(filter.remove(z), "a live item is not removed");
    })
}

/// The item expires between the calls, unless the first one is late.
fn expires() -> Expires {
    let x = even(0);
    let name = "two uniques, the item expires";
    two(name, 1, [vec![], vec![(x, 0)]], unique, |filter| {
        filter.advance();
    })
}

/// The item is live, so no call adds it, whatever moves and refreshes run concurrently.
fn present() -> Expires {
    let x = even(0);
    Scenario::new("unique of an item that is refreshed, a step", move || {
        Expiring::new(1, &[&[(x, 0)], &[]])
    })
    .thread(move |filter| unique(filter, x))
    .thread(move |filter| {
        let refreshed = filter.refresh(x) == Ok(true);
        filter.advance();
        refreshed
    })
    .law(move |filter, _| assert_eq!(youngest(filter, x), Some(1), "{REST}"))
    .outcomes(&[[0, 1]])
}

#[test]
fn one_call_adds_the_item_over_a_step() {
    over_a_step(unique, "uniques").holds();
    over_a_step(insert_or_refresh, "inserts or refreshes").holds();
    home_and_away().holds();
    home_and_away().holds_rehearsed();
}

#[test]
fn one_call_adds_an_expired_item() {
    expired().holds();
    expired_away().holds();
    expires().holds();
}

#[test]
fn a_live_item_is_not_added() {
    present().holds();
}

#[test]
fn without_a_second_look_at_the_step_it_fails() {
    home_and_away().must_fail(Fault::UniqueNoSecondNow, TWICE);
}

#[test]
fn if_dead_copies_are_revived_it_fails() {
    expired_away().must_fail(Fault::UniqueRevives, TWICE);
}

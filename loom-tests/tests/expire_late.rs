//! A tick that comes late expires what is dead by the clock, and nothing else, beside inserts, moves,
//! splits, sweeps, merges and epochs that are begun by hand.

use crate::common::expiring::{LIVE, find, youngest};
use guira::model::{Expiring, Fault, GrowingExpiring, Item};
use guira_loom_tests::{ENDS, P, Scenario, direction, even, growth::ending, odd};
use loom::sync::atomic::{AtomicU64, Ordering};

const DEAD: &str = "an expired item is found";
const LEFT: &str = "a dead copy is left in an epoch that has been swept";

/// The length of an epoch. A TTL is two of them.
const LENGTH: u64 = 10;
const TTL: u64 = 2 * LENGTH;

/// The bits of a phase in a filter that grows.
const GROWS: u32 = 6;

/// A filter, and the clock of all threads.
struct Timed<const PHASE_BITS: u32 = 0> {
    filter: Expiring<2, 2, PHASE_BITS>,
    now: AtomicU64,
}

impl Timed {
    /// A filter in epoch 1, which began at time 0. It is `now`.
    fn new(now: u64, residents: &[&[(Item, u64)]; 2]) -> Self {
        Self::of(Expiring::new(1, residents), now)
    }
}

impl<const PHASE_BITS: u32> Timed<PHASE_BITS> {
    fn of(filter: Expiring<2, 2, PHASE_BITS>, now: u64) -> Self {
        filter.tick(LENGTH, || 0);
        let now = AtomicU64::new(now);
        Self { filter, now }
    }

    fn tick(&self) -> bool {
        let read = || self.now.load(Ordering::SeqCst);
        self.filter.tick(LENGTH, read)
    }

    /// A tick at the time `now`.
    fn tick_at(&self, now: u64) -> bool {
        self.now.fetch_max(now, Ordering::SeqCst);
        self.tick()
    }
}

/// The residents of both buckets: these copies in `bucket`, and `other` in the other one.
fn beside<'a>(
    bucket: usize,
    copies: &'a [(Item, u64)],
    other: &'a [(Item, u64)],
) -> [&'a [(Item, u64)]; 2] {
    match bucket {
        P => [copies, other],
        _ => [other, copies],
    }
}

/// An item is inserted beside a late tick, and lives for its TTL from then on. What was seen before the
/// present epoch began is dead by that tick.
fn insert() -> Scenario<Timed> {
    let (x, old) = (even(0), odd(0));
    Scenario::new("insert beside a late tick", move || {
        Timed::new(TTL, &[&[(old, 0)], &[]])
    })
    .thread(move |timed| {
        timed.tick();
        assert!(!timed.filter.contains(old), "{DEAD}");
        0_usize
    })
    .thread(move |timed| {
        timed.filter.try_insert(x).expect("there is room");
        timed.tick_at(2 * TTL - 1);
        find(&timed.filter, x)
    })
    .law(move |timed, _| {
        timed.tick_at(2 * TTL - 1);
        assert!(timed.filter.contains(x), "{LIVE}");
    })
    .outcomes(&[[0, 1]])
}

/// Two threads tick late and sweep. A third one looks up a live item while another one moves it.
fn lookup(from: usize) -> Scenario<Timed> {
    let (x, old) = (even(0), even(1));
    let name = format!("lookup, move {} and a late tick", direction(from));
    Scenario::new(&name, move || {
        Timed::new(TTL, &beside(from, &[(x, 1), (old, 0)], &[]))
    })
    .thread(move |timed| find(&timed.filter, x))
    .thread(move |timed| {
        timed.filter.relocate_seen(x, 1, from);
        0_usize
    })
    .thread(move |timed| {
        let begun = timed.tick();
        timed.filter.sweep();
        begun
    })
    .law(move |timed, _| {
        assert!(timed.filter.contains(x), "{LIVE}");
        assert!(!timed.filter.contains(old), "{DEAD}");
    })
    .mains(&[0])
    .large()
    .outcomes(&[[1, 0, 1]])
}

/// The word of a live and an expired item is split beside a late tick, which sweeps.
fn split() -> Scenario<Timed<GROWS>> {
    let (x, old) = (ending(0b110, 0), ending(0b111, 0));
    let filter = move || GrowingExpiring::growing(1, &[&[(x, 1), (old, 0)], &[]], 4);
    Scenario::new("a split beside a late tick", move || {
        Timed::of(filter(), TTL)
    })
    .thread(move |timed| {
        let begun = timed.tick();
        timed.filter.sweep();
        begun
    })
    .thread(move |timed| {
        timed.filter.split(x, P, 0);
        find(&timed.filter, x)
    })
    .law(move |timed, _| {
        assert!(timed.filter.contains(x), "{LIVE}");
        assert!(!timed.filter.contains(old), "{DEAD}");
        assert!(!timed.filter.holds_dead(), "{LEFT}");
    })
    .outcomes(&[[1, 1]])
}

/// An item that came in the epoch before the present one, long after that one began.
fn young_in_a_long_epoch() -> Scenario<Timed> {
    let x = even(0);
    Scenario::new("two ticks soon after a long epoch", move || {
        let timed = Timed::new(TTL, &[&[(x, 1)], &[]]);
        assert!(timed.tick());
        timed
    })
    .thread(move |timed| timed.tick_at(TTL + 1))
    .thread(move |timed| timed.tick_at(2 * TTL - 1))
    .law(move |timed, _| {
        assert!(timed.filter.contains(x), "{LIVE}");
        timed.tick_at(2 * TTL);
        assert!(!timed.filter.contains(x), "{DEAD}");
    })
    .outcomes(&[[0, 1], [1, 0]])
}

/// Two epochs begin by hand, so that the beginning of the first one is not recorded.
fn unrecorded() -> Scenario<Timed> {
    let (x, y) = (even(0), even(1));
    Scenario::new("epochs by hand, a tick and a lookup", move || {
        Timed::new(LENGTH - 1, &[&[(y, 1)], &[]])
    })
    .thread(move |timed| {
        timed.filter.try_insert(x).expect("there is room");
        assert!(timed.filter.begin_epoch() && timed.filter.begin_epoch());
        timed.tick_at(TTL - 5)
    })
    .thread(move |timed| find(&timed.filter, y))
    .law(move |timed, _| {
        timed.tick_at(TTL + 4);
        assert!(timed.filter.contains(x), "{LIVE}");
    })
    .outcomes(&[[0, 1]])
}

/// A copy is merged into a filter whose tick is late. It was seen in the other filter a bit more than
/// an epoch ago.
fn merge(name: &str) -> Scenario<Timed> {
    let x = even(0);
    Scenario::new(name, || Timed::new(TTL, &[&[], &[]]))
        .thread(move |timed| {
            let other = Expiring::new(2, &[&[(x, 0)], &[]]).scanned();
            timed.filter.merge(&other)
        })
        .thread(move |timed| timed.tick())
        .law(move |timed, _| assert!(timed.filter.contains(x), "{LIVE}"))
        .outcomes(&[[1, 1]])
}

/// The same, and another late tick. The epoch of the copy's tag may have ended long before the copy came, so
/// the clock must not decide about it.
fn merge_between_late_ticks() -> Scenario<Timed> {
    let x = even(0);
    merge("merge between late ticks").law(move |timed, _| {
        if youngest(&timed.filter, x) == Some(1) {
            timed.tick_at(2 * TTL);
        }
        assert!(timed.filter.contains(x), "{LIVE}");
    })
}

#[test]
fn what_is_inserted_beside_a_late_tick_lives_for_its_ttl() {
    insert().holds();
    insert().must_fail(Fault::DeadByOwnBeginning, LIVE);
}

#[test]
fn a_live_item_is_found_beside_a_late_tick() {
    for from in ENDS {
        lookup(from).holds();
    }
}

#[test]
fn a_late_tick_leaves_nothing_dead_beside_a_split() {
    split().holds();
    split().must_fail(Fault::SweepPlaneZero, LEFT);
}

#[test]
fn an_item_counts_from_the_end_of_its_epoch() {
    young_in_a_long_epoch().holds();
    young_in_a_long_epoch().must_fail(Fault::DeadByOwnBeginning, LIVE);
}

#[test]
fn an_epoch_that_nobody_recorded_counts_from_the_next_record() {
    unrecorded().holds();
    unrecorded().must_fail(Fault::SkippedUnrecorded, LIVE);
}

#[test]
fn a_late_tick_does_not_judge_what_was_merged() {
    merge("merge beside a late tick").holds();
    merge("merge beside a late tick").must_fail(Fault::MergedByClock, LIVE);
    merge_between_late_ticks().holds();
    merge_between_late_ticks().must_fail(Fault::MergeTriesOnce, LIVE);
}

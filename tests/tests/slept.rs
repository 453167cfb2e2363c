//! No item expires early, even if a writer is paused during many epochs.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test slept`.
//!
//! A call sleeps before one of its steps, and all steps are tried. During its sleep, up to nine
//! epochs begin, more than a tag can distinguish, and another thread may add the same item. After
//! the call has returned, its promise must hold for the epoch that it read last.
#![cfg(guira_faults)]

use guira::model::{Expiring, Fault, Item, Model, Step, unwatch, watch, weaken};
use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    rc::Rc,
    sync::{Mutex, PoisonError, mpsc::channel},
    thread,
};

/// All threads share one fault switch.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

type Filter = Expiring<3>;

/// The epoch in which a call begins.
const NOW: u64 = 20;

/// More than twice the number of epochs that a tag of 2 bits can distinguish.
const MOST_STEPS: u64 = 9;

/// The contents of both buckets, if only one holds anything.
fn in_bucket(bucket: usize, residents: &[(Item, u64)]) -> [&[(Item, u64)]; 2] {
    [0, 1].map(|other| if other == bucket { residents } else { &[] })
}

fn item(nth: usize) -> Item {
    Model::<2>::item(2, 0, 1, nth)
}

/// The call that sleeps. Its result is true if the item is now as young as a new one.
#[derive(Clone, Copy, Debug)]
enum Call {
    Insert,
    InsertUnique,
    Refresh,
    InsertOrRefresh,
    /// A union with a filter in which the item is new.
    Union,
}

impl Call {
    const ALL: [Self; 5] = [
        Self::Insert,
        Self::InsertUnique,
        Self::Refresh,
        Self::InsertOrRefresh,
        Self::Union,
    ];

    fn make(self, filter: &Filter, item: Item) -> bool {
        let result = match self {
            Self::Insert => filter.try_insert(item).map(|()| true),
            Self::InsertUnique => filter.insert_unique(item),
            Self::Refresh => filter.refresh(item),
            Self::InsertOrRefresh => filter.insert_or_refresh(item).map(|_| true),
            Self::Union => {
                let other = Filter::new(NOW, &[&[(item, NOW)], &[]]).scanned();
                filter.union_with(&other).expect("there is room");
                Ok(true)
            }
        };
        result.expect("there is room")
    }
}

/// Where and how a call sleeps.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    call: Call,
    /// The age of the existing copy, if any.
    age: Option<u64>,
    /// The number of the step before which the call sleeps.
    before: usize,
    /// The number of epochs that begin.
    steps: u64,
    /// When another thread adds the item again.
    added: Option<Added>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Added {
    BeforeTheSteps,
    AfterTheSteps,
}

/// Runs a call that sleeps. Returns the step before which it slept, or `None` if the call has fewer
/// steps.
fn sleep(sleep: Sleep) -> Option<Step> {
    let (item, other) = (item(0), item(1));
    let residents: Vec<_> = sleep.age.map(|age| (item, NOW - age)).into_iter().collect();
    let filter = Rc::new(Filter::new(NOW, &[&residents, &[(other, NOW)]]));
    let (sleeper, slept) = (filter.clone(), Rc::new(Cell::new(None)));
    let (mut before, note) = (0, slept.clone());
    watch(move |step| {
        if before == sleep.before {
            note.set(Some(step));
            let add = |when| {
                if sleep.added == Some(when) {
                    sleeper.try_insert(item).expect("there is room");
                }
            };
            add(Added::BeforeTheSteps);
            for _ in 0..sleep.steps {
                sleeper.advance();
            }
            add(Added::AfterTheSteps);
        }
        before += 1;
    });
    let young = sleep.call.make(&filter, item);
    unwatch();
    let step = slept.get()?;
    // No other thread has marked a word. A call that has slept for longer adds a copy, in case its own one
    // has died.
    let ages = filter.ages_at_rest(item);
    let live = ages.iter().filter(|&&age| age <= Filter::OLDEST).count();
    let most = 1 + usize::from(sleep.age.is_some()) + usize::from(sleep.added.is_some());
    assert!(
        live <= most || sleep.steps > Filter::OLDEST,
        "more: {live} copies, {step:?}, {sleep:?}"
    );
    // The last access of the call is to read the epoch, and it has not slept since.
    let young = young || sleep.added == Some(Added::AfterTheSteps);
    for age in 0..=Filter::OLDEST {
        assert!(
            !young || filter.contains(item),
            "early: {step:?}, age {age}, {sleep:?}"
        );
        filter.advance();
    }
    filter.advance();
    filter.advance();
    assert_eq!(filter.at_rest(), [], "late: {step:?}, {sleep:?}");
    Some(step)
}

/// Runs calls that sleep before each of their steps. Returns these steps.
fn sleep_everywhere() -> Vec<Step> {
    let mut seen = Vec::new();
    for call in Call::ALL {
        for age in [None, Some(0), Some(1), Some(2), Some(3)] {
            let added = [
                None,
                Some(Added::BeforeTheSteps),
                Some(Added::AfterTheSteps),
            ];
            for (steps, added) in (1..=MOST_STEPS).flat_map(|steps| added.map(|it| (steps, it))) {
                let sleeps = (0..).map_while(|before| {
                    sleep(Sleep {
                        call,
                        age,
                        before,
                        steps,
                        added,
                    })
                });
                seen.extend(sleeps);
            }
        }
    }
    seen
}

#[test]
fn a_writer_that_sleeps_makes_nothing_expire_early() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = sleep_everywhere();
    println!("{} sleeps", seen.len());
    for step in [
        Step::ReadEpoch,
        Step::RereadEpoch,
        Step::Claim,
        Step::Reserve,
        Step::Confirm,
        Step::Withhold,
        Step::Renew,
    ] {
        assert!(seen.contains(&step), "no call sleeps before {step:?}");
    }
}

/// A sweep has marked the word of an item, because of a dead copy in the same word. If the
/// sweep ends during a refresh, the refresh adds no copy: the filter holds what it would hold
/// without the sweep.
#[test]
fn a_refresh_lets_a_sweep_go_on() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for bucket in [0, 1] {
        let crowd = [(item(1), 18), (item(0), 19)];
        refresh_beside_a_sweep(&Filter::new(20, &in_bucket(bucket, &crowd)), item(0));
    }
}

fn refresh_beside_a_sweep(filter: &Filter, item: Item) {
    let (arrives, has_arrived) = channel();
    let (goes_on, may_go_on) = channel();
    let (ends, has_ended) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            watch(move |step| {
                if step == Step::Empty {
                    arrives.send(()).expect("the test waits");
                    may_go_on.recv().expect("the test goes on");
                }
            });
            assert!(filter.sweep());
            unwatch();
            ends.send(()).expect("the test waits");
        });
        has_arrived.recv().expect("the copy is dead");
        // At the second attempt of the refresh.
        let mut attempts = 0;
        watch(move |step| {
            attempts += u32::from(step == Step::Observe);
            if step == Step::Observe && attempts == 2 {
                goes_on.send(()).expect("the sweep is stopped");
                has_ended.recv().expect("the sweep ends");
            }
        });
        assert_eq!(filter.refresh(item), Ok(true));
        unwatch();
    });
    assert_eq!(filter.ages_at_rest(item), [0]);
    assert_eq!(filter.at_rest().len(), 1);
}

/// Another thread was stopped while it withheld an old copy of the item. A young one is beside it, in the
/// marked word.
#[test]
fn a_refresh_beside_a_mark_may_sleep() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let sleeps = (0..).map_while(|before| {
        let item = item(0);
        let filter = Filter::new(NOW, &[&[(item, NOW - 1), (item, NOW)], &[]]);
        let filter = Rc::new(filter.withheld(item, NOW - 1, 0));
        let (sleeper, slept) = (filter.clone(), Rc::new(Cell::new(None)));
        let (mut steps, note) = (0, slept.clone());
        watch(move |step| {
            if steps == before {
                note.set(Some(step));
                sleeper.advance();
            }
            steps += 1;
        });
        assert_eq!(filter.refresh(item), Ok(true));
        unwatch();
        let step = slept.get()?;
        for age in 0..=Filter::OLDEST {
            assert!(filter.contains(item), "early: {step:?} {before}, age {age}");
            filter.advance();
        }
        Some(step)
    });
    assert!(sleeps.filter(|&step| step == Step::RereadEpoch).count() > 1);
}

/// The young one may be in either word.
#[test]
fn a_refresh_beside_a_mark_and_a_young_copy_adds_none() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let item = item(0);
    for bucket in [0, 1] {
        let filter = Filter::new(NOW, &in_bucket(bucket, &[(item, NOW - 1), (item, NOW)]));
        let filter = filter.withheld(item, NOW - 1, bucket);
        assert_eq!(filter.refresh(item), Ok(true));
        assert_eq!(filter.count(item), 2, "in {bucket}");
    }
}

#[test]
fn a_union_beside_a_mark_adds_a_copy() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let item = item(0);
    for bucket in [0, 1] {
        let filter = Filter::new(NOW, &in_bucket(bucket, &[(item, NOW - 1)]));
        let filter = filter.withheld(item, NOW - 1, bucket);
        let other = Filter::new(NOW, &[&[(item, NOW)], &[]]).scanned();
        assert_eq!(filter.union_with(&other), Some(1));
        for age in 0..=Filter::OLDEST {
            assert!(filter.contains(item), "in {bucket}, age {age}");
            filter.advance();
        }
    }
}

/// A union sleeps before it makes a copy younger, and the next copy with the same bits is younger
/// than it wants.
#[test]
fn a_union_counts_what_it_has_changed() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // If two buckets are equally full, the insert chooses the lower one for it.
    let is_even = |item: &Item| item.fingerprint().is_multiple_of(2);
    let item = (0..).map(item).find(is_even).expect("every second one");
    let filter = Rc::new(Filter::new(NOW, &[&[(item, NOW - 1)], &[]]));
    let (sleeper, renews) = (filter.clone(), Rc::new(Cell::new(false)));
    let (note, mut slept) = (renews.clone(), false);
    watch(move |step| {
        if step == Step::Withhold && !slept {
            slept = true;
            // Tags repeat after four epochs.
            (0..3).for_each(|_| _ = sleeper.advance());
            sleeper.try_insert(item).expect("there is room");
        }
        note.set(note.get() || step == Step::Renew);
    });
    let other = Filter::new(NOW, &[&[(item, NOW)], &[]]).scanned();
    let changed = filter.union_with(&other);
    unwatch();
    assert!(renews.get(), "it takes the new copy for the old one");
    assert_eq!(changed, Some(0));
    assert_eq!(filter.ages_at_rest(item), [0]);
}

#[test]
fn what_has_expired_is_not_refreshed() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let item = item(0);
    let mut gone_before = Vec::new();
    for before in 0.. {
        let filter = Filter::new(NOW, &[&[(item, NOW - Filter::OLDEST)], &[]]);
        let filter = Rc::new(filter);
        let (sleeper, slept) = (filter.clone(), Rc::new(Cell::new(None)));
        let (mut steps, note) = (0, slept.clone());
        watch(move |step| {
            if steps == before {
                sleeper.advance();
                note.set(Some((step, sleeper.contains(item))));
            }
            steps += 1;
        });
        let refreshed = filter.refresh(item);
        unwatch();
        let Some((step, is_there)) = slept.get() else {
            break;
        };
        // After it has read the epoch with the copy withheld, the refresh is decided.
        if !is_there && matches!(step, Step::Withhold | Step::ReadEpoch) {
            assert_eq!(refreshed, Ok(false), "{step:?} {before}");
            assert_eq!(filter.at_rest(), [], "{step:?} {before}");
            gone_before.push(step);
        }
    }
    for step in [Step::Withhold, Step::ReadEpoch] {
        assert!(gone_before.contains(&step), "{gone_before:?}");
    }
}

/// A refresh withholds a copy, which dies then. A remove has seen it alive, and takes it.
#[test]
fn a_copy_that_dies_while_it_is_removed_is_counted_once() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (item, other) = (item(0), item(1));
    let old = [(item, NOW - Filter::OLDEST)];
    let filter = Rc::new(Filter::new(NOW, &[&old, &[(other, NOW)]]));
    let (remover, removed) = (filter.clone(), Rc::new(Cell::new(false)));
    let (note, mut before) = (removed.clone(), None);
    watch(move |step| {
        if before == Some(Step::Withhold) && step == Step::ReadEpoch {
            let of_watcher = remover.clone();
            watch(move |step| {
                if step == Step::Kill {
                    assert!(of_watcher.advance());
                }
            });
            note.set(remover.remove(item));
            unwatch();
        }
        before = Some(step);
    });
    let refreshed = filter.refresh(item);
    unwatch();
    assert!(removed.get(), "it was alive");
    assert_eq!((refreshed, filter.epoch()), (Ok(false), NOW + 1));
    assert_eq!(filter.at_rest().len(), 1, "the other one");
}

#[test]
fn a_dead_copy_in_a_move_does_not_count() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for (seen, count) in [(NOW - 1, 1), (NOW - 2, 0)] {
        let item = item(0);
        let filter = Filter::new(NOW, &[&[(item, seen)], &[]]).decided(item, seen, 0);
        assert_eq!(
            (filter.count(item), filter.contains(item)),
            (count, count == 1)
        );
        assert_eq!(filter.remove(item), count == 1);
    }
}

#[test]
fn with_a_step_left_out_it_fails() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let print = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let outcomes = [
        (Fault::InsertNoSecondNow, "early"),
        (Fault::InsertOverlooksDeath, "early"),
        (Fault::InsertOnceMore, "more"),
        (Fault::UniqueConfirmedEarly, "early"),
        (Fault::RefreshNoSecondNow, "early"),
        (Fault::UnionLooksOnce, "early"),
    ]
    .map(|(fault, expected)| {
        weaken(fault, None, false);
        let done = panic::catch_unwind(AssertUnwindSafe(sleep_everywhere));
        weaken(Fault::None, None, false);
        unwatch();
        (fault, expected, done.err())
    });
    panic::set_hook(print);
    for (fault, expected, failure) in outcomes {
        let failure = failure.unwrap_or_else(|| panic!("{fault:?} makes no difference"));
        let message = failure.downcast_ref::<String>().expect("a message");
        assert!(message.starts_with(expected), "{fault:?}: {message}");
        println!("{fault:?}: {message}");
    }
}

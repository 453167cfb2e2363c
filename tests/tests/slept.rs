//! Nothing expires early, also for a writer that sleeps through many steps.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test slept`.
//!
//! A call falls asleep before one of its steps: before each of them in turn. During its sleep the
//! filter's time advances by up to nine epochs, more than a tag can tell apart, and the same item
//! is added again, or is not. When the call has returned, what it promises must hold for the epoch
//! that it read last.
#![cfg(guira_faults)]

use guira::model::{Expiring, Fault, Item, Model, Step, unwatch, watch, weaken};
use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    rc::Rc,
    sync::{Mutex, PoisonError, mpsc::channel},
    thread,
};

/// The switch of faults is one for all threads.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

type Filter = Expiring<3>;

/// The epoch in which a call begins.
const NOW: u64 = 20;

/// More than a tag of 2 bits can tell apart, twice.
const MOST_STEPS: u64 = 9;

fn item(nth: usize) -> Item {
    Model::<2>::item(2, 0, 1, nth)
}

/// What a call does for an item. True: from now on the item is as young as a new one.
#[derive(Clone, Copy, Debug)]
enum Call {
    Insert,
    InsertUnique,
    Refresh,
    InsertOrRefresh,
    /// A union with a filter that has just seen the item.
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
            Self::Insert => filter.insert(item).map(|()| true),
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
    /// The age of the copy that is there at first, if any.
    age: Option<u64>,
    /// The number of the call's step before which it sleeps.
    before: usize,
    /// How many epochs begin.
    steps: u64,
    /// Another thread adds the item again, at last.
    added: bool,
}

/// Lets a call sleep. Returns the step before which it slept; `None` if the call has fewer steps.
fn sleep(sleep: Sleep) -> Option<Step> {
    let (item, other) = (item(0), item(1));
    let residents: Vec<_> = sleep.age.map(|age| (item, NOW - age)).into_iter().collect();
    let filter = Rc::new(Filter::new(NOW, &[&residents, &[(other, NOW)]]));
    let (sleeper, slept) = (filter.clone(), Rc::new(Cell::new(None)));
    let (mut before, note) = (0, slept.clone());
    watch(move |step| {
        if before == sleep.before {
            note.set(Some(step));
            for _ in 0..sleep.steps {
                sleeper.advance();
            }
            if sleep.added {
                sleeper.insert(item).expect("there is room");
            }
        }
        before += 1;
    });
    let young = sleep.call.make(&filter, item);
    unwatch();
    let step = slept.get()?;
    // Its last look at the step is its last access: it has not slept since.
    let young = young || sleep.added;
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

/// Lets the calls sleep before each of their steps: these.
fn sleep_everywhere() -> Vec<Step> {
    let mut seen = Vec::new();
    for call in Call::ALL {
        for age in [None, Some(0), Some(1), Some(2), Some(3)] {
            for (steps, added) in (1..=MOST_STEPS).flat_map(|steps| [(steps, false), (steps, true)])
            {
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
        assert!(seen.contains(&step), "nobody sleeps before {step:?}");
    }
}

/// A sweep has marked the word of an item, for a dead copy beside it. A refresh lets it end, and adds
/// no copy: the filter holds what it would hold without the sweep.
#[test]
fn a_refresh_lets_a_sweep_go_on() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (item, dead) = (item(0), item(1));
    let filter = Filter::new(20, &[&[(dead, 18), (item, 19)], &[]]);
    let (arrives, has_arrived) = channel();
    let (goes_on, may_go_on) = channel();
    let (ends, has_ended) = channel();
    thread::scope(|scope| {
        let filter = &filter;
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
        // At its second attempt.
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

#[test]
fn with_a_step_left_out_it_fails() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let print = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let outcomes = [
        Fault::InsertNoSecondNow,
        Fault::UniqueConfirmedEarly,
        Fault::RefreshNoSecondNow,
        Fault::UnionLooksOnce,
    ]
    .map(|fault| {
        weaken(fault, None, false);
        let done = panic::catch_unwind(AssertUnwindSafe(sleep_everywhere));
        weaken(Fault::None, None, false);
        unwatch();
        (fault, done.err())
    });
    panic::set_hook(print);
    for (fault, failure) in outcomes {
        let failure = failure.unwrap_or_else(|| panic!("{fault:?} makes no difference"));
        let message = failure.downcast_ref::<String>().expect("a message");
        assert!(message.starts_with("early"), "{fault:?}: {message}");
        println!("{fault:?}: {message}");
    }
}

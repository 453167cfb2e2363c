//! A thread that stops forever in an expiring filter delays no other thread, wherever it stops.
//! Epochs begin, items are inserted and expire, and none expires early.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test stopped_steps`.
//!
//! As in `stopped_threads.rs`, a small filter is brought into a certain state, and a thread begins
//! an operation in it. The thread stops before one of its steps: of each kind, the first, second,
//! third, middle and last one. Other threads then perform all operations, for enough epochs that
//! all tags wrap around more than twice. The stopped thread may leave behind only what
//! `ExpiringFilter` documents: copies in two buckets. At last the thread continues.
#![cfg(guira_faults)]

use guira::{
    ExpiringFilter, InsertError,
    model::{Step, watch},
};
use std::{
    cell::{Cell, RefCell},
    convert::Infallible,
    ops::Range,
    rc::Rc,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

/// Far longer than any call takes.
const FOR_EVER: Duration = Duration::from_secs(120);

/// The fingerprint size, and E.
const LAYOUTS: [(u32, u32); 4] = [(9, 5), (11, 12), (16, 12), (26, 3)];

/// The number of epochs that begin while a thread is stopped.
const STEPS: u32 = 40;

const CAPACITY: usize = 600;

/// The item of the stopped thread's operation.
const ITEM: u64 = u64::MAX;

type Act = Arc<dyn Fn(&ExpiringFilter) + Send + Sync>;

/// An operation, and the state of the filter before it.
struct Case {
    name: &'static str,
    bits: u32,
    steps: u32,
    /// The number of epochs since the item was inserted. `None` if it is absent.
    age: Option<u32>,
    /// Other items, of the current epoch and the one before.
    others: u64,
    /// After the operation, the item is present.
    adds: bool,
    /// The operation sweeps all words. It subtracts the removed copies from the length only when it
    /// ends.
    sweeps: bool,
    act: Act,
}

impl Case {
    fn build(&self) -> Arc<ExpiringFilter> {
        let filter = ExpiringFilter::builder(Duration::from_secs(60))
            .fingerprint_bits(self.bits)
            .epochs(self.steps)
            .capacity(CAPACITY)
            .seed(7)
            .build()
            .expect("a small filter");
        filter.tick_at(|| Duration::ZERO);
        if let Some(age) = self.age {
            filter.insert(&ITEM).expect("room");
            (0..age).for_each(|_| _ = filter.advance());
        }
        // Half of these items expire if the operation begins an epoch.
        for item in 0..self.others / 2 {
            filter.insert(&item).expect("room");
        }
        (0..self.steps).for_each(|_| _ = filter.advance());
        for item in self.others / 2..self.others {
            filter.insert(&item).expect("room");
        }
        Arc::new(filter)
    }
}

/// Performs `act` in this thread, and returns its steps.
fn steps_of(act: &Act, filter: &ExpiringFilter) -> Vec<Step> {
    let steps = Rc::new(RefCell::new(Vec::new()));
    let seen = steps.clone();
    watch(move |step| seen.borrow_mut().push(step));
    act(filter);
    watch(|_| ());
    steps.take()
}

/// The steps to stop before, out of `count` steps of one kind.
fn chosen(count: usize) -> Vec<usize> {
    let mut chosen = vec![0, 1, 2, count / 2, count.saturating_sub(1)];
    chosen.retain(|&nth| nth < count);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// A thread that is stopped, possibly forever.
struct Stopped {
    thread: thread::JoinHandle<()>,
    stands: mpsc::Sender<Infallible>,
}

impl Stopped {
    fn before(step: Step, nth: usize, act: &Act, filter: &Arc<ExpiringFilter>) -> Self {
        let (stops, reached) = mpsc::channel();
        let (stands, go_on) = mpsc::channel::<Infallible>();
        let (act, filter) = (act.clone(), filter.clone());
        let thread = thread::spawn(move || {
            let seen = Cell::new(0);
            watch(move |other| {
                if other != step {
                    return;
                }
                if seen.get() == nth {
                    stops.send(()).expect("the test waits for the thread");
                    let Err(mpsc::RecvError) = go_on.recv();
                }
                seen.set(seen.get() + 1);
            });
            act(&filter);
            watch(|_| ());
        });
        reached
            .recv_timeout(FOR_EVER)
            .expect("the thread reaches the step");
        Self { thread, stands }
    }

    fn resume(self) {
        drop(self.stands);
        self.thread.join().expect("the operation succeeds");
    }
}

/// Runs `work` in a thread of its own, and fails if it is delayed.
fn unhindered(work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = thread::spawn(move || {
        work();
        done.send(()).expect("the test waits for the thread");
    });
    match is_done.recv_timeout(FOR_EVER) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the stopped thread delays another one"),
        _ => thread.join().expect("the others succeed"),
    }
}

/// In each epoch, items are inserted by every method, and are present until they expire.
fn others(filter: &ExpiringFilter, name: &str) {
    let (steps, each) = (
        u64::from(filter.epochs()),
        (CAPACITY / 2) as u64 / u64::from(filter.epochs()),
    );
    let items = |step: u64| -> Range<u64> { (step + 1) << 32..((step + 1) << 32) + each };
    let mut refused = 0;
    for now in 0..u64::from(STEPS) {
        let mut refuse = |error: InsertError| {
            assert!(matches!(error, InsertError::Full | InsertError::Contended));
            refused += 1;
        };
        let mut present = Vec::new();
        for item in items(now) {
            let added = match item % 3 {
                0 => filter.insert(&item).map(|()| true),
                1 => filter.insert_unique(&item),
                _ => filter.insert_or_refresh(&item),
            };
            match added {
                Ok(_) => present.push(item),
                Err(error) => refuse(error),
            }
        }
        for item in present {
            assert!(
                filter.contains(&item) && filter.count(&item) > 0,
                "{name}: {item}"
            );
            assert_eq!(filter.insert_unique(&item), Ok(false), "{name}");
            assert_eq!(filter.refresh(&item), Ok(true), "{name}");
        }
        // The first item of each epoch is refreshed in every later one, so it stays.
        for earlier in 0..now {
            let item = items(earlier).start;
            match filter.refresh(&item) {
                Ok(present) => assert!(present, "{name}: {item} of step {earlier} in {now}"),
                Err(error) => refuse(error),
            }
        }
        for earlier in now.saturating_sub(steps)..=now {
            let absent = items(earlier).filter(|item| !filter.contains(item)).count();
            assert!(
                absent <= refused,
                "{name}: {absent} of step {earlier} are gone in {now}"
            );
        }
        assert!(filter.advance(), "{name}: no other thread begins epochs");
    }
    assert!(refused <= 4, "{name}: {refused} refused");
}

fn stop_everywhere(case: &Case) {
    let steps = steps_of(&case.act, &case.build());
    let mut kinds: Vec<Step> = Vec::new();
    for &step in &steps {
        if !kinds.contains(&step) {
            kinds.push(step);
        }
    }
    for step in kinds {
        let count = steps.iter().filter(|&&other| other == step).count();
        for nth in chosen(count) {
            stop(case, step, nth);
        }
    }
}

fn stop(case: &Case, step: Step, nth: usize) {
    let filter = case.build();
    let name = format!("{}, {} bits, before {step:?} {nth}", case.name, case.bits);
    let stopped = Stopped::before(step, nth, &case.act, &filter);
    let (for_others, named) = (filter.clone(), name.clone());
    let sweeps = case.sweeps;
    unhindered(move || {
        others(&for_others, &named);
        // All of these copies are dead by now. The ones that are kept in two buckets seem live
        // again in some of the next epochs, so all tags are tried twice.
        let most = 2 * for_others.bucket_slots();
        for _ in 0..2 * 16 {
            for_others.advance();
        }
        for _ in 0..2 * 16 {
            for_others.advance();
            let live = ExpiringFilter::from_bytes(&for_others.to_bytes()).expect("a snapshot");
            assert!(
                live.len() <= most,
                "{named}: {} copies live again",
                live.len()
            );
        }
        let kept = for_others.len();
        assert!(sweeps || kept <= most, "{named}: {kept} copies are kept");
    });
    stopped.resume();
    if case.adds {
        // The TTL of the item begins when the call ends, however many epochs the call took.
        for _ in 0..=filter.epochs() {
            assert!(filter.contains(&ITEM), "{name}: it is gone too early");
            filter.advance();
        }
    }
    // The kept copies may become live again in the next epoch, for as long as copies of that epoch.
    (0..=filter.epochs() + 1).for_each(|_| _ = filter.advance());
    assert_eq!(filter.len(), 0, "{name}: a copy too many");
    for item in 0..1_000_000_u64 {
        if filter.len() == CAPACITY {
            break;
        }
        filter.insert(&item).expect("all slots are there again");
    }
}

fn cases(bits: u32, steps: u32) -> Vec<Case> {
    let case = |name, age, act: fn(&ExpiringFilter)| Case {
        name,
        bits,
        steps,
        age,
        others: (CAPACITY / 2) as u64,
        adds: false,
        sweeps: false,
        act: Arc::new(act),
    };
    let adding = |name, act| Case {
        adds: true,
        ..case(name, None, act)
    };
    let sweeping = |name, act| Case {
        sweeps: true,
        ..case(name, None, act)
    };
    let crowded = |name, act: fn(&ExpiringFilter)| Case {
        others: (CAPACITY as f64 * 1.05) as u64,
        ..case(name, None, act)
    };
    vec![
        adding("insert", |filter| filter.insert(&ITEM).expect("room")),
        adding("insert_unique", |filter| {
            assert!(filter.insert_unique(&ITEM).is_ok());
        }),
        adding("insert_or_refresh", |filter| {
            assert!(filter.insert_or_refresh(&ITEM).is_ok());
        }),
        case("refresh", Some(0), |filter| {
            assert!(filter.refresh(&ITEM).is_ok());
        }),
        case("remove", Some(0), |filter| _ = filter.remove(&ITEM)),
        case("contains", Some(0), |filter| _ = filter.contains(&ITEM)),
        case("count", Some(0), |filter| _ = filter.count(&ITEM)),
        sweeping("advance", |filter| _ = filter.advance()),
        sweeping("begin_epoch and sweep", |filter| {
            filter.begin_epoch();
            filter.sweep();
        }),
        sweeping("tick", |filter| {
            let hour = Duration::from_secs(3_600);
            filter.tick_at(|| hour);
            filter.tick_at(|| hour * 2);
        }),
        crowded("inserts in a crowd", |filter| {
            for item in 0..20 {
                let _ = filter.insert(&(ITEM - item));
            }
        }),
    ]
}

#[test]
fn in_all_operations() {
    for (bits, steps) in LAYOUTS {
        cases(bits, steps).iter().for_each(stop_everywhere);
    }
}

/// Some case stops a thread before each kind of step.
#[test]
fn before_every_step_of_the_time() {
    let mut seen = Vec::new();
    for (bits, steps) in LAYOUTS {
        for case in cases(bits, steps) {
            seen.extend(steps_of(&case.act, &case.build()));
        }
    }
    for step in [
        Step::ReadEpoch,
        Step::RereadEpoch,
        Step::Withhold,
        Step::Empty,
        Step::Renew,
        Step::Tick,
        Step::Swept,
        Step::Began,
        Step::Deliver,
    ] {
        assert!(seen.contains(&step), "no thread is stopped before {step:?}");
    }
}

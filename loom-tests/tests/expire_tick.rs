//! By the clock, an epoch has the right length, whichever thread begins it.

use guira::model::{Expiring, Fault, Step};
use guira_loom_tests::Scenario;
use loom::sync::atomic::{AtomicU64, Ordering};

const SHORT: &str = "an epoch is too short";
const LONG: &str = "an epoch is too long";
const STUCK: &str = "the epoch of a clone never ends";
const LENGTH: u64 = 10;

/// A filter, and the clock of all threads.
struct Timed {
    filter: Expiring<2>,
    now: AtomicU64,
}

impl Timed {
    /// Epoch 1 has begun at time 0, which is recorded.
    fn new() -> Self {
        let filter = Expiring::new(1, &[&[], &[]]);
        filter.tick(LENGTH, || 0);
        let now = AtomicU64::new(LENGTH);
        Self { filter, now }
    }

    fn read(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    /// True if this call began an epoch.
    fn tick(&self) -> bool {
        self.filter.tick(LENGTH, || self.read())
    }
}

/// Two threads tick when an epoch is due, while a third one advances the clock by less than an
/// epoch.
fn two_ticks(passes: u64) -> Scenario<Timed> {
    let name = format!("two ticks while {passes} pass");
    Scenario::new(&name, Timed::new)
        .thread(Timed::tick)
        .thread(Timed::tick)
        .thread(move |timed| {
            timed.now.fetch_add(passes, Ordering::SeqCst);
            0_usize
        })
        .law(|timed, begun| {
            let epochs = timed.filter.epoch() - 1;
            assert_eq!(epochs, (begun[0] + begun[1]) as u64, "epochs");
            assert!(epochs <= 1, "{SHORT}");
        })
        .mains(&[0])
        .outcomes(&[[0, 1, 0], [1, 0, 0]])
}

/// A tick begins an epoch, and another thread ticks until it sees that one, once more.
fn tick_after_tick() -> Scenario<Timed> {
    Scenario::new("a tick in the epoch of another", Timed::new)
        .thread(Timed::tick)
        .thread(|timed| {
            let first = timed.tick();
            first || timed.tick()
        })
        .law(|timed, _| assert!(timed.filter.epoch() <= 2, "{SHORT}"))
        .outcomes(&[[0, 1], [1, 0]])
}

/// A tick records late when epoch 1 began. Before that, another thread begins epoch 5 and records
/// its beginning, at the same place: a model knows the beginnings of four epochs.
fn late_record() -> Scenario<Timed> {
    let unrecorded = || Timed {
        filter: Expiring::new(1, &[&[], &[]]),
        now: AtomicU64::new(LENGTH),
    };
    Scenario::new("a late record of an epoch before", unrecorded)
        .thread(Timed::tick)
        .thread(|timed| {
            timed.now.fetch_add(LENGTH / 2, Ordering::SeqCst);
            for _ in 0..4 {
                assert!(timed.filter.begin_epoch(), "no other thread begins one");
            }
            timed.tick()
        })
        .law(|timed, _| {
            let began = timed.read();
            assert!(!timed.filter.tick(LENGTH, || began + LENGTH - 1), "{SHORT}");
            assert!(timed.filter.tick(LENGTH, || began + LENGTH), "{LONG}");
        })
        .outcomes(&[[0, 0]])
}

/// A clone is made while a tick begins an epoch.
fn clone_beside_tick() -> Scenario<Timed> {
    Scenario::new("a clone beside a tick", Timed::new)
        .thread(Timed::tick)
        .thread(|timed| timed.filter.clone_can_tick())
        .law(|_, can| assert_eq!(can[1], 1, "{STUCK}"))
        .outcomes(&[[1, 1]])
}

#[test]
fn the_epoch_of_a_clone_ends() {
    clone_beside_tick().holds();
}

#[test]
fn a_clone_takes_its_epoch_last() {
    clone_beside_tick().must_fail(Fault::EndBeforeBeginning, STUCK);
}

#[test]
fn of_two_calls_one_begins_an_epoch() {
    two_ticks(LENGTH - 1).holds();
}

#[test]
fn an_epoch_that_another_thread_has_begun_is_not_due() {
    tick_after_tick().holds();
}

#[test]
fn a_late_record_changes_nothing() {
    late_record().holds();
    late_record().must_fail(Fault::ReadingOverwritten, SHORT);
    late_record().must_fail(Fault::RecordOverwritten, LONG);
}

#[test]
fn a_record_is_seen_with_its_reading() {
    tick_after_tick().must_fail(Step::Began, SHORT);
}

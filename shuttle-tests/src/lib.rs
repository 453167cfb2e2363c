//! Runs a law of the filter under many schedules, at random and by PCT.
//!
//! A [`Law`] is a body that starts threads, asserts what must hold, and records which events it has
//! seen ([`Seen`]). [`Law::holds`] runs it without a fault and asserts that every event was seen.
//! [`Law::must_fail`] activates a fault, expects the law to break, and replays the schedule that
//! broke it. `README.md` has the commands.
#![cfg(guira_shuttle)]

pub mod crowded;
pub mod items;
mod replay;

use guira::model::{Fault, weaken};
use replay::{Recorder, Replay};
use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler},
};
use std::{
    any::Any,
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Defines a test for each fault, with which the law must break and print one of `$messages`.
#[macro_export]
macro_rules! controls {
    ($messages:expr; $($name:ident: $law:ident, $fault:ident;)*) => {$(
        #[test]
        fn $name() {
            $law().must_fail(guira::model::Fault::$fault, &$messages);
        }
    )*};
}

/// The number of schedules for a law and a scheduler, unless `GUIRA_SHUTTLE_ITERATIONS` is set.
const ITERATIONS: usize = 20_000;

/// The event that a law is about must happen at least once in this number of schedules.
const RAREST: usize = 200;

/// The depth of PCT: one more than the number of priority changes in a schedule.
const DEPTH: usize = 4;

/// If an execution has more steps, it is considered endless.
const MAX_STEPS: usize = 100_000;

/// A search needs a large stack.
const STACK_BYTES: usize = 1 << 18;

/// Messages of the library itself, or of a model at rest, about a broken protocol.
const BROKEN: [&str; 9] = [
    "is_marked(Mark::",
    "a mark is left",
    "a reservation is left",
    "len and the words disagree",
    "is lost in",
    "the hint is",
    "a segment is published before",
    "index out of bounds",
    "exceeded max_steps",
];

/// The number of executions of a run in which each event was seen.
#[derive(Debug, Default)]
pub struct Seen(Mutex<BTreeMap<&'static str, usize>>);

impl Seen {
    /// Records whether `what` happened in this execution. Every execution must call this.
    pub fn note(&self, what: &'static str, happened: bool) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.entry(what).or_default() += usize::from(happened);
    }

    fn add(&self, other: &Self) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let other = other.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, times) in &*other {
            *seen.entry(what).or_default() += times;
        }
    }

    fn rarest(&self) -> (&'static str, usize) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.iter().map(|(&what, &times)| (what, times));
        seen.min_by_key(|&(_, times)| times)
            .expect("a law notes what it is for")
    }

    fn print(&self) -> String {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().fold(String::new(), |mut text, (what, times)| {
            write!(text, " | {what}: {times}").expect("a string");
            text
        })
    }
}

/// The scheduler that decides which thread runs next.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Random,
    Pct,
}

impl Choice {
    fn scheduler(self) -> Box<dyn Scheduler + Send> {
        let (seed, iterations) = (seed(), iterations());
        match self {
            Self::Random => Box::new(RandomScheduler::new_from_seed(seed, iterations)),
            Self::Pct => Box::new(PctScheduler::new_from_seed(seed, DEPTH, iterations)),
        }
    }
}

/// A body that must not panic, however its threads are scheduled.
#[derive(Clone)]
pub struct Law {
    name: &'static str,
    body: Arc<dyn Fn(&Seen) + Send + Sync>,
}

impl std::fmt::Debug for Law {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Law").field(&self.name).finish()
    }
}

/// The executions of a law by one scheduler.
struct Run {
    schedules: usize,
    seen: Arc<Seen>,
    time: Duration,
    /// The message of the panic and the schedule, if an execution failed.
    failure: Option<(String, Replay)>,
}

impl Law {
    /// The law that `body` checks.
    pub fn new(name: &'static str, body: impl Fn(&Seen) + Send + Sync + 'static) -> Self {
        Self {
            name,
            body: Arc::new(body),
        }
    }

    /// Runs the law with both schedulers.
    ///
    /// # Panics
    ///
    /// If an execution breaks the law, or if both schedulers together hardly saw an event that the
    /// law is about.
    pub fn holds(&self) {
        let _alone = alone();
        if let Some(replay) = asked() {
            if replay.is_of(self.name, Fault::None) {
                self.replay(&replay, Fault::None);
            }
            return;
        }
        let (all, mut schedules) = (Seen::default(), 0);
        for choice in [Choice::Random, Choice::Pct] {
            let run = self.run(choice.scheduler(), Fault::None);
            self.print(&format!("{choice:?}, seed {}", seed()), Fault::None, &run);
            if let Some((message, replay)) = run.failure {
                let file = replay.save();
                panic!(
                    "{} is broken: {message}\nseed {}, after {} schedules; replay it with GUIRA_SHUTTLE_REPLAY={}",
                    self.name,
                    seed(),
                    run.schedules,
                    file.display()
                );
            }
            all.add(&run.seen);
            schedules += run.schedules;
        }
        let (what, times) = all.rarest();
        assert!(
            times > 0 && times * RAREST >= schedules,
            "{}: '{what}' was seen {times} times in {schedules} schedules",
            self.name
        );
    }

    /// Activates `fault`, and expects the law to break under either scheduler. The message must
    /// contain one of `laws`, or be one of the library or a model. Then the schedule is replayed
    /// from its file, and must give the same message.
    ///
    /// # Panics
    ///
    /// If nothing breaks, if something else does, or if the replay gives another message.
    pub fn must_fail(&self, fault: Fault, laws: &[&str]) {
        let _alone = alone();
        if let Some(replay) = asked() {
            if replay.is_of(self.name, fault) {
                self.replay(&replay, fault);
            }
            return;
        }
        for choice in [Choice::Pct, Choice::Random] {
            let run = self.run(choice.scheduler(), fault);
            self.print(&format!("{choice:?}, seed {}", seed()), fault, &run);
            let Some((message, replay)) = run.failure else {
                continue;
            };
            assert!(
                laws.iter()
                    .chain(&BROKEN)
                    .any(|says| message.contains(says)),
                "{} with {fault:?} fails for another reason: {message}",
                self.name
            );
            let replay = Replay::load(&replay.save());
            let again = self.run(Box::new(replay.scheduler()), fault);
            let again = again.failure.map(|(message, _)| message);
            assert_eq!(again, Some(message), "the replay of {}", self.name);
            return;
        }
        panic!("{} holds in spite of {fault:?}", self.name);
    }

    /// Runs the single schedule of a file, and panics as it did.
    fn replay(&self, replay: &Replay, fault: Fault) {
        let run = self.run(Box::new(replay.scheduler()), fault);
        self.print("Replay", fault, &run);
        if let Some((message, _)) = run.failure {
            panic!("{} is broken in the replay: {message}", self.name);
        }
    }

    fn run(&self, scheduler: Box<dyn Scheduler + Send>, fault: Fault) -> Run {
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
        // The recorder already keeps the schedule.
        config.failure_persistence = FailurePersistence::None;
        config.silence_warnings = true;

        let (recorder, record) = Recorder::new(scheduler);
        let seen = Arc::new(Seen::default());
        let body = {
            let (body, seen) = (self.body.clone(), seen.clone());
            move || {
                // The fault is activated each time, because a body may have refused memory.
                weaken(fault, None, false);
                body(&seen);
            }
        };
        let start = Instant::now();
        let result =
            panic::catch_unwind(AssertUnwindSafe(|| Runner::new(recorder, config).run(body)));
        let time = start.elapsed();
        weaken(Fault::None, None, false);
        let record = record.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = result.err().map(|payload| {
            let replay = Replay::new(self.name, fault, &record);
            (message_of(&*payload), replay)
        });
        Run {
            schedules: record.schedules,
            seen,
            time,
            failure,
        }
    }

    /// Prints one line per run, which libtest does not capture: if a check passes for the wrong
    /// reason, the numbers show it first.
    fn print(&self, by: &str, fault: Fault, run: &Run) {
        let verdict = match (&run.failure, fault) {
            (Some((message, _)), _) => format!(" | {fault:?} | {}", message.replace('\n', " ")),
            (None, Fault::None) => run.seen.print(),
            (None, _) => format!(" | {fault:?} | holds"),
        };
        writeln!(
            io::stderr(),
            "{} | {by} | {} schedules | {:.2} s{verdict}",
            self.name,
            run.schedules,
            run.time.as_secs_f64()
        )
        .expect("standard error");
    }
}

/// The number of schedules in a run.
fn iterations() -> usize {
    number("GUIRA_SHUTTLE_ITERATIONS").unwrap_or(ITERATIONS)
}

/// The seed of the schedulers, fixed unless `GUIRA_SHUTTLE_SEED` is set.
fn seed() -> u64 {
    number("GUIRA_SHUTTLE_SEED").unwrap_or(0) as u64
}

fn number(variable: &str) -> Option<usize> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {value}")),
    )
}

/// The schedule to replay instead of all runs.
fn asked() -> Option<Replay> {
    let file = std::env::var_os("GUIRA_SHUTTLE_REPLAY")?;
    Some(Replay::load(&PathBuf::from(file)))
}

/// Runs one law at a time, because the fault switch applies to the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

//! Runs a law of the filter under many schedules, at random and by PCT.
//!
//! A [`Law`] is a body that starts some threads and asserts what must hold, and that says what it
//! has come across ([`Seen`]). [`Law::holds`] runs it without a fault and asserts that all of that
//! was seen. [`Law::must_fail`] switches a fault on, expects the law to break, and replays the
//! schedule that broke it. `README.md` has the commands.
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

/// Tests, one for each fault: with it the law must break, and say one of `$messages`.
#[macro_export]
macro_rules! controls {
    ($messages:expr; $($name:ident: $law:ident, $fault:ident;)*) => {$(
        #[test]
        fn $name() {
            $law().must_fail(guira::model::Fault::$fault, &$messages);
        }
    )*};
}

/// Schedules that a law is run under, by each scheduler, unless
/// `GUIRA_SHUTTLE_ITERATIONS` says otherwise.
const ITERATIONS: usize = 20_000;

/// The event that a law is for must happen at least once in this number of schedules.
const RAREST: usize = 200;

/// The depth of PCT: one more than the changes of priority in a schedule.
const DEPTH: usize = 4;

/// Steps of one execution after which it is taken for endless.
const MAX_STEPS: usize = 100_000;

/// A search lies on the stack.
const STACK_BYTES: usize = 1 << 18;

/// What the library itself, or a model at rest, says of a protocol that is broken.
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

/// What the executions of a run have come across: in how many of them each.
#[derive(Debug, Default)]
pub struct Seen(Mutex<BTreeMap<&'static str, usize>>);

impl Seen {
    /// Says of this execution whether `what` happened in it. To be said of each.
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

/// Who decides which thread runs next.
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

/// Some executions of a law.
struct Run {
    schedules: usize,
    seen: Arc<Seen>,
    time: Duration,
    /// The panic's message and the schedule, if an execution failed.
    failure: Option<(String, Replay)>,
}

impl Law {
    /// The law that `body` states.
    pub fn new(name: &'static str, body: impl Fn(&Seen) + Send + Sync + 'static) -> Self {
        Self {
            name,
            body: Arc::new(body),
        }
    }

    /// Runs the law by both schedulers.
    ///
    /// # Panics
    ///
    /// If an execution breaks the law, or if something that it is there for was
    /// hardly seen by both together.
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

    /// Switches `fault` on and expects the law to break, by either scheduler. The message contains
    /// one of `laws`, or is one that the library or a model has for it. Then this replays the
    /// schedule, from its file, and expects the same message.
    ///
    /// # Panics
    ///
    /// If nothing breaks, or something else does, or another one in the replay.
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

    /// Runs the one schedule of a file, and breaks as it did.
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
        // The recorder has the schedule.
        config.failure_persistence = FailurePersistence::None;
        config.silence_warnings = true;

        let (recorder, record) = Recorder::new(scheduler);
        let seen = Arc::new(Seen::default());
        let body = {
            let (body, seen) = (self.body.clone(), seen.clone());
            move || {
                // Each time: a body may have refused memory.
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

    /// One line for each run, past libtest's capture: a check that passes for the
    /// wrong reason shows in the numbers first.
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

/// Schedules of a run.
fn iterations() -> usize {
    number("GUIRA_SHUTTLE_ITERATIONS").unwrap_or(ITERATIONS)
}

/// What the schedulers start from: the same unless `GUIRA_SHUTTLE_SEED` says otherwise.
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

/// The schedule that is to be replayed, instead of all runs.
fn asked() -> Option<Replay> {
    let file = std::env::var_os("GUIRA_SHUTTLE_REPLAY")?;
    Some(Replay::load(&PathBuf::from(file)))
}

/// The switch for faults is one for the whole process: one law at a time.
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

//! Runs a model of the protocol in several ways. In each, loom explores different interleavings.
//!
//! A [`Scenario`] is a small filter, two or three threads with one or a few operations each, and a
//! law. [`Scenario::holds`] explores it in both load modes, with each thread in turn as the main
//! one. [`Scenario::must_fail`] weakens one thing and expects the law to break. `README.md` gives
//! the reasons.
#![cfg(guira_loom)]

mod breaking;
pub mod growth;
mod pair;

pub use pair::{ENDS, P, Q, direction, even, odd, other, with};

use breaking::{breaking, show};
use guira::model::{Fault, Model, Step, start_trace, weaken};
use std::{
    any::Any,
    collections::BTreeSet,
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// The operations of one thread. The result is a part of the outcome.
type Part<F> = Arc<dyn Fn(&F) -> usize + Send + Sync>;

/// The law that must hold when all threads have ended, given their results.
type Law<F> = Arc<dyn Fn(&F, &[usize]) + Send + Sync>;

/// If no run of a scenario has more iterations, the scenario has not been explored. (A single run
/// may miss interleavings, which is why there are others.)
const MIN_ITERATIONS: usize = 10;

/// The preemption bound if `GUIRA_LOOM_BOUND` does not say otherwise.
const DEFAULT_BOUND: usize = 3;

/// If an execution has more steps, loom considers it endless.
const MAX_BRANCHES: usize = 5_000;

/// The one thing that a negative control does wrong.
#[derive(Clone, Copy, Debug)]
pub enum Weakness {
    /// A step is left out or done wrong.
    Step(Fault),
    /// The memory ordering of a step is Relaxed.
    Relaxed(Step),
}

impl Weakness {
    /// The name of the fault, or of the step whose ordering is weakened.
    fn name(self) -> String {
        match self {
            Self::Step(fault) => format!("{fault:?}"),
            Self::Relaxed(step) => format!("{step:?}"),
        }
    }
}

impl From<Fault> for Weakness {
    fn from(fault: Fault) -> Self {
        Self::Step(fault)
    }
}

impl From<Step> for Weakness {
    fn from(step: Step) -> Self {
        Self::Relaxed(step)
    }
}

/// A model of one situation, for one type of filter.
pub struct Scenario<F = Model<2>> {
    name: String,
    setup: Arc<dyn Fn() -> F + Send + Sync>,
    parts: Vec<Part<F>>,
    law: Law<F>,
    outcomes: BTreeSet<Vec<usize>>,
    deep_outcomes: BTreeSet<Vec<usize>>,
    mains: Option<Vec<usize>>,
    /// What the bound of `holds` is before its reduction, at least.
    least_bound: usize,
    /// The reduction of the bound in the mode of loads, and in that of exchanges.
    less: [usize; 2],
    loads_only: bool,
}

/// One exploration by loom.
struct Run {
    /// The panic's message, if one iteration failed.
    failure: Option<String>,
    iterations: usize,
    time: Duration,
}

impl<F> std::fmt::Debug for Scenario<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scenario")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<F: Send + Sync + 'static> Scenario<F> {
    /// A scenario that starts with the filter that `setup` builds.
    pub fn new(name: &str, setup: impl Fn() -> F + Send + Sync + 'static) -> Self {
        Self {
            name: name.to_owned(),
            setup: Arc::new(setup),
            parts: Vec::new(),
            law: Arc::new(|_, _| {}),
            outcomes: BTreeSet::new(),
            deep_outcomes: BTreeSet::new(),
            mains: None,
            least_bound: 1,
            less: [0, 1],
            loads_only: false,
        }
    }

    /// Adds a thread. Its result, as a number, is a part of the outcome.
    #[must_use]
    pub fn thread<R: Into<usize>>(
        mut self,
        part: impl Fn(&F) -> R + Send + Sync + 'static,
    ) -> Self {
        self.parts.push(Arc::new(move |filter| part(filter).into()));
        self
    }

    /// Sets the law that must hold when all threads have ended.
    #[must_use]
    pub fn law(mut self, law: impl Fn(&F, &[usize]) + Send + Sync + 'static) -> Self {
        self.law = Arc::new(law);
        self
    }

    /// Declares the outcomes, each with one result per thread. All of them must be seen, and no
    /// others.
    #[must_use]
    pub fn outcomes<const N: usize>(mut self, outcomes: &[[usize; N]]) -> Self {
        assert_eq!(N, self.parts.len(), "one result of each thread");
        self.outcomes = outcomes.iter().map(|outcome| outcome.to_vec()).collect();
        self
    }

    /// Declares outcomes that may be seen, but only if the bound is high enough.
    #[must_use]
    pub fn deep_outcomes<const N: usize>(mut self, outcomes: &[[usize; N]]) -> Self {
        assert_eq!(N, self.parts.len(), "one result of each thread");
        self.deep_outcomes = outcomes.iter().map(|outcome| outcome.to_vec()).collect();
        self
    }

    /// Selects the threads that take a turn as the main one, instead of all threads. For scenarios
    /// with equal threads, and for large ones.
    #[must_use]
    pub fn mains(mut self, mains: &[usize]) -> Self {
        self.mains = Some(mains.to_vec());
        self
    }

    /// Raises a lower bound to this one: the scenario has too few interleavings, or not all of its
    /// outcomes, below it.
    #[must_use]
    pub fn least_bound(mut self, bound: usize) -> Self {
        self.least_bound = bound;
        self
    }

    /// Marks a scenario that is too large for the full bound. Each call lowers the bound by one, in
    /// every mode. `must_fail` still uses the full one.
    #[must_use]
    pub fn large(mut self) -> Self {
        self.less = self.less.map(|less| less + 1);
        self
    }

    /// Lowers the bound for the mode of exchanges only.
    #[must_use]
    pub fn large_with_exchanges(mut self) -> Self {
        self.less[1] += 1;
        self
    }

    /// Leaves out the mode of exchanges. There each exchange multiplies the values that later loads
    /// can read, so that even the lowest bound takes too long.
    #[must_use]
    pub fn loads_only(mut self) -> Self {
        self.loads_only = true;
        self
    }

    /// Explores the scenario in both load modes, with each thread as the main one.
    ///
    /// # Panics
    ///
    /// If the law breaks, if the outcomes are not the declared ones, or if loom explored almost
    /// nothing.
    pub fn holds(&self) {
        self.hold(Fault::None, None);
    }

    /// As [`holds`](Self::holds), with the ordering of `step` Relaxed: the protocol requires less
    /// than the code does. The table in `README.md` gives the reason.
    ///
    /// # Panics
    ///
    /// As [`holds`](Self::holds).
    pub fn holds_relaxed(&self, step: Step) {
        self.hold(Fault::None, Some(step));
    }

    /// As [`holds`](Self::holds), with the wrong operations while no fault is active. They are
    /// correct except for their faults.
    ///
    /// # Panics
    ///
    /// As [`holds`](Self::holds).
    pub fn holds_rehearsed(&self) {
        self.hold(Fault::Rehearsed, None);
    }

    fn hold(&self, fault: Fault, relaxed: Option<Step>) {
        if breaking().is_some() {
            return;
        }
        let _alone = alone();
        let weakness = match (fault, relaxed) {
            (Fault::None, None) => String::new(),
            (Fault::None, Some(step)) => format!("{:?}", Weakness::from(step)),
            (fault, _) => format!("{:?}", Weakness::from(fault)),
        };
        let (mut seen, mut most) = (BTreeSet::new(), 0);
        for (exchanges, main) in self.ways() {
            weaken(fault, relaxed, exchanges);
            let bound = self.bound(exchanges);
            let run = self.explore(bound, main, &mut seen);
            weaken(Fault::None, None, false);
            self.print(&weakness, exchanges, main, bound, &run);
            if let Some(message) = run.failure {
                panic!("{}: {message}", self.name);
            }
            most = most.max(run.iterations);
        }
        assert!(
            most >= MIN_ITERATIONS,
            "{}: only {most} iterations",
            self.name
        );
        let shallow: BTreeSet<_> = seen.difference(&self.deep_outcomes).cloned().collect();
        assert_eq!(
            shallow, self.outcomes,
            "{}: outcomes seen (left), declared (right)",
            self.name
        );
    }

    /// Weakens one thing, and expects the law to break with a message that contains `expected`.
    ///
    /// The bound increases step by step up to the full one, because most failures need only one or
    /// two preemptions. It increases to 3 even if the full one is lower, because some need three.
    ///
    /// # Panics
    ///
    /// If nothing breaks, or if something else does.
    pub fn must_fail(&self, weakness: impl Into<Weakness>, expected: &str) {
        let weakness = weakness.into();
        if breaking().is_some_and(|name| name != weakness.name()) {
            return;
        }
        let _alone = alone();
        let (fault, relaxed) = match weakness {
            Weakness::Step(fault) => (fault, None),
            Weakness::Relaxed(step) => (Fault::None, Some(step)),
        };
        let most = bound().map(|bound| bound.max(DEFAULT_BOUND));
        let bounds = (1..most.unwrap_or(DEFAULT_BOUND + 1))
            .map(Some)
            .chain([most]);
        for bound in bounds {
            for (exchanges, main) in self.ways() {
                weaken(fault, relaxed, exchanges);
                let run = quietly(|| self.explore(bound, main, &mut BTreeSet::new()));
                weaken(Fault::None, None, false);
                self.print(&format!("{weakness:?}"), exchanges, main, bound, &run);
                if let Some(message) = run.failure {
                    assert!(
                        message.contains(expected),
                        "{} with {weakness:?} fails for another reason: {message}",
                        self.name
                    );
                    if breaking().is_some() {
                        show(
                            &self.name,
                            &weakness.name(),
                            bound,
                            run.iterations,
                            &message,
                        );
                    }
                    return;
                }
            }
        }
        panic!("{} holds in spite of {weakness:?}", self.name);
    }

    /// The load modes and main threads. In one mode, the loads before exchanges are exchanges, too.
    ///
    /// An exchange that changes nothing is one more store that later loads can read, so this mode
    /// has ten to a hundred times the iterations. Therefore only the first thread is the main one,
    /// and the bound is lower by one. The interleavings for which this mode exists do not need a
    /// high bound.
    fn ways(&self) -> Vec<(bool, usize)> {
        let mains = self
            .mains
            .clone()
            .unwrap_or_else(|| (0..self.parts.len()).collect());
        mains
            .iter()
            .map(|&main| (false, main))
            .chain((!self.loads_only).then_some((true, mains[0])))
            .collect()
    }

    /// The preemption bound of a run that must hold.
    fn bound(&self, exchanges: bool) -> Option<usize> {
        let less = self.less[usize::from(exchanges)];
        bound().map(|bound| bound.max(self.least_bound).saturating_sub(less).max(1))
    }

    fn explore(&self, bound: Option<usize>, main: usize, seen: &mut BTreeSet<Vec<usize>>) -> Run {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = bound;
        builder.max_branches = MAX_BRANCHES;
        // These limits come from the environment, and a run that reaches one would pass.
        builder.max_duration = None;
        builder.max_permutations = None;
        builder.checkpoint_file = None;

        let iterations = Arc::new(AtomicUsize::new(0));
        let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
        let body = {
            let (setup, law) = (self.setup.clone(), self.law.clone());
            let parts = self.parts.clone();
            let (iterations, outcomes) = (iterations.clone(), outcomes.clone());
            move || {
                iterations.fetch_add(1, Ordering::Relaxed);
                let filter = Arc::new(setup());
                if breaking().is_some() {
                    start_trace();
                }
                let results = run_parts(&filter, &parts, main);
                law(&filter, &results);
                outcomes.lock().unwrap().insert(results);
            }
        };
        let start = Instant::now();
        let failure = panic::catch_unwind(AssertUnwindSafe(|| builder.check(body)))
            .err()
            .map(|payload| message_of(&*payload));
        seen.append(&mut outcomes.lock().unwrap_or_else(PoisonError::into_inner));
        Run {
            failure,
            iterations: iterations.load(Ordering::Relaxed),
            time: start.elapsed(),
        }
    }

    /// Prints one line per run, which libtest does not capture: if a control passes for the wrong
    /// reason, the numbers show it first.
    fn print(&self, weakness: &str, exchanges: bool, main: usize, bound: Option<usize>, run: &Run) {
        let mode = if exchanges { "exchanges" } else { "loads" };
        let bound = bound.map_or("none".to_owned(), |bound| bound.to_string());
        let seconds = run.time.as_secs_f64();
        let verdict = match &run.failure {
            Some(message) => format!(" | {weakness} | {}", message.replace('\n', " ")),
            None if weakness.is_empty() => String::new(),
            None => format!(" | {weakness} | holds"),
        };
        writeln!(
            io::stderr(),
            "{} | {mode} | main {main} | bound {bound} | {} iterations | {seconds:.2} s{verdict}",
            self.name,
            run.iterations
        )
        .expect("standard error");
    }
}

/// The full preemption bound: [`DEFAULT_BOUND`], or the value of `GUIRA_LOOM_BOUND`, where `none` means unbounded.
fn bound() -> Option<usize> {
    match std::env::var("GUIRA_LOOM_BOUND").as_deref() {
        Err(_) => Some(DEFAULT_BOUND),
        Ok("none") => None,
        Ok(number) => Some(
            number
                .parse()
                .expect("GUIRA_LOOM_BOUND is a number or `none`"),
        ),
    }
}

/// Runs `parts` concurrently, the one with index `main` in this thread.
fn run_parts<F: Send + Sync + 'static>(
    filter: &Arc<F>,
    parts: &[Part<F>],
    main: usize,
) -> Vec<usize> {
    let spawned: Vec<_> = (0..parts.len())
        .map(|index| {
            (index != main).then(|| {
                let (filter, part) = (filter.clone(), parts[index].clone());
                loom::thread::spawn(move || part(&filter))
            })
        })
        .collect();
    let own = parts[main](filter);
    spawned
        .into_iter()
        .map(|handle| handle.map_or(own, |handle| handle.join().expect("loom reports the panic")))
        .collect()
}

/// Runs one scenario at a time, because the switch that weakens the protocol applies to the whole
/// process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    set_hook();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `f`, in which panics are expected, without printing them.
///
/// The hook is set once, before loom installs its own hook on top of it. That one already
/// suppresses the panics by which loom ends its threads, millions of them.
fn quietly<R>(f: impl FnOnce() -> R) -> R {
    QUIET.store(true, Ordering::Relaxed);
    let result = f();
    QUIET.store(false, Ordering::Relaxed);
    result
}

static QUIET: AtomicBool = AtomicBool::new(false);

fn set_hook() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.load(Ordering::Relaxed) {
                print(info);
            }
        }));
    });
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

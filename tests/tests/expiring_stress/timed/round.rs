//! Runs a filter, its ticker and the threads that use it, for a while.

use super::{
    own::Owner,
    shared::{First, Lives, Racer, SHARED, twice},
    steps::{Nanos, Steps, nanos},
    violation::Violation,
};
use guira::ExpiringFilter;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    fmt,
    ops::AddAssign,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// The length of an epoch.
const STEP: Duration = Duration::from_millis(20);

/// Longer than any thread takes, even on a busy machine.
const LATE: Duration = Duration::from_secs(600);

/// The parameters of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// `None`: the filter grows, from nearly nothing.
    pub(crate) bits: Option<u32>,
    pub(crate) steps: u32,
    pub(crate) threads: usize,
    pub(crate) capacity: usize,
    /// The number of items of all threads together.
    pub(crate) items: usize,
    /// With this probability, 1 in `pause`, a thread that finds a place without an item inserts
    /// one.
    pub(crate) pause: u32,
    /// Threads remove items of their own.
    pub(crate) removes: bool,
    pub(crate) yields: bool,
    pub(crate) lasts: Duration,
    pub(crate) seed: u64,
}

/// The events of a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) rounds: u64,
    pub(crate) operations: u64,
    pub(crate) steps: u64,
    pub(crate) full: u64,
    /// Lookups of certainly absent items, the number that were found, and the maximum number to be
    /// expected.
    pub(crate) absent: u64,
    pub(crate) false_positives: u64,
    pub(crate) expected: f64,
    /// Calls that inserted a shared item first.
    pub(crate) firsts: u64,
    pub(crate) relocations: u64,
    /// How often the filters have doubled.
    pub(crate) doublings: u64,
    /// Rounds in which a remove came too late to say anything.
    pub(crate) tainted: u64,
    pub(crate) longest_step: Nanos,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.operations += other.operations;
        self.steps += other.steps;
        self.full += other.full;
        self.absent += other.absent;
        self.false_positives += other.false_positives;
        self.expected += other.expected;
        self.firsts += other.firsts;
        self.relocations += other.relocations;
        self.doublings += other.doublings;
        self.tainted += other.tainted;
        self.longest_step = self.longest_step.max(other.longest_step);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rounds, {} steps, the longest {:.1?}; {} operations, {} relocations, \
             {} doublings, {} full; \
             {} of {} absent found, at most {:.1} expected; {} came first; {} rounds tainted",
            self.rounds,
            self.steps,
            Duration::from_nanos(self.longest_step),
            self.operations,
            self.relocations,
            self.doublings,
            self.full,
            self.false_positives,
            self.absent,
            self.expected,
            self.firsts,
            self.tainted,
        )
    }
}

/// The state that the threads share.
pub(crate) struct Scene {
    pub(crate) filter: ExpiringFilter,
    pub(crate) steps: Steps,
    pub(crate) ttl: Nanos,
    /// The highest false-positive rate that the filter promises.
    pub(crate) rate: f64,
    pub(crate) lives: Lives,
}

impl Round {
    /// Returns the violations as an error.
    pub(crate) fn run(self) -> Result<Report, String> {
        let ttl = STEP * self.steps;
        let (builder, most) = (ExpiringFilter::builder(ttl), self.capacity + SHARED);
        let builder = builder.epochs(self.steps).seed(self.seed);
        let builder = match self.bits {
            Some(bits) => builder.capacity(most).fingerprint_bits(bits),
            None => builder.capacity(most / 500 + 1).max_capacity(most),
        };
        let filter = builder.build().expect("a small filter");
        let scene = Scene {
            rate: match self.bits {
                Some(_) => filter.false_positive_rate(),
                // The default, at every level.
                None => 0.001,
            },
            filter,
            steps: Steps::new(((self.lasts + LATE).as_millis() / STEP.as_millis()) as usize),
            ttl: nanos(ttl),
            lives: Lives::new(),
        };
        let over = AtomicBool::new(false);
        let mut report = Report::default();
        let (mut violations, mut firsts, mut tainted) = (Vec::new(), Vec::<First>::new(), false);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (scene, over) = (&scene, &over);
                    scope.spawn(move || self.work(scene, thread, over))
                })
                .collect();
            while scene.steps.elapsed() < self.lasts {
                scene.steps.observe(&scene.filter);
                scene.filter.tick_at(|| scene.steps.elapsed());
                scene.steps.observe(&scene.filter);
                thread::sleep(Duration::from_millis(1));
            }
            over.store(true, Ordering::Relaxed);
            for thread in threads {
                let (owner, racer) = thread.join().expect("no panic");
                report += owner.report;
                report += racer.report;
                violations.extend(owner.violations);
                violations.extend(racer.violations);
                firsts.extend(racer.firsts);
                tainted |= owner.tainted;
            }
        });
        violations.extend(twice(firsts, scene.ttl));
        self.judge(&scene, violations, tainted)?;
        report.rounds = 1;
        report.steps = scene.steps.latest() as u64;
        let stats = scene.filter.stats();
        report.relocations = stats.relocations;
        report.doublings = stats.doublings.into();
        report.tainted = tainted.into();
        report.longest_step = scene.steps.lengths().map_or(0, |(_, longest)| longest);
        Ok(report)
    }

    fn work<'a>(
        self,
        scene: &'a Scene,
        thread: usize,
        over: &AtomicBool,
    ) -> (Owner<'a>, Racer<'a>) {
        let mut random = SmallRng::seed_from_u64(self.seed ^ thread as u64);
        let mut owner = Owner::new(scene, self, thread);
        let mut racer = Racer::new(scene, self);
        while !over.load(Ordering::Relaxed) {
            for _ in 0..256 {
                if random.random_ratio(1, 5) {
                    racer.step(&mut random);
                } else {
                    owner.step(&mut random);
                }
                if self.yields && random.random_ratio(1, 16) {
                    thread::yield_now();
                }
            }
            // All threads race to begin an epoch, and none may be too short.
            scene.filter.tick_at(|| scene.steps.elapsed());
            scene.steps.observe(&scene.filter);
        }
        (owner, racer)
    }

    /// Judges the round after all threads have ended.
    fn judge(self, scene: &Scene, found: Vec<Violation>, tainted: bool) -> Result<(), String> {
        let shortest = scene.steps.lengths().map(|(shortest, _)| shortest);
        if shortest.is_some_and(|shortest| shortest < nanos(STEP)) {
            return Err(format!("an epoch of {shortest:?} ns in {self:?}"));
        }
        if !found.is_empty() && !tainted {
            let all: Vec<String> = found.iter().take(20).map(ToString::to_string).collect();
            let (count, all) = (found.len(), all.join("\n"));
            return Err(format!("{count} violations in {self:?}:\n{all}"));
        }
        let filter = &scene.filter;
        for _ in 0..=self.steps {
            filter.advance();
        }
        match filter.len() {
            0 => Ok(()),
            left => Err(format!("{left} copies are left at rest in {self:?}")),
        }
    }
}

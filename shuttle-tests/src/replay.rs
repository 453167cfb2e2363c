//! Records a schedule while it runs, stores it in a file, and runs it again.

use super::{PoisonError, ReplayScheduler, Scheduler};
use guira::model::Fault;
use shuttle::scheduler::{Schedule, Task, TaskId};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

/// The decisions of a scheduler in the current execution.
#[derive(Default)]
pub(crate) struct Record {
    /// The number of executions, including the current one.
    pub(crate) schedules: usize,
    seed: u64,
    /// The thread that ran, or `None` for a random number.
    steps: Vec<Option<usize>>,
}

/// A scheduler that records the decisions of the scheduler inside it.
pub(crate) struct Recorder {
    inner: Box<dyn Scheduler + Send>,
    record: Arc<Mutex<Record>>,
}

impl Recorder {
    pub(crate) fn new(inner: Box<dyn Scheduler + Send>) -> (Self, Arc<Mutex<Record>>) {
        let record = Arc::<Mutex<Record>>::default();
        (
            Self {
                inner,
                record: record.clone(),
            },
            record,
        )
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduler for Recorder {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.inner.new_execution()?;
        let mut record = self.record();
        record.schedules += 1;
        record.seed = schedule.seed;
        record.steps.clear();
        drop(record);
        Some(schedule)
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let next = self.inner.next_task(runnable, current, is_yielding)?;
        self.record().steps.push(Some(next.into()));
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.record().steps.push(None);
        self.inner.next_u64()
    }
}

/// A schedule, and the law and fault for which it was recorded.
#[derive(Debug, PartialEq)]
pub(crate) struct Replay {
    law: String,
    fault: String,
    seed: u64,
    steps: Vec<Option<usize>>,
}

/// The step in a file that stands for a random number.
const RANDOM: &str = "r";

impl Replay {
    pub(crate) fn new(law: &str, fault: Fault, record: &Record) -> Self {
        Self {
            law: law.to_owned(),
            fault: format!("{fault:?}"),
            seed: record.seed,
            steps: record.steps.clone(),
        }
    }

    pub(crate) fn is_of(&self, law: &str, fault: Fault) -> bool {
        self.law == law && self.fault == format!("{fault:?}")
    }

    pub(crate) fn scheduler(&self) -> ReplayScheduler {
        let mut schedule = Schedule::new(self.seed);
        for step in &self.steps {
            match *step {
                Some(thread) => schedule.push_task(thread.into()),
                None => schedule.push_random(),
            }
        }
        ReplayScheduler::new_from_schedule(schedule)
    }

    /// Writes the schedule to a file named after the law, and returns its path.
    pub(crate) fn save(&self) -> PathBuf {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/shuttle-schedules");
        fs::create_dir_all(&directory).expect("a directory for schedules");
        let name = format!("{} {}", self.law, self.fault).replace(' ', "-");
        let file = directory.canonicalize().expect("it is there").join(name);
        let steps = self.steps.iter().map(|step| match step {
            Some(thread) => thread.to_string(),
            None => RANDOM.to_owned(),
        });
        let steps = steps.collect::<Vec<_>>().join(" ");
        let Self {
            law, fault, seed, ..
        } = self;
        let text = format!("law: {law}\nfault: {fault}\nseed: {seed}\nsteps: {steps}\n");
        fs::write(&file, text).expect("a file for the schedule");
        file
    }

    /// The schedule in a file.
    pub(crate) fn load(file: &Path) -> Self {
        let text =
            fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let part = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{} has no line '{name}'", file.display()))
        };
        let step = |step: &str| {
            (step != RANDOM).then(|| step.parse().expect("a step is the number of a thread"))
        };
        Self {
            law: part("law: ").to_owned(),
            fault: part("fault: ").to_owned(),
            seed: part("seed: ").parse().expect("the seed is a number"),
            steps: part("steps: ").split_whitespace().map(step).collect(),
        }
    }
}

//! Many short windows of concurrent operations on a tiny full filter, with a rest
//! before and after each.

use super::{
    event::Event,
    filters::tiny,
    round::{Report, Round, fill},
    step::{Keys, step},
    wgl::has_order,
};
use guira::CuckooFilter;
use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

/// What a thread saw, and in which window.
type Log = Vec<(usize, Event)>;

impl Round {
    /// As many windows, in each of which all threads write all classes; the
    /// operations of the round are those of a thread in one window.
    pub(crate) fn windows(self, windows: usize) -> Result<Report, String> {
        let filter = tiny(self.bits, self.buckets);
        let keys = Keys::new(&filter, self.classes_wanted(&filter), self.seed);
        let rests = Mutex::new(vec![fill(&filter, &keys.hashes, self.load)]);
        let (barrier, start) = (Barrier::new(self.threads), Instant::now());
        let panicked = AtomicBool::new(false);
        let play = |thread: usize| {
            let mut random = self.random(thread);
            let mut log = Log::new();
            for window in 0..windows {
                barrier.wait();
                let mut events = Vec::new();
                // Nobody is to wait for a thread that is no more.
                let played = panic::catch_unwind(AssertUnwindSafe(|| {
                    while events.len() < self.operations {
                        events.push(step(&filter, &keys, &mut random, start));
                        self.give_way(&mut random);
                    }
                }));
                panicked.fetch_or(played.is_err(), Ordering::Relaxed);
                log.extend(events.into_iter().map(|event| (window, event)));
                if barrier.wait().is_leader() {
                    let mut rests = rests.lock().expect("no panic while it is held");
                    rests.push(copies(&filter, &keys.hashes));
                }
                if panicked.load(Ordering::Relaxed) {
                    break;
                }
            }
            log
        };
        let logs: Vec<Log> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| scope.spawn(move || play(thread)))
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Log>| thread.join().expect("caught");
            threads.into_iter().map(join).collect()
        });
        if panicked.into_inner() {
            return Err(format!("an operation panicked in {self:?}"));
        }
        let rests = rests.into_inner().expect("no panic while it was held");
        self.check(&logs, &rests)?;
        self.at_rest(&filter, rests[windows].iter().sum(), 0)?;
        self.no_slot_is_lost(&filter, &keys.hashes)?;
        let events = || logs.iter().flatten();
        Ok(Report {
            full: events().filter(|(_, event)| event.is_full()).count() as u64,
            operations: events().count() as u64,
            ..self.report(&filter)
        })
    }

    /// Each window, each class.
    fn check(&self, logs: &[Log], rests: &[Vec<i64>]) -> Result<(), String> {
        let classes = rests[0].len();
        let mut histories = vec![Vec::new(); classes * (rests.len() - 1)];
        for (thread, log) in logs.iter().enumerate() {
            for &(window, event) in log {
                histories[window * classes + event.class].push((thread, event));
            }
        }
        for (index, history) in histories.iter().enumerate() {
            let (window, class) = (index / classes, index % classes);
            let (before, after) = (rests[window][class], rests[window + 1][class]);
            if !has_order(history, before, after) {
                return Err(format!(
                    "no order leads from {before} to {after} copies by {history:#?} in {self:?}"
                ));
            }
        }
        Ok(())
    }
}

/// The copies of each class, at rest.
fn copies(filter: &CuckooFilter, classes: &[u64]) -> Vec<i64> {
    let count = |&class: &u64| filter.count_hash(class) as i64;
    classes.iter().map(count).collect()
}

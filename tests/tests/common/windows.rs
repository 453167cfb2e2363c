//! Many short windows of concurrent operations on a tiny full filter, which is at rest before and
//! after each window.

use super::{
    event::Event,
    filters::GROWABLE_BITS,
    round::{Report, Round, fill},
    step::{Keys, step},
    wgl::has_order,
};
use guira::{CuckooFilter, Hashed};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

/// The results of a thread, and their windows.
type Log = Vec<(usize, Event)>;

/// The number of classes that all threads write, while residents fill the filter.
const CONTENDED: usize = 8;

impl Round {
    /// Runs this number of windows. In each, all threads write all classes, and each thread
    /// performs the operations of the round.
    ///
    /// A filter that can grow has hundreds of slots. There the threads write a few classes, and
    /// also insert residents, for which the filter doubles until all are inserted.
    pub(crate) fn windows(self, windows: usize) -> Result<Report, String> {
        let filter = self.filter();
        let grows = GROWABLE_BITS.contains(&self.bits);
        let classes = match grows {
            true => CONTENDED,
            false => self.classes_wanted(&filter),
        };
        let keys = Keys::new(&filter, classes, self.seed);
        let (load, residents) = match grows {
            true => (0.0, self.residents(&filter, &keys.hashes)),
            false => (self.load, Vec::new()),
        };
        // All residents are inserted in the first half of the steps.
        let steps = windows * self.operations * self.threads;
        let share = f64::min(1.0, 2.0 * residents.len() as f64 / steps as f64);
        let rests = Mutex::new(vec![fill(&filter, &keys.hashes, load)]);
        let (barrier, start) = (Barrier::new(self.threads), Instant::now());
        let [panicked, over] = [const { AtomicBool::new(false) }; 2];
        let play = |thread: usize| {
            let mut random = self.random(thread);
            let mut own = residents.iter().skip(thread).step_by(self.threads);
            let (mut log, mut inserted) = (Log::new(), Vec::new());
            for window in 0..windows {
                barrier.wait();
                // The flag is set between two barriers, so all threads read the same value.
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // No thread may wait for a thread that has panicked.
                let guarded = |part: &mut dyn FnMut()| {
                    let done = panic::catch_unwind(AssertUnwindSafe(part));
                    panicked.fetch_or(done.is_err(), Ordering::Relaxed);
                };
                let mut events = Vec::new();
                guarded(&mut || {
                    while events.len() < self.operations {
                        events.push(step(&filter, &keys, &mut random, start));
                        if random.random_bool(share)
                            && let Some(&resident) = own.next()
                            && filter.insert(&Hashed(resident)).is_ok()
                        {
                            inserted.push(resident);
                        }
                        self.give_way(&mut random);
                    }
                });
                log.extend(events.into_iter().map(|event| (window, event)));
                if barrier.wait().is_leader() {
                    guarded(&mut || {
                        let copies = copies(&filter, &keys.hashes);
                        rests
                            .lock()
                            .expect("no panic while it is held")
                            .push(copies);
                    });
                    over.store(panicked.load(Ordering::Relaxed), Ordering::Relaxed);
                }
            }
            (log, inserted)
        };
        let (logs, inserted): (Vec<Log>, Vec<Vec<u64>>) = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| scope.spawn(move || play(thread)))
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("caught"));
            joined.unzip()
        });
        if panicked.into_inner() {
            return Err(format!("an operation panicked in {self:?}"));
        }
        let rests = rests.into_inner().expect("no panic while it was held");
        self.check(&logs, &rests)?;
        let inserted = inserted.concat();
        let copies = rests[windows].iter().sum::<i64>() + inserted.len() as i64;
        self.at_rest(&filter, copies, 0)?;
        let lost = |&&hash: &&u64| !filter.contains(&Hashed(hash)) || !filter.remove(&Hashed(hash));
        if let Some(hash) = inserted.iter().find(lost) {
            return Err(format!("resident {hash:x} is lost in {self:?}"));
        }
        self.no_slot_is_lost(&filter, &keys.hashes)?;
        let events = || logs.iter().flatten();
        Ok(Report {
            full: events().filter(|(_, event)| event.is_full()).count() as u64,
            operations: events().count() as u64,
            ..self.report(&filter)
        })
    }

    /// Hashes of none of the `classes`, for three quarters of the capacity of `filter`, which must
    /// be empty.
    fn residents(&self, filter: &CuckooFilter, classes: &[u64]) -> Vec<u64> {
        for &class in classes {
            filter
                .insert(&Hashed(class))
                .expect("an empty filter has room");
        }
        let residents = SmallRng::seed_from_u64(self.seed)
            .random_iter()
            .filter(|&hash| !filter.contains(&Hashed(hash)))
            .take(filter.max_capacity() / 4 * 3)
            .collect();
        assert!(classes.iter().all(|&class| filter.remove(&Hashed(class))));
        residents
    }

    /// Checks each window and each class.
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
    let count = |&class: &u64| filter.count(&Hashed(class)) as i64;
    classes.iter().map(count).collect()
}

//! Each class is written by one thread, so every result for that thread is exact. No times are
//! recorded, so that nothing slows the threads down.

use super::{
    classes::classes,
    round::{Report, Round, fill},
    step::finds_no_room,
};
use guira::{CuckooFilter, Hashed};
use rand::{RngExt, rngs::SmallRng};
use std::{sync::Barrier, thread};

impl Round {
    /// Each class has one writer. Returns the first wrong result as an error.
    pub(crate) fn owned(self) -> Result<Report, String> {
        let filter = self.filter();
        let classes = classes(&filter, self.classes_wanted(&filter), self.seed);
        let filled = fill(&filter, &classes, self.load);
        let barrier = Barrier::new(self.threads);
        let results: Vec<Result<Tally, String>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let mut owner = Owner {
                        filter: &filter,
                        classes: &classes,
                        copies: filled.clone(),
                        random: self.random(thread),
                        tally: Tally::default(),
                    };
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        for _ in 0..self.operations {
                            owner.step(thread, self.threads)?;
                            self.give_way(&mut owner.random);
                        }
                        owner.tally.copies = owned(owner.copies.len(), thread, self.threads)
                            .map(|class| (class, owner.copies[class]))
                            .collect();
                        Ok(owner.tally)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        let (mut report, mut total, mut unfounded) = (self.report(&filter), 0, 0);
        for result in results {
            let tally = result.map_err(|wrong| format!("{wrong} in {self:?}"))?;
            report.full += tally.full;
            unfounded += tally.unfounded;
            for (class, copies) in tally.copies {
                total += copies;
                let count = filter.count(&Hashed(classes[class])) as i64;
                if count != copies {
                    return Err(format!(
                        "{count} copies at rest instead of {copies} in {self:?}"
                    ));
                }
            }
        }
        self.at_rest(&filter, total, unfounded)?;
        self.no_slot_is_lost(&filter, &classes)?;
        Ok(report)
    }
}

/// The classes that only this thread writes.
fn owned(classes: usize, thread: usize, threads: usize) -> impl Iterator<Item = usize> {
    (thread..classes).step_by(threads)
}

/// The observations of one owner.
#[derive(Default)]
struct Tally {
    full: u64,
    /// Lookups that found an absent class.
    unfounded: u64,
    /// Its own classes and their copies at the end.
    copies: Vec<(usize, i64)>,
}

/// A thread with classes of its own, and their numbers of copies.
struct Owner<'a> {
    filter: &'a CuckooFilter,
    classes: &'a [u64],
    copies: Vec<i64>,
    random: SmallRng,
    tally: Tally,
}

impl Owner<'_> {
    fn step(&mut self, thread: usize, threads: usize) -> Result<(), String> {
        let own = (self.classes.len() - thread).div_ceil(threads);
        let class = thread + threads * self.random.random_range(0..own);
        let (filter, hash) = (self.filter, self.classes[class]);
        let copies = &mut self.copies[class];
        let wrong = |what: &str, copies: i64| Err(format!("{what} with {copies} copies present"));
        match self.random.random_range(0..100) {
            0..30 => match (filter.contains(&Hashed(hash)), *copies) {
                (false, 1..) => return wrong("contains answered false", *copies),
                (true, 0) => self.tally.unfounded += 1,
                _ => {}
            },
            30..40 => {
                let count = filter.count(&Hashed(hash));
                if count as i64 != *copies {
                    return wrong(&format!("count answered {count}"), *copies);
                }
            }
            40..60 => match filter.insert(&Hashed(hash)) {
                Ok(()) => *copies += 1,
                Err(error) if finds_no_room(error) => self.tally.full += 1,
                Err(error) => return wrong(&error.to_string(), *copies),
            },
            60..70 => match (filter.insert_unique(&Hashed(hash)), *copies) {
                (Ok(true), 0) => *copies += 1,
                (Ok(false), 1..) => {}
                (Err(error), 0) if finds_no_room(error) => self.tally.full += 1,
                (answer, _) => {
                    return wrong(&format!("insert_unique answered {answer:?}"), *copies);
                }
            },
            _ => match (filter.remove(&Hashed(hash)), *copies) {
                (true, 1..) => *copies -= 1,
                (false, 0) => {}
                (answer, _) => return wrong(&format!("remove answered {answer}"), *copies),
            },
        }
        Ok(())
    }
}

//! All threads write all classes; what they saw goes to [`check`].

use super::{
    filters::tiny,
    history::{Answer, Event, check},
    round::{Report, Round, fill},
};
use guira::{CuckooFilter, InsertError};
use rand::{RngExt, rngs::SmallRng};
use std::{sync::Barrier, thread, time::Instant};

impl Round {
    /// All threads write all classes. Errs with what no order can explain.
    pub(crate) fn shared(self) -> Result<Report, String> {
        let filter = tiny(self.bits, self.buckets);
        let classes = self.classes(&filter);
        let before = fill(&filter, &classes, self.load);
        let (barrier, start) = (Barrier::new(self.threads), Instant::now());
        let events: Vec<Event> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (filter, classes, barrier) = (&filter, &classes, &barrier);
                    scope.spawn(move || {
                        let mut random = self.random(thread);
                        let mut events = Vec::with_capacity(self.operations);
                        barrier.wait();
                        for _ in 0..self.operations {
                            events.push(step(filter, classes, &mut random, start));
                            self.give_way(&mut random);
                        }
                        events
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        let after: Vec<i64> = classes
            .iter()
            .map(|&class| filter.count_hash(class) as i64)
            .collect();
        let unfounded = check(&events, &before, &after)
            .map_err(|violation| format!("{violation} in {self:?}"))?;
        self.at_rest(&filter, after.iter().sum(), unfounded)?;
        self.no_slot_is_lost(&filter, &classes)?;
        let full = |event: &&Event| {
            matches!(
                event.answer,
                Answer::Insert(false) | Answer::InsertUnique(None)
            )
        };
        let full = events.iter().filter(full).count() as u64;
        Ok(Report {
            full,
            ..self.report(&filter)
        })
    }
}

/// One random operation on a class that all share, with its times.
fn step(filter: &CuckooFilter, classes: &[u64], random: &mut SmallRng, start: Instant) -> Event {
    let now = || start.elapsed().as_nanos() as u64;
    let class = random.random_range(0..classes.len());
    let hash = classes[class];
    // Classes with an even number never get a second copy.
    let unique = class % 2 == 0;
    let operation = random.random_range(0..100);
    let invoked = now();
    let answer = match operation {
        0..30 => Answer::Contains(filter.contains_hash(hash)),
        30..40 => Answer::Count(filter.count_hash(hash)),
        40..70 if unique => match filter.insert_unique_hash(hash) {
            Ok(added) => Answer::InsertUnique(Some(added)),
            Err(InsertError::Full) => Answer::InsertUnique(None),
            Err(error) => panic!("{error}"),
        },
        40..70 => Answer::Insert(filter.insert_hash(hash).is_ok()),
        _ => Answer::Remove(filter.remove_hash(hash)),
    };
    Event {
        class,
        answer,
        invoked,
        returned: now(),
    }
}

//! All threads write all classes, and [`check`] verifies their results.

use super::{
    batch::batch,
    event::Event,
    history::check,
    round::{Report, Round, fill},
    step::{Keys, step},
};
use guira::Hashed;
use rand::RngExt;
use std::{sync::Barrier, thread, time::Instant};

impl Round {
    /// All threads write all classes. Returns an error if no order explains a result.
    pub(crate) fn shared(self) -> Result<Report, String> {
        let filter = self.filter();
        let keys = Keys::new(&filter, self.classes_wanted(&filter), self.seed);
        let classes = &keys.hashes[..];
        let before = fill(&filter, classes, self.load);
        let (barrier, start) = (Barrier::new(self.threads), Instant::now());
        let events: Vec<Event> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (filter, keys, barrier) = (&filter, &keys, &barrier);
                    scope.spawn(move || {
                        let mut random = self.random(thread);
                        let mut events = Vec::with_capacity(self.operations);
                        barrier.wait();
                        while events.len() < self.operations {
                            if random.random_ratio(1, 200) {
                                events.extend(batch(filter, keys, &mut random, start));
                            }
                            events.push(step(filter, keys, &mut random, start));
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
            .map(|&class| filter.count(&Hashed(class)) as i64)
            .collect();
        let unfounded = check(&events, &before, &after)
            .map_err(|violation| format!("{violation} in {self:?}"))?;
        self.at_rest(&filter, after.iter().sum(), unfounded)?;
        self.no_slot_is_lost(&filter, classes)?;
        Ok(Report {
            full: events.iter().filter(|event| event.is_full()).count() as u64,
            operations: events.len() as u64,
            ..self.report(&filter)
        })
    }
}

//! The times at which commands took long.

use crate::command::Cost;
use crate::lock::lock;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard},
};

/// The number of samples per event. There is at most one per second.
const SAMPLES: usize = 160;

/// The events, by Redis's names.
pub(crate) const EVENTS: [&str; 2] = ["command", "fast-command"];

/// The latest commands that took long.
#[derive(Debug, Default)]
pub(crate) struct Latency(Mutex<[Event; EVENTS.len()]>);

#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) samples: VecDeque<Sample>,
    /// The longest duration since the start or the last reset, in milliseconds.
    pub(crate) longest: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The time in seconds since 1970.
    pub(crate) at: i64,
    /// The longest duration in this second.
    pub(crate) milliseconds: i64,
}

impl Latency {
    /// Records that a command of this cost took long.
    pub(crate) fn note(&self, cost: Cost, at: i64, milliseconds: i64) {
        let index = match cost {
            Cost::Long | Cost::Queue => 0,
            Cost::Short => 1,
        };
        self.lock()[index].note(Sample { at, milliseconds });
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, [Event; EVENTS.len()]> {
        lock(&self.0)
    }
}

impl Event {
    fn note(&mut self, sample: Sample) {
        self.longest = self.longest.max(sample.milliseconds);
        match self.samples.back_mut() {
            Some(last) if last.at == sample.at => {
                last.milliseconds = last.milliseconds.max(sample.milliseconds);
            }
            _ => {
                self.samples.push_back(sample);
                if self.samples.len() > SAMPLES {
                    self.samples.pop_front();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_one_sample_and_few_are_kept() {
        let latency = Latency::default();
        for at in 0..200 {
            latency.note(Cost::Short, at, 20);
            latency.note(Cost::Short, at, 500 - at);
            latency.note(Cost::Short, at, 30);
        }
        let events = latency.lock();
        let of_fast = &events[1];
        assert_eq!(of_fast.samples.len(), SAMPLES);
        assert!(
            of_fast
                .samples
                .iter()
                .all(|it| it.milliseconds == 500 - it.at)
        );
        assert_eq!(of_fast.longest, 500);
        assert!(events[0].samples.is_empty());
    }
}

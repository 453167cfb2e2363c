//! The lines that were seen, ever or within a time window.

use crate::failure::Failure;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use guira::{CuckooFilter, ExpiringFilter, InsertError};
use std::thread;

pub(crate) enum Seen {
    Ever(Box<CuckooFilter>),
    /// Each line expires some time after it was passed on.
    Lately(Box<ExpiringFilter>),
}

impl Seen {
    pub(crate) fn contains_batch(&self, lines: &[&[u8]], seen: &mut [bool]) {
        match self {
            Self::Ever(filter) => filter.contains_batch(lines, seen),
            Self::Lately(filter) => filter.contains_batch(lines, seen),
        }
    }

    /// True if the line was not seen before. When threads race with the same new line, exactly one
    /// gets true.
    pub(crate) fn insert_unique(&self, line: &[u8]) -> Result<bool, Failure> {
        let insert = || match self {
            Self::Ever(filter) => filter.insert_unique(line),
            Self::Lately(filter) => filter.insert_unique(line),
        };
        let inserted = loop {
            match insert() {
                // Another thread has lost its processor in the middle of a call.
                Err(error) if error.is_transient() => thread::yield_now(),
                decided => break decided,
            }
        };
        inserted.map_err(|error| match error {
            InsertError::Full => Failure::Full {
                capacity: self.max_capacity(),
            },
            other => Failure::Insert(other),
        })
    }

    /// Advances the clock of the filter until the sender of the channel is dropped.
    pub(crate) fn tick_until(&self, over: &Receiver<()>) {
        let Self::Lately(filter) = self else {
            return;
        };
        let pause = filter.epoch_length() / 4;
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(pause) {
            filter.tick();
        }
    }

    fn max_capacity(&self) -> usize {
        match self {
            Self::Ever(filter) => filter.max_capacity(),
            Self::Lately(filter) => filter.max_capacity(),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::Ever(filter) => filter.capacity(),
            Self::Lately(filter) => filter.capacity(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ever(filter) => filter.len(),
            Self::Lately(filter) => filter.len(),
        }
    }

    pub(crate) fn false_positive_rate(&self) -> f64 {
        match self {
            Self::Ever(filter) => filter.false_positive_rate(),
            Self::Lately(filter) => filter.false_positive_rate(),
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Self::Ever(filter) => filter.memory_usage(),
            Self::Lately(filter) => filter.memory_usage(),
        }
    }
}

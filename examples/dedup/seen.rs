//! The lines that were seen: ever, or within a window of time.

use crate::failure::Failure;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use guira::{CuckooFilter, ExpiringFilter, InsertError};
use std::time::Duration;

pub(crate) enum Seen {
    Ever(Box<CuckooFilter>),
    Lately(Box<ExpiringFilter>),
}

impl Seen {
    /// Each line is forgotten some time after it was passed on.
    pub(crate) fn lately(window: u64, capacity: usize, rate: f64) -> Result<Self, Failure> {
        let builder = ExpiringFilter::builder(Duration::from_secs(window))
            .capacity(capacity)
            .false_positive_rate(rate);
        Ok(Self::Lately(Box::new(builder.build()?)))
    }

    pub(crate) fn contains_batch(&self, lines: &[&[u8]], seen: &mut [bool]) {
        match self {
            Self::Ever(filter) => filter.contains_batch(lines, seen),
            Self::Lately(filter) => filter.contains_batch(lines, seen),
        }
    }

    /// True if the line was not seen. Of threads that meet it at the same time, exactly one gets
    /// true.
    pub(crate) fn insert_unique(&self, line: &[u8]) -> Result<bool, Failure> {
        let inserted = match self {
            Self::Ever(filter) => filter.insert_unique(line),
            Self::Lately(filter) => filter.insert_unique(line),
        };
        inserted.map_err(|error| match error {
            InsertError::Full => Failure::Full {
                capacity: self.max_capacity(),
            },
            other => Failure::Insert(other),
        })
    }

    /// Lets time pass in the filter until the other end of the channel is gone.
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
            Self::Lately(filter) => filter.capacity(),
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

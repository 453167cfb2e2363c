//! What follows the header of a snapshot: numbers of 8 bytes and chunks of words.

use super::{
    header::{HEADER_BYTES, Header},
    item::{Came, Next},
    passes::Passes,
    place::Place,
    stream::{END_OF_TIME, pass_ends},
};
use crate::{
    error::SnapshotError,
    filter::Filter,
    lifetime::{Kind, Lifetime},
    raw::restore::CYCLE,
    table::time::{Now, beginning::Beginning},
};
use std::{hash::BuildHasher, time::Duration};

/// What a number of the snapshot is.
#[derive(Clone, Copy)]
enum Number {
    /// The epoch of the chunk that follows, or the end of the pass.
    OfChunk,
    /// The last epoch.
    End,
    /// How long ago one of the last epochs began, in nanoseconds.
    Age,
}

/// What follows the header.
pub(crate) struct Content<T: Kind> {
    pub(crate) header: Header,
    passes: Passes<Place<T>>,
    next: Number,
    last: u64,
    /// How long ago the last epochs began, the last one first.
    ages: Vec<Duration>,
}

impl<T: Lifetime> Content<T> {
    /// The filter, after it was not in use for `elapsed`.
    pub(crate) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: impl FnOnce(u64) -> S,
        elapsed: Duration,
    ) -> Result<Filter<S, T>, SnapshotError> {
        let hasher = self.header.hashing.hasher(hasher)?;
        let place = self.passes.finish()?;
        if !T::EXPIRES {
            return place.finish(hasher, (0, Now::new(0, 0)), Beginning::default());
        }
        let window = self.header.window;
        let (begun, ages) = window.pass(&self.ages, elapsed);
        // No overflow: both are below 2^63.
        let epoch = self.last + begun;
        let now = Now::new(epoch % CYCLE, window.oldest_live(&ages));
        let beginning = Beginning::in_epoch(now.epoch(), ages);
        place.finish(hasher, (epoch, now), beginning)
    }

    fn take_epoch(&mut self, epoch: u64) -> Result<(), SnapshotError> {
        let refuse = |what| Err(SnapshotError::Geometry { what, found: epoch });
        if !T::EXPIRES && epoch != 0 {
            return refuse("chunk tag");
        }
        if !(self.last..END_OF_TIME).contains(&epoch) {
            return refuse("epoch");
        }
        self.last = epoch;
        Ok(())
    }

    fn take_age(&mut self, nanos: u64) -> Result<Next, SnapshotError> {
        let (window, age) = (self.header.window, Duration::from_nanos(nanos));
        let younger = self.ages.last().copied().unwrap_or_default();
        if age < younger || age > window.ttl {
            return Err(SnapshotError::Geometry {
                what: "nanoseconds of an epoch",
                found: nanos,
            });
        }
        self.ages.push(age);
        Ok(match self.ages.len() < window.epochs as usize {
            true => Next::Number,
            false => Next::Sum,
        })
    }

    /// What follows this header, of a filter whose buckets occupy at most `most` bytes. A number comes
    /// first.
    pub(super) fn begin(header: &[u8; HEADER_BYTES], most: usize) -> Result<Self, SnapshotError> {
        let header = Header::from_bytes::<T>(header)?;
        Ok(Self {
            passes: Passes::new(header.geometry, most),
            header,
            next: Number::OfChunk,
            last: 0,
            ages: Vec::new(),
        })
    }

    /// Takes a number, and returns what follows.
    pub(super) fn number(&mut self, number: u64) -> Result<Next, SnapshotError> {
        let Some(chunk) = self.passes.next_chunk() else {
            return self.passes.begin(number);
        };
        match self.next {
            Number::OfChunk if number == pass_ends::<T>() && self.passes.end() => {
                // A thread that helps with the next pass may have read its first chunks before the last
                // ones of this pass were read.
                self.last = 0;
                Ok(Next::Number)
            }
            Number::OfChunk => {
                self.take_epoch(number)?;
                Ok(chunk)
            }
            Number::End => {
                self.take_epoch(number)?;
                self.next = Number::Age;
                Ok(Next::Number)
            }
            Number::Age => self.take_age(number),
        }
    }

    /// Takes a chunk, and returns what follows.
    pub(super) fn chunk(&mut self, came: Came<'_>) -> Result<Next, SnapshotError> {
        let header = self.header;
        let make = |doublings| Place::new(header, doublings);
        let is_last = self.passes.put(came, self.last, make)?;
        if is_last && !T::EXPIRES {
            return Ok(Next::Sum);
        }
        if is_last {
            self.next = Number::End;
        }
        Ok(Next::Number)
    }

    /// The number of buckets in all planes of the table that is being built.
    pub(super) fn buckets(&self) -> usize {
        self.passes.words()
    }

    /// The bytes on the heap.
    pub(super) fn memory_usage(&self) -> usize {
        self.passes.memory_usage()
    }
}

//! What all contestants have in common: three operations, and loops over them.

use crate::{
    keys::{Walk, mix},
    lanes::{self, Job, Lane, Tally},
};
use std::{ops::Range, sync::atomic::AtomicBool};

/// The three operations, and loops over them. Keys are numbers, mixed.
///
/// The loops are provided methods, so that each peer has its own copy of them
/// with the operations inlined; only the call of a whole loop is dynamic.
pub trait Peer: Send + Sync {
    /// Adds the key; false if the peer says that it has not.
    fn insert(&self, key: &u64) -> bool;

    /// True if the peer says that the key is in.
    fn contains(&self, key: &u64) -> bool;

    /// Takes the key out; false if the peer says that it was not in. A peer that cannot delete is not asked.
    fn remove(&self, _key: &u64) -> bool {
        unreachable!("it cannot delete")
    }

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Completes what earlier operations have begun.
    fn settle(&self) {}

    /// Inserts the keys with these numbers; how many were accepted.
    fn insert_all(&self, numbers: Range<u64>) -> u64 {
        numbers.map(mix).filter(|key| self.insert(key)).count() as u64
    }

    /// Looks up `steps` keys; how many were found.
    fn lookup(&self, walk: Walk, steps: u64) -> u64 {
        let keys = walk.take(steps as usize);
        keys.filter(|key| self.contains(key)).count() as u64
    }

    /// Removes `steps` keys; how many were found.
    fn remove_all(&self, walk: Walk, steps: u64) -> u64 {
        let keys = walk.take(steps as usize);
        keys.filter(|key| self.remove(key)).count() as u64
    }

    /// How many of the keys with these numbers the peer denies.
    fn missing(&self, numbers: Range<u64>) -> u64 {
        let keys = numbers.map(mix);
        keys.filter(|key| !self.contains(key)).count() as u64
    }

    /// One thread's part of a job, until `stop`; if it is `timed`, with the times of its operations.
    fn work(
        &self,
        job: Job,
        lanes: &mut [Lane],
        start: u64,
        stop: &AtomicBool,
        timed: bool,
    ) -> Tally {
        match timed {
            true => lanes::work::<Self, true>(self, job, lanes, start, stop),
            false => lanes::work::<Self, false>(self, job, lanes, start, stop),
        }
    }

    /// Inserts the keys with these numbers, with the time of each.
    fn fill_timed(&self, numbers: Range<u64>) -> Tally {
        let mut tally = Tally::default();
        for key in numbers.map(mix) {
            let accepted = tally.inserts.note::<true, _>(|| self.insert(&key));
            tally.refused += u64::from(!accepted);
            tally.operations += 1;
        }
        tally
    }
}

//! What all contestants have in common, and the loops that are measured.

use crate::{
    keys::{Key, Walk},
    lanes::{Job, Lane, Tally, work},
    latency::Latencies,
};
use std::{ops::Range, sync::atomic::AtomicBool};

/// The three operations, and loops over them.
///
/// The loops are provided methods, so that each peer has its own copy of them
/// with the operations inlined; only the call of a whole loop is dynamic.
pub trait Peer<K: Key>: Send + Sync {
    /// Adds the key; false if the peer says that it has not.
    fn insert(&self, key: &K) -> bool;

    /// True if the peer says that the key is in.
    fn contains(&self, key: &K) -> bool;

    /// Takes the key out; false if the peer says that it was not in.
    fn remove(&self, key: &K) -> bool;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Inserts the keys with these numbers; how many were accepted.
    fn insert_all(&self, numbers: Range<u64>) -> u64 {
        numbers
            .map(|number| u64::from(self.insert(&K::nth(number))))
            .sum()
    }

    /// Looks up `steps` keys; how many were found.
    fn lookup(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps)
            .map(|_| u64::from(self.contains(&K::nth(walk.next_number()))))
            .sum()
    }

    /// Removes `steps` keys; how many were found.
    fn remove_all(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps)
            .map(|_| u64::from(self.remove(&K::nth(walk.next_number()))))
            .sum()
    }

    /// One thread's part of a job, until `stop`.
    fn work(&self, job: Job, lanes: &mut [Lane], start: u64, stop: &AtomicBool) -> Tally {
        work::<K, Self, false>(self, job, lanes, start, stop, &mut Latencies::default())
    }

    /// The same with each operation timed.
    fn work_timed(
        &self,
        job: Job,
        lanes: &mut [Lane],
        start: u64,
        stop: &AtomicBool,
        latencies: &mut Latencies,
    ) -> Tally {
        work::<K, Self, true>(self, job, lanes, start, stop, latencies)
    }

    /// How many of the keys with these numbers the peer denies.
    fn missing(&self, numbers: Range<u64>) -> u64 {
        numbers
            .map(|number| u64::from(!self.contains(&K::nth(number))))
            .sum()
    }
}

/// A contestant: its name, what it is, and how it is made.
#[derive(Debug)]
pub struct Entry<K> {
    /// How tables and plots call it.
    pub name: &'static str,
    /// Its threads, its fingerprint: what a reader must know to compare.
    pub note: &'static str,
    /// It can delete.
    pub deletes: bool,
    /// It holds as many copies of a key as are inserted.
    pub copies: bool,
    /// It is quick enough to be filled with tens of millions of items.
    pub large: bool,
    /// Makes one with room for so many items at a rate near 0.02 %.
    pub make: fn(usize) -> Box<dyn Peer<K>>,
}

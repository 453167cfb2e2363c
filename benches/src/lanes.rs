//! Concurrent jobs: what a thread does, and to which keys.
//!
//! The keys are dealt out over lanes. A lane owns a window of consecutive numbers: inserts advance
//! its head, removes its tail. A thread works on lanes of its own, so it knows which keys must be
//! in at any time. A lookup of a live key that is denied is a false negative, seen as it happens.

use crate::{
    keys::{ABSENT, Key, mix},
    latency::Latencies,
    peer::Peer,
};
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

/// The lanes of a run: as many as the largest number of threads.
pub const LANES: usize = 32;

/// A window of live keys.
#[derive(Clone, Debug)]
pub struct Lane {
    index: u64,
    tail: u64,
    head: u64,
    /// Numbers in the window whose keys the peer refused.
    refused: HashSet<u64>,
    /// The lane's hot key is in.
    holds_hot: bool,
}

impl Lane {
    /// Lane `index`, with nothing in it.
    #[must_use]
    pub fn new(index: usize) -> Self {
        let index = index as u64;
        let first = index << 40;
        Self {
            index,
            tail: first,
            head: first,
            refused: HashSet::new(),
            holds_hot: false,
        }
    }

    /// Inserts `items` keys.
    pub fn fill<K: Key>(&mut self, peer: &dyn Peer<K>, items: u64) {
        let (mut latencies, mut tally) = (Latencies::default(), Tally::default());
        for _ in 0..items {
            self.insert::<K, _, false>(peer, &mut latencies, &mut tally);
        }
    }

    /// How many live keys the peer denies: lost, if no thread is writing.
    #[must_use]
    pub fn lost<K: Key>(&self, peer: &dyn Peer<K>) -> u64 {
        peer.missing(self.tail..self.head)
            - self
                .refused
                .iter()
                .map(|&number| u64::from(!peer.contains(&K::nth(number))))
                .sum::<u64>()
    }

    #[inline(always)]
    fn insert<K: Key, P: Peer<K> + ?Sized, const TIMED: bool>(
        &mut self,
        peer: &P,
        latencies: &mut Latencies,
        tally: &mut Tally,
    ) {
        let key = K::nth(self.head);
        if !latencies.insert::<TIMED>(|| peer.insert(&key)) {
            self.refused.insert(self.head);
            tally.refused += 1;
        }
        self.head += 1;
    }

    #[inline(always)]
    fn remove_oldest<K: Key, P: Peer<K> + ?Sized>(&mut self, peer: &P, tally: &mut Tally) {
        if self.tail < self.head {
            let refused = !self.refused.is_empty() && self.refused.remove(&self.tail);
            tally.denied += u64::from(!refused && !peer.remove(&K::nth(self.tail)));
            self.tail += 1;
        }
    }

    /// A lookup of a live key or of an absent one, as a coin falls.
    #[inline(always)]
    fn lookup<K: Key, P: Peer<K> + ?Sized, const TIMED: bool>(
        &self,
        peer: &P,
        random: u64,
        latencies: &mut Latencies,
        tally: &mut Tally,
    ) {
        let number = if random & 1 == 0 || self.tail == self.head {
            ABSENT | random
        } else {
            self.tail + (((random & 0xffff_ffff) * (self.head - self.tail)) >> 32)
        };
        let key = K::nth(number);
        let found = latencies.lookup::<TIMED>(|| peer.contains(&key));
        let denied = !found && number < ABSENT && !self.refused.contains(&number);
        tally.denied += u64::from(denied);
    }

    /// The number of the lane's hot key.
    fn hot(&self) -> u64 {
        ABSENT / 2 + self.index % HOT
    }

    #[inline(always)]
    fn toggle_hot<K: Key, P: Peer<K> + ?Sized, const TIMED: bool>(
        &mut self,
        peer: &P,
        latencies: &mut Latencies,
        tally: &mut Tally,
    ) {
        let key = K::nth(self.hot());
        if self.holds_hot {
            tally.denied += u64::from(!peer.remove(&key));
            self.holds_hot = false;
        } else {
            self.holds_hot = latencies.insert::<TIMED>(|| peer.insert(&key));
            tally.refused += u64::from(!self.holds_hot);
        }
    }
}

/// What the threads of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// This number of lookups in a hundred operations (half of them of live keys); the rest are
    /// inserts of new keys and removes of the oldest, in turn.
    Mix {
        /// Lookups in a hundred operations.
        lookups: u64,
    },
    /// Inserts of new keys only.
    Fill,
    /// 90 lookups, 5 inserts, 5 removes in a hundred, all on 8 keys.
    Hot,
}

/// Keys of [`Job::Hot`]. A lane has at most one copy of one of them in, so each
/// has 4 copies at most, and every filter here takes those.
const HOT: u64 = 8;

/// What threads have done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Operations.
    pub operations: u64,
    /// Inserts that were refused.
    pub refused: u64,
    /// Lookups and removes of live keys that were denied.
    pub denied: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.refused += other.refused;
        self.denied += other.denied;
    }
}

/// A [`Peer`] on which a thread does its whole part of a job in one call.
///
/// Every peer is one, with a copy of the loop of its own in which its operations are inlined;
/// only the call of the whole loop is dynamic.
pub trait Contestant<K: Key>: Peer<K> {
    /// One thread's part of a job, until `stop`.
    fn work(&self, job: Job, lanes: &mut [Lane], start: u64, stop: &AtomicBool) -> Tally;

    /// The same with each operation timed.
    fn work_timed(
        &self,
        job: Job,
        lanes: &mut [Lane],
        start: u64,
        stop: &AtomicBool,
        latencies: &mut Latencies,
    ) -> Tally;
}

impl<K: Key, P: Peer<K>> Contestant<K> for P {
    fn work(&self, job: Job, lanes: &mut [Lane], start: u64, stop: &AtomicBool) -> Tally {
        work::<K, P, false>(self, job, lanes, start, stop, &mut Latencies::default())
    }

    fn work_timed(
        &self,
        job: Job,
        lanes: &mut [Lane],
        start: u64,
        stop: &AtomicBool,
        latencies: &mut Latencies,
    ) -> Tally {
        work::<K, P, true>(self, job, lanes, start, stop, latencies)
    }
}

/// Operations between two looks at the stop flag.
const STRETCH: u64 = 64;

/// Does the job until `stop`, which is looked at now and then; with `TIMED`, notes how long lookups and inserts took.
fn work<K: Key, P: Peer<K>, const TIMED: bool>(
    peer: &P,
    job: Job,
    lanes: &mut [Lane],
    start: u64,
    stop: &AtomicBool,
    latencies: &mut Latencies,
) -> Tally {
    let mut tally = Tally::default();
    let mut step = start;
    let mut insert_next = true;
    // One stretch at least, however late the thread gets its turn.
    loop {
        for _ in 0..STRETCH {
            step += 1;
            // The lane, the kind of operation and the key each have bits of their own.
            let random = mix(step);
            let count = lanes.len() as u64;
            let lane = &mut lanes[(((random >> 56) * count) >> 8) as usize];
            let percent = ((random >> 40 & 0xffff) * 100) >> 16;
            let for_key = random & 0xff_ffff_ffff;
            match job {
                Job::Mix { lookups } if percent < lookups => {
                    lane.lookup::<K, P, TIMED>(peer, for_key, latencies, &mut tally);
                }
                Job::Mix { .. } if insert_next => {
                    lane.insert::<K, P, TIMED>(peer, latencies, &mut tally);
                    insert_next = false;
                }
                Job::Mix { .. } => {
                    lane.remove_oldest(peer, &mut tally);
                    insert_next = true;
                }
                Job::Fill => lane.insert::<K, P, TIMED>(peer, latencies, &mut tally),
                Job::Hot if percent < 90 => {
                    let number = ABSENT / 2 + for_key % HOT;
                    let key = K::nth(number);
                    let found = latencies.lookup::<TIMED>(|| peer.contains(&key));
                    let denied = !found && lane.holds_hot && number == lane.hot();
                    tally.denied += u64::from(denied);
                }
                Job::Hot => lane.toggle_hot::<K, P, TIMED>(peer, latencies, &mut tally),
            }
        }
        tally.operations += STRETCH;
        if stop.load(Ordering::Relaxed) {
            return tally;
        }
    }
}

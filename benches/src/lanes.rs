//! Concurrent jobs: what a thread does, and to which keys.
//!
//! The keys are dealt out over lanes. A lane owns a window of consecutive numbers: inserts advance
//! its head, removes its tail. A thread works on lanes of its own, so it knows which keys must be
//! in at any time. A lookup of a live key that is denied is a false negative, seen as it happens.

use crate::{
    keys::{ABSENT, mix},
    latency::{QUANTILES, Times},
    peer::Peer,
    table::{Table, Unit},
};
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

/// A window of live keys.
#[derive(Clone, Debug)]
pub struct Lane {
    tail: u64,
    head: u64,
    /// Numbers in the window whose keys the peer refused.
    refused: HashSet<u64>,
    /// The number of its hot key.
    hot: u64,
    /// The hot key is in.
    holds_hot: bool,
}

impl Lane {
    /// Lane `index`, with nothing in it.
    pub(crate) fn new(index: usize) -> Self {
        let index = index as u64;
        Self {
            tail: index << 40,
            head: index << 40,
            refused: HashSet::new(),
            hot: ABSENT / 2 + index % HOT,
            holds_hot: false,
        }
    }

    /// Inserts `items` keys.
    pub(crate) fn fill(&mut self, peer: &dyn Peer, items: u64) {
        let numbers = self.head..self.head + items;
        self.head = numbers.end;
        let refuses = |number: &u64| !peer.insert(&mix(*number));
        self.refused.extend(numbers.filter(refuses));
    }

    /// How many live keys the peer denies: lost, if no thread is writing.
    pub(crate) fn lost(&self, peer: &dyn Peer) -> u64 {
        let refused = self.refused.iter();
        let missing = refused.map(|&number| peer.missing(number..number + 1));
        peer.missing(self.tail..self.head) - missing.sum::<u64>()
    }

    #[inline(always)]
    fn insert<P: Peer + ?Sized, const TIMED: bool>(&mut self, peer: &P, tally: &mut Tally) {
        let key = mix(self.head);
        if !tally.inserts.note::<TIMED, _>(|| peer.insert(&key)) {
            self.refused.insert(self.head);
            tally.refused += 1;
        }
        self.head += 1;
    }

    #[inline(always)]
    fn remove_oldest<P: Peer + ?Sized>(&mut self, peer: &P, tally: &mut Tally) {
        if self.tail < self.head {
            let refused = !self.refused.is_empty() && self.refused.remove(&self.tail);
            tally.denied += u64::from(!refused && !peer.remove(&mix(self.tail)));
            self.tail += 1;
        }
    }

    #[inline(always)]
    fn toggle_hot<P: Peer + ?Sized>(&mut self, peer: &P, tally: &mut Tally) {
        let key = mix(self.hot);
        if self.holds_hot {
            tally.denied += u64::from(!peer.remove(&key));
            self.holds_hot = false;
        } else {
            self.holds_hot = peer.insert(&key);
            tally.refused += u64::from(!self.holds_hot);
        }
    }

    /// The number of a live key or of an absent one, as a coin falls.
    #[inline(always)]
    fn any(&self, random: u64) -> u64 {
        if random & 1 == 0 || self.tail == self.head {
            ABSENT | random
        } else {
            self.tail + (((random & 0xffff_ffff) * (self.head - self.tail)) >> 32)
        }
    }

    /// True if the key must be in.
    #[inline(always)]
    fn holds(&self, number: u64) -> bool {
        match number >= ABSENT / 2 {
            true => self.holds_hot && number == self.hot,
            false => !self.refused.contains(&number),
        }
    }
}

/// What the threads of a run do: this number of lookups in a hundred operations, and writes.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub(crate) lookups: u64,
    pub(crate) writes: Writes,
}

/// What threads write, and what they look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Inserts of new keys and removes of the oldest, in turn. Half of the lookups are of live keys.
    InTurn,
    /// Inserts and removes of 8 keys, which are looked up as well.
    Hot,
}

/// The number of hot keys. A lane has at most one copy of one of them in, so each
/// has 4 copies of 32 threads, and every filter here takes those.
const HOT: u64 = 8;

/// What threads have done.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub(crate) operations: u64,
    /// Inserts that were refused.
    pub(crate) refused: u64,
    /// Lookups and removes of live keys that were denied.
    pub(crate) denied: u64,
    /// How long lookups took, if that was measured,
    pub(crate) lookups: Times,
    /// and inserts of new keys, accepted or refused.
    pub(crate) inserts: Times,
}

impl Tally {
    /// Adds what other threads have done.
    pub(crate) fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.refused += other.refused;
        self.denied += other.denied;
        self.lookups.add(&other.lookups);
        self.inserts.add(&other.inserts);
    }

    /// What all of them have done.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|part| all.add(part));
        all
    }

    /// A table of the times of lookups and of inserts, without rows.
    pub(crate) fn table(key: impl Into<String>, title: impl Into<String>) -> Table {
        let names = ["", "insert "].map(|of| QUANTILES.map(|(name, _)| format!("{of}{name}")));
        Table::new(key, title).with(Unit::Time, names.concat())
    }

    pub(crate) fn fill_in(&self, table: &mut Table, row: &str) {
        self.lookups.fill_in(table, row, "");
        self.inserts.fill_in(table, row, "insert ");
    }
}

/// Operations between two looks at the stop flag.
const STRETCH: u64 = 64;

/// Does the job until `stop`, which is looked at now and then; with `TIMED`, notes how long lookups
/// and inserts of new keys took.
pub(crate) fn work<P: Peer + ?Sized, const TIMED: bool>(
    peer: &P,
    job: Job,
    lanes: &mut [Lane],
    start: u64,
    stop: &AtomicBool,
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
            if percent < job.lookups {
                let number = match job.writes {
                    Writes::Hot => ABSENT / 2 + for_key % HOT,
                    Writes::InTurn => lane.any(for_key),
                };
                let key = mix(number);
                let found = tally.lookups.note::<TIMED, _>(|| peer.contains(&key));
                tally.denied += u64::from(!found && number < ABSENT && lane.holds(number));
                continue;
            }
            match job.writes {
                Writes::Hot => lane.toggle_hot(peer, &mut tally),
                Writes::InTurn if insert_next => lane.insert::<P, TIMED>(peer, &mut tally),
                Writes::InTurn => lane.remove_oldest(peer, &mut tally),
            }
            insert_next = !insert_next;
        }
        tally.operations += STRETCH;
        if stop.load(Ordering::Relaxed) {
            return tally;
        }
    }
}

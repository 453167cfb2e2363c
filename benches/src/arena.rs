//! A peer with its keys dealt out over lanes, and threads let loose on it.

use crate::{
    crew::{beside, crew_with, thread_counts},
    lanes::{Job, Lane, Tally, Writes},
    peer::Peer,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Lookups only.
const LOOKUPS: Job = Job {
    lookups: 100,
    writes: Writes::InTurn,
};

/// A peer and what is in it.
pub(crate) struct Arena {
    peer: Arc<dyn Peer>,
    lanes: Vec<Lane>,
    runs: u64,
}

impl Arena {
    /// A peer with about this number of items, with a lane for each of the threads of the largest run.
    pub(crate) fn new(peer: Arc<dyn Peer>, items: u64) -> Self {
        let count = thread_counts().last().map_or(32, |&most| most.max(32));
        let mut lanes: Vec<Lane> = (0..count).map(Lane::new).collect();
        for lane in &mut lanes {
            lane.fill(&*peer, items / count as u64);
        }
        Self {
            peer,
            lanes,
            runs: 0,
        }
    }

    /// `threads` threads do `job` for `time`, each on its share of the lanes.
    pub(crate) fn run(
        &mut self,
        job: Job,
        threads: usize,
        time: Duration,
        timed: bool,
    ) -> (Tally, Duration) {
        // Every thread of every run draws other numbers.
        self.runs += 1;
        let (runs, peer, share) = (self.runs << 10, &*self.peer, self.lanes.len() / threads);
        let parts: Vec<_> = self.lanes.chunks_mut(share).enumerate().collect();
        let work = |stop: &AtomicBool| {
            crew_with(parts, |(index, lanes)| {
                peer.work(job, lanes, (runs + index as u64) << 32, stop, timed)
            })
        };
        let (tallies, elapsed) = beside(|| thread::sleep(time), work).1;
        (Tally::sum(&tallies), elapsed)
    }

    /// How long operations take while some threads insert `items` items, and the same number look up.
    pub(crate) fn lookups_beside_inserts(&mut self, items: u64, threads: usize) -> Tally {
        self.runs += 1;
        let (peer, share) = (&*self.peer, self.lanes.len() / threads);
        let (first, part) = ((1 << 50) + (self.runs << 40), items / threads as u64);
        // Those without lanes write.
        let readers = self.lanes.chunks_mut(share).take(threads).map(Some);
        let parts = (0..threads).map(|_| None).chain(readers).zip(0..);
        let (stop, left) = (AtomicBool::new(false), AtomicUsize::new(threads));
        let (tallies, _) = crew_with(parts.collect(), |(lanes, index)| {
            if let Some(lanes) = lanes {
                return peer.work(LOOKUPS, lanes, first + (index << 32), &stop, true);
            }
            let tally = peer.fill_timed(first + index * part..first + (index + 1) * part);
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                stop.store(true, Ordering::Relaxed);
            }
            tally
        });
        Tally::sum(&tallies)
    }

    /// How many items that the peer had accepted it denies now.
    pub(crate) fn lost(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.lost(&*self.peer)).sum()
    }
}

//! A peer with its keys dealt out over lanes, and threads let loose on it.

use crate::{
    crew::crew_with,
    entry::Entry,
    keys::Key,
    lanes::{Contestant, Job, LANES, Lane, Tally},
    latency::Latencies,
    measure,
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// A peer and what is in it.
pub struct Arena<K> {
    /// The peer.
    pub peer: Box<dyn Contestant<K>>,
    lanes: Vec<Lane>,
    rounds: u64,
}

impl<K: Key> Arena<K> {
    /// A peer for as many items as 2^`log_slots` slots hold at 95 %, filled to
    /// `percent` percent of the slots.
    #[must_use]
    pub fn new(entry: &Entry<K>, log_slots: u32, percent: u64) -> Self {
        let peer = (entry.make)(measure::items(log_slots) as usize);
        Self::with_peer(peer, log_slots, percent)
    }

    /// The same with a peer that has been made.
    #[must_use]
    pub fn with_peer(peer: Box<dyn Contestant<K>>, log_slots: u32, percent: u64) -> Self {
        let capacity = measure::items(log_slots);
        let mut lanes: Vec<Lane> = (0..LANES).map(Lane::new).collect();
        for lane in &mut lanes {
            lane.fill(&*peer, capacity / 95 * percent / LANES as u64);
        }
        Self {
            peer,
            lanes,
            rounds: 0,
        }
    }

    /// `threads` threads do `job` for `time`, each on its share of the lanes.
    pub fn run(&mut self, job: Job, threads: usize, time: Duration) -> (Tally, Duration) {
        self.run_with(threads, time, |peer, lanes, start, stop| {
            (peer.work(job, lanes, start, stop), ())
        })
        .0
    }

    /// The same with each lookup and each insert timed.
    pub fn run_timed(&mut self, job: Job, threads: usize, time: Duration) -> (Tally, Latencies) {
        let ((tally, _), parts) = self.run_with(threads, time, |peer, lanes, start, stop| {
            let mut latencies = Latencies::default();
            (
                peer.work_timed(job, lanes, start, stop, &mut latencies),
                latencies,
            )
        });
        let mut latencies = Latencies::default();
        parts.iter().for_each(|part| latencies.add(part));
        (tally, latencies)
    }

    fn run_with<R: Send>(
        &mut self,
        threads: usize,
        time: Duration,
        work: impl Fn(&dyn Contestant<K>, &mut [Lane], u64, &AtomicBool) -> (Tally, R) + Sync,
    ) -> ((Tally, Duration), Vec<R>) {
        self.rounds += 1;
        // Every thread of every run draws other numbers.
        let start = |index: usize| (self.rounds * LANES as u64 + index as u64) << 32;
        let (peer, stop) = (&*self.peer, &AtomicBool::new(false));
        let parts: Vec<_> = self.lanes.chunks_mut(LANES / threads).enumerate().collect();
        let (done, elapsed) = thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(time);
                stop.store(true, Ordering::Relaxed);
            });
            crew_with(parts, |(index, lanes)| {
                work(peer, lanes, start(index), stop)
            })
        });
        let mut total = Tally::default();
        let mut results = Vec::new();
        for (tally, result) in done {
            total += tally;
            results.push(result);
        }
        ((total, elapsed), results)
    }

    /// Lookups, each timed, while another thread inserts `percent` percent of
    /// the slots.
    pub fn lookups_during_fill(&mut self, log_slots: u32, percent: u64) -> Latencies {
        let (peer, stop, lanes) = (&*self.peer, &AtomicBool::new(false), &mut self.lanes);
        self.rounds += 1;
        let (first, start) = ((1 << 50) + (self.rounds << 40), self.rounds << 40);
        let mut latencies = Latencies::default();
        let reader = &mut latencies;
        thread::scope(|scope| {
            scope.spawn(move || {
                peer.work_timed(Job::Mix { lookups: 100 }, lanes, start, stop, reader)
            });
            peer.insert_all(first..first + measure::items(log_slots) / 95 * percent);
            stop.store(true, Ordering::Relaxed);
        });
        latencies
    }

    /// How many items that the peer had accepted it denies now.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.lost(&*self.peer)).sum()
    }
}

impl<K> std::fmt::Debug for Arena<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena")
            .field("lanes", &self.lanes)
            .finish_non_exhaustive()
    }
}

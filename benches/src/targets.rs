//! The speed that guira aims at, each target a ratio of two medians of one run.

use crate::{
    crew::{crew, crew_with},
    floor::Floor,
    keys::{Asked, Walk},
    lanes::{Job, LANES, Lane, Tally},
    latency::Latencies,
    measure::{Samples, items, mops, rate},
    peer::{Entry, Peer},
    peers::{self, Guira},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// A target and what was measured.
#[derive(Clone, Debug)]
pub struct Target {
    /// What is compared with what.
    pub what: String,
    /// The bound of the ratio.
    pub bound: Bound,
    /// The measured ratio, or the time in microseconds.
    pub measured: f64,
    /// The two medians, in words.
    pub details: String,
}

/// A lower or an upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl Target {
    /// True if the target is met.
    #[must_use]
    pub fn met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(bound) => self.measured >= bound,
            Bound::AtMost(bound) => self.measured <= bound,
        }
    }

    fn ratio(what: impl Into<String>, bound: Bound, ours: &Samples, theirs: &Samples) -> Self {
        let (a, b) = (ours.median(), theirs.median());
        let spread = |samples: &Samples| samples.spread() * 100.0;
        let details =
            format!("{a:.1} ± {:.0} % against {b:.1} ± {:.0} % M/s", spread(ours), spread(theirs));
        Self { what: what.into(), bound, measured: a / b, details }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of each measurement.
    pub rounds: usize,
    /// The tables out of cache have two to this power slots.
    pub log_large: u32,
    /// How long each concurrent run takes.
    pub run: Duration,
}

impl Effort {
    /// What the report is made with.
    pub const FULL: Self = Self { rounds: 7, log_large: 25, run: Duration::from_millis(150) };
    /// What shows that all of it works.
    pub const QUICK: Self = Self { rounds: 2, log_large: 22, run: Duration::from_millis(20) };
}

/// The two that most targets compare.
fn pair() -> (Entry<u64>, Entry<u64>) {
    let mut all = peers::all().into_iter();
    match (all.next(), all.next()) {
        (Some(guira), Some(closest)) => (guira, closest),
        _ => unreachable!("there are more than two contestants"),
    }
}

/// Measures all targets.
#[must_use]
pub fn measure(effort: Effort) -> Vec<Target> {
    let mut targets = Vec::new();
    lookups(effort, 20, 7.0, &mut targets);
    lookups(effort, effort.log_large, 4.0, &mut targets);
    fill(effort, &mut targets);
    batches(effort, &mut targets);
    churn(effort, &mut targets);
    threads(effort, &mut targets);
    latency(effort, &mut targets);
    failing(effort, &mut targets);
    targets
}

fn size(log_slots: u32) -> String {
    match log_slots {
        20.. => format!("{} M items", 1 << (log_slots - 20)),
        _ => format!("{} K items", 1 << (log_slots - 10)),
    }
}

fn lookups(effort: Effort, log_slots: u32, bound: f64, targets: &mut Vec<Target>) {
    let count = items(log_slots);
    let guira = Guira::new(count as usize, 15);
    let ours: &dyn Peer<u64> = &guira;
    let theirs = (pair().1.make)(count as usize);
    ours.insert_all(0..count);
    theirs.insert_all(0..count);
    let floor = Floor::new(ours.bytes());
    let large = log_slots == effort.log_large;
    let steps = 1 << 21;
    for asked in [Asked::Hits, Asked::Misses] {
        let mut samples = [const { Vec::new() }; 4].map(|_: Vec<f64>| Samples::default());
        for round in 0..effort.rounds {
            let walk = Walk::new(asked, count, round as u64);
            samples[0].push(rate(steps, || ours.lookup(walk, steps)));
            samples[1].push(rate(steps, || theirs.lookup(walk, steps)));
            if large {
                samples[2].push(rate(steps, || guira.lookup_in_batches::<u64>(walk, steps, 32)));
                samples[3].push(rate(steps, || floor.two_loads(walk, steps)));
            }
        }
        let [one_by_one, closest, in_batches, loads] = &samples;
        let asked = if asked == Asked::Hits { "hits" } else { "misses" };
        let size = size(log_slots);
        let at_least = Bound::AtLeast;
        targets.push(Target::ratio(
            format!("contains, {size}, {asked}: against atomic-cuckoo-filter"),
            at_least(bound),
            one_by_one,
            closest,
        ));
        if large {
            targets.push(Target::ratio(
                format!("contains, {size}, {asked}: against two random loads"),
                at_least(0.4),
                one_by_one,
                loads,
            ));
            targets.push(Target::ratio(
                format!("contains in batches of 32, {size}, {asked}: against two random loads"),
                at_least(0.75),
                in_batches,
                loads,
            ));
        }
    }
}

fn fill(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(20);
    let last = count - count / 20;
    let (guira, closest) = pair();
    let mut whole = [Samples::default(), Samples::default()];
    let mut end = [Samples::default(), Samples::default()];
    for _ in 0..effort.rounds {
        for (index, entry) in [&guira, &closest].into_iter().enumerate() {
            let peer = (entry.make)(count as usize);
            let start = std::time::Instant::now();
            peer.insert_all(0..last);
            let before = start.elapsed();
            peer.insert_all(last..count);
            let all = start.elapsed();
            whole[index].push(mops(count, all));
            end[index].push(mops(count - last, all - before));
        }
    }
    let what = |part| format!("insert, 1 M items, {part}: against atomic-cuckoo-filter");
    targets.push(Target::ratio(what("0 to 95 %"), Bound::AtLeast(4.0), &whole[0], &whole[1]));
    targets.push(Target::ratio(what("the last 5 %"), Bound::AtLeast(8.0), &end[0], &end[1]));
}

fn batches(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(effort.log_large);
    let (mut single, mut batched) = (Samples::default(), Samples::default());
    for _ in 0..effort.rounds.min(5) {
        let guira = Guira::new(count as usize, 15);
        single.push(rate(count, || Peer::<u64>::insert_all(&guira, 0..count)));
        drop(guira);
        let guira = Guira::new(count as usize, 15);
        batched.push(rate(count, || guira.insert_in_batches::<u64>(0..count, 32)));
    }
    let what = format!("insert_batch, {}, 0 to 95 %: against one by one", size(effort.log_large));
    targets.push(Target::ratio(what, Bound::AtLeast(1.7), &batched, &single));
}

/// A peer with its lanes filled.
struct Prepared {
    peer: Box<dyn Peer<u64>>,
    lanes: Vec<Lane>,
}

impl Prepared {
    fn new(entry: &Entry<u64>, log_slots: u32, items: u64) -> Self {
        let peer = (entry.make)(self::items(log_slots) as usize);
        let mut lanes: Vec<Lane> = (0..LANES).map(Lane::new).collect();
        for lane in &mut lanes {
            lane.fill(&*peer, items / LANES as u64);
        }
        Self { peer, lanes }
    }

    fn run(&mut self, job: Job, threads: usize, run: Duration, round: usize) -> (Tally, Duration) {
        let stop = AtomicBool::new(false);
        let share = LANES / threads;
        let parts: Vec<_> = self.lanes.chunks_mut(share).enumerate().collect();
        let peer = &*self.peer;
        let stop = &stop;
        let (tallies, elapsed) = thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(run);
                stop.store(true, Ordering::Relaxed);
            });
            crew_with(parts, |(index, lanes)| {
                peer.work(job, lanes, ((round * LANES + index) as u64) << 32, stop)
            })
        });
        let mut total = Tally::default();
        tallies.into_iter().for_each(|tally| total += tally);
        (total, elapsed)
    }
}

fn churn(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(20);
    let (guira, closest) = pair();
    let mut prepared = [&guira, &closest].map(|entry| Prepared::new(entry, 20, count));
    let mut samples = [Samples::default(), Samples::default()];
    for round in 0..effort.rounds {
        for (prepared, samples) in prepared.iter_mut().zip(&mut samples) {
            let (tally, elapsed) = prepared.run(Job::Mix { lookups: 0 }, 4, effort.run, round);
            samples.push(mops(tally.operations, elapsed));
        }
    }
    let what = "churn at 95 %, 1 M items, 4 threads: against atomic-cuckoo-filter";
    targets.push(Target::ratio(what, Bound::AtLeast(15.0), &samples[0], &samples[1]));
}

fn threads(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(effort.log_large);
    let size = size(effort.log_large);
    let mut inserts = [Samples::default(), Samples::default()];
    let mut lookups = [Samples::default(), Samples::default()];
    let steps = 1 << 21;
    for round in 0..effort.rounds.min(5) {
        for threads in [1, 2] {
            let guira = Guira::new(count as usize, 15);
            let peer: &dyn Peer<u64> = &guira;
            let share = count / threads;
            let fill = |index| peer.insert_all(index as u64 * share..(index as u64 + 1) * share);
            let (_, elapsed) = crew(threads as usize, fill);
            inserts[threads as usize - 1].push(mops(share * threads, elapsed));
            if threads == 2 {
                for threads in [1, 2] {
                    let (_, elapsed) = crew(threads, |index| {
                        let start = (round * 2 + index) as u64;
                        peer.lookup(Walk::new(Asked::Half, count, start), steps)
                    });
                    lookups[threads - 1].push(mops(steps * threads as u64, elapsed));
                }
            }
        }
    }
    let what = |what| format!("{what}, {size}: 2 threads against 1");
    targets.push(Target::ratio(what("contains"), Bound::AtLeast(1.9), &lookups[1], &lookups[0]));
    targets.push(Target::ratio(what("insert"), Bound::AtLeast(1.8), &inserts[1], &inserts[0]));
}

/// Lookups, each timed, while another thread fills from 90 to 95 %.
fn lookups_during_fill(entry: &Entry<u64>, log_slots: u32, round: usize) -> Latencies {
    let count = items(log_slots);
    let filled = count / 95 * 90;
    let prepared = Prepared::new(entry, log_slots, filled);
    let Prepared { peer, mut lanes } = prepared;
    let (peer, stop) = (&*peer, &AtomicBool::new(false));
    let mut latencies = Latencies::default();
    let reader = &mut latencies;
    thread::scope(|scope| {
        scope.spawn(move || {
            let job = Job::Mix { lookups: 100 };
            peer.work_timed(job, &mut lanes, (round as u64) << 32, stop, reader)
        });
        let first = 1 << 50;
        peer.insert_all(first..first + (count - filled));
        stop.store(true, Ordering::Relaxed);
    });
    latencies
}

fn latency(effort: Effort, targets: &mut Vec<Target>) {
    let (guira, closest) = pair();
    let mut latencies = [Latencies::default(), Latencies::default()];
    for round in 0..effort.rounds {
        for (entry, total) in [&guira, &closest].into_iter().zip(&mut latencies) {
            total.add(&lookups_during_fill(entry, 22, round));
        }
    }
    let [ours, theirs] = latencies.map(|latencies| latencies.lookups);
    let tail = |histogram: &hdrhistogram::Histogram<u64>| {
        let [a, b, c] = [0.999, 0.9999, 1.0].map(|q| histogram.value_at_quantile(q) as f64 / 1e3);
        format!("p99.9 {a:.2}, p99.99 {b:.2}, max {c:.0} µs of {} lookups", histogram.len())
    };
    targets.push(Target {
        what: "contains while another thread fills from 90 to 95 %, p99.99: against atomic-cuckoo-filter".into(),
        bound: Bound::AtMost(0.1),
        measured: ours.value_at_quantile(0.9999) as f64 / theirs.value_at_quantile(0.9999) as f64,
        details: format!("{} against {}", tail(&ours), tail(&theirs)),
    });
}

fn failing(effort: Effort, targets: &mut Vec<Target>) {
    let wanted = effort.rounds as u64 * 2_000;
    let guira = Guira::new(items(20) as usize, 15);
    let peer: &dyn Peer<u64> = &guira;
    let mut number = 0;
    let mut latencies = Latencies::default();
    while latencies.refusals.len() < wanted {
        let key = crate::keys::mix(number);
        latencies.insert::<true>(|| peer.insert(&key));
        number += 1;
    }
    let [p50, p999, max] = [0.5, 0.999, 1.0].map(|q| latencies.refusals.value_at_quantile(q) as f64 / 1e3);
    targets.push(Target {
        what: "an insert that is refused, 1 M items, p99.9 in µs".into(),
        bound: Bound::AtMost(50.0),
        measured: p999,
        details: format!("p50 {p50:.1}, p99.9 {p999:.1}, max {max:.0} µs of {wanted}; load {:.4}", guira.0.load_factor()),
    });
}

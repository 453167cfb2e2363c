//! The speed that guira aims at, each target the median of the ratios of one run's rounds.

use crate::{
    arena::Arena,
    crew::crew,
    effort::Effort,
    entry::Entry,
    floor::Floor,
    keys::{self, Asked, Walk},
    lanes::Job,
    latency::Latencies,
    measure::{Samples, items, mops, rate, size, thread_time},
    peer::Peer,
    peers::{self, Guira},
};
use std::{fmt, time::Duration};

/// A target and what was measured.
#[derive(Clone, Debug)]
pub struct Target {
    /// What is compared with what.
    pub what: String,
    /// The bound of the ratio.
    pub bound: Bound,
    /// The measured ratio, or the time in microseconds.
    pub measured: f64,
    /// The medians of both sides, and how far the ratio scatters, in words.
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

    /// Of rates in millions of operations per second.
    pub(crate) fn ratio(
        what: impl Into<String>,
        bound: Bound,
        ours: &Samples,
        theirs: &Samples,
    ) -> Self {
        Self::ratio_of(what, bound, ours, theirs, "M/s")
    }

    /// Of rates in this unit.
    pub(crate) fn ratio_of(
        what: impl Into<String>,
        bound: Bound,
        ours: &Samples,
        theirs: &Samples,
        unit: &str,
    ) -> Self {
        let (a, b) = (ours.median(), theirs.median());
        let spread = |samples: &Samples| samples.spread() * 100.0;
        let ratios = ours.ratios(theirs);
        let details = format!(
            "± {:.0} %; {a:.1} ± {:.0} % against {b:.1} ± {:.0} % {unit}",
            spread(&ratios),
            spread(ours),
            spread(theirs)
        );
        Self {
            what: what.into(),
            bound,
            measured: ratios.median(),
            details,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = if self.met() { "met" } else { "not" };
        let Self {
            what,
            measured,
            details,
            ..
        } = self;
        let (sign, bound) = match self.bound {
            Bound::AtLeast(bound) => ('≥', bound),
            Bound::AtMost(bound) => ('≤', bound),
        };
        write!(
            f,
            "{met}  {measured:6.2} {sign} {bound:<4}  {what} ({details})"
        )
    }
}

/// The peer as its users get it,
const OWN_HASHER: &str = "its own hasher";

/// and with the cost of hashing taken out of the comparison.
const SAME_HASHER: &str = "guira's hasher";

/// The two that most targets compare; both hash with guira's hasher.
fn pair() -> (Entry<u64>, Entry<u64>) {
    let mut all = peers::all().into_iter();
    match (all.next(), all.next()) {
        (Some(guira), Some(closest)) => (guira, closest),
        _ => unreachable!("there are more than two contestants"),
    }
}

/// Measures all targets, and hands each to `report` as soon as it is known.
#[must_use]
pub fn measure(effort: Effort, mut report: impl FnMut(&Target)) -> Vec<Target> {
    type Part = fn(Effort, &mut Vec<Target>);
    let parts: [Part; 8] = [
        |effort, targets| lookups(effort, effort.log_medium, [5.0, 4.0], targets),
        |effort, targets| lookups(effort, effort.log_large, [3.5, 3.0], targets),
        fill,
        batches,
        churn,
        threads,
        latency,
        failing,
    ];
    let mut targets = Vec::new();
    for part in parts {
        let known = targets.len();
        part(effort, &mut targets);
        targets[known..].iter().for_each(&mut report);
    }
    targets
}

/// `bounds`: against the closest peer with its own hasher, and with guira's.
fn lookups(effort: Effort, log_slots: u32, bounds: [f64; 2], targets: &mut Vec<Target>) {
    let count = items(log_slots);
    let guira = Guira::new(count as usize, 15);
    let ours: &dyn Peer<u64> = &guira;
    let theirs = (pair().1.make)(count as usize);
    let with_own_hasher = (peers::closest_with_own_hasher::<u64>().make)(count as usize);
    ours.insert_all(0..count);
    theirs.insert_all(0..count);
    with_own_hasher.insert_all(0..count);
    let floor = Floor::new(ours.bytes());
    let large = log_slots == effort.log_large;
    let steps = effort.steps;
    for (asked, name) in Asked::ALL.into_iter().zip(["hits", "misses", "half hits"]) {
        let mut samples: [Samples; 5] = Default::default();
        for round in 0..effort.rounds_at(log_slots) {
            let walk = Walk::new(asked, count, round as u64);
            samples[0].push(rate(steps, || ours.lookup(walk, steps)));
            samples[1].push(rate(steps, || theirs.lookup(walk, steps)));
            samples[4].push(rate(steps, || with_own_hasher.lookup(walk, steps)));
            if large {
                samples[2].push(rate(steps, || {
                    guira.lookup_in_batches::<u64>(walk, steps, 32)
                }));
                samples[3].push(rate(steps, || floor.two_loads(walk, steps)));
            }
        }
        let [one_by_one, closest, in_batches, loads, own] = &samples;
        let size = size(log_slots) + " items";
        let at_least = Bound::AtLeast;
        let peers = [(OWN_HASHER, own), (SAME_HASHER, closest)];
        for ((hasher, closest), bound) in peers.into_iter().zip(bounds) {
            targets.push(Target::ratio(
                format!("contains, {size}, {name}: against atomic-cuckoo-filter, {hasher}"),
                at_least(bound),
                one_by_one,
                closest,
            ));
        }
        if large {
            targets.push(Target::ratio(
                format!("contains, {size}, {name}: against two random loads"),
                at_least(0.4),
                one_by_one,
                loads,
            ));
            targets.push(Target::ratio(
                format!("contains in batches of 32, {size}, {name}: against two random loads"),
                at_least(0.75),
                in_batches,
                loads,
            ));
        }
    }
}

fn fill(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(effort.log_medium);
    let last = count - count / 20;
    let (guira, closest) = pair();
    let own = peers::closest_with_own_hasher();
    let mut whole: [Samples; 3] = Default::default();
    let mut end: [Samples; 3] = Default::default();
    for _ in 0..effort.rounds_at(effort.log_medium) {
        for (index, entry) in [&guira, &closest, &own].into_iter().enumerate() {
            let peer = (entry.make)(count as usize);
            let start = thread_time();
            peer.insert_all(0..last);
            let before = thread_time() - start;
            peer.insert_all(last..count);
            let all = thread_time() - start;
            whole[index].push(mops(count, all));
            end[index].push(mops(count - last, all - before));
        }
    }
    let size = size(effort.log_medium);
    for (part, bound, samples) in [("0 to 95 %", 4.0, &whole), ("the last 5 %", 8.0, &end)] {
        for (hasher, theirs) in [(OWN_HASHER, 2), (SAME_HASHER, 1)] {
            targets.push(Target::ratio(
                format!("insert, {size} items, {part}: against atomic-cuckoo-filter, {hasher}"),
                Bound::AtLeast(bound),
                &samples[0],
                &samples[theirs],
            ));
        }
    }
}

fn batches(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(effort.log_large);
    let (mut single, mut batched) = (Samples::default(), Samples::default());
    for _ in 0..effort.rounds {
        let guira = Guira::new(count as usize, 15);
        single.push(rate(count, || Peer::<u64>::insert_all(&guira, 0..count)));
        drop(guira);
        let guira = Guira::new(count as usize, 15);
        batched.push(rate(count, || guira.insert_in_batches::<u64>(0..count, 32)));
    }
    let what = format!(
        "insert_batch, {} items, 0 to 95 %: against one by one",
        size(effort.log_large)
    );
    targets.push(Target::ratio(what, Bound::AtLeast(1.7), &batched, &single));
}

fn churn(effort: Effort, targets: &mut Vec<Target>) {
    let (guira, closest) = pair();
    let mut arenas = [&guira, &closest].map(|entry| Arena::new(entry, effort.log_medium, 95));
    let mut samples = [Samples::default(), Samples::default()];
    for _ in 0..effort.rounds_at(effort.log_medium) {
        for (arena, samples) in arenas.iter_mut().zip(&mut samples) {
            let (tally, elapsed) = arena.run(Job::Mix { lookups: 0 }, 4, effort.run);
            samples.push(mops(tally.operations, elapsed));
        }
    }
    let size = size(effort.log_medium);
    let what = format!("churn at 95 %, {size} items, 4 threads: against atomic-cuckoo-filter");
    targets.push(Target::ratio(
        what,
        Bound::AtLeast(13.0),
        &samples[0],
        &samples[1],
    ));
}

/// The rate of `threads` threads by the processor time of each: as if other
/// jobs left them alone. Fair where no thread waits for another.
pub(crate) fn rate_of_crew(threads: u64, operations: u64, work: impl Fn(u64) -> u64 + Sync) -> f64 {
    let timed = |index: usize| {
        let start = thread_time();
        std::hint::black_box(work(index as u64));
        thread_time() - start
    };
    let (times, _) = crew(threads as usize, timed);
    times
        .into_iter()
        .map(|time: Duration| mops(operations / threads, time))
        .sum()
}

fn threads(effort: Effort, targets: &mut Vec<Target>) {
    let count = items(effort.log_large);
    let size = size(effort.log_large) + " items";
    let mut inserts = [Samples::default(), Samples::default()];
    let mut lookups = [Samples::default(), Samples::default()];
    for round in 0..effort.rounds {
        for (threads, inserts) in [1, 2].into_iter().zip(&mut inserts) {
            let guira = Guira::new(count as usize, 15);
            let peer: &dyn Peer<u64> = &guira;
            let share = count / threads;
            inserts.push(rate_of_crew(threads, count, |index| {
                peer.insert_all(index * share..(index + 1) * share)
            }));
            if threads == 1 {
                continue;
            }
            for (threads, lookups) in [1, 2].into_iter().zip(&mut lookups) {
                lookups.push(rate_of_crew(threads, effort.steps * threads, |index| {
                    let start = round as u64 * 2 + index;
                    peer.lookup(Walk::new(Asked::HALF, count, start), effort.steps)
                }));
            }
        }
    }
    let what = |what| format!("{what}, {size}: 2 threads against 1");
    targets.push(Target::ratio(
        what("contains"),
        Bound::AtLeast(1.9),
        &lookups[1],
        &lookups[0],
    ));
    targets.push(Target::ratio(
        what("insert"),
        Bound::AtLeast(1.8),
        &inserts[1],
        &inserts[0],
    ));
}

fn latency(effort: Effort, targets: &mut Vec<Target>) {
    let (guira, closest) = pair();
    let mut latencies = [Latencies::default(), Latencies::default()];
    let log_slots = effort.log_large.min(22);
    for _ in 0..effort.rounds {
        for (entry, total) in [&guira, &closest].into_iter().zip(&mut latencies) {
            total.add(&Arena::new(entry, log_slots, 90).lookups_during_fill(log_slots, 5));
        }
    }
    let [ours, theirs] = latencies.map(|latencies| latencies.lookups);
    let tail = |histogram: &hdrhistogram::Histogram<u64>| {
        let [a, b, c] = [0.999, 0.9999, 1.0].map(|q| histogram.value_at_quantile(q) as f64 / 1e3);
        format!(
            "p99.9 {a:.2}, p99.99 {b:.2}, max {c:.0} µs of {} lookups",
            histogram.len()
        )
    };
    // Without a sample on either side there is no ratio.
    let p9999 = |histogram: &hdrhistogram::Histogram<u64>| match histogram.is_empty() {
        true => f64::NAN,
        false => histogram.value_at_quantile(0.9999) as f64,
    };
    targets.push(Target {
        what: "contains while another thread fills from 90 to 95 %, p99.99: against atomic-cuckoo-filter".into(),
        bound: Bound::AtMost(0.4),
        measured: p9999(&ours) / p9999(&theirs),
        details: format!("{} against {}", tail(&ours), tail(&theirs)),
    });
}

fn failing(effort: Effort, targets: &mut Vec<Target>) {
    let wanted = effort.steps / 64;
    let guira = Guira::new(items(effort.log_medium) as usize, 15);
    let peer: &dyn Peer<u64> = &guira;
    let mut number = 0;
    let mut latencies = Latencies::default();
    while latencies.refusals.len() < wanted {
        let key = keys::mix(number);
        latencies.insert::<true>(|| peer.insert(&key));
        number += 1;
    }
    let [p50, p999, max] =
        [0.5, 0.999, 1.0].map(|q| latencies.refusals.value_at_quantile(q) as f64 / 1e3);
    targets.push(Target {
        what: format!(
            "an insert that is refused, {} items, p99.9 in µs",
            size(effort.log_medium)
        ),
        bound: Bound::AtMost(50.0),
        measured: p999,
        details: format!(
            "p50 {p50:.1}, p99.9 {p999:.1}, max {max:.0} µs of {wanted}; load {:.4}",
            guira.0.load_factor()
        ),
    });
}

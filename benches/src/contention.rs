//! Many threads on one filter: throughput, latency, and what got lost.

use crate::{
    arena::Arena,
    crew::crew,
    effort::Effort,
    entry::Entry,
    lanes::{Job, Tally},
    latency::Latencies,
    measure::{Samples, items, mops},
    peers,
};

/// More threads than cores, on purpose: a thread that is stopped in the middle
/// of an operation is where locks hurt.
pub const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// A way to use the filter.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name in tables and plots.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// What each thread does.
    pub job: Job,
    /// Percent of the slots in use at the start.
    pub load: u64,
}

impl Scenario {
    /// True if the peer can do what this asks for.
    #[must_use]
    pub fn admits<K>(&self, entry: &Entry<K>) -> bool {
        let removes = !matches!(self.job, Job::Mix { lookups: 100 } | Job::Fill);
        (entry.deletes || !removes) && (entry.copies || self.job != Job::Hot)
    }
}

/// All of them.
pub const SCENARIOS: [Scenario; 6] = [
    Scenario {
        name: "lookups",
        about: "only lookups, half of them hits, at 95 %",
        job: Job::Mix { lookups: 100 },
        load: 95,
    },
    Scenario {
        name: "90/5/5",
        about: "90 % lookups, 5 % inserts, 5 % removes, at 90 %",
        job: Job::Mix { lookups: 90 },
        load: 90,
    },
    Scenario {
        name: "50/25/25",
        about: "50 % lookups, 25 % inserts, 25 % removes, at 90 %",
        job: Job::Mix { lookups: 50 },
        load: 90,
    },
    Scenario {
        name: "fill",
        about: "inserts from empty to 95 %",
        job: Job::Fill,
        load: 0,
    },
    Scenario {
        name: "churn",
        about: "an insert and a remove in turn, at 95 %",
        job: Job::Mix { lookups: 0 },
        load: 95,
    },
    Scenario {
        name: "hot keys",
        about: "90 % lookups, 5 % inserts, 5 % removes of 8 keys",
        job: Job::Hot,
        load: 50,
    },
];

/// What one peer did in one scenario.
#[derive(Clone, Debug)]
pub struct Row {
    /// The peer.
    pub name: &'static str,
    /// Millions of operations per second for each number of threads; none if
    /// the peer cannot remove.
    pub rates: Vec<Samples>,
    /// Over all runs.
    pub tally: Tally,
    /// Accepted items that the peer denied after the last run.
    pub lost: u64,
}

/// All peers in one scenario.
#[derive(Clone, Debug)]
pub struct Contest {
    /// The scenario.
    pub scenario: Scenario,
    /// A row for each peer.
    pub rows: Vec<Row>,
}

/// All scenarios.
#[must_use]
pub fn measure(effort: Effort) -> Vec<Contest> {
    let run = |scenario: Scenario| match scenario.job {
        Job::Fill => fill(effort, scenario),
        _ => contest(effort, scenario),
    };
    SCENARIOS.map(run).into()
}

fn row(name: &'static str) -> Row {
    let rates = vec![Samples::default(); THREADS.len()];
    Row {
        name,
        rates,
        tally: Tally::default(),
        lost: 0,
    }
}

fn contest(effort: Effort, scenario: Scenario) -> Contest {
    let mut entries = peers::all::<u64>();
    entries.retain(|entry| scenario.admits(entry));
    let mut rows: Vec<Row> = entries.iter().map(|entry| row(entry.name)).collect();
    let mut arenas: Vec<_> = entries
        .iter()
        .map(|entry| Arena::new(entry, effort.log_medium, scenario.load))
        .collect();
    for _ in 0..effort.rounds {
        for (column, threads) in THREADS.into_iter().enumerate() {
            for (arena, row) in arenas.iter_mut().zip(&mut rows) {
                let (tally, elapsed) = arena.run(scenario.job, threads, effort.run);
                row.rates[column].push(mops(tally.operations, elapsed));
                row.tally += tally;
            }
        }
    }
    for (arena, row) in arenas.iter().zip(&mut rows) {
        row.lost = arena.lost();
    }
    Contest { scenario, rows }
}

/// The fill needs a new filter for each run, and ends by itself.
fn fill(effort: Effort, scenario: Scenario) -> Contest {
    let entries = peers::all::<u64>();
    let mut rows: Vec<Row> = entries.iter().map(|entry| row(entry.name)).collect();
    let count = items(effort.log_medium);
    for _ in 0..effort.rounds {
        for (column, threads) in THREADS.into_iter().enumerate() {
            for (entry, row) in entries.iter().zip(&mut rows) {
                let peer = (entry.make)(count as usize);
                let share = count / threads as u64;
                let numbers = |index: usize| index as u64 * share..(index as u64 + 1) * share;
                let (accepted, elapsed) = crew(threads, |index| peer.insert_all(numbers(index)));
                row.rates[column].push(mops(share * threads as u64, elapsed));
                let refused = share * threads as u64 - accepted.iter().sum::<u64>();
                row.tally += Tally {
                    operations: share * threads as u64,
                    refused,
                    denied: 0,
                };
                let missing = (0..threads)
                    .map(|index| peer.missing(numbers(index)))
                    .sum::<u64>();
                // A refused item may be missing; which ones were refused is not kept.
                row.lost += missing.saturating_sub(refused);
            }
        }
    }
    Contest { scenario, rows }
}

/// The latencies of one peer in one scenario with this number of threads.
#[derive(Clone, Debug)]
pub struct Tail {
    /// What ran.
    pub scenario: &'static str,
    /// How many threads.
    pub threads: usize,
    /// The peer.
    pub name: &'static str,
    /// Lookups and inserts of all rounds.
    pub latencies: Latencies,
}

/// Latencies of the mixes and of lookups during a fill.
#[must_use]
pub fn tails(effort: Effort) -> Vec<Tail> {
    let mut entries = peers::all::<u64>();
    entries.retain(|entry| entry.deletes);
    let mut tails = Vec::new();
    for scenario in &SCENARIOS[1..3] {
        let mut arenas: Vec<_> = entries
            .iter()
            .map(|entry| Arena::new(entry, effort.log_medium, scenario.load))
            .collect();
        for threads in [2, 8, 32] {
            let first = tails.len();
            tails.extend(entries.iter().map(|entry| Tail {
                scenario: scenario.name,
                threads,
                name: entry.name,
                latencies: Latencies::default(),
            }));
            for _ in 0..effort.rounds {
                for (arena, tail) in arenas.iter_mut().zip(&mut tails[first..]) {
                    tail.latencies
                        .add(&arena.run_timed(scenario.job, threads, effort.run).1);
                }
            }
        }
    }
    let first = tails.len();
    tails.extend(entries.iter().map(|entry| Tail {
        scenario: "lookups during a fill from 90 to 95 %",
        threads: 2,
        name: entry.name,
        latencies: Latencies::default(),
    }));
    for _ in 0..effort.rounds {
        for (entry, tail) in entries.iter().zip(&mut tails[first..]) {
            let mut arena = Arena::new(entry, effort.log_medium, 90);
            tail.latencies
                .add(&arena.lookups_during_fill(effort.log_medium, 5));
        }
    }
    tails
}

//! Snapshots: how fast they are made and read, and what they cost the others.

use crate::{
    arena::Arena,
    crew::crew,
    effort::Effort,
    growth::growing,
    lanes::Job,
    measure::{items, mops, size, thread_time},
    ops::Table,
    peers::Guira,
};
use guira::CuckooFilter;
use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

/// The columns of the throughput: what is compared with the first, and that.
const THROUGHPUT: [&str; 4] = ["copy and checksum", "`to_bytes`", "`from_bytes`", "`clone`"];

/// The columns of the cost.
const COST: [&str; 4] = ["alone", "beside snapshots", "ratio", "snapshots per second"];

/// What a thread does while another takes snapshots.
const JOBS: [(&str, Job); 2] = [
    ("lookups", Job::Mix { lookups: 100 }),
    ("inserts and removes in turn", Job::Mix { lookups: 0 }),
];

/// Both measurements.
#[derive(Clone, Debug)]
pub struct Snapshots {
    /// GiB per second: a row for a fixed filter and one for a grown one.
    pub throughput: Table,
    /// Bytes of the larger snapshot.
    pub bytes: usize,
    /// Millions of operations per second of one thread, at 95 %: each job in
    /// filters of two sizes.
    pub cost: Table,
    /// Lookups and removes of items that were in, answered with no.
    pub denied: u64,
}

/// Measures all of it; tells `say` what comes next.
#[must_use]
pub fn measure(effort: Effort, say: impl Fn(&str)) -> Snapshots {
    say("snapshots, throughput");
    let (throughput, bytes) = throughput(effort);
    say("snapshots, what they cost the others");
    let (cost, denied) = cost(effort);
    Snapshots {
        throughput,
        bytes,
        cost,
        denied,
    }
}

/// Fills with two threads: a table of this size takes one of them minutes.
fn fill(guira: &Guira, count: u64) {
    let share = count / 2;
    let numbers = |index: usize| index as u64 * share..(index as u64 + 1) * share;
    let (accepted, _) = crew(2, |index| {
        guira.insert_in_batches::<u64>(numbers(index), 256)
    });
    assert_eq!(accepted.iter().sum::<u64>(), 2 * share, "all items fit");
    guira.0.finish_growth();
}

/// A plain copy of the bytes into fresh memory with a checksum, a snapshot, and
/// a filter from it, in turn.
fn throughput(effort: Effort) -> (Table, usize) {
    let count = items(effort.log_huge);
    type Make = fn(u64) -> Guira;
    let filters: [(&str, Make); 2] = [
        ("fixed, 15 bits × 4", |count| {
            Guira::new(count as usize, 15)
        }),
        ("grown 64 times, at most 0.1 %", growing),
    ];
    let mut table = Table::new("Throughput".into(), &THROUGHPUT);
    table.rows_for(filters.iter().map(|(name, _)| (*name).to_owned()));
    let mut largest = 0;
    for (row, (_, make)) in filters.into_iter().enumerate() {
        let guira = make(count);
        fill(&guira, count);
        let bytes = guira.0.to_bytes();
        largest = largest.max(bytes.len());
        let mut timed = |column, run: &dyn Fn()| {
            let start = thread_time();
            run();
            let gibibytes = bytes.len() as f64 / f64::from(1 << 30);
            let elapsed = (thread_time() - start).as_secs_f64();
            table.push(row, column, gibibytes / elapsed);
        };
        for _ in 0..effort.rounds {
            timed(0, &|| {
                let copy = black_box(&bytes).to_vec();
                black_box(crc32fast::hash(&copy));
            });
            timed(1, &|| drop(black_box(guira.0.to_bytes())));
            timed(2, &|| {
                let filter = CuckooFilter::from_bytes(black_box(&bytes));
                black_box(filter).expect("a snapshot that was just taken");
            });
            timed(3, &|| drop(black_box(guira.0.clone())));
        }
    }
    (table, largest)
}

/// One thread at work, with and without another that takes snapshots in a loop.
fn cost(effort: Effort) -> (Table, u64) {
    let mut table = Table::new("What they cost the others".into(), &COST);
    let sizes = [effort.log_medium, effort.log_large];
    table.rows_for(sizes.iter().flat_map(|&log_slots| {
        JOBS.iter()
            .map(move |(job, _)| format!("{} slots, {job}", size(log_slots)))
    }));
    let mut denied = 0;
    for (index, log_slots) in sizes.into_iter().enumerate() {
        let guira = Arc::new(Guira::new(items(log_slots) as usize, 15));
        let mut arena: Arena<u64> = Arena::with_peer(Box::new(guira.clone()), log_slots, 95);
        for _ in 0..effort.rounds {
            for (job, (_, kind)) in JOBS.into_iter().enumerate() {
                let row = index * JOBS.len() + job;
                let mut rates = [0.0; 2];
                for (beside, rate) in rates.iter_mut().enumerate() {
                    let mut watched = || arena.run(kind, 1, effort.run);
                    let ((tally, elapsed), snapshots) = match beside {
                        0 => (watched(), 0.0),
                        _ => beside_snapshots(&guira.0, watched),
                    };
                    *rate = mops(tally.operations, elapsed);
                    table.push(row, beside, *rate);
                    if beside == 1 {
                        table.push(row, 3, snapshots);
                    }
                    denied += tally.denied;
                }
                table.push(row, 2, rates[1] / rates[0]);
            }
        }
        denied += arena.lost();
    }
    (table, denied)
}

/// What `work` returns, and how many snapshots per second another thread has taken concurrently: at
/// least one, which begins with it or before.
fn beside_snapshots<R>(filter: &CuckooFilter, work: impl FnOnce() -> R) -> (R, f64) {
    let stop = &AtomicBool::new(false);
    let take = move || {
        let (start, mut taken) = (Instant::now(), 0);
        loop {
            black_box(filter.to_bytes());
            taken += 1;
            if stop.load(Ordering::Relaxed) {
                break f64::from(taken) / start.elapsed().as_secs_f64();
            }
        }
    };
    thread::scope(|scope| {
        let snapshots = scope.spawn(take);
        let result = work();
        stop.store(true, Ordering::Relaxed);
        (result, snapshots.join().expect("no thread panics"))
    })
}

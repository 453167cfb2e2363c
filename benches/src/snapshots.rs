//! Snapshots: how fast they are made and read, and what they cost the others.

use crate::{
    arena::Arena,
    crew::{beside, crew},
    effort::{Effort, Size},
    growth::grown,
    lanes::{Job, Writes},
    measure::{items, mops, say, size, timed},
    peer::Peer,
    peers::{Room, guira},
    special::{How, Special},
    table::{Table, Unit},
};
use guira::CuckooFilter;
use std::{
    hint::black_box,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// The columns of the cost.
const COST: [&str; 2] = ["alone", "beside snapshots"];

/// Both measurements.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    vec![throughput(effort), cost(effort)]
}

/// A full filter, filled by two threads: a table of this size takes one of them minutes.
fn full(room: Room) -> CuckooFilter {
    let filter = guira(room).expect("a rate on offer, and memory");
    let special = Special(filter, How::Batches(256));
    let share = room.items / 2;
    let numbers = |half: usize| half as u64 * share..(half as u64 + 1) * share;
    let (accepted, _) = crew(2, |half| special.insert_all(numbers(half)));
    assert_eq!(accepted.iter().sum::<u64>(), 2 * share, "all items fit");
    special.0.finish_growth();
    special.0
}

/// A plain copy of the bytes into fresh memory with a checksum, a snapshot, and
/// a filter from it, in turn: GiB per second.
fn throughput(effort: Effort) -> Table {
    let count = items(effort.log_huge);
    let mebibytes = (2 << effort.log_huge) >> 20;
    let title = format!("Throughput, tables of {mebibytes} MiB");
    let columns = ["copy and checksum", "`to_bytes`", "`from_bytes`", "`clone`"];
    let mut table = Table::new("snapshots/throughput", title).with(Unit::Number, columns);
    say(&table.title);
    let rooms = [
        ("fixed, 15 bits × 4", Room::of(count)),
        ("grown 64 times, at most 0.1 %", grown(count, 0.001)),
    ];
    for (name, room) in rooms {
        let filter = full(room);
        let bytes = filter.to_bytes();
        let gibibytes = bytes.len() as f64 / f64::from(1 << 30);
        for _ in 0..effort.rounds {
            let mut push = |column: &str, run: &dyn Fn()| {
                let seconds = timed(run).1.as_secs_f64();
                table.push(name, column, gibibytes / seconds);
            };
            push(columns[0], &|| {
                let copy = black_box(&bytes).to_vec();
                black_box(crc32fast::hash(&copy));
            });
            push(columns[1], &|| drop(black_box(filter.to_bytes())));
            push(columns[2], &|| {
                let filter = CuckooFilter::from_bytes(black_box(&bytes));
                black_box(filter).expect("a snapshot that was just taken");
            });
            push(columns[3], &|| drop(black_box(filter.clone())));
        }
    }
    table
}

/// One thread at work, with and without another that takes snapshots in a loop.
fn cost(effort: Effort) -> Table {
    let mut table = Table::new("snapshots/cost", "What they cost the others")
        .with(Unit::Rate, COST)
        .with(Unit::Number, ["ratio", "snapshots per second"])
        .with(Unit::Count, ["denied", "lost"]);
    say(&table.title);
    let jobs = [("lookups", 100), ("inserts and removes in turn", 0)];
    let [_, medium, large] = effort.sizes();
    for Size { log_slots, .. } in [medium, large] {
        let count = items(log_slots);
        let filter = Arc::new(guira(Room::of(count)).expect("memory"));
        let mut arena = Arena::new(filter.clone(), count);
        let runs = 20 * effort.rounds;
        for _ in 0..effort.rounds {
            for (job, lookups) in jobs {
                let row = format!("{} slots, {job}", size(log_slots));
                let job = Job {
                    lookups,
                    writes: Writes::InTurn,
                };
                let mut watched = || arena.run(job, 1, effort.run(runs), false);
                let alone = watched();
                let (beside, snapshots) = beside(watched, |stop| {
                    // One at least, which begins with the work or before.
                    let (start, mut taken) = (Instant::now(), 0);
                    loop {
                        black_box(filter.to_bytes());
                        taken += 1;
                        if stop.load(Ordering::Relaxed) {
                            break f64::from(taken) / start.elapsed().as_secs_f64();
                        }
                    }
                });
                let rates = [alone, beside].map(|(tally, elapsed)| {
                    table.push(&row, "denied", tally.denied as f64);
                    mops(tally.operations, elapsed)
                });
                for (column, rate) in COST.iter().zip(rates) {
                    table.push(&row, column, rate);
                }
                table.push(&row, "ratio", rates[1] / rates[0]);
                table.push(&row, "snapshots per second", snapshots);
            }
        }
        let last = format!("{} slots, {}", size(log_slots), jobs[1].0);
        table.push(&last, "lost", arena.lost() as f64);
    }
    table
}

//! One thread: inserts by load, lookups, removes; all peers, all layouts, batches.

use crate::{
    effort::Effort,
    floor::Floor,
    keys::{Asked, Key, Text, Walk},
    measure::{Samples, items, mops, rate, size, thread_time},
    peer::Peer,
    peers::{self, Guira},
};
use std::ops::Range;

/// guira's fingerprint sizes, each with the slots of its bucket.
pub const LAYOUTS: [(u32, u32); 5] = [(10, 6), (12, 5), (15, 4), (20, 3), (30, 2)];

/// A table of rates in millions of operations per second.
#[derive(Clone, Debug)]
pub struct Table {
    /// What is measured.
    pub title: String,
    /// The operations.
    pub columns: Vec<String>,
    /// A name and a cell for each column; `None`: it cannot.
    pub rows: Vec<(String, Vec<Option<Samples>>)>,
}

impl Table {
    pub(crate) fn new(title: String, columns: &[&str]) -> Self {
        Self {
            title,
            columns: columns.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn rows_for(&mut self, names: impl IntoIterator<Item = String>) {
        let cells = vec![None; self.columns.len()];
        self.rows = names
            .into_iter()
            .map(|name| (name, cells.clone()))
            .collect();
    }

    pub(crate) fn push(&mut self, row: usize, column: usize, rate: f64) {
        self.rows[row].1[column].get_or_insert_default().push(rate);
    }
}

/// The parts of a fill, in percent of the capacity.
const BANDS: [(u64, u64); 5] = [(0, 50), (50, 90), (90, 95), (95, 99), (99, 100)];

/// The columns of a table of operations.
const OPERATIONS: [&str; 10] = [
    "insert 0–100 %",
    "0–50",
    "50–90",
    "90–95",
    "95–99",
    "99–100",
    "hit",
    "miss",
    "half",
    "remove",
];

fn band(count: u64, (from, to): (u64, u64)) -> Range<u64> {
    count * from / 100..count * to / 100
}

/// Fills `peer`; fills in the columns of the inserts.
fn fill<K: Key>(peer: &dyn Peer<K>, count: u64, table: &mut Table, row: usize) {
    let start = thread_time();
    for (column, part) in BANDS.into_iter().enumerate() {
        let numbers = band(count, part);
        let operations = numbers.end - numbers.start;
        table.push(
            row,
            1 + column,
            rate(operations, || peer.insert_all(numbers)),
        );
    }
    table.push(row, 0, mops(count, thread_time() - start));
}

/// Looks up; fills in the columns of the lookups.
fn look<K: Key>(peer: &dyn Peer<K>, count: u64, table: &mut Table, row: usize, at: (usize, u64)) {
    let (round, steps) = at;
    for (column, asked) in Asked::ALL.into_iter().enumerate() {
        let walk = Walk::new(asked, count, round as u64);
        table.push(row, 6 + column, rate(steps, || peer.lookup(walk, steps)));
    }
}

/// Removes; fills in the last column.
fn take<K: Key>(peer: &dyn Peer<K>, count: u64, table: &mut Table, row: usize, steps: u64) {
    let steps = steps.min(count / 4);
    let walk = Walk::new(Asked::Hits, count, 0);
    table.push(row, 9, rate(steps, || peer.remove_all(walk, steps)));
}

/// All peers with one size of table. Out of cache, peers that take too long to fill are omitted,
/// and each is filled once.
#[must_use]
pub fn all_peers<K: Key>(effort: Effort, log_slots: u32, keys: &str) -> Table {
    let count = items(log_slots);
    let large = log_slots >= effort.log_large;
    let mut entries = peers::all_with_own_hasher::<K>();
    entries.retain(|entry| entry.large || !large);
    let title = format!("{} slots, {keys}", size(log_slots));
    let mut table = Table::new(title, &OPERATIONS);
    table.rows_for(entries.iter().map(|entry| entry.name.to_owned()));
    if large {
        let fill_one = |(row, entry): (usize, &crate::entry::Entry<K>)| {
            let peer = (entry.make)(count as usize);
            fill(&*peer, count, &mut table, row);
            peer
        };
        let filled: Vec<_> = entries.iter().enumerate().map(fill_one).collect();
        for round in 0..effort.rounds {
            for (row, peer) in filled.iter().enumerate() {
                look(&**peer, count, &mut table, row, (round, effort.steps));
            }
        }
        for (row, (peer, entry)) in filled.iter().zip(&entries).enumerate() {
            if entry.deletes {
                take(&**peer, count, &mut table, row, effort.steps);
            }
        }
    } else {
        for round in 0..effort.rounds {
            for (row, entry) in entries.iter().enumerate() {
                let peer = (entry.make)(count as usize);
                fill(&*peer, count, &mut table, row);
                look(&*peer, count, &mut table, row, (round, effort.steps));
                if entry.deletes {
                    take(&*peer, count, &mut table, row, effort.steps);
                }
            }
        }
    }
    table
}

/// guira's layouts, each filled to its own capacity.
#[must_use]
pub fn all_layouts(effort: Effort, log_slots: u32) -> Table {
    let mut table = Table::new(
        format!("guira's layouts, {} of memory", bytes(log_slots)),
        &OPERATIONS,
    );
    table.rows_for(
        LAYOUTS
            .iter()
            .map(|(bits, slots)| format!("{bits} bits × {slots}")),
    );
    for round in 0..effort.rounds {
        for (row, &(bits, slots)) in LAYOUTS.iter().enumerate() {
            // The same number of buckets in each layout; the builder turns them into items.
            let buckets = 1_u64 << (log_slots - 2);
            let guess = (buckets * u64::from(slots)) as usize * 84 / 100;
            let load = Guira::new(guess, bits).0.buckets() as f64;
            let count = guess as u64 * buckets / load as u64;
            let guira = Guira::new(count as usize, bits);
            let peer: &dyn Peer<u64> = &guira;
            fill(peer, count, &mut table, row);
            look(peer, count, &mut table, row, (round, effort.steps));
            take(peer, count, &mut table, row, effort.steps);
        }
    }
    table
}

/// The bytes of a table of words with four slots.
fn bytes(log_slots: u32) -> String {
    memory(log_slots + 1)
}

/// "256 KiB", "2 MiB".
pub(crate) fn memory(log_bytes: u32) -> String {
    match log_bytes {
        20.. => format!("{} MiB", 1_u64 << (log_bytes - 20)),
        _ => format!("{} KiB", 1_u64 << (log_bytes - 10)),
    }
}

/// The sizes of batches.
pub const BATCHES: [usize; 4] = [8, 32, 128, 1024];

/// The rows of the table of batches after one by one and [`BATCHES`].
const ITERATOR: usize = 1 + BATCHES.len();
const BY_HASH: usize = ITERATOR + 1;
const TWO_LOADS: usize = BY_HASH + 1;
const EXCHANGE: usize = TWO_LOADS + 1;

/// guira in batches, and by hash, with the floors of the machine.
#[must_use]
pub fn batches(effort: Effort, log_slots: u32) -> Table {
    let count = items(log_slots);
    let title = format!("guira in batches and by hash, {} slots", size(log_slots));
    let mut table = Table::new(title, &["insert 0–100 %", "hit", "miss", "half", "remove"]);
    let names = ["one by one".to_owned()].into_iter();
    let names = names.chain(BATCHES.iter().map(|size| format!("batches of {size}")));
    let names = names.chain(
        [
            "by iterator (`contains_iter`)",
            "by hash (`*_hash`)",
            "floor: two random loads",
            "floor: load, exchange",
        ]
        .map(str::to_owned),
    );
    table.rows_for(names);
    let steps = effort.steps;
    let removes = steps.min(count / 4);
    let floor = Floor::new(Peer::<u64>::bytes(&Guira::new(count as usize, 15)));
    for round in 0..effort.rounds {
        let lookups = || {
            let walk = |asked| Walk::new(asked, count, round as u64);
            (1..).zip(Asked::ALL.map(walk))
        };
        let hits = Walk::new(Asked::Hits, count, round as u64);
        let guira = Guira::new(count as usize, 15);
        let peer: &dyn Peer<u64> = &guira;
        table.push(0, 0, rate(count, || peer.insert_all(0..count)));
        for (column, walk) in lookups() {
            table.push(0, column, rate(steps, || peer.lookup(walk, steps)));
            for (row, size) in (1..).zip(BATCHES) {
                let look = || guira.lookup_in_batches::<u64>(walk, steps, size);
                table.push(row, column, rate(steps, look));
            }
            let look = || guira.lookup_by_iterator::<u64>(walk, steps);
            table.push(ITERATOR, column, rate(steps, look));
            let loads = || floor.two_loads(walk, steps);
            table.push(TWO_LOADS, column, rate(steps, loads));
        }
        let exchanges = || floor.load_and_exchange(hits, steps);
        table.push(EXCHANGE, 0, rate(steps, exchanges));
        table.push(0, 4, rate(removes, || peer.remove_all(hits, removes)));
        drop(guira);
        for (row, size) in (1..).zip(BATCHES) {
            let guira = Guira::new(count as usize, 15);
            let insert = || guira.insert_in_batches::<u64>(0..count, size);
            table.push(row, 0, rate(count, insert));
            let remove = || guira.remove_in_batches::<u64>(hits, removes, size);
            table.push(row, 4, rate(removes, remove));
        }
        let guira = Guira::new(count as usize, 15);
        table.push(BY_HASH, 0, rate(count, || guira.insert_hashes(0..count)));
        for (column, walk) in lookups() {
            let look = || guira.lookup_hashes(walk, steps);
            table.push(BY_HASH, column, rate(steps, look));
        }
    }
    table
}

/// Everything of one thread.
#[must_use]
pub fn measure(effort: Effort) -> Vec<Table> {
    let Effort {
        log_small: small,
        log_medium: medium,
        log_large: large,
        ..
    } = effort;
    let mut tables = vec![
        all_peers::<u64>(effort, small, "u64 keys"),
        all_peers::<u64>(effort, medium, "u64 keys"),
        all_peers::<u64>(effort, large, "u64 keys"),
        all_peers::<Text>(effort, small, "strings of 32 bytes"),
        all_layouts(effort, small),
        all_layouts(effort, medium),
    ];
    let batches = [small, medium, large].map(|log_slots| batches(effort, log_slots));
    tables.extend(batches);
    tables
}

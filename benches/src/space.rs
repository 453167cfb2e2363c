//! Bits per item against the rate of false positives, how fast a filter is built, and
//! how full it gets.

mod asked;
mod fixed;
mod redis_bloom;

pub use asked::{COMPARED, GROWTHS, PREFERS_SPACE};
pub use fixed::{AtRate, Fixed};
pub use redis_bloom::MOST_TABLES;

use crate::{
    effort::Effort,
    hasher,
    keys::{Asked, Walk},
    measure::{items, rate, size},
    ops::{LAYOUTS, Table},
    peer::Peer,
    peers::{self, Guira},
};
use guira::CuckooFilter;

/// One filter that holds as many items as it was asked to.
#[derive(Clone, Debug)]
pub struct Point {
    /// What it is, without how far it has grown.
    pub name: String,
    /// The rate that was asked for, if one was.
    pub asked: Option<f64>,
    /// How many times as large as at first it has become; 1: it is fixed.
    pub grown: u64,
    /// The rate that guira expects.
    pub expected: Option<f64>,
    /// The rate that was measured.
    pub rate: f64,
    /// Absent keys that were looked up for it.
    pub lookups: u64,
    /// Bits of memory per item.
    pub bits: f64,
    /// The same when the first insert was refused, if one was.
    pub at_full: Option<f64>,
    /// Inserts that were refused before.
    pub refused: u64,
}

impl Point {
    /// What it is, with how far it has grown.
    #[must_use]
    pub fn title(&self) -> String {
        match self.grown {
            1 => self.name.clone(),
            times => format!("{}, grown {times} times", self.name),
        }
    }

    /// The least bits per item that this rate needs: log2(1/ε).
    #[must_use]
    pub fn limit(rate: f64) -> f64 {
        -rate.log2()
    }

    /// What a Bloom filter needs: 1.44 log2(1/ε).
    #[must_use]
    pub fn bloom(rate: f64) -> f64 {
        Self::limit(rate) / std::f64::consts::LN_2
    }

    /// What a cuckoo filter needs with buckets of four slots, 95 % of them in use. The fingerprint
    /// is compared with eight others, which costs 3 bits (Fan et al., *Cuckoo Filter*, CoNEXT 2014,
    /// §5.1).
    #[must_use]
    pub fn cuckoo(rate: f64) -> f64 {
        (Self::limit(rate) + 3.0) / 0.95
    }

    /// The same if the buckets are semi-sorted, which saves a bit of each
    /// fingerprint (as above, §5.2).
    #[must_use]
    pub fn semi_sorted(rate: f64) -> f64 {
        (Self::limit(rate) + 2.0) / 0.95
    }

    /// True if the number of found keys would be an exception, by three standard deviations, for a
    /// filter that keeps the requested rate.
    #[must_use]
    pub fn exceeds_rate(&self) -> bool {
        self.asked.is_some_and(|asked| {
            let deviation = (asked / self.lookups.max(1) as f64).sqrt();
            self.rate > asked + 3.0 * deviation
        })
    }
}

/// Memory and rates.
#[derive(Clone, Debug)]
pub struct Space {
    /// In the third-level cache.
    pub points: Vec<Point>,
    /// guira's out of cache.
    pub large: Vec<Point>,
    /// Filters that do not grow, for each number of items.
    pub fixed: Vec<Fixed>,
    /// How fast filters are built.
    pub construction: Table,
    /// Highest loads.
    pub loads: Vec<Load>,
}

/// Measures all of it; tells `say` what comes next.
#[must_use]
pub fn measure(effort: Effort, say: impl Fn(&str)) -> Space {
    say("space");
    let points = points(effort);
    say("space, out of cache");
    let large = large_points(effort);
    say("space of fixed filters");
    let fixed = effort.items.map(|items| fixed::measure(items, effort));
    say("construction");
    let construction = construction(effort);
    say("highest loads");
    Space {
        points,
        large,
        fixed: fixed.into(),
        construction,
        loads: loads(effort),
    }
}

/// The highest load of a layout: the load at the first refused insert, the least
/// of several seeds.
#[derive(Clone, Debug)]
pub struct Load {
    /// The layout, and whether it grows.
    pub layout: String,
    /// For each of [`SIZES`].
    pub highest: Vec<f64>,
}

/// Items asked for, where the highest load is measured.
pub const SIZES: [usize; 3] = [1_000, 30_000, 1_000_000];

/// This number of false positives tells the rate to a twentieth.
const SOME: u64 = 400;

/// The share of absent keys that are found, and how many were looked up: until `enough` were found,
/// but not for ever. 0 where too few were found to tell.
fn false_positives(lookup: impl Fn(Walk, u64) -> u64, enough: u64, effort: Effort) -> (f64, u64) {
    let (mut asked, mut found) = (0, 0);
    while found < enough && asked < effort.steps * 64 {
        found += lookup(Walk::new(Asked::Misses, 1, asked >> 16), 1 << 16);
        asked += 1 << 16;
    }
    match found {
        ..25 => (0.0, asked),
        _ => (found as f64 / asked as f64, asked),
    }
}

fn bits(bytes: usize, items: u64) -> f64 {
    bytes as f64 * 8.0 / items as f64
}

/// A filter that is full, and was not asked for a rate.
fn measured(
    (name, grown): (String, u64),
    peer: &dyn Peer<u64>,
    (count, expected): (u64, Option<f64>),
    effort: Effort,
) -> Point {
    let lookup = |walk, steps| peer.lookup(walk, steps);
    let (rate, lookups) = false_positives(lookup, SOME, effort);
    Point {
        name,
        asked: None,
        grown,
        expected,
        rate,
        lookups,
        bits: bits(peer.bytes(), count),
        at_full: None,
        refused: 0,
    }
}

/// Fingerprint sizes of filters that can grow: with these they end with 6, 5, 4, 3 and 2 slots.
const GROWABLE: [u32; 5] = [11, 12, 14, 18, 26];

/// How many times as large each of these filters becomes.
const TIMES: usize = 4;

/// A filter that begins with room for a part of the items.
fn growable(items: usize, bits: u32) -> Guira {
    let builder = CuckooFilter::builder()
        .capacity(items / TIMES)
        .max_capacity(items)
        .fingerprint_bits(bits)
        .hasher(hasher::state());
    Guira(builder.build().expect("each of them can double twice"))
}

/// As many items as a table in the third-level cache holds, in each layout, for each rate, and in
/// each peer.
fn points(effort: Effort) -> Vec<Point> {
    let count = items(effort.log_medium);
    let mut points = Vec::new();
    let mut measure = |name: String, grown, guira: Guira| {
        // What a growing filter expects is what it expects when it has grown.
        Peer::<u64>::insert_all(&guira, 0..count);
        guira.0.finish_growth();
        let expected = Some(guira.0.false_positive_rate());
        points.push(measured((name, grown), &guira, (count, expected), effort));
    };
    for (bits, slots) in LAYOUTS {
        let guira = Guira::new(count as usize, bits);
        measure(name_of(bits, slots), 1, guira);
    }
    for bits in GROWABLE {
        let guira = growable(count as usize, bits);
        measure(format!("guira, {bits} bits"), TIMES as u64, guira);
    }
    points.extend(asked::of_all(count, effort));
    for entry in peers::all::<u64>().into_iter().skip(1) {
        let peer = (entry.make)(count as usize);
        peer.insert_all(0..count);
        let name = entry.name.to_owned();
        points.push(measured((name, 1), &*peer, (count, None), effort));
    }
    points
}

/// guira out of cache, for each rate that is compared and each growth.
fn large_points(effort: Effort) -> Vec<Point> {
    asked::of_guira(items(effort.log_large), effort)
}

fn name_of(bits: u32, slots: u32) -> String {
    format!("guira, {bits} bits × {slots}")
}

/// How fast guira's fixed layouts and the peers are built, as table 3 of Fan et al.,
/// *Cuckoo Filter*, CoNEXT 2014, has it: guira's load in percent, and millions of items
/// per second in and out of cache. Rows are called as in [`points`].
fn construction(effort: Effort) -> Table {
    let sizes = [(effort.log_medium, effort.rounds), (effort.log_large, 1)];
    let [medium, large] =
        sizes.map(|(log_slots, _)| format!("M items/s, {} slots", size(log_slots)));
    let mut table = Table::new("Construction".into(), &["load", &medium, &large]);
    let peers: Vec<_> = peers::all::<u64>().into_iter().skip(1).collect();
    let layouts = LAYOUTS.iter().map(|&(bits, slots)| name_of(bits, slots));
    table.rows_for(layouts.chain(peers.iter().map(|entry| entry.name.to_owned())));
    for (column, (log_slots, rounds)) in (1..).zip(sizes) {
        let count = items(log_slots);
        for _ in 0..rounds {
            for (row, &(bits, _)) in LAYOUTS.iter().enumerate() {
                let guira = Guira::new(count as usize, bits);
                let fill = || Peer::<u64>::insert_all(&guira, 0..count);
                table.push(row, column, rate(count, fill));
                if log_slots == effort.log_medium {
                    table.push(row, 0, guira.0.load_factor() * 100.0);
                }
            }
            for (row, entry) in (LAYOUTS.len()..).zip(&peers) {
                if log_slots == effort.log_medium || entry.large {
                    let peer = (entry.make)(count as usize);
                    table.push(row, column, rate(count, || peer.insert_all(0..count)));
                }
            }
        }
    }
    table
}

/// The highest loads of the layouts.
fn loads(effort: Effort) -> Vec<Load> {
    let highest = |items: usize, make: &dyn Fn(usize) -> Guira| {
        let fill = |seed: u64| {
            let guira = make(items);
            let first = seed << 40;
            let fits = (first..)
                .take_while(|&n| guira.0.insert(&n).is_ok())
                .count();
            fits as f64 / (guira.0.buckets() * guira.0.bucket_slots()) as f64
        };
        (0..effort.rounds as u64).map(fill).fold(1.0, f64::min)
    };
    let load = |layout: String, make: &dyn Fn(usize) -> Guira| Load {
        layout,
        highest: SIZES.map(|items| highest(items, make)).into(),
    };
    let fixed = LAYOUTS.map(|(bits, slots)| {
        load(format!("{bits} bits × {slots}"), &|items| {
            Guira::new(items, bits)
        })
    });
    let grown = GROWABLE.map(|bits| {
        load(format!("{bits} bits, grows {TIMES} times"), &|items| {
            growable(items, bits)
        })
    });
    fixed.into_iter().chain(grown).collect()
}

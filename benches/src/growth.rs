//! Growth: a filter that grew 64 times as large against one that was built
//! large, and against the other way to grow, a chain of filters.

mod chain;
mod timeline;

pub use timeline::{Timeline, Window};

use crate::{
    effort::Effort,
    hasher::{self, SharedHasher},
    keys::{Asked, Key, Walk},
    measure::{items, mops, rate, rate_of_crew, size, thread_time},
    ops::Table,
    peer::Peer,
    peers::Guira,
};
use chain::Chain;
use guira::{BuildError, CuckooFilter};
use rand::{SeedableRng, rngs::SmallRng};
use scalable_cuckoo_filter::{ScalableCuckooFilter, ScalableCuckooFilterBuilder};

/// How many times as large the filters become.
pub const TIMES: u64 = 64;

/// The rates that are asked of a filter that grows, and of a fixed one.
const RATES: [f64; 3] = [0.001, 0.01, 0.0001];

/// The rates that all are asked for: of a chain, of all its links together.
const RATES_OF_CHAINS: [f64; 2] = [0.03, 0.001];

/// How many filters are compared for each rate: guira, its fixed filters in a chain
/// that doubles and in one that does not, and the peer.
pub const CONTESTANTS: usize = 4;

/// The columns of the table of chains.
const WITH_CHAINS: [&str; 6] = [
    "insert",
    "hit",
    "miss",
    "half",
    "bits per item",
    "false positives of a million",
];

/// The columns of the table of filters built large.
const WITH_FIXED: [&str; 8] = [
    "insert",
    "insert, 2 threads",
    "hit",
    "miss",
    "half",
    "bits per item",
    "false positives of a million",
    "doublings",
];

/// What growth costs.
#[derive(Clone, Debug)]
pub struct Growth {
    /// In the third-level cache, and out of it.
    pub sizes: Vec<OfSize>,
    /// What single operations take while the filter grows.
    pub timeline: Timeline,
}

/// What growth costs in filters of one size.
#[derive(Clone, Debug)]
pub struct OfSize {
    /// Against filters built large: for each of the rates the grown one, then the fixed one.
    pub fixed: Table,
    /// Against chains: for each of the rates the [`CONTESTANTS`].
    pub chains: Table,
}

/// Measures all of it; tells `say` what comes next.
#[must_use]
pub fn measure(effort: Effort, say: impl Fn(&str)) -> Growth {
    let of_size = |log_slots| {
        let slots = size(log_slots);
        say(&format!("growth, {slots} slots, against fixed filters"));
        let fixed = against_fixed(effort, log_slots);
        say(&format!("growth, {slots} slots, against chains"));
        OfSize {
            fixed,
            chains: against_chains(effort, log_slots),
        }
    };
    let sizes = [effort.log_medium, effort.log_large].map(of_size).into();
    say("growth, latencies");
    Growth {
        sizes,
        timeline: timeline::measure(effort),
    }
}

/// A filter for a rate of 0.1 % that begins with room for a part of the items, and ends with 13
/// bits × 4.
///
/// # Panics
///
/// If there is no memory.
#[must_use]
pub fn growing(items: u64) -> Guira {
    Guira(grown(items, RATES[0]))
}

fn against_fixed(effort: Effort, log_slots: u32) -> Table {
    let count = items(log_slots);
    let title = format!(
        "Grown {TIMES} times and built large, {} slots",
        size(log_slots)
    );
    let mut table = Table::new(title, &WITH_FIXED);
    table.rows_for(RATES.iter().flat_map(|asked| {
        let percent = asked * 100.0;
        let fixed = built_large(count, *asked);
        let (bits, slots) = (fixed.fingerprint_bits(), fixed.bucket_slots());
        [
            format!("at most {percent} %, grown"),
            format!("at most {percent} %, built large ({bits} bits × {slots})"),
        ]
    }));
    // Out of cache the fills take minutes: one round is enough for the other rates.
    let rates = |round| match round {
        1.. if log_slots >= effort.log_large => 1,
        _ => RATES.len(),
    };
    for round in 0..effort.rounds_at(log_slots) {
        for (nth, asked) in RATES[..rates(round)].iter().enumerate() {
            let makes: [&dyn Fn() -> Guira; 2] = [&|| Guira(grown(count, *asked)), &|| {
                Guira(built_large(count, *asked))
            }];
            // Both are there before either is asked: lookups take turns within a moment.
            let filled = makes.into_iter().enumerate().map(|(index, make)| {
                let row = 2 * nth + index;
                let share = count / 2;
                let guira = make();
                let peer: &dyn Peer<u64> = &guira;
                let two = rate_of_crew(2, count, |index| {
                    peer.insert_all(index * share..(index + 1) * share)
                });
                table.push(row, 1, two);
                drop(guira);
                let guira = make();
                let peer: &dyn Peer<u64> = &guira;
                table.push(row, 0, rate(count, || peer.insert_all(0..count)));
                guira.0.finish_growth();
                let bits = guira.0.memory_usage() as f64 * 8.0 / count as f64;
                table.push(row, 5, bits);
                table.push(row, 7, f64::from(guira.0.stats().doublings));
                guira
            });
            let filled: Vec<Guira> = filled.collect();
            for asked in Asked::ALL {
                for (index, guira) in filled.iter().enumerate() {
                    let cells = (&mut table, 2 * nth + index, 2);
                    look(effort.steps, cells, count, (asked, round), |key| {
                        guira.0.contains(key)
                    });
                }
            }
        }
    }
    table
}

/// Looks up; fills in the column of what is asked, of those from `first` on, and for
/// misses the absent keys that were found, of a million.
fn look(
    steps: u64,
    (table, row, first): (&mut Table, usize, usize),
    count: u64,
    (asked, round): (Asked, usize),
    contains: impl Fn(&u64) -> bool,
) {
    let mut found = 0;
    let rate = rate(steps, || {
        let mut walk = Walk::new(asked, count, round as u64);
        found = (0..steps)
            .map(|_| u64::from(contains(&u64::nth(walk.next_number()))))
            .sum();
        found
    });
    let column = Asked::ALL.iter().position(|&one| one == asked);
    table.push(row, first + column.expect("a column of lookups"), rate);
    match asked {
        Asked::Hits => assert_eq!(found, steps, "no item is denied"),
        Asked::Misses => table.push(row, first + 4, found as f64 / steps as f64 * 1e6),
        Asked::Quarters(_) => (),
    }
}

/// The peer: a chain of filters with longer fingerprints from link to link, so
/// that it keeps its rate. One writer, and here without a lock.
pub(crate) fn scalable(start: u64, rate: f64) -> ScalableCuckooFilter<u64, SharedHasher, SmallRng> {
    ScalableCuckooFilterBuilder::new()
        .initial_capacity(start as usize)
        .false_positive_probability(rate)
        .hasher(SharedHasher::default())
        .rng(SmallRng::seed_from_u64(1))
        .finish()
}

fn against_chains(effort: Effort, log_slots: u32) -> Table {
    let (count, steps) = (items(log_slots), effort.steps);
    let title = format!(
        "Grown {TIMES} times, in chains or not, {} slots",
        size(log_slots)
    );
    let mut table = Table::new(title, &WITH_CHAINS);
    table.rows_for(RATES_OF_CHAINS.iter().flat_map(|rate| {
        let percent = rate * 100.0;
        let guira = grown(count, *rate);
        let (bits, slots) = (guira.fingerprint_bits(), guira.bucket_slots());
        [
            format!("guira ({bits} bits × {slots}), at most {percent} %"),
            format!("chain of guira's fixed filters, at most {percent} %"),
            format!("chain of {TIMES} equal fixed filters, at most {percent} %"),
            format!("scalable_cuckoo_filter, at most {percent} %"),
        ]
    }));
    for (index, asked) in RATES_OF_CHAINS.into_iter().enumerate() {
        let row = CONTESTANTS * index;
        // Filled once where a fill takes long: what is compared are the lookups.
        let fills = if log_slots >= effort.log_large {
            1
        } else {
            effort.rounds
        };
        let mut filled = None;
        for round in 0..effort.rounds_at(log_slots) {
            if round < fills {
                filled = Some(fill_chains(count, asked, &mut table, row));
            }
            let (guira, chains, peer) = filled.as_ref().expect("the first round fills");
            for asked in Asked::ALL.map(|asked| (asked, round)) {
                let cells = (&mut table, row, 1);
                look(steps, cells, count, asked, |key| guira.contains(key));
                // A chain of many links is slow enough to be timed with fewer lookups.
                for (index, (chain, steps)) in chains.iter().zip([steps, steps / 8]).enumerate() {
                    let cells = (&mut table, row + 1 + index, 1);
                    look(steps, cells, count, asked, |key| chain.contains(key));
                }
                let cells = (&mut table, row + 3, 1);
                look(steps, cells, count, asked, |key| peer.contains(key));
            }
        }
    }
    table
}

/// guira at this rate, in the layout that it chooses itself: with room for `start` items at first,
/// and for `count` in the end.
pub(crate) fn guira_from(start: u64, count: u64, rate: f64) -> Result<CuckooFilter, BuildError> {
    let builder = CuckooFilter::builder()
        .capacity(start as usize)
        .max_capacity(count as usize)
        .false_positive_rate(rate);
    builder.hasher(hasher::state()).build()
}

/// guira that becomes [`TIMES`] times as large.
fn grown(count: u64, rate: f64) -> CuckooFilter {
    guira_from(count / TIMES, count, rate).expect("a rate that can be kept so far")
}

/// guira that is fixed.
fn built_large(count: u64, rate: f64) -> CuckooFilter {
    guira_from(count, count, rate).expect("a rate on offer")
}

type Contestants = (
    CuckooFilter,
    [Chain; 2],
    ScalableCuckooFilter<u64, SharedHasher, SmallRng>,
);

/// Fills one of each; fills in the columns of inserts and of bits.
fn fill_chains(count: u64, asked: f64, table: &mut Table, row: usize) -> Contestants {
    let guira = grown(count, asked);
    let mut chains = [Chain::doubling(count, asked), Chain::equal(count, asked)];
    let mut peer = scalable(count / TIMES, asked);
    let keys = || (0..count).map(u64::nth);
    let mut timed = |index: usize, fill: &mut dyn FnMut()| {
        let start = thread_time();
        fill();
        table.push(row + index, 0, mops(count, thread_time() - start));
    };
    timed(0, &mut || {
        keys().for_each(|key| {
            guira
                .insert(&key)
                .expect("as many items as were asked for fit")
        });
    });
    for (index, chain) in chains.iter_mut().enumerate() {
        timed(1 + index, &mut || keys().for_each(|key| chain.insert(&key)));
    }
    timed(3, &mut || keys().for_each(|key| peer.insert(&key)));
    guira.finish_growth();
    let bytes = [
        guira.memory_usage(),
        chains[0].bytes(),
        chains[1].bytes(),
        peer.bits() as usize / 8,
    ];
    for (index, bytes) in bytes.into_iter().enumerate() {
        table.push(row + index, 4, bytes as f64 * 8.0 / count as f64);
    }
    (guira, chains, peer)
}

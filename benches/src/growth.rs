//! Growth: filters that can grow, at several stages, against one that was built large. A filter that grew 64
//! times as large against the other way to grow, a chain of filters.

use crate::{
    arena::Arena,
    chain::Chain,
    effort::{Effort, Size},
    lanes::Tally,
    measure::{items, say},
    peer::Peer,
    peers::{self, Room, SCALABLE, guira},
    sheet::{Contestant, LOOKUPS, What, sheet},
    table::{Table, Unit},
};
use std::sync::Arc;

/// How many times as large the filters become.
pub(crate) const TIMES: u64 = 64;

/// The rates that are asked of filters that grow, and of fixed ones.
const RATES: [f64; 2] = [0.01, 0.001];

/// How many times as large the filters have become when they hold all items. At few planes the plane of an
/// item is hard to predict, and at many planes each is short.
const STAGES: [u64; 4] = [1, 8, TIMES, 1024];

/// The rates that all are asked for: of a chain, of all its links together.
const RATES_OF_CHAINS: [f64; 2] = [0.03, 0.001];

/// What is measured of the size.
const SPACE: [What; 2] = [What::Bits, What::FalsePositives];

/// What growth costs: in each cache, and out of it.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    let sizes = effort.sizes();
    let mut tables: Vec<Table> = sizes.map(|size| against_fixed(effort, size)).into();
    for &size in &sizes[1..] {
        tables.extend(RATES_OF_CHAINS.map(|rate| against_chains(effort, size, rate)));
    }
    tables.extend(over_time(effort));
    tables
}

/// Room for a part of the items, which grows to hold them all.
pub(crate) fn grown(count: u64, rate: f64) -> Room {
    Room::growing(count, TIMES, rate)
}

/// guira, called by the words that it chooses.
fn contestant(name: &str, count: u64, room: Room) -> Contestant<'static> {
    let make = move || guira(room).expect("a rate on offer, and memory");
    let made = make();
    let (bits, slots) = (made.fingerprint_bits(), made.bucket_slots());
    Contestant::new(format!("{name} ({bits} bits × {slots})"), count, make)
}

/// A filter that can grow, and has become `times` as large when it holds `count` items.
fn at_stage(count: u64, times: u64, rate: f64) -> Room {
    match times {
        // It could become larger still.
        1 => Room {
            first: count,
            ..Room::growing(count * TIMES, TIMES, rate)
        },
        _ => Room::growing(count, times, rate),
    }
}

fn against_fixed(effort: Effort, size: Size) -> Table {
    let count = items(size.log_slots);
    let mut contestants = Vec::new();
    for rate in RATES {
        let name = format!("at most {} %", rate * 100.0);
        let large = Room::growing(count, 1, rate);
        contestants.push(contestant(&format!("{name}, built large"), count, large));
        for times in STAGES {
            let stage = match times {
                1 => "can grow".into(),
                _ => format!("grown {times} times"),
            };
            let room = at_stage(count, times, rate);
            contestants.push(contestant(&format!("{name}, {stage}"), count, room));
        }
    }
    // Between 60 and 90 % no level is being made.
    let inserts = [
        What::Insert(0, 100),
        What::Insert(60, 90),
        What::InsertByTwo,
    ];
    let whats = [&inserts[..], &LOOKUPS, &[What::Remove], &SPACE].concat();
    let key = format!("growth/fixed/{}", size.key);
    let title = format!("Stages of growth, {}", size.slots());
    let plan = effort.plan(size);
    sheet((key, title), &whats, &contestants, plan)
}

fn against_chains(effort: Effort, size: Size, rate: f64) -> Table {
    let count = items(size.log_slots);
    let doubling = move || Chain::doubling(count, rate);
    let equal = move || Chain::equal(count, TIMES, rate);
    let mut contestants = vec![
        contestant("guira", count, grown(count, rate)),
        Contestant::new("chain of guira's fixed filters", count, doubling),
        Contestant::new("chain of 64 equal fixed filters", count, equal),
    ];
    let scalable = peers::all().into_iter().filter(|it| it.name == SCALABLE);
    contestants.extend(scalable.map(|it| Contestant::of_entry(&it, grown(count, rate))));
    let whats = [&[What::Insert(0, 100)][..], &LOOKUPS, &SPACE].concat();
    let (percent, slots) = (rate * 100.0, size.slots());
    let key = format!("growth/chains/{}/{rate}", size.key);
    let title = format!("Grown {TIMES} times, in chains or not, at most {percent} %, {slots}");
    let mut plan = effort.plan(size);
    // A chain of many links is slow enough to be timed with fewer lookups.
    plan.steps /= 4;
    sheet((key, title), &whats, &contestants, plan)
}

/// Parts of a fill between two doublings.
const PER_DOUBLING: u32 = 2;

/// What single operations take while a filter grows, and one built large is filled: one thread inserts,
/// another looks up. What all took, and for the chart the slowest in each part of the fill, and the memory
/// at its end.
fn over_time(effort: Effort) -> [Table; 4] {
    let [.., large] = effort.sizes();
    let count = items(large.log_slots);
    let title = format!("Latency while the filter grows, {}", large.slots());
    say(&title);
    let times = |part: u32| (f64::from(part) / f64::from(PER_DOUBLING)).exp2();
    let items_at = |part| (count as f64 / TIMES as f64 * times(part)) as u64;
    let parts = 1..=TIMES.ilog2() * PER_DOUBLING;
    let column = |part| format!("{} ×", (times(part) * 10.0).round() / 10.0);
    let columns: Vec<String> = parts.clone().map(column).collect();
    let table = |key: &str, title: &str, unit| {
        Table::new(format!("growth/timeline/{key}"), title).with(unit, &columns)
    };
    let mut total = Tally::table("growth/latency", title);
    total = total.with(Unit::Count, ["denied", "refused"]);
    let mut inserts = table("inserts", "Inserts while the filter grows", Unit::Time);
    let mut lookups = table("lookups", "Concurrent lookups", Unit::Time);
    let mut memory = table("memory", "Memory", Unit::Bytes);
    let rooms = [
        ("grows", grown(count, 0.001)),
        ("built large", Room::of(count)),
    ];
    let mut taken = rooms.map(|_| vec![Tally::default(); columns.len()]);
    for _ in 0..effort.rounds {
        for ((name, room), taken) in rooms.iter().zip(&mut taken) {
            let filter: Arc<dyn Peer> = Arc::new(guira(*room).expect("a rate on offer"));
            let mut arena = Arena::new(filter.clone(), items_at(0));
            for ((part, column), taken) in parts.clone().zip(&columns).zip(taken) {
                let more = items_at(part) - items_at(part - 1);
                let tally = arena.lookups_beside_inserts(more, 1);
                taken.add(&tally);
                memory.push(name, column, filter.bytes() as f64);
                total.push(name, "denied", tally.denied as f64);
                total.push(name, "refused", tally.refused as f64);
            }
        }
    }
    for ((name, _), taken) in rooms.iter().zip(&taken) {
        Tally::sum(taken).fill_in(&mut total, name);
        for (part, column) in taken.iter().zip(&columns) {
            for (kind, share) in [("p99.9", 0.999), ("longest", 1.0)] {
                let row = format!("{name}, {kind}");
                inserts.push(&row, column, part.inserts.quantile(share));
                lookups.push(&row, column, part.lookups.quantile(share));
            }
        }
    }
    [total, inserts, lookups, memory]
}

//! Bits per item against the rate of false positives, and how fast a filter is built.

use crate::{
    effort::{Effort, Size},
    keys::{Asked, Walk, mix},
    measure::{items, say},
    one_thread::{LAYOUTS, layout},
    peer::Peer,
    peers::{self, Can, Room, guira, guira_with, with_bits},
    sheet::{Contestant, What, sheet},
    table::{Table, Unit},
};
use guira::{CuckooFilter, Prefer};

/// The rates that are asked for.
const RATES: [f64; 7] = [0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6];

/// The least of them at which peers grow, and large filters are filled: a long chain takes minutes to
/// find enough false positives at lower rates.
const LEAST_GROWN: f64 = 1e-4;

/// How many times as large as at first the filters become; 1: they are fixed.
const GROWTHS: [u64; 4] = [1, 64, 1_000, 100_000];

/// Memory and rates in the third-level cache, and how fast filters are built.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    let [_, medium, large] = effort.sizes();
    let of = (items(medium.log_slots), &*medium.slots());
    let mut tables = asked(effort, "medium", of, &GROWTHS, false);
    tables.extend([medium, large].map(|size| construction(effort, size)));
    tables
}

/// guira out of cache, and fixed filters for round numbers of items.
pub(crate) fn measure_large(effort: Effort) -> Vec<Table> {
    let [.., large] = effort.sizes();
    let of = (items(large.log_slots), &*large.slots());
    let mut tables = asked(effort, "large", of, &GROWTHS, true);
    for count in effort.items {
        let of = (count, &*format!("{count} items"));
        tables.extend(asked(effort, &format!("fixed-{count}"), of, &[1], false));
    }
    tables
}

/// How fast guira's layouts and the peers are built, as table 3 of Fan et al., *Cuckoo Filter*, CoNEXT
/// 2014, has it.
fn construction(effort: Effort, size: Size) -> Table {
    let count = items(size.log_slots);
    let layouts = LAYOUTS.map(|(bits, slots)| {
        let name = format!("guira, {}", layout(bits, slots));
        Contestant::new(name, count, move || with_bits(count, bits))
    });
    let mut contestants = Vec::from(layouts);
    contestants.extend(Contestant::all(size, |entry| entry.name != "guira"));
    let whats = [What::Insert(0, 100), What::Bits, What::FalsePositives];
    let key = format!("space/construction/{}", size.key);
    let title = format!("Construction, {}", size.slots());
    sheet((key, title), &whats, &contestants, effort.plan(size))
}

/// Bits per item that a rate needs in theory. A cuckoo filter has buckets of four slots, 95 % of them in
/// use. The fingerprint is compared with eight others, which costs 3 bits (Fan et al., *Cuckoo Filter*,
/// CoNEXT 2014, §5.1). If the buckets are semi-sorted, that saves a bit (§5.2).
fn theories(rate: f64) -> [(&'static str, f64); 4] {
    let limit = -rate.log2();
    [
        ("information limit", limit),
        ("Bloom filter, in theory", limit / std::f64::consts::LN_2),
        ("cuckoo filter, in theory", (limit + 3.0) / 0.95),
        ("semi-sorted cuckoo filter, in theory", (limit + 2.0) / 0.95),
    ]
}

fn column(rate: f64) -> String {
    format!("{} %", (rate * 1e8).round() / 1e6)
}

/// A table for each quantity, with a column for each rate.
const QUANTITIES: [(&str, &str, Unit); 3] = [
    ("bits", "Bits per item", Unit::Number),
    ("measured", "Measured rates", Unit::Share),
    ("refused", "Refused below the capacity", Unit::Share),
];

/// guira, fixed and grown, and all else that can be asked for a rate, unless guira stays alone. They are
/// filled with that number of items.
fn asked(
    effort: Effort,
    key: &str,
    (count, items): (u64, &str),
    growths: &[u64],
    alone: bool,
) -> Vec<Table> {
    let mut tables = QUANTITIES.map(|(name, title, unit)| {
        let (key, title) = (format!("space/{key}/{name}"), format!("{title}, {items}"));
        Table::new(key, title).with(unit, RATES.map(column))
    });
    let mut entries = peers::all();
    entries.retain(|entry| entry.can(Can::TakeRate) && entry.name != "guira" && !alone);
    for rate in RATES {
        if alone && rate < LEAST_GROWN {
            continue;
        }
        let column = column(rate);
        say(&format!("space of {items}, at most {column}"));
        let mut measure = |name: &str, peer: &dyn Peer, times: u64| {
            let row = match times {
                1 => name.to_owned(),
                times => format!("{name}, grown {times} times"),
            };
            let values = quantities(effort, count, peer, times == 1 && name.starts_with("guira"));
            for (table, value) in tables.iter_mut().zip(values) {
                table.push(&row, &column, value);
            }
        };
        for &times in growths {
            let room = Room::growing(count, times, rate);
            if let Ok(filter) = guira(room) {
                measure("guira", &filter, times);
            }
            if times == 1 {
                let builder = CuckooFilter::builder().false_positive_rate(rate);
                let small = builder.prefer(Prefer::Space).capacity(count as usize);
                measure("guira, prefers space", &guira_with(small), 1);
            }
            for entry in &entries {
                if times == 1 || entry.can(Can::Grow) && rate >= LEAST_GROWN {
                    measure(entry.name, &*(entry.make)(room), times);
                }
            }
        }
        for (name, bits) in theories(rate) {
            tables[0].push(name, &column, bits);
        }
    }
    tables.into()
}

/// Fills the peer, and looks for false positives: enough to tell the rate to a twentieth, or `precisely`
/// to a hundredth.
fn quantities(effort: Effort, count: u64, peer: &dyn Peer, precisely: bool) -> [f64; 3] {
    let refused = (0..count).filter(|&number| !peer.insert(&mix(number)));
    let refused = refused.count() as f64;
    peer.settle();
    let enough = if precisely { 10_000 } else { 400 };
    let (mut lookups, mut found) = (0, 0);
    while found < enough && lookups < effort.steps * 32 {
        found += peer.lookup(Walk::new(Asked::Misses, 1, lookups >> 16), 1 << 16);
        lookups += 1 << 16;
    }
    // Fewer do not tell the rate.
    let found = if found < 25 { 0 } else { found };
    let bits = peer.bytes() as f64 * 8.0 / (count as f64 - refused).max(1.0);
    [bits, found as f64 / lookups as f64, refused / count as f64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guira_keeps_the_rates_that_it_is_asked_for() {
        let of = (15_564, "15564 items");
        let [bits, measured, refused] = &asked(Effort::QUICK, "test", of, &[1, 64], false)[..]
        else {
            panic!("a table for each quantity");
        };
        let median = |table: &Table, row: &str, rate| {
            let cell = table.cell(row, &column(rate));
            cell.and_then(|cell| cell.median())
        };
        for rate in RATES {
            let space = median(bits, "guira, prefers space", rate);
            assert!(space <= median(bits, "guira", rate), "{rate}");
            for row in ["guira", "guira, prefers space", "guira, grown 64 times"] {
                let measured = median(measured, row, rate);
                assert!(measured <= Some(rate * 1.5), "{row}, {rate}");
                assert_eq!(median(refused, row, rate), Some(0.0), "{row}, {rate}");
            }
        }
    }
}

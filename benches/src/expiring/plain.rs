//! An expiring filter beside a plain one with slots of the same size.

use crate::{
    effort::Effort,
    hasher,
    keys::{Asked, Walk},
    measure::{Samples, rate, size},
    ops::Table,
    peer::Peer,
    peers::Guira,
};
use guira::ExpiringFilter;
use std::time::Duration;

/// The bits of a fingerprint: of an expiring filter, and of the plain one.
const LAYOUTS: [(u32, u32, u32, &str); 4] = [
    (9, 5, 12, "9 + 3 bits × 5"),
    (11, 12, 15, "11 + 4 bits × 4"),
    (16, 12, 20, "16 + 4 bits × 3"),
    (26, 12, 30, "26 + 4 bits × 2"),
];

struct Timed(ExpiringFilter);

impl Peer<u64> for Timed {
    #[inline(always)]
    fn insert(&self, key: &u64) -> bool {
        self.0.insert(key).is_ok()
    }

    #[inline(always)]
    fn contains(&self, key: &u64) -> bool {
        self.0.contains(key)
    }

    #[inline(always)]
    fn remove(&self, key: &u64) -> bool {
        self.0.remove(key)
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }
}

/// Ratios, in cache and out of it.
pub(super) fn measure(effort: Effort) -> Table {
    let columns = ["insert", "hit", "miss", "half", "remove"];
    let title = "An expiring filter's share of a plain filter's speed".into();
    let mut table = Table::new(title, &columns);
    let sizes = [effort.log_small, effort.log_large];
    let names = sizes.iter().flat_map(|&log_slots| {
        let of = move |layout: &(u32, u32, u32, &str)| {
            format!("{}, {} slots", layout.3, size(log_slots))
        };
        LAYOUTS.iter().map(of)
    });
    table.rows_for(names);
    for (half, log_slots) in sizes.into_iter().enumerate() {
        for (place, layout) in LAYOUTS.into_iter().enumerate() {
            let cells = compare(effort, log_slots, layout);
            table.rows[half * LAYOUTS.len() + place].1 = cells.into_iter().map(Some).collect();
        }
    }
    table
}

/// The ratios of insert, hit, miss, half and remove.
fn compare(
    effort: Effort,
    log_slots: u32,
    (bits, steps, plain_bits, _): (u32, u32, u32, &str),
) -> [Samples; 5] {
    let mut rates: [[Samples; 2]; 5] = Default::default();
    // Out of cache one fill says enough of a rate that is a mean of millions.
    let fills = if log_slots < effort.log_large {
        effort.rounds_at(log_slots)
    } else {
        1
    };
    for fill in 0..fills {
        let plain = Guira::new((1 << log_slots) / 100 * 80, plain_bits);
        let slots = plain.0.buckets() * plain.0.bucket_slots();
        // The same number of slots, and the same number of them in use.
        let capacity = slots as f64 * 0.8 / (1.0 + 1.5 / f64::from(steps));
        let timed = ExpiringFilter::builder(Duration::from_secs(3600))
            .capacity(capacity as usize)
            .epochs(steps)
            .fingerprint_bits(bits)
            .seed(hasher::SEED);
        let timed = Timed(timed.build().expect("a layout of guira, and memory"));
        for _ in 0..3 {
            timed.0.advance();
        }
        let count = slots as u64 / 100 * 70;
        let pair: [&dyn Peer<u64>; 2] = [&timed, &plain];
        for side in 0..2 {
            // Who is first, is so in every second round.
            let side = (side + fill) % 2;
            rates[0][side].push(rate(count, || pair[side].insert_all(0..count)));
        }
        let rounds = effort.rounds_at(log_slots).div_ceil(fills) * 3;
        for round in 0..rounds {
            for (column, asked) in (1..).zip(Asked::ALL) {
                for side in 0..2 {
                    let side = (side + round) % 2;
                    let walk = Walk::new(asked, count, round as u64);
                    let look = || pair[side].lookup(walk, effort.steps);
                    rates[column][side].push(rate(effort.steps, look));
                }
            }
        }
        let removes = effort.steps.min(count / 4);
        for (rates, peer) in rates[4].iter_mut().zip(pair) {
            let walk = Walk::new(Asked::Hits, count, 0);
            rates.push(rate(removes, || peer.remove_all(walk, removes)));
        }
    }
    rates.map(|[ours, theirs]| ours.ratios(&theirs))
}

//! Filters that are asked for a rate: made for all items at once, or grown.

use super::{Point, SOME, bits, false_positives, redis_bloom::RedisBloom};
use crate::{
    effort::Effort,
    growth::{guira_from, scalable},
    hasher::{self, SharedHasher},
    keys::{Key, Walk},
    peers,
};
use guira::{CuckooFilter, Prefer, SeededState};
use rand::rngs::SmallRng;
use scalable_cuckoo_filter::ScalableCuckooFilter;

/// The rates that are asked for.
pub(super) const RATES: [f64; 7] = [0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6];

/// Those of them whose grown filters the page shows beside each other.
pub const COMPARED: [f64; 4] = [0.03, 0.01, 0.001, 1e-4];

/// How guira is called where it prefers space.
pub const PREFERS_SPACE: &str = "guira, prefers space";

/// How many times as large as at first the filters become; 1: they are fixed.
pub const GROWTHS: [u64; 4] = [1, 64, 1_000, 100_000];

/// By how much each of RedisBloom's tables is larger than the one before.
const EXPANSIONS: [usize; 3] = [1, 2, 4];

/// What one thread fills.
pub(super) trait Filter {
    /// Adds the key; false if it is refused.
    fn insert(&mut self, key: u64) -> bool;

    fn contains(&self, key: u64) -> bool;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Completes a doubling that has begun.
    fn settle(&self) {}

    /// The rate that the filter expects.
    fn expected(&self) -> Option<f64> {
        None
    }

    /// False if it grows for ever instead.
    fn becomes_full(&self) -> bool {
        false
    }
}

impl Filter for CuckooFilter<SeededState> {
    fn insert(&mut self, key: u64) -> bool {
        (*self).insert(&key).is_ok()
    }

    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    fn settle(&self) {
        self.finish_growth();
    }

    fn expected(&self) -> Option<f64> {
        Some(self.false_positive_rate())
    }

    fn becomes_full(&self) -> bool {
        true
    }
}

impl Filter for ScalableCuckooFilter<u64, SharedHasher, SmallRng> {
    fn insert(&mut self, key: u64) -> bool {
        self.insert(&key);
        true
    }

    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }

    fn bytes(&self) -> usize {
        self.bits() as usize / 8
    }
}

impl Filter for RedisBloom {
    fn insert(&mut self, key: u64) -> bool {
        self.insert(key)
    }

    fn contains(&self, key: u64) -> bool {
        self.contains(key)
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

/// RedisBloom has no rates to ask for. Returns the most slots of a bucket, of its default or fewer,
/// with which one table keeps the rate.
fn redis_bloom_slots(rate: f64) -> Option<usize> {
    [2, 1]
        .into_iter()
        .find(|&slots| slots as f64 * 2.0 / 255.0 <= rate)
}

/// Fills a filter with as many items as it was asked to hold, and looks for some false positives.
fn measured(what: (String, f64, u64), filter: impl Filter, count: u64, effort: Effort) -> Point {
    measured_until(SOME, what, filter, count, effort)
}

/// The same, until it has found this number of false positives.
pub(super) fn measured_until(
    enough: u64,
    (name, asked, grown): (String, f64, u64),
    mut filter: impl Filter,
    count: u64,
    effort: Effort,
) -> Point {
    let (mut refused, mut at_full) = (0, None);
    for number in 0..count {
        if !filter.insert(u64::nth(number)) {
            refused += 1;
            at_full.get_or_insert_with(|| bits(filter.bytes(), number));
        }
    }
    filter.settle();
    let found = |mut walk: Walk, steps| -> u64 {
        (0..steps)
            .map(|_| u64::from(filter.contains(u64::nth(walk.next_number()))))
            .sum()
    };
    let (rate, lookups) = false_positives(found, enough, effort);
    let point = Point {
        name,
        asked: Some(asked),
        grown,
        expected: filter.expected(),
        rate,
        lookups,
        bits: bits(filter.bytes(), count - refused),
        at_full: None,
        refused,
    };
    if filter.becomes_full() && at_full.is_none() {
        let mut more = count..;
        let full = more.find(|&number| !filter.insert(u64::nth(number)));
        at_full = full.map(|items| bits(filter.bytes(), items));
    }
    Point { at_full, ..point }
}

/// The items for which a filter is first made that grows to `count`.
fn start_of(count: u64, grown: u64) -> u64 {
    (count / grown).max(1)
}

/// guira, fixed and grown; nothing where it does not offer the rate.
fn guira(asked: f64, grown: u64, count: u64, effort: Effort) -> Option<Point> {
    let filter = guira_from(start_of(count, grown), count, asked).ok()?;
    let name = format!("guira, chose {} bits", filter.fingerprint_bits());
    Some(measured((name, asked, grown), filter, count, effort))
}

/// guira, fixed: as large as it is made for this number of items at this rate.
///
/// # Panics
///
/// If guira does not offer the rate.
pub(super) fn fixed(asked: f64, prefer: Prefer, count: u64) -> CuckooFilter {
    let builder = CuckooFilter::builder()
        .capacity(count as usize)
        .false_positive_rate(asked)
        .prefer(prefer);
    let built = builder.hasher(hasher::state()).build();
    built.expect("a rate on offer, and memory")
}

/// guira where it prefers space.
fn small(asked: f64, count: u64, effort: Effort) -> Point {
    let filter = fixed(asked, Prefer::Space, count);
    let name = format!("{PREFERS_SPACE}, chose {} bits", filter.fingerprint_bits());
    measured((name, asked, 1), filter, count, effort)
}

fn redis_bloom(asked: f64, grown: u64, count: u64, effort: Effort) -> Vec<Point> {
    let Some(slots) = redis_bloom_slots(asked) else {
        return Vec::new();
    };
    let capacity = start_of(count, grown) as usize;
    let expansions: &[usize] = if grown == 1 { &[0] } else { &EXPANSIONS };
    let one = |&expansion: &usize| {
        let name = format!("RedisBloom, BUCKETSIZE {slots}, EXPANSION {expansion}");
        let filter = RedisBloom::new(capacity, slots, expansion);
        measured((name, asked, grown), filter, count, effort)
    };
    expansions.iter().map(one).collect()
}

/// guira alone, for each rate that is compared and each growth.
pub(super) fn of_guira(count: u64, effort: Effort) -> Vec<Point> {
    let all = COMPARED
        .into_iter()
        .flat_map(|asked| GROWTHS.map(|grown| (asked, grown)));
    all.filter_map(|(asked, grown)| guira(asked, grown, count, effort))
        .collect()
}

/// All that can be asked for a rate, fixed for each of the rates, and grown; and RedisBloom.
pub(super) fn of_all(count: u64, effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for asked in RATES {
        for grown in GROWTHS {
            points.extend(guira(asked, grown, count, effort));
            if grown == 1 {
                points.push(small(asked, count, effort));
            }
            points.extend(redis_bloom(asked, grown, count, effort));
            // A long chain takes minutes to find enough false positives at low rates.
            if grown == 1 || COMPARED.contains(&asked) {
                let name = "scalable_cuckoo_filter".to_owned();
                let filter = scalable(start_of(count, grown), asked);
                points.push(measured((name, asked, grown), filter, count, effort));
            }
        }
        for (name, make) in peers::asked_for::<u64>() {
            let peer = make(count as usize, asked);
            let refused = count - peer.insert_all(0..count);
            let lookup = |walk, steps| peer.lookup(walk, steps);
            let (rate, lookups) = false_positives(lookup, SOME, effort);
            points.push(Point {
                name: name.to_owned(),
                asked: Some(asked),
                grown: 1,
                expected: None,
                rate,
                lookups,
                bits: bits(peer.bytes(), count - refused),
                at_full: None,
                refused,
            });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guira_keeps_the_rate_and_refuses_nothing_below_its_capacity() {
        for point in of_guira(20_000, Effort::QUICK) {
            let asked = point.asked.unwrap_or(0.0);
            assert_eq!(point.refused, 0, "{point:?}");
            assert!(point.rate <= asked * 1.5, "{point:?}");
            assert!(point.at_full.is_some(), "{point:?}");
        }
    }

    #[test]
    fn redis_bloom_offers_a_rate_of_0_78_percent_at_best() {
        assert_eq!(redis_bloom_slots(0.03), Some(2));
        assert_eq!(redis_bloom_slots(0.01), Some(1));
        assert_eq!(redis_bloom_slots(0.007), None);
    }

    #[test]
    fn redis_bloom_that_may_not_expand_refuses_and_one_that_may_exceeds_its_rate() {
        let fixed = &redis_bloom(0.03, 1, 15_564, Effort::QUICK)[0];
        assert!(fixed.refused > 0 && fixed.rate < 0.03, "{fixed:?}");
        let grown = redis_bloom(0.03, 1_000, 15_564, Effort::QUICK);
        let [equal, doubling, fourfold] = &grown[..] else {
            panic!("one for each expansion");
        };
        // 32 tables of 16 slots; the last one holds one item.
        assert!(equal.refused > 15_000, "{equal:?}");
        for expanding in [doubling, fourfold] {
            assert!(
                expanding.refused == 0 && expanding.rate > 0.03,
                "{expanding:?}"
            );
        }
    }
}

//! What it costs to prefer space: semi-sorted words beside packed ones, in as much memory.

use crate::{
    crew::crew,
    effort::Effort,
    hasher,
    keys::{Asked, Key, Walk},
    measure::{Samples, mops, rate, thread_time},
    ops::{Table, memory},
    peer::Peer,
    peers::Guira,
};
use guira::{Builder, CuckooFilter, Prefer};
use std::{ops::Range, time::Duration};

/// A rate that chooses the semi-sorted words and lets them be full, the bits of the packed words
/// that come nearest, and a name for both. The name says how many bits their fingerprints are
/// worth.
const LAYOUTS: [(f64, u32, &str); 5] = [
    (0.0212, 10, "9.3 bits × 7 against 10 bits × 6"),
    (0.006, 10, "11.0 bits × 6 against 10 bits × 6"),
    (0.0011, 12, "13.1 bits × 5 against 12 bits × 5"),
    (0.00013, 15, "15.9 bits × 4 against 15 bits × 4"),
    (3.3e-6, 20, "20.8 bits × 3 against 20 bits × 3"),
];

/// What is measured.
const OPERATIONS: [&str; 5] = [
    "insert 0–80 %",
    "insert_unique 0–80 %",
    "hit",
    "miss",
    "remove",
];

/// The number of parts of a fill to 80 %.
const PARTS: u64 = 32;

/// Semi-sorted words' share of the speed of packed ones, in tables of three sizes; tells `say` what
/// comes next.
#[must_use]
pub fn measure(effort: Effort, say: impl Fn(&str)) -> Table {
    let mut ratios = Table::new("What it costs to prefer space".into(), &OPERATIONS);
    let sizes = [
        (effort.log_small + 2, false),
        (effort.log_medium + 1, false),
        (effort.log_large + 2, true),
    ];
    for (log_bytes, out_of_cache) in sizes {
        let bytes = 1_usize << log_bytes;
        say(&format!("words in {}", memory(log_bytes)));
        for (of_space, of_packed, name) in LAYOUTS {
            let samples = compare(bytes, out_of_cache, (of_space, of_packed), effort);
            let name = format!("{}, {name}", memory(log_bytes));
            let ratio = |[ours, theirs]: &[Samples; 2]| Some(ours.ratios(theirs));
            ratios
                .rows
                .push((name, samples.iter().map(ratio).collect()));
        }
    }
    ratios
}

/// One of the two filters, and how many items it is made for.
struct Side {
    guira: Guira,
    count: u64,
}

/// What it took to insert, and to insert if absent.
type Spent = [(u64, Duration); 2];

impl Side {
    /// A filter with the number of items that a table of `bytes` bytes takes.
    fn new(bytes: usize, builder: Builder) -> Self {
        let make = |items: usize| {
            let builder = builder.clone().capacity(items);
            let built = builder.hasher(hasher::state()).build();
            built.expect("a layout of guira, and memory")
        };
        let (words, guess) = (bytes / 8, bytes / 8 * 3);
        let count = (guess as f64 * words as f64 / make(guess).buckets() as f64) as usize;
        Self {
            guira: Guira(make(count)),
            count: count as u64,
        }
    }

    fn peer(&self) -> &dyn Peer<u64> {
        &self.guira
    }

    /// Inserts without a clock, in as little time as there is.
    fn fill(&self, numbers: Range<u64>) {
        let middle = numbers.start.midpoint(numbers.end);
        let halves = [numbers.start..middle, middle..numbers.end];
        let _ = crew(halves.len(), |index| {
            self.guira
                .insert_in_batches::<u64>(halves[index].clone(), 32)
        });
    }

    /// A part of a fill to 80 %: some inserts of both kinds are timed, all of them if there are few.
    fn fill_part(&self, part: u64, effort: Effort, spent: &mut Spent) {
        let at = |part| self.count * 80 / 100 * part / PARTS;
        let (first, end) = (at(part), at(part + 1));
        let timed = ((end - first) / 2).min(effort.steps / 8);
        let (unique, rest) = (first + timed, first + 2 * timed);
        let add = |(count, time): &mut (u64, Duration), insert: &dyn Fn() -> u64| {
            let start = thread_time();
            std::hint::black_box(insert());
            *time += thread_time() - start;
            *count += timed;
        };
        add(&mut spent[0], &|| self.peer().insert_all(first..unique));
        add(&mut spent[1], &|| self.insert_all_unique(unique..rest));
        // What is left of an odd number is one.
        if end - rest > 1 {
            self.fill(rest..end);
        }
    }

    fn insert_all_unique(&self, numbers: Range<u64>) -> u64 {
        let insert = |number| self.guira.0.insert_unique(&u64::nth(number));
        numbers
            .map(|number| u64::from(insert(number) == Ok(true)))
            .sum()
    }

    fn remove_all(&self, numbers: Range<u64>) -> u64 {
        numbers
            .map(|number| u64::from(self.guira.0.remove(&u64::nth(number))))
            .sum()
    }
}

/// Which side is first, is so in every second round.
fn order(round: u64) -> [usize; 2] {
    [round as usize % 2, (round as usize + 1) % 2]
}

/// The rates of each of [`OPERATIONS`]: of semi-sorted words, and of packed ones.
fn compare(
    bytes: usize,
    out_of_cache: bool,
    (of_space, of_packed): (f64, u32),
    effort: Effort,
) -> [[Samples; 2]; 5] {
    let builder = CuckooFilter::builder();
    let space = builder.clone().false_positive_rate(of_space);
    let sides = [
        Side::new(bytes, space.prefer(Prefer::Space)),
        Side::new(bytes, builder.fingerprint_bits(of_packed)),
    ];
    // In cache a whole fill is one turn, as the other table would take the cache away in the middle
    // of it. Out of cache one fill is enough, and takes so long that its parts are the turns.
    let (fills, looks, parts_of_turn) = match out_of_cache {
        false => (3 * effort.rounds as u64, 1, PARTS),
        true => (1, effort.rounds as u64, 1),
    };
    // The first access to a page is the kernel's.
    for side in &sides {
        side.fill(0..side.count.min(1 << 20));
        side.guira.0.clear();
    }
    let mut samples: [[Samples; 2]; 5] = Default::default();
    for fill in 0..fills {
        let mut spent = [Spent::default(); 2];
        for turn in 0..PARTS / parts_of_turn {
            for side in order(fill + turn) {
                for part in turn * parts_of_turn..(turn + 1) * parts_of_turn {
                    sides[side].fill_part(part, effort, &mut spent[side]);
                }
            }
        }
        for (side, spent) in spent.into_iter().enumerate() {
            for (samples, (count, time)) in samples.iter_mut().zip(spent) {
                samples[side].push(mops(count, time));
            }
            let count = sides[side].count;
            sides[side].fill(count * 80 / 100..count);
        }
        for look in 0..looks {
            for (samples, asked) in samples[2..].iter_mut().zip([Asked::Hits, Asked::Misses]) {
                for side in order(fill + look) {
                    let walk = Walk::new(asked, sides[side].count, fill + look);
                    let look = || sides[side].peer().lookup(walk, effort.steps);
                    samples[side].push(rate(effort.steps, look));
                }
            }
        }
        for look in 0..looks {
            for side in order(fill + look) {
                let removes = effort.steps.min(sides[side].count / 4 / looks);
                let numbers = look * removes..(look + 1) * removes;
                let removed = rate(removes, || sides[side].remove_all(numbers));
                samples[4][side].push(removed);
            }
        }
        sides.iter().for_each(|side| side.guira.0.clear());
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each rate chooses semi-sorted words, which are full, and as many as there are packed ones.
    #[test]
    fn both_sides_have_as_much_memory() {
        let (bytes, slots) = (1 << 18, [7, 6, 5, 4, 3]);
        for ((of_space, of_packed, name), slots) in LAYOUTS.into_iter().zip(slots) {
            let builder = CuckooFilter::builder();
            let space = builder.clone().false_positive_rate(of_space);
            let space = Side::new(bytes, space.prefer(Prefer::Space));
            let packed = Side::new(bytes, builder.fingerprint_bits(of_packed));
            assert_eq!(space.guira.0.bucket_slots(), slots, "{name}");
            for side in [&space, &packed] {
                let filter = &side.guira.0;
                let of_words = filter.buckets() as f64 * 8.0 / bytes as f64;
                assert!((of_words - 1.0).abs() < 0.01, "{name}: {of_words}");
                let room = filter.buckets() * filter.bucket_slots();
                let load = side.count as f64 / room as f64;
                assert!(load > 0.9, "{name}: {load}");
            }
        }
    }

    #[test]
    fn all_operations_are_measured() {
        let measured = measure(Effort::QUICK, |_| ());
        assert_eq!(measured.rows.len(), 3 * LAYOUTS.len());
        for (name, cells) in measured.rows {
            assert_eq!(cells.len(), OPERATIONS.len());
            for samples in cells {
                let ratio = samples.expect("it is measured").median();
                assert!(ratio.is_finite() && ratio > 0.0, "{name}: {ratio}");
            }
        }
    }
}

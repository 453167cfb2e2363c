//! A search for inputs that cost a decoder more than their length justifies. The tests of all
//! crates and their fuzz targets use it.
//!
//! A [`Target`] is a decoder with some valid inputs. [`search`] changes these inputs at the edges
//! of their fields, repeats and removes sections, combines parts of two inputs, and corrects the
//! checksums. It continues from the inputs that cost the most memory per byte, like a hill climb.
//! The results depend only on the seed. Time is measured and shown, but does not guide the search,
//! because it is not deterministic.
//!
//! ```text
//! GUIRA_LONG=1 cargo test -p guira-tests --test hostile_decoders -- --nocapture
//! ```

mod counting;
mod mutate;

pub use counting::{Counting, measure};
pub use mutate::fix_checksum;

use mutate::mutate;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{env, fmt, time::Instant};

/// The bytes that a decoder may allocate for any input, however short: for a filter without its
/// table, and for a buffer.
pub const FREE: usize = 16 << 10;

/// The bytes that a decoder may have in use per byte of input: four for the table, and one for the
/// input so far. The rest is for the parts of a snapshot other than its words.
pub const MOST_IN_USE: f64 = 5.5;

/// The bytes that a decoder may allocate in total per byte of input. The tables of successive
/// passes double in size.
pub const MOST_ALLOCATED: f64 = 11.0;

/// The length of the longest input.
pub const LONGEST: usize = 64 << 10;

/// For shorter inputs, the time is not significant.
const TIMED: usize = 1 << 10;

/// How often an input that seems slow is decoded again.
const TIMES: usize = 8;

/// The number of inputs from which the search continues.
const KEPT: usize = 16;

/// A decoder, and its first inputs.
pub struct Target<'a> {
    /// The name in the table of [`Worst`].
    pub name: &'a str,
    /// Valid inputs.
    pub seeds: Vec<Vec<u8>>,
    /// Corrects the checksums of an input.
    pub fix: fn(&mut [u8]),
    /// Decodes an input, and returns whether it was accepted.
    pub decode: &'a dyn Fn(&[u8]) -> bool,
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Target");
        debug.field("name", &self.name).finish_non_exhaustive()
    }
}

/// The bytes that a thread has allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The sum of all allocations, and of the growth of each reallocation. It bounds the work of
    /// allocating, zeroing and filling memory.
    pub allocated: usize,
    /// The maximum in use at one time.
    pub peak: usize,
}

/// Calls a function, and returns the memory that this thread allocated for it. [`measure`] is one
/// implementation.
pub type Measure = fn(&mut dyn FnMut()) -> Memory;

/// The maximum costs of a decoder that were observed.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    name: String,
    inputs: usize,
    accepted: usize,
    /// Bytes allocated in total per byte of input, without [`FREE`].
    pub allocated: f64,
    /// Bytes in use at one time per byte of input, without [`FREE`].
    pub peak: f64,
    /// Nanoseconds per byte, of inputs that are not short.
    pub nanoseconds: f64,
}

/// Checks that `decode`, which decodes `bytes`, stays below [`MOST_IN_USE`] and [`MOST_ALLOCATED`].
/// For fuzz targets, with [`Counting`] as the allocator.
///
/// # Panics
///
/// If it exceeds either limit.
pub fn assert_bounded(bytes: &[u8], mut decode: impl FnMut()) {
    let memory = measure(&mut decode);
    let within = |used: usize, most: f64| used as f64 <= most * bytes.len() as f64 + FREE as f64;
    let is_bounded = within(memory.peak, MOST_IN_USE) && within(memory.allocated, MOST_ALLOCATED);
    assert!(is_bounded, "{memory:?} for {} bytes", bytes.len());
}

impl Worst {
    /// Checks that no input exceeded [`MOST_IN_USE`] or [`MOST_ALLOCATED`].
    ///
    /// # Panics
    ///
    /// If an input exceeded either limit.
    pub fn assert_bounded(&self) {
        assert!(self.peak <= MOST_IN_USE, "{self}");
        assert!(self.allocated <= MOST_ALLOCATED, "{self}");
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} |",
            self.name, self.inputs, self.accepted, self.allocated, self.peak, self.nanoseconds
        )
    }
}

/// The header of a table of [`Worst`].
pub const HEAD: &str = "| decoder | inputs | accepted | allocated per byte | peak per byte | ns per byte |\n\
                        |---|---|---|---|---|---|";

/// The number of inputs to try in a test. It is higher if `GUIRA_LONG` is set.
#[must_use]
pub fn rounds() -> usize {
    match env::var_os("GUIRA_LONG") {
        Some(_) => 300_000,
        None => 3_000,
    }
}

/// The maximum costs of `rounds` inputs.
#[must_use]
pub fn search(target: &Target<'_>, measure: Measure, seed: u64, rounds: usize) -> Worst {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut worst = Worst {
        name: target.name.into(),
        ..Worst::default()
    };
    // The costliest inputs, with their costs.
    let mut kept: Vec<(f64, Vec<u8>)> = Vec::new();
    for round in 0..rounds {
        let bytes = match target.seeds.get(round) {
            Some(seed) => seed.clone(),
            None => {
                let any = &target.seeds[random.random_range(0..target.seeds.len())];
                let parent = match kept.is_empty() || random.random_ratio(1, 4) {
                    true => any,
                    false => &kept[random.random_range(0..kept.len())].1,
                };
                let mut bytes = parent.clone();
                for _ in 0..random.random_range(1..4) {
                    mutate(&mut bytes, any, &mut random);
                }
                bytes.truncate(LONGEST);
                if random.random_ratio(9, 10) {
                    (target.fix)(&mut bytes);
                }
                bytes
            }
        };
        let cost = worst.take(target, measure, &bytes);
        kept.push((cost, bytes));
        kept.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        kept.truncate(KEPT);
    }
    worst
}

impl Worst {
    /// Records an input, and returns its memory per byte.
    fn take(&mut self, target: &Target<'_>, measure: Measure, bytes: &[u8]) -> f64 {
        let (mut accepted, mut nanoseconds) = (false, 0);
        let memory = measure(&mut || {
            let begun = Instant::now();
            accepted = (target.decode)(bytes);
            nanoseconds = begun.elapsed().as_nanos();
        });
        let length = bytes.len().max(1) as f64;
        let of_byte = |bytes: usize| bytes.saturating_sub(FREE) as f64 / length;
        let (allocated, peak) = (of_byte(memory.allocated), of_byte(memory.peak));
        self.inputs += 1;
        self.accepted += usize::from(accepted);
        self.allocated = self.allocated.max(allocated);
        self.peak = self.peak.max(peak);
        let is_slow = |nanoseconds: u128| nanoseconds as f64 / length > self.nanoseconds;
        if bytes.len() >= TIMED && is_slow(nanoseconds) {
            // The thread may have been preempted, so the shortest of several times counts.
            for _ in 0..TIMES {
                let begun = Instant::now();
                (target.decode)(bytes);
                nanoseconds = nanoseconds.min(begun.elapsed().as_nanos());
            }
            self.nanoseconds = self.nanoseconds.max(nanoseconds as f64 / length);
        }
        allocated + peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    /// A decoder that trusts a length field, and a decoder that allocates for each pair of numbers.
    #[test]
    fn the_search_finds_what_costs_too_much() {
        let believes = |bytes: &[u8]| {
            let number = bytes
                .first_chunk::<8>()
                .map_or(0, |it| u64::from_le_bytes(*it));
            drop(vec![0_u8; number.min(1 << 24) as usize]);
            true
        };
        let repeats = |bytes: &[u8]| {
            for pair in bytes.as_chunks::<16>().0 {
                if pair[8..] == 1_u64.to_le_bytes() {
                    drop(vec![0_u8; 1 << 16]);
                }
            }
            true
        };
        let is_linear = |bytes: &[u8]| bytes.to_vec() == bytes;
        let target = |decode| Target {
            name: "a decoder",
            seeds: vec![vec![0; 200]],
            fix: fix_checksum,
            decode,
        };
        let costs = |decode| search(&target(decode), measure, 1, 2_000).allocated;
        assert!(costs(&believes) > 1_000.0);
        assert!(costs(&repeats) > 100.0);
        assert!(costs(&is_linear) < 1.01);
    }

    #[test]
    fn memory_is_counted() {
        let memory = measure(&mut || {
            drop(vec![1_u8; 1_000]);
            let mut bytes = vec![1_u8; 300];
            bytes.reserve_exact(500);
        });
        assert_eq!(
            memory,
            Memory {
                allocated: 1_800,
                peak: 1_000
            }
        );
    }
}

//! A filter built for n items holds n distinct items, whatever their hashes. This is tested for
//! every small n and for large ones, in every layout, with every method that inserts.
//!
//! `GUIRA_LONG=1` adds ten million items and many more seeds.

use crate::common::{filters::BITS, stress::is_long};
use guira::CuckooFilter;

fn filter(bits: u32, capacity: usize, seed: u64) -> CuckooFilter {
    let builder = CuckooFilter::builder()
        .capacity(capacity)
        .fingerprint_bits(bits);
    builder.seed(seed).build().expect("a filter")
}

fn one_by_one(filter: &CuckooFilter, items: &[u64]) -> usize {
    items
        .iter()
        .take_while(|&item| filter.insert(item).is_ok())
        .count()
}

/// An item that shares its class with another one is already present.
fn unique(filter: &CuckooFilter, items: &[u64]) -> usize {
    items
        .iter()
        .take_while(|&item| filter.insert_unique(item).is_ok())
        .count()
}

fn batch(filter: &CuckooFilter, items: &[u64]) -> usize {
    filter
        .insert_batch(items)
        .map_or_else(|error| error.index, |()| items.len())
}

/// A method that inserts items and returns how many fitted, and its name.
type Way = (&'static str, fn(&CuckooFilter, &[u64]) -> usize);

const WAYS: [Way; 3] = [
    ("insert", one_by_one),
    ("insert_unique", unique),
    ("insert_batch", batch),
];

fn all_fit(bits: u32, capacity: usize, seed: u64, (name, way): Way) -> Result<(), String> {
    let filter = filter(bits, capacity, seed);
    let items: Vec<u64> = (0..capacity as u64).collect();
    let fitted = way(&filter, &items);
    if fitted < capacity {
        let buckets = filter.buckets();
        return Err(format!(
            "{name}: {fitted} of {capacity} items fit, {bits} bits, {buckets} buckets, seed {seed}"
        ));
    }
    assert!(
        items.iter().all(|item| filter.contains(item)),
        "{name} lost an item"
    );
    Ok(())
}

/// Checks all methods in each layout for capacities, each with its number of seeds.
fn assert_all_fit(plan: impl Iterator<Item = (usize, u64)> + Clone) {
    let mut failures = Vec::new();
    for bits in BITS {
        for (capacity, seeds) in plan.clone() {
            for seed in 0..seeds {
                failures.extend(
                    WAYS.iter()
                        .filter_map(|&way| all_fit(bits, capacity, seed, way).err()),
                );
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures, such as {:#?}",
        failures.len(),
        &failures[..failures.len().min(40)]
    );
}

#[test]
fn every_small_capacity_holds() {
    let seeds = if is_long() { 10_000 } else { 60 };
    assert_all_fit((1..=200).map(|capacity| (capacity, seeds)));
}

#[test]
fn large_capacities_hold() {
    let mut plan = vec![(1_000, 20), (10_000, 4), (100_000, 2), (1_000_000, 1)];
    if is_long() {
        plan = vec![
            (1_000, 2_000),
            (10_000, 200),
            (100_000, 20),
            (1_000_000, 5),
            (10_000_000, 1),
        ];
    }
    assert_all_fit(plan.into_iter());
}

/// The filter holds its capacity, and not much more, so no memory is wasted.
#[test]
fn a_large_filter_is_nearly_full_at_its_capacity() {
    for (bits, load) in BITS.into_iter().zip([0.95, 0.94, 0.93, 0.87, 0.82]) {
        let filter = filter(bits, 1_000_000, 0);
        let slots = filter.buckets() * filter.bucket_slots();
        assert!(1e6 / slots as f64 > load, "{bits} bits: {slots} slots");
    }
}

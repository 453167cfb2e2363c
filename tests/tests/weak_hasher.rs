//! A hasher whose hashes are far from random fills a filter almost at once.

use guira::{CuckooFilter, InsertError};
use std::hash::{BuildHasherDefault, Hasher};

/// Returns a number as its own hash.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The low bits form the fingerprint, and the high bits select one of its pairs. The lower bucket
/// of small numbers is therefore always among the first ones, which fill up.
#[test]
fn not_half_of_1000_numbers_that_hash_to_themselves_fit() {
    let hasher = BuildHasherDefault::<Identity>::default();
    let builder = CuckooFilter::builder().capacity(1_000).hasher(hasher);
    let filter = builder.build().expect("a filter");
    let inserted = (0..1_000_u64).take_while(|item| filter.insert(item).is_ok());
    let inserted = inserted.count() as u64;
    assert!((8..500).contains(&inserted), "{inserted}");
    assert_eq!(filter.insert(&inserted), Err(InsertError::Full));
    assert!((0..inserted).all(|item| filter.contains(&item)));
}

/// Multiples of 2^15 have the same fingerprint, and small ones have the same pair.
#[test]
fn of_1000_multiples_that_hash_to_themselves_8_fit() {
    let hasher = BuildHasherDefault::<Identity>::default();
    let builder = CuckooFilter::builder().capacity(1_000).hasher(hasher);
    let filter = builder.build().expect("a filter");
    let items = (0..1_000_u64).map(|item| item << 15);
    let inserted = items.take_while(|item| filter.insert(item).is_ok());
    assert_eq!(inserted.count(), 8);
    assert_eq!(filter.count(&0_u64), 8);
}

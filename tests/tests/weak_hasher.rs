//! A hasher whose hashes are not as good as random fills a filter at once.

use guira::{CuckooFilter, InsertError};
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes a number to itself.
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

/// The high bits choose the bucket and the low half makes the fingerprint, so small numbers
/// are all one class: of 1 000 as many fit as of one item.
#[test]
fn of_1000_numbers_that_hash_to_themselves_8_fit() {
    let hasher = BuildHasherDefault::<Identity>::default();
    let builder = CuckooFilter::builder().capacity(1_000).hasher(hasher);
    let filter = builder.build().expect("a filter");
    let inserted = (0..1_000_u64).take_while(|item| filter.insert(item).is_ok());
    assert_eq!(inserted.count(), 8);
    assert_eq!(filter.insert(&8_u64), Err(InsertError::Full));
    assert_eq!(filter.count(&0_u64), 8);
    assert!((0..1_000_u64).all(|item| filter.contains(&item)));
}

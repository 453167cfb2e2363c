//! Tiny filters, and hashes whose classes are known.

use guira::{CuckooFilter, SeededState};
use std::hash::BuildHasher;

/// The fingerprint sizes, each of which stands for a layout.
pub(crate) const BITS: [u32; 5] = [10, 12, 15, 20, 30];

/// A filter of `buckets` buckets, or of the next larger number that the builder
/// makes. Empty, so that its capacity does not matter to the tests that fill it
/// to the brim.
pub(crate) fn tiny(bits: u32, buckets: usize) -> CuckooFilter {
    (0..)
        .map(|capacity| {
            let builder = CuckooFilter::builder()
                .capacity(capacity)
                .fingerprint_bits(bits);
            builder.seed(0).build().expect("a small filter")
        })
        .find(|filter| filter.buckets() >= buckets)
        .expect("more capacity needs more buckets")
}

/// Slots of the whole filter.
pub(crate) fn slots(filter: &CuckooFilter) -> usize {
    filter.buckets() * filter.bucket_slots()
}

/// `count` hashes of which no two are of one class in `filter`, which is empty.
///
/// In an empty filter `contains` tells whether two hashes are of one class: the
/// other one's copy is all that it can find.
pub(crate) fn classes(filter: &CuckooFilter, count: usize, seed: u64) -> Vec<u64> {
    assert!(filter.is_empty());
    let hasher = SeededState::new(seed);
    let mut classes: Vec<u64> = Vec::with_capacity(count);
    for hash in (0_u64..).map(|n| hasher.hash_one(n)) {
        if classes.len() == count {
            break;
        }
        filter.insert_hash(hash).expect("an empty filter has room");
        if !classes.iter().any(|&class| filter.contains_hash(class)) {
            classes.push(hash);
        }
        assert!(filter.remove_hash(hash));
    }
    classes
}

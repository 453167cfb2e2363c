//! Hashes whose classes are known.

use super::distinct::distinct;
use guira::{CuckooFilter, SeededState};
use std::hash::BuildHasher;

/// `count` hashes of different classes in `filter`, which must be empty.
pub(crate) fn classes(filter: &CuckooFilter, count: usize, seed: u64) -> Vec<u64> {
    let hasher = SeededState::new(seed);
    distinct(filter, count, (0_u64..).map(|n| hasher.hash_one(n)))
}

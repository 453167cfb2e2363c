//! guira's operations on many keys at once, and on hashes.

use crate::{
    keys::{Key, Walk},
    peers::Guira,
};
use std::{hash::BuildHasher, ops::Range};

/// The largest batch.
const MOST: usize = 1024;

/// Lets `each` answer for `steps` keys, `size` at a time; how many of the answers were yes.
#[inline(always)]
fn in_batches<K: Key + Copy>(
    mut walk: Walk,
    steps: u64,
    size: usize,
    each: impl Fn(&[K], &mut [bool]),
) -> u64 {
    let (mut keys, mut found) = ([K::nth(0); MOST], [false; MOST]);
    let (mut left, mut hits) = (steps, 0);
    while left > 0 {
        let count = left.min(size as u64);
        let (keys, found) = (&mut keys[..count as usize], &mut found[..count as usize]);
        keys.fill_with(|| K::nth(walk.next_number()));
        each(keys, found);
        hits += found.iter().map(|&found| u64::from(found)).sum::<u64>();
        left -= count;
    }
    hits
}

impl Guira {
    /// Looks up `steps` keys, `size` at a time; how many were found.
    #[must_use]
    pub fn lookup_in_batches<K: Key + Copy>(&self, walk: Walk, steps: u64, size: usize) -> u64 {
        in_batches(walk, steps, size, |keys: &[K], found| {
            self.0.contains_batch(keys, found);
        })
    }

    /// Looks up `steps` keys that an iterator makes; how many were found.
    #[must_use]
    pub fn lookup_by_iterator<K: Key>(&self, mut walk: Walk, steps: u64) -> u64 {
        let keys = (0..steps).map(|_| K::nth(walk.next_number()));
        self.0.contains_iter(keys).map(u64::from).sum()
    }

    /// Inserts the keys with these numbers, `size` at a time; how many were
    /// accepted before the first refusal of each batch.
    #[must_use]
    pub fn insert_in_batches<K: Key + Copy>(&self, numbers: Range<u64>, size: usize) -> u64 {
        let mut keys = [K::nth(0); MOST];
        let mut accepted = 0;
        for first in numbers.clone().step_by(size) {
            let count = (numbers.end - first).min(size as u64);
            for (key, number) in keys.iter_mut().zip(first..first + count) {
                *key = K::nth(number);
            }
            accepted += match self.0.insert_batch(&keys[..count as usize]) {
                Ok(()) => count,
                Err(error) => error.index as u64,
            };
        }
        accepted
    }

    /// Removes `steps` keys, `size` at a time; how many were found.
    #[must_use]
    pub fn remove_in_batches<K: Key + Copy>(&self, walk: Walk, steps: u64, size: usize) -> u64 {
        in_batches(walk, steps, size, |keys: &[K], found| {
            self.0.remove_batch(keys, found);
        })
    }

    /// Looks up `steps` hashes; how many were found. The hash is the cheap one
    /// that makes the keys, so the hasher's share is what this saves.
    #[must_use]
    pub fn lookup_hashes(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps)
            .map(|_| u64::from(self.0.contains_hash(u64::nth(walk.next_number()))))
            .sum()
    }

    /// Inserts the hashes with these numbers; how many were accepted.
    #[must_use]
    pub fn insert_hashes(&self, numbers: Range<u64>) -> u64 {
        numbers
            .map(|number| u64::from(self.0.insert_hash(u64::nth(number)).is_ok()))
            .sum()
    }

    /// Only hashes the keys that a lookup would hash.
    #[must_use]
    pub fn hash_only<K: Key>(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps).fold(0, |sum: u64, _| {
            sum.wrapping_add(self.0.hasher().hash_one(K::nth(walk.next_number())))
        })
    }
}

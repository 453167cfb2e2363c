//! guira's operations on many keys at once, and on hashes.

use crate::{
    keys::{Key, Walk},
    peers::Guira,
};
use std::{hash::BuildHasher, ops::Range};

/// The largest batch.
const MOST: usize = 256;

impl Guira {
    /// Looks up `steps` keys, `size` at a time; how many were found.
    #[must_use]
    pub fn lookup_in_batches<K: Key + Copy>(&self, mut walk: Walk, steps: u64, size: usize) -> u64 {
        let (mut keys, mut found) = ([K::nth(0); MOST], [false; MOST]);
        let (keys, found) = (&mut keys[..size], &mut found[..size]);
        let mut hits = 0;
        for _ in 0..steps / size as u64 {
            keys.fill_with(|| K::nth(walk.next_number()));
            self.0.contains_batch(keys, found);
            hits += found.iter().map(|&found| u64::from(found)).sum::<u64>();
        }
        hits
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
    pub fn remove_in_batches<K: Key + Copy>(&self, mut walk: Walk, steps: u64, size: usize) -> u64 {
        let (mut keys, mut found) = ([K::nth(0); MOST], [false; MOST]);
        let (keys, found) = (&mut keys[..size], &mut found[..size]);
        let mut hits = 0;
        for _ in 0..steps / size as u64 {
            keys.fill_with(|| K::nth(walk.next_number()));
            self.0.remove_batch(keys, found);
            hits += found.iter().map(|&found| u64::from(found)).sum::<u64>();
        }
        hits
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

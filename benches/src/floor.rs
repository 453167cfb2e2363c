//! What the machine allows: the memory accesses of an operation without the rest.

use crate::keys::{Key, Walk};
use std::sync::atomic::{AtomicU64, Ordering};

/// A table of words, accessed at random.
#[derive(Debug)]
pub struct Floor {
    words: Vec<AtomicU64>,
}

impl Floor {
    /// A table of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        // Not zero, so that each page is memory of its own.
        Self {
            words: (0..bytes as u64 / 8)
                .map(|word| AtomicU64::new(word | 1))
                .collect(),
        }
    }

    #[inline(always)]
    fn at(&self, hash: u64) -> &AtomicU64 {
        &self.words[((u128::from(hash) * self.words.len() as u128) >> 64) as usize]
    }

    /// `steps` times: a key of the walk, and two independent loads.
    #[must_use]
    pub fn two_loads(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps).fold(0, |sum: u64, _| {
            let hash = u64::nth(walk.next_number());
            let first = self.at(hash).load(Ordering::Acquire);
            let second = self
                .at(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .load(Ordering::Acquire);
            sum.wrapping_add(first & second)
        })
    }

    /// `steps` times: a key of the walk, a load, and a compare-exchange of the word.
    #[must_use]
    pub fn load_and_exchange(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps).fold(0, |done, _| {
            let word = self.at(u64::nth(walk.next_number()));
            let seen = word.load(Ordering::Acquire);
            let exchanged =
                word.compare_exchange(seen, seen ^ 2, Ordering::AcqRel, Ordering::Relaxed);
            done + u64::from(exchanged.is_ok())
        })
    }
}

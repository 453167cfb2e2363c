//! What only guira has, and what the machine allows: contestants with loops of their own.

use crate::{
    keys::{Walk, mix},
    peer::Peer,
    peers::peer,
};
use guira::{CuckooFilter, Hashed};
use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

/// The largest batch.
const MOST: usize = 1024;

/// How keys are given to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// This number in a call; at most 1024.
    Batches(usize),
    /// Lookups by [`CuckooFilter::contains_iter`].
    Iterator,
    /// By hash. The hash is the cheap one that makes the keys, so this saves the hasher's share.
    Hashes,
}

/// guira, used in one of these ways.
#[derive(Debug)]
pub struct Special(pub CuckooFilter, pub How);

/// Lets `each` answer for the keys, `size` at a time; how many of the answers were yes.
#[inline(always)]
fn in_batches(
    mut keys: impl Iterator<Item = u64>,
    size: usize,
    each: impl Fn(&[u64], &mut [bool]),
) -> u64 {
    let (mut batch, mut found) = ([0; MOST], [false; MOST]);
    let mut hits = 0;
    loop {
        let mut count = 0;
        for (place, key) in batch[..size].iter_mut().zip(&mut keys) {
            *place = key;
            count += 1;
        }
        if count == 0 {
            return hits;
        }
        each(&batch[..count], &mut found[..count]);
        hits += found[..count].iter().map(|&it| u64::from(it)).sum::<u64>();
    }
}

impl Peer for Special {
    fn insert(&self, key: &u64) -> bool {
        self.0.insert(key).is_ok()
    }

    fn contains(&self, key: &u64) -> bool {
        self.0.contains(key)
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }

    /// Of a batch, those before the first refusal count.
    fn insert_all(&self, numbers: Range<u64>) -> u64 {
        let (filter, keys) = (&self.0, numbers.map(mix));
        match self.1 {
            How::Batches(size) => in_batches(keys, size, |keys, done| {
                let inserted = filter.insert_batch(keys);
                let accepted = inserted.map_or_else(|error| error.index, |()| keys.len());
                done[..accepted].fill(true);
                done[accepted..].fill(false);
            }),
            How::Iterator => keys.filter(|key| filter.insert(key).is_ok()).count() as u64,
            How::Hashes => keys
                .filter(|&it| filter.insert(&Hashed(it)).is_ok())
                .count() as u64,
        }
    }

    fn lookup(&self, walk: Walk, steps: u64) -> u64 {
        let (filter, keys) = (&self.0, walk.take(steps as usize));
        match self.1 {
            How::Batches(size) => in_batches(keys, size, |keys, found| {
                filter.contains_batch(keys, found);
            }),
            How::Iterator => filter.contains_iter(keys).map(u64::from).sum(),
            How::Hashes => keys.filter(|&it| filter.contains(&Hashed(it))).count() as u64,
        }
    }

    fn remove_all(&self, walk: Walk, steps: u64) -> u64 {
        let (filter, keys) = (&self.0, walk.take(steps as usize));
        match self.1 {
            How::Batches(size) => in_batches(keys, size, |keys, found| {
                filter.remove_batch(keys, found);
            }),
            How::Iterator => keys.filter(|key| filter.remove(key)).count() as u64,
            How::Hashes => keys.filter(|&it| filter.remove(&Hashed(it))).count() as u64,
        }
    }
}

/// The memory accesses of an operation without the rest: a table of words, accessed at random.
#[derive(Debug)]
pub(crate) struct Floor(Vec<AtomicU64>);

impl Floor {
    /// A table of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        // Not zero, so that each page is memory of its own.
        let words = 0..bytes as u64 / 8;
        Self(words.map(|word| AtomicU64::new(word | 1)).collect())
    }

    #[inline(always)]
    fn at(&self, hash: u64) -> &AtomicU64 {
        &self.0[((u128::from(hash) * self.0.len() as u128) >> 64) as usize]
    }

    /// A load, and a compare-exchange of the word.
    #[inline(always)]
    fn exchange(&self, hash: u64) -> bool {
        let word = self.at(hash);
        let seen = word.load(Ordering::Acquire);
        let exchanged = word.compare_exchange(seen, seen ^ 2, Ordering::AcqRel, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// Two independent loads.
    #[inline(always)]
    fn two_loads(&self, hash: u64) -> bool {
        let first = self.at(hash).load(Ordering::Acquire);
        let second = self.at(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        first & second.load(Ordering::Acquire) & 1 == 1
    }
}

peer!(Floor, |it, key|
    insert it.exchange(*key),
    contains it.two_loads(*key),
    remove it.exchange(*key),
    bytes it.0.len() * 8);

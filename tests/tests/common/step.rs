//! One operation of a thread, and its result.

use super::{
    distinct::distinct,
    event::{Answer, Event},
};
use guira::{CuckooFilter, Hashed, InsertError};
use rand::{RngExt, rngs::SmallRng};
use std::{hash::BuildHasher, time::Instant};

/// Keys of different classes, and their hashes.
pub(crate) struct Keys {
    pub(crate) keys: Vec<u64>,
    pub(crate) hashes: Vec<u64>,
}

impl Keys {
    pub(crate) fn new(filter: &CuckooFilter, count: usize, seed: u64) -> Self {
        let (hasher, all) = (filter.hasher(), seed << 32..);
        let hashes = distinct(filter, count, all.clone().map(|key| hasher.hash_one(key)));
        let known = |key: &u64| hashes.contains(&hasher.hash_one(key));
        let keys = all.filter(known).take(count).collect();
        Self { keys, hashes }
    }
}

/// True for the errors of a full filter, and of one whose copies are being moved.
pub(crate) fn finds_no_room(error: InsertError) -> bool {
    matches!(
        error,
        InsertError::Full
            | InsertError::BlockedByScan
            | InsertError::Contended
            | InsertError::TooManyCopies
    )
}

/// Performs one random operation on a class that all threads share, and records its times.
pub(crate) fn step(
    filter: &CuckooFilter,
    keys: &Keys,
    random: &mut SmallRng,
    start: Instant,
) -> Event {
    let now = || start.elapsed().as_nanos() as u64;
    let class = random.random_range(0..keys.keys.len());
    let hash = keys.hashes[class];
    // Classes with an even number never get a second copy.
    let unique = class % 2 == 0;
    let operation = random.random_range(0..100);
    let invoked = now();
    let answer = match operation {
        0..30 => Answer::Contains(filter.contains(&Hashed(hash))),
        30..40 => Answer::Count(filter.count(&Hashed(hash))),
        40..70 if unique => match filter.insert_unique(&Hashed(hash)) {
            Ok(added) => Answer::InsertUnique(Some(added)),
            Err(error) if finds_no_room(error) => Answer::InsertUnique(None),
            Err(error) => panic!("{error}"),
        },
        40..70 => Answer::Insert(filter.insert(&Hashed(hash)).is_ok()),
        _ => Answer::Remove(filter.remove(&Hashed(hash))),
    };
    Event {
        class,
        answer,
        invoked,
        returned: now(),
    }
}

//! One batch of a thread, and its results.

use super::{
    event::{Answer, Event},
    step::Keys,
};
use guira::CuckooFilter;
use rand::{RngExt, rngs::SmallRng};
use std::time::Instant;

/// The number of items in a batch: one group of items that are looked up together, and a part of
/// another one.
const BATCH: usize = 40;

/// Performs one random operation on many classes. Records it as one operation for each item, all at
/// the time of the batch.
pub(crate) fn batch(
    filter: &CuckooFilter,
    keys: &Keys,
    random: &mut SmallRng,
    start: Instant,
) -> impl Iterator<Item = Event> {
    let now = || start.elapsed().as_nanos() as u64;
    let operation = random.random_range(0..3);
    let inserts = operation == 0;
    let classes: Vec<usize> = (0..BATCH)
        .map(|_| random.random_range(0..keys.keys.len()))
        // Classes with an even number never get a second copy.
        .map(|class| if inserts { class | 1 } else { class })
        .filter(|&class| class < keys.keys.len())
        .collect();
    let items: Vec<u64> = classes.iter().map(|&class| keys.keys[class]).collect();
    let mut found = vec![false; items.len()];
    let invoked = now();
    let answer: fn(bool) -> Answer = match operation {
        0 => {
            let inserted = match filter.insert_batch(&items) {
                Ok(()) => items.len(),
                Err(error) => error.index,
            };
            // The next item was refused, and the batch did not try the others.
            found[..inserted].fill(true);
            Answer::Insert
        }
        1 => {
            filter.contains_batch(&items, &mut found);
            Answer::Contains
        }
        _ => {
            filter.remove_batch(&items, &mut found);
            Answer::Remove
        }
    };
    let returned = now();
    classes
        .into_iter()
        .zip(found)
        .map(move |(class, found)| Event {
            class,
            answer: answer(found),
            invoked,
            returned,
        })
}

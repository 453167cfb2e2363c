//! What remembers the keys of a window.

use crate::keys::{Key, Walk};
use std::ops::Range;

/// The answer to "is this key new?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is, and is remembered from now on.
    First,
    /// It came before.
    Before,
    /// It cannot be remembered.
    Refused,
}

/// A set whose items expire; its time advances in steps.
///
/// The loops are provided methods, so that each contestant has its own copy of them.
pub trait Window: Send + Sync {
    /// Remembers the key if it is new.
    fn first_seen(&self, key: u64) -> Seen;

    /// True if the key is remembered.
    fn contains(&self, key: u64) -> bool;

    /// Begins the next step.
    fn step(&self);

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Asks for the keys with these numbers, 64 at most. For each answer (first, before, refused)
    /// the keys that had it, as bits.
    fn see_all(&self, numbers: Range<u64>) -> [u64; 3] {
        let mut answers = [0; 3];
        for (place, number) in numbers.enumerate() {
            answers[self.first_seen(u64::nth(number)) as usize] |= 1 << place;
        }
        answers
    }

    /// Looks up `steps` keys, whose numbers are above `first`; how many were found.
    fn lookup(&self, mut walk: Walk, first: u64, steps: u64) -> u64 {
        (0..steps)
            .map(|_| u64::from(self.contains(u64::nth(first + walk.next_number()))))
            .sum()
    }
}

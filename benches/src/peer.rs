//! What all contestants have in common: three operations, and plain loops over them.

use crate::keys::{Key, Walk};
use std::ops::Range;

/// The three operations, and loops over them.
///
/// The loops are provided methods, so that each peer has its own copy of them
/// with the operations inlined; only the call of a whole loop is dynamic.
pub trait Peer<K: Key>: Send + Sync {
    /// Adds the key; false if the peer says that it has not.
    fn insert(&self, key: &K) -> bool;

    /// True if the peer says that the key is in.
    fn contains(&self, key: &K) -> bool;

    /// Takes the key out; false if the peer says that it was not in.
    fn remove(&self, key: &K) -> bool;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Inserts the keys with these numbers; how many were accepted.
    fn insert_all(&self, numbers: Range<u64>) -> u64 {
        numbers
            .map(|number| u64::from(self.insert(&K::nth(number))))
            .sum()
    }

    /// Looks up `steps` keys; how many were found.
    fn lookup(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps)
            .map(|_| u64::from(self.contains(&K::nth(walk.next_number()))))
            .sum()
    }

    /// Removes `steps` keys; how many were found.
    fn remove_all(&self, mut walk: Walk, steps: u64) -> u64 {
        (0..steps)
            .map(|_| u64::from(self.remove(&K::nth(walk.next_number()))))
            .sum()
    }

    /// How many of the keys with these numbers the peer denies.
    fn missing(&self, numbers: Range<u64>) -> u64 {
        numbers
            .map(|number| u64::from(!self.contains(&K::nth(number))))
            .sum()
    }
}

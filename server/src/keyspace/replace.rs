//! Replaces all keys by the keys of another server.

use super::{Entry, FREED_TOGETHER, Keyspace, lock, now, to_be_charged};
use guira_commands::Filter;
use papaya::Guard;
use std::{collections::HashSet, sync::Arc};

impl Keyspace {
    /// Gives the keys of `filters` these filters, and removes all other keys, which it returns. Each
    /// filter comes with the time at which its key expires, if it does.
    ///
    /// Each key changes atomically, and one after the other. Keys that other threads add during the
    /// call may be removed.
    pub fn replace(&self, filters: Vec<(Box<[u8]>, Filter, Option<i64>)>) -> HashSet<Box<[u8]>> {
        let now = now();
        let is_valid = |at: &Option<i64>| at.is_none_or(|at| at > now);
        let mut kept = HashSet::with_capacity(filters.len());
        let mut filters = filters
            .into_iter()
            .filter(|(.., deadline)| is_valid(deadline))
            .peekable();
        while filters.peek().is_some() {
            let guard = self.map.guard();
            let mut deadlines = lock(&self.deadlines);
            for (key, filter, deadline) in filters.by_ref().take(FREED_TOGETHER) {
                let (filter, bytes): (Arc<Entry>, usize) = to_be_charged(&key, filter.into());
                self.add(bytes);
                if let Some(replaced) = self.map.insert(&key, filter.clone(), &guard) {
                    self.discharge(&key, replaced, &mut deadlines);
                }
                self.ticks.add(&filter);
                if deadline.is_some() {
                    self.set_deadline(&key, &filter, deadline, &mut deadlines);
                }
                kept.insert(key);
            }
            drop(deadlines);
            guard.flush();
        }
        self.remove_except(&kept)
    }

    fn remove_except(&self, kept: &HashSet<Box<[u8]>>) -> HashSet<Box<[u8]>> {
        let mut removed = HashSet::new();
        self.in_short_steps(|mut keys| {
            keys.retain(|key| !kept.contains(key));
            self.remove_all(keys.iter());
            removed.extend(keys);
        });
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guira_commands::{Growth, Options};

    fn filter(item: &[u8]) -> Filter {
        let options = Options {
            capacity: 10,
            expansion: 0,
            ..Options::default()
        };
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let filter = Filter::build(options, growth).unwrap();
        filter.insert(item, || false).unwrap();
        filter
    }

    #[test]
    fn the_keys_are_those_that_were_given() {
        let keyspace = Keyspace::new(usize::MAX);
        let key = |number: u32| Box::from(number.to_be_bytes());
        let given = |numbers: std::ops::Range<u32>, item: &[u8], deadline| {
            let one = |number| (key(number), filter(item), deadline);
            numbers.map(one).collect::<Vec<_>>()
        };
        let later = Some(now() + 3_600_000);
        assert!(keyspace.replace(given(0..200, b"a", later)).is_empty());
        assert_eq!((keyspace.len(), keyspace.expiring()), (200, 200));
        let removed = keyspace.replace(given(100..300, b"b", None));
        assert_eq!(removed, (0..100).map(key).collect());
        assert_eq!((keyspace.len(), keyspace.expiring()), (200, 0));
        let of_100 = keyspace.get(&key(100)).unwrap();
        assert!(of_100.contains(b"b") && of_100.deadline().is_none());
        // A key that has expired since.
        keyspace.replace(given(0..1, b"c", Some(1)));
        assert_eq!((keyspace.len(), keyspace.used()), (0, 0));
    }
}

//! Listings of the keys, while other threads change them.

use super::{Entry, Keyspace, Step, is_kept};
use std::{
    collections::{BTreeSet, TryReserveError},
    sync::{Arc, PoisonError, Weak},
};

impl Keyspace {
    /// The keys and their filters. Concurrent changes may or may not be included. Each filter is
    /// looked up when the iterator reaches it, so a filter that is deleted before is not kept alive. A
    /// filter that is renamed before is listed under its old name.
    pub fn entries(&self) -> impl Iterator<Item = (Box<[u8]>, Arc<Entry>)> {
        let listed: Vec<_> = {
            let _names = self.names.read().unwrap_or_else(PoisonError::into_inner);
            let guard = self.map.guard();
            let all = self.map.keys(&guard).collect::<BTreeSet<_>>().into_iter();
            all.filter_map(|key| Some((key.into(), Arc::downgrade(self.map.get(key, &guard)?))))
                .collect()
        };
        listed
            .into_iter()
            .filter_map(|(key, filter): (Box<[u8]>, Weak<Entry>)| {
                let renamed = || {
                    filter
                        .upgrade()
                        .filter(|it| is_kept(it) && !it.has_expired())
                };
                let filter = self.get(&key).or_else(renamed)?;
                Some((key, filter))
            })
    }

    /// The keys. Concurrent changes may or may not be included.
    ///
    /// # Errors
    ///
    /// There is no memory for the list.
    pub fn keys(&self) -> Result<Vec<Box<[u8]>>, TryReserveError> {
        let guard = self.map.guard();
        let mut listed: Vec<&[u8]> = Vec::new();
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        for key in self.map.keys(&guard) {
            listed.try_reserve(1)?;
            listed.push(key);
        }
        drop(names);
        // A key that is deleted and created again during the listing can occur twice.
        listed.sort_unstable();
        listed.dedup();
        let mut keys = Vec::new();
        keys.try_reserve_exact(listed.len())?;
        for key in listed {
            let mut copy = Vec::new();
            copy.try_reserve_exact(key.len())?;
            copy.extend_from_slice(key);
            keys.push(copy.into_boxed_slice());
        }
        Ok(keys)
    }

    /// Some keys, `count` or a few more or less, from `cursor` on, which is 0 at the beginning.
    ///
    /// Every key that is there from the first step to the last is in one of them, whatever happens
    /// to others.
    #[must_use]
    pub fn scan(&self, cursor: u64, count: usize) -> Step {
        self.map.scan(cursor, count.max(1))
    }
}

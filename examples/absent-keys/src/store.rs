//! The database, and the filter that guards it.
//!
//! # Why no committed key is ever missed
//!
//! The filter is a multiset. At every moment, it holds at least one copy of each key in the
//! database:
//!
//! - A PUT of a new key inserts the copy *before* it commits. So there is no moment at which the
//!   key is committed and the filter reports it absent.
//! - A DELETE removes the copy *after* it has committed. So the filter reports the key as present
//!   until the database no longer has it.
//! - Between the commit of a DELETE and its removal from the filter, a PUT of the same key may run.
//!   It does not find the key in the database and inserts another copy, so there are two for a
//!   moment. The DELETE then removes one of them, and one is left for the present key.
//!
//! The last case is why this is [`CuckooFilter::insert`] and not `insert_unique`. The latter would
//! find the copy that is about to be removed, add none, and leave a committed key without a copy.
//!
//! The database decides which PUT is the first of its key, and which DELETE removed it. Its write
//! transactions run one at a time, so for each key they alternate: one copy is added, one is
//! removed. A PUT that overwrites a key adds none. A DELETE of an absent key must not remove any,
//! because the copy could belong to another key with the same fingerprint.
//!
//! A pair of buckets has room for only a few copies of one key. If that many DELETEs of one key are
//! paused between commit and removal, a PUT is refused as if the filter were full, and nothing is
//! lost.
//!
//! If it is unknown whether a commit took effect, the copy stays. One copy too many costs an
//! unnecessary lookup; one too few would lose an item.
//!
//! Absent keys that the filter reports as present are remembered by `false_positives`, which explains why
//! no committed key is among them.

#[cfg(test)]
mod tests;

use crate::false_positives::FalsePositives;
use guira::{BuildError, CuckooFilter};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use serde::Serialize;
use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};
use thiserror::Error;

const ITEMS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("items");

pub(crate) struct Store {
    database: Database,
    filter: CuckooFilter,
    known: FalsePositives,
    // Relaxed throughout: these are counters, which order nothing.
    database_reads: AtomicU64,
    reads_saved: AtomicU64,
    false_positives: AtomicU64,
    repeats_saved: AtomicU64,
}

/// The effect of a PUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    Created,
    Overwritten,
    /// Nothing was stored: the filter has no room for another key.
    FilterFull,
}

#[derive(Debug, Error)]
pub(crate) enum OpenError {
    #[error("cannot open the database: {0}")]
    Database(redb::Error),
    #[error("cannot make the filter: {0}")]
    Filter(BuildError),
    #[error("the database holds {items} items, more than --capacity {capacity} has room for")]
    Capacity { items: u64, capacity: usize },
}

impl From<redb::Error> for OpenError {
    fn from(error: redb::Error) -> Self {
        Self::Database(error)
    }
}

impl From<BuildError> for OpenError {
    fn from(error: BuildError) -> Self {
        Self::Filter(error)
    }
}

/// The response to GET /stats.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    /// The number of items in the database.
    items: u64,
    /// Lookups by GET and DELETE that reached the database.
    database_reads: u64,
    /// Lookups that the filter answered, because the key was absent.
    reads_saved: u64,
    /// Lookups that reached the database for an absent key. A key that was being stored or deleted
    /// at that moment counts, too.
    false_positives: u64,
    /// The keys of such lookups that are remembered.
    known_false_positives: usize,
    /// Lookups of these keys, which did not reach the database.
    repeats_saved: u64,
    filter: FilterStats,
}

#[derive(Debug, Serialize)]
struct FilterStats {
    items: usize,
    capacity: usize,
    load_factor: f64,
    bytes: usize,
    false_positive_rate: f64,
    relocations: u64,
    longest_path: u64,
    failed_inserts: u64,
    retried_lookups: u64,
    conservative_lookups: u64,
}

impl Store {
    /// Opens the database at `path`, and fills a filter with its keys.
    pub(crate) fn open(path: &Path, capacity: usize) -> Result<Self, OpenError> {
        Self::new(Database::create(path).map_err(redb::Error::from)?, capacity)
    }

    fn new(database: Database, capacity: usize) -> Result<Self, OpenError> {
        let filter = CuckooFilter::builder().capacity(capacity).build()?;
        let store = Self {
            database,
            filter,
            known: FalsePositives::new(),
            database_reads: AtomicU64::new(0),
            reads_saved: AtomicU64::new(0),
            false_positives: AtomicU64::new(0),
            repeats_saved: AtomicU64::new(0),
        };
        if store.fill()? {
            Ok(store)
        } else {
            Err(OpenError::Capacity {
                items: store.items()?,
                capacity,
            })
        }
    }

    /// Inserts each key of the database. False if the filter has no room.
    fn fill(&self) -> Result<bool, redb::Error> {
        let transaction = self.database.begin_write()?;
        // Creates the table if it does not exist, so that readers can rely on it.
        let table = transaction.open_table(ITEMS)?;
        for item in table.iter()? {
            if self.filter.insert(item?.0.value()).is_err() {
                return Ok(false);
            }
        }
        drop(table);
        transaction.commit()?;
        Ok(true)
    }

    /// False if the database does not contain `key`, which saves the lookup. Locks are held for a few
    /// instructions at most, so async code may call it.
    pub(crate) fn may_hold(&self, key: &str) -> bool {
        if !self.filter.contains(key) {
            self.reads_saved.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let is_known = self.known.contains(key);
        if is_known {
            self.repeats_saved.fetch_add(1, Ordering::Relaxed);
        }
        !is_known
    }

    /// The value of a key that may be present. Waits for the disk.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, redb::Error> {
        // This happens before the read: see `false_positives`.
        let lookup = self.known.begin_lookup(key);
        let table = self.database.begin_read()?.open_table(ITEMS)?;
        let value = table.get(key)?.map(|value| value.value().to_vec());
        self.count_read(value.is_some());
        if value.is_none() {
            self.known.add(lookup, key);
        }
        Ok(value)
    }

    /// Stores `value`. Waits for other writers, and for the disk.
    pub(crate) fn put(&self, key: &str, value: &[u8]) -> Result<Put, redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut table = transaction.open_table(ITEMS)?;
        let is_new = table.insert(key, value)?.is_none();
        drop(table);
        // This happens before the commit: see above.
        if is_new && self.filter.insert(key).is_err() {
            transaction.abort()?;
            return Ok(Put::FilterFull);
        }
        // It ends after the commit, also if that fails.
        let _insert = is_new.then(|| self.known.begin_insert(key));
        transaction.commit()?;
        Ok(if is_new {
            Put::Created
        } else {
            Put::Overwritten
        })
    }

    /// Deletes a key that may be present. False if the database did not contain it. Waits for other
    /// writers, and for the disk.
    pub(crate) fn delete(&self, key: &str) -> Result<bool, redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut table = transaction.open_table(ITEMS)?;
        let was_held = table.remove(key)?.is_some();
        drop(table);
        self.count_read(was_held);
        if !was_held {
            transaction.abort()?;
            return Ok(false);
        }
        transaction.commit()?;
        // This happens after the commit: see above.
        let removed = self.filter.remove(key);
        debug_assert!(removed, "a committed key has a copy");
        Ok(true)
    }

    fn count_read(&self, found: bool) {
        self.database_reads.fetch_add(1, Ordering::Relaxed);
        if !found {
            self.false_positives.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn items(&self) -> Result<u64, redb::Error> {
        Ok(self.database.begin_read()?.open_table(ITEMS)?.len()?)
    }

    /// Waits for the disk.
    pub(crate) fn stats(&self) -> Result<Stats, redb::Error> {
        let filter = &self.filter;
        let stats = filter.stats();
        Ok(Stats {
            items: self.items()?,
            database_reads: self.database_reads.load(Ordering::Relaxed),
            reads_saved: self.reads_saved.load(Ordering::Relaxed),
            false_positives: self.false_positives.load(Ordering::Relaxed),
            known_false_positives: self.known.len(),
            repeats_saved: self.repeats_saved.load(Ordering::Relaxed),
            filter: FilterStats {
                items: stats.items,
                capacity: filter.capacity(),
                load_factor: stats.load_factor,
                bytes: filter.memory_usage(),
                false_positive_rate: filter.false_positive_rate(),
                relocations: stats.relocations,
                longest_path: stats.longest_path,
                failed_inserts: stats.failed_inserts,
                retried_lookups: stats.retried_lookups,
                conservative_lookups: stats.conservative_lookups,
            },
        })
    }
}

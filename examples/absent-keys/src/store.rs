//! The database, and the filter that guards it.
//!
//! # Why no committed key is ever missed
//!
//! The filter is a multiset, and it holds at least one copy of each key that
//! the database holds, at every moment:
//!
//! - A PUT of a new key inserts the copy *before* it commits. So there is no
//!   moment at which the key is committed and the filter says no.
//! - A DELETE takes the copy out *after* it has committed. So until the key is
//!   gone from the database, the filter says yes.
//! - Between the commit of a DELETE and its removal from the filter, a PUT of
//!   the same key may come in. It sees no such key in the database and inserts
//!   a copy of its own; for that moment there are two. The DELETE then takes
//!   out one, no matter which, and one is left for the key that is there.
//!
//! The last case is why this is [`CuckooFilter::insert`] and not `insert_unique`. The latter would
//! find the copy about to be taken out, add none, and leave a committed key without a copy.
//!
//! Which PUT is the first of its key, and which DELETE the one that removed it,
//! is for the database to say. Its write transactions run one at a time, so for
//! each key they alternate: one copy in, one copy out. A PUT that overwrites a
//! key adds none; a DELETE of an absent key must take none out, as it could
//! belong to another key with the same fingerprint.
//!
//! A bucket pair has room for a few copies of one key only. Should that many
//! DELETEs of one key be stopped between commit and removal, a PUT is refused
//! as if the filter were full, and nothing is lost.
//!
//! Where it is not known whether a commit took effect, the copy stays. One too
//! many costs a lookup in vain; one too few would lose an item.

#[cfg(test)]
mod tests;

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
    // Relaxed throughout: they count, and order nothing.
    database_reads: AtomicU64,
    reads_saved: AtomicU64,
    false_positives: AtomicU64,
}

/// What a PUT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    Created,
    Overwritten,
    /// Nothing: there is no room in the filter for another key.
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

/// The answer to GET /stats.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    /// Items in the database.
    items: u64,
    /// Lookups, of GET and DELETE, that reached the database.
    database_reads: u64,
    /// Lookups that the filter answered: the key was absent.
    reads_saved: u64,
    /// Lookups that reached the database in vain. Those of a key that was being
    /// stored or deleted at the moment count too.
    false_positives: u64,
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
            database_reads: AtomicU64::new(0),
            reads_saved: AtomicU64::new(0),
            false_positives: AtomicU64::new(0),
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

    /// Inserts each key of the database; false if the filter has no room.
    fn fill(&self) -> Result<bool, redb::Error> {
        let transaction = self.database.begin_write()?;
        // Made here if there is none, so that reading may rely on it.
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

    /// False if the database does not hold `key`: the lookup is saved. Waits for
    /// nothing, so that async code may call it.
    pub(crate) fn may_hold(&self, key: &str) -> bool {
        let may_hold = self.filter.contains(key);
        if !may_hold {
            self.reads_saved.fetch_add(1, Ordering::Relaxed);
        }
        may_hold
    }

    /// The value of a key that the filter said yes to. Waits for the disk.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, redb::Error> {
        let table = self.database.begin_read()?.open_table(ITEMS)?;
        let value = table.get(key)?.map(|value| value.value().to_vec());
        self.count_read(value.is_some());
        Ok(value)
    }

    /// Stores `value`. Waits for other writers, and for the disk.
    pub(crate) fn put(&self, key: &str, value: &[u8]) -> Result<Put, redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut table = transaction.open_table(ITEMS)?;
        let is_new = table.insert(key, value)?.is_none();
        drop(table);
        // Before the commit; see above.
        if is_new && self.filter.insert(key).is_err() {
            transaction.abort()?;
            return Ok(Put::FilterFull);
        }
        transaction.commit()?;
        Ok(if is_new {
            Put::Created
        } else {
            Put::Overwritten
        })
    }

    /// Deletes a key that the filter said yes to; false if the database did not
    /// hold it. Waits for other writers, and for the disk.
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
        // After the commit; see above.
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

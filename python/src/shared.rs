//! `SharedFilter`: a filter that several processes share.

mod by_hash;
mod errors;
mod methods;
mod seeded;

use crate::{
    arguments::Items,
    batch::{Refused, Why},
    common::{Hashed, methods},
    direct::Hashing,
    item::Rule,
    snapshot::Source,
    tokens::retried,
};
use by_hash::ByHash;
pub(crate) use errors::SharedFileError;
use errors::{attach_error, insert_error};
use guira::InsertError;
use guira_shm::OpenError;
pub(crate) use methods::{Participants, restore_shared_filter};
use pyo3::prelude::*;
use seeded::Seeded;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The items of this filter are hashes.
type Table = guira_shm::SharedFilter<ByHash>;

/// A filter in a file that several processes share, on 64-bit Linux.
///
///     >>> from guira_filter import SharedFilter
///     >>> seen = SharedFilter.open_or_create(path, 1_000_000)
///     >>> seen.add_unique("ani")
///     True
///     >>> "ani" in SharedFilter.open(path)  # usually in another process
///     True
///
/// It has the methods of `Filter`, and processes can call them concurrently. If several processes
/// race to add an absent item, exactly one `add_unique` returns True. No call waits for another
/// process, and a process may be killed at any moment: each item whose `add` has returned stays.
///
/// Put the file into `/dev/shm`, or onto a local disk. Open it once in each process. A child process
/// may also use the filter that its parent opened. A pickle has only the path: it opens the file.
///
/// The filter neither grows nor expires. `len` can be off after a process was killed: see `recount`.
/// No program may truncate the file while it is in use: the next access would end the process with
/// SIGBUS.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedFilter {
    table: Table,
    rule: Rule,
    path: PathBuf,
}

impl SharedFilter {
    fn open_file(path: &Path, items: Items) -> Result<Self, OpenError> {
        let table = ByHash::open(path)?;
        Ok(Self {
            rule: Rule::new(table.hasher().seeded(), items),
            table,
            path: path.canonicalize()?,
        })
    }

    /// What an insert without a seat needs before it is tried again.
    #[cold]
    fn take_seat(&self) -> PyResult<()> {
        self.table.attach().map_err(attach_error)
    }

    /// Calls `insert` until there is a free line for it.
    #[inline]
    fn insert<T>(
        &self,
        py: Python<'_>,
        insert: impl Fn() -> Result<T, InsertError>,
    ) -> PyResult<T> {
        match insert() {
            Ok(inserted) => Ok(inserted),
            Err(InsertError::TooManyInFlight) => {
                py.detach(|| self.take_seat())?;
                retried(py, insert, insert_error)
            }
            Err(error) => Err(insert_error(error)),
        }
    }

    /// The end of a batch. Without a seat, no attempt would succeed.
    #[cold]
    fn refused(&self, index: usize, error: InsertError) -> Refused {
        let why = match error {
            InsertError::TooManyInFlight => match self.take_seat() {
                Ok(()) => Why::Insert(error),
                Err(exception) => Why::Raised(exception),
            },
            _ => Why::Raised(insert_error(error)),
        };
        Refused { index, why }
    }
}

impl Hashing for SharedFilter {
    #[inline]
    fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl Hashed for SharedFilter {
    #[inline]
    fn add_hash(&self, py: Python<'_>, hash: u64) -> PyResult<()> {
        self.insert(py, || self.table.insert(&hash))
    }

    #[inline]
    fn add_unique_hash(&self, py: Python<'_>, hash: u64) -> PyResult<bool> {
        self.insert(py, || self.table.insert_unique(&hash))
    }

    #[inline]
    fn discard_hash(&self, _: Python<'_>, hash: u64) -> PyResult<bool> {
        Ok(self.table.remove(&hash))
    }

    #[inline]
    fn contains_hash(&self, hash: u64) -> bool {
        self.table.contains(&hash)
    }

    fn count_hash(&self, hash: u64) -> usize {
        self.table.count(&hash)
    }

    fn add_all(&self, hashes: &[u64]) -> Result<(), Refused> {
        let added = self.table.insert_batch(hashes);
        added.map_err(|error| self.refused(error.index, error.error))
    }

    fn add_unique_all(&self, hashes: &[u64], added: &mut [bool]) -> Result<(), Refused> {
        for (index, (hash, added)) in hashes.iter().zip(added).enumerate() {
            let inserted = self.table.insert_unique(hash);
            *added = inserted.map_err(|error| self.refused(index, error))?;
        }
        Ok(())
    }

    fn discard_all(&self, hashes: &[u64], discarded: &mut [bool]) {
        for (hash, discarded) in hashes.iter().zip(discarded) {
            *discarded = self.table.remove(hash);
        }
    }

    fn contains_all(&self, hashes: &[u64], found: &mut [bool]) {
        self.table.contains_batch(hashes, found);
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn capacity(&self) -> usize {
        self.table.capacity()
    }

    fn stats(&self) -> guira::Stats {
        self.table.stats()
    }
}

impl Source for SharedFilter {
    fn len_hint(&self) -> usize {
        self.stats().memory_usage
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = Seeded::new(out, self.rule.seed());
        self.table.write_to(&mut out)?;
        out.end()
    }
}

methods!(SharedFilter, "SharedFilter.create(path, 100)");

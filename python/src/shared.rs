//! `SharedFilter`: a filter that several processes share.

mod errors;
mod methods;

use crate::{
    arguments::Items,
    batch::{Refused, Why},
    common::{Hashed, methods},
    direct::Hashing,
    item::Rule,
    snapshot::Source,
    tokens::retried,
};
pub(crate) use errors::SharedFileError;
use errors::{attach_error, insert_error};
use guira::{BatchError, CuckooFilter, InsertError};
use guira_shm::OpenError;
pub(crate) use methods::{Participants, restore_shared_filter};
use pyo3::prelude::*;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

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
/// Its items do not expire. `len` can be off after a process was killed: see `recount`.
/// No program may truncate the file while it is in use: the next access would end the process with
/// SIGBUS.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedFilter {
    table: guira_shm::SharedFilter,
    rule: Rule,
    path: PathBuf,
}

impl SharedFilter {
    /// Opens a file that has the default hasher.
    #[expect(unsafe_code, reason = "the file must not change in other ways")]
    fn open_file(path: &Path, items: Items) -> Result<Self, OpenError> {
        // SAFETY: the documentation of the class forbids to truncate the file. In Python there is no
        // other place to say so, as for `mmap` and `numpy.memmap`.
        let table = unsafe { guira_shm::SharedFilter::open(path) }?;
        Ok(Self {
            rule: Rule::new(table.hasher(), items),
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
    fn refused(&self, BatchError { index, error, .. }: BatchError) -> Refused {
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
    fn table(&self) -> &CuckooFilter {
        self.table.as_filter()
    }

    #[inline]
    fn add_hash(&self, py: Python<'_>, hash: u64) -> PyResult<()> {
        self.insert(py, || self.table.insert_hash(hash))
    }

    #[inline]
    fn add_unique_hash(&self, py: Python<'_>, hash: u64) -> PyResult<bool> {
        self.insert(py, || self.table.insert_unique_hash(hash))
    }

    #[inline]
    fn discard_hash(&self, _: Python<'_>, hash: u64) -> PyResult<bool> {
        Ok(self.table.remove_hash(hash))
    }

    #[inline]
    fn contains_hash(&self, hash: u64) -> bool {
        self.table.contains_hash(hash)
    }

    fn add_all(&self, hashes: &[u64]) -> Result<(), Refused> {
        let added = self.table().insert_hash_batch(hashes);
        added.map_err(|error| self.refused(error))
    }

    fn add_unique_all(&self, hashes: &[u64], added: &mut [bool]) -> Result<(), Refused> {
        let decided = self.table().insert_unique_hash_batch(hashes, added);
        decided.map_err(|error| self.refused(error))
    }
}

impl Source for SharedFilter {
    fn len_hint(&self) -> usize {
        self.table().snapshot_len_hint()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table.write_to(out)
    }
}

methods!(SharedFilter, "SharedFilter.create(path, 100)");

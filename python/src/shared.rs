//! `SharedFilter`: a filter that several processes share.

mod errors;
mod methods;
mod reader;

use crate::{
    arguments::{Items, Settings},
    batch::{Refused, Why},
    common::{Hashed, Lookups, changes, lookups},
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
pub(crate) use reader::{SharedReader, restore_shared_reader};
use std::{
    fs::{File, OpenOptions},
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
/// `create_memfd` makes a filter without a file, and `SharedReader` opens a file for lookups only.
///
/// Its items do not expire. `len` can be off after a process was killed: see `recount`.
/// No program may truncate the file while it is in use: the next access would end the process with
/// SIGBUS.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedFilter {
    table: guira_shm::SharedFilter,
    rule: Rule,
    /// `None` for a memfd.
    path: Option<PathBuf>,
}

impl SharedFilter {
    /// Opens a file that has the default hasher.
    #[expect(unsafe_code, reason = "the file must not change in other ways")]
    fn open_file(path: &Path, items: Items) -> Result<Self, OpenError> {
        // SAFETY: the documentation of the class forbids to truncate the file. In Python there is no
        // other place to say so, as for `mmap` and `numpy.memmap`.
        let table = unsafe { guira_shm::SharedFilter::open(path) }?;
        Ok(Self::of(table, Some(path.canonicalize()?), items))
    }

    #[expect(unsafe_code, reason = "as `open_file`")]
    fn create_file(
        path: &Path,
        settings: Settings,
        max_processes: usize,
        items: Items,
    ) -> Result<Self, OpenError> {
        let builder = settings.builder();
        // SAFETY: as in `open_file`.
        drop(unsafe { guira_shm::SharedFilter::create_for(path, builder, max_processes) }?);
        Self::open_file(path, items)
    }

    fn of(table: guira_shm::SharedFilter, path: Option<PathBuf>, items: Items) -> Self {
        Self {
            rule: Rule::new(table.hasher(), items),
            table,
            path,
        }
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

/// The memory behind a descriptor, by a new descriptor. It is opened and not duplicated, because the number
/// of a descriptor that is closed must be an error.
fn open_again(descriptor: u32, write: bool) -> io::Result<File> {
    let path = format!("/proc/self/fd/{descriptor}");
    OpenOptions::new().read(true).write(write).open(path)
}

/// In the place of a path in errors.
fn memfd() -> &'static Path {
    Path::new("memfd")
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

lookups!(
    SharedFilter,
    "f = SharedFilter.create(path, 100); f.add(\"ani\")"
);
changes!(SharedFilter, "SharedFilter.create(path, 100)");

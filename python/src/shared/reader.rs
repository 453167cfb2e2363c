//! `SharedReader`: a shared filter in which this process only looks items up.

use super::{
    errors::open_error,
    memfd,
    methods::{Participants, Reduced, reduced, shown_path},
    open_again,
};
use crate::{
    arguments::{Items, Whole},
    common::{Lookups, lookups},
    direct::Hashing,
    item::Rule,
};
use guira_shm::OpenError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A shared filter in which this process only looks items up.
///
///     >>> from guira_filter import SharedFilter, SharedReader
///     >>> writer = SharedFilter.create(path, 1000)  # usually in another process
///     >>> writer.add("ani")
///     >>> "ani" in SharedReader.open(path)
///     True
///
/// It needs no permission to write the file, and takes no seat: any number of processes can read a
/// filter, while others change it. It cannot take a snapshot; a `SharedFilter` can.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedReader {
    table: guira_shm::SharedReader,
    rule: Rule,
    /// `None` for a memfd.
    path: Option<PathBuf>,
}

impl SharedReader {
    #[expect(unsafe_code, reason = "the file must not change in other ways")]
    fn open_file(path: &Path, items: Items) -> Result<Self, OpenError> {
        // SAFETY: as for `SharedFilter`.
        let table = unsafe { guira_shm::SharedReader::open(path) }?;
        Ok(Self::of(table, Some(path.canonicalize()?), items))
    }

    fn of(table: guira_shm::SharedReader, path: Option<PathBuf>, items: Items) -> Self {
        Self {
            rule: Rule::new(table.hasher(), items),
            table,
            path,
        }
    }
}

impl Hashing for SharedReader {
    #[inline]
    fn rule(&self) -> &Rule {
        &self.rule
    }
}

lookups!(
    SharedReader,
    "SharedFilter.create(path, 100).add(\"ani\"); f = SharedReader.open(path)"
);

#[pymethods]
impl SharedReader {
    /// Opens the filter in a file, in microseconds whatever its size.
    ///
    /// FileNotFoundError or another OSError if the file cannot be opened, and SharedFileError if it
    /// has no filter.
    ///
    /// items: must be the same in all processes; the file does not say it.
    #[staticmethod]
    #[pyo3(
        signature = (path, *, items = Items::Any),
        text_signature = "(path, *, items='any')"
    )]
    fn open(py: Python<'_>, path: PathBuf, items: Items) -> PyResult<Self> {
        py.detach(|| Self::open_file(&path, items))
            .map_err(|error| open_error(py, &path, error))
    }

    /// Opens the filter behind a descriptor of `SharedFilter.create_memfd`, which need not be writable and
    /// stays open.
    ///
    ///     >>> f = SharedFilter.create_memfd(1000)
    ///     >>> f.add("ani")
    ///     >>> "ani" in SharedReader.from_memfd(f.fileno())  # usually in another process
    ///     True
    #[staticmethod]
    #[pyo3(
        signature = (fd, /, *, items = Items::Any),
        text_signature = "(fd, /, *, items='any')"
    )]
    fn from_memfd(py: Python<'_>, fd: Whole<u32>, items: Items) -> PyResult<Self> {
        let open = || guira_shm::SharedReader::from_memfd(open_again(fd.0, false)?.into());
        py.detach(open)
            .map(|table| Self::of(table, None, items))
            .map_err(|error| open_error(py, memfd(), error))
    }

    /// How many processes share the filter. Readers are not counted.
    fn participants(&self) -> Participants {
        self.table.participants().into()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let parts = (self.path.as_deref(), self.rule().items.name());
        reduced(
            py,
            "_restore_shared_reader",
            parts,
            "a reader without a path cannot be pickled: send the fileno() of its filter",
        )
    }

    fn __repr__(&self) -> String {
        let path = shown_path(self.path.as_deref());
        let (capacity, items, len) = (self.capacity(), self.rule().items.name(), self.len());
        format!("SharedReader(path={path}, capacity={capacity}, items='{items}', len={len})")
    }

    /// The absolute path of the file when it was opened. None for a filter without a file.
    #[getter]
    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// What a pickle calls.
#[pyfunction(name = "_restore_shared_reader")]
#[pyo3(signature = (path, items, /))]
pub(crate) fn restore_shared_reader(
    py: Python<'_>,
    path: PathBuf,
    items: Items,
) -> PyResult<SharedReader> {
    SharedReader::open(py, path, items)
}

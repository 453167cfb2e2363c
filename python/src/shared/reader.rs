//! `SharedReader` and `SharedExpiringReader`: shared filters in which this process only looks items up.

use super::{
    expiring::times,
    files::{opened, shown_path},
};
use crate::{
    arguments::Items,
    common::{Lookups, lookups},
    direct::Hashing,
    item::Rule,
};
use pyo3::prelude::*;
use std::path::PathBuf;

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

opened!(
    SharedReader of guira_shm::SharedReader, write = false, restored by "_restore_shared_reader",
    "SharedFilter.create(path, 1000)", "SharedFilter.create_memfd(1000)"
);
lookups!(
    SharedReader,
    "SharedFilter.create(path, 100).add(\"ani\"); f = SharedReader.open(path)"
);

#[pymethods]
impl SharedReader {
    fn __repr__(&self) -> String {
        let path = shown_path(self.path.as_deref());
        let (capacity, items, len) = (self.capacity(), self.rule.items.name(), self.len());
        format!("SharedReader(path={path}, capacity={capacity}, items='{items}', len={len})")
    }
}

/// A shared expiring filter in which this process only looks items up.
///
///     >>> from guira_filter import SharedExpiringFilter, SharedExpiringReader
///     >>> writer = SharedExpiringFilter.create(path, 3600)  # usually in another process
///     >>> writer.add("ani")
///     >>> "ani" in SharedExpiringReader.open(path)
///     True
///
/// It needs no permission to write the file, and takes no seat, like a `SharedReader`.
///
/// It finds what is live in the epoch that writers have begun last, and begins none. If no process calls
/// `tick`, nothing expires: `epoch_age` is then much more than `epoch_length`.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedExpiringReader {
    /// In a box, because Python aligns objects to 16 bytes only.
    table: Box<guira_shm::SharedExpiringReader>,
    rule: Rule,
    /// `None` for a memfd.
    path: Option<PathBuf>,
}

opened!(
    SharedExpiringReader of guira_shm::SharedExpiringReader, write = false,
    restored by "_restore_shared_expiring_reader",
    "SharedExpiringFilter.create(path, 3600)", "SharedExpiringFilter.create_memfd(3600)"
);
lookups!(
    SharedExpiringReader,
    "SharedExpiringFilter.create(path, 60).add(\"ani\"); f = SharedExpiringReader.open(path)"
);
times!(
    SharedExpiringReader,
    "w = SharedExpiringFilter.create(path, 60); f = SharedExpiringReader.open(path)"
);

#[pymethods]
impl SharedExpiringReader {
    fn __repr__(&self) -> String {
        let (path, ttl) = (shown_path(self.path.as_deref()), self.ttl());
        let (capacity, items, len) = (self.capacity(), self.rule.items.name(), self.len());
        format!(
            "SharedExpiringReader(path={path}, ttl={ttl}, capacity={capacity}, items='{items}', len={len})"
        )
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

/// What a pickle calls.
#[pyfunction(name = "_restore_shared_expiring_reader")]
#[pyo3(signature = (path, items, /))]
pub(crate) fn restore_shared_expiring_reader(
    py: Python<'_>,
    path: PathBuf,
    items: Items,
) -> PyResult<SharedExpiringReader> {
    SharedExpiringReader::open(py, path, items)
}

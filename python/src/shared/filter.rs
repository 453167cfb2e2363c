//! `SharedFilter`: a filter that several processes share.

use super::files::{PROCESSES, memfd, opened, shared, shown_path, without_gil};
use crate::{
    arguments::{Items, Preference, Settings, Whole},
    common::{Changes, Lookups, changes, lookups},
    direct::Hashing,
    filter::Other,
    item::Rule,
};
use guira::{Builder, CuckooFilter};
use pyo3::prelude::*;
use std::{path::PathBuf, time::Duration};

type Table = guira_shm::SharedFilter;

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
/// Its items never expire; use a `SharedExpiringFilter` for items that should. `len` can be off after a process was
/// killed: see `recount`. No program may truncate the file while it is in use: the next access would end
/// the process with SIGBUS.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedFilter {
    table: Table,
    rule: Rule,
    /// `None` for a memfd.
    path: Option<PathBuf>,
}

opened!(
    SharedFilter of Table, write = true, restored by "_restore_shared_filter",
    "SharedFilter.create(path, 1000)", "SharedFilter.create_memfd(1000)"
);
shared!(
    SharedFilter of Table, made by Builder, copied by "Filter", like CuckooFilter, merged with Other<'_>,
    "SharedFilter.create(path, 1000)"
);
lookups!(
    SharedFilter,
    "f = SharedFilter.create(path, 100); f.add(\"ani\")"
);
changes!(SharedFilter, "SharedFilter.create(path, 100)");

#[pymethods]
impl SharedFilter {
    /// Creates a file with an empty filter, and opens it. FileExistsError if there is a file.
    ///
    /// The memory for `capacity` is allocated at once, so OSError if the file system has no room for it.
    /// Growth allocates more, and MemoryError says that there is none. Only the owner can read and write
    /// the file.
    ///
    ///     >>> f = SharedFilter.create(path, 1000, 0.01, max_processes=8)
    ///     >>> len(f), f.participants().max
    ///     (0, 8)
    ///
    /// max_processes: the most that can use it at a time, 255 at most.
    /// The other arguments have the meaning that they have for `Filter`.
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[staticmethod]
    #[pyo3(signature = (
        path, capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        prefer = Preference(guira::Prefer::Speed), fingerprint_bits = None, seed = None,
        max_processes = Whole(PROCESSES), items = Items::Any,
    ), text_signature = "(path, capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        prefer='speed', fingerprint_bits=None, seed=None, max_processes=63, items='any')")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        prefer: Preference,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let settings = Settings {
            capacity,
            false_positive_rate,
            max_capacity,
            prefer,
            fingerprint_bits,
            seed,
        };
        let builder = settings.builder();
        without_gil(py, &path, || {
            Self::create_file(&path, builder, max_processes.0, items)
        })
    }

    /// Opens the filter in a file, which it creates if there is none. When processes race to create
    /// it, all get the same filter.
    ///
    /// The arguments describe a new filter. A filter that exists keeps its settings.
    ///
    ///     >>> f = SharedFilter.open_or_create(path, 1000)
    ///     >>> SharedFilter.open_or_create(path, 2000).capacity
    ///     1000
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[staticmethod]
    #[pyo3(signature = (
        path, capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        prefer = Preference(guira::Prefer::Speed), fingerprint_bits = None, seed = None,
        max_processes = Whole(PROCESSES), items = Items::Any,
    ), text_signature = "(path, capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        prefer='speed', fingerprint_bits=None, seed=None, max_processes=63, items='any')")]
    fn open_or_create(
        py: Python<'_>,
        path: PathBuf,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        prefer: Preference,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let settings = Settings {
            capacity,
            false_positive_rate,
            max_capacity,
            prefer,
            fingerprint_bits,
            seed,
        };
        let builder = settings.builder();
        without_gil(py, &path, || {
            Self::open_or_create_file(&path, builder, max_processes.0, items)
        })
    }

    /// A shared filter with the items of a snapshot, which `to_bytes` of any class has made, or Rust.
    ///
    /// It is in a new file at `path`, which gets its name when it is complete, or in memory as that of
    /// `create_memfd`. FileExistsError if there is a file. The memory of the snapshot, of the file
    /// and of a filter of this process is needed during the call. FullError if the filter held more than
    /// its capacity, and the items do not fit in another order.
    ///
    ///     >>> saved = Filter(1000)
    ///     >>> saved.add("ani")
    ///     >>> "ani" in SharedFilter.from_bytes(saved.to_bytes(), path)
    ///     True
    #[staticmethod]
    #[pyo3(
        signature = (
            data, path = None, *, max_bytes = None, max_processes = Whole(PROCESSES),
            items = Items::Any
        ),
        text_signature = "(data, path=None, *, max_bytes=None, max_processes=63, items='any')"
    )]
    fn from_bytes(
        data: &Bound<'_, PyAny>,
        path: Option<PathBuf>,
        max_bytes: Option<Whole<usize>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let filter = crate::snapshot::from_bytes(data, max_bytes.map(|max| max.0), Duration::ZERO)?;
        Self::restored(data.py(), filter, path, max_processes.0, items)
    }

    /// The filter of a file that `save` of any class, here or in Rust, has written, as `from_bytes` makes it.
    ///
    ///     >>> saved = Filter(1000)
    ///     >>> saved.add("ani")
    ///     >>> saved.save(f"{path}.saved")
    ///     >>> "ani" in SharedFilter.load(f"{path}.saved", path)
    ///     True
    #[staticmethod]
    #[pyo3(
        signature = (
            snapshot, path = None, *, max_bytes = None, max_processes = Whole(PROCESSES),
            items = Items::Any
        ),
        text_signature = "(snapshot, path=None, *, max_bytes=None, max_processes=63, items='any')"
    )]
    fn load(
        py: Python<'_>,
        snapshot: PathBuf,
        path: Option<PathBuf>,
        max_bytes: Option<Whole<usize>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let filter = crate::snapshot::load(py, &snapshot, max_bytes.map(|max| max.0))?;
        Self::restored(py, filter, path, max_processes.0, items)
    }

    /// Creates an empty filter in memory without a name, on which the arguments have the effect that they
    /// have on `create`.
    ///
    /// Child processes use it, and other processes that get its `fileno`, for example by
    /// `socket.send_fds`. The memory is freed with the last process that uses it.
    ///
    ///     >>> f = SharedFilter.create_memfd(1000)
    ///     >>> f.add("ani")
    ///     >>> "ani" in SharedFilter.from_memfd(f.fileno())  # usually in another process
    ///     True
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[staticmethod]
    #[pyo3(signature = (
        capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        prefer = Preference(guira::Prefer::Speed), fingerprint_bits = None, seed = None,
        max_processes = Whole(PROCESSES), items = Items::Any,
    ), text_signature = "(capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        prefer='speed', fingerprint_bits=None, seed=None, max_processes=63, items='any')")]
    fn create_memfd(
        py: Python<'_>,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        prefer: Preference,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let settings = Settings {
            capacity,
            false_positive_rate,
            max_capacity,
            prefer,
            fingerprint_bits,
            seed,
        };
        let builder = settings.builder();
        without_gil(py, memfd(), || {
            Self::create_memory(builder, max_processes.0, items)
        })
    }

    fn __repr__(&self) -> String {
        let path = shown_path(self.path.as_deref());
        let (capacity, items, len) = (self.capacity(), self.rule().items.name(), self.len());
        format!("SharedFilter(path={path}, capacity={capacity}, items='{items}', len={len})")
    }
}

/// What a pickle calls.
#[pyfunction(name = "_restore_shared_filter")]
#[pyo3(signature = (path, items, /))]
pub(crate) fn restore_shared_filter(
    py: Python<'_>,
    path: PathBuf,
    items: Items,
) -> PyResult<SharedFilter> {
    SharedFilter::open(py, path, items)
}

//! What Python sees of `SharedFilter`.

use super::{
    SharedFilter,
    errors::{attach_error, open_error, recount_error},
    memfd, open_again,
};
use crate::{
    arguments::{Items, Preference, Settings, Whole},
    common::Lookups,
    direct::Hashing,
    snapshot,
};
use guira_shm::OpenError;
use pyo3::{
    exceptions::{PyOSError, PyTypeError},
    prelude::*,
    types::PyBytes,
};
use std::{
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

/// The processes that can share a filter, unless `max_processes` says otherwise.
const PROCESSES: usize = 63;

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
        py.detach(|| Self::create_file(&path, settings, max_processes.0, items))
            .map_err(|error| open_error(py, &path, error))
    }

    /// Opens the filter in a file, in microseconds whatever its size.
    ///
    /// FileNotFoundError or another OSError if the file cannot be opened, and SharedFileError if it
    /// has no filter.
    ///
    ///     >>> f = SharedFilter.create(path, 1000)
    ///     >>> f.add("ani")
    ///     >>> "ani" in SharedFilter.open(path)
    ///     True
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
        py.detach(|| match Self::open_file(&path, items) {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                match Self::create_file(&path, settings, max_processes.0, items) {
                    // Another process was first.
                    Err(OpenError::Exists) => Self::open_file(&path, items),
                    created => created,
                }
            }
            opened => opened,
        })
        .map_err(|error| open_error(py, &path, error))
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
        py.detach(|| guira_shm::SharedFilter::create_memfd_for(builder, max_processes.0))
            .map(|table| Self::of(table, None, items))
            .map_err(|error| open_error(py, memfd(), error))
    }

    /// Opens the filter behind a descriptor. The descriptor is not needed after that, and stays open.
    ///
    /// OSError if there is no memory behind it, and SharedFileError if that is no filter, or can be
    /// truncated.
    ///
    /// items: must be the same in all processes.
    #[staticmethod]
    #[pyo3(
        signature = (fd, /, *, items = Items::Any),
        text_signature = "(fd, /, *, items='any')"
    )]
    fn from_memfd(py: Python<'_>, fd: Whole<u32>, items: Items) -> PyResult<Self> {
        let open = || guira_shm::SharedFilter::from_memfd(open_again(fd.0, true)?.into());
        py.detach(open)
            .map(|table| Self::of(table, None, items))
            .map_err(|error| open_error(py, memfd(), error))
    }

    /// The descriptor of a filter that `create_memfd` or `from_memfd` has made. OSError if the filter has
    /// a path. The filter needs the descriptor, so do not close it.
    fn fileno(&self) -> PyResult<i32> {
        let descriptor = self.table.memfd().ok_or_else(|| {
            PyOSError::new_err("a filter in a file has no descriptor: open it by its path")
        })?;
        Ok(descriptor.as_raw_fd())
    }

    /// Counts the items of a file that no process uses, so that `len` is exact again after
    /// processes were killed. Returns the number.
    ///
    /// BusyError if a process uses the filter, be it this one.
    ///
    ///     >>> f = SharedFilter.create(path, 1000)
    ///     >>> f.update(["ani", "koel"])
    ///     >>> del f
    ///     >>> SharedFilter.recount(path)
    ///     2
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn recount(py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        let mut filter = py
            .detach(|| Self::open_file(&path, Items::Any))
            .map_err(|error| open_error(py, &path, error))?;
        py.detach(|| filter.table.recount())
            .map_err(|error| recount_error(py, &path, error))
    }

    /// Takes one of the seats for processes, unless this process has one. BusyError if all are
    /// taken.
    ///
    /// Opening a file takes a seat. A child process that uses its parent's filter takes its own by
    /// this call, or in its first call that needs one.
    ///
    ///     >>> f = SharedFilter.create(path, 1000)
    ///     >>> f.participants().in_use
    ///     1
    fn attach(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.table.attach()).map_err(attach_error)
    }

    /// Completes or undoes what killed processes have begun. Returns the number of these processes.
    ///
    /// An `add` that finds no room does this by itself. Call it after a process was killed, for
    /// example in its parent.
    ///
    ///     >>> SharedFilter.create(path, 1000).repair()
    ///     0
    fn repair(&self, py: Python<'_>) -> usize {
        py.detach(|| self.table.repair()).processes
    }

    /// How many processes share the filter.
    fn participants(&self) -> Participants {
        self.table.participants().into()
    }

    /// Removes all items.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.table.clear()).map_err(attach_error)
    }

    /// The items as bytes, while processes use the filter. `Filter.from_bytes` makes a filter of
    /// this process from them.
    ///
    ///     >>> f = SharedFilter.create(path, 100)
    ///     >>> f.add("ani")
    ///     >>> "ani" in Filter.from_bytes(f.to_bytes())
    ///     True
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.attach(py)?;
        snapshot::to_bytes(py, self)
    }

    /// Writes the items to another file, which `Filter.load` reads, while processes use the filter.
    /// That file is replaced at once, also if the machine crashes.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.attach(py)?;
        snapshot::save(py, self, &path)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let parts = (self.path.as_deref(), self.rule().items.name());
        reduced(
            py,
            "_restore_shared_filter",
            parts,
            "a filter without a path cannot be pickled: send its fileno() to the other process",
        )
    }

    fn __copy__(&self) -> PyResult<Self> {
        Err(PyTypeError::new_err(
            "a shared filter is not copied: open it again for the same filter, and use \
             `Filter.from_bytes(f.to_bytes())` for one of this process",
        ))
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let _ = memo;
        self.__copy__()
    }

    fn __repr__(&self) -> String {
        let path = shown_path(self.path.as_deref());
        let (capacity, items, len) = (self.capacity(), self.rule().items.name(), self.len());
        format!("SharedFilter(path={path}, capacity={capacity}, items='{items}', len={len})")
    }

    /// The absolute path of the file when it was opened. None for a filter without a file.
    #[getter]
    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// False if a process was killed while it used the filter, before this object was made and after the
    /// last `recount`. No item is lost then, but `len` may be off.
    ///
    ///     >>> SharedFilter.create(path, 1000).was_closed_cleanly
    ///     True
    #[getter]
    fn was_closed_cleanly(&self) -> bool {
        self.table.was_closed_cleanly()
    }
}

/// What a pickle has: the function that opens the file again, its path, and which values are items.
pub(super) type Reduced<'py> = (Bound<'py, PyAny>, (PathBuf, &'static str));

/// What a pickle has of a filter. TypeError with the text `unnamed` if it has no path.
pub(super) fn reduced<'py>(
    py: Python<'py>,
    restore: &str,
    (path, items): (Option<&Path>, &'static str),
    unnamed: &'static str,
) -> PyResult<Reduced<'py>> {
    let path = path.ok_or_else(|| PyTypeError::new_err(unnamed))?;
    let module = py.import("guira_filter._guira_filter")?;
    Ok((module.getattr(restore)?, (path.to_owned(), items)))
}

/// A path in a `repr`.
pub(super) fn shown_path(path: Option<&Path>) -> String {
    path.map_or("None".into(), |path| format!("'{}'", path.display()))
}

/// The processes that share a filter.
#[pyclass(frozen, get_all, module = "guira_filter")]
#[derive(Debug)]
pub(crate) struct Participants {
    /// Processes that have a seat, including killed ones that have not been repaired.
    in_use: usize,
    /// The most processes.
    max: usize,
    /// Processes that were killed and have been repaired.
    deaths: u64,
}

impl From<guira_shm::Participants> for Participants {
    fn from(participants: guira_shm::Participants) -> Self {
        let guira_shm::Participants {
            in_use,
            max,
            deaths,
            ..
        } = participants;
        Self {
            in_use,
            max,
            deaths,
        }
    }
}

#[pymethods]
impl Participants {
    fn __repr__(&self) -> String {
        format!("guira_filter.{self:?}")
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

//! What all classes of shared filters have: the file or the memory behind a descriptor, and the processes.

use super::errors::open_error;
use pyo3::{exceptions::PyTypeError, prelude::*};
use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// The processes that can share a filter, unless `max_processes` says otherwise.
pub(super) const PROCESSES: usize = 63;

/// The memory behind a descriptor, by a new descriptor. It is opened and not duplicated, because the number
/// of a descriptor that is closed must be an error.
pub(super) fn open_again(descriptor: u32, write: bool) -> io::Result<File> {
    let path = format!("/proc/self/fd/{descriptor}");
    OpenOptions::new().read(true).write(write).open(path)
}

/// In the place of a path in errors.
pub(super) fn memfd() -> &'static Path {
    Path::new("memfd")
}

/// Implements how a class is opened, in Rust and in Python, with its `Hashing`. It has the fields `table`,
/// `rule` and `path`. `$make` and `$make_memfd` make filters in the examples.
macro_rules! opened {
    (
        $class:ident of $table:ty, write = $write:literal, restored by $restore:literal,
        $make:literal, $make_memfd:literal
    ) => {
        impl $class {
            /// Opens a file that has the default hasher.
            #[expect(unsafe_code, reason = "the file must not change in other ways")]
            fn open_file(
                path: &std::path::Path,
                items: crate::arguments::Items,
            ) -> Result<Self, guira_shm::OpenError> {
                // SAFETY: the documentation of `SharedFilter` forbids to truncate the file. In Python
                // there is no other place to say so, as for `mmap` and `numpy.memmap`.
                let table = unsafe { <$table>::open(path) }?;
                Ok(Self::of(table, Some(path.canonicalize()?), items))
            }

            fn of(
                table: $table,
                path: Option<std::path::PathBuf>,
                items: crate::arguments::Items,
            ) -> Self {
                Self {
                    rule: crate::item::Rule::new(table.hasher(), items),
                    table: table.into(),
                    path,
                }
            }
        }

        impl crate::direct::Hashing for $class {
            #[inline]
            fn rule(&self) -> &crate::item::Rule {
                &self.rule
            }
        }

        #[pymethods]
        impl $class {
            /// Opens the filter in a file, in microseconds whatever its size.
            ///
            /// FileNotFoundError or another OSError if the file cannot be opened, and SharedFileError if
            /// it has no filter of this kind.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add("ani")
            #[doc = concat!("    >>> \"ani\" in ", stringify!($class), ".open(path)")]
            ///     True
            ///
            /// items: must be the same in all processes; the file does not say it.
            #[staticmethod]
            #[pyo3(signature = (path, *, items = crate::arguments::Items::Any), text_signature = "(path, *, items='any')")]
            fn open(
                py: Python<'_>,
                path: std::path::PathBuf,
                items: crate::arguments::Items,
            ) -> PyResult<Self> {
                crate::shared::files::without_gil(py, &path, || Self::open_file(&path, items))
            }

            /// Opens the filter behind a descriptor. The descriptor is not needed after that, and stays
            /// open. One of a reader need not be writable.
            ///
            /// OSError if there is no memory behind it, and SharedFileError if that is no filter of this
            /// kind, or can be truncated.
            ///
            #[doc = concat!("    >>> f = ", $make_memfd)]
            ///     >>> f.add("ani")
            #[doc = concat!("    >>> \"ani\" in ", stringify!($class), ".from_memfd(f.fileno())")]
            ///     True
            ///
            /// items: must be the same in all processes.
            #[staticmethod]
            #[pyo3(signature = (fd, /, *, items = crate::arguments::Items::Any), text_signature = "(fd, /, *, items='any')")]
            fn from_memfd(
                py: Python<'_>,
                fd: crate::arguments::Whole<u32>,
                items: crate::arguments::Items,
            ) -> PyResult<Self> {
                crate::shared::files::without_gil(py, crate::shared::files::memfd(), || {
                    let memory = crate::shared::files::open_again(fd.0, $write)?;
                    let table = <$table>::from_memfd(memory.into())?;
                    Ok(Self::of(table, None, items))
                })
            }

            /// How many processes share the filter. Readers are not counted.
            fn participants(&self) -> crate::shared::Participants {
                self.table.participants().into()
            }

            fn __reduce__<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<crate::shared::files::Reduced<'py>> {
                let parts = (self.path.as_deref(), self.rule.items.name());
                crate::shared::files::reduced(py, $restore, parts)
            }

            /// The absolute path of the file when it was opened. None for a filter without a file.
            #[getter]
            fn path(&self) -> Option<&std::path::Path> {
                self.path.as_deref()
            }
        }
    };
}
pub(super) use opened;

/// Opens a filter without the GIL. `path` is that of errors.
pub(super) fn without_gil<T: Send>(
    py: Python<'_>,
    path: &Path,
    open: impl FnOnce() -> Result<T, guira_shm::OpenError> + Send,
) -> PyResult<T> {
    py.detach(open).map_err(|error| open_error(py, path, error))
}

/// Implements what the classes that can write have besides: how a file is created, and the writes by hash.
/// The calls for processes and snapshots are here, too, and what an insert without a seat does. `$make` makes a filter in the examples, and `$own`
/// is the class of filters of one process.
macro_rules! shared {
    (
        $class:ident of $table:ty, made by $builder:ty, copied by $own:literal,
        like $heap:ty, merged with $other:ty, $make:literal
    ) => {
        impl $class {
            #[expect(unsafe_code, reason = "as `open_file`")]
            fn create_file(
                path: &std::path::Path,
                builder: $builder,
                max_processes: usize,
                items: crate::arguments::Items,
            ) -> Result<Self, guira_shm::OpenError> {
                // SAFETY: as in `open_file`.
                drop(unsafe { <$table>::create_for(path, builder, max_processes) }?);
                Self::open_file(path, items)
            }

            fn open_or_create_file(
                path: &std::path::Path,
                builder: $builder,
                max_processes: usize,
                items: crate::arguments::Items,
            ) -> Result<Self, guira_shm::OpenError> {
                use guira_shm::OpenError;
                match Self::open_file(path, items) {
                    Err(OpenError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                        match Self::create_file(path, builder, max_processes, items) {
                            // Another process was first.
                            Err(OpenError::Exists) => Self::open_file(path, items),
                            created => created,
                        }
                    }
                    opened => opened,
                }
            }

            fn create_memory(
                builder: $builder,
                max_processes: usize,
                items: crate::arguments::Items,
            ) -> Result<Self, guira_shm::OpenError> {
                let table = <$table>::create_memfd_for(builder, max_processes)?;
                Ok(Self::of(table, None, items))
            }

            /// A filter of this class with the items of another one: in a file, or in memory without a name.
            #[expect(unsafe_code, reason = "as `open_file`")]
            fn copy_of(
                filter: &$heap,
                path: Option<&std::path::Path>,
                max_processes: usize,
                items: crate::arguments::Items,
            ) -> Result<Self, guira_shm::OpenError> {
                let Some(path) = path else {
                    let table = <$table>::create_memfd_copy(filter, max_processes)?;
                    return Ok(Self::of(table, None, items));
                };
                // SAFETY: as in `open_file`.
                drop(unsafe { <$table>::create_copy(path, filter, max_processes) }?);
                Self::open_file(path, items)
            }

            /// The shared filter of a snapshot.
            fn restored(
                py: Python<'_>,
                filter: $heap,
                path: Option<std::path::PathBuf>,
                max_processes: usize,
                items: crate::arguments::Items,
            ) -> PyResult<Self> {
                let path = path.as_deref();
                let shown = path.unwrap_or(crate::shared::files::memfd());
                crate::shared::files::without_gil(py, shown, || {
                    Self::copy_of(&filter, path, max_processes, items)
                })
            }

            /// The filter, which can be scanned: this process has a seat.
            pub(crate) fn to_scan(&self, py: Python<'_>) -> PyResult<&$heap> {
                self.attach(py)?;
                Ok(self.table.as_filter())
            }

            /// The filter, and the other one that is to be merged into it.
            fn mergeable<'a>(
                &'a self,
                py: Python<'_>,
                other: &'a $other,
            ) -> PyResult<(&'a $heap, &'a $heap)> {
                let filter = self.to_scan(py)?;
                self.rule.check_items(other.rule())?;
                Ok((filter, other.table(py)?))
            }

            /// What an insert without a seat needs before it is tried again.
            #[cold]
            fn take_seat(&self) -> PyResult<()> {
                self.table
                    .attach()
                    .map_err(crate::shared::errors::attach_error)
            }

            /// Calls `insert` until there is a free line for it.
            #[inline]
            fn insert<T>(
                &self,
                py: Python<'_>,
                insert: impl Fn() -> Result<T, guira::InsertError>,
            ) -> PyResult<T> {
                use crate::shared::errors::insert_error;
                match insert() {
                    Ok(inserted) => Ok(inserted),
                    Err(guira::InsertError::TooManyInFlight) => {
                        py.detach(|| self.take_seat())?;
                        crate::tokens::retried(py, insert, insert_error)
                    }
                    Err(error) => Err(insert_error(error)),
                }
            }

            /// The end of a batch. Without a seat, no attempt would succeed.
            #[cold]
            fn refused(
                &self,
                guira::BatchError { index, error, .. }: guira::BatchError,
            ) -> crate::batch::Refused {
                use crate::batch::Why;
                let why = match error {
                    guira::InsertError::TooManyInFlight => match self.take_seat() {
                        Ok(()) => Why::Insert(error),
                        Err(exception) => Why::Raised(exception),
                    },
                    _ => Why::Raised(crate::shared::errors::insert_error(error)),
                };
                crate::batch::Refused { index, why }
            }
        }

        impl crate::common::Changes for $class {
            #[inline]
            fn add_hash(&self, py: pyo3::Python<'_>, hash: guira::Hashed) -> pyo3::PyResult<()> {
                self.insert(py, || self.table.insert(&hash))
            }

            #[inline]
            fn add_unique_hash(&self, py: pyo3::Python<'_>, hash: guira::Hashed) -> pyo3::PyResult<bool> {
                self.insert(py, || self.table.insert_unique(&hash))
            }

            #[inline]
            fn discard_hash(&self, _: pyo3::Python<'_>, hash: guira::Hashed) -> pyo3::PyResult<bool> {
                Ok(self.table.remove(&hash))
            }

            fn add_all(&self, hashes: &[guira::Hashed]) -> Result<(), crate::batch::Refused> {
                let added = self.table.as_filter().insert_batch(hashes);
                added.map_err(|error| self.refused(error))
            }

            fn add_unique_all(&self, hashes: &[guira::Hashed], added: &mut [bool]) -> Result<(), crate::batch::Refused> {
                let filter = self.table.as_filter();
                let decided = filter.insert_unique_batch(hashes, added);
                decided.map_err(|error| self.refused(error))
            }

            fn discard_all(&self, hashes: &[guira::Hashed], discarded: &mut [bool]) {
                self.table.as_filter().remove_batch(hashes, discarded);
            }
        }

        impl crate::snapshot::Source for $class {
            fn len_hint(&self) -> usize {
                self.table.as_filter().snapshot_len_hint()
            }

            fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
                self.table.write_to(out)
            }
        }

        crate::common::operators!($class, $other);

        #[pymethods]
        impl $class {
            /// The descriptor of a filter that `create_memfd` or `from_memfd` has made. OSError if the
            /// filter has a path. The filter needs the descriptor, so do not close it.
            fn fileno(&self) -> PyResult<i32> {
                use std::os::fd::AsRawFd;
                let descriptor = self.table.memfd().ok_or_else(|| {
                    pyo3::exceptions::PyOSError::new_err(
                        "a filter in a file has no descriptor: open it by its path",
                    )
                })?;
                Ok(descriptor.as_raw_fd())
            }

            /// Counts the items of a file that no process uses, so that `len` is exact again after
            /// processes were killed. Returns the number.
            ///
            /// BusyError if a process uses the filter, be it this one.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.update(["ani", "koel"])
            ///     >>> del f
            #[doc = concat!("    >>> ", stringify!($class), ".recount(path)")]
            ///     2
            #[staticmethod]
            #[pyo3(signature = (path, /))]
            fn recount(py: Python<'_>, path: std::path::PathBuf) -> PyResult<usize> {
                let mut filter = Self::open(py, path.clone(), crate::arguments::Items::Any)?;
                py.detach(|| filter.table.recount())
                    .map_err(|error| crate::shared::errors::recount_error(py, &path, error))
            }

            /// Takes one of the seats for processes, unless this process has one. BusyError if all are
            /// taken.
            ///
            /// Opening a file takes a seat. A child process that uses its parent's filter takes its own by
            /// this call, or in its first call that needs one.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.participants().in_use
            ///     1
            fn attach(&self, py: Python<'_>) -> PyResult<()> {
                py.detach(|| self.take_seat())
            }

            /// Completes or undoes what killed processes have begun. Returns the number of these
            /// processes.
            ///
            /// An `add` that finds no room does this by itself. Call it after a process was killed, for
            /// example in its parent.
            ///
            #[doc = concat!("    >>> ", $make, ".repair()")]
            ///     0
            fn repair(&self, py: Python<'_>) -> usize {
                py.detach(|| self.table.repair()).processes
            }

            /// Removes all items.
            fn clear(&self, py: Python<'_>) -> PyResult<()> {
                py.detach(|| self.table.clear())
                    .map_err(crate::shared::errors::attach_error)
            }

            /// The items as bytes, while processes use the filter.
            #[doc = concat!("`from_bytes` of this class, or of `", $own, "`, makes a filter from them.")]
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add("ani")
            #[doc = concat!("    >>> \"ani\" in ", $own, ".from_bytes(f.to_bytes())")]
            ///     True
            fn to_bytes<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
                self.attach(py)?;
                crate::snapshot::to_bytes(py, self)
            }

            #[doc = concat!("Writes the items to another file, which `", $own, ".load` reads, while processes")]
            /// use the filter. That file is replaced at once, also if the machine crashes. Only its owner can
            /// read it.
            fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
                self.attach(py)?;
                crate::snapshot::save(py, &path, || self.table.as_filter().save(&path))
            }

            /// Adds all copies of another filter, shared or not. Both must have the same seed and sizes.
            ///
            /// An item of both filters then has the copies of both. `union_with` adds only what is missing.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            #[doc = concat!("    >>> other = ", $own, ".from_bytes(f.to_bytes())")]
            ///     >>> other.add("ani")
            ///     >>> f.merge(other)
            ///     >>> "ani" in f
            ///     True
            #[pyo3(signature = (other, /))]
            fn merge(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                let (filter, other) = self.mergeable(py, &other)?;
                py.detach(|| filter.merge(other))
                    .map_err(crate::errors::merge_error)
            }

            /// Adds what another filter has and this one lacks, as that of
            #[doc = concat!("`", $own, "`. Both must have the same seed and sizes. A repeated call changes nothing.")]
            #[pyo3(signature = (other, /))]
            fn union_with(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                let (filter, other) = self.mergeable(py, &other)?;
                py.detach(|| filter.union_with(other))
                    .map_err(crate::errors::merge_error)
            }

            /// Removes what another filter lacks, as that of
            #[doc = concat!("`", $own, "`. Both must have the same seed and sizes. A repeated call removes nothing.")]
            #[pyo3(signature = (other, /))]
            fn intersect_with(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                let (filter, other) = self.mergeable(py, &other)?;
                py.detach(|| filter.intersect_with(other))
                    .map_err(crate::errors::merge_error)
            }

            /// Removes all copies of what another filter has, as that of
            #[doc = concat!("`", $own, "`. Both must have the same seed and sizes. A repeated call removes nothing.")]
            #[pyo3(signature = (other, /))]
            fn difference_with(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                let (filter, other) = self.mergeable(py, &other)?;
                py.detach(|| filter.difference_with(other))
                    .map_err(crate::errors::merge_error)
            }

            /// Whether both are one shared filter, or hold the same copies with the same settings and seed.
            /// O(n).
            fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<bool> {
                let py = slf.py();
                let (this, that) = (slf.get(), other.get());
                if this.rule.items != that.rule.items {
                    return Ok(false);
                }
                if slf.is(other) {
                    return Ok(true);
                }
                let (this, that) = (this.to_scan(py)?, that.to_scan(py)?);
                Ok(this.header() == that.header()
                    && py.detach(|| this.digest() == that.digest()))
            }

            fn __copy__(&self) -> PyResult<Self> {
                Err(pyo3::exceptions::PyTypeError::new_err(concat!(
                    "a shared filter is not copied: open it again for the same filter, and use `",
                    $own,
                    ".from_bytes(f.to_bytes())` for one of this process",
                )))
            }

            #[pyo3(signature = (memo, /))]
            fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
                let _ = memo;
                self.__copy__()
            }

            /// False if a process was killed while it used the filter, before this object was made and
            /// after the last `recount`. No item is lost then, but `len` may be off.
            ///
            #[doc = concat!("    >>> ", $make, ".was_closed_cleanly")]
            ///     True
            #[getter]
            fn was_closed_cleanly(&self) -> bool {
                self.table.was_closed_cleanly()
            }
        }
    };
}
pub(super) use shared;

/// What a pickle has: the function that opens the file again, its path, and which values are items.
pub(super) type Reduced<'py> = (Bound<'py, PyAny>, (PathBuf, &'static str));

/// What a pickle has of a filter. TypeError if it has no path.
pub(super) fn reduced<'py>(
    py: Python<'py>,
    restore: &str,
    (path, items): (Option<&Path>, &'static str),
) -> PyResult<Reduced<'py>> {
    let path = path.ok_or_else(|| {
        PyTypeError::new_err(
            "a filter without a path cannot be pickled: send its fileno() to the other process",
        )
    })?;
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

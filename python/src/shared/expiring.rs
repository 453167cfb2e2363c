//! `SharedExpiringFilter`: a filter that forgets items, and that several processes share.

use super::{
    errors::attach_error,
    files::{PROCESSES, memfd, opened, shared, shown_path, without_gil},
};
use crate::{
    arguments::{ExpiringSettings, Items, Seconds, Whole, since},
    batch::{self, Keys, Nulls},
    common::{Changes, Lookups, changes, lookups},
    direct::Hashing,
    expiring::Other,
    item::Rule,
};
use guira::{BatchError, ExpiringBuilder, ExpiringFilter, Hashed};
use pyo3::prelude::*;
use std::path::PathBuf;

type Table = guira_shm::SharedExpiringFilter;

/// An expiring filter that several processes share, on 64-bit Linux.
///
///     >>> from guira_filter import SharedExpiringFilter
///     >>> seen = SharedExpiringFilter.open_or_create(path, 3600, 1_000_000)
///     >>> seen.add_unique("event-1")
///     True
///     >>> SharedExpiringFilter.open(path).add_unique("event-1")  # usually in another process
///     False
///     >>> seen.tick()  # about four times per epoch, in at least one process
///     False
///
/// Unlike in an `ExpiringFilter`, **nothing expires unless a process calls `tick`**: in a thread, for
/// example. One process is enough, and several may do so. An item is present for at least `ttl` after it
/// was added or refreshed, and for at most `ttl * (1 + 1 / epochs)` if `tick` is called on time. All
/// processes go by the time since the machine started, including the time in which it was suspended.
///
/// What `SharedFilter` says of files, children, pickles and killed processes holds here, too. The filter
/// does not grow.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct SharedExpiringFilter {
    /// In a box, because Python aligns objects to 16 bytes only.
    table: Box<Table>,
    rule: Rule,
    /// `None` for a memfd.
    path: Option<PathBuf>,
}

impl SharedExpiringFilter {
    #[inline]
    pub(crate) fn add_or_refresh_hash(&self, py: Python<'_>, hash: Hashed) -> PyResult<bool> {
        self.insert(py, || self.table.insert_or_refresh(&hash))
    }

    /// The answers of `write` for a batch of items.
    fn written<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
        write: impl Fn(&[Hashed], &mut [bool]) -> Result<(), BatchError> + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        batch::answers(
            items,
            Keys::Items(&self.rule, nulls),
            &|_| (),
            &|hashes, answers| write(hashes, answers).map_err(|error| self.refused(error)),
        )
    }
}

/// Implements the time of a class. The second argument makes one `f` in the examples.
macro_rules! times {
    ($class:ident, $make:literal) => {
        #[pymethods]
        impl $class {
            /// The time for which an item is present at least, in seconds.
            #[getter]
            fn ttl(&self) -> f64 {
                self.table.ttl().as_secs_f64()
            }

            /// How many epochs a TTL has: the steps in which time passes.
            #[getter]
            fn epochs(&self) -> u32 {
                self.table.epochs()
            }

            /// The length of an epoch in seconds.
            #[getter]
            fn epoch_length(&self) -> f64 {
                self.table.epoch_length().as_secs_f64()
            }

            /// The number of epochs that processes have begun since the filter was made.
            #[getter]
            fn epoch(&self) -> u64 {
                self.table.epoch()
            }

            /// How long the current epoch has lasted, in seconds. Much more than `epoch_length` if no
            /// process calls `tick`. None if it is unknown when the epoch began.
            ///
            #[doc = concat!("    >>> ", $make)]
            ///     >>> 0 <= f.epoch_age < f.epoch_length
            ///     True
            #[getter]
            fn epoch_age(&self) -> Option<f64> {
                Some(self.table.epoch_age()?.as_secs_f64())
            }
        }
    };
}
pub(super) use times;

opened!(
    SharedExpiringFilter of Table, write = true, restored by "_restore_shared_expiring_filter",
    "SharedExpiringFilter.create(path, 3600)", "SharedExpiringFilter.create_memfd(3600)"
);
shared!(
    SharedExpiringFilter of Table, made by ExpiringBuilder, copied by "ExpiringFilter",
    like ExpiringFilter, merged with Other<'_>, "SharedExpiringFilter.create(path, 3600)"
);
lookups!(
    SharedExpiringFilter,
    "f = SharedExpiringFilter.create(path, 60); f.add(\"ani\")"
);
changes!(
    SharedExpiringFilter,
    "SharedExpiringFilter.create(path, 60)"
);
times!(
    SharedExpiringFilter,
    "f = SharedExpiringFilter.create(path, 60)"
);

#[pymethods]
impl SharedExpiringFilter {
    /// Creates a file with an empty filter, and opens it. FileExistsError if there is a file.
    ///
    /// All memory is allocated at once, so OSError if the file system has no room for it. Only the owner
    /// can read and write the file.
    ///
    ///     >>> f = SharedExpiringFilter.create(path, 60, 1000, epochs=6, max_processes=8)
    ///     >>> f.epoch_length, f.participants().max
    ///     (10.0, 8)
    ///
    /// ttl: seconds, or a timedelta.
    /// max_processes: the most that can use it at a time, 255 at most.
    /// The other arguments have the meaning that they have for `ExpiringFilter`.
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[staticmethod]
    #[pyo3(signature = (
        path, ttl, capacity = Whole(1024), false_positive_rate = None, *, epochs = None,
        fingerprint_bits = None, seed = None, max_processes = Whole(PROCESSES), items = Items::Any,
    ), text_signature = "(path, ttl, capacity=1024, false_positive_rate=None, *, epochs=None, \
        fingerprint_bits=None, seed=None, max_processes=63, items='any')")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        ttl: Seconds,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        epochs: Option<Whole<u32>>,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let settings = ExpiringSettings {
            ttl,
            capacity,
            false_positive_rate,
            max_capacity: None,
            epochs,
            fingerprint_bits,
            counter_bits: None,
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
    ///     >>> f = SharedExpiringFilter.open_or_create(path, 60)
    ///     >>> SharedExpiringFilter.open_or_create(path, 3600).ttl
    ///     60.0
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[staticmethod]
    #[pyo3(signature = (
        path, ttl, capacity = Whole(1024), false_positive_rate = None, *, epochs = None,
        fingerprint_bits = None, seed = None, max_processes = Whole(PROCESSES), items = Items::Any,
    ), text_signature = "(path, ttl, capacity=1024, false_positive_rate=None, *, epochs=None, \
        fingerprint_bits=None, seed=None, max_processes=63, items='any')")]
    fn open_or_create(
        py: Python<'_>,
        path: PathBuf,
        ttl: Seconds,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        epochs: Option<Whole<u32>>,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let settings = ExpiringSettings {
            ttl,
            capacity,
            false_positive_rate,
            max_capacity: None,
            epochs,
            fingerprint_bits,
            counter_bits: None,
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
    /// `create_memfd`. `age` is the time since the snapshot was made. FileExistsError if there is a file.
    /// The memory of the snapshot, of the file and of a filter of this process is needed during the call.
    /// FullError if the filter held more than its capacity, and the items do not fit in another order.
    ///
    ///     >>> saved = ExpiringFilter(60)
    ///     >>> saved.add("ani")
    ///     >>> "ani" in SharedExpiringFilter.from_bytes(saved.to_bytes(), path)
    ///     True
    #[staticmethod]
    #[pyo3(
        signature = (
            data, path = None, *, age = None, max_bytes = None, max_processes = Whole(PROCESSES),
            items = Items::Any
        ),
        text_signature = "(data, path=None, *, age=None, max_bytes=None, max_processes=63, items='any')"
    )]
    fn from_bytes(
        data: &Bound<'_, PyAny>,
        path: Option<PathBuf>,
        age: Option<Seconds>,
        max_bytes: Option<Whole<usize>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let filter = crate::snapshot::from_bytes(data, max_bytes.map(|max| max.0), since(age))?;
        Self::restored(data.py(), filter, path, max_processes.0, items)
    }

    /// The filter of a file that `save` of any class, here or in Rust, has written, as `from_bytes` makes it.
    /// The time since then counts, by the time of day.
    ///
    ///     >>> saved = ExpiringFilter(60)
    ///     >>> saved.add("ani")
    ///     >>> saved.save(f"{path}.saved")
    ///     >>> "ani" in SharedExpiringFilter.load(f"{path}.saved", path)
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
    ///     >>> f = SharedExpiringFilter.create_memfd(60)
    ///     >>> f.add("ani")
    ///     >>> "ani" in SharedExpiringFilter.from_memfd(f.fileno())  # usually in another process
    ///     True
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[staticmethod]
    #[pyo3(signature = (
        ttl, capacity = Whole(1024), false_positive_rate = None, *, epochs = None,
        fingerprint_bits = None, seed = None, max_processes = Whole(PROCESSES), items = Items::Any,
    ), text_signature = "(ttl, capacity=1024, false_positive_rate=None, *, epochs=None, \
        fingerprint_bits=None, seed=None, max_processes=63, items='any')")]
    fn create_memfd(
        py: Python<'_>,
        ttl: Seconds,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        epochs: Option<Whole<u32>>,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        max_processes: Whole<usize>,
        items: Items,
    ) -> PyResult<Self> {
        let settings = ExpiringSettings {
            ttl,
            capacity,
            false_positive_rate,
            max_capacity: None,
            epochs,
            fingerprint_bits,
            counter_bits: None,
            seed,
        };
        let builder = settings.builder();
        without_gil(py, memfd(), || {
            Self::create_memory(builder, max_processes.0, items)
        })
    }

    /// Begins the next epoch if it is due, and removes what has expired. True if this call began an epoch.
    ///
    /// Call it about four times per `epoch_length`, in at least one process: without it nothing expires.
    /// However late a call is, it expires what was last seen a TTL before the present epoch began. While a
    /// *stopped* process keeps an expired item from being removed, no epoch begins, and the next call tries
    /// again. BusyError if this process needs a seat and all are taken.
    ///
    ///     >>> import time
    ///     >>> f = SharedExpiringFilter.create(path, 0.02)
    ///     >>> f.add("ani")
    ///     >>> while "ani" in f:
    ///     ...     _ = f.tick()
    ///     ...     time.sleep(f.epoch_length / 4)
    fn tick(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.table.tick()).map_err(attach_error)
    }

    /// Resets the time of an item. False if it is absent or has expired.
    ///
    ///     >>> f = SharedExpiringFilter.create(path, 60)
    ///     >>> f.refresh("ani")
    ///     False
    #[pyo3(signature = (item, /))]
    fn refresh(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = self.rule.hash(item)?;
        self.insert(item.py(), || self.table.refresh(&hash))
    }

    /// Adds an item if it is absent, and resets its time if it is present: a sliding window. True if
    /// this call added it.
    ///
    ///     >>> f = SharedExpiringFilter.create(path, 60)
    ///     >>> f.add_or_refresh("ani"), f.add_or_refresh("ani")
    ///     (True, False)
    #[pyo3(signature = (item, /))]
    fn add_or_refresh(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.add_or_refresh_hash(item.py(), self.rule.hash(item)?)
    }

    /// `refresh` of each item: which of them were present.
    ///
    ///     >>> f = SharedExpiringFilter.create(path, 60)
    ///     >>> f.add("ani")
    ///     >>> f.refresh_many(["ani", "koel"])
    ///     [True, False]
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn refresh_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = self.table.as_filter();
        self.written(items, nulls, |hashes, found| {
            filter.refresh_batch(hashes, found)
        })
    }

    /// `add_or_refresh` of each item: which of them this call added.
    ///
    ///     >>> SharedExpiringFilter.create(path, 60).add_or_refresh_many(["ani", "koel", "ani"])
    ///     [True, True, False]
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn add_or_refresh_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = self.table.as_filter();
        self.written(items, nulls, |hashes, added| {
            filter.insert_or_refresh_batch(hashes, added)
        })
    }

    fn __repr__(&self) -> String {
        let (path, ttl) = (shown_path(self.path.as_deref()), self.ttl());
        let (capacity, items, len) = (self.capacity(), self.rule.items.name(), self.len());
        format!(
            "SharedExpiringFilter(path={path}, ttl={ttl}, capacity={capacity}, items='{items}', len={len})"
        )
    }
}

/// What a pickle calls.
#[pyfunction(name = "_restore_shared_expiring_filter")]
#[pyo3(signature = (path, items, /))]
pub(crate) fn restore_shared_expiring_filter(
    py: Python<'_>,
    path: PathBuf,
    items: Items,
) -> PyResult<SharedExpiringFilter> {
    SharedExpiringFilter::open(py, path, items)
}

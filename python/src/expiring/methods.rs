//! What Python sees of `ExpiringFilter`.

use super::{ExpiringFilter, Other, Table, writes::Written};
use crate::{
    arguments::{ClockKind, ExpiringSettings, Items, Seconds, Whole, since},
    batch::{Keys, Nulls},
    common::{operators, slots},
    errors::{build_error, snapshot_error},
    estimate::Estimate,
    item::Rule,
    snapshot::{self, Timed},
    stats::Stats,
};
use guira::Hashed;
use pyo3::{
    exceptions::{PyKeyError, PyTypeError},
    prelude::*,
    types::PyBytes,
};
use std::path::PathBuf;

operators!(ExpiringFilter, Other<'_>);
slots!(ExpiringFilter, "ExpiringFilter(60, counter_bits=4)");

#[pymethods]
impl ExpiringFilter {
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[new]
    #[pyo3(signature = (
        ttl, capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        epochs = None, fingerprint_bits = None, counter_bits = None, seed = None, items = Items::Any,
        clock = ClockKind::Monotonic,
    ), text_signature = "(ttl, capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        epochs=None, fingerprint_bits=None, counter_bits=None, seed=None, items='any', \
        clock='monotonic')")]
    fn new(
        py: Python<'_>,
        ttl: Seconds,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        epochs: Option<Whole<u32>>,
        fingerprint_bits: Option<Whole<u32>>,
        counter_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        items: Items,
        clock: ClockKind,
    ) -> PyResult<Self> {
        let settings = ExpiringSettings {
            ttl,
            capacity,
            false_positive_rate,
            max_capacity,
            epochs,
            fingerprint_bits,
            counter_bits,
            seed,
        };
        let builder = settings.builder();
        let table = py.detach(|| builder.build()).map_err(build_error)?;
        Ok(Self::of(table, items, clock))
    }

    /// What a filter with these arguments will take at each size. No memory is allocated for it.
    ///
    ///     >>> plan = ExpiringFilter.estimate(3600, 1_000_000)
    ///     >>> plan.nbytes == ExpiringFilter(3600, 1_000_000).nbytes
    ///     True
    #[staticmethod]
    #[pyo3(signature = (
        ttl, capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        epochs = None, fingerprint_bits = None, counter_bits = None,
    ), text_signature = "(ttl, capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        epochs=None, fingerprint_bits=None, counter_bits=None)")]
    fn estimate(
        ttl: Seconds,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        epochs: Option<Whole<u32>>,
        fingerprint_bits: Option<Whole<u32>>,
        counter_bits: Option<Whole<u32>>,
    ) -> PyResult<Estimate> {
        let settings = ExpiringSettings {
            ttl,
            capacity,
            false_positive_rate,
            max_capacity,
            epochs,
            fingerprint_bits,
            counter_bits,
            seed: None,
        };
        Estimate::of(settings.builder().estimate())
    }

    /// Adds a copy of an item, seen now. FullError if there is no room.
    ///
    ///     >>> f = ExpiringFilter(60, clock="manual")
    ///     >>> f.add("ani")
    ///     >>> _ = f.tick(30)
    ///     >>> "ani" in f
    ///     True
    ///     >>> _ = f.tick(300)
    ///     >>> "ani" in f
    ///     False
    #[pyo3(signature = (item, /))]
    fn add(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add_hash(item.py(), self.rule.hash(item)?)
    }

    /// Adds a copy of an item, seen now, and returns how many there are now: those within the TTL. So it is a
    /// rate limit, for which a filter needs counters.
    ///
    /// Of calls of threads that race, at most n return a number up to n. FullError if no further copy fits.
    ///
    ///     >>> logins = ExpiringFilter(60, counter_bits=4)
    ///     >>> [logins.add_and_count("ani") <= 2 for _ in range(3)]
    ///     [True, True, False]
    #[pyo3(signature = (item, /))]
    fn add_and_count(&self, item: &Bound<'_, PyAny>) -> PyResult<usize> {
        let hash = self.rule.hash(item)?;
        self.add_hash(item.py(), hash)?;
        Ok(self.table.count(&hash))
    }

    /// Adds an item unless it is present: True if it was not seen within the TTL.
    ///
    /// The time of a present item is not reset. When threads race to add an absent item, exactly one
    /// call returns True. At the false-positive rate an absent item gets False, and is then not
    /// added.
    ///
    ///     >>> keys = ExpiringFilter(86400)
    ///     >>> keys.add_unique("request 4711"), keys.add_unique("request 4711")
    ///     (True, False)
    #[pyo3(signature = (item, /))]
    fn add_unique(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.add_unique_hash(item.py(), self.rule.hash(item)?)
    }

    /// Resets the time of an item. False if it is absent or has expired.
    ///
    ///     >>> f = ExpiringFilter(60)
    ///     >>> f.refresh("ani")
    ///     False
    #[pyo3(signature = (item, /))]
    fn refresh(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = self.rule.hash(item)?;
        let refresh = || self.table.refresh(&hash);
        self.write(item.py(), hash, refresh, Written::Answered)
    }

    /// Adds an item if it is absent, and resets its time if it is present: a sliding window. True if
    /// this call added it.
    ///
    ///     >>> f = ExpiringFilter(60)
    ///     >>> f.add_or_refresh("ani"), f.add_or_refresh("ani")
    ///     (True, False)
    #[pyo3(signature = (item, /))]
    fn add_or_refresh(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.add_or_refresh_hash(item.py(), self.rule.hash(item)?)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = self.rule.hash(item)?;
        self.begin(item.py());
        Ok(self.table.contains(&hash))
    }

    /// Removes the oldest copy of an item. True if there was one.
    #[pyo3(signature = (item, /))]
    fn discard(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.discard_hash(item.py(), self.rule.hash(item)?)
    }

    /// Removes the oldest copy of an item. KeyError if it is absent.
    #[pyo3(signature = (item, /))]
    fn remove(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.discard_hash(item.py(), self.rule.hash(item)?)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(item.clone().unbind())),
        }
    }

    /// The number of copies of an item, and of items that collide with it.
    #[pyo3(signature = (item, /))]
    fn count(&self, item: &Bound<'_, PyAny>) -> PyResult<usize> {
        let hash = self.rule.hash(item)?;
        self.begin(item.py());
        Ok(self.table.count(&hash))
    }

    /// The 64-bit hash of an item, for the methods whose names end in `_hashes`.
    #[pyo3(signature = (item, /))]
    fn hash_of(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.rule.hash(item)?.0)
    }

    /// Adds a copy of each item, seen now. It takes the same batches as `Filter.update`.
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn update(&self, items: &Bound<'_, PyAny>, nulls: Nulls) -> PyResult<()> {
        self.apply(items, Keys::Items(&self.rule, nulls), &self.insert_all())
    }

    /// Whether each item is present: an ndarray for an array, and a list for other batches.
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn contains_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answers(items, Keys::Items(&self.rule, nulls), &self.contains_all())
    }

    /// `add_unique` of each item: which of them this call added.
    ///
    ///     >>> ExpiringFilter(60).add_unique_many(["ani", "koel", "ani"])
    ///     [True, True, False]
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn add_unique_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answers(
            items,
            Keys::Items(&self.rule, nulls),
            &self.insert_unique_all(),
        )
    }

    /// `refresh` of each item: which of them were present.
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn refresh_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        let refresh =
            |hashes: &[Hashed], found: &mut [bool]| self.table.refresh_batch(hashes, found);
        self.answers(
            items,
            Keys::Items(&self.rule, nulls),
            &self.writing(refresh, Written::Answered),
        )
    }

    /// `add_or_refresh` of each item: which of them this call added.
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn add_or_refresh_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        let write = |hashes: &[Hashed], added: &mut [bool]| {
            self.table.insert_or_refresh_batch(hashes, added)
        };
        self.answers(
            items,
            Keys::Items(&self.rule, nulls),
            &self.writing(write, Written::All),
        )
    }

    /// `discard` of each item: which of them were present.
    #[pyo3(
        signature = (items, /, *, nulls = Nulls::Absent),
        text_signature = "($self, items, /, *, nulls='absent')"
    )]
    fn discard_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answers(items, Keys::Items(&self.rule, nulls), &self.remove_all())
    }

    /// `update` with hashes: an array of uint64, or an iterable of ints from 0 to 2**64 - 1.
    #[pyo3(signature = (hashes, /))]
    fn update_hashes(&self, hashes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.apply(hashes, Keys::Hashes, &self.insert_all())
    }

    /// `contains_many` with hashes.
    #[pyo3(signature = (hashes, /))]
    fn contains_hashes<'py>(&self, hashes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.answers(hashes, Keys::Hashes, &self.contains_all())
    }

    /// `add_unique_many` with hashes.
    #[pyo3(signature = (hashes, /))]
    fn add_unique_hashes<'py>(&self, hashes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.answers(hashes, Keys::Hashes, &self.insert_unique_all())
    }

    /// `discard_many` with hashes.
    #[pyo3(signature = (hashes, /))]
    fn discard_hashes<'py>(&self, hashes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.answers(hashes, Keys::Hashes, &self.remove_all())
    }

    /// Expires what is due. True if time has passed in the filter.
    ///
    /// With clock="manual", `elapsed` is the reading of the clock: seconds or a timedelta since any
    /// fixed moment. The first epoch begins at 0. A reading that is not later than the last one changes
    /// nothing, so several threads may call `tick(time.monotonic())`. With clock="monotonic" there is no
    /// reading, and every other call does the same: call it only to free memory for new items earlier.
    ///
    ///     >>> f = ExpiringFilter(60, epochs=6, clock="manual")
    ///     >>> f.tick(9), f.tick(10)
    ///     (False, True)
    #[pyo3(signature = (elapsed = None, /))]
    fn tick(&self, py: Python<'_>, elapsed: Option<Seconds>) -> PyResult<bool> {
        match (self.clock.kind(), elapsed) {
            (ClockKind::Monotonic, None) => Ok(py.detach(|| self.clock.begin_due(&self.table))),
            (ClockKind::Manual, Some(Seconds(elapsed))) => self.tick_at(py, elapsed),
            (ClockKind::Monotonic, Some(Seconds(elapsed))) => Err(PyTypeError::new_err(format!(
                "tick takes no reading in a filter with clock='monotonic', got {elapsed:?}"
            ))),
            (ClockKind::Manual, None) => Err(PyTypeError::new_err(
                "tick needs the reading of the clock in a filter with clock='manual'",
            )),
        }
    }

    /// Adds all copies of another filter with their times. Both must have the same seed and sizes.
    #[pyo3(signature = (other, /))]
    fn merge(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, Table::merge)
    }

    /// Adds what another filter has and this one lacks. An item is then in this filter as often as
    /// in the filter that had it most often, and its time is that of the filter that saw it last.
    ///
    /// Both filters must have the same seed and sizes. Unite in one direction only: filters that are
    /// united back and forth once per epoch keep each other's items alive for ever.
    ///
    ///     >>> a = ExpiringFilter(60, seed=7)
    ///     >>> b = ExpiringFilter(60, seed=7)
    ///     >>> a.add("ani"); b.update(["ani", "koel"])
    ///     >>> a.union_with(b); a.union_with(b)
    ///     >>> len(a), a.count("ani")
    ///     (2, 1)
    #[pyo3(signature = (other, /))]
    fn union_with(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, Table::union_with)
    }

    /// Removes what another filter lacks. An item is then in this filter as often as in the filter that
    /// had it least often. The youngest copies stay, with their times.
    ///
    /// A repeated call removes nothing. Both filters must have the same seed and sizes.
    ///
    ///     >>> a, b = ExpiringFilter(60, seed=7), ExpiringFilter(60, seed=7)
    ///     >>> a.update(["ani", "koel", "koel"]); b.update(["koel", "guira"])
    ///     >>> a.intersect_with(b)
    ///     >>> len(a), a.count("koel")
    ///     (1, 1)
    #[pyo3(signature = (other, /))]
    fn intersect_with(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, Table::intersect_with)
    }

    /// Removes all copies of what another filter has. At the false-positive rate, it also removes items
    /// that the other filter lacks.
    ///
    /// A repeated call removes nothing. Both filters must have the same seed and sizes.
    ///
    ///     >>> a, b = ExpiringFilter(60, seed=7), ExpiringFilter(60, seed=7)
    ///     >>> a.update(["ani", "koel", "koel"]); b.update(["koel", "guira"])
    ///     >>> a.difference_with(b)
    ///     >>> len(a), "ani" in a
    ///     (1, True)
    #[pyo3(signature = (other, /))]
    fn difference_with(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, Table::difference_with)
    }

    /// Removes all items.
    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.table.clear());
    }

    /// A filter with the same items and times, while other threads use this one. Its clock is
    /// reset: items live at most one epoch longer.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.begin(py);
        let (table, clock) = py
            .detach(|| {
                let table = self.table.try_clone()?;
                let clock = self.clock.duplicate(&table);
                Ok((table, clock))
            })
            .map_err(snapshot_error)?;
        Ok(Self {
            rule: Rule::new(table.hasher(), self.rule.items),
            clock,
            table: Box::new(table),
        })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let _ = memo;
        self.copy(py)
    }

    /// Time does not pass in a pickle.
    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        Bound<'py, PyAny>,
        (Bound<'py, PyBytes>, &'static str, &'static str),
    )> {
        let module = py.import("guira_filter._guira_filter")?;
        let restore = module.getattr("_restore_expiring_filter")?;
        let (items, clock) = (self.rule.items.name(), self.clock.kind().name());
        Ok((restore, (self.to_bytes(py)?, items, clock)))
    }

    /// The filter as bytes, while other threads use it. Rust's `ExpiringFilter::from_bytes` reads
    /// them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.begin(py);
        snapshot::to_bytes(py, &Timed(&self.table, &self.clock))
    }

    /// The filter of `to_bytes`, or of Rust's. SnapshotError if the bytes are something else.
    ///
    /// `age` is the time since the bytes were made, in seconds or as a timedelta. For bytes of
    /// strangers set `max_bytes`: the memory that the filter may occupy.
    #[staticmethod]
    #[pyo3(
        signature = (
            data, *, age = None, max_bytes = None, items = Items::Any, clock = ClockKind::Monotonic
        ),
        text_signature = "(data, *, age=None, max_bytes=None, items='any', clock='monotonic')"
    )]
    fn from_bytes(
        data: &Bound<'_, PyAny>,
        age: Option<Seconds>,
        max_bytes: Option<Whole<usize>>,
        items: Items,
        clock: ClockKind,
    ) -> PyResult<Self> {
        let table = snapshot::from_bytes(data, max_bytes.map(|max| max.0), since(age))?;
        Ok(Self::of(table, items, clock))
    }

    /// Writes the filter to a file, while other threads use it. The file is replaced at once: it has
    /// the old or the new bytes, also after a crash. Only its owner can read it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.begin(py);
        let save = || self.table.save_at(&path, || self.clock.reading());
        snapshot::save(py, &path, save)
    }

    /// The filter of a file that `save`, here or in Rust, has written. The time since then counts, by the
    /// time of day.
    #[staticmethod]
    #[pyo3(
        signature = (path, *, max_bytes = None, items = Items::Any, clock = ClockKind::Monotonic),
        text_signature = "(path, *, max_bytes=None, items='any', clock='monotonic')"
    )]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        max_bytes: Option<Whole<usize>>,
        items: Items,
        clock: ClockKind,
    ) -> PyResult<Self> {
        let table = snapshot::load(py, &path, max_bytes.map(|max| max.0))?;
        Ok(Self::of(table, items, clock))
    }

    /// The filter of a key with a window, of guira-server or of its module.
    ///
    /// `pieces` are what `CF.SCANDUMP` returned for it, in order and with the header. The filter has
    /// items="bytes".
    #[staticmethod]
    #[pyo3(
        signature = (pieces, *, age = None, max_bytes = None, clock = ClockKind::Monotonic),
        text_signature = "(pieces, *, age=None, max_bytes=None, clock='monotonic')"
    )]
    fn from_dump(
        pieces: &Bound<'_, PyAny>,
        age: Option<Seconds>,
        max_bytes: Option<Whole<usize>>,
        clock: ClockKind,
    ) -> PyResult<Self> {
        let table = snapshot::from_dump(pieces, max_bytes.map(|max| max.0), since(age))?;
        Ok(Self::of(table, Items::Bytes, clock))
    }

    /// A number of 128 bits that says whether two filters hold the same copies with the same ages.
    fn digest(&self, py: Python<'_>) -> u128 {
        self.begin(py);
        py.detach(|| self.table.digest())
    }

    /// The counters of the filter, for metrics.
    fn stats(&self) -> Stats {
        self.table.stats().into()
    }

    /// Copies in the filter. Expired copies count until they are swept.
    fn __len__(&self, py: Python<'_>) -> usize {
        self.begin(py);
        self.table.len()
    }

    fn __sizeof__(&self) -> usize {
        self.table.memory_usage()
    }

    /// Whether both filters are of the same settings and seed, and hold the same copies with the same ages.
    /// O(n).
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> bool {
        let (this, that) = (slf.get(), other.get());
        // Other threads may write between two digests of one filter.
        slf.is(other)
            || this.rule.items == that.rule.items
                && this.table.header() == that.table.header()
                && this.digest(slf.py()) == that.digest(slf.py())
    }

    fn __repr__(&self) -> String {
        let (ttl, capacity) = (self.ttl(), self.table.capacity());
        let (items, len) = (self.rule.items.name(), self.table.len());
        format!("ExpiringFilter(ttl={ttl}, capacity={capacity}, items='{items}', len={len})")
    }

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

    /// The number of epochs that have begun since the filter was made.
    #[getter]
    fn epoch(&self) -> u64 {
        self.table.epoch()
    }

    /// "monotonic" or "manual".
    #[getter(clock)]
    fn clock_name(&self) -> &'static str {
        self.clock.kind().name()
    }

    /// Distinct items within a TTL for which there is room.
    #[getter]
    fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// Distinct items within a TTL for which there is room at the largest size.
    #[getter]
    fn max_capacity(&self) -> usize {
        self.table.max_capacity()
    }

    /// The share of slots in use, from 0 to 1.
    #[getter]
    fn load_factor(&self) -> f64 {
        self.table.load_factor()
    }

    /// The bytes that the filter occupies.
    #[getter]
    fn nbytes(&self) -> usize {
        self.table.memory_usage()
    }

    /// The seed of the hashes. Keep it secret if strangers choose the items.
    #[getter]
    fn seed(&self) -> u64 {
        self.rule.seed()
    }

    /// "any" or "bytes": which values are items.
    #[getter(items)]
    fn items_name(&self) -> &'static str {
        self.rule.items.name()
    }
}

/// What a pickle calls.
#[pyfunction(name = "_restore_expiring_filter")]
#[pyo3(signature = (data, items, clock, /))]
pub(crate) fn restore_expiring_filter(
    data: &Bound<'_, PyAny>,
    items: Items,
    clock: ClockKind,
) -> PyResult<ExpiringFilter> {
    ExpiringFilter::from_bytes(data, None, None, items, clock)
}

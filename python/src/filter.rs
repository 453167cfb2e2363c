//! `Filter`: a fixed or growing filter.

use crate::{
    arguments::{Items, Preference, Whole},
    batch::{self, Keys, Operation},
    direct::Hashing,
    errors::{build_error, insert_error, merge_error},
    item::Rule,
    snapshot::{self, memory_error},
    stats::Stats,
    tokens::retried,
};
use guira::{BatchError, CuckooFilter};
use pyo3::{exceptions::PyKeyError, prelude::*, types::PyBytes};
use std::{path::PathBuf, time::Duration};

/// An approximate set with deletion, shared by any number of threads.
///
/// `item in filter` is False if the item is certainly absent, and True if it is probably present: an
/// absent item gets True with a probability of at most `false_positive_rate`.
///
///     >>> from guira_filter import Filter
///     >>> seen = Filter(1_000_000, 0.001)
///     >>> seen.add("ani")
///     >>> "ani" in seen, "koel" in seen
///     (True, False)
///     >>> seen.discard("ani")
///     True
///     >>> "ani" in seen
///     False
///
/// Items are `str`, bytes, `int`, and flat tuples of these. They hash alike in every process, and
/// like the values of the same kind in Rust. With `items="bytes"` an item is a byte string, as in
/// guira-server, and a `str` counts as its UTF-8.
///
/// The filter is a multiset: each `add` adds a copy, and an item with n copies is present until n
/// copies were removed. Remove only items that were added: otherwise another item can disappear.
///
/// capacity: distinct items for which there is room, and up to which the rate is kept.
/// false_positive_rate: 0.001 by default, or that of `fingerprint_bits`.
/// max_capacity: lets the filter grow until it has room for this number of items.
/// prefer: "speed", or "space" for a smaller and slower table that cannot grow.
/// fingerprint_bits: the size of a fingerprint, by default that which the rate needs.
/// seed: of the hashes; random by default, so that colliding items cannot be prepared.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct Filter {
    table: CuckooFilter,
    rule: Rule,
}

impl Filter {
    fn of(table: CuckooFilter, items: Items) -> Self {
        let rule = Rule::new(table.hasher(), items);
        Self { table, rule }
    }

    fn items(&self) -> Keys<'_> {
        Keys::Items(&self.rule)
    }

    #[inline]
    pub(crate) fn add_hash(&self, _: Python<'_>, hash: u64) -> PyResult<()> {
        self.table.insert_hash(hash).map_err(insert_error)
    }

    #[inline]
    pub(crate) fn add_unique_hash(&self, py: Python<'_>, hash: u64) -> PyResult<bool> {
        retried(py, || self.table.insert_unique_hash(hash))
    }

    #[inline]
    pub(crate) fn discard_hash(&self, _: Python<'_>, hash: u64) -> PyResult<bool> {
        Ok(self.table.remove_hash(hash))
    }

    fn insert_all(&self) -> impl Fn(&[u64], &mut [bool]) -> Result<(), BatchError> + Sync {
        |hashes, _| self.table.insert_hash_batch(hashes)
    }

    fn insert_unique_all(&self) -> impl Fn(&[u64], &mut [bool]) -> Result<(), BatchError> + Sync {
        |hashes, added| self.table.insert_unique_hash_batch(hashes, added)
    }

    fn contains_all(&self) -> impl Fn(&[u64], &mut [bool]) -> Result<(), BatchError> + Sync {
        |hashes, found| {
            self.table.contains_hash_batch(hashes, found);
            Ok(())
        }
    }

    fn remove_all(&self) -> impl Fn(&[u64], &mut [bool]) -> Result<(), BatchError> + Sync {
        |hashes, removed| {
            self.table.remove_hash_batch(hashes, removed);
            Ok(())
        }
    }

    fn answers<'py>(
        items: &Bound<'py, PyAny>,
        keys: Keys<'_>,
        operation: Operation<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        batch::answers(items, keys, &|_| (), operation)
    }
}

impl Hashing for Filter {
    #[inline]
    fn rule(&self) -> &Rule {
        &self.rule
    }
}

#[pymethods]
impl Filter {
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[new]
    #[pyo3(signature = (
        capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        prefer = Preference(guira::Prefer::Speed), fingerprint_bits = None, seed = None,
        items = Items::Any,
    ), text_signature = "(capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        prefer='speed', fingerprint_bits=None, seed=None, items='any')")]
    fn new(
        py: Python<'_>,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        prefer: Preference,
        fingerprint_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
        items: Items,
    ) -> PyResult<Self> {
        let mut builder = CuckooFilter::builder()
            .capacity(capacity.0)
            .prefer(prefer.0);
        if let Some(rate) = false_positive_rate {
            builder = builder.false_positive_rate(rate);
        }
        if let Some(Whole(capacity)) = max_capacity {
            builder = builder.max_capacity(capacity);
        }
        if let Some(Whole(bits)) = fingerprint_bits {
            builder = builder.fingerprint_bits(bits);
        }
        if let Some(Whole(seed)) = seed {
            builder = builder.seed(seed);
        }
        let table = py.detach(|| builder.build()).map_err(build_error)?;
        Ok(Self::of(table, items))
    }

    /// Adds a copy of an item.
    ///
    /// FullError if there is no room; then nothing was added or removed.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add("ani"); f.add("ani")
    ///     >>> f.count("ani")
    ///     2
    #[pyo3(signature = (item, /))]
    fn add(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add_hash(item.py(), self.rule.hash(item)?)
    }

    /// Adds an item unless it is present. True if this call added it.
    ///
    /// When threads race to add an absent item, exactly one call returns True. At the
    /// false-positive rate an absent item gets False, and is then not added.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add_unique("order-4711"), f.add_unique("order-4711")
    ///     (True, False)
    #[pyo3(signature = (item, /))]
    fn add_unique(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.add_unique_hash(item.py(), self.rule.hash(item)?)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.table.contains_hash(self.rule.hash(item)?))
    }

    /// Removes a copy of an item. True if there was one.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add("ani")
    ///     >>> f.discard("ani"), f.discard("ani")
    ///     (True, False)
    #[pyo3(signature = (item, /))]
    fn discard(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.discard_hash(item.py(), self.rule.hash(item)?)
    }

    /// Removes a copy of an item. KeyError if it is absent.
    ///
    ///     >>> Filter(100).remove("ani")
    ///     Traceback (most recent call last):
    ///     KeyError: 'ani'
    #[pyo3(signature = (item, /))]
    fn remove(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.table.remove_hash(self.rule.hash(item)?) {
            true => Ok(()),
            false => Err(PyKeyError::new_err(item.clone().unbind())),
        }
    }

    /// The number of copies of an item, and of items that collide with it.
    #[pyo3(signature = (item, /))]
    fn count(&self, item: &Bound<'_, PyAny>) -> PyResult<usize> {
        Ok(self.table.count_hash(self.rule.hash(item)?))
    }

    /// The 64-bit hash of an item, for the methods whose names end in `_hashes`.
    ///
    ///     >>> f = Filter(100, seed=7)
    ///     >>> f.update_hashes([f.hash_of("ani")])
    ///     >>> "ani" in f
    ///     True
    #[pyo3(signature = (item, /))]
    fn hash_of(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.rule.hash(item)
    }

    /// Adds a copy of each item.
    ///
    /// A batch is an iterable of items, a numpy array, another buffer, or a column of Arrow, such as
    /// a polars Series. The GIL is released once. FullError has the `index` of the first item that
    /// was not added.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.update(["ani", "koel"])
    ///     >>> len(f)
    ///     2
    #[pyo3(signature = (items, /))]
    fn update(&self, items: &Bound<'_, PyAny>) -> PyResult<()> {
        batch::apply(items, self.items(), &|_| (), &self.insert_all())
    }

    /// Whether each item is present: an ndarray for an array, and a list for other batches.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add("ani")
    ///     >>> f.contains_many(["ani", "koel"])
    ///     [True, False]
    #[pyo3(signature = (items, /))]
    fn contains_many<'py>(&self, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::answers(items, self.items(), &self.contains_all())
    }

    /// `add_unique` of each item: which of them this call added.
    ///
    ///     >>> Filter(100).add_unique_many(["ani", "koel", "ani"])
    ///     [True, True, False]
    #[pyo3(signature = (items, /))]
    fn add_unique_many<'py>(&self, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::answers(items, self.items(), &self.insert_unique_all())
    }

    /// `discard` of each item: which of them were present.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add("ani")
    ///     >>> f.discard_many(["ani", "ani"])
    ///     [True, False]
    #[pyo3(signature = (items, /))]
    fn discard_many<'py>(&self, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::answers(items, self.items(), &self.remove_all())
    }

    /// `update` with hashes: an array of uint64, or an iterable of ints from 0 to 2**64 - 1.
    #[pyo3(signature = (hashes, /))]
    fn update_hashes(&self, hashes: &Bound<'_, PyAny>) -> PyResult<()> {
        batch::apply(hashes, Keys::Hashes, &|_| (), &self.insert_all())
    }

    /// `contains_many` with hashes.
    #[pyo3(signature = (hashes, /))]
    fn contains_hashes<'py>(&self, hashes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::answers(hashes, Keys::Hashes, &self.contains_all())
    }

    /// `add_unique_many` with hashes.
    #[pyo3(signature = (hashes, /))]
    fn add_unique_hashes<'py>(&self, hashes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::answers(hashes, Keys::Hashes, &self.insert_unique_all())
    }

    /// `discard_many` with hashes.
    #[pyo3(signature = (hashes, /))]
    fn discard_hashes<'py>(&self, hashes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::answers(hashes, Keys::Hashes, &self.remove_all())
    }

    /// Adds all copies of another filter, which must have the same seed and sizes.
    ///
    /// An item of both filters then has the copies of both. `union_with` adds only what is missing.
    ///
    ///     >>> a, b = Filter(100, seed=7), Filter(100, seed=7)
    ///     >>> a.add("ani"); b.add("koel")
    ///     >>> a.merge(b)
    ///     >>> "koel" in a
    ///     True
    #[pyo3(signature = (other, /))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        self.rule.check_items(&other.rule)?;
        py.detach(|| self.table.merge(&other.table))
            .map_err(merge_error)
    }

    /// Adds what another filter has and this one lacks. An item is then in this filter as often as
    /// in the filter that had it most often.
    ///
    /// A repeated call changes nothing. Both filters must have the same seed and sizes.
    ///
    ///     >>> a, b = Filter(100, seed=7), Filter(100, seed=7)
    ///     >>> a.update(["ani", "koel"]); b.update(["koel", "guira"])
    ///     >>> a.union_with(b); a.union_with(b)
    ///     >>> len(a), a.count("koel")
    ///     (3, 1)
    #[pyo3(signature = (other, /))]
    fn union_with(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        self.rule.check_items(&other.rule)?;
        py.detach(|| self.table.union_with(&other.table))
            .map_err(merge_error)
    }

    /// Removes all items.
    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.table.clear());
    }

    /// A filter with the same items, while other threads use this one.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add("ani")
    ///     >>> "ani" in f.copy()
    ///     True
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let table = py.detach(|| self.table.try_clone()).map_err(memory_error)?;
        Ok(Self::of(table, self.rule.items))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let _ = memo;
        self.copy(py)
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, &'static str))> {
        let restore = py
            .import("guira_filter._guira_filter")?
            .getattr("_restore_filter")?;
        Ok((restore, (self.to_bytes(py)?, self.rule.items.name())))
    }

    /// The filter as bytes, while other threads use it. Rust's `CuckooFilter::from_bytes` reads
    /// them.
    ///
    ///     >>> f = Filter(100)
    ///     >>> f.add("ani")
    ///     >>> "ani" in Filter.from_bytes(f.to_bytes())
    ///     True
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        snapshot::to_bytes(py, &self.table)
    }

    /// The filter of `to_bytes`, or of Rust's. SnapshotError if the bytes are something else.
    ///
    /// For bytes of strangers set `max_bytes`: the memory that the filter may occupy.
    #[staticmethod]
    #[pyo3(
        signature = (data, *, max_bytes = None, items = Items::Any),
        text_signature = "(data, *, max_bytes=None, items='any')"
    )]
    fn from_bytes(
        data: &Bound<'_, PyAny>,
        max_bytes: Option<Whole<usize>>,
        items: Items,
    ) -> PyResult<Self> {
        let table = snapshot::from_bytes(data, max_bytes.map(|max| max.0), Duration::ZERO)?;
        Ok(Self::of(table, items))
    }

    /// Writes the filter to a file, while other threads use it. The file is replaced at once: it has
    /// the old or the new bytes, also after a crash. A replaced file keeps its permissions.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        snapshot::save(py, &self.table, &path)
    }

    /// The filter of a file that `save`, or a program in Rust, has written.
    #[staticmethod]
    #[pyo3(
        signature = (path, *, max_bytes = None, items = Items::Any),
        text_signature = "(path, *, max_bytes=None, items='any')"
    )]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        max_bytes: Option<Whole<usize>>,
        items: Items,
    ) -> PyResult<Self> {
        let table = snapshot::load(py, &path, max_bytes.map(|max| max.0), Duration::ZERO)?;
        Ok(Self::of(table, items))
    }

    /// The filter of a key of guira-server or of its module.
    ///
    /// `pieces` are what `CF.SCANDUMP` returned for it, in order and with the header. The filter has
    /// items="bytes".
    #[staticmethod]
    #[pyo3(signature = (pieces, *, max_bytes = None))]
    fn from_dump(pieces: &Bound<'_, PyAny>, max_bytes: Option<Whole<usize>>) -> PyResult<Self> {
        let table = snapshot::from_dump(pieces, max_bytes.map(|max| max.0), Duration::ZERO)?;
        Ok(Self::of(table, Items::Bytes))
    }

    /// A number of 128 bits that says whether two filters hold the same copies.
    ///
    /// Filters of the same settings and seed have the same digest if they hold the same copies,
    /// whatever the order in which these were added.
    fn digest(&self, py: Python<'_>) -> u128 {
        py.detach(|| self.table.digest())
    }

    /// The counters of the filter, for metrics.
    fn stats(&self) -> Stats {
        self.table.stats().into()
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }

    fn __sizeof__(&self) -> usize {
        self.table.memory_usage()
    }

    fn __repr__(&self) -> String {
        let (capacity, len) = (self.table.capacity(), self.table.len());
        let rate = self.table.false_positive_rate();
        let items = self.rule.items.name();
        format!(
            "Filter(capacity={capacity}, false_positive_rate={rate:.3e}, items='{items}', len={len})"
        )
    }

    /// Distinct items for which there is room at the present size.
    #[getter]
    fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// Distinct items for which there is room at the largest size.
    #[getter]
    fn max_capacity(&self) -> usize {
        self.table.max_capacity()
    }

    /// The share of absent items that are reported as present, at most, up to the capacity.
    #[getter]
    fn false_positive_rate(&self) -> f64 {
        self.table.false_positive_rate()
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
#[pyfunction(name = "_restore_filter")]
#[pyo3(signature = (data, items, /))]
pub(crate) fn restore_filter(data: &Bound<'_, PyAny>, items: Items) -> PyResult<Filter> {
    Filter::from_bytes(data, None, items)
}

//! What Python sees of `Filter`.

use super::{Filter, Other};
use crate::{
    arguments::{Items, Preference, Settings, Whole},
    common::{operators, slots},
    errors::{build_error, snapshot_error},
    estimate::Estimate,
    snapshot,
};
use guira::CuckooFilter;
use pyo3::{prelude::*, types::PyBytes};
use std::{path::PathBuf, time::Duration};

operators!(Filter, Other<'_>);
slots!(Filter, "Filter(100, counter_bits=4)");

#[pymethods]
impl Filter {
    #[allow(clippy::too_many_arguments)] // They are keywords.
    #[new]
    #[pyo3(signature = (
        capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        prefer = Preference(guira::Prefer::Speed), fingerprint_bits = None, counter_bits = None,
        seed = None, items = Items::Any,
    ), text_signature = "(capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        prefer='speed', fingerprint_bits=None, counter_bits=None, seed=None, items='any')")]
    fn new(
        py: Python<'_>,
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        prefer: Preference,
        fingerprint_bits: Option<Whole<u32>>,
        counter_bits: Option<Whole<u32>>,
        seed: Option<Whole<u64>>,
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
        let mut builder = settings.builder();
        if let Some(Whole(bits)) = counter_bits {
            builder = builder.counter_bits(bits);
        }
        let table = py.detach(|| builder.build()).map_err(build_error)?;
        Ok(Self::of(table, items))
    }

    /// What a filter with these arguments will take at each size. No memory is allocated for it.
    ///
    ///     >>> plan = Filter.estimate(1_000, 0.01, max_capacity=100_000)
    ///     >>> plan.nbytes == Filter(1_000, 0.01, max_capacity=100_000).nbytes
    ///     True
    ///     >>> plan.nbytes < plan.nbytes_at(20_000) < plan.max_nbytes
    ///     True
    #[staticmethod]
    #[pyo3(signature = (
        capacity = Whole(1024), false_positive_rate = None, *, max_capacity = None,
        prefer = Preference(guira::Prefer::Speed), fingerprint_bits = None, counter_bits = None,
    ), text_signature = "(capacity=1024, false_positive_rate=None, *, max_capacity=None, \
        prefer='speed', fingerprint_bits=None, counter_bits=None)")]
    fn estimate(
        capacity: Whole<usize>,
        false_positive_rate: Option<f64>,
        max_capacity: Option<Whole<usize>>,
        prefer: Preference,
        fingerprint_bits: Option<Whole<u32>>,
        counter_bits: Option<Whole<u32>>,
    ) -> PyResult<Estimate> {
        let settings = Settings {
            capacity,
            false_positive_rate,
            max_capacity,
            prefer,
            fingerprint_bits,
            seed: None,
        };
        let mut builder = settings.builder();
        if let Some(Whole(bits)) = counter_bits {
            builder = builder.counter_bits(bits);
        }
        Estimate::of(builder.estimate())
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
    fn merge(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, CuckooFilter::merge)
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
    fn union_with(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, CuckooFilter::union_with)
    }

    /// Removes what another filter lacks. An item is then in this filter as often as in the filter that
    /// had it least often.
    ///
    /// A repeated call removes nothing. Both filters must have the same seed and sizes.
    ///
    ///     >>> a, b = Filter(100, seed=7), Filter(100, seed=7)
    ///     >>> a.update(["ani", "koel", "koel"]); b.update(["koel", "guira"])
    ///     >>> a.intersect_with(b)
    ///     >>> len(a), a.count("koel")
    ///     (1, 1)
    #[pyo3(signature = (other, /))]
    fn intersect_with(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, CuckooFilter::intersect_with)
    }

    /// Removes all copies of what another filter has. At the false-positive rate, it also removes items
    /// that the other filter lacks.
    ///
    /// A repeated call removes nothing. Both filters must have the same seed and sizes.
    ///
    ///     >>> a, b = Filter(100, seed=7), Filter(100, seed=7)
    ///     >>> a.update(["ani", "koel", "koel"]); b.update(["koel", "guira"])
    ///     >>> a.difference_with(b)
    ///     >>> len(a), "ani" in a
    ///     (1, True)
    #[pyo3(signature = (other, /))]
    fn difference_with(&self, py: Python<'_>, other: Other<'_>) -> PyResult<()> {
        self.combine(py, &other, CuckooFilter::difference_with)
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
        let table = py
            .detach(|| self.table.try_clone())
            .map_err(snapshot_error)?;
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
    /// the old or the new bytes, also after a crash. Only its owner can read it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        snapshot::save(py, &path, || self.table.save(&path))
    }

    /// The filter of a file that `save`, here or in Rust, has written.
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
        let table = snapshot::load(py, &path, max_bytes.map(|max| max.0))?;
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

    /// Whether both filters are of the same settings and seed, and hold the same copies. O(n).
    ///
    ///     >>> a, b = Filter(100, seed=7), Filter(100, seed=7)
    ///     >>> a == b
    ///     True
    ///     >>> a.add("ani")
    ///     >>> a == b
    ///     False
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> bool {
        let (this, that) = (slf.get(), other.get());
        // Other threads may write between two digests of one filter.
        slf.is(other)
            || this.rule.items == that.rule.items
                && this.table.header() == that.table.header()
                && this.digest(slf.py()) == that.digest(slf.py())
    }

    fn __repr__(&self) -> String {
        let (capacity, len) = (self.table.capacity(), self.table.len());
        let rate = self.table.false_positive_rate();
        let items = self.rule.items.name();
        format!(
            "Filter(capacity={capacity}, false_positive_rate={rate:.3e}, items='{items}', len={len})"
        )
    }
}

/// What a pickle calls.
#[pyfunction(name = "_restore_filter")]
#[pyo3(signature = (data, items, /))]
pub(crate) fn restore_filter(data: &Bound<'_, PyAny>, items: Items) -> PyResult<Filter> {
    Filter::from_bytes(data, None, items)
}

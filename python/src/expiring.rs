//! `ExpiringFilter`: a filter that forgets items.

mod methods;
mod writes;

use crate::{
    arguments::{ClockKind, Items},
    batch::{self, Keys, Operation},
    clock::Clock,
    direct::Hashing,
    errors::merge_error,
    item::Rule,
};
use guira::MergeError;
pub(crate) use methods::restore_expiring_filter;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;

type Table = guira::ExpiringFilter;

/// An approximate set that forgets each item some time after it was last seen, shared by any number
/// of threads: for "have I seen this within the last hour?".
///
///     >>> from guira_filter import ExpiringFilter
///     >>> seen = ExpiringFilter(3600, 1_000_000)
///     >>> seen.add_unique("event-1"), seen.add_unique("event-1")
///     (True, False)
///
/// An item is present for at least `ttl` after it was added or refreshed, and for at most
/// `ttl * (1 + 1 / epochs)`. Every call looks at the clock and expires what is due; no thread has to.
/// With clock="manual", time passes only in `tick`.
///
/// It takes the same items as Filter. The filter is a multiset: `remove` takes the oldest copy.
///
/// ttl: seconds, or a timedelta.
/// capacity: distinct items within a TTL.
/// max_capacity: lets the filter grow until it has room for this number of items within a TTL.
/// false_positive_rate: 0.001 by default, or that of `fingerprint_bits`.
/// epochs: the steps in which time passes; more of them need more memory.
/// fingerprint_bits: the size of a fingerprint, by default that which the rate needs.
/// counter_bits: 4 or 8 gives each slot a counter of one epoch, so that `count` says how often an item came
///     within the TTL: see `add_and_count`. Fewer epochs fit, and the capacity counts an item once in each.
/// seed: of the hashes; random by default, so that colliding items cannot be prepared.
/// clock: "monotonic", or "manual" for simulations, replays and tests.
#[pyclass(frozen, weakref, module = "guira_filter")]
pub(crate) struct ExpiringFilter {
    /// In a box, because Python aligns objects to 16 bytes only.
    table: Box<Table>,
    rule: Rule,
    clock: Clock,
}

impl ExpiringFilter {
    fn of(table: Table, items: Items, clock: ClockKind) -> Self {
        Self {
            rule: Rule::new(table.hasher(), items),
            clock: Clock::start(clock, &table),
            table: Box::new(table),
        }
    }

    /// Merges or unites it with another filter, and so on, after the epochs that are due.
    fn combine(
        &self,
        py: Python<'_>,
        other: &Other<'_>,
        way: fn(&Table, &Table) -> Result<(), MergeError>,
    ) -> PyResult<()> {
        self.rule.check_items(other.rule())?;
        self.begin(py);
        let other = other.table(py)?;
        py.detach(|| way(&self.table, other)).map_err(merge_error)
    }
}

/// A filter that is merged into another one.
#[derive(FromPyObject)]
pub(crate) enum Other<'py> {
    #[pyo3(annotation = "ExpiringFilter")]
    Own(Bound<'py, ExpiringFilter>),
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[pyo3(annotation = "SharedExpiringFilter")]
    Shared(Bound<'py, crate::shared::SharedExpiringFilter>),
}

impl Other<'_> {
    pub(crate) fn rule(&self) -> &Rule {
        match self {
            Self::Own(filter) => filter.get().rule(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            Self::Shared(filter) => filter.get().rule(),
        }
    }

    /// The filter, which can be scanned, after the epochs that are due.
    pub(crate) fn table(&self, py: Python<'_>) -> PyResult<&Table> {
        match self {
            Self::Own(filter) => {
                let filter = filter.get();
                filter.begin(py);
                Ok(&filter.table)
            }
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            Self::Shared(filter) => filter.get().to_scan(py),
        }
    }
}

impl Hashing for ExpiringFilter {
    #[inline]
    fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl ExpiringFilter {
    /// Applies an operation to a batch, after the epochs that are due.
    fn apply(
        &self,
        items: &Bound<'_, PyAny>,
        keys: Keys<'_>,
        operation: Operation<'_>,
    ) -> PyResult<()> {
        batch::apply(items, keys, &|py| _ = self.begin(py), operation)
    }

    /// [`apply`](Self::apply) with an answer per item.
    fn answers<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        keys: Keys<'_>,
        operation: Operation<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        batch::answers(items, keys, &|py| _ = self.begin(py), operation)
    }

    fn tick_at(&self, py: Python<'_>, elapsed: Duration) -> PyResult<bool> {
        let Ok(nanos) = u64::try_from(elapsed.as_nanos()) else {
            return Err(PyValueError::new_err(format!(
                "a reading of {elapsed:?} is more than 2**64 - 1 nanoseconds"
            )));
        };
        Ok(py.detach(|| self.clock.set(&self.table, nanos)))
    }
}

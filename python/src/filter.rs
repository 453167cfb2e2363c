//! `Filter`: a fixed or growing filter.

mod methods;

use crate::{
    arguments::Items,
    batch::Refused,
    common::{Changes, Lookups, changes, lookups},
    direct::Hashing,
    errors::{insert_error, merge_error},
    item::Rule,
    tokens::retried,
};
use guira::{CuckooFilter, Hashed, MergeError};
pub(crate) use methods::restore_filter;
use pyo3::prelude::*;

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
/// counter_bits: 4 or 8 gives each slot a counter, so 32 to 1536 copies of an item fit, not 4 to 14.
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

    /// Merges or unites it with another filter, and so on.
    fn combine(
        &self,
        py: Python<'_>,
        other: &Other<'_>,
        way: fn(&CuckooFilter, &CuckooFilter) -> Result<(), MergeError>,
    ) -> PyResult<()> {
        self.rule.check_items(other.rule())?;
        let other = other.table(py)?;
        py.detach(|| way(&self.table, other)).map_err(merge_error)
    }
}

/// A filter that is merged into another one.
#[derive(FromPyObject)]
pub(crate) enum Other<'py> {
    #[pyo3(annotation = "Filter")]
    Own(Bound<'py, Filter>),
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[pyo3(annotation = "SharedFilter")]
    Shared(Bound<'py, crate::shared::SharedFilter>),
}

impl Other<'_> {
    pub(crate) fn rule(&self) -> &Rule {
        match self {
            Self::Own(filter) => filter.get().rule(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            Self::Shared(filter) => filter.get().rule(),
        }
    }

    /// The filter, which can be scanned.
    pub(crate) fn table(&self, py: Python<'_>) -> PyResult<&CuckooFilter> {
        match self {
            Self::Own(filter) => Ok(&filter.get().table),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            Self::Shared(filter) => filter.get().to_scan(py),
        }
    }
}

impl Hashing for Filter {
    #[inline]
    fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl Changes for Filter {
    #[inline]
    fn add_hash(&self, _: Python<'_>, hash: Hashed) -> PyResult<()> {
        self.table.insert(&hash).map_err(insert_error)
    }

    #[inline]
    fn add_unique_hash(&self, py: Python<'_>, hash: Hashed) -> PyResult<bool> {
        retried(py, || self.table.insert_unique(&hash), insert_error)
    }

    #[inline]
    fn discard_hash(&self, _: Python<'_>, hash: Hashed) -> PyResult<bool> {
        Ok(self.table.remove(&hash))
    }

    fn add_all(&self, hashes: &[Hashed]) -> Result<(), Refused> {
        Ok(self.table.insert_batch(hashes)?)
    }

    fn add_unique_all(&self, hashes: &[Hashed], added: &mut [bool]) -> Result<(), Refused> {
        Ok(self.table.insert_unique_batch(hashes, added)?)
    }

    fn discard_all(&self, hashes: &[Hashed], discarded: &mut [bool]) {
        self.table.remove_batch(hashes, discarded);
    }
}

lookups!(Filter, "f = Filter(100); f.add(\"ani\")");
changes!(Filter, "Filter(100)");

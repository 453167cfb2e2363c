//! The methods that `Filter` and the classes of shared filters have in common.

use crate::{
    batch::{self, Keys, Refused},
    direct::Hashing,
};
use pyo3::prelude::*;

/// A filter in which hashes are looked up.
pub(crate) trait Lookups: Hashing + Sync {
    fn contains_hash(&self, hash: guira::Hashed) -> bool;

    fn count_hash(&self, hash: guira::Hashed) -> usize;

    fn contains_all(&self, hashes: &[guira::Hashed], found: &mut [bool]);

    fn len(&self) -> usize;

    fn capacity(&self) -> usize;

    fn max_capacity(&self) -> usize;

    fn stats(&self) -> guira::Stats;
}

/// A filter of hashes that changes.
pub(crate) trait Changes: Lookups {
    fn add_hash(&self, py: Python<'_>, hash: guira::Hashed) -> PyResult<()>;

    fn add_unique_hash(&self, py: Python<'_>, hash: guira::Hashed) -> PyResult<bool>;

    fn discard_hash(&self, py: Python<'_>, hash: guira::Hashed) -> PyResult<bool>;

    fn add_all(&self, hashes: &[guira::Hashed]) -> Result<(), Refused>;

    fn add_unique_all(&self, hashes: &[guira::Hashed], added: &mut [bool]) -> Result<(), Refused>;

    fn discard_all(&self, hashes: &[guira::Hashed], discarded: &mut [bool]);
}

/// Implements the lookups of a class in Rust and in Python: its `table` answers them. The second argument
/// makes a filter `f` with "ani" in the examples.
macro_rules! lookups {
    ($class:ident, $make_with_ani:literal) => {
        impl crate::common::Lookups for $class {
            #[inline]
            fn contains_hash(&self, hash: guira::Hashed) -> bool {
                self.table.contains(&hash)
            }

            fn count_hash(&self, hash: guira::Hashed) -> usize {
                self.table.count(&hash)
            }

            fn contains_all(&self, hashes: &[guira::Hashed], found: &mut [bool]) {
                self.table.contains_batch(hashes, found);
            }

            fn len(&self) -> usize {
                self.table.len()
            }

            fn capacity(&self) -> usize {
                self.table.capacity()
            }

            fn max_capacity(&self) -> usize {
                self.table.max_capacity()
            }

            fn stats(&self) -> guira::Stats {
                self.table.stats()
            }
        }

        #[pymethods]
        impl $class {
            fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
                Ok(self.contains_hash(self.rule().hash(item)?))
            }

            /// The number of copies of an item, and of items that collide with it.
            #[pyo3(signature = (item, /))]
            fn count(&self, item: &Bound<'_, PyAny>) -> PyResult<usize> {
                Ok(self.count_hash(self.rule().hash(item)?))
            }

            /// The 64-bit hash of an item, for the methods whose names end in `_hashes`.
            ///
            #[doc = concat!("    >>> ", $make_with_ani)]
            ///     >>> f.contains_hashes([f.hash_of("ani")])
            ///     [True]
            #[pyo3(signature = (item, /))]
            fn hash_of(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
                Ok(self.rule().hash(item)?.0)
            }

            /// Whether each item is present: an ndarray for an array, and a list for other batches.
            ///
            #[doc = concat!("    >>> ", $make_with_ani)]
            ///     >>> f.contains_many(["ani", "koel"])
            ///     [True, False]
            #[pyo3(
                                signature = (items, /, *, nulls = crate::batch::Nulls::Absent),
                                text_signature = "($self, items, /, *, nulls='absent')"
                            )]
            fn contains_many<'py>(
                &self,
                items: &Bound<'py, PyAny>,
                nulls: crate::batch::Nulls,
            ) -> PyResult<Bound<'py, PyAny>> {
                crate::common::contains(self, items, crate::batch::Keys::Items(self.rule(), nulls))
            }

            /// `contains_many` with hashes.
            #[pyo3(signature = (hashes, /))]
            fn contains_hashes<'py>(
                &self,
                hashes: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                crate::common::contains(self, hashes, crate::batch::Keys::Hashes)
            }

            /// The counters of the filter, for metrics.
            #[pyo3(name = "stats")]
            fn stats_object(&self) -> crate::stats::Stats {
                self.stats().into()
            }

            fn __len__(&self) -> usize {
                self.len()
            }

            fn __sizeof__(&self) -> usize {
                self.stats().memory_usage
            }

            /// Distinct items for which there is room at the present size.
            #[getter(capacity)]
            fn capacity_now(&self) -> usize {
                self.capacity()
            }

            /// Distinct items for which there is room at the largest size.
            #[getter(max_capacity)]
            fn capacity_at_most(&self) -> usize {
                self.max_capacity()
            }

            /// The share of slots in use, from 0 to 1.
            #[getter]
            fn load_factor(&self) -> f64 {
                self.stats().load_factor
            }

            /// The bytes that the filter occupies.
            #[getter]
            fn nbytes(&self) -> usize {
                self.stats().memory_usage
            }

            /// The seed of the hashes. Keep it secret if strangers choose the items.
            #[getter]
            fn seed(&self) -> u64 {
                self.rule().seed()
            }

            /// "any" or "bytes": which values are items.
            #[getter(items)]
            fn items_name(&self) -> &'static str {
                self.rule().items.name()
            }
        }
    };
}
pub(crate) use lookups;

/// Implements the changes of a class that is [`Changes`] in Python. The second argument makes a filter `f`
/// in the examples.
macro_rules! changes {
    ($class:ident, $make:literal) => {
        #[pymethods]
        impl $class {
            /// Adds a copy of an item.
            ///
            /// FullError if there is no room; then nothing was added or removed.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add("ani"); f.add("ani")
            ///     >>> f.count("ani")
            ///     2
            #[pyo3(signature = (item, /))]
            fn add(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
                self.add_hash(item.py(), self.rule().hash(item)?)
            }

            /// Adds a copy of an item, and returns how many there are now.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add_and_count("ani"), f.add_and_count("ani")
            ///     (1, 2)
            #[pyo3(signature = (item, /))]
            fn add_and_count(&self, item: &Bound<'_, PyAny>) -> PyResult<usize> {
                let hash = self.rule().hash(item)?;
                self.add_hash(item.py(), hash)?;
                Ok(self.count_hash(hash))
            }

            /// Adds an item unless it is present. True if this call added it.
            ///
            /// When threads race to add an absent item, exactly one call returns True. At the
            /// false-positive rate an absent item gets False, and is then not added.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add_unique("order-4711"), f.add_unique("order-4711")
            ///     (True, False)
            #[pyo3(signature = (item, /))]
            fn add_unique(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
                self.add_unique_hash(item.py(), self.rule().hash(item)?)
            }

            /// Removes a copy of an item. True if there was one.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add("ani")
            ///     >>> f.discard("ani"), f.discard("ani")
            ///     (True, False)
            #[pyo3(signature = (item, /))]
            fn discard(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
                self.discard_hash(item.py(), self.rule().hash(item)?)
            }

            /// Removes a copy of an item. KeyError if it is absent.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.remove("ani")
            ///     Traceback (most recent call last):
            ///     KeyError: 'ani'
            #[pyo3(signature = (item, /))]
            fn remove(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
                match self.discard_hash(item.py(), self.rule().hash(item)?)? {
                    true => Ok(()),
                    false => Err(pyo3::exceptions::PyKeyError::new_err(item.clone().unbind())),
                }
            }

            /// Adds a copy of each item.
            ///
            /// A batch is an iterable of items, a numpy array, another buffer, or a column of
            /// Arrow, such as a polars Series. The GIL is released once. FullError has the `index`
            /// of the first item that was not added.
            ///
            /// nulls: what the nulls of a column are: "absent", so not added, or "error".
            ///
            /// numpy strips zeros from the ends of items of dtype `S`. ValueError if an array of them has
            /// items that end in zeros, and bytes that are no text: use `.view("V20")` if all count.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.update(["ani", "koel"])
            ///     >>> len(f)
            ///     2
            #[pyo3(
                                signature = (items, /, *, nulls = crate::batch::Nulls::Absent),
                                text_signature = "($self, items, /, *, nulls='absent')"
                            )]
            fn update(&self, items: &Bound<'_, PyAny>, nulls: crate::batch::Nulls) -> PyResult<()> {
                crate::common::update(self, items, crate::batch::Keys::Items(self.rule(), nulls))
            }

            /// `add_unique` of each item: which of them this call added.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add_unique_many(["ani", "koel", "ani"])
            ///     [True, True, False]
            #[pyo3(
                                signature = (items, /, *, nulls = crate::batch::Nulls::Absent),
                                text_signature = "($self, items, /, *, nulls='absent')"
                            )]
            fn add_unique_many<'py>(
                &self,
                items: &Bound<'py, PyAny>,
                nulls: crate::batch::Nulls,
            ) -> PyResult<Bound<'py, PyAny>> {
                crate::common::add_unique(
                    self,
                    items,
                    crate::batch::Keys::Items(self.rule(), nulls),
                )
            }

            /// `discard` of each item: which of them were present.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.add("ani")
            ///     >>> f.discard_many(["ani", "ani"])
            ///     [True, False]
            #[pyo3(
                                signature = (items, /, *, nulls = crate::batch::Nulls::Absent),
                                text_signature = "($self, items, /, *, nulls='absent')"
                            )]
            fn discard_many<'py>(
                &self,
                items: &Bound<'py, PyAny>,
                nulls: crate::batch::Nulls,
            ) -> PyResult<Bound<'py, PyAny>> {
                crate::common::discard(self, items, crate::batch::Keys::Items(self.rule(), nulls))
            }

            /// `update` with hashes: an array of uint64, or an iterable of ints from 0 to
            /// 2**64 - 1.
            #[pyo3(signature = (hashes, /))]
            fn update_hashes(&self, hashes: &Bound<'_, PyAny>) -> PyResult<()> {
                crate::common::update(self, hashes, crate::batch::Keys::Hashes)
            }

            /// `add_unique_many` with hashes.
            #[pyo3(signature = (hashes, /))]
            fn add_unique_hashes<'py>(
                &self,
                hashes: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                crate::common::add_unique(self, hashes, crate::batch::Keys::Hashes)
            }

            /// `discard_many` with hashes.
            #[pyo3(signature = (hashes, /))]
            fn discard_hashes<'py>(
                &self,
                hashes: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                crate::common::discard(self, hashes, crate::batch::Keys::Hashes)
            }
        }
    };
}
pub(crate) use changes;

/// Implements what a class says of its `table`. The second argument makes a filter `f` with counters in the
/// example.
macro_rules! slots {
    ($class:ident, $make:literal) => {
        #[pymethods]
        impl $class {
            /// The bits of the counter in each slot; 0 without counters.
            #[getter]
            fn counter_bits(&self) -> u32 {
                self.table.counter_bits()
            }

            /// The number of slots in use: with counters, about the number of distinct items, and in each
            /// epoch if they expire.
            ///
            #[doc = concat!("    >>> f = ", $make)]
            ///     >>> f.update(["ani", "koel", "ani"])
            ///     >>> len(f), f.slots_in_use
            ///     (3, 2)
            #[getter]
            fn slots_in_use(&self) -> usize {
                self.table.slots_in_use()
            }

            /// The share of absent items that are reported as present, at most, up to the capacity.
            #[getter]
            fn false_positive_rate(&self) -> f64 {
                self.table.false_positive_rate()
            }
        }
    };
}
pub(crate) use slots;

/// Implements the operators of sets for a class that has their methods.
macro_rules! operators {
    ($class:ident, $other:ty) => {
        #[pymethods]
        impl $class {
            fn __ior__(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                self.union_with(py, other)
            }

            fn __iand__(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                self.intersect_with(py, other)
            }

            fn __isub__(&self, py: Python<'_>, other: $other) -> PyResult<()> {
                self.difference_with(py, other)
            }
        }
    };
}
pub(crate) use operators;

pub(crate) fn update(
    filter: &impl Changes,
    items: &Bound<'_, PyAny>,
    keys: Keys<'_>,
) -> PyResult<()> {
    batch::apply(items, keys, &|_| (), &|hashes, _| filter.add_all(hashes))
}

pub(crate) fn contains<'py>(
    filter: &impl Lookups,
    items: &Bound<'py, PyAny>,
    keys: Keys<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    batch::answers(items, keys, &|_| (), &|hashes, found| {
        filter.contains_all(hashes, found);
        Ok(())
    })
}

pub(crate) fn add_unique<'py>(
    filter: &impl Changes,
    items: &Bound<'py, PyAny>,
    keys: Keys<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    batch::answers(items, keys, &|_| (), &|hashes, added| {
        filter.add_unique_all(hashes, added)
    })
}

pub(crate) fn discard<'py>(
    filter: &impl Changes,
    items: &Bound<'py, PyAny>,
    keys: Keys<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    batch::answers(items, keys, &|_| (), &|hashes, discarded| {
        filter.discard_all(hashes, discarded);
        Ok(())
    })
}

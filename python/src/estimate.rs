//! What a filter will take, as a Python object.

use crate::{arguments::Whole, errors::build_error};
use pyo3::prelude::*;

/// What a filter will take at each size, before it is made.
#[pyclass(frozen, module = "guira_filter")]
#[derive(Debug)]
pub(crate) struct Estimate(guira::Estimate);

impl Estimate {
    pub(crate) fn of(estimate: Result<guira::Estimate, guira::BuildError>) -> PyResult<Self> {
        estimate.map(Self).map_err(build_error)
    }
}

#[pymethods]
impl Estimate {
    /// The bytes of the empty filter.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// The bytes after the last doubling.
    #[getter]
    fn max_nbytes(&self) -> usize {
        self.0.max_bytes()
    }

    /// The bits per item of the full filter, after the last doubling.
    #[getter]
    fn bits_per_item(&self) -> f64 {
        self.0.bits_per_item()
    }

    /// The highest share of absent items that seem present, at any size.
    #[getter]
    fn false_positive_rate(&self) -> f64 {
        self.0.false_positive_rate()
    }

    /// How many times the filter can double.
    #[getter]
    fn doublings(&self) -> u32 {
        self.0.doublings()
    }

    /// How many copies of one item fit at first.
    #[getter]
    fn copies(&self) -> usize {
        self.0.copies()
    }

    /// The bytes when the filter holds this number of distinct items; in an expiring filter, when this
    /// number arrives within a TTL.
    #[pyo3(signature = (items, /))]
    fn nbytes_at(&self, items: Whole<usize>) -> usize {
        self.0.bytes_at(items.0)
    }

    fn __repr__(&self) -> String {
        format!(
            "guira_filter.Estimate(nbytes={}, max_nbytes={}, bits_per_item={:.1}, \
             false_positive_rate={:.2e}, doublings={}, copies={})",
            self.0.bytes(),
            self.0.max_bytes(),
            self.0.bits_per_item(),
            self.0.false_positive_rate(),
            self.0.doublings(),
            self.0.copies(),
        )
    }
}

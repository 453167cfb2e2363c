//! The counters of a filter as a Python object.

use pyo3::prelude::*;

/// The counters of a filter, for metrics.
#[pyclass(frozen, get_all, module = "guira_filter")]
#[derive(Debug)]
pub(crate) struct Stats {
    /// Copies in the filter, as `len`.
    items: usize,
    /// The share of slots in use, from 0 to 1.
    load_factor: f64,
    /// The bytes that the filter occupies.
    nbytes: usize,
    /// How many times the filter has doubled.
    doublings: u32,
    /// Buckets that the current doubling has yet to visit; 0 if none is in progress.
    buckets_to_split: usize,
    /// Copies moved to their other bucket to make room.
    relocations: u64,
    /// The most relocations that one insert has needed.
    longest_path: u64,
    /// Inserts that found no room.
    failed_inserts: u64,
    /// Lookups that read again because another thread changed the buckets.
    retried_lookups: u64,
    /// Lookups that returned True without proof, after their last attempt.
    conservative_lookups: u64,
}

impl From<guira::Stats> for Stats {
    fn from(stats: guira::Stats) -> Self {
        Self {
            items: stats.items,
            load_factor: stats.load_factor,
            nbytes: stats.memory_usage,
            doublings: stats.doublings,
            buckets_to_split: stats.buckets_to_split,
            relocations: stats.relocations,
            longest_path: stats.longest_path,
            failed_inserts: stats.failed_inserts,
            retried_lookups: stats.retried_lookups,
            conservative_lookups: stats.conservative_lookups,
        }
    }
}

#[pymethods]
impl Stats {
    fn __repr__(&self) -> String {
        format!("guira_filter.{self:?}")
    }
}

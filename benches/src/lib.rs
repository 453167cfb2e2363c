//! guira and its peers, measured side by side: the workloads, the peers, and
//! the report. `BENCHMARKS.md` summarizes the results.
//!
//! Competitors take turns within a run, and every figure is the median of the
//! rounds: what disturbs the machine disturbs all of them.

#![forbid(unsafe_code)]

pub mod arena;
mod batches;
pub mod contention;
pub mod crew;
pub mod curves;
pub mod effort;
pub mod entry;
pub mod expiring;
pub mod floor;
pub mod growth;
pub mod hasher;
pub mod keys;
pub mod lanes;
pub mod latency;
pub mod measure;
pub mod ops;
pub mod peer;
pub mod peers;
pub mod report;
pub mod snapshot;
pub mod space;
pub mod space_speed;

//! guira and its peers, measured side by side: the workloads, the peers, and
//! the report. `BENCHMARKS.md` summarizes the results.
//!
//! Competitors take turns within a run, and every figure is the median of the
//! rounds: what disturbs the machine disturbs all of them.

#![forbid(unsafe_code)]

mod arena;
mod chain;
mod crew;
pub mod effort;
mod expiring;
mod growth;
pub mod hasher;
pub mod keys;
pub mod lanes;
pub mod latency;
pub mod measure;
pub mod one_thread;
pub mod peer;
pub mod peers;
pub mod report;
mod sheet;
mod snapshots;
mod space;
mod space_speed;
pub mod special;
mod table;
mod threads;

//! guira
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod any;
mod batch;
mod builder;
mod cuckoo;
mod error;
mod fault;
mod filter;
mod frontier;
mod geometry;
mod grow;
mod hash;
mod layout;
mod len;
#[cfg(any(loom, guira_faults))]
pub mod model;
mod relocate;
mod snapshot;
mod stats;
mod sync;
mod table;
mod token;
mod unique;
mod version;
mod word;

pub use crate::{
    builder::Builder,
    error::{BatchError, BuildError, InsertError, SnapshotError},
    filter::CuckooFilter,
    hash::{SeededHasher, SeededState},
    stats::Stats,
};

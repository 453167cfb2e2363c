//! Snapshots: one module for each law.
//!
//! `tests/tests/snapshot_memory.rs` is apart: it limits what its whole process allocates.

pub(crate) mod common {
    pub(crate) mod allocated;
    pub(crate) mod damaged;
    pub(crate) mod fields;
    pub(crate) mod layouts;
    pub(crate) mod pieces;
    pub(crate) mod words;
    pub(crate) mod works;
}

mod concurrent;
mod damage;
mod decoder;
mod failing_writer;
mod format;
mod fuzz;
mod golden;
mod hasher;
mod hostile;
mod io;
mod round_trip;
mod serde;
mod slow_writer;

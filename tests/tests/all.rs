//! Most tests of the library, as modules of one binary: each binary more takes seconds to link.
//!
//! `cargo test -p guira-tests --test all growth::` runs one file. Tests have a binary of their own if
//! they count what the whole process allocates, or set a fault for all of its threads.

mod common;

mod batches;
mod capacity;
mod clear;
mod concurrent_contract;
mod dedup;
mod determinism;
mod digest;
mod errors;
mod expiring;
mod expiring_batches;
mod expiring_merge;
mod expiring_room;
mod expiring_snapshot;
mod expiring_stress;
mod expiring_sweeps;
mod expiring_ticks;
mod extremes;
mod growth;
mod hashes;
mod header;
mod history;
mod hostile_keys;
mod linearizability;
mod merge;
mod multiset_oracle;
mod panicking_hash;
mod rate;
mod regressions;
mod replay;
mod send_sync;
mod sizing;
mod snapshot;
mod space;
mod stress;
mod union;
mod weak_hasher;

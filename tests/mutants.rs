//! Tests of other files in one binary, for `ci/mutants.sh`: to link one for each file would
//! take most of its time. Those that take seconds, and do not count what the whole process
//! allocates.

#![cfg(guira_mutants)]

#[path = "extremes.rs"]
mod extremes;
#[path = "growth.rs"]
mod growth;
#[path = "hostile_keys.rs"]
mod hostile_keys;
#[path = "multiset_oracle.rs"]
mod multiset_oracle;
#[path = "snapshot_damage.rs"]
mod snapshot_damage;
#[path = "snapshot_format.rs"]
mod snapshot_format;
#[path = "snapshot_golden.rs"]
mod snapshot_golden;
#[path = "snapshot_io.rs"]
mod snapshot_io;
#[path = "snapshot_round_trip.rs"]
mod snapshot_round_trip;

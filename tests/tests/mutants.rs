//! Tests of other files in one binary, for `ci/mutants.sh`, because linking one binary per file
//! would take most of its time. It includes the tests that take seconds and do not count the
//! allocations of the whole process.

#![allow(dead_code, reason = "these laws need a part of it")]

mod common;

#[path = "extremes.rs"]
mod extremes;
#[path = "growth.rs"]
mod growth;
#[path = "hostile_keys.rs"]
mod hostile_keys;
#[path = "multiset_oracle.rs"]
mod multiset_oracle;
#[path = "snapshot/mod.rs"]
mod snapshot;
#[path = "space.rs"]
mod space;

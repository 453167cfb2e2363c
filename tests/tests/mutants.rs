//! Tests of other files in one binary, for `ci/mutants.sh`: to link one for each file would take
//! most of its time. It has the tests that take seconds, and do not count what the whole process
//! allocates. `tests/tests/snapshot` is run besides.

#![cfg(guira_mutants)]

#[path = "extremes.rs"]
mod extremes;
#[path = "growth.rs"]
mod growth;
#[path = "hostile_keys.rs"]
mod hostile_keys;
#[path = "multiset_oracle.rs"]
mod multiset_oracle;
#[path = "space.rs"]
mod space;

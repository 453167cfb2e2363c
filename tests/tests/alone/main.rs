//! Tests for which the process must do nothing else. They count or limit its allocations, or fork.
//!
//! So they run one after the other without the test harness, whose threads also allocate.

mod allocation;
mod fork;
mod limited;
mod memory_usage;
mod snapshot_memory;

fn main() {
    allocation::run();
    memory_usage::run();
    snapshot_memory::run();
    #[cfg(unix)]
    fork::unix::run();
}

//! Tests for which the process must do nothing else. They count or limit its allocations, or fork.
//!
//! So they run one after the other without the test harness, whose threads also allocate.

mod allocation;
mod fork;
mod limited;
mod memory_usage;
mod snapshot_memory;
#[cfg(target_os = "linux")]
mod untouched;

fn main() {
    allocation::run();
    memory_usage::run();
    snapshot_memory::run();
    #[cfg(target_os = "linux")]
    untouched::run();
    #[cfg(unix)]
    fork::unix::run();
}

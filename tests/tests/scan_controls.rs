//! Negative controls of `scans`, and its tests once more in the same build.
//!
//! ```text
//! RUSTFLAGS="--cfg guira_faults" cargo test --package guira-tests --test scan_controls
//! ```
#![cfg(guira_faults)]

mod scans;

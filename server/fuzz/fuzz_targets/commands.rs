//! Commands of two clients have only their documented effects.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run commands -- -max_total_time=600
//! ```
#![no_main]

#[path = "../../tests/common/work.rs"]
mod work;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| work::work(bytes));

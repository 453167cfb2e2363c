//! The snapshot of an expiring filter, from outside: the law is shared with
//! `tests/tests/expiring_snapshot/main.rs`.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run expiring_decode -- -max_total_time=600
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/tests/expiring_snapshot/works.rs"]
mod works;

fuzz_target!(|bytes: &[u8]| {
    works::check(bytes);
});

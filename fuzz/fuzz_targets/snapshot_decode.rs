//! Bytes from outside give a typed error or a filter that works: the law is shared with
//! `tests/tests/snapshot/fuzz.rs`.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run snapshot_decode -- -max_total_time=600
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/tests/snapshot/common/works.rs"]
mod works;

fuzz_target!(|bytes: &[u8]| {
    works::check(bytes);
});

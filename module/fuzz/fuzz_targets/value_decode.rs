//! The bytes that the engine passes to the module give a typed error or a value that works. The
//! check is shared with a unit test in `module/src/fuzzing.rs`.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run value_decode -- -max_total_time=600
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    guira_module::fuzzing::check(bytes);
});

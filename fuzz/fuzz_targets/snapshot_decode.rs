//! Untrusted bytes give a typed error or a filter that works. The check is shared with
//! `tests/tests/snapshot/fuzz.rs`.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run snapshot_decode -- -max_total_time=600
//! ```
#![no_main]

use guira::{CuckooFilter, SnapshotDecoder};
use guira_hostile::{Counting, assert_bounded};
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[path = "../../tests/tests/snapshot/common/works.rs"]
mod works;

fuzz_target!(|bytes: &[u8]| {
    assert_bounded(bytes, || drop(CuckooFilter::from_bytes(bytes)));
    assert_bounded(bytes, || {
        let mut decoder = SnapshotDecoder::new(usize::MAX);
        let mut pieces = bytes.chunks(100);
        if pieces.all(|piece| decoder.feed(piece).is_ok()) {
            drop(decoder.finish());
        }
    });
    works::check(bytes);
});

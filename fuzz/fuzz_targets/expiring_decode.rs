//! Untrusted bytes as the snapshot of an expiring filter. The check is shared with
//! `tests/tests/expiring_snapshot/main.rs`.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run expiring_decode -- -max_total_time=600
//! ```
#![no_main]

use guira::{ExpiringFilter, ExpiringSnapshotDecoder};
use guira_hostile::{Counting, assert_bounded};
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[path = "../../tests/tests/expiring_snapshot/works.rs"]
mod works;

fuzz_target!(|bytes: &[u8]| {
    assert_bounded(bytes, || drop(ExpiringFilter::from_bytes(bytes)));
    assert_bounded(bytes, || {
        let mut decoder = ExpiringSnapshotDecoder::new(usize::MAX);
        let mut pieces = bytes.chunks(100);
        if pieces.all(|piece| decoder.feed(piece).is_ok()) {
            drop(decoder.finish());
        }
    });
    works::check(bytes);
});

//! Bytes from outside give a typed error or a filter that works.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run snapshot_decode -- -max_total_time=600
//! ```
//!
//! The checksum is made right first, so that the fuzzer gets past it, and for
//! every other input the hasher, too.
#![no_main]

use guira::CuckooFilter;
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/snapshots/works.rs"]
mod works;

/// The seed and the hasher's probe, in the header.
const HASHER: std::ops::Range<usize> = 40..56;

fuzz_target!(|bytes: &[u8]| {
    // As it is.
    let _ = CuckooFilter::from_bytes(bytes);
    let mut bytes = bytes.to_vec();
    if let Some(hasher) = bytes.get_mut(HASHER) {
        let valid = CuckooFilter::builder().capacity(1).seed(0).build().expect("a filter");
        hasher.copy_from_slice(&valid.to_bytes()[HASHER]);
    }
    let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() else {
        return;
    };
    *sum = crc32fast::hash(body).to_le_bytes();
    if let Ok(filter) = CuckooFilter::from_bytes(&bytes) {
        works::assert_works(&filter);
    }
});

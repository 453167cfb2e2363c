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
    let Ok(filter) = CuckooFilter::from_bytes(&bytes) else {
        return;
    };
    // What was accepted is a filter like any other: it can be used, and its own
    // snapshot is that of its clone.
    assert!(filter.len() <= filter.buckets() * filter.bucket_slots());
    assert_eq!(filter.clone().to_bytes(), filter.to_bytes());
    let before = filter.len();
    let mut inserted = 0;
    for item in 0..64_u32 {
        if filter.insert(&item).is_ok() {
            inserted += 1;
            assert!(filter.contains(&item));
        }
    }
    filter.finish_growth();
    assert_eq!(filter.len(), before + inserted);
    let again = CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot of one's own");
    assert_eq!(again.len(), filter.len());
});

//! The law of the fuzzer: bytes from outside give a typed error or a filter that works.

use guira::ExpiringFilter;
use std::time::Duration;

/// The seed and the hasher's probe, in the header.
const HASHER: std::ops::Range<usize> = 48..64;

/// Tries the bytes as they are, and then with a right hasher and checksum, so that what lies
/// behind these two is tried as well. True if they then are a snapshot.
pub(crate) fn check(bytes: &[u8]) -> bool {
    if let Ok(filter) = ExpiringFilter::from_bytes(bytes) {
        assert_works(&filter);
    }
    let mut bytes = bytes.to_vec();
    if let Some(hasher) = bytes.get_mut(HASHER) {
        let valid = ExpiringFilter::builder(Duration::from_secs(60))
            .seed(0)
            .build();
        hasher.copy_from_slice(&valid.expect("a filter").to_bytes()[HASHER]);
    }
    fix_checksum(&mut bytes);
    let filter = ExpiringFilter::from_bytes(&bytes);
    if let Ok(filter) = &filter {
        assert_works(filter);
    }
    filter.is_ok()
}

/// Corrects the checksum of the bytes before it, if there are enough bytes.
pub(crate) fn fix_checksum(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
}

/// Uses the filter of bytes that were accepted, like any other.
pub(crate) fn assert_works(filter: &ExpiringFilter) {
    assert!(filter.len() <= filter.buckets() * filter.bucket_slots());
    let at_rest = |filter: &ExpiringFilter| filter.to_bytes_at(|| Duration::ZERO);
    assert_eq!(at_rest(&filter.clone()), at_rest(filter));
    let items = (0..32_u32).filter(|item| filter.insert(item).is_ok());
    let items: Vec<u32> = items.collect();
    for _ in 0..filter.epochs() {
        assert!(filter.advance());
        assert!(items.iter().all(|item| filter.contains(item)));
    }
    assert!(filter.advance());
    assert_eq!(filter.len(), 0, "all has expired");
    assert!(!items.iter().any(|item| filter.contains(item)));
}

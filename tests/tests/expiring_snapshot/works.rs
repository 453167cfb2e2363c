//! The property of the fuzzer: untrusted bytes give a typed error or a filter that works.

use guira::ExpiringFilter;
use std::time::Duration;

/// The position of the seed and of the hasher's probe in the header.
const HASHER: std::ops::Range<usize> = 48..64;

/// Decodes the bytes as they are, and then with a valid hasher and checksum, so that later checks
/// are reached, too. True if the corrected bytes are a snapshot.
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

/// Corrects the checksum, if there are enough bytes.
pub(crate) fn fix_checksum(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
}

/// Checks that a filter of accepted bytes works like any other.
pub(crate) fn assert_works(filter: &ExpiringFilter) {
    // During a doubling some words may have more slots already.
    let slots = match filter.stats().buckets_to_split {
        0 => filter.bucket_slots(),
        _ => 4,
    };
    assert!(filter.len() <= filter.buckets() * slots);
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

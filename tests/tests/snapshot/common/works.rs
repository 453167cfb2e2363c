//! The property of the fuzzer: untrusted bytes give a typed error or a filter that works, both as a
//! snapshot and as a header.

use guira::CuckooFilter;

/// The position of the seed and of the hasher's probe in the header.
const HASHER: std::ops::Range<usize> = 40..56;

const HEADER: usize = 64;

/// The limit for the buckets of the filter that a header describes.
const MAX_BYTES: usize = 1 << 16;

/// Decodes the bytes as they are, and then with a valid hasher and checksum, so that later checks
/// are reached, too. True if the corrected bytes are a snapshot.
pub(crate) fn check(bytes: &[u8]) -> bool {
    if let Ok(filter) = CuckooFilter::from_bytes(bytes) {
        assert_works(&filter);
    }
    check_header(bytes);
    let mut bytes = bytes.to_vec();
    if let Some(hasher) = bytes.get_mut(HASHER) {
        let valid = CuckooFilter::builder().capacity(1).seed(0).build();
        let valid = valid.expect("a filter").to_bytes();
        hasher.copy_from_slice(&valid[HASHER]);
    }
    if let Some(header) = bytes.first_chunk::<HEADER>() {
        check_header(&[&header[..], &crc32fast::hash(header).to_le_bytes()].concat());
    }
    let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() else {
        return false;
    };
    *sum = crc32fast::hash(body).to_le_bytes();
    let filter = CuckooFilter::from_bytes(&bytes);
    if let Ok(filter) = &filter {
        assert_works(filter);
    }
    filter.is_ok()
}

/// Checks that a header is refused, or that its filter works and has this header.
fn check_header(bytes: &[u8]) {
    if let Ok(filter) = CuckooFilter::from_header(bytes, MAX_BYTES) {
        assert!(filter.is_empty());
        assert_eq!(filter.header()[..], *bytes);
        assert_works(&filter);
    }
}

/// Checks that a filter of accepted bytes works like any other.
pub(crate) fn assert_works(filter: &CuckooFilter) {
    // During a doubling, some words already have the slots of the next level.
    let slots = match filter.stats().buckets_to_split {
        0 => filter.bucket_slots(),
        _ => 6,
    };
    assert!(filter.len() <= filter.buckets() * slots);
    assert_eq!(filter.clone().to_bytes(), filter.to_bytes());
    let (before, mut inserted) = (filter.len(), 0);
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
}

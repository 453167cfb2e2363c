//! The law of the fuzzer: bytes from outside give a typed error or a filter that works, be they read
//! as a snapshot or as a header by itself.

use guira::CuckooFilter;

/// The seed and the hasher's probe, in the header.
const HASHER: std::ops::Range<usize> = 40..56;

const HEADER: usize = 64;

/// What the buckets of a header's filter may take up here.
const MAX_BYTES: usize = 1 << 16;

/// Tries the bytes as they are, and then with a right hasher and checksum, so that
/// what lies behind these two is tried as well. True if they then are a snapshot.
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

/// A header is refused, or its filter works and has this header.
fn check_header(bytes: &[u8]) {
    if let Ok(filter) = CuckooFilter::from_header(bytes, MAX_BYTES) {
        assert!(filter.is_empty());
        assert_eq!(filter.header()[..], *bytes);
        assert_works(&filter);
    }
}

/// Uses the filter of bytes that were accepted, like any other.
pub(crate) fn assert_works(filter: &CuckooFilter) {
    // Between two levels some words may have the slots of the next one already.
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

//! What a snapshot that is accepted owes; the fuzzer asks it, too.

use guira::CuckooFilter;

/// Uses the filter of a snapshot that was accepted, like any other.
pub(crate) fn assert_works(filter: &CuckooFilter) {
    assert!(filter.len() <= filter.buckets() * filter.bucket_slots());
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

//! Hashes of different classes.

use guira::{CuckooFilter, Hashed};

/// The first `count` of `hashes` with different classes in `filter`, which must be empty.
///
/// In an otherwise empty filter, `contains` shows whether two hashes are of one class, because the
/// copy of the other hash is the only one that it can find.
pub(crate) fn distinct(
    filter: &CuckooFilter,
    count: usize,
    hashes: impl Iterator<Item = u64>,
) -> Vec<u64> {
    assert!(filter.is_empty());
    let mut classes: Vec<u64> = Vec::with_capacity(count);
    for hash in hashes {
        if classes.len() == count {
            break;
        }
        filter
            .insert(&Hashed(hash))
            .expect("an empty filter has room");
        if !classes.iter().any(|&class| filter.contains(&Hashed(class))) {
            classes.push(hash);
        }
        assert!(filter.remove(&Hashed(hash)));
    }
    classes
}

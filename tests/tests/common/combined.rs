//! What a merge, a union, an intersection or a difference must leave of each item.

use guira::{CuckooFilter, InsertError, MergeError};
use proptest::{collection::vec, prelude::*};

pub(crate) type Call = fn(&CuckooFilter, &CuckooFilter) -> Result<(), MergeError>;
/// The number of copies to leave, by those in both filters.
pub(crate) type Wanted = fn(usize, usize) -> usize;

/// Items below 2000, some of them repeated.
pub(crate) fn items() -> impl Strategy<Value = Vec<u64>> {
    vec(prop_oneof![0..8_u64, 0..2_000_u64], 0..300)
}

/// Inserts the items that fit.
pub(crate) fn insert_what_fits(filter: &CuckooFilter, items: &[u64]) {
    for item in items {
        let _ = filter.insert(item);
    }
}

/// Calls a method with two filters at rest, and checks the copies of the items below `items`. If
/// there is no room for all copies, this returns the number of merged copies.
pub(crate) fn assert_combined(
    filter: &CuckooFilter,
    other: &CuckooFilter,
    items: u64,
    call: Call,
    wanted: Wanted,
) -> Result<(), usize> {
    // By class, because items of one class have one number.
    let copies = |filter: &CuckooFilter| -> Vec<usize> {
        (0..items).map(|item| filter.count(&item)).collect()
    };
    let (before, of_other, len) = (copies(filter), copies(other), filter.len());
    let digest = other.digest();
    let combined = call(filter, other);
    assert_eq!(other.digest(), digest, "the other filter stays as it is");
    for (item, after) in copies(filter).into_iter().enumerate() {
        let (before, wanted) = (before[item], wanted(before[item], of_other[item]));
        match combined {
            Ok(()) => assert_eq!(after, wanted, "{item}"),
            Err(_) => assert!((before..=wanted).contains(&after), "{item}"),
        }
    }
    match combined {
        Ok(()) => Ok(()),
        Err(MergeError::Insert { merged, error }) => {
            let expected = [InsertError::Full, InsertError::TooManyCopies];
            assert!(expected.contains(&error), "{error}");
            assert_eq!(filter.len(), len + merged, "one copy for each");
            Err(merged)
        }
        Err(error) => panic!("{error}"),
    }
}

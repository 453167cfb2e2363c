//! Hashes that are far from random fill a filter almost at once, if a caller passes them as they are.

use guira::{CuckooFilter, Hashed, InsertError};

/// The low bits form the fingerprint, and the high bits select one of its pairs. The lower bucket
/// of small numbers is therefore always among the first ones, which fill up.
#[test]
fn not_half_of_1000_numbers_fit_as_their_own_hashes() {
    let filter = CuckooFilter::with_capacity(1_000);
    let inserted = (0..1_000_u64).take_while(|&hash| filter.insert(&Hashed(hash)).is_ok());
    let inserted = inserted.count() as u64;
    assert!((8..500).contains(&inserted), "{inserted}");
    assert_eq!(filter.insert(&Hashed(inserted)), Err(InsertError::Full));
    assert!((0..inserted).all(|hash| filter.contains(&Hashed(hash))));
}

/// Multiples of 2^15 have the same fingerprint, and small ones have the same pair.
#[test]
fn of_1000_multiples_8_fit_as_their_own_hashes() {
    let filter = CuckooFilter::with_capacity(1_000);
    let hashes = (0..1_000_u64).map(|number| number << 15);
    let inserted = hashes.take_while(|&hash| filter.insert(&Hashed(hash)).is_ok());
    assert_eq!(inserted.count(), 8);
    assert_eq!(filter.count(&Hashed(0)), 8);
}

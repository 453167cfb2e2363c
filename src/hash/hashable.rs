//! What can be an item of a filter.

use super::SeededState;
use std::{
    any::TypeId,
    hash::{BuildHasher, Hash},
};

/// What can be an item of a filter: a value of any type that implements [`Hash`], or a [`Hashed`] one.
pub trait Hashable {
    /// The hash by which a filter with this hasher knows the item: [`Filter::hash_of`].
    ///
    /// [`Filter::hash_of`]: crate::Filter::hash_of
    fn hash_by<S: BuildHasher>(&self, hasher: &S) -> Hashed;
}

impl<T: Hash + ?Sized> Hashable for T {
    #[inline(always)]
    fn hash_by<S: BuildHasher>(&self, hasher: &S) -> Hashed {
        Hashed(finished::<S>(hasher.hash_one(self)))
    }
}

/// The hash of an item, in place of the item.
///
/// `filter.insert(&filter.hash_of(item))` is the same as `filter.insert(item)`. A hash of your own must be as
/// good as random in all 64 bits, because the filter uses it as it is. Low bits make the fingerprint, and
/// high bits choose the buckets.
///
/// It has the representation of a `u64`. It does not implement [`Hash`]: it would be hashed again.
///
/// ```
/// use guira::{CuckooFilter, Hashed};
///
/// let filter = CuckooFilter::with_capacity(100);
/// let hashes: [Hashed; 2] = ["ani", "koel"].map(|name| filter.hash_of(name));
/// filter.insert_batch(&hashes)?;
/// assert!(filter.contains("ani") && filter.contains(&hashes[1]));
/// assert!(filter.contains_iter(hashes).all(|found| found));
///
/// // A hash from elsewhere.
/// assert!(!filter.contains(&Hashed(0x9e37_79b9_7f4a_7c15)));
/// # Ok::<(), guira::BatchError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Hashed(pub u64);

impl Hashable for Hashed {
    #[inline(always)]
    fn hash_by<S: BuildHasher>(&self, _hasher: &S) -> Hashed {
        *self
    }
}

/// A result of a hasher of type `S` as a hash whose 64 bits are all good.
///
/// Hashers for hash maps need not make good bits everywhere: the filter would be full too early, or
/// find too much. Therefore the default hasher hashes their results again, as integers. It has two
/// folded multiplications for that: with a single one, consecutive multiples of 2^40 that hash to
/// themselves have up to 12 times the false-positive rate.
#[inline(always)]
pub(crate) fn finished<S>(hash: u64) -> u64 {
    // The compiler knows the result. Not `TypeId::of`, so that `S` may have a lifetime.
    if typeid::of::<S>() == TypeId::of::<SeededState>() {
        hash
    } else {
        const { SeededState::new(0) }.hash_u64(hash)
    }
}

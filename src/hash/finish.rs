//! The last step from an item to its hash, which makes weak hashers good enough.

use super::SeededState;
use std::any::TypeId;

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

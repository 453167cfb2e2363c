//! From an item to 64 bits: what can be an item, and the default hasher. Pure.

mod items;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};
use std::{
    any::TypeId,
    fmt,
    hash::{BuildHasher, Hash, Hasher},
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

/// The default [`BuildHasher`], keyed by a 64-bit seed.
///
/// It hashes an integer with two folded multiplications, and bytes with rapidhash V3.
///
/// The same seed gives the same hashes in every process and in every release of this crate, on
/// 32-bit and 64-bit platforms. This holds for integers, strings, byte slices and types with a
/// derived `Hash`. It does not hold for slices of wider integers, which are hashed as memory: their
/// hashes differ on big-endian platforms, unless each integer is converted by `to_le` before.
///
/// Non-negative integers with equal values hash alike, whatever their width: `5_u32`, `5_u64` and
/// `5_i64`. The width of a negative integer matters: `-1_i32` and `-1_i64` differ. 128-bit integers
/// differ from all others. `"a"` hashes like `String::from("a")`, but not like `b"a"`.
///
/// The default seed is random, so keys that were made in advance have no effect. This is not a
/// cryptographic hash: an attacker who can query a filter often enough can infer the seed from its
/// answers.
///
/// ```
/// use guira::SeededState;
/// use std::hash::BuildHasher;
///
/// let (a, b) = (SeededState::new(7), SeededState::new(7));
/// assert_eq!(a.hash_one("bike"), b.hash_one("bike"));
/// assert_eq!(a.seed(), 7);
/// ```
#[derive(Clone)]
pub struct SeededState {
    secrets: Secrets,
    keys: [u64; 2],
}

impl SeededState {
    /// A hasher with the given seed.
    ///
    /// ```
    /// use guira::SeededState;
    /// use std::hash::BuildHasher;
    ///
    /// let state = SeededState::new(7);
    /// assert_eq!(state.hash_one(5_u32), state.hash_one(5_u64));
    /// assert_ne!(state.hash_one(5_u32), SeededState::new(8).hash_one(5_u32));
    /// ```
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let secrets = Secrets::new(seed);
        let keys = [hash(b"mask", secrets), hash(b"factor", secrets) | 1];
        Self { secrets, keys }
    }

    /// A hasher with a random seed.
    ///
    /// The seed comes from the operating system, by way of the standard library's `RandomState`. On
    /// `wasm32-unknown-unknown`, where `RandomState` is not random, it comes from the crate
    /// `getrandom`. There, the feature `wasm_js` of this crate selects JavaScript's
    /// `crypto.getRandomValues`. Hosts without JavaScript need a [custom
    /// backend](https://docs.rs/getrandom/0.4/#custom-backend).
    ///
    /// ```
    /// use guira::SeededState;
    ///
    /// assert_ne!(SeededState::random().seed(), SeededState::random().seed());
    /// ```
    ///
    /// # Panics
    ///
    /// If the source of randomness fails.
    #[must_use]
    pub fn random() -> Self {
        #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
        let seed = std::hash::RandomState::new().hash_one(0);
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        let seed = getrandom::u64().expect("the source of randomness works");
        Self::new(seed)
    }

    /// The seed. Keep it secret if clients choose the items: an attacker who knows it can make keys
    /// that overfill a pair of buckets.
    ///
    /// ```
    /// use guira::SeededState;
    ///
    /// assert_eq!(SeededState::new(7).seed(), 7);
    /// ```
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.secrets.seed
    }
}

/// Omits the seed: an attacker who knows it can overfill buckets.
impl fmt::Debug for SeededState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededState").finish_non_exhaustive()
    }
}

impl Default for SeededState {
    /// [`SeededState::random`].
    fn default() -> Self {
        Self::random()
    }
}

impl BuildHasher for SeededState {
    type Hasher = SeededHasher;

    #[inline]
    fn build_hasher(&self) -> SeededHasher {
        SeededHasher {
            state: 0,
            keys: self.keys,
            secrets: self.secrets,
        }
    }
}

/// The [`Hasher`] of [`SeededState`].
///
/// Each integer is absorbed into a state of 8 bytes. Byte strings are hashed to 8 bytes first.
#[derive(Clone)]
pub struct SeededHasher {
    state: u64,
    keys: [u64; 2],
    secrets: Secrets,
}

impl SeededHasher {
    #[inline(always)]
    fn absorb(&mut self, value: u64) {
        self.state = absorb(self.state, value, self.keys);
    }
}

#[inline(always)]
const fn absorb(state: u64, value: u64, [mask, factor]: [u64; 2]) -> u64 {
    fold(fold(state ^ value ^ mask, factor), FACTOR)
}

/// The seed, and what rapidhash makes of it for items of at most [`Self::LONGEST`] bytes. The rest is
/// computed for each longer item, because there may be very many small filters: it is 40 bytes.
#[derive(Clone, Copy)]
struct Secrets {
    seed: u64,
    mixed: u64,
    first: u64,
    second: u64,
}

impl Secrets {
    /// The items for which rapidhash has a path without a loop, which uses two secrets.
    const LONGEST: usize = 112;

    const fn new(seed: u64) -> Self {
        let all = RapidSecrets::seed(seed);
        Self {
            seed,
            mixed: all.seed,
            first: all.secrets[1],
            second: all.secrets[2],
        }
    }

    /// The secrets for items of at most [`Self::LONGEST`] bytes.
    #[inline(always)]
    const fn of_short(self) -> RapidSecrets {
        RapidSecrets {
            seed: self.mixed,
            secrets: [0, self.first, self.second, 0, 0, 0, 0],
        }
    }
}

#[inline(always)]
const fn hash(bytes: &[u8], secrets: Secrets) -> u64 {
    // A separate branch, so that nothing is written to memory for the usual items.
    if bytes.len() <= 16 {
        rapidhash_v3_inline::<true, false, false>(bytes, &secrets.of_short())
    } else {
        hash_long(bytes, secrets)
    }
}

#[inline]
const fn hash_long(bytes: &[u8], secrets: Secrets) -> u64 {
    let secrets = if bytes.len() <= Secrets::LONGEST {
        secrets.of_short()
    } else {
        RapidSecrets::seed(secrets.seed)
    };
    rapidhash_v3_inline::<true, false, false>(bytes, &secrets)
}

/// 2^64 / φ, as in Fibonacci hashing: an odd number with no pattern in its bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of the product, combined by XOR: each of its bits depends on all bits of both
/// factors.
#[inline(always)]
const fn fold(one: u64, other: u64) -> u64 {
    let product = one as u128 * other as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Omits the keys, as [`SeededState`] omits the seed.
impl fmt::Debug for SeededHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededHasher").finish_non_exhaustive()
    }
}

macro_rules! absorb {
    ($($name:ident: $int:ty),*) => {$(
        #[inline]
        fn $name(&mut self, value: $int) {
            self.absorb(value as u64);
        }
    )*};
}

impl Hasher for SeededHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.absorb(hash(bytes, self.secrets));
    }

    absorb!(write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_usize: usize);

    /// Widened to 64 bits with its sign, so that its width does not matter.
    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.absorb(value as i64 as u64);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.absorb(value as u64);
        self.absorb((value >> 64) as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests;

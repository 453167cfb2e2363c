//! From an item to its fingerprint and its pair of buckets. Pure.

use crate::layout::{Layout, Masks};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};
use std::{
    fmt,
    hash::{BuildHasher, Hasher},
};

/// All that the table knows of an item: its fingerprint and its two buckets.
/// Two items of one class cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) fingerprint: u64,
    /// The lower bucket of the pair.
    pub(crate) p: usize,
    /// The higher bucket of the pair.
    pub(crate) q: usize,
}

impl Class {
    /// The class of the items with this hash in a table of `buckets` buckets.
    ///
    /// The bucket comes from the high bits, the fingerprint from the low 32.
    #[inline(always)]
    pub(crate) fn of_hash<L: Layout>(hash: u64, buckets: usize) -> Self {
        Self::of_resident(fingerprint::<L>(hash), scale(hash, buckets), buckets)
    }

    /// The class of the fingerprint `fingerprint` that stands in `bucket`.
    #[inline(always)]
    pub(crate) fn of_resident(fingerprint: u64, bucket: usize, buckets: usize) -> Self {
        let other = alternate(fingerprint, bucket, buckets);
        Self {
            fingerprint,
            p: bucket.min(other),
            q: bucket.max(other),
        }
    }
}

/// A fingerprint from 1 to 2^f - 1, each as likely as the others.
#[inline(always)]
fn fingerprint<L: Layout>(hash: u64) -> u64 {
    (((hash & 0xffff_ffff) * L::FINGERPRINT) >> 32) + 1
}

/// `hash` scaled onto `0..buckets` (Lemire, *Fast random integer generation in
/// an interval*, 2019, §4, without the rejection).
#[inline(always)]
const fn scale(hash: u64, buckets: usize) -> usize {
    ((hash as u128 * buckets as u128) >> 64) as usize
}

/// The other bucket of the pair, for any even number m of buckets: (H(fp) - b)
/// mod m is its own inverse, and as H(fp) is odd, one bucket is even and the other
/// odd: no pair is one bucket. (Fan et al., *Cuckoo Filter*, CoNEXT 2014, §3.1,
/// use b xor H(fp), which needs a power of two.) H is Fibonacci hashing: 2^64 / φ.
#[inline(always)]
pub(crate) const fn alternate(fingerprint: u64, bucket: usize, buckets: usize) -> usize {
    let sum = scale(fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15), buckets) | 1;
    if sum >= bucket {
        sum - bucket
    } else {
        sum + buckets - bucket
    }
}

/// The default [`BuildHasher`]: rapidhash V3, keyed by a 64-bit seed.
///
/// The same seed gives the same hashes in every process and every release of
/// this crate, on 32-bit and 64-bit platforms, for integers, strings, byte
/// slices and what `derive(Hash)` makes of them. (Slices of wider integers are
/// fed to a hasher as memory: they hash differently on big-endian platforms.)
///
/// Without a seed of your own it is random, so that keys crafted beforehand
/// have no effect. rapidhash is not a cryptographic hash: it does not protect
/// a filter whose answers tell an attacker, query by query, about its seed.
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
    seed: u64,
    secrets: RapidSecrets,
}

impl SeededState {
    /// The hasher with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            secrets: RapidSecrets::seed(seed),
        }
    }

    /// The hasher with a seed from the operating system's randomness, by way of the
    /// standard library's `RandomState`.
    ///
    /// `wasm32-unknown-unknown` has no operating system, and its `RandomState` is the same
    /// in every instance. The seed comes from the crate `getrandom` there, which builds
    /// only if it is told where to find randomness: with the feature `wasm_js` of this
    /// crate it asks JavaScript's `crypto.getRandomValues`. Hosts without JavaScript need
    /// a [custom backend](https://docs.rs/getrandom/0.4/#custom-backend).
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

    /// The seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }
}

/// Without the seed: whoever knows it can overfill buckets.
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
            secrets: self.secrets,
        }
    }
}

/// The [`Hasher`] of [`SeededState`].
///
/// Each written value is hashed, and the running state and this hash (or the
/// value itself, if it is an integer) are hashed as one message of 16 bytes.
#[derive(Clone)]
pub struct SeededHasher {
    state: u64,
    secrets: RapidSecrets,
}

impl SeededHasher {
    #[inline(always)]
    fn hash(&self, bytes: &[u8]) -> u64 {
        rapidhash_v3_inline::<true, false, false>(bytes, &self.secrets)
    }

    #[inline(always)]
    fn absorb(&mut self, value: u64) {
        let message = u128::from(self.state) | u128::from(value) << 64;
        self.state = self.hash(&message.to_le_bytes());
    }
}

/// As of [`SeededState`].
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
        let hash = self.hash(bytes);
        self.absorb(hash);
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

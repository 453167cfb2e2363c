//! From a hash to a class: a fingerprint and its pair of buckets. Pure.

use super::layout::{Layout, Masks};

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

    /// The class of a fingerprint with these two buckets.
    #[inline(always)]
    pub(crate) fn of_pair(fingerprint: u64, one: usize, other: usize) -> Self {
        Self {
            fingerprint,
            p: one.min(other),
            q: one.max(other),
        }
    }

    /// The class with its buckets in the wrong order, for negative controls.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn swapped(self) -> Self {
        Self {
            p: self.q,
            q: self.p,
            ..self
        }
    }

    /// The class of the fingerprint `fingerprint` that stands in `bucket`.
    #[inline(always)]
    pub(crate) fn of_resident(fingerprint: u64, bucket: usize, buckets: usize) -> Self {
        Self::of_pair(fingerprint, bucket, alternate(fingerprint, bucket, buckets))
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

#[cfg(test)]
mod tests;

//! From a hash to a class: a fingerprint and its pair of buckets. Pure.

use super::{
    entry::{Entry, Fingerprint},
    layout::Layout,
};
use std::{hint::select_unpredictable, marker::PhantomData};

/// All that the table knows of an item: its fingerprint and its two buckets.
/// Items of the same class are indistinguishable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) fingerprint: Fingerprint,
    /// The lower bucket of the pair.
    pub(crate) p: usize,
    /// The higher bucket of the pair.
    pub(crate) q: usize,
}

impl Class {
    /// A placeholder for a class.
    pub(crate) const NONE: Self = Self {
        fingerprint: Fingerprint::NONE,
        p: 0,
        q: 0,
    };

    /// The class of the items with this hash in a table of `buckets` buckets.
    ///
    /// A fingerprint has the m/2 pairs of [`alternate`], ordered by their lower buckets. The high
    /// bits of the hash choose a pair, so P and Q need not be compared. The low bits of the hash are
    /// the fingerprint.
    ///
    /// In a growable filter the fingerprint is what the choice of the pair leaves of the hash. The highest
    /// of the 40 low bits would be nearly equal within a pair, if there are many pairs.
    #[inline(always)]
    pub(crate) fn of_hash<L: Layout>(
        hash: u64,
        fingerprints: Fingerprints<L>,
        buckets: usize,
    ) -> Self {
        let (pair, rest) = scale(hash, buckets / 2);
        let fingerprint = fingerprints.of(if L::GROWS {
            rest >> L::LARGEST.leading_zeros()
        } else {
            hash
        });
        let half = half_sum(fingerprint, buckets);
        // The buckets of the first pairs add up to s, those of the others to s + m. A branch would be
        // unpredictable.
        let wraps = pair > half;
        let p = pair + select_unpredictable(wraps, half + 1, 0);
        let offset = select_unpredictable(wraps, buckets, half + 1);
        let q = half + offset - pair;
        Self { fingerprint, p, q }
    }

    /// The class with this fingerprint and these buckets.
    #[inline(always)]
    pub(crate) fn of_pair(fingerprint: Fingerprint, one: usize, other: usize) -> Self {
        Self {
            fingerprint,
            p: one.min(other),
            q: one.max(other),
        }
    }

    /// The entry of the copies of the class in a filter without time.
    #[inline(always)]
    pub(crate) fn untagged(self) -> Entry {
        Entry::untagged(self.fingerprint)
    }

    /// Both buckets. The first is where a claim goes if both words are equally full.
    #[inline(always)]
    pub(crate) fn in_order_of_claims<L: Layout>(self) -> (usize, usize) {
        self.lower_first_if(self.lasting_bit::<L>() == 0)
    }

    /// The home of the class, and its other bucket. For half of all classes, the home is the bucket
    /// that claims do not prefer, so plain inserts of the class conflict with it less often.
    pub(crate) fn home<L: Layout>(self) -> (usize, usize) {
        self.lower_first_if(self.lasting_bit::<L>() == self.p as u64 & 1)
    }

    /// The lowest bit of the fingerprint that words of all levels store. It is 0 for half of all
    /// classes, so buckets that are preferred by it are evenly loaded.
    #[inline(always)]
    fn lasting_bit<L: Layout>(self) -> u64 {
        self.fingerprint.bits() >> L::MAX_LEVEL & 1
    }

    #[inline(always)]
    fn lower_first_if(self, lower_first: bool) -> (usize, usize) {
        if lower_first {
            (self.p, self.q)
        } else {
            (self.q, self.p)
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

    /// The class that has `fingerprint` and the bucket `bucket`.
    #[inline(always)]
    pub(crate) fn of_resident(fingerprint: Fingerprint, bucket: usize, buckets: usize) -> Self {
        Self::of_pair(fingerprint, bucket, alternate(fingerprint, bucket, buckets))
    }
}

/// The fingerprints of a filter: bits that are uniform among the items of a pair. If the number of
/// fingerprints is not a power of two, they are 32 bits, scaled onto the range of fingerprints.
///
/// A growable filter of f bits has fingerprints of 40 bits, whose 40 - f lowest are 0. The 9
/// highest bits are never all 0, so a stored fingerprint is never 0 at any level: a slot that holds
/// 0 is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprints<L> {
    /// The bits that are used.
    mask: u64,
    layout: PhantomData<L>,
}

impl<L: Layout> Fingerprints<L> {
    /// The smallest fingerprint, which is a single bit.
    const LEAST: u64 = 1 << L::MAX_LEVEL;

    /// The fingerprints of a filter that begins at the level `first`.
    pub(crate) const fn new(first: u32) -> Self {
        Self {
            mask: L::LARGEST & (u64::MAX << first),
            layout: PhantomData,
        }
    }

    /// Smaller fingerprints are raised to the smallest one, so some fingerprints are twice as likely
    /// as others.
    #[inline(always)]
    fn of(self, bits: u64) -> Fingerprint {
        if const { !(L::LARGEST + 1).is_power_of_two() } {
            let scaled = ((bits & u64::from(u32::MAX)) * L::LARGEST) >> 32;
            return Fingerprint::new(1 + scaled);
        }
        let low = bits & self.mask;
        Fingerprint::new(if low >= Self::LEAST {
            low
        } else {
            Self::raised(low)
        })
    }

    /// A separate function, because it is rare: the branch is predicted, and later instructions do not
    /// wait for the comparison.
    #[cold]
    #[inline(never)]
    fn raised(low: u64) -> u64 {
        low | Self::LEAST
    }
}

/// `hash` scaled onto `0..buckets` (Lemire, *Fast random integer generation in
/// an interval*, 2019, §4, without the rejection), and the rest. The rest is the place of the hash among
/// those with the same result, from 0 to 2^64.
#[inline(always)]
const fn scale(hash: u64, buckets: usize) -> (usize, u64) {
    let product = hash as u128 * buckets as u128;
    ((product >> 64) as usize, product as u64)
}

/// The other bucket of the pair, for any even number m of buckets: (s - b) mod m is its own inverse.
/// As s is odd, one bucket is even and the other odd, so the two buckets always differ. (Fan et al.,
/// *Cuckoo Filter*, CoNEXT 2014, §3.1, use b xor a hash of the fingerprint, which needs a power of
/// two.)
#[inline(always)]
pub(crate) const fn alternate(fingerprint: Fingerprint, bucket: usize, buckets: usize) -> usize {
    let sum = 2 * half_sum(fingerprint, buckets) + 1;
    if sum >= bucket {
        sum - bucket
    } else {
        sum + buckets - bucket
    }
}

/// h of DESIGN, section 2: the buckets of each pair of this fingerprint add up to 2h + 1,
/// modulo m. Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4), scaled
/// onto the numbers below m/2.
#[inline(always)]
const fn half_sum(fingerprint: Fingerprint, buckets: usize) -> usize {
    let mixed = fingerprint.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    scale(mixed, buckets / 2).0
}

#[cfg(test)]
mod tests;

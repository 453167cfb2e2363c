//! digest: a number that says whether two filters hold the same copies.

use crate::{
    filter::Filter,
    geometry::Geometry,
    lifetime::Lifetime,
    raw::any::Ops,
    snapshot::header::{HEADER_BYTES, Header},
    table::class::Class,
};
use std::{collections::BTreeMap, hash::BuildHasher};

/// The number of ages that live copies can have.
const AGES: usize = Geometry::MAX_EPOCHS as usize + 1;

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// A 128-bit number that depends only on the [header](Self::header) and on the copies of each
    /// class.
    ///
    /// Two filters with the same header and the same number of copies of each class have the same
    /// digest. The order of inserts, the places of copies and the number of doublings do not
    /// matter. Capacities are part of the header, so filters that [`merge`](Self::merge) accepts
    /// may still differ in it.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) the digest depends on the live copies of each class
    /// and age. The age of a copy is the number of epochs since it was last seen. The numbers of the
    /// filters' epochs do not matter.
    ///
    /// Filters that differ have different digests, except about one pair in 2¹²⁵, if the mixed
    /// numbers behave like random ones. (2¹²⁸, less 3 bits for classes with 8 copies more in one
    /// filter.) This is not a cryptographic hash: an attacker who knows the seed can make two
    /// filters with the same digest.
    ///
    /// The digest is part of the [format](Self::write_to). It is the same on all platforms, and in
    /// all releases that write the same version of a snapshot.
    ///
    /// If threads change the filter during the call, the result is the digest of a snapshot
    /// [written](Self::write_to) at the same time. The filter need not ever have been in that
    /// state. O([`buckets`](Self::buckets)).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let copy = CuckooFilter::from_bytes(&filter.to_bytes())?;
    /// assert_eq!(copy.digest(), filter.digest());
    /// copy.insert("koel")?;
    /// assert_ne!(copy.digest(), filter.digest());
    /// copy.remove("koel");
    /// assert_eq!(copy.digest(), filter.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn digest(&self) -> u128 {
        let start = State::of_header(&Header::of(self).to_bytes());
        let digest = start.value();
        self.sums_by_age(start).fold(digest, |digest, (age, sum)| {
            let [low, high] = [sum as u64, (sum >> 64) as u64];
            digest.wrapping_add(match T::EXPIRES {
                true => start.absorb(age).absorb(low).absorb(high).value(),
                false => sum,
            })
        })
    }

    /// The sum of the numbers of all live copies of each age.
    fn sums_by_age(&self, start: State) -> impl Iterator<Item = (u64, u128)> {
        // Copies are grouped by the epoch in which they were seen, because further epochs may begin
        // during the scan.
        let mut sums: BTreeMap<u64, u128> = BTreeMap::new();
        let end = self.raw.scan_chunks(&mut |epoch, copies| {
            let mut of_chunk = [0_u128; AGES];
            for (class, age) in copies {
                let sum = &mut of_chunk[age as usize % AGES];
                *sum = sum.wrapping_add(start.absorb_class(class).value());
            }
            for (age, of_age) in (0..).zip(of_chunk).filter(|&(_, of_age)| of_age != 0) {
                // In a filter of a hostile snapshot, the copy may have been seen before epoch 0.
                let sum = sums.entry(epoch.wrapping_sub(age)).or_default();
                *sum = sum.wrapping_add(of_age);
            }
        });
        let of_ages = sums.into_iter();
        let of_ages = of_ages.map(move |(seen, sum)| (end.epoch().wrapping_sub(seen), sum));
        of_ages.filter(move |&(age, _)| age <= end.oldest())
    }
}

/// A running hash of 128 bits.
#[derive(Clone, Copy)]
pub(crate) struct State(u64, u64);

impl State {
    /// The state from which each copy of a filter with this header starts.
    pub(crate) fn of_header(header: &[u8; HEADER_BYTES]) -> Self {
        let (words, _) = header.as_chunks();
        let words = words.iter().map(|&word| u64::from_le_bytes(word));
        words.fold(Self(0, 0), Self::absorb)
    }

    pub(crate) fn absorb(self, word: u64) -> Self {
        let low = mix((self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15));
        let high = mix((self.1 ^ low).wrapping_add(0x9e37_79b9_7f4a_7c15));
        Self(low, high)
    }

    pub(crate) fn absorb_class(self, class: Class) -> Self {
        self.absorb(class.p as u64).absorb(class.fingerprint.bits())
    }

    pub(crate) fn value(self) -> u128 {
        u128::from(self.1) << 64 | u128::from(self.0)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number
/// Generators*, OOPSLA 2014; its constants are Stafford's mix 13).
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

//! Fingerprints and entries: what the table stores of an item, and the contents of a slot.

/// The part of an item's hash that identifies its class, together with the buckets. Lookups search
/// for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of no item. In a filter that cannot grow, it addresses a bucket like any other
    /// fingerprint.
    pub(crate) const NONE: Self = Self(0);

    /// The fingerprint with these bits.
    #[inline(always)]
    pub(crate) const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// The bits that words of this level do not store.
    #[inline(always)]
    pub(crate) const fn low_bits(self, level: u32) -> u64 {
        low_bits(self.0, level)
    }
}

/// The contents of a slot: a fingerprint and, in an expiring filter, a tag. Writers add and remove
/// entries.
///
/// [`Layout::fingerprint`](super::layout::Layout::fingerprint) converts an entry to its fingerprint,
/// and [`Moment::entry`](super::time::Moment::entry) converts a fingerprint to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Entry(u64);

impl Entry {
    /// The contents of an empty slot.
    pub(crate) const EMPTY: Self = Self(0);

    /// The entry with these bits: the tag in the upper ones, and the fingerprint in the lower ones.
    #[inline(always)]
    pub(crate) const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The entry in a filter without time, which is the fingerprint alone.
    #[inline(always)]
    pub(crate) const fn untagged(fingerprint: Fingerprint) -> Self {
        Self(fingerprint.0)
    }

    /// Its bits.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

/// The lowest `count` bits of `bits`.
#[inline(always)]
pub(crate) const fn low_bits(bits: u64, count: u32) -> u64 {
    bits & ((1 << count) - 1)
}

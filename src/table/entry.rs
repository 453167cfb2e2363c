//! Fingerprints and entries: what the table knows of an item, and what a slot holds of a copy.

/// Says which class an item belongs to. Readers ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of no item. In a filter that cannot grow, it addresses a bucket as well as
    /// any other fingerprint.
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

    /// The bits that words of a level do not store.
    #[inline(always)]
    pub(crate) const fn low_bits(self, level: u32) -> u64 {
        low_bits(self.0, level)
    }
}

/// What a slot holds of a copy: its fingerprint and, in an expiring filter, its tag. Writers put
/// and take it.
///
/// [`Layout::fingerprint`](super::layout::Layout::fingerprint) leads from an entry to its
/// fingerprint, [`Moment::entry`](super::time::Moment::entry) from a fingerprint to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Entry(u64);

impl Entry {
    /// What an empty slot holds.
    pub(crate) const EMPTY: Self = Self(0);

    /// The entry with these bits: the fingerprint's, and above them those of the tag.
    #[inline(always)]
    pub(crate) const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The entry in a filter without time: the fingerprint alone.
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

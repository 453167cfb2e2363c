//! The phase of a word, in a growable filter: 2k at level k, and 2k + 1 while the word is frozen there.
//!
//! The words of a table count their phases from the *first* level, at which the filter begins. So an
//! empty word of a new filter is 0, and making a filter writes to no word.

use super::{Bits, Bucket};
use crate::memory::{CanGrow, Fixed};

/// What the words of a table lack of their phases: the phase of the first level.
///
/// Words of a fixed filter lack nothing, and this is the type `()`.
pub(crate) trait Base: Copy + std::fmt::Debug {
    /// The base of the filter whose first level this is.
    fn of_first(level: u32) -> Self;

    /// The word without a base, as [`Bucket::unpack`] and snapshots have it.
    fn add_to(self, bits: Bits) -> u64;

    /// The word in the table.
    fn subtract_from(self, bits: u64) -> Bits;
}

/// Filters whose words have a [`Base`].
pub(crate) trait Based {
    type Base: Base;
}

impl Based for Fixed {
    type Base = ();
}

impl Based for CanGrow {
    type Base = u64;
}

impl Base for () {
    #[inline(always)]
    fn of_first(_level: u32) {}

    #[inline(always)]
    fn add_to(self, bits: Bits) -> u64 {
        bits.0
    }

    #[inline(always)]
    fn subtract_from(self, bits: u64) -> Bits {
        Bits(bits)
    }
}

/// The phase is in the uppermost bits, so nothing is carried into other bits.
impl Base for u64 {
    #[inline(always)]
    fn of_first(level: u32) -> Self {
        u64::from(level) << Hint::LEVEL_OF_PHASE
    }

    #[inline(always)]
    fn add_to(self, bits: Bits) -> u64 {
        bits.0.wrapping_add(self)
    }

    #[inline(always)]
    fn subtract_from(self, bits: u64) -> Bits {
        Bits(bits.wrapping_sub(self))
    }
}

/// A level that all words have reached, in a form that is cheap for readers.
///
/// ```text
/// 63     59 58 57      53 52    48 47   40 39                              0
/// [ phase    ][         ][ level ][       ][ 1 for each bit of a plane's number ]
/// ```
///
/// * The phase is that of words of the table. A higher level has a larger hint.
/// * The level is absolute: it says how the slots of a word lie.
/// * The lowest bits mask the fingerprint bits that select the plane, from bit `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) struct Hint(u64);

impl Hint {
    /// The hint of a fixed filter.
    pub(crate) const FIXED: Self = Self(0);

    /// The bit of the phase that counts levels; the one below says that the word is frozen.
    const LEVEL_OF_PHASE: u32 = 59;

    const LEVEL: u32 = 48;

    /// The bits of the level.
    pub(super) const LEVEL_BITS: u64 = 0b1_1111 << Self::LEVEL;

    /// The hint of a filter whose words have reached `level`, and began at `first`.
    pub(crate) fn new(level: u32, first: u32) -> Self {
        let plane = (1_u64 << level) - (1 << first);
        let phase = u64::from(level - first) << Self::LEVEL_OF_PHASE;
        Self(phase | u64::from(level) << Self::LEVEL | plane)
    }

    #[inline(always)]
    pub(crate) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The level.
    #[inline(always)]
    pub(crate) fn level(self) -> u32 {
        ((self.0 & Self::LEVEL_BITS) >> Self::LEVEL) as u32
    }

    /// The number of times that the filter has doubled.
    #[inline(always)]
    pub(crate) fn doublings(self) -> usize {
        (self.0 >> Self::LEVEL_OF_PHASE) as usize
    }

    /// The bits of a fingerprint that select the plane.
    #[inline(always)]
    pub(crate) fn plane_bits(self, fingerprint: u64) -> u64 {
        // No fingerprint has a bit above the mask of planes.
        self.0 & fingerprint
    }

    /// A word of the table as [`Bucket::unpack`] takes it.
    #[inline(always)]
    pub(crate) fn without_base(self, bits: Bits) -> u64 {
        let level = u64::from(self.level()) << Self::LEVEL_OF_PHASE;
        let base = level.wrapping_sub(self.0 >> Self::LEVEL_OF_PHASE << Self::LEVEL_OF_PHASE);
        bits.0.wrapping_add(base)
    }

    /// The opposite of [`without_base`](Self::without_base).
    #[inline(always)]
    pub(crate) fn with_base(self, bits: u64) -> Bits {
        Bits(bits.wrapping_sub(self.without_base(Bits(0))))
    }
}

/// A word with a phase. The default methods are for words that cannot grow, which stay at level 0.
pub(crate) trait Phases: Bucket {
    /// The number of low bits of a fingerprint that the word does not store, because its plane implies
    /// them.
    #[inline(always)]
    fn level(self) -> u32 {
        0
    }

    /// An empty word at a level.
    fn at_level(_level: u32) -> Self {
        Self::EMPTY
    }

    /// True if the word is in the phase of `other`.
    #[inline(always)]
    fn is_in_phase(self, _other: Self) -> bool {
        true
    }

    /// True if a word of the table is in the phase of the hint.
    #[inline(always)]
    fn is_at_hint(_word: Bits, _hint: Hint) -> bool {
        true
    }

    /// True if both words of the table are in the phase of the hint.
    #[inline(always)]
    fn are_at_hint(_p: Bits, _q: Bits, _hint: Hint) -> bool {
        true
    }

    /// True while the word is being split.
    #[inline(always)]
    fn is_frozen(self) -> bool {
        false
    }

    /// The word in the phase before its split, in which it no longer changes.
    fn frozen(self) -> Self {
        unreachable!("a word of a fixed filter is not split")
    }

    /// Splits a frozen word into what stays in it and what moves to the new word. Fingerprints whose
    /// lowest stored bit is 0 stay, the others move. Neither word stores that bit any more. The mark
    /// moves with its fingerprint.
    fn split(self) -> (Self, Self) {
        unreachable!("a word of a fixed filter is not split")
    }

    /// The phase; 0 in a fixed filter.
    #[inline(always)]
    fn phase(self) -> u64 {
        0
    }

    /// The word in another phase, for a negative control.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn with_phase(self, _phase: u64) -> Self {
        self
    }

    /// The word with its slots where they lie one level below, for a negative control.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn packed_as_before(self) -> Self {
        self
    }
}

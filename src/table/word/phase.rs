//! The phase of a word, in a growable filter: 2k at level k, and 2k + 1 while the word is frozen there.

use super::Bucket;

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

    /// A representation of a level that is cheap for readers. It has the phase of words at the level.
    /// From bit `first` on, its low bits mask the fingerprint bits that select the plane. A higher
    /// level has a larger representation.
    fn hint(_level: u32, _first: u32) -> Self {
        Self::EMPTY
    }

    /// True if the word is in the phase of `other`.
    #[inline(always)]
    fn is_in_phase(self, _other: Self) -> bool {
        true
    }

    /// True if both words are in the phase of `other`.
    #[inline(always)]
    fn both_in_phase(_p: Self, _q: Self, _other: Self) -> bool {
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

//! The phase of a growable filter's word, and its split.
//!
//! The phase is 2k at level k, and 2k + 1 while the word is frozen there.

use super::Word;
use crate::table::layout::{Layout, Masks, deposit};

impl<L: Layout> Word<L> {
    /// How often the word has been split: it holds the fingerprints that agree
    /// in so many low bits.
    #[inline(always)]
    pub(crate) fn level(self) -> u32 {
        (self.phase() >> 1) as u32
    }

    /// A level in a form that spares readers work: the phase of words at the level,
    /// and in slot 0 the bits of a fingerprint that then say which plane it is in. A
    /// higher level's has the higher representation; level 0 is the empty word.
    pub(crate) fn hint(level: u32) -> Self {
        Self::EMPTY
            .with_phase(2 * u64::from(level))
            .set(0, (1 << level) - 1)
    }

    /// The level that a [`hint`](Self::hint) was made of.
    #[inline(always)]
    pub(crate) fn level_of_hint(self) -> u32 {
        self.slot(0).trailing_ones()
    }

    /// True if the word is in the phase of `other`.
    #[inline(always)]
    pub(crate) fn is_in_phase(self, other: Self) -> bool {
        (self.bits ^ other.bits) & L::PHASE == 0
    }

    /// True if both words are in the phase of `other`.
    #[inline(always)]
    pub(crate) fn both_in_phase(p: Self, q: Self, other: Self) -> bool {
        ((p.bits ^ other.bits) | (q.bits ^ other.bits)) & L::PHASE == 0
    }

    /// True while the word is being split.
    #[inline(always)]
    pub(crate) fn is_frozen(self) -> bool {
        self.phase() & 1 == 1
    }

    /// The word on the verge of its split: it does not change any more.
    pub(crate) fn frozen(self) -> Self {
        debug_assert!(!self.is_frozen() && !self.is_reserved());
        self.with_phase(self.phase() + 1)
    }

    /// What the split of a frozen word leaves in it, and what goes to the new
    /// word: the fingerprints with a 0 and with a 1 in the bit of its level,
    /// each in the slot where it stood, and the mark with its fingerprint.
    pub(crate) fn split(self) -> (Self, Self) {
        debug_assert!(self.is_frozen());
        debug_assert!(!self.is_reserved());
        let bit = self.level();
        let next = self.with_phase(2 * (u64::from(bit) + 1));
        // All bits of the slots whose fingerprints go.
        let going = (next.bits >> bit & L::ONES) * L::FINGERPRINT;
        let (stays, goes) = (next.bits & !going, next.bits & !(L::PAYLOAD & !going));
        // The mark goes with slot 0.
        let (stays, goes) = match going & 1 {
            0 => (stays, goes & !L::MARK),
            _ => (stays & !L::MARK, goes),
        };
        (Self::from_bits(stays), Self::from_bits(goes))
    }

    #[inline(always)]
    pub(crate) fn phase(self) -> u64 {
        if L::PHASE_BITS == 0 {
            return 0;
        }
        // The phase's bits lie in one run, or in two.
        let low = L::PHASE.trailing_zeros();
        let run = (!(L::PHASE >> low)).trailing_zeros();
        let rest = L::PHASE >> low >> run;
        let first = self.bits >> low & ((1 << run) - 1);
        if rest == 0 {
            return first;
        }
        let second = self.bits >> low >> run >> rest.trailing_zeros();
        first | (second & (rest >> rest.trailing_zeros())) << run
    }

    pub(crate) fn with_phase(self, phase: u64) -> Self {
        debug_assert!(phase >> L::PHASE_BITS == 0);
        Self::from_bits(self.bits & !L::PHASE | deposit(phase, L::PHASE))
    }
}

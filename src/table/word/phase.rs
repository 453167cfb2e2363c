//! The phase of a growable filter's word, and its split.
//!
//! The phase is 2k at level k, and 2k + 1 while the word is frozen there.

use super::Word;
use crate::table::layout::{Layout, Masks};

impl<L: Layout> Word<L> {
    /// How many low bits of a fingerprint the word does not store: its plane says them.
    #[inline(always)]
    pub(crate) fn level(self) -> u32 {
        (self.phase() >> 1) as u32
    }

    /// An empty word at a level.
    pub(crate) fn at_level(level: u32) -> Self {
        Self::EMPTY.with_phase(2 * u64::from(level))
    }

    /// A level in a form that spares readers work: the phase of words at the level,
    /// and in the low bits those of a fingerprint that then say which plane it is in, from bit
    /// `first` on. A higher level's has the higher representation.
    pub(crate) fn hint(level: u32, first: u32) -> Self {
        let plane = (1_u64 << level) - (1 << first);
        Self::from_bits(Self::at_level(level).bits | plane)
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
    /// word: the fingerprints with a 0 and with a 1 in the lowest bit that it stores. That bit is
    /// not stored any more, so the slots are packed anew, in their order. The mark goes with its
    /// fingerprint: the first one on its side, too, and so in slot 0.
    pub(crate) fn split(self) -> (Self, Self) {
        debug_assert!(self.is_frozen());
        debug_assert!(!self.is_reserved());
        let next = Self::at_level(self.level() + 1);
        let mut sides = [(next, 0); 2];
        for slot in 0..self.slots() {
            let stored = self.slot(slot);
            if stored != 0 {
                let (side, used) = &mut sides[(stored & 1) as usize];
                *side = side.set(*used, stored >> 1);
                *used += 1;
            }
        }
        if !self.is_unmarked() {
            let (side, _) = &mut sides[(self.slot(0) & 1) as usize];
            *side = Self::from_bits(side.bits | self.bits & L::MARK);
        }
        let [(stays, _), (goes, _)] = sides;
        (stays, goes)
    }

    #[inline(always)]
    pub(crate) fn phase(self) -> u64 {
        // Of no bits, in a fixed layout, 0.
        self.bits.checked_shr(L::PHASE_SHIFT).unwrap_or(0)
    }

    pub(crate) fn with_phase(self, phase: u64) -> Self {
        debug_assert!(phase >> L::PHASE_BITS == 0);
        Self::from_bits(self.bits & !L::PHASE | phase << (L::PHASE_SHIFT % u64::BITS))
    }

    /// The word with its slots where they lie one level below, for a negative control.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn packed_as_before(self) -> Self {
        let below = &L::LEVELS[self.level() as usize - 1];
        (0..below.slots).fold(Self::from_bits(self.bits & !L::PAYLOAD), |word, slot| {
            let stored = if slot < self.slots() {
                self.slot(slot)
            } else {
                0
            };
            Self::from_bits(word.bits | stored << (below.distance * slot as u32))
        })
    }
}

//! The phase, which says how the slots lie.

use super::{Bucket, Packed};
use crate::table::word::{
    Bits, Hint, Phases,
    lanes::{Masks, PackedLayout},
};

impl<L: PackedLayout> Packed<L> {
    /// The bit of the phase that a word has while it is frozen.
    pub(super) const FROZEN: u64 = L::PHASE & L::PHASE.wrapping_neg();

    /// The word in another phase.
    pub(super) fn set_phase(self, phase: u64) -> Self {
        debug_assert!(phase >> L::PHASE_BITS == 0);
        Self::from_bits(self.bits & !L::PHASE | phase << (L::PHASE_SHIFT % u64::BITS))
    }
}

impl<L: PackedLayout> Phases for Packed<L> {
    #[inline(always)]
    fn level(self) -> u32 {
        (self.phase() >> 1) as u32
    }

    fn at_level(level: u32) -> Self {
        Self::EMPTY.set_phase(2 * u64::from(level))
    }

    #[inline(always)]
    fn is_in_phase(self, other: Self) -> bool {
        (self.bits ^ other.bits) & L::PHASE == 0
    }

    #[inline(always)]
    fn is_at_hint(word: Bits, hint: Hint) -> bool {
        (word.0 ^ hint.bits()) & L::PHASE == 0
    }

    #[inline(always)]
    fn are_at_hint(p: Bits, q: Bits, hint: Hint) -> bool {
        ((p.0 ^ hint.bits()) | (q.0 ^ hint.bits())) & L::PHASE == 0
    }

    #[inline(always)]
    fn is_frozen(self) -> bool {
        self.phase() & 1 == 1
    }

    fn frozen(self) -> Self {
        debug_assert!(!self.is_frozen() && !self.is_reserved());
        self.set_phase(self.phase() + 1)
    }

    /// The slots are packed again, in their order. So a marked fingerprint remains the first one on
    /// its side, and in slot 0.
    fn split(self) -> (Self, Self) {
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
    fn phase(self) -> u64 {
        // Of no bits, in a fixed layout, 0.
        self.bits.checked_shr(L::PHASE_SHIFT).unwrap_or(0)
    }

    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn with_phase(self, phase: u64) -> Self {
        self.set_phase(phase)
    }

    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn packed_as_before(self) -> Self {
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

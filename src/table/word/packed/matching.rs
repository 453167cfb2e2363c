//! The matching of fingerprints on the fast path of a lookup.

use super::{Bits, Packed};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::{
        Hint,
        lanes::{Masks, PackedLayout},
    },
};
#[cfg(target_feature = "sse2")]
use safe_arch::{
    cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, move_mask_i8_m128i, set_i64_m128i,
    set_splat_i16_m128i, set_splat_i32_m128i,
};

// The broadcast fingerprint is xored in, so that equal slots become 0.
impl<L: PackedLayout> Packed<L> {
    /// True if both words are quiet and in the phase of `hint`, which has no control bits.
    #[inline(always)]
    pub(super) fn both_settled(p: Bits, q: Bits, hint: Hint) -> bool {
        let hint = hint.bits();
        ((p.0 ^ hint) | (q.0 ^ hint)) & (L::PHASE | L::CONTROL) == 0
    }

    /// True if any slot of either word holds `fingerprint`, if both words are settled.
    #[inline(always)]
    pub(super) fn either_matches(p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> bool {
        #[cfg(target_feature = "sse2")]
        if !L::HAS_PHASE && matches!(L::LEVELS[0].distance, 16 | 32) {
            return Self::either_matches_in_vector(p, q, fingerprint);
        }
        let lanes = Self::lanes_at(hint);
        let broadcast = Self::stored_at(hint, Entry::untagged(fingerprint)) * lanes.ones;
        let (p, q) = (p.0 ^ broadcast, q.0 ^ broadcast);
        if const { !L::HAS_PHASE && L::LEVELS[0].distance > L::LEVELS[0].bits } {
            Self::either_matches_in_lanes(p, q)
        } else {
            // In each word exact for its lowest slot that is 0, and there is none without one
            // (Warren, *Hacker's Delight*, 2nd ed., §6-1).
            let zero = |bits: u64| bits.wrapping_sub(lanes.ones) & !bits;
            (zero(p) | zero(q)) & lanes.tops != 0
        }
    }

    /// [`either_matches`](Self::either_matches) for lanes of 16 or 32 bits: one vector
    /// compare for the slots of both words.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_matches_in_vector(p: Bits, q: Bits, fingerprint: Fingerprint) -> bool {
        let words = set_i64_m128i(q.0 as i64, p.0 as i64);
        let equal = match L::LEVELS[0].distance {
            16 => cmp_eq_mask_i16_m128i(words, set_splat_i16_m128i(fingerprint.bits() as i16)),
            _ => cmp_eq_mask_i32_m128i(words, set_splat_i32_m128i(fingerprint.bits() as i32)),
        };
        move_mask_i8_m128i(equal) != 0
    }

    /// True if any slot of either word is 0, for slots with a control bit above each.
    /// To subtract 1 from a slot with this bit set clears the bit if the slot is 0, and
    /// borrows from no other bit beyond the slot.
    #[inline(always)]
    pub(super) fn either_matches_in_lanes(p: u64, q: u64) -> bool {
        let ones = L::LEVELS[0].ones;
        let above = ones << L::LEVELS[0].bits;
        ((p | above) - ones) & ((q | above) - ones) & above != above
    }
}

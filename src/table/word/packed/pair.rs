//! What the fast paths ask of two words at once: their slots lie alike, and the lanes are looked up once.

use super::Packed;
use crate::table::{
    entry::{Entry, Fingerprint},
    word::{
        Bits, Hint, Minus, Pair,
        lanes::{Lanes, Masks, PackedLayout, single_of},
    },
};
#[cfg(target_feature = "sse2")]
use safe_arch::{
    cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, move_mask_i8_m128i, set_i64_m128i,
    set_splat_i16_m128i, set_splat_i32_m128i,
};
use std::hint::select_unpredictable;

impl<L: PackedLayout> Pair for Packed<L> {
    #[inline(always)]
    fn match_settled(p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> (bool, bool) {
        let matches = if L::COUNTS {
            Self::either_has(p, q, Entry::untagged(fingerprint), hint)
        } else {
            Self::either_matches(p, q, fingerprint, hint)
        };
        (Self::both_settled(p, q, hint), matches)
    }

    #[inline(always)]
    fn plus_in_emptier(one: Bits, other: Bits, entry: Entry, hint: Hint) -> Option<(bool, Bits)> {
        if L::COUNTS
            && let Some(counted) = Self::counted_in_either(one, other, entry, hint)
        {
            return Some(counted);
        }
        Self::plus_in_emptier_alike(one, other, entry, hint)
    }

    #[inline(always)]
    fn minus_in_first(p: Bits, q: Bits, entry: Entry, hint: Hint) -> Minus {
        if !Self::both_settled(p, q, hint) {
            return Self::minus_by_contents(p, q, entry, hint);
        }
        match L::COUNTS {
            true => Self::uncounted_in_first(p, q, single_of::<L>(entry), hint),
            false => Self::minus_in_first_alike(p, q, entry, hint),
        }
    }

    #[inline(always)]
    fn is_fuller_at_hint(one: Bits, other: Bits, hint: Hint) -> bool {
        debug_assert!(Self::both_settled(one, other, hint));
        let [one, other] = [one, other].map(|bits| Self::used(bits.0, Self::lanes_at(hint)));
        one > other
    }
}

impl<L: PackedLayout> Packed<L> {
    /// How the slots lie of words at the level of the hint.
    #[inline(always)]
    pub(super) fn lanes_at(hint: Hint) -> &'static Lanes {
        &L::LEVELS[hint.level() as usize]
    }

    /// [`stored`](Self::stored) of words at the level of the hint.
    #[inline(always)]
    pub(super) fn stored_at(hint: Hint, entry: Entry) -> u64 {
        entry.bits() >> hint.level()
    }

    /// The top bit of every slot of `bits` that is not 0.
    #[inline(always)]
    pub(super) const fn used(bits: u64, lanes: &Lanes) -> u64 {
        (((bits & lanes.lows) + lanes.lows) | bits) & lanes.tops
    }

    /// [`place`](Self::place) in these lanes.
    #[inline(always)]
    pub(super) fn place_in(lanes: &Lanes, tops: u64) -> u64 {
        (tops & tops.wrapping_neg()) >> (lanes.bits - 1)
    }

    /// True if both words are quiet and in the phase of `hint`, which has no control bits.
    #[inline(always)]
    pub(super) fn both_settled(p: Bits, q: Bits, hint: Hint) -> bool {
        let hint = hint.bits();
        ((p.0 ^ hint) | (q.0 ^ hint)) & (L::PHASE | L::CONTROL) == 0
    }

    /// True if any slot of either word holds `fingerprint`, if both words are settled. The broadcast
    /// fingerprint is xored in, so that equal slots become 0.
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

    /// [`plus_in_emptier`](Pair::plus_in_emptier). Words in the phase of the hint have their slots in the
    /// same places, which are looked up once.
    #[inline(always)]
    pub(super) fn plus_in_emptier_alike(
        one: Bits,
        other: Bits,
        entry: Entry,
        hint: Hint,
    ) -> Option<(bool, Bits)> {
        let differ = (one.0 ^ hint.bits()) | (other.0 ^ hint.bits());
        if differ & (L::PHASE | L::RESERVED) != 0 {
            return Self::plus_by_contents(one, other, entry, hint);
        }
        let lanes = Self::lanes_at(hint);
        let [in_one, in_other] = [one, other].map(|bits| Self::used(bits.0, lanes));
        // As in `is_fuller_than`.
        let to_other = in_one > in_other;
        let (into, used) = select_unpredictable(to_other, (other, in_other), (one, in_one));
        let empty = used ^ lanes.tops;
        let stored = Self::stored_at(hint, entry);
        debug_assert!(stored != 0 && stored <= lanes.largest);
        let new = into.0 | (stored * Self::place_in(lanes, empty));
        (empty != 0).then_some((to_other, Bits(new)))
    }

    /// [`minus_in_first`](Pair::minus_in_first) of settled words, as
    /// [`plus_in_emptier_alike`](Self::plus_in_emptier_alike).
    #[inline(always)]
    pub(super) fn minus_in_first_alike(p: Bits, q: Bits, entry: Entry, hint: Hint) -> Minus {
        let (lanes, stored) = (Self::lanes_at(hint), Self::stored_at(hint, entry));
        let all = stored * lanes.ones;
        let [in_p, in_q] = [p, q].map(|bits| Self::used(bits.0 ^ all, lanes) ^ lanes.tops);
        let (from, matches) = select_unpredictable(in_p != 0, (p, in_p), (q, in_q));
        match matches {
            0 => Minus::Nothing,
            _ => Minus::Taken {
                in_p: in_p != 0,
                new: Bits(from.0 ^ (stored * Self::place_in(lanes, matches))),
            },
        }
    }
}

//! Tags: in an expiring filter each copy says in which epoch it was last seen.
//!
//! A slot holds the *entry* of a copy: its fingerprint, and above that its tag. Moves, removes
//! and searches handle whole entries, so a move carries a tag as it carries the rest. What is here
//! looks at fingerprint and tag apart.
//!
//! Tags, ages and what is live: [`time`](crate::table::time).

use super::{Bits, Bucket, Packed};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::lanes::{Lanes, Masks, PackedLayout},
};
#[cfg(target_feature = "sse2")]
use safe_arch::{
    add_i64_m128i, cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, cmp_gt_mask_i32_m128i, m128i,
    move_mask_i8_m128i, set_i64_m128i, set_splat_i16_m128i, set_splat_i32_m128i,
    set_splat_i64_m128i, shl_all_u64_m128i, shl_imm_u16_m128i, shl_imm_u32_m128i,
    shr_imm_u32_m128i, sub_i16_m128i, sub_i32_m128i, sub_i64_m128i, sub_saturating_u16_m128i,
    zeroed_m128i,
};

/// An epoch, and how old a live copy may be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// The number of the epoch.
    pub(crate) epoch: u64,
    /// E: the age of the oldest live copies.
    pub(crate) oldest: u64,
}

impl Now {
    /// The epoch after this one.
    pub(crate) fn next(self) -> Self {
        Self {
            epoch: self.epoch + 1,
            ..self
        }
    }

    /// What a slot holds of a copy that is seen in this epoch.
    #[inline(always)]
    pub(crate) fn entry_of<L: PackedLayout>(self, fingerprint: Fingerprint) -> Entry {
        let tag = self.epoch & L::LAST_TAG;
        Entry::new(fingerprint.bits() | tag << L::FINGERPRINT_BITS)
    }

    /// The age in this epoch of the copy with this entry.
    #[inline]
    pub(crate) fn age_of<L: PackedLayout>(self, entry: Entry) -> u64 {
        let tag = entry.bits() >> L::FINGERPRINT_BITS;
        self.epoch.wrapping_sub(tag) & L::LAST_TAG
    }

    /// True if the copy with this entry counts in this epoch.
    #[inline]
    pub(crate) fn has_live<L: PackedLayout>(self, entry: Entry) -> bool {
        self.age_of::<L>(entry) <= self.oldest
    }
}

/// The places of fingerprints and tags in a word.
struct Places<L>(L);

impl<L: PackedLayout> Places<L> {
    const LANES: &'static Lanes = &L::LEVELS[0];
    /// Bit 0 of each fingerprint.
    const ONES: u64 = Self::LANES.ones;
    /// The top bit of each fingerprint.
    const TOPS: u64 = Self::ONES << (L::FINGERPRINT_BITS - 1);
    /// The other bits of each fingerprint.
    const LOWS: u64 = (Self::ONES * L::FINGERPRINT) & !Self::TOPS;
    /// Bit 0 of each tag.
    const TAG_ONES: u64 = Self::ONES << L::FINGERPRINT_BITS;
    /// All bits of each tag.
    const TAGS: u64 = Self::TAG_ONES * L::LAST_TAG;
    /// The bit above each tag, which belongs to the next slot or to none.
    const ABOVE: u64 = Self::TAG_ONES << L::TAG_BITS;
    /// All bits of each fingerprint.
    const FINGERPRINTS: u64 = Self::ONES * L::FINGERPRINT;
}

/// What a lookup adds to all slots of two words, or takes from them, by a tag or an age. To load it
/// takes fewer instructions than to make it.
#[cfg(target_feature = "sse2")]
struct Splats<L>(L);

#[cfg(target_feature = "sse2")]
impl<L: PackedLayout> Splats<L> {
    /// Each tag, with the bit above it.
    const TAGS: [[u64; 2]; 16] = splats(Places::<L>::ABOVE, Places::<L>::TAG_ONES);
    /// What carries into the bit above a tag when it is added to a larger age.
    const CARRIES: [[u64; 2]; 16] = splats(Places::<L>::TAGS, Places::<L>::TAG_ONES.wrapping_neg());
    /// Each age in the upper bits of lanes of 16 bits.
    const AGES_IN_16: [[u64; 2]; 16] = splats(0, Places::<L>::ONES << 12);
    /// Each age in the upper bits of lanes of 32 bits, below the sign.
    const AGES_IN_32: [[u64; 2]; 16] = splats(0, Places::<L>::ONES << 27);

    #[inline(always)]
    fn at(splats: &'static [[u64; 2]; 16], number: u64) -> m128i {
        m128i::from(splats[(number & L::LAST_TAG) as usize % 16])
    }
}

#[cfg(target_feature = "sse2")]
const fn splats(first: u64, distance: u64) -> [[u64; 2]; 16] {
    let (mut splats, mut number) = ([[first; 2]; 16], 1);
    while number < splats.len() {
        splats[number] = [splats[number - 1][0].wrapping_add(distance); 2];
        number += 1;
    }
    splats
}

impl<L: PackedLayout> Packed<L> {
    /// The top bit of each fingerprint that is `fingerprint`, whatever the tag, and also if there
    /// is a mark. The word must not be reserved.
    #[inline(always)]
    fn with_fingerprint(self, fingerprint: Fingerprint) -> u64 {
        let different = self.bits ^ (fingerprint.bits() * Places::<L>::ONES);
        // As in `used`: exact for each slot.
        let (lows, tops) = (Places::<L>::LOWS, Places::<L>::TOPS);
        (((different & lows) + lows) | different) & tops ^ tops
    }

    /// The bit above the tag of each slot whose tag is dead, be it empty or not, among others.
    ///
    /// In each slot by itself: n - tag, with a bit above to borrow from, gives the age below that
    /// bit. Adding 2^t - 1 - E carries into the bit above if the age is more than E.
    #[inline(always)]
    fn carries_if_dead(self, now: Now) -> u64 {
        let (ones, all, above) = (Places::<L>::TAG_ONES, Places::<L>::TAGS, Places::<L>::ABOVE);
        let epoch = (now.epoch & L::LAST_TAG) * ones;
        let age = ((epoch | above) - (self.bits & all)) & all;
        age + (L::LAST_TAG - now.oldest) * ones
    }

    /// The bit above the tag of each slot whose fingerprint is not that of `bits`, among others.
    ///
    /// In each slot by itself: adding 2^f - 1 to what differs carries beyond the fingerprint.
    #[inline(always)]
    fn carries_unless(self, bits: u64) -> u64 {
        let all = Places::<L>::FINGERPRINTS;
        (((self.bits ^ bits) & all) + all) << L::TAG_BITS
    }

    /// The top bit of the fingerprint of each slot whose tag is live, be it empty or not.
    #[inline(always)]
    fn with_live_tag(self, now: Now) -> u64 {
        (!self.carries_if_dead(now) & Places::<L>::ABOVE) >> (L::TAG_BITS + 1)
    }

    /// The top bit of the fingerprint of each unmarked slot that holds a copy of `fingerprint`,
    /// live if `live`, else dead.
    #[inline(always)]
    fn unmarked_of(self, fingerprint: Fingerprint, now: Now, live: bool) -> u64 {
        let alive = self.with_live_tag(now);
        let wanted = if live { alive } else { !alive };
        let found = self.with_fingerprint(fingerprint) & wanted;
        if self.is_unmarked() {
            found
        } else {
            found & !Places::<L>::LANES.largest
        }
    }

    /// [`match_settled`](Self::match_settled), where only live copies match.
    #[inline(always)]
    pub(crate) fn match_settled_live(
        p: Bits,
        q: Bits,
        fingerprint: Fingerprint,
        hint: Self,
        now: Now,
    ) -> (bool, bool) {
        let (p, q) = (Self::unpack(p.0), Self::unpack(q.0));
        let holds = Self::either_holds_live(p, q, fingerprint, now);
        (Self::both_settled(p, q, hint), holds)
    }

    /// True if any slot of either word holds a live copy of `fingerprint`. Both must be quiet.
    #[inline(always)]
    fn either_holds_live(p: Self, q: Self, fingerprint: Fingerprint, now: Now) -> bool {
        #[cfg(target_feature = "sse2")]
        if const { L::TAG_BITS == 4 } {
            match const { (L::LEVELS[0].distance, L::LEVELS[0].bits) } {
                (16, 15) => return Self::either_holds_live_in_16(p, q, fingerprint, now),
                (32, 30) => return Self::either_holds_live_in_32(p, q, fingerprint, now),
                _ => {}
            }
        }
        #[cfg(target_feature = "sse2")]
        if const { L::LEVELS[0].distance == L::LEVELS[0].bits } {
            return Self::either_holds_live_packed(p, q, fingerprint, now);
        }
        let fingerprints = fingerprint.bits() * Places::<L>::ONES;
        let not = |word: Self| word.carries_unless(fingerprints) | word.carries_if_dead(now);
        not(p) & not(q) & Places::<L>::ABOVE != Places::<L>::ABOVE
    }

    /// The same as [`either_holds_live`](Self::either_holds_live) without lanes, for both words at
    /// once.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_holds_live_packed(p: Self, q: Self, fingerprint: Fingerprint, now: Now) -> bool {
        let splat = |bits: u64| set_splat_i64_m128i(bits as i64);
        let words = set_i64_m128i(q.bits as i64, p.bits as i64);
        let above = splat(Places::<L>::ABOVE);
        // As in `carries_unless`.
        let all = splat(Places::<L>::FINGERPRINTS);
        let different = (words ^ splat(fingerprint.bits() * Places::<L>::ONES)) & all;
        let up = set_i64_m128i(0, L::TAG_BITS.into());
        let different = shl_all_u64_m128i(add_i64_m128i(different, all), up);
        // As in `carries_if_dead`.
        let all = splat(Places::<L>::TAGS);
        let epoch = Splats::<L>::at(&Splats::<L>::TAGS, now.epoch);
        let age = sub_i64_m128i(epoch, words & all) & all;
        let carry = Splats::<L>::at(&Splats::<L>::CARRIES, now.oldest);
        let dead = add_i64_m128i(age, carry);
        let none = cmp_eq_mask_i32_m128i((different | dead) & above, above);
        move_mask_i8_m128i(none) != 0xffff
    }

    // With lanes of 16 or 32 bits, all slots of both words at once. A new copy of the class, less
    // what a slot holds, is the age above f zeros if the fingerprints are equal, and then only.
    // It is moved up, so that nothing is above the age.

    /// [`either_holds_live`](Self::either_holds_live) for 15 bits in lanes of 16.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_holds_live_in_16(p: Self, q: Self, fingerprint: Fingerprint, now: Now) -> bool {
        let words = set_i64_m128i(q.bits as i64, p.bits as i64);
        let new = set_splat_i16_m128i(now.entry_of::<L>(fingerprint).bits() as i16);
        let ages = shl_imm_u16_m128i::<1>(sub_i16_m128i(new, words));
        let different = shl_imm_u16_m128i::<4>(ages);
        let oldest = Splats::<L>::at(&Splats::<L>::AGES_IN_16, now.oldest);
        let dead = sub_saturating_u16_m128i(ages, oldest);
        let live = cmp_eq_mask_i16_m128i(different | dead, zeroed_m128i());
        move_mask_i8_m128i(live) != 0
    }

    /// [`either_holds_live`](Self::either_holds_live) for 30 bits in lanes of 32.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_holds_live_in_32(p: Self, q: Self, fingerprint: Fingerprint, now: Now) -> bool {
        let words = set_i64_m128i(q.bits as i64, p.bits as i64);
        let new = set_splat_i32_m128i(now.entry_of::<L>(fingerprint).bits() as i32);
        let ages = shl_imm_u32_m128i::<2>(sub_i32_m128i(new, words));
        let different = shl_imm_u32_m128i::<4>(ages);
        // Compared as signed numbers: a bit must be free above.
        let oldest = Splats::<L>::at(&Splats::<L>::AGES_IN_32, now.oldest);
        let dead = cmp_gt_mask_i32_m128i(shr_imm_u32_m128i::<1>(ages), oldest);
        let live = cmp_eq_mask_i32_m128i(different | dead, zeroed_m128i());
        move_mask_i8_m128i(live) != 0
    }

    /// How many unmarked slots hold a live copy of `fingerprint`.
    #[inline]
    pub(crate) fn count_live(self, fingerprint: Fingerprint, now: Now) -> usize {
        self.unmarked_of(fingerprint, now, true).count_ones() as usize
    }

    /// The entry of the oldest live copy of `fingerprint` that is unmarked.
    pub(crate) fn oldest_live(self, fingerprint: Fingerprint, now: Now) -> Option<Entry> {
        self.entries(self.unmarked_of(fingerprint, now, true))
            .max_by_key(|&entry| now.age_of::<L>(entry))
    }

    /// The entry of a dead copy, if the word has no mark. The word must not be reserved.
    #[inline(always)]
    pub(crate) fn dead(self, now: Now) -> Option<Entry> {
        // No copy has the fingerprint 0.
        let dead = self.carries_if_dead(now) & self.carries_unless(0) & Places::<L>::ABOVE;
        if dead != 0 && self.is_unmarked() {
            let slot = (dead.trailing_zeros() - 1) / Places::<L>::LANES.distance;
            Some(Entry::new(self.slot(slot as usize)))
        } else {
            None
        }
    }

    /// How many slots have a fingerprint.
    pub(super) fn occupied_by_fingerprints(self) -> u32 {
        (self.carries_unless(0) & Places::<L>::ABOVE).count_ones()
    }

    /// The word, which is at rest, without its dead copies.
    pub(crate) fn without_dead(self, now: Now) -> Self {
        self.without_entries(|entry| !now.has_live::<L>(entry))
    }

    /// The word, which is at rest, without the copies with such entries.
    pub(crate) fn without_entries(self, such: impl Fn(Entry) -> bool) -> Self {
        let has = |&slot: &usize| self.slot(slot) != 0 && such(Entry::new(self.slot(slot)));
        let without = |word: Self, slot| word.set(slot, 0);
        (0..self.slots()).filter(has).fold(self, without)
    }

    /// The entries in the slots whose fingerprints have these top bits.
    fn entries(self, tops: u64) -> impl Iterator<Item = Entry> {
        let mut rest = tops;
        std::iter::from_fn(move || {
            let slot = rest.trailing_zeros() / Places::<L>::LANES.distance;
            let found = rest != 0;
            rest &= rest.wrapping_sub(1);
            found.then(|| Entry::new(self.slot(slot as usize)))
        })
    }
}

#[cfg(test)]
mod tests;

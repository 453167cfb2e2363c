//! Tags: in an expiring filter each copy says in which epoch it was last seen.
//!
//! A slot holds the *entry* of a copy: its fingerprint, and above that its tag. Moves, removes
//! and searches handle whole entries, so a move carries a tag as it carries the rest. What is here
//! looks at fingerprint and tag apart.
//!
//! Tags, ages and what is live: [`time`](crate::table::time).

use super::Packed;
use crate::table::{
    entry::{Entry, Fingerprint},
    word::{
        Bits, Bucket, Hint, Pair, Phases,
        lanes::{LEVELS as MAX_LEVELS, Lanes, Masks, PackedLayout},
    },
};
#[cfg(target_feature = "sse2")]
use safe_arch::{
    add_i64_m128i, cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, cmp_gt_mask_i32_m128i, m128i,
    move_mask_i8_m128i, set_i64_m128i, set_splat_i16_m128i, set_splat_i32_m128i,
    set_splat_i64_m128i, shl_all_u16_m128i, shl_all_u32_m128i, shl_all_u64_m128i,
    shr_imm_u32_m128i, sub_i16_m128i, sub_i32_m128i, sub_i64_m128i, sub_saturating_u16_m128i,
    zeroed_m128i,
};
use std::{fmt, hint::select_unpredictable};

/// An epoch, and how old a live copy may be in it.
///
/// All of it is in one word, so that a call reads it by one load, and a single exchange changes it:
///
/// ```text
///  63      60 59       56 55                0
/// [  oldest  ][ uncounted ][      epoch      ]
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now(u64);

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Now")
            .field("epoch", &self.epoch())
            .field("oldest", &self.oldest())
            .field("uncounted", &self.uncounted())
            .finish()
    }
}

impl Now {
    /// The bits of the number of an epoch.
    pub(crate) const EPOCH_BITS: u32 = 56;

    const OLDEST_FROM: u32 = 60;

    /// The epoch with this number, in which copies are live up to the age `oldest`.
    pub(crate) const fn new(epoch: u64, oldest: u64) -> Self {
        let epoch = epoch & ((1 << Self::EPOCH_BITS) - 1);
        Self(oldest << Self::OLDEST_FROM | epoch)
    }

    /// The moment in a word, which processes may share, so that it can have any value.
    #[inline(always)]
    pub(crate) const fn of_word(word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// The number of the epoch.
    #[inline(always)]
    pub(crate) const fn epoch(self) -> u64 {
        self.0 & ((1 << Self::EPOCH_BITS) - 1)
    }

    /// The age of the oldest live copies, at most E.
    #[inline(always)]
    pub(crate) const fn oldest(self) -> u64 {
        self.0 >> Self::OLDEST_FROM
    }

    /// The number of epochs that have to begin until the clock may say what is dead
    /// ([`Epochs::go_by_number`](crate::table::time::Epochs::go_by_number)).
    pub(crate) const fn uncounted(self) -> u64 {
        self.0 >> Self::EPOCH_BITS & 15
    }

    /// The same with another age of the oldest live copies.
    pub(crate) const fn with_oldest(self, oldest: u64) -> Self {
        let below = self.0 & ((1 << Self::OLDEST_FROM) - 1);
        Self(below | oldest << Self::OLDEST_FROM)
    }

    /// The same with another number of uncounted epochs.
    pub(crate) const fn with_uncounted(self, epochs: u64) -> Self {
        Self(self.0 & !(15 << Self::EPOCH_BITS) | epochs << Self::EPOCH_BITS)
    }

    /// What a slot holds of a copy that is seen in this epoch.
    #[inline(always)]
    pub(crate) fn entry_of<L: PackedLayout>(self, fingerprint: Fingerprint) -> Entry {
        let tag = self.epoch() & L::LAST_TAG;
        Entry::new(fingerprint.bits() | tag << L::FINGERPRINT_BITS)
    }

    /// The age in this epoch of the copy with this entry.
    #[inline]
    pub(crate) fn age_of<L: PackedLayout>(self, entry: Entry) -> u64 {
        let tag = entry.bits() >> L::FINGERPRINT_BITS;
        self.epoch().wrapping_sub(tag) & L::LAST_TAG
    }

    /// True if the copy with this entry counts in this epoch.
    #[inline]
    pub(crate) fn has_live<L: PackedLayout>(self, entry: Entry) -> bool {
        self.age_of::<L>(entry) <= self.oldest()
    }
}

/// The places of fingerprints, and of the tags above them, in a word of one level.
///
/// Those of counters are alike: there a fingerprint is a whole entry of a single copy, with its tag, and
/// the counter is in the place of the tag.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) lanes: Lanes,
    /// Bit 0 of each fingerprint.
    pub(super) ones: u64,
    /// The top bit of each fingerprint.
    pub(super) tops: u64,
    /// The other bits of each fingerprint.
    lows: u64,
    /// All bits of each fingerprint.
    pub(super) fingerprints: u64,
    /// Bit 0 of each tag.
    pub(super) tag_ones: u64,
    /// All bits of each tag.
    pub(super) tags: u64,
    /// The bit above each tag. It belongs to the next slot, to the control bits or to nothing.
    pub(super) above: u64,
}

impl Places {
    /// The places of tags of `tag_bits` bits, with `above` more bits above them in a slot.
    const fn of(lanes: Lanes, tag_bits: u32, above: u32) -> Self {
        // A layout without tags has no use for this, but the compiler makes it all the same.
        let (ones, bits) = (lanes.ones, lanes.bits - tag_bits - above);
        let (tops, tag_ones) = (ones << (bits - 1), ones << bits);
        let fingerprints = ones * ((1 << bits) - 1);
        Self {
            lanes,
            ones,
            tops,
            lows: fingerprints & !tops,
            fingerprints,
            tag_ones,
            tags: tag_ones * ((1 << tag_bits) - 1),
            above: tag_ones << tag_bits,
        }
    }

    /// The top bit of each fingerprint in the word of these bits that is stored as `stored`.
    #[inline(always)]
    pub(super) fn with_stored(&self, bits: u64, stored: u64) -> u64 {
        let &Self {
            ones, lows, tops, ..
        } = self;
        let different = bits ^ (stored * ones);
        // As in `used`: exact for each slot.
        (((different & lows) + lows) | different) & tops ^ tops
    }
}

/// The places at each level.
struct Levels<L>(L);

impl<L: PackedLayout> Levels<L> {
    const ALL: &'static [Places; MAX_LEVELS] = &Self::of(L::TAG_BITS, L::COUNTER_BITS);
    /// The only places in a layout without levels.
    const FIRST: &'static Places = &Self::ALL[0];
    /// The places of counters at each level.
    const COUNTERS: &'static [Places; MAX_LEVELS] = &Self::of(L::COUNTER_BITS, 0);
    /// The only places of counters in a layout without levels.
    const FIRST_COUNTERS: &'static Places = &Self::COUNTERS[0];

    const fn of(tag_bits: u32, above: u32) -> [Places; MAX_LEVELS] {
        let mut all = [Places::of(L::LEVELS[0], tag_bits, above); MAX_LEVELS];
        let mut level = 1;
        while level < L::LEVELS.len() {
            all[level] = Places::of(L::LEVELS[level], tag_bits, above);
            level += 1;
        }
        all
    }
}

/// The numbers with which a lookup compares all slots of two words of one level. Each is there twice,
/// once for each word. To load a number takes fewer instructions than to compute it.
#[cfg(target_feature = "sse2")]
#[derive(Clone, Copy)]
struct Splats {
    /// Each tag, with the bit above it.
    with_tag: [[u64; 2]; 16],
    /// The number that carries into the bit above a tag when it is added to an age larger than this one.
    carry: [[u64; 2]; 16],
    fingerprints: [u64; 2],
    tags: [u64; 2],
    above: [u64; 2],
    /// Bit 0 of each fingerprint.
    ones: u64,
}

#[cfg(target_feature = "sse2")]
impl Splats {
    const fn of(places: &Places) -> Self {
        Self {
            with_tag: splats(places.above, places.tag_ones),
            carry: splats(places.tags, places.tag_ones.wrapping_neg()),
            fingerprints: [places.fingerprints; 2],
            tags: [places.tags; 2],
            above: [places.above; 2],
            ones: places.ones,
        }
    }
}

/// The splats of a layout.
#[cfg(target_feature = "sse2")]
struct SplatsOf<L>(L);

#[cfg(target_feature = "sse2")]
impl<L: PackedLayout> SplatsOf<L> {
    /// The splats of each level. Levels that the layout does not have repeat the first one.
    const ALL: &'static [Splats; MAX_LEVELS] = &{
        let mut all = [Splats::of(Levels::<L>::FIRST); MAX_LEVELS];
        let mut level = 1;
        while level < L::LEVELS.len() {
            all[level] = Splats::of(&Levels::<L>::ALL[level]);
            level += 1;
        }
        all
    };
    /// The only ones in a layout without levels.
    const FIRST: &'static Splats = &Splats::of(Levels::<L>::FIRST);
    /// Each age in the upper bits of lanes of 16 bits.
    const AGES_IN_16: [[u64; 2]; 16] = splats(0, Levels::<L>::FIRST.ones << (16 - L::TAG_BITS));
    /// Each age in the upper bits of lanes of 32 bits, below the sign.
    const AGES_IN_32: [[u64; 2]; 16] = splats(0, Levels::<L>::FIRST.ones << (31 - L::TAG_BITS));

    #[inline(always)]
    fn at(splats: &'static [[u64; 2]; 16], number: u64) -> m128i {
        const { assert!(L::LAST_TAG < 16) };
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
    /// The places in this word.
    #[inline(always)]
    pub(super) fn places(self) -> &'static Places {
        if L::HAS_PHASE {
            &Levels::<L>::ALL[self.level() as usize]
        } else {
            Levels::<L>::FIRST
        }
    }

    /// The places in words at the level of the hint.
    #[inline(always)]
    pub(super) fn places_at(hint: Hint) -> &'static Places {
        if L::HAS_PHASE {
            &Levels::<L>::ALL[hint.level() as usize]
        } else {
            Levels::<L>::FIRST
        }
    }

    /// The places of counters in this word.
    #[inline(always)]
    pub(super) fn counters(self) -> &'static Places {
        if L::HAS_PHASE {
            &Levels::<L>::COUNTERS[self.level() as usize]
        } else {
            Levels::<L>::FIRST_COUNTERS
        }
    }

    /// The places of counters in words at the level of the hint.
    #[inline(always)]
    pub(super) fn counters_at(hint: Hint) -> &'static Places {
        if L::HAS_PHASE {
            &Levels::<L>::COUNTERS[hint.level() as usize]
        } else {
            Levels::<L>::FIRST_COUNTERS
        }
    }

    /// The top bit of each fingerprint that is `fingerprint`, whatever the tag, and also if there
    /// is a mark. The word must not be reserved.
    #[inline(always)]
    pub(super) fn with_fingerprint(self, fingerprint: Fingerprint) -> u64 {
        let stored = self.stored(Entry::untagged(fingerprint));
        self.places().with_stored(self.bits, stored)
    }

    /// The bit above the tag of each slot whose tag is dead, be it empty or not, among others.
    ///
    /// In each slot by itself: adding 2^t - 1 - E to the age carries into the bit above if the age is
    /// more than E.
    #[inline(always)]
    fn carries_if_dead(self, places: &Places, now: Now) -> u64 {
        Self::carries_if_too_old(self.ages(places, now), places, now)
    }

    #[inline(always)]
    fn carries_if_too_old(ages: u64, places: &Places, now: Now) -> u64 {
        ages + (!now.oldest() & L::LAST_TAG) * places.tag_ones
    }

    /// The age of each slot in the place of its tag: n - tag, with a bit above to borrow from.
    #[inline(always)]
    fn ages(self, places: &Places, now: Now) -> u64 {
        let (ones, all, above) = (places.tag_ones, places.tags, places.above);
        let epoch = (now.epoch() & L::LAST_TAG) * ones;
        ((epoch | above) - (self.bits & all)) & all
    }

    /// The bit above the tag of each slot whose fingerprint is not that of `bits`, among others.
    ///
    /// In each slot by itself: adding 2^f - 1 to what differs carries beyond the fingerprint.
    #[inline(always)]
    fn carries_unless(self, places: &Places, bits: u64) -> u64 {
        let all = places.fingerprints;
        (((self.bits ^ bits) & all) + all) << L::TAG_BITS
    }

    /// The top bit of the fingerprint of each slot whose tag is live, be it empty or not.
    #[inline(always)]
    fn with_live_tag(self, now: Now) -> u64 {
        let places = self.places();
        (!self.carries_if_dead(places, now) & places.above) >> (L::TAG_BITS + 1)
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
            found & !self.places().lanes.largest
        }
    }

    /// [`match_settled`](Self::match_settled), where only live copies match.
    #[inline(always)]
    pub(crate) fn match_settled_live(
        p: Bits,
        q: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
        now: Now,
    ) -> (bool, bool) {
        let holds = Self::either_holds_live(p, q, fingerprint, hint, now);
        (Self::both_settled(p, q, hint), holds)
    }

    /// True if any slot of either word holds a live copy of `fingerprint`. Both must be quiet, and in
    /// the phase of `hint`.
    #[inline(always)]
    fn either_holds_live(p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint, now: Now) -> bool {
        #[cfg(target_feature = "sse2")]
        if !L::HAS_PHASE {
            match L::LEVELS[0].distance {
                16 => return Self::either_holds_live_in_16(p, q, fingerprint, now),
                32 => return Self::either_holds_live_in_32(p, q, fingerprint, now),
                _ => {}
            }
        }
        #[cfg(target_feature = "sse2")]
        if const { L::LEVELS[0].distance == L::LEVELS[0].bits } {
            return Self::either_holds_live_packed(p, q, fingerprint, hint, now);
        }
        Self::either_holds_live_by_word(p, q, fingerprint, hint, now)
    }

    /// The same as [`either_holds_live`](Self::either_holds_live) on any processor.
    #[inline(always)]
    fn either_holds_live_by_word(
        p: Bits,
        q: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
        now: Now,
    ) -> bool {
        let places = Self::places_at(hint);
        let fingerprints = Self::stored_at(hint, Entry::untagged(fingerprint)) * places.ones;
        let not = |word: Bits| {
            // Only slots are looked at, which the base leaves as they are.
            let word = Self::unpack(word.0);
            word.carries_unless(places, fingerprints) | word.carries_if_dead(places, now)
        };
        not(p) & not(q) & places.above != places.above
    }

    /// The same as [`either_holds_live`](Self::either_holds_live) for slots that are adjacent, of both
    /// words at once.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_holds_live_packed(
        p: Bits,
        q: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
        now: Now,
    ) -> bool {
        let splats = if L::HAS_PHASE {
            &SplatsOf::<L>::ALL[hint.level() as usize]
        } else {
            SplatsOf::<L>::FIRST
        };
        let words = set_i64_m128i(q.0 as i64, p.0 as i64);
        let above = m128i::from(splats.above);
        // As in `carries_unless`.
        let all = m128i::from(splats.fingerprints);
        let fingerprints = Self::stored_at(hint, Entry::untagged(fingerprint)) * splats.ones;
        let different = (words ^ set_splat_i64_m128i(fingerprints as i64)) & all;
        let up = set_i64_m128i(0, L::TAG_BITS.into());
        let different = shl_all_u64_m128i(add_i64_m128i(different, all), up);
        // As in `carries_if_dead`.
        let all = m128i::from(splats.tags);
        let epoch = SplatsOf::<L>::at(&splats.with_tag, now.epoch());
        let age = sub_i64_m128i(epoch, words & all) & all;
        let dead = add_i64_m128i(age, SplatsOf::<L>::at(&splats.carry, now.oldest()));
        let none = cmp_eq_mask_i32_m128i((different | dead) & above, above);
        move_mask_i8_m128i(none) != 0xffff
    }

    // With lanes of 16 or 32 bits, all slots of both words at once. A new copy of the class, less
    // what a slot holds, is the age above f zeros if the fingerprints are equal, and then only.
    // It is moved up, so that nothing is above the age, not even a counter.

    /// [`either_holds_live`](Self::either_holds_live) for lanes of 16 bits.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_holds_live_in_16(p: Bits, q: Bits, fingerprint: Fingerprint, now: Now) -> bool {
        let words = set_i64_m128i(q.0 as i64, p.0 as i64);
        let new = set_splat_i16_m128i(now.entry_of::<L>(fingerprint).bits() as i16);
        let up = |bits: u32| set_i64_m128i(0, bits.into());
        let ages = shl_all_u16_m128i(sub_i16_m128i(new, words), up(16 - L::SINGLE_BITS));
        let different = shl_all_u16_m128i(ages, up(L::TAG_BITS));
        let oldest = SplatsOf::<L>::at(&SplatsOf::<L>::AGES_IN_16, now.oldest());
        let dead = sub_saturating_u16_m128i(ages, oldest);
        let live = cmp_eq_mask_i16_m128i(different | dead, zeroed_m128i());
        move_mask_i8_m128i(live) != 0
    }

    /// [`either_holds_live`](Self::either_holds_live) for lanes of 32 bits.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_holds_live_in_32(p: Bits, q: Bits, fingerprint: Fingerprint, now: Now) -> bool {
        let words = set_i64_m128i(q.0 as i64, p.0 as i64);
        let new = set_splat_i32_m128i(now.entry_of::<L>(fingerprint).bits() as i32);
        let up = |bits: u32| set_i64_m128i(0, bits.into());
        let ages = shl_all_u32_m128i(sub_i32_m128i(new, words), up(32 - L::SINGLE_BITS));
        let different = shl_all_u32_m128i(ages, up(L::TAG_BITS));
        // Compared as signed numbers: a bit must be free above.
        let oldest = SplatsOf::<L>::at(&SplatsOf::<L>::AGES_IN_32, now.oldest());
        let dead = cmp_gt_mask_i32_m128i(shr_imm_u32_m128i::<1>(ages), oldest);
        let live = cmp_eq_mask_i32_m128i(different | dead, zeroed_m128i());
        move_mask_i8_m128i(live) != 0
    }

    /// [`Moment::plus_and_count`](crate::table::time::Moment::plus_and_count).
    #[inline(always)]
    pub(crate) fn plus_and_count_live(
        one: Bits,
        other: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
        now: Now,
    ) -> Option<(bool, Bits, Option<usize>)> {
        let entry = now.entry_of::<L>(fingerprint);
        if !Self::both_settled(one, other, hint) {
            return Self::plus_uncounted(one, other, entry, hint);
        }
        let stored = Self::stored_at(hint, Entry::untagged(fingerprint));
        let copies = if !L::COUNTS {
            let count = |word| Self::decode(word, hint).count_live(fingerprint, now);
            count(one) + count(other)
        } else if !Self::either_stores(one, other, stored, Self::places_at(hint)) {
            // For a new item that is all.
            0
        } else {
            let (repeat, found) = Self::repeat_and_count(one, other, stored, hint, now);
            let (in_other, copies) = (found & 1 != 0, found >> 1);
            if repeat != 0 {
                let into = select_unpredictable(in_other, other, one);
                return Some((in_other, Bits(into.0 + repeat), Some(copies)));
            }
            copies
        };
        let (in_other, new) = Self::plus_in_emptier_alike(one, other, entry, hint)?;
        Some((in_other, new, Some(copies)))
    }

    #[cold]
    #[inline(never)]
    fn plus_uncounted(
        one: Bits,
        other: Bits,
        entry: Entry,
        hint: Hint,
    ) -> Option<(bool, Bits, Option<usize>)> {
        let (in_other, new) = Self::plus_in_emptier(one, other, entry, hint)?;
        Some((in_other, new, None))
    }

    /// What adds a copy that is seen now to a slot of such copies, in the first of two settled words that has
    /// room for it; 0 if none has. Then the number of live copies in both, doubled, plus 1 if that word is
    /// `other`: two numbers are returned in registers.
    ///
    /// A branch would be unpredictable. It is not inlined, so that inserts of new items do not set up its
    /// constants.
    #[inline(never)]
    fn repeat_and_count(one: Bits, other: Bits, stored: u64, hint: Hint, now: Now) -> (u64, usize) {
        let places = Self::places_at(hint);
        let (lanes, fingerprints) = (&places.lanes, stored * places.ones);
        let counter = lanes.bits - L::COUNTER_BITS;
        let of = |word: Bits| {
            let word = Self::unpack(word.0);
            let ages = word.ages(places, now);
            let dead = Self::carries_if_too_old(ages, places, now);
            let not = word.carries_unless(places, fingerprints) | dead;
            // Bit 0 of each slot with live copies, and there their number.
            let live = (!not & places.above) >> counter;
            let copies = word.copies_by_slot(live, lanes);
            // Adding 2^t - 1 carries into the bit above the tag unless the age is 0.
            let older = (ages + places.tags) >> counter;
            let full = copies >> L::COUNTER_BITS;
            (copies, live & !(older | full))
        };
        let ((in_one, to_one), (in_other, to_other)) = (of(one), of(other));
        let copies = lanes.sum_of_slots(in_one + in_other) as usize;
        let to = select_unpredictable(to_one != 0, to_one, to_other);
        let repeat = (to & to.wrapping_neg()) << counter;
        (repeat, copies << 1 | usize::from(to_one == 0))
    }

    /// The number of live copies of `fingerprint` in unmarked slots.
    #[inline]
    pub(crate) fn count_live(self, fingerprint: Fingerprint, now: Now) -> usize {
        let live = self.unmarked_of(fingerprint, now, true);
        if !L::COUNTS {
            return live.count_ones() as usize;
        }
        let top = self.lanes().bits - L::TAG_BITS - L::COUNTER_BITS - 1;
        self.copies_in(live >> top)
    }

    /// True if an unmarked slot holds a live copy of `fingerprint`.
    #[inline]
    pub(crate) fn has_live(self, fingerprint: Fingerprint, now: Now) -> bool {
        self.unmarked_of(fingerprint, now, true) != 0
    }

    /// The entry of the oldest live copy of `fingerprint` that is unmarked.
    pub(crate) fn oldest_live(self, fingerprint: Fingerprint, now: Now) -> Option<Entry> {
        self.entries(self.unmarked_of(fingerprint, now, true), fingerprint)
            .max_by_key(|&entry| now.age_of::<L>(entry))
    }

    /// The entry of a dead copy, if the word has no mark. The low bits that the word does not store
    /// are taken from `one`. The word must not be reserved.
    #[inline(always)]
    pub(crate) fn dead(self, one: Fingerprint, now: Now) -> Option<Entry> {
        let places = self.places();
        // No copy has the fingerprint 0.
        let is_copy = self.carries_unless(places, 0);
        let dead = self.carries_if_dead(places, now) & is_copy & places.above;
        if dead != 0 && self.is_unmarked() {
            let slot = (dead.trailing_zeros() - 1) / places.lanes.distance;
            Some(self.entry_in(slot as usize, one))
        } else {
            None
        }
    }

    /// The word, which is at rest, without the copies with such entries. Of their fingerprints, the
    /// bits that the word does not store are 0.
    pub(crate) fn without_entries(self, such: impl Fn(Entry) -> bool) -> Self {
        let entry = |slot| self.entry_in(slot, Fingerprint::NONE);
        let has = |&slot: &usize| self.slot(slot) != 0 && such(entry(slot));
        let without = |word: Self, slot| word.set(slot, 0);
        (0..self.slots()).filter(has).fold(self, without)
    }

    /// The entries in the slots whose fingerprints have these top bits. The low bits that the word
    /// does not store are taken from `one`.
    pub(super) fn entries(self, tops: u64, one: Fingerprint) -> impl Iterator<Item = Entry> {
        let mut rest = tops;
        std::iter::from_fn(move || {
            let slot = rest.trailing_zeros() / self.places().lanes.distance;
            let found = rest != 0;
            rest &= rest.wrapping_sub(1);
            found.then(|| self.entry_in(slot as usize, one))
        })
    }
}

#[cfg(test)]
mod tests;

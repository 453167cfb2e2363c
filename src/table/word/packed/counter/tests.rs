//! What the functions of counters say of a word is what a look at each slot says.

use super::*;
use crate::table::{
    entry::Fingerprint,
    layout::{
        C8x5, C11x4, C12x3, C16x3, C22x2, C26x2, EC8x4, EC9x3, EC13x3, EC19x2, EC23x2,
        GrowingCounting, GrowingExpiringCounting, Lanes,
    },
    time::Timeless,
    word::{Minus, Pair, Phases},
};
use proptest::prelude::*;

/// Slots of two bits and a counter of two.
#[derive(Clone, Copy, Debug)]
struct Tiny;

impl PackedLayout for Tiny {
    const LEVELS: &'static [Lanes] = &[Lanes::new(4, 3, 4)];
    const PHASE_BITS: u32 = 0;
    const COUNTER_BITS: u32 = 2;
    type Time = Timeless;
    type Counted = crate::table::counted::SlotOrRepeat;
    type Kind = crate::memory::Fixed;
}

/// The copies of a single in each unmarked slot.
fn naive<L: PackedLayout>(word: Packed<L>, single: Entry) -> Vec<usize> {
    (usize::from(!word.is_unmarked())..word.slots())
        .map(|slot| word.entry_in(slot, fingerprint_of::<L>(single)))
        .filter(|&entry| single_of::<L>(entry) == single)
        .map(|entry| 1 + (entry.bits() >> (L::FINGERPRINT_BITS + L::TAG_BITS)) as usize)
        .collect()
}

/// The entries of all slots but those of the single `left_out`, in order.
fn others<L: PackedLayout>(word: Packed<L>, left_out: Entry) -> Vec<u64> {
    let one = fingerprint_of::<L>(left_out);
    let mut others: Vec<u64> = (0..word.slots())
        .map(|slot| word.entry_in(slot, one))
        .filter(|&entry| single_of::<L>(entry) != left_out)
        .map(Entry::bits)
        .filter(|&bits| bits & L::FINGERPRINT != one.low_bits(word.level()))
        .collect();
    others.sort_unstable();
    others
}

fn sum(copies: &[usize]) -> usize {
    copies.iter().sum()
}

/// All functions agree for this single, whose low bits are those of the word's plane.
fn agrees<L: PackedLayout>(word: Packed<L>, entry: Entry) {
    let context = format!("{entry:?} in {word:?}");
    let copies = naive(word, entry);
    let (all, most) = (sum(&copies), 1 << L::COUNTER_BITS);
    let copies_in = |word| sum(&naive(word, entry));
    let others_in = |word| others(word, entry);
    assert_eq!(word.has(entry), !copies.is_empty(), "{context}");
    let like = word.like(entry);
    assert_eq!(like.is_some(), !copies.is_empty(), "{context}");
    let is_like =
        |found| single_of::<L>(found) == entry && copies.contains(&Packed::<L>::copies_of(found));
    assert!(like.is_none_or(is_like), "{context}");
    let hint = Hint::new(word.level(), word.level() / 2);
    let bits = word.encode(hint);

    let empty = Packed::<L>::EMPTY.set_phase(word.phase()).encode(hint);
    // Lookups of what expires are in the tests of tags.
    let lasts = L::TAG_BITS == 0;
    let fingerprint = fingerprint_of::<L>(entry);
    assert!(!lasts || word.copies(fingerprint) == all, "{context}");
    for (p, q) in [(bits, empty), (empty, bits)].into_iter().filter(|_| lasts) {
        let (settled, found) = Packed::<L>::match_settled(p, q, fingerprint, hint);
        assert_eq!(settled, word.is_unmarked(), "{context}");
        assert!(!settled || found != copies.is_empty(), "{context}");
    }

    let less = word.minus(entry);
    assert_eq!(copies_in(less), all.saturating_sub(1), "{context}");
    assert_eq!(others_in(less), others_in(word), "{context}");
    let gone = u32::from(copies.first() == Some(&1));
    assert_eq!(less.occupied() + gone, word.occupied(), "{context}");
    assert_eq!(less.mark(), word.mark(), "{context}");

    let has_room = copies.iter().any(|&copies| copies < most);
    let counted = Packed::<L>::counted_in_either(bits, empty, entry, hint);
    assert_eq!(counted.is_some(), has_room, "{context}");
    if let Some((in_other, new)) = counted {
        let new = Packed::<L>::decode(new, hint);
        assert!(!in_other, "{context}");
        assert_eq!(copies_in(new), all + 1, "{context}");
        assert_eq!(new.occupied(), word.occupied(), "{context}");
        assert_eq!(others_in(new), others_in(word), "{context}");
        assert_eq!(new.repeats(), word.repeats() + 1, "{context}");
        let found = Packed::<L>::counted_in_either(empty, bits, entry, hint);
        assert!(found.is_some_and(|(in_other, _)| in_other), "{context}");
    }
    match Packed::<L>::minus_in_first(empty, bits, entry, hint) {
        Minus::Marked => assert!(!word.is_unmarked(), "{context}"),
        Minus::Nothing => assert!(copies.is_empty(), "{context}"),
        Minus::Taken { in_p, new } => {
            assert!(!in_p, "{context}");
            assert_eq!(new, less.encode(hint), "{context}");
        }
    }

    let joined = word.joined(entry);
    assert_eq!(copies_in(joined), all, "{context}");
    assert_eq!(others_in(joined), others_in(word), "{context}");
    let saved = (copies.len() - all.div_ceil(most)) as u32;
    assert_eq!(joined.occupied() + saved, word.occupied(), "{context}");

    let plus = word.plus_single(entry);
    assert_eq!(plus.is_some(), has_room || word.has_vacancy(), "{context}");
    if let Some(plus) = plus {
        assert_eq!(copies_in(plus), all + 1, "{context}");
        assert_eq!(others_in(plus), others_in(word), "{context}");
        let slots = word.occupied() + u32::from(!has_room);
        assert_eq!(plus.occupied(), slots, "{context}");
    }
    if !word.is_unmarked() {
        renewal_agrees(word, entry);
    }
}

/// One copy under the mark becomes this single, if there is room for it.
fn renewal_agrees<L: PackedLayout>(word: Packed<L>, young: Entry) {
    let context = format!("{young:?} renewed in {word:?}");
    let old = single_of::<L>(word.marked_entry(fingerprint_of::<L>(young)));
    let (before, renewed) = (word.unmarked(), Bucket::with_one_renewed(word, young));
    let is_last = Packed::<L>::copies_of(word.marked_entry(fingerprint_of::<L>(old))) == 1;
    let has_room = word.has_counter(young) || word.has_vacancy() || is_last;
    // A copy that stays as it is can have its own slot for room.
    assert!(old == young || renewed.is_some() == has_room, "{context}");
    let Some(renewed) = renewed else {
        return;
    };
    let copies = |word: Packed<L>, single| sum(&naive(word, single));
    assert!(renewed.is_unmarked(), "{context}");
    let of_each = |word| (copies(word, old), copies(word, young));
    let (of_old, of_young) = of_each(before);
    let expected = match old == young {
        true => (of_old, of_young),
        false => (of_old - 1, of_young + 1),
    };
    assert_eq!(of_each(renewed), expected, "{context}");
}

/// A mark hides its slot, and loses one copy at a time.
fn mark_agrees<L: PackedLayout>(word: Packed<L>, one: Fingerprint) {
    if word.is_unmarked() {
        return;
    }
    let marked = word.marked_entry(one);
    let (mark, copies) = (word.mark(), Packed::<L>::copies_of(marked));
    let less = word.minus_marked();
    let context = format!("{word:?}");
    let fingerprints = [less.marked_entry(one), marked].map(fingerprint_of::<L>);
    assert_eq!(fingerprints[0], fingerprints[1], "{context}");
    if copies == 1 {
        assert_eq!(less.mark(), Some(Mark::Killed), "{context}");
        assert_eq!(less, word.remarked(Mark::Killed), "{context}");
    } else {
        assert_eq!(less.mark(), mark, "{context}");
        assert_eq!(Packed::<L>::copies_of(less.marked_entry(one)), copies - 1);
        assert_eq!(less.repeats() + 1, word.repeats(), "{context}");
    }
    // Whatever the counter.
    for mark in Mark::ALL {
        let single = single_of::<L>(marked);
        assert_eq!(word.is_marked(mark, single), word.mark() == Some(mark));
    }
}

/// A word with these entries; empty ones have no counter.
fn word_of<L: PackedLayout>(
    level: u32,
    stored: impl Iterator<Item = u64>,
    mark: Option<Mark>,
) -> Packed<L> {
    let mut word = Packed::<L>::at_level(level);
    for (slot, stored) in stored.enumerate().take(word.slots()) {
        if stored & word.stored_of_fingerprint() != 0 {
            word = word.set(slot, stored & word.lanes().largest);
        }
    }
    match mark {
        Some(mark) if word.slot(0) != 0 => word.remarked(mark),
        _ => word,
    }
}

#[test]
fn every_tiny_word_agrees() {
    for slots in 0..1_u64 << 12 {
        let stored = (0..3).map(|slot| slots >> (4 * slot) & 0b1111);
        for mark in [None, Some(Mark::Shadow)] {
            let word = word_of::<Tiny>(0, stored.clone(), mark);
            mark_agrees(word, Fingerprint::NONE);
            for fingerprint in 1..4 {
                agrees(word, Entry::new(fingerprint));
            }
        }
    }
}

/// What is stored in the slots: few fingerprints and tags, so that many are equal.
fn stored<L: PackedLayout>(level: u32) -> impl Strategy<Value = u64> {
    let of_fingerprint = L::FINGERPRINT_BITS - level;
    let largest = (1_u64 << of_fingerprint) - 1;
    let counter = prop_oneof![Just(0), Just(L::MOST_REPEATS), 0..=L::MOST_REPEATS];
    let fingerprint = prop_oneof![Just(0), 1..=2_u64, 1..=largest];
    (fingerprint, 0..=L::LAST_TAG.min(1), counter).prop_map(move |(fingerprint, tag, counter)| {
        fingerprint | (tag | counter << L::TAG_BITS) << of_fingerprint
    })
}

fn words<L: PackedLayout>() -> impl Strategy<Value = (u32, Vec<u64>, bool)> {
    (0..=L::LAST_LEVEL).prop_flat_map(|level| {
        let slots = prop::collection::vec(stored::<L>(level), 6);
        (Just(level), slots, any::<bool>())
    })
}

macro_rules! words_agree {
    ($($name:ident: $layout:ty;)*) => {$(
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2_000 }))]

            #[test]
            fn $name((level, stored, marked) in words::<$layout>()) {
                let mark = marked.then_some(Mark::Delivered);
                let word = word_of::<$layout>(level, stored.iter().copied(), mark);
                let plane = Fingerprint::new(0b1_0110_1101 & ((1 << level) - 1));
                mark_agrees(word, plane);
                let mask = word.stored_of_single();
                for stored in stored.iter().map(|stored| stored & mask).chain([1, 2, 3]) {
                    let whole = stored << level | plane.low_bits(level);
                    if stored & word.stored_of_fingerprint() != 0 {
                        agrees(word, Entry::new(whole));
                    }
                }
            }
        }
    )*};
}

words_agree! {
    words_of_8x5: C8x5;
    words_of_11x4: C11x4;
    words_of_16x3: C16x3;
    words_of_26x2: C26x2;
    words_of_12x3: C12x3;
    words_of_22x2: C22x2;
    growing_words_with_4_bits: GrowingCounting<4>;
    growing_words_with_8_bits: GrowingCounting<8>;
    expiring_words_of_8x4: EC8x4;
    expiring_words_of_13x3: EC13x3;
    expiring_words_of_23x2: EC23x2;
    expiring_words_of_9x3: EC9x3;
    expiring_words_of_19x2: EC19x2;
    growing_expiring_words_with_4_bits: GrowingExpiringCounting<4>;
    growing_expiring_words_with_8_bits: GrowingExpiringCounting<8>;
}

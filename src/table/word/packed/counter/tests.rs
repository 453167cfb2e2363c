//! What the functions of counters say of a word is what a look at each slot says.

use super::*;
use crate::table::{
    layout::{C8x5, C11x4, C12x3, C16x3, C22x2, C26x2, GrowingCounting, Lanes},
    time::Timeless,
    word::{Minus, Phases},
};
use proptest::prelude::*;

/// Slots of two bits and a counter of two.
#[derive(Clone, Copy, Debug)]
struct Tiny;

impl PackedLayout for Tiny {
    const LEVELS: &'static [Lanes] = &[Lanes::new(4, 3, 4)];
    const PHASE_BITS: u32 = 0;
    const TAG_BITS: u32 = 2;
    const COUNTS: bool = true;
    type Time = Timeless;
    type IfCounting<T: Send + Sync + 'static> = Option<Box<T>>;
    type Kind = crate::memory::Fixed;
}

/// The copies of a fingerprint in each unmarked slot.
fn naive<L: PackedLayout>(word: Packed<L>, fingerprint: Fingerprint) -> Vec<usize> {
    (usize::from(!word.is_unmarked())..word.slots())
        .map(|slot| word.entry_in(slot, fingerprint))
        .filter(|&entry| fingerprint_of::<L>(entry) == fingerprint)
        .map(|entry| 1 + (entry.bits() >> L::FINGERPRINT_BITS) as usize)
        .collect()
}

/// The fingerprint and the copies of each slot but one of `left_out`, in order.
fn others<L: PackedLayout>(word: Packed<L>, left_out: Fingerprint) -> Vec<u64> {
    let mut others: Vec<u64> = (0..word.slots())
        .map(|slot| word.entry_in(slot, left_out))
        .filter(|&entry| fingerprint_of::<L>(entry) != left_out)
        .map(Entry::bits)
        .filter(|&bits| bits & L::FINGERPRINT != left_out.low_bits(word.level()))
        .collect();
    others.sort_unstable();
    others
}

fn sum(copies: &[usize]) -> usize {
    copies.iter().sum()
}

/// All functions agree for this fingerprint, whose low bits are those of the word's plane.
fn agrees<L: PackedLayout>(word: Packed<L>, fingerprint: Fingerprint) {
    let context = format!("{fingerprint:?} in {word:?}");
    let copies = naive(word, fingerprint);
    let most = 1 << L::TAG_BITS;
    assert_eq!(word.copies(fingerprint), sum(&copies), "{context}");
    assert_eq!(word.has(fingerprint), !copies.is_empty(), "{context}");
    let hint = Hint::new(word.level(), word.level() / 2);
    let bits = word.encode(hint);
    let entry = Entry::untagged(fingerprint);

    let empty = Packed::<L>::EMPTY.set_phase(word.phase()).encode(hint);
    for (p, q) in [(bits, empty), (empty, bits)] {
        let (settled, found) = Packed::<L>::match_settled(p, q, fingerprint, hint);
        assert_eq!(settled, word.is_unmarked(), "{context}");
        assert!(!settled || found != copies.is_empty(), "{context}");
    }

    let less = word.minus(entry);
    assert_eq!(
        sum(&naive(less, fingerprint)),
        sum(&copies).saturating_sub(1),
        "{context}"
    );
    assert_eq!(
        others(less, fingerprint),
        others(word, fingerprint),
        "{context}"
    );
    let gone = copies.first() == Some(&1);
    assert_eq!(
        less.occupied() + u32::from(gone),
        word.occupied(),
        "{context}"
    );
    assert_eq!(less.mark(), word.mark(), "{context}");

    let has_room = copies.iter().any(|&copies| copies < most);
    let counted = Packed::<L>::counted_in_either(bits, empty, entry, hint);
    assert_eq!(counted.is_some(), has_room, "{context}");
    if let Some((in_other, new)) = counted {
        let new = Packed::<L>::decode(new, hint);
        assert!(!in_other, "{context}");
        assert_eq!(sum(&naive(new, fingerprint)), sum(&copies) + 1, "{context}");
        assert_eq!(new.occupied(), word.occupied(), "{context}");
        assert_eq!(
            others(new, fingerprint),
            others(word, fingerprint),
            "{context}"
        );
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

    let joined = word.joined(fingerprint);
    assert_eq!(sum(&naive(joined, fingerprint)), sum(&copies), "{context}");
    assert_eq!(
        others(joined, fingerprint),
        others(word, fingerprint),
        "{context}"
    );
    let saved = copies.len() - sum(&copies).div_ceil(most);
    assert_eq!(
        joined.occupied() + saved as u32,
        word.occupied(),
        "{context}"
    );
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
    assert_eq!(
        fingerprint_of::<L>(less.marked_entry(one)),
        fingerprint_of::<L>(marked),
        "{context}"
    );
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
        let untagged = Entry::untagged(fingerprint_of::<L>(marked));
        assert_eq!(word.is_marked(mark, untagged), word.mark() == Some(mark));
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
                agrees(word, Fingerprint::new(fingerprint));
            }
        }
    }
}

/// What is stored in the slots: few fingerprints, so that many are equal.
fn stored<L: PackedLayout>(level: u32) -> impl Strategy<Value = u64> {
    let of_fingerprint = L::FINGERPRINT_BITS - level;
    let largest = (1_u64 << of_fingerprint) - 1;
    let counter = prop_oneof![Just(0), Just(L::LAST_TAG), 0..=L::LAST_TAG];
    (prop_oneof![Just(0), 1..=2_u64, 1..=largest], counter)
        .prop_map(move |(fingerprint, counter)| fingerprint | counter << of_fingerprint)
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
                let mask = word.stored_of_fingerprint();
                for stored in stored.iter().map(|stored| stored & mask).chain([1, 2, 3]) {
                    let whole = stored << level | plane.low_bits(level);
                    if stored != 0 {
                        agrees(word, Fingerprint::new(whole));
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
}

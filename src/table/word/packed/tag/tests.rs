//! What is found in a word by fingerprint and tag is what a look at each slot finds.

use super::*;
use crate::table::{
    entry::{Entry, Fingerprint},
    layout::{
        E9x5, E11x4, E16x3, E26x2, EC8x4, EC9x3, EC13x3, EC19x2, EC23x2, GrowingExpiring,
        GrowingExpiringCounting, Lanes, Layout,
    },
    time::Epochs,
    word::{Mark, lanes::fingerprint_of},
};
use proptest::prelude::*;

/// Slots of two bits and a tag of two.
#[derive(Clone, Copy, Debug)]
struct Tiny;

impl PackedLayout for Tiny {
    const LEVELS: &'static [Lanes] = &[Lanes::new(4, 3, 4)];
    const PHASE_BITS: u32 = 0;
    const TAG_BITS: u32 = 2;
    type Time = Epochs;
    type Counted = ();
    type Kind = crate::memory::Fixed;
}

/// The unmarked slots that hold a copy of `fingerprint`, live or dead.
fn naive<L: PackedLayout>(
    word: Packed<L>,
    fingerprint: Fingerprint,
    now: Now,
    live: bool,
) -> Vec<Entry> {
    (usize::from(!word.is_unmarked())..word.slots())
        .map(|slot| word.entry_in(slot, fingerprint))
        .filter(|&entry| fingerprint_of::<L>(entry) == fingerprint)
        .filter(|&entry| now.has_live::<L>(entry) == live)
        .collect()
}

fn agrees<L: PackedLayout>(word: Packed<L>, fingerprint: Fingerprint, now: Now) {
    let context = format!("{fingerprint:?} in {word:?}, {now:?}");
    let live = naive(word, fingerprint, now, true);
    let copies: usize = live
        .iter()
        .map(|&entry| Packed::<L>::copies_of(entry))
        .sum();
    assert_eq!(word.count_live(fingerprint, now), copies, "{context}");
    assert_eq!(word.has_live(fingerprint, now), copies > 0, "{context}");
    let ages = |entries: &[Entry]| entries.iter().map(|&entry| now.age_of::<L>(entry)).max();
    let oldest = word.oldest_live(fingerprint, now);
    assert_eq!(
        oldest.map(|entry| now.age_of::<L>(entry)),
        ages(&live),
        "{context}"
    );
    assert!(
        oldest.is_none_or(|entry| live.contains(&entry)),
        "{context}"
    );
    let hint = Hint::new(word.level(), word.level() / 2);
    let other = Packed::<L>::EMPTY.set_phase(word.phase()).encode(hint);
    let bits = word.encode(hint);
    for (p, q) in [(bits, other), (other, bits)] {
        let (settled, found) = Packed::<L>::match_settled_live(p, q, fingerprint, hint, now);
        assert_eq!(settled, word.is_unmarked(), "{context}");
        assert!(!settled || found != live.is_empty(), "{context}");
        // As processors without these vectors compare.
        let found = Packed::<L>::either_holds_live_by_word(p, q, fingerprint, hint, now);
        assert!(!settled || found != live.is_empty(), "{context}");
    }
    for (one, other, in_both) in [
        (bits, other, copies),
        (other, bits, copies),
        (bits, bits, 2 * copies),
    ] {
        let entry = now.entry_of::<L>(fingerprint);
        let plus = Packed::<L>::plus_in_emptier(one, other, entry, hint);
        let counted = Packed::<L>::plus_and_count_live(one, other, fingerprint, hint, now);
        let expected = word.is_unmarked().then_some(in_both);
        let expected = plus.map(|(in_other, new)| (in_other, new, expected));
        assert_eq!(counted, expected, "{context}");
    }
}

fn dead_agrees<L: PackedLayout>(word: Packed<L>, now: Now) {
    let dead =
        |entry: Entry| fingerprint_of::<L>(entry) != Fingerprint::NONE && !now.has_live::<L>(entry);
    let one = Fingerprint::NONE;
    let any = (0..word.slots()).any(|slot| dead(word.entry_in(slot, one)));
    let found = word.dead(one, now);
    assert_eq!(
        found.is_some(),
        any && word.is_unmarked(),
        "{word:?}, {now:?}"
    );
    assert!(found.is_none_or(dead), "{word:?}, {now:?}");
}

/// A word with these entries; empty ones have no tag.
fn word_of<L: PackedLayout>(entries: impl Iterator<Item = u64>, mark: Option<Mark>) -> Packed<L> {
    let mut word = Packed::<L>::EMPTY;
    for (slot, entry) in entries.enumerate() {
        if entry & L::FINGERPRINT != 0 {
            word = word.set(slot, entry);
        }
    }
    match mark {
        Some(mark) if word.slot(0) != 0 => word.remarked(mark),
        _ => word,
    }
}

#[test]
fn every_tiny_word_agrees() {
    for entries in 0..1_u64 << 12 {
        let entries = (0..3).map(|slot| entries >> (4 * slot) & 0b1111);
        for mark in [None, Some(Mark::Trailing)] {
            let word = word_of::<Tiny>(entries.clone(), mark);
            for epoch in 0..5 {
                for oldest in 0..3 {
                    let now = Now::new(epoch, oldest);
                    dead_agrees(word, now);
                    for fingerprint in 1..4 {
                        agrees(word, Fingerprint::new(fingerprint), now);
                    }
                }
            }
        }
    }
}

/// Slots of an expiring layout: few fingerprints, so that many are equal.
fn entry<L: PackedLayout>() -> impl Strategy<Value = u64> {
    let fingerprint = prop_oneof![Just(0), 1..=2_u64, 1..=L::FINGERPRINT];
    // With a counter above the tag, if there is one.
    let tag = 0..1_u64 << (L::TAG_BITS + L::COUNTER_BITS);
    (fingerprint, tag).prop_map(|(fingerprint, tag)| fingerprint | tag << L::FINGERPRINT_BITS)
}

macro_rules! words_agree {
    ($($name:ident: $layout:ty;)*) => {$(
        proptest! {
            #[test]
            fn $name(
                entries in prop::collection::vec(entry::<$layout>(), <$layout>::LEVELS[0].slots),
                marked: bool,
                epoch: u64,
                oldest in 0..(1_u64 << <$layout>::TAG_BITS) - 2,
            ) {
                let now = Now::new(epoch, oldest);
                let mark = marked.then_some(Mark::Delivered);
                let word = word_of::<$layout>(entries.iter().copied(), mark);
                dead_agrees(word, now);
                for entry in entries {
                    agrees(word, Fingerprint::new((entry & <$layout>::FINGERPRINT).max(1)), now);
                }
            }
        }
    )*};
}

words_agree! {
    words_of_9_bits_agree: E9x5;
    words_of_11_bits_agree: E11x4;
    words_of_16_bits_agree: E16x3;
    words_of_26_bits_agree: E26x2;
    words_of_8_bits_and_counters_agree: EC8x4;
    words_of_13_bits_and_counters_agree: EC13x3;
    words_of_23_bits_and_counters_agree: EC23x2;
    words_of_9_bits_and_counters_agree: EC9x3;
    words_of_19_bits_and_counters_agree: EC19x2;
}

#[test]
fn a_copy_is_live_for_e_epochs_after_its_own() {
    for epoch in [0, 3, (1 << 56) - 5] {
        let entry = Now::new(epoch, 12).entry_of::<E11x4>(Fingerprint::new(7));
        assert_eq!(E11x4::fingerprint(entry), Fingerprint::new(7));
        for later in 0..16 {
            let now = Now::new(epoch.wrapping_add(later), 12);
            assert_eq!(now.age_of::<E11x4>(entry), later);
            assert_eq!(now.has_live::<E11x4>(entry), later <= 12);
        }
    }
}

/// A word of `level` with these contents, as far as they have a fingerprint at all later levels.
fn growing_word<L: PackedLayout>(level: u32, stored: &[u64]) -> Packed<L> {
    let word = Packed::<L>::at_level(level);
    let whole = word.stored_of_fingerprint();
    let entries = stored.iter().take(word.slots()).enumerate();
    let entries = entries.map(|(slot, stored)| (slot, stored & word.lanes().largest));
    entries
        .filter(|(_, stored)| (stored & whole) >> (L::LAST_LEVEL - level) != 0)
        .fold(word, |word, (slot, stored)| word.set(slot, stored))
}

/// What a split makes of the word holds the same entries, with the mark on the same one.
fn split_agrees<L: PackedLayout>(word: Packed<L>, low: u64) {
    let (stays, goes) = word.frozen().split();
    let all = |word: Packed<L>, low| {
        let mut all: Vec<_> = word.unmarked().residents(Fingerprint::new(low)).collect();
        let marked = !word.is_unmarked();
        let marked = marked.then(|| word.marked_entry(Fingerprint::new(low)));
        all.sort_unstable();
        (all, marked)
    };
    let (mut entries, marked) = all(stays, low);
    let (others, other_marked) = all(goes, low | 1 << word.level());
    entries.extend(others);
    entries.sort_unstable();
    assert!(marked.is_none() || other_marked.is_none(), "{word:?}");
    assert_eq!(
        (entries, marked.or(other_marked)),
        all(word, low),
        "{word:?}"
    );
    for part in [word, stays, goes] {
        let bits = part.unmarked().pack();
        assert!(Packed::<L>::is_image(bits), "{part:?}");
    }
}

macro_rules! growing_words_agree {
    ($($name:ident: $layout:ty, up to $most:literal;)*) => {$(proptest! {
    #[test]
    fn $name(
        stored in prop::collection::vec(any::<u64>(), 4),
        few: bool,
        level in 0..<$layout>::LAST_LEVEL,
        low: u64,
        mark: bool,
        epoch: u64,
        oldest in 0..=$most,
    ) {
        let now = Now::new(epoch, oldest);
        // Few fingerprints, so that many are equal.
        let kept = match few {
            true => !(<$layout>::FINGERPRINT >> level) | 3 << (38 - level),
            false => u64::MAX,
        };
        let stored: Vec<u64> = stored.into_iter().map(|stored| stored & kept).collect();
        let word = growing_word::<$layout>(level, &stored);
        let word = match mark && word.slot(0) != 0 {
            true => word.remarked(Mark::Delivered),
            false => word,
        };
        let low = low & ((1 << level) - 1);
        dead_agrees(word, now);
        for stored in stored {
            let stored = (stored & word.stored_of_fingerprint()).max(1);
            agrees(word, Fingerprint::new(stored << level | low), now);
        }
        split_agrees(word, low);
    }
    })*};
}

growing_words_agree! {
    growing_words_agree_at_each_level: GrowingExpiring, up to 13_u64;
    so_do_those_with_counters_of_4_bits: GrowingExpiringCounting<4>, up to 5_u64;
    so_do_those_with_counters_of_8_bits: GrowingExpiringCounting<8>, up to 5_u64;
}

//! The word against a naive model of it: exhaustively for small layouts, by
//! random words for the real ones.

mod laws;

use super::*;
use crate::table::layout::{F10x6, F12x5, F15x4, F20x3, F30x2, Growing, Lanes, series};
use crate::table::word::{Base, Bits, Hint, Minus, Pair};
use laws::{image_agrees, operations_agree, split_agrees};
use proptest::prelude::*;
use std::ops::Range;

/// What a word stands for, without any packing.
#[derive(Clone, Debug, PartialEq)]
struct Naive {
    /// What is stored of the fingerprints; 0 for an empty slot.
    slots: Vec<u64>,
    /// The mark on slot 0.
    mark: Option<Mark>,
    /// The token of the reservation; the last slot is empty then.
    token: Option<u64>,
    phase: u64,
}

/// The control bits: the lowest four that belong to no slot at any level.
const fn control_bits(levels: &[Lanes]) -> [u32; 4] {
    let (mut lowest, mut found, mut bit) = ([0; 4], 0, 0);
    while found < lowest.len() {
        let (mut free, mut level) = (true, 0);
        while level < levels.len() {
            let lanes = &levels[level];
            let in_slot =
                bit / lanes.distance < lanes.slots as u32 && bit % lanes.distance < lanes.bits;
            free = free && !in_slot;
            level += 1;
        }
        if free {
            lowest[found] = bit;
            found += 1;
        }
        bit += 1;
    }
    lowest
}

/// The levels that words of the layout can have: of those beyond the last one all are alike.
fn levels<L: PackedLayout>() -> u64 {
    let last = L::LEVELS.last().unwrap().bits;
    u64::from(L::LEVELS[0].bits - last) + 1
}

/// Bits of fingerprints that a word does not store.
const LOW: u64 = 0b0110_1011_0100_1101_1010_1011_0010;

fn marks() -> Vec<Option<Mark>> {
    Mark::ALL.into_iter().map(Some).chain([None]).collect()
}

impl Naive {
    fn level(&self) -> u32 {
        (self.phase >> 1) as u32
    }

    fn lanes<L: PackedLayout>(&self) -> &'static Lanes {
        &L::LEVELS[self.level() as usize]
    }

    fn word<L: PackedLayout>(&self) -> Packed<L> {
        let distance = self.lanes::<L>().distance as usize;
        let mut bits = 0;
        for (slot, stored) in self.slots.iter().enumerate() {
            bits |= stored << (distance * slot);
        }
        if let Some(token) = self.token {
            bits |= token << (distance * (self.slots.len() - 1));
        }
        let control =
            self.mark.map_or(0, |mark| mark as u64) | u64::from(self.token.is_some()) << 3;
        for (index, bit) in const { control_bits(L::LEVELS) }.into_iter().enumerate() {
            bits |= (control >> index & 1) << bit;
        }
        // The phase is in the highest ones.
        for index in 0..L::PHASE_BITS {
            bits |= (self.phase >> index & 1) << (64 - L::PHASE_BITS + index);
        }
        Packed::unpack(bits)
    }

    /// A fingerprint that the word stores as `stored`.
    fn whole(&self, stored: u64) -> u64 {
        stored << self.level() | LOW & ((1 << self.level()) - 1)
    }

    /// The slots that hold `stored` unmarked.
    fn places(&self, stored: u64) -> Vec<usize> {
        let first = usize::from(self.mark.is_some());
        (first..self.slots.len())
            .filter(|&slot| self.slots[slot] == stored)
            .collect()
    }
}

/// The phases of the words that can occur in a table of layout `L`.
fn all_phases<L: PackedLayout>() -> Range<u64> {
    0..if L::HAS_PHASE { 2 * levels::<L>() } else { 1 }
}

fn all_words_in_phase<L: PackedLayout>(phase: u64) -> Vec<Naive> {
    let lanes = &L::LEVELS[phase as usize >> 1];
    let values = 1_u64 << lanes.bits;
    let mut all = Vec::new();
    for payload in 0..values.pow(lanes.slots as u32) {
        let slots: Vec<u64> = (0..lanes.slots as u32)
            .map(|slot| payload / values.pow(slot) % values)
            .collect();
        for mark in marks() {
            if mark.is_some() && slots[0] == 0 {
                continue;
            }
            let word = Naive {
                slots: slots.clone(),
                mark,
                token: None,
                phase,
            };
            let mut reserved = word.clone();
            reserved.token = reserved.slots.last().copied();
            *reserved.slots.last_mut().unwrap() = 0;
            all.extend([word, reserved]);
        }
    }
    all
}

fn all_operations_agree<L: PackedLayout>(phases: Range<u64>) {
    let all: Vec<Naive> = phases.flat_map(all_words_in_phase::<L>).collect();
    for naive in &all {
        let largest = naive.lanes::<L>().largest;
        let stored: Vec<u64> = (1..=largest).collect();
        let tokens: Vec<u64> = (0..=largest + 1).collect();
        operations_agree::<L>(naive, &stored, &tokens);
        split_agrees::<L>(naive);
        image_agrees::<L>(naive);
    }
    let mut bits: Vec<u64> = all.iter().map(|naive| naive.word::<L>().pack()).collect();
    bits.sort_unstable();
    bits.dedup();
    assert_eq!(
        bits.len(),
        all.len(),
        "two different words have one representation"
    );
}

/// The hint of this phase in filters that begin at level 0, and in filters that begin at its level. The
/// phase may be that of frozen words.
fn hints_of(phase: u64) -> [Hint; 2] {
    let level = (phase >> 1) as u32;
    [0, level].map(|first| {
        let frozen = (phase & 1) << 58;
        Hint::of_bits(Hint::new(level, first).bits() | frozen)
    })
}

/// The second answer counts only if both words are settled, at the phase of `p`.
fn match_settled_agrees<L: PackedLayout>(
    p: Packed<L>,
    q: Packed<L>,
    number: u64,
    expected: (bool, bool),
) {
    for hint in hints_of(p.phase()) {
        let encoded = [p, q].map(|word| word.encode(hint));
        answers_agree::<L>(encoded, hint, number, expected);
    }
    let (settled, matches) = expected;
    if settled {
        other_ways_agree(p, q, number, matches);
    }
}

fn answers_agree<L: PackedLayout>(
    [p, q]: [Bits; 2],
    hint: Hint,
    number: u64,
    (settled, matches): (bool, bool),
) {
    let answers = Packed::<L>::match_settled(p, q, Fingerprint::new(number), hint);
    assert_eq!(answers.0, settled, "{p:?}, {q:?} by {hint:?}");
    assert!(
        !settled || answers.1 == matches,
        "{number} in {p:?}, {q:?} by {hint:?}"
    );
}

/// The other ways to match that the layout allows, which this processor does not take.
fn other_ways_agree<L: PackedLayout>(p: Packed<L>, q: Packed<L>, number: u64, matches: bool) {
    let lanes = p.lanes();
    let broadcast = p.stored(Entry::new(number)) * lanes.ones;
    let [p, q] = [p, q].map(|word| word.pack() ^ broadcast);
    let used = Packed::<L>::used(p, lanes) & Packed::<L>::used(q, lanes);
    assert_eq!(used != lanes.tops, matches, "{number} in words");
    if lanes.distance > lanes.bits {
        let in_lanes = Packed::<L>::either_matches_in_lanes(p, q);
        assert_eq!(in_lanes, matches, "{number} in lanes");
    }
}

/// An insert and a remove do to two words what they do to each by itself, whatever the hint.
fn writes_agree<L: PackedLayout>(p: Packed<L>, q: Packed<L>, number: u64) {
    let entry = Entry::new(number);
    let phases = [p.phase(), if L::HAS_PHASE { p.phase() ^ 2 } else { 0 }];
    for hint in phases.into_iter().flat_map(hints_of) {
        let [of_p, of_q] = [p, q].map(|word| word.encode(hint));
        let by_word = Packed::<L>::plus_by_contents(of_p, of_q, entry, hint);
        let plus = Packed::<L>::plus_in_emptier(of_p, of_q, entry, hint);
        assert_eq!(plus, by_word, "{number} into {p:?}, {q:?} by {hint:?}");
    }
    let of = |minus: Minus| match minus {
        Minus::Taken { in_p, new } => Ok((in_p, new)),
        Minus::Nothing => Err(true),
        Minus::Marked => Err(false),
    };
    for hint in phases.into_iter().flat_map(hints_of) {
        let [of_p, of_q] = [p, q].map(|word| word.encode(hint));
        let by_word = Packed::<L>::minus_by_contents(of_p, of_q, entry, hint);
        let minus = Packed::<L>::minus_in_first(of_p, of_q, entry, hint);
        assert_eq!(of(minus), of(by_word), "{number} out of {p:?}, {q:?}");
    }
}

/// Over all pairs of words: what the fast path of a lookup asks.
fn all_pairs_agree<L: PackedLayout>(phase: u64) {
    struct Row<L> {
        word: Packed<L>,
        /// For each hint.
        encoded: [Bits; 2],
        quiet: bool,
        /// Bit `n` is set if any slot, marked or with a token, holds `n`.
        holds: u64,
    }
    let words = all_words_in_phase::<L>(phase);
    let hints = hints_of(phase);
    let numbers: Vec<u64> = (1..=words[0].lanes::<L>().largest).collect();
    let row = |naive: &Naive| {
        let values = naive.slots.iter().chain(&naive.token);
        Row {
            word: naive.word::<L>(),
            encoded: hints.map(|hint| naive.word::<L>().encode(hint)),
            quiet: naive.mark.is_none() && naive.token.is_none(),
            holds: values.fold(0, |holds, value| holds | 1 << value),
        }
    };
    let rows: Vec<_> = words.iter().map(row).collect();
    for p in &rows {
        for q in &rows {
            let settled = p.quiet && q.quiet;
            for &stored in &numbers {
                let number = words[0].whole(stored);
                let matches = (p.holds | q.holds) >> stored & 1 == 1;
                for (index, &hint) in hints.iter().enumerate() {
                    let encoded = [p.encoded[index], q.encoded[index]];
                    answers_agree::<L>(encoded, hint, number, (settled, matches));
                }
                if settled {
                    other_ways_agree(p.word, q.word, number, matches);
                }
            }
        }
    }
}

macro_rules! small_layouts {
    ($($name:ident: $levels:expr, phase $phase:literal;)*) => {$(
        #[derive(Clone, Copy, Debug)]
        struct $name;

        impl PackedLayout for $name {
            const LEVELS: &'static [Lanes] = &$levels;
            const PHASE_BITS: u32 = $phase;
            type Time = crate::table::time::Timeless;
            type Counted = ();
            type Kind = crate::memory::CanGrow;
        }
    )*};
}

small_layouts! {
    Dense: [Lanes::new(3, 3, 3)], phase 0;
    Aligned: [Lanes::new(3, 3, 5)], phase 0;
    TwoSlots: [Lanes::new(4, 2, 32)], phase 0;
    OneBit: [Lanes::new(1, 6, 1)], phase 0;
    // 3 × 3, 2 × 4.
    Growable: series(3, 2, 9), phase 6;
    // 5 × 2, 4 × 2, 3 × 3, 2 × 5.
    GrowableFar: series(5, 2, 10), phase 6;
}

/// One test per layout: the harness runs them in parallel.
macro_rules! tests {
    ($($all:ident { $($name:ident: $($agree:expr),*;)* })*) => {$(
        mod $all {
            use super::*;

            $(
                #[test]
                fn $name() {
                    $($agree;)*
                }
            )*
        }
    )*};
}

tests! {
    small_layouts_agree_on_all_words {
        dense: all_operations_agree::<Dense>(all_phases::<Dense>());
        aligned: all_operations_agree::<Aligned>(all_phases::<Aligned>());
        two_slots: all_operations_agree::<TwoSlots>(all_phases::<TwoSlots>());
        one_bit: all_operations_agree::<OneBit>(all_phases::<OneBit>());
        growable: all_operations_agree::<Growable>(all_phases::<Growable>());
        growable_far_at_its_first_level: all_operations_agree::<GrowableFar>(0..2);
        growable_far_at_later_levels:
            all_operations_agree::<GrowableFar>(2..all_phases::<GrowableFar>().end);
    }

    small_layouts_agree_on_all_pairs_of_words {
        dense: all_pairs_agree::<Dense>(0);
        aligned: all_pairs_agree::<Aligned>(0);
        two_slots: all_pairs_agree::<TwoSlots>(0);
        one_bit: all_pairs_agree::<OneBit>(0);
        growable: all_pairs_agree::<Growable>(0), all_pairs_agree::<Growable>(2);
    }
}

/// A value for a slot: often empty, often one of a few that then repeat, and
/// often one bit away from another.
fn value(bits: u32) -> impl Strategy<Value = u64> {
    let max = (1_u64 << bits) - 1;
    prop_oneof![
        2 => Just(0),
        2 => prop::sample::select(vec![1, 2, max - 1, max, 1 << (bits - 1), (1 << (bits - 1)) - 1]),
        1 => 0..=max,
    ]
}

fn naive_in_phase<L: PackedLayout>(phase: u64) -> impl Strategy<Value = Naive> {
    let lanes = &L::LEVELS[phase as usize >> 1];
    let slots = prop::collection::vec(value(lanes.bits), lanes.slots);
    let mark = prop::sample::select(marks());
    let token = prop::option::of(0..=lanes.largest);
    (slots, mark, token).prop_map(move |(mut slots, mark, token)| {
        if token.is_some() {
            *slots.last_mut().unwrap() = 0;
        }
        Naive {
            mark: mark.filter(|_| slots[0] != 0),
            slots,
            token,
            phase,
        }
    })
}

/// Two words in one phase.
fn pair<L: PackedLayout>() -> impl Strategy<Value = (Naive, Naive)> {
    let phases = if L::HAS_PHASE { 2 * levels::<L>() } else { 1 };
    (0..phases).prop_flat_map(|phase| (naive_in_phase::<L>(phase), naive_in_phase::<L>(phase)))
}

/// Numbers worth asking `words` for: all they hold, these with one bit
/// flipped, and the extremes.
fn neighbours<L: PackedLayout>(words: &[&Naive]) -> Vec<u64> {
    let lanes = words[0].lanes::<L>();
    let held = words
        .iter()
        .flat_map(|word| word.slots.iter().chain(&word.token).copied());
    let mut all: Vec<u64> = held
        .chain([1, lanes.largest])
        .flat_map(|f| [f, f ^ 1, f ^ 1 << (lanes.bits - 1)])
        .filter(|&f| f != 0)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn pair_agrees<L: PackedLayout>(p: &Naive, q: &Naive) {
    let (p_word, q_word): (Packed<L>, Packed<L>) = (p.word(), q.word());
    let quiet = |n: &Naive| n.mark.is_none() && n.token.is_none();
    let settled = quiet(p) && quiet(q);
    let unmarked = p.mark.is_none() && q.mark.is_none();
    assert_eq!(Packed::both_unmarked(p_word, q_word), unmarked);
    for stored in neighbours::<L>(&[p, q]) {
        let holds = |n: &Naive| n.slots.iter().chain(&n.token).any(|&value| value == stored);
        let expected = (settled, holds(p) || holds(q));
        match_settled_agrees(p_word, q_word, p.whole(stored), expected);
        writes_agree(p_word, q_word, p.whole(stored));
    }
}

macro_rules! real_layouts {
    ($($name:ident: $layout:ty;)*) => {$(
        proptest! {
            #[test]
            fn $name((p, q) in pair::<$layout>()) {
                let tokens = [0, 1, (1 << 9) - 1];
                operations_agree::<$layout>(&p, &neighbours::<$layout>(&[&p]), &tokens);
                pair_agrees::<$layout>(&p, &q);
                split_agrees::<$layout>(&p);
                image_agrees::<$layout>(&p);
            }
        }
    )*};
}

real_layouts! {
    f10x6_agrees: F10x6;
    f12x5_agrees: F12x5;
    f15x4_agrees: F15x4;
    f20x3_agrees: F20x3;
    f30x2_agrees: F30x2;
    growing_agrees: Growing;
}

/// For each level at which a filter can begin.
#[test]
fn hints_say_plane_and_phase() {
    type Word = Packed<Growing>;
    let levels = levels::<Growing>() as u32;
    for first in 0..levels {
        let base = u64::of_first(first);
        let hints: Vec<Hint> = (first..levels).map(|it| Hint::new(it, first)).collect();
        assert!(hints.is_sorted_by_key(|hint| hint.bits()));
        assert_eq!(base.subtract_from(Word::at_level(first).pack()), Bits(0));
        for (level, &hint) in (first..).zip(&hints) {
            assert_eq!(hint.level(), level);
            for fingerprint in [1 << 39, 0xaa_aaaa_aaaa, (1 << 40) - 1] {
                let plane = hint.plane_bits(fingerprint) >> first;
                assert_eq!(
                    plane,
                    (fingerprint & ((1 << level) - 1)) >> first,
                    "level {level}"
                );
                let word = Word::at_level(level).plus(Entry::new(fingerprint));
                let [bits, frozen] = [word, word.frozen()].map(|word| word.encode(hint));
                assert_eq!(bits, base.subtract_from(word.pack()));
                assert_eq!(Word::decode(bits, hint), word);
                assert!(Word::is_at_hint(bits, hint) && !Word::is_at_hint(frozen, hint));
                for (other, &later) in (first..).zip(&hints) {
                    assert_eq!(Word::are_at_hint(bits, bits, later), other == level);
                }
            }
        }
    }
}

#[test]
fn an_empty_word_is_all_zero() {
    assert_eq!(Packed::<F10x6>::EMPTY.pack(), 0);
    assert_eq!(Packed::<F10x6>::EMPTY.occupied(), 0);
    assert!(
        Packed::<F15x4>::EMPTY
            .residents(Fingerprint::new(1))
            .next()
            .is_none()
    );
}

#[test]
fn debug_shows_what_a_word_holds() {
    let word = Packed::<F30x2>::EMPTY
        .plus_marked(Entry::new(77), Mark::Delivered)
        .expect("two slots");
    assert_eq!(
        format!("{word:?}"),
        "Word { slots: [77, 0], mark: Some(Delivered), reserved: false, phase: 0 }"
    );
}

/// Words at a level with each set of used slots, as bits from the lowest slot up.
fn fullness_is_ordered<L: PackedLayout>(level: u64, stored: u64) {
    let lanes = &L::LEVELS[level as usize];
    let word = |used: u64| {
        let in_use = |slot: usize| if used >> slot & 1 == 1 { stored } else { 0 };
        Naive {
            slots: (0..lanes.slots).map(in_use).collect(),
            mark: None,
            token: None,
            phase: 2 * level,
        }
        .word::<L>()
    };
    let full = (1 << lanes.slots) - 1;
    for used in 0..=full {
        assert!(!word(used).is_fuller_than(word(full)), "{used:#b}");
        assert_eq!(word(full).is_fuller_than(word(used)), used != full);
    }
    // Used from the lowest slot on.
    for (less, more) in (0..=lanes.slots).flat_map(|more| (0..=more).map(move |less| (less, more)))
    {
        let [few, many] = [less, more].map(|used| word((1 << used) - 1));
        assert_eq!(many.is_fuller_than(few), more > less, "{more} and {less}");
        assert!(!few.is_fuller_than(many), "{less} and {more}");
    }
    // At the next level.
    if level + 1 < levels::<L>() {
        let other = Packed::<L>::at_level(level as u32 + 1);
        for used in 0..=full {
            assert_eq!(word(used).is_fuller_than(other), used == full, "{used:#b}");
            assert!(!other.is_fuller_than(word(used)), "{used:#b}");
        }
    }
}

#[test]
fn fuller_words_are_told_from_emptier_ones() {
    fullness_is_ordered::<F10x6>(0, 1);
    fullness_is_ordered::<F12x5>(0, 0xfff);
    fullness_is_ordered::<F15x4>(0, 0x4000);
    fullness_is_ordered::<F20x3>(0, 0x7_ffff);
    fullness_is_ordered::<F30x2>(0, 1);
    for level in 0..levels::<Growing>() {
        fullness_is_ordered::<Growing>(level, 1);
        fullness_is_ordered::<Growing>(level, Growing::LEVELS[level as usize].largest);
    }
}

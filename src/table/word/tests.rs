//! The word against a naive model of it: exhaustively for small layouts, by
//! random words for the real ones.

use super::*;
use crate::table::layout::{
    F10x6, F12x5, F15x4, F20x3, F30x2, G9x6, G11x5, G14x4, G18x3, G27x2, G28x2,
};
use proptest::prelude::*;

/// What a word stands for, without any packing.
#[derive(Clone, Debug, PartialEq)]
struct Naive {
    /// The fingerprints; 0 for an empty slot.
    slots: Vec<u64>,
    /// The mark on slot 0.
    mark: Option<Mark>,
    /// The token of the reservation; the last slot is empty then.
    token: Option<u64>,
    phase: u64,
}

/// Control bits from the lowest up: all that belong to no slot.
fn control_bits<L: Layout>() -> Vec<u32> {
    let in_slot =
        |bit: u32| bit / L::LANE_BITS < L::SLOTS as u32 && bit % L::LANE_BITS < L::FINGERPRINT_BITS;
    (0..64).filter(|&bit| !in_slot(bit)).collect()
}

fn marks() -> Vec<Option<Mark>> {
    Mark::ALL.into_iter().map(Some).chain([None]).collect()
}

impl Naive {
    fn word<L: Layout>(&self) -> Word<L> {
        let mut bits = 0;
        for (slot, fingerprint) in self.slots.iter().enumerate() {
            bits |= fingerprint << (L::LANE_BITS as usize * slot);
        }
        if let Some(token) = self.token {
            bits |= token << (L::LANE_BITS as usize * (L::SLOTS - 1));
        }
        let control = self.mark.map_or(0, |mark| mark as u64)
            | u64::from(self.token.is_some()) << 3
            | self.phase << 4;
        for (index, bit) in control_bits::<L>().into_iter().enumerate() {
            bits |= (control >> index & 1) << bit;
        }
        Word::from_bits(bits)
    }

    /// The slots that hold `fingerprint` unmarked.
    fn places(&self, fingerprint: u64) -> Vec<usize> {
        let first = usize::from(self.mark.is_some());
        (first..self.slots.len())
            .filter(|&slot| self.slots[slot] == fingerprint)
            .collect()
    }
}

/// All operations that are allowed on the word, against their plain meaning.
fn operations_agree<L: Layout>(naive: &Naive, fingerprints: &[u64], tokens: &[u64]) {
    let word: Word<L> = naive.word();
    let last = L::SLOTS - 1;

    assert_eq!(Word::<L>::from_bits(word.bits()), word);
    assert_eq!(word.mark(), naive.mark);
    assert_eq!(word.is_unmarked(), naive.mark.is_none());
    assert_eq!(word.is_reserved(), naive.token.is_some());
    assert_eq!(word.phase(), naive.phase);

    let freed = Naive {
        token: None,
        ..naive.clone()
    };
    assert_eq!(
        word.without_reservation(),
        freed.word(),
        "without_reservation of {naive:?}"
    );

    for phase in 0..1 << L::PHASE_BITS {
        assert_eq!(
            word.with_phase(phase),
            Naive {
                phase,
                ..naive.clone()
            }
            .word()
        );
    }

    for mark in Mark::ALL {
        if naive.mark.is_some() {
            let remarked = Naive {
                mark: Some(mark),
                ..naive.clone()
            };
            assert_eq!(
                word.remarked(mark),
                remarked.word(),
                "{mark:?} on {naive:?}"
            );
        }
        for &fingerprint in fingerprints {
            let expected = naive.mark == Some(mark) && naive.slots[0] == fingerprint;
            assert_eq!(
                word.is_marked(mark, fingerprint),
                expected,
                "{mark:?} on {naive:?}"
            );
        }
    }
    for &fingerprint in fingerprints {
        let expected = if naive.slots[0] == fingerprint {
            naive.mark
        } else {
            None
        };
        assert_eq!(
            word.mark_of(fingerprint),
            expected,
            "mark_of {fingerprint} in {naive:?}"
        );
    }
    if naive.mark.is_some() {
        assert_eq!(
            word.unmarked(),
            Naive {
                mark: None,
                ..naive.clone()
            }
            .word()
        );
        let mut gone = Naive {
            mark: None,
            ..naive.clone()
        };
        gone.slots[0] = 0;
        assert_eq!(
            word.without_marked(),
            gone.word(),
            "without_marked of {naive:?}"
        );
    }

    if naive.token.is_some() {
        return;
    }
    // From here on what only the owner of the word's value may ask: the word
    // has no reservation.
    for &fingerprint in fingerprints {
        let places = naive.places(fingerprint);
        assert_eq!(
            word.find(fingerprint),
            places.first().copied(),
            "find {fingerprint} in {naive:?}"
        );
        assert_eq!(
            word.count(fingerprint),
            places.len(),
            "count {fingerprint} in {naive:?}"
        );
        let mut less = naive.clone();
        if let Some(&slot) = places.first() {
            less.slots[slot] = 0;
        }
        assert_eq!(
            word.minus(fingerprint),
            less.word(),
            "{naive:?} minus {fingerprint}"
        );
    }
    let vacant: Vec<usize> = (0..L::SLOTS)
        .filter(|&slot| naive.slots[slot] == 0)
        .collect();
    assert_eq!(
        word.vacancy(),
        vacant.first().copied(),
        "vacancy of {naive:?}"
    );
    assert_eq!(
        word.occupied() as usize,
        L::SLOTS - vacant.len(),
        "occupied of {naive:?}"
    );
    assert_eq!(
        word.has_vacancy(),
        !vacant.is_empty(),
        "has_vacancy of {naive:?}"
    );
    for &fingerprint in fingerprints {
        let mut more = naive.clone();
        if let Some(&slot) = vacant.first() {
            more.slots[slot] = fingerprint;
        }
        assert_eq!(
            word.plus(fingerprint),
            more.word(),
            "{naive:?} plus {fingerprint}"
        );
    }
    let first = usize::from(naive.mark.is_some());
    let residents: Vec<u64> = naive.slots[first..]
        .iter()
        .copied()
        .filter(|&f| f != 0)
        .collect();
    assert_eq!(
        word.residents().collect::<Vec<_>>(),
        residents,
        "residents of {naive:?}"
    );

    for &slot in &vacant {
        for &fingerprint in fingerprints {
            let mut filled = naive.clone();
            filled.slots[slot] = fingerprint;
            assert_eq!(
                word.with(slot, fingerprint),
                filled.word(),
                "{fingerprint} into {naive:?}"
            );
        }
        for &token in tokens {
            let mut reserved = naive.clone();
            reserved.slots.swap(slot, last);
            reserved.token = Some(token);
            let with = word.with_reservation(slot, token);
            assert_eq!(with, reserved.word(), "token {token} into {naive:?}");
        }
    }
    for slot in first..L::SLOTS {
        let mut emptied = naive.clone();
        emptied.slots[slot] = 0;
        assert_eq!(
            word.without(slot),
            emptied.word(),
            "slot {slot} of {naive:?} emptied"
        );
        if naive.mark.is_none() && naive.slots[slot] != 0 {
            for mark in Mark::ALL {
                let mut marked = naive.clone();
                marked.slots.swap(0, slot);
                marked.mark = Some(mark);
                assert_eq!(
                    word.with_mark(slot, mark),
                    marked.word(),
                    "{mark:?} on {naive:?}"
                );
            }
        }
    }
}

/// A split against its plain meaning, for words that can be split: each fingerprint goes
/// or stays by its bit, in its slot, and the mark with that of slot 0.
fn split_agrees<L: Layout>(naive: &Naive) {
    let level = (naive.phase >> 1) as u32;
    let last = naive.phase + 2 >= 1 << L::PHASE_BITS || level + 1 >= L::FINGERPRINT_BITS;
    if naive.token.is_some() || naive.phase & 1 == 1 || last {
        return;
    }
    let word: Word<L> = naive.word();
    assert!(!word.is_frozen() && word.frozen().is_frozen());
    let part = |bit| {
        let mut part = naive.clone();
        part.phase += 2;
        for slot in &mut part.slots {
            if *slot >> level & 1 != bit {
                *slot = 0;
            }
        }
        // An empty slot 0 has no mark: it counts as one whose bit is 0.
        if naive.slots[0] >> level & 1 != bit {
            part.mark = None;
        }
        part.word()
    };
    assert_eq!(word.frozen().split(), (part(0), part(1)), "{naive:?}");
}

/// What a snapshot keeps of a word, and what it takes for one, against their plain meaning.
fn image_agrees<L: Layout>(naive: &Naive) {
    let word: Word<L> = naive.word();
    let mut image = Naive {
        mark: None,
        token: None,
        phase: naive.phase & !1,
        ..naive.clone()
    };
    if let Some(Mark::Trailing | Mark::Killed) = naive.mark {
        image.slots[0] = 0;
    }
    assert_eq!(word.image(), image.word(), "{naive:?}");

    for plane in (0..6).filter(|&plane| plane <= L::FINGERPRINT) {
        is_image_agrees::<L>(naive, plane);
        // The word at rest, with fingerprints of the plane.
        let low = low_mask::<L>(naive.phase >> 1);
        for slot in &mut image.slots {
            *slot = *slot & !low | plane & low;
        }
        is_image_agrees::<L>(&image, plane);
    }
}

/// The bits of a fingerprint that a level looks at.
fn low_mask<L: Layout>(level: u64) -> u64 {
    let bits = u32::try_from(level).map_or(64, |level| level.min(64));
    (1_u128 << bits).wrapping_sub(1) as u64 & L::FINGERPRINT
}

fn is_image_agrees<L: Layout>(naive: &Naive, plane: u64) {
    let word: Word<L> = naive.word();
    let low = low_mask::<L>(naive.phase >> 1);
    let at_rest = naive.mark.is_none() && naive.token.is_none() && naive.phase & 1 == 0;
    let at_home = |&fingerprint: &u64| fingerprint == 0 || (fingerprint ^ plane) & low == 0;
    let expected = at_rest && naive.slots.iter().all(at_home);
    assert_eq!(word.is_image(plane), expected, "{naive:?} in {plane}");
    let unused = !(L::PAYLOAD | L::CONTROL | L::PHASE);
    for bit in (0..u64::BITS).filter(|bit| unused >> bit & 1 == 1) {
        let more = Word::<L>::from_bits(word.bits() | 1 << bit);
        assert!(!more.is_image(plane), "bit {bit} and {naive:?}");
    }
}

/// Every word that can stand in a table of layout `L`.
fn all_words<L: Layout>() -> Vec<Naive> {
    let values = 1_u64 << L::FINGERPRINT_BITS;
    let mut all = Vec::new();
    for payload in 0..values.pow(L::SLOTS as u32) {
        let slots: Vec<u64> = (0..L::SLOTS as u32)
            .map(|slot| payload / values.pow(slot) % values)
            .collect();
        for mark in marks() {
            if mark.is_some() && slots[0] == 0 {
                continue;
            }
            for phase in 0..1 << L::PHASE_BITS {
                all.push(Naive {
                    slots: slots.clone(),
                    mark,
                    token: None,
                    phase,
                });
                let mut reserved = Naive {
                    slots: slots.clone(),
                    mark,
                    token: None,
                    phase,
                };
                reserved.token = reserved.slots.last().copied();
                reserved.slots[L::SLOTS - 1] = 0;
                all.push(reserved);
            }
        }
    }
    all
}

fn all_operations_agree<L: Layout>() {
    let all = all_words::<L>();
    let fingerprints: Vec<u64> = (1..1 << L::FINGERPRINT_BITS).collect();
    let tokens: Vec<u64> = (0..1 << L::FINGERPRINT_BITS).collect();
    for naive in &all {
        operations_agree::<L>(naive, &fingerprints, &tokens);
        split_agrees::<L>(naive);
        image_agrees::<L>(naive);
    }
    let mut bits: Vec<u64> = all.iter().map(|naive| naive.word::<L>().bits()).collect();
    bits.sort_unstable();
    bits.dedup();
    assert_eq!(
        bits.len(),
        all.len(),
        "two different words have one representation"
    );
}

/// Every way to match that the layout allows, also those that this processor does not take.
/// Only of quiet words is the answer used.
fn either_matches_agrees<L: Layout>(p: Word<L>, q: Word<L>, fingerprint: u64, expected: bool) {
    if !Word::both_quiet(p, q) {
        return;
    }
    let matches = Word::either_matches(p, q, fingerprint);
    let in_words = Word::either_matches_in_words(p, q, fingerprint);
    let in_lanes = if L::LANE_BITS > L::FINGERPRINT_BITS {
        Word::either_matches_in_lanes(p, q, fingerprint)
    } else {
        expected
    };
    assert_eq!(
        (matches, in_words, in_lanes),
        (expected, expected, expected),
        "{fingerprint} in {p:?}, {q:?}"
    );
}

/// Over all pairs of words: what the fast path of a lookup asks.
fn all_pairs_agree<L: Layout>() {
    struct Row<L> {
        word: Word<L>,
        quiet: bool,
        /// Bit `fp` is set if any slot, marked or with a token, holds `fp`.
        holds: u64,
    }
    let rows: Vec<Row<L>> = all_words::<L>()
        .iter()
        .map(|naive| {
            let values = naive.slots.iter().chain(&naive.token);
            Row {
                word: naive.word(),
                quiet: naive.mark.is_none() && naive.token.is_none(),
                holds: values.fold(0, |holds, value| holds | 1 << value),
            }
        })
        .collect();
    for p in &rows {
        for q in &rows {
            assert_eq!(Word::both_quiet(p.word, q.word), p.quiet && q.quiet);
            for fingerprint in 1..1 << L::FINGERPRINT_BITS {
                let expected = (p.holds | q.holds) >> fingerprint & 1 == 1;
                either_matches_agrees(p.word, q.word, fingerprint, expected);
            }
        }
    }
}

macro_rules! small_layouts {
    ($($name:ident: $bits:literal x $slots:literal, lane $lane:literal, phase $phase:literal;)*) => {$(
        #[derive(Clone, Copy, Debug)]
        struct $name;

        impl Layout for $name {
            const FINGERPRINT_BITS: u32 = $bits;
            const SLOTS: usize = $slots;
            const LANE_BITS: u32 = $lane;
            const PHASE_BITS: u32 = $phase;
        }
    )*};
}

small_layouts! {
    Packed: 3 x 3, lane 3, phase 0;
    Aligned: 3 x 3, lane 5, phase 0;
    PackedGrowable: 3 x 3, lane 3, phase 2;
    AlignedGrowable: 2 x 4, lane 4, phase 3;
    TwoSlots: 4 x 2, lane 32, phase 1;
    OneBit: 1 x 6, lane 1, phase 1;
}

#[test]
fn small_layouts_agree_on_all_words() {
    all_operations_agree::<Packed>();
    all_operations_agree::<Aligned>();
    all_operations_agree::<PackedGrowable>();
    all_operations_agree::<AlignedGrowable>();
    all_operations_agree::<TwoSlots>();
    all_operations_agree::<OneBit>();
}

#[test]
fn small_layouts_agree_on_all_pairs_of_words() {
    all_pairs_agree::<Packed>();
    all_pairs_agree::<Aligned>();
    all_pairs_agree::<TwoSlots>();
    all_pairs_agree::<OneBit>();
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

fn naive<L: Layout>() -> impl Strategy<Value = Naive> {
    let slots = prop::collection::vec(value(L::FINGERPRINT_BITS), L::SLOTS);
    let mark = prop::sample::select(marks());
    let token = prop::option::of(0..1_u64 << L::FINGERPRINT_BITS);
    (slots, mark, token, 0..1_u64 << L::PHASE_BITS).prop_map(|(mut slots, mark, token, phase)| {
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

/// Fingerprints worth asking `words` for: all they hold, these with one bit
/// flipped, and the extremes.
fn neighbours<L: Layout>(words: &[&Naive]) -> Vec<u64> {
    let max = (1_u64 << L::FINGERPRINT_BITS) - 1;
    let held = words
        .iter()
        .flat_map(|word| word.slots.iter().chain(&word.token).copied());
    let mut all: Vec<u64> = held
        .chain([1, max])
        .flat_map(|f| [f, f ^ 1, f ^ 1 << (L::FINGERPRINT_BITS - 1)])
        .filter(|&f| f != 0)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn pair_agrees<L: Layout>(p: &Naive, q: &Naive) {
    let (p_word, q_word): (Word<L>, Word<L>) = (p.word(), q.word());
    for fingerprint in neighbours::<L>(&[p, q]) {
        let holds = |n: &Naive| {
            n.slots
                .iter()
                .chain(&n.token)
                .any(|&value| value == fingerprint)
        };
        either_matches_agrees(p_word, q_word, fingerprint, holds(p) || holds(q));
    }
    let quiet = |n: &Naive| n.mark.is_none() && n.token.is_none();
    assert_eq!(Word::both_quiet(p_word, q_word), quiet(p) && quiet(q));
}

macro_rules! real_layouts {
    ($($name:ident: $layout:ty;)*) => {$(
        proptest! {
            #[test]
            fn $name(p in naive::<$layout>(), q in naive::<$layout>()) {
                let token_bits = 9.min(<$layout>::FINGERPRINT_BITS);
                let tokens = [0, 1, (1 << token_bits) - 1];
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
    g9x6_agrees: G9x6;
    g11x5_agrees: G11x5;
    g14x4_agrees: G14x4;
    g18x3_agrees: G18x3;
    g27x2_agrees: G27x2;
    g28x2_agrees: G28x2;
}

fn hints_agree<L: Layout>() {
    let levels = ((1_u32 << L::PHASE_BITS) / 2).min(L::FINGERPRINT_BITS - 7);
    let hints: Vec<Word<L>> = (0..levels).map(Word::hint).collect();
    assert_eq!(hints[0], Word::EMPTY);
    assert!(hints.is_sorted_by_key(|hint| hint.bits()));
    for (level, &hint) in (0..).zip(&hints) {
        assert_eq!((hint.level_of_hint(), hint.level()), (level, level));
        for fingerprint in [1, 0b1010_1010, L::FINGERPRINT] {
            let plane = fingerprint & hint.bits();
            assert_eq!(plane, fingerprint & ((1 << level) - 1), "level {level}");
            let word = Word::EMPTY.with(0, fingerprint).with_phase(hint.phase());
            assert!(word.is_in_phase(hint) && !word.frozen().is_in_phase(hint));
            for (other, &later) in hints.iter().enumerate() {
                assert_eq!(
                    Word::both_in_phase(word, word, later),
                    other == level as usize
                );
            }
        }
    }
}

#[test]
fn hints_say_plane_and_phase() {
    hints_agree::<G9x6>();
    hints_agree::<G11x5>();
    hints_agree::<G14x4>();
    hints_agree::<G18x3>();
    hints_agree::<G27x2>();
    hints_agree::<G28x2>();
}

#[test]
fn an_empty_word_is_all_zero() {
    assert_eq!(Word::<F10x6>::EMPTY.bits(), 0);
    assert_eq!(Word::<F10x6>::EMPTY.occupied(), 0);
    assert!(Word::<F15x4>::EMPTY.residents().next().is_none());
}

#[test]
fn debug_shows_what_a_word_holds() {
    let word = Word::<F30x2>::EMPTY
        .with(1, 77)
        .with_mark(1, Mark::Delivered);
    assert_eq!(
        format!("{word:?}"),
        "Word { slots: [77, 0], mark: Some(Delivered), reserved: false, phase: 0 }"
    );
}

/// Words with each set of used slots, as bits from the lowest slot up.
fn fullness_is_ordered<L: Layout>(fingerprint: u64) {
    let word = |used: u64| {
        let lanes = (0..L::SLOTS as u32).filter(|slot| used >> slot & 1 == 1);
        Word::<L>::from_bits(lanes.map(|slot| fingerprint << (L::LANE_BITS * slot)).sum())
    };
    let full = (1 << L::SLOTS) - 1;
    for used in 0..=full {
        assert!(!word(used).is_fuller_than(word(full)), "{used:#b}");
        assert_eq!(word(full).is_fuller_than(word(used)), used != full);
    }
    // Used from the lowest slot on.
    for (less, more) in (0..=L::SLOTS).flat_map(|more| (0..=more).map(move |less| (less, more))) {
        let [few, many] = [less, more].map(|used| word((1 << used) - 1));
        assert_eq!(many.is_fuller_than(few), more > less, "{more} and {less}");
        assert!(!few.is_fuller_than(many), "{less} and {more}");
    }
}

#[test]
fn fuller_words_are_told_from_emptier_ones() {
    fullness_is_ordered::<F10x6>(1);
    fullness_is_ordered::<F12x5>(0xfff);
    fullness_is_ordered::<F15x4>(0x4000);
    fullness_is_ordered::<F20x3>(0x7_ffff);
    fullness_is_ordered::<F30x2>(1);
    fullness_is_ordered::<G9x6>(0x1ff);
    fullness_is_ordered::<G14x4>(0x3fff);
    fullness_is_ordered::<G28x2>(1);
}

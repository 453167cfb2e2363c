//! Semi-sorted words against a plain list of what they hold: exhaustively for small layouts, by
//! random words for larger ones.

mod agree;
mod naive;

use super::*;
use crate::table::{
    entry::{Entry, Fingerprint},
    layout::{S7x7, S8x6, S9x5, S12x4, S17x3},
    word::{Bits, Bucket},
};
use agree::{operations_agree, pair_agrees, writes_agree};
use naive::{Naive, sets};
use proptest::prelude::*;
use std::collections::HashSet;

macro_rules! layouts {
    ($($name:ident: $raw:literal raw bits x $slots:literal, $prefixes:literal prefixes, $sets:literal sets;)*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        struct $name;

        semi_sorted_words!($name: $raw raw bits x $slots, $prefixes prefixes, $sets sets);
    )*};
}

layouts! {
    Two: 2 raw bits x 2, 2 prefixes, 3 sets;
    Three: 2 raw bits x 3, 2 prefixes, 4 sets;
    Four: 2 raw bits x 4, 2 prefixes, 5 sets;
    Wide: 3 raw bits x 2, 4 prefixes, 10 sets;

    S9x6: 9 raw bits x 6, 3 prefixes, 28 sets;
    S10x5: 10 raw bits x 5, 7 prefixes, 462 sets;
    S11x5: 11 raw bits x 5, 3 prefixes, 21 sets;
    S13x4: 13 raw bits x 4, 7 prefixes, 210 sets;
    S14x4: 14 raw bits x 4, 3 prefixes, 15 sets;
    S19x3: 19 raw bits x 3, 3 prefixes, 10 sets;
}

fn is_image<L: SemiSorted>(bits: u64) -> bool {
    Contents::<L>::is_image(bits)
}

const MARKED: [Mark; 5] = [
    Mark::Outline,
    Mark::Shadow,
    Mark::Trailing,
    Mark::Delivered,
    Mark::Killed,
];

/// All lists of `count` numbers up to `largest`, in order and without zeros.
fn all_lists(largest: u64, count: usize) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for _ in 0..count {
        let longer = |list: &Vec<u64>| {
            let least = list.last().copied().unwrap_or(0);
            let list = list.clone();
            (least..=largest).map(move |next| [list.as_slice(), &[next]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    for list in &mut all {
        list.retain(|&it| it != 0);
    }
    all
}

/// Every state of a word of layout `L`, with these tokens.
fn all_states<L: SemiSorted>(tokens: impl Iterator<Item = u64>) -> Vec<Naive> {
    let largest = (L::PREFIXES << L::RAW_BITS) - 1;
    let marks = || {
        MARKED
            .into_iter()
            .flat_map(|mark| (1..=largest).map(move |it| (mark, it)))
    };
    let marks: Vec<_> = marks().map(Some).chain([None]).collect();
    let mut all = Vec::new();
    for token in tokens.map(Some).chain([None]) {
        for &marked in &marks {
            let taken = usize::from(marked.is_some()) + usize::from(token.is_some());
            let lists = all_lists(largest, L::SLOTS - taken);
            let state = |rest| Naive {
                marked,
                rest,
                token,
            };
            all.extend(lists.into_iter().map(state));
        }
    }
    all
}

const TOKENS: [u64; 6] = [0, 1, 0b0_1010_1010, 0b1_0101_0101, 510, 511];

fn all_words_agree<L: SemiSorted>() {
    let fingerprints: Vec<u64> = (1..L::PREFIXES << L::RAW_BITS).collect();
    for naive in all_states::<L>(TOKENS.into_iter()) {
        operations_agree::<L>(&naive, &fingerprints, &TOKENS);
    }
    // One word for each state, and none that is not one of these.
    let states = all_states::<L>(0..512);
    let words: HashSet<u64> = states.iter().map(Naive::word::<L>).collect();
    assert_eq!(words.len(), states.len(), "two states have one word");
    for word in 0..(L::END + 2) << L::SHIFT {
        let contents = Contents::<L>::from_bits(word);
        assert_eq!(contents.is_some(), word >> L::SHIFT < L::END, "{word:#x}");
        let sound = contents.filter(|it| it.is_sound());
        assert_eq!(sound.is_some(), words.contains(&word), "{word:#x}");
        assert!(sound.is_none_or(|it| it.pack() == word), "{word:#x}");
        let is_quiet = |it: Contents<L>| it.is_unmarked() && !it.is_reserved();
        assert_eq!(
            is_image::<L>(word),
            sound.is_some_and(is_quiet),
            "{word:#x}"
        );
    }
}

#[test]
fn small_layouts_agree_on_all_words() {
    all_words_agree::<Two>();
    all_words_agree::<Three>();
    all_words_agree::<Four>();
    all_words_agree::<Wide>();
}

fn all_pairs<L: SemiSorted>(agree: fn(&Naive, &Naive, &[u64])) {
    let fingerprints: Vec<u64> = (1..L::PREFIXES << L::RAW_BITS).collect();
    let states = all_states::<L>([0, 511].into_iter());
    for p in &states {
        for q in &states {
            agree(p, q, &fingerprints);
        }
    }
}

#[test]
fn small_layouts_agree_on_all_pairs_of_words() {
    all_pairs::<Two>(pair_agrees::<Two>);
    all_pairs::<Three>(pair_agrees::<Three>);
    all_pairs::<Two>(writes_agree::<Two>);
}

/// The sets are all there are, in the order of a dictionary, and what is above the last head is no
/// word.
fn heads_agree<L: SemiSorted>() {
    let prefix = |set: u64, slot: usize| set >> (slot as u32 * L::RAW_BITS) & L::LANE;
    let list = |set: u64| -> Vec<u64> { (0..L::SLOTS).map(|slot| prefix(set, slot)).collect() };
    let lists: Vec<Vec<u64>> = L::SETS.iter().map(|&set| list(set)).collect();
    assert!(lists.iter().all(|list| list.is_sorted()));
    assert!(lists.is_sorted_by(|one, next| one < next));
    assert_eq!(lists.len() as u64, sets(L::PREFIXES, L::SLOTS));
    assert!(lists.iter().flatten().all(|&prefix| prefix < L::PREFIXES));
    for head in 0..=u64::MAX >> L::SHIFT {
        let contents = Contents::<L>::from_bits(head << L::SHIFT);
        assert_eq!(contents.is_some(), head < L::END, "head {head}");
        let highest = Contents::<L>::from_bits(head << L::SHIFT | L::LANES);
        for contents in contents.into_iter().chain(highest) {
            let again = contents.pack();
            assert_eq!(again >> L::SHIFT, head);
            assert_eq!(Contents::from_bits(again), Some(contents));
        }
        assert!(head < L::MARKED || !is_image::<L>(head << L::SHIFT));
    }
}

/// The lane of a token has what the head leaves to it, and nothing above the last state.
fn tokens_agree<L: SemiSorted>() {
    let reserved = (L::RESERVED..L::BOTH, sets(L::PREFIXES, L::SLOTS - 1), 0);
    let marked_sets = 5 * L::PREFIXES * sets(L::PREFIXES, L::SLOTS - 2);
    let both = (L::BOTH..L::END, marked_sets, L::RAW_BITS);
    for (heads, numbers, lane) in [reserved, both] {
        for head in [heads.start, heads.end - 1] {
            for held in 0..=L::LANE {
                // With a fingerprint in lane 0 if that is marked.
                let word = head << L::SHIFT | held << lane | u64::from(lane > 0);
                let all = (head - heads.start) << L::RAW_BITS | held;
                let unpacked = Contents::<L>::from_bits(word);
                assert_eq!(unpacked.is_some(), all / 512 < numbers, "{word:#x}");
                assert!(unpacked.is_none_or(|it| it.pack() == word), "{word:#x}");
            }
        }
    }
}

/// Numbers for a word: often equal, often neighbours, and often at the ends of a prefix.
fn value<L: SemiSorted>() -> impl Strategy<Value = u64> {
    let largest = (L::PREFIXES << L::RAW_BITS) - 1;
    let lane = (1_u64 << L::RAW_BITS) - 1;
    let raw = prop_oneof![
        Just(0),
        Just(1),
        Just(lane >> 1),
        Just((lane >> 1) + 1),
        Just(lane),
        0..=lane
    ];
    let any_prefix = (0..L::PREFIXES, raw).prop_map(|(prefix, raw)| prefix << L::RAW_BITS | raw);
    prop_oneof![
        2 => Just(0),
        1 => 0..=3_u64,
        4 => any_prefix,
        2 => 0..=largest,
    ]
}

fn naive<L: SemiSorted>() -> impl Strategy<Value = Naive> {
    let slots = prop::collection::vec(value::<L>(), L::SLOTS);
    let repeat = any::<[prop::sample::Index; 2]>();
    let mark = prop::option::of(prop::sample::select(MARKED.to_vec()));
    let token = prop::option::of(prop_oneof![
        prop::sample::select(TOKENS.to_vec()),
        0..512_u64
    ]);
    (slots, repeat, mark, token).prop_map(|(mut slots, [from, to], mark, token)| {
        slots[to.index(L::SLOTS)] = slots[from.index(L::SLOTS)];
        if token.is_some() {
            slots.pop();
        }
        let marked = mark
            .filter(|_| slots[0] != 0)
            .map(|mark| (mark, slots.remove(0)));
        slots.retain(|&it| it != 0);
        slots.sort_unstable();
        Naive {
            marked,
            rest: slots,
            token,
        }
    })
}

/// Fingerprints worth asking for: all that the words hold, those beside them, and the extremes.
fn neighbours<L: SemiSorted>(words: &[&Naive]) -> Vec<u64> {
    let largest = (L::PREFIXES << L::RAW_BITS) - 1;
    let held = words
        .iter()
        .flat_map(|it| it.rest.iter().copied().chain(it.marked.map(|(_, it)| it)));
    let mut all: Vec<u64> = held
        .chain([1, largest])
        .flat_map(|it| {
            [
                it,
                it ^ 1,
                it ^ 1 << (L::RAW_BITS - 1),
                it ^ 1 << L::RAW_BITS,
            ]
        })
        .filter(|&it| it != 0 && it <= largest)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A quiet word whose lanes are not in order stands for no state.
fn disorder_is_refused<L: SemiSorted>(naive: &Naive) {
    let word = naive.with_mark(None).with_token(None).word::<L>();
    let lane = |lanes: u64, lane: usize| lanes >> (lane as u32 * L::RAW_BITS) & L::LANE;
    let prefixes = L::SETS[(word >> L::SHIFT) as usize];
    for first in 0..L::SLOTS - 1 {
        let other = lane(word, first) ^ lane(word, first + 1);
        let both = (1 + (1 << L::RAW_BITS)) << (first as u32 * L::RAW_BITS);
        let swapped = word ^ (other * both);
        let entry = |slot: usize| (lane(prefixes, slot), lane(swapped, slot));
        let in_order = (0..L::SLOTS).map(entry).is_sorted();
        assert_eq!(is_image::<L>(swapped), in_order, "{first} of {naive:?}");
    }
}

macro_rules! real_layouts {
    ($($heads:ident, $words:ident: $layout:ty;)*) => {$(
        #[test]
        fn $heads() {
            heads_agree::<$layout>();
            tokens_agree::<$layout>();
        }

        proptest! {
            #[test]
            fn $words((p, q) in (naive::<$layout>(), naive::<$layout>())) {
                operations_agree::<$layout>(&p, &neighbours::<$layout>(&[&p]), &TOKENS);
                let [quiet_p, quiet_q] = [&p, &q].map(|it| it.with_mark(None).with_token(None));
                for (p, q) in [(&p, &q), (&quiet_p, &quiet_q)] {
                    let fingerprints = neighbours::<$layout>(&[p, q]);
                    pair_agrees::<$layout>(p, q, &fingerprints);
                    writes_agree::<$layout>(p, q, &fingerprints);
                }
                disorder_is_refused::<$layout>(&p);
            }
        }
    )*};
}

real_layouts! {
    heads_of_8x6_agree, words_of_8x6_agree: S8x6;
    heads_of_9x6_agree, words_of_9x6_agree: S9x6;
    heads_of_10x5_agree, words_of_10x5_agree: S10x5;
    heads_of_9x5_agree, words_of_9x5_agree: S9x5;
    heads_of_11x5_agree, words_of_11x5_agree: S11x5;
    heads_of_12x4_agree, words_of_12x4_agree: S12x4;
    heads_of_13x4_agree, words_of_13x4_agree: S13x4;
    heads_of_14x4_agree, words_of_14x4_agree: S14x4;
    heads_of_17x3_agree, words_of_17x3_agree: S17x3;
    heads_of_19x3_agree, words_of_19x3_agree: S19x3;
    heads_of_7x7_agree, words_of_7x7_agree: S7x7;
}

#[test]
fn an_empty_word_is_all_zero() {
    assert_eq!(Contents::<S8x6>::EMPTY.pack(), 0);
    assert_eq!(Contents::<S8x6>::from_bits(0), Some(Contents::EMPTY));
    assert_eq!(Contents::<S8x6>::EMPTY.occupied(), 0);
}

#[test]
fn debug_shows_what_a_word_holds() {
    let word = Naive {
        marked: Some((Mark::Shadow, 300)),
        rest: vec![5, 700],
        token: Some(9),
    };
    let contents = Contents::<S8x6>::unpack(word.word::<S8x6>());
    assert_eq!(contents.shown(), [300, 700, 5, 0, 0, 9]);
    assert_eq!(
        format!("{contents:?}"),
        "Word { slots: [300, 700, 5, 0, 0, 9], mark: Some(Shadow), reserved: true }"
    );
    let contents = contents.without_reservation().without_marked();
    assert_eq!(contents.shown(), [700, 5, 0, 0, 0, 0]);
}

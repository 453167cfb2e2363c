//! Semi-sorted words against a plain list of what they hold: exhaustively for small layouts, by
//! random words for larger ones.

mod naive;

use super::*;
use crate::table::{
    entry::{Entry, Fingerprint},
    layout::{S7x7, S8x6, S9x5, S12x4, S17x3},
    word::{Bits, Bucket, Minus},
};
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
    Contents::<L>::is_image(Bits(bits))
}

const MARKED: [Mark; 5] = [
    Mark::Outline,
    Mark::Shadow,
    Mark::Trailing,
    Mark::Delivered,
    Mark::Killed,
];

/// That `contents` are those of `expected`, and that their word says so.
#[track_caller]
fn same<L: SemiSorted>(contents: Contents<L>, expected: &Naive) {
    assert_eq!(contents.pack(), expected.word::<L>(), "{expected:?}");
    assert_eq!(Contents::from_bits(contents.pack()), Some(contents));
    assert!(contents.is_sound(), "{expected:?}");
}

/// All operations that are allowed on the word, against their plain meaning.
fn operations_agree<L: SemiSorted>(naive: &Naive, fingerprints: &[u64], tokens: &[u64]) {
    let word = naive.word::<L>();
    let contents = Contents::<L>::from_bits(word).expect("a word");
    same(contents, naive);

    assert_eq!(contents.mark(), naive.marked.map(|(mark, _)| mark));
    assert_eq!(contents.is_unmarked(), naive.marked.is_none());
    assert_eq!(contents.is_reserved(), naive.token.is_some());
    assert!(
        contents
            .residents(Fingerprint::NONE)
            .eq(naive.rest.iter().copied().map(Entry::new))
    );
    assert_eq!(contents.occupied() as usize, naive.slots_used());
    same(contents.without_reservation(), &naive.with_token(None));
    for &fingerprint in fingerprints {
        let copies = naive.rest.iter().filter(|&&it| it == fingerprint).count();
        assert_eq!(
            contents.holds(Entry::new(fingerprint)),
            copies > 0,
            "{naive:?}"
        );
        assert_eq!(contents.count(Entry::new(fingerprint)), copies, "{naive:?}");
        let mark = naive.marked.filter(|&(_, marked)| marked == fingerprint);
        let mark = mark.map(|(mark, _)| mark);
        assert_eq!(
            contents.mark_of(Fingerprint::new(fingerprint)),
            mark,
            "{naive:?}"
        );
        for kind in MARKED {
            let expected = mark == Some(kind);
            assert_eq!(
                contents.is_marked(kind, Entry::new(fingerprint)),
                expected,
                "{naive:?}"
            );
        }
    }
    if let Some((_, marked)) = naive.marked {
        assert_eq!(contents.marked_entry(), Entry::new(marked));
        same(contents.without_marked(), &naive.with_mark(None));
        same(contents.unmarked(), &naive.with_mark(None).plus(marked));
        for kind in MARKED {
            same(
                contents.remarked(kind),
                &naive.with_mark(Some((kind, marked))),
            );
            for &fingerprint in fingerprints {
                let instead = contents.marked_instead(Entry::new(fingerprint), kind);
                same(instead, &naive.with_mark(Some((kind, fingerprint))));
            }
        }
    } else {
        same(contents.unmarked(), naive);
    }

    let mut image = naive.with_token(None).with_mark(None);
    if let Some((Mark::Outline | Mark::Shadow | Mark::Delivered, fingerprint)) = naive.marked {
        image = image.plus(fingerprint);
    }
    let at_rest = Contents::<L>::image(Bits(word));
    same(Contents::<L>::unpack(at_rest.0), &image);
    assert!(is_image::<L>(at_rest.0));
    let is_quiet = naive.marked.is_none() && naive.token.is_none();
    assert_eq!(is_image::<L>(word), is_quiet, "{naive:?}");

    if naive.token.is_some() {
        return;
    }
    // From here on what may be asked of a word without a reservation only.
    let vacant = naive.slots_used() < L::SLOTS;
    assert_eq!(contents.has_vacancy(), vacant, "{naive:?}");
    for &token in tokens {
        let reserved = contents.with_reservation(token);
        assert_eq!(reserved.is_some(), vacant, "{naive:?}");
        if let Some(reserved) = reserved {
            same(reserved, &naive.with_token(Some(token)));
        }
    }
    for &fingerprint in fingerprints {
        let more = if vacant {
            naive.plus(fingerprint)
        } else {
            naive.clone()
        };
        same(contents.plus(Entry::new(fingerprint)), &more);
        let less = naive.minus(fingerprint);
        same(
            contents.minus(Entry::new(fingerprint)),
            less.as_ref().unwrap_or(naive),
        );
        for kind in MARKED {
            let marked = Some((kind, fingerprint));
            let unmarked = naive.marked.is_none();
            let expected = less.as_ref().filter(|_| unmarked);
            let with_mark = contents.with_mark(Entry::new(fingerprint), kind);
            assert_eq!(with_mark.is_some(), expected.is_some(), "{naive:?}");
            if let (Some(with_mark), Some(less)) = (with_mark, expected) {
                same(with_mark, &less.with_mark(marked));
            }
            let brought = contents.plus_marked(Entry::new(fingerprint), kind);
            assert_eq!(brought.is_some(), unmarked && vacant, "{naive:?}");
            if let Some(brought) = brought {
                same(brought, &naive.with_mark(marked));
            }
        }
    }
}

/// What the first attempt of a lookup asks, and where an insert goes.
fn pair_agrees<L: SemiSorted>(p: &Naive, q: &Naive, fingerprints: &[u64]) {
    let words = [p, q].map(Naive::word::<L>);
    let quiet = [p, q].map(|it| it.marked.is_none() && it.token.is_none());
    for &fingerprint in fingerprints {
        let expected = p.holds(fingerprint) || q.holds(fingerprint);
        assert_eq!(
            either_holds::<L>(words[0], words[1], Fingerprint::new(fingerprint)),
            (quiet == [true; 2]).then_some(expected),
            "{fingerprint} in {p:?} and {q:?}"
        );
    }
    if p.token.is_some() || q.token.is_some() {
        return;
    }
    let [of_p, of_q] = words.map(|word| Contents::<L>::from_bits(word).expect("a word"));
    // A full word is the fuller one in any case; between others the mark may decide.
    let alike = p.marked.is_some() == q.marked.is_some();
    if alike || [p, q].iter().any(|it| it.slots_used() == L::SLOTS) {
        let more = p.slots_used() > q.slots_used();
        assert_eq!(of_p.is_fuller_than(of_q), more, "{p:?} and {q:?}");
    }
}

/// What an insert and a remove make of two words.
fn writes_agree<L: SemiSorted>(p: &Naive, q: &Naive, fingerprints: &[u64]) {
    let words = [p, q].map(|it| Bits(it.word::<L>()));
    let quiet = [p, q].map(|it| it.marked.is_none() && it.token.is_none()) == [true; 2];
    let [p, q] = [p, q].map(|it| it.with_token(None));
    let vacant = [&p, &q].map(|it| it.slots_used() < L::SLOTS);
    for &fingerprint in fingerprints {
        let plus = Contents::<L>::plus_in_emptier(words[0], words[1], Entry::new(fingerprint));
        assert_eq!(plus.is_some(), vacant != [false; 2], "{p:?} and {q:?}");
        if let Some((in_q, Bits(new))) = plus {
            let into = if in_q { &q } else { &p };
            assert!(vacant[usize::from(in_q)], "{p:?} and {q:?}");
            assert_eq!(new, into.plus(fingerprint).word::<L>(), "{p:?} and {q:?}");
            // Where one is marked, either may count as the fuller one.
            let alike = p.marked.is_some() == q.marked.is_some();
            let more = p.slots_used() > q.slots_used();
            assert!(!alike || in_q == more, "{p:?} and {q:?}");
        }

        let less = p.minus(fingerprint).map(|it| (true, it));
        let less = less.or_else(|| Some((false, q.minus(fingerprint)?)));
        let less = less.map(|(in_p, it)| (in_p, Bits(it.word::<L>())));
        match Contents::<L>::minus_in_first(words[0], words[1], Entry::new(fingerprint)) {
            Minus::Taken { in_p, new } => assert_eq!(Some((in_p, new)), less),
            Minus::Nothing => assert_eq!(less, None, "{fingerprint} in {p:?} and {q:?}"),
            Minus::Marked => assert!(!quiet, "{p:?} and {q:?}"),
        }
    }
}

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

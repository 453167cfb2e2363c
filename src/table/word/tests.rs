//! Words hold the same however they are written: packed ones and semi-sorted ones go through the
//! same operations.

use super::{
    packed::Packed,
    semi::{Contents, SemiSorted, semi_sorted_words},
    *,
};
use crate::table::{
    entry::{Entry, Fingerprint},
    layout::{Lanes, PackedLayout},
    time::Timeless,
};
use proptest::prelude::*;
use std::collections::HashSet;

/// Semi-sorted words, and packed ones that store the same number of slots with whole fingerprints.
macro_rules! both {
    ($($name:ident: $raw:literal raw bits x $slots:literal, $prefixes:literal prefixes, $sets:literal sets, $bits:literal bits;)*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        struct $name;

        semi_sorted_words!($name: $raw raw bits x $slots, $prefixes prefixes, $sets sets);

        impl PackedLayout for $name {
            const LEVELS: &'static [Lanes] = &[Lanes::new($bits, $slots, $bits)];
            const PHASE_BITS: u32 = 0;
            type Time = Timeless;
            type Counted = ();
            type Kind = crate::memory::Fixed;
        }
    )*};
}

both! {
    Tiny: 2 raw bits x 2, 2 prefixes, 3 sets, 3 bits;
    Small: 2 raw bits x 3, 2 prefixes, 4 sets, 3 bits;
    Two: 17 raw bits x 2, 14 prefixes, 105 sets, 21 bits;
    Three: 16 raw bits x 3, 14 prefixes, 560 sets, 20 bits;
    Four: 11 raw bits x 4, 15 prefixes, 3060 sets, 15 bits;
    Five: 8 raw bits x 5, 15 prefixes, 11_628 sets, 12 bits;
    Six: 6 raw bits x 6, 13 prefixes, 18_564 sets, 10 bits;
}

/// What may become of a word.
#[derive(Clone, Copy, Debug)]
enum Change {
    Plus(u64),
    Minus(u64),
    WithMark(u64, Mark),
    PlusMarked(u64, Mark),
    MarkedInstead(u64, Mark),
    Remarked(Mark),
    Unmarked,
    WithoutMarked,
    WithReservation(u64),
    WithoutReservation,
    Image,
}

use Change::{
    Image, MarkedInstead, Minus, Plus, PlusMarked, Remarked, Unmarked, WithMark, WithReservation,
    WithoutMarked, WithoutReservation,
};

impl Change {
    /// The word with this change; `None` if it cannot be made.
    fn of<W: Phases>(self, word: W) -> Option<W> {
        let for_writers = word.without_reservation();
        let is_marked = !word.is_unmarked();
        match self {
            Plus(it) => Some(for_writers.plus(Entry::new(it))),
            Minus(it) => Some(for_writers.minus(Entry::new(it))),
            WithMark(it, mark) => for_writers.with_mark(Entry::new(it), mark),
            PlusMarked(it, mark) => for_writers.plus_marked(Entry::new(it), mark),
            MarkedInstead(it, mark) => is_marked.then(|| word.marked_instead(Entry::new(it), mark)),
            Remarked(mark) => is_marked.then(|| word.remarked(mark)),
            Unmarked => Some(word.unmarked()),
            WithoutMarked => is_marked.then(|| word.without_marked()),
            WithReservation(token) => for_writers.with_reservation(token),
            WithoutReservation => Some(for_writers),
            Image => Some(W::unpack(W::image(word.pack()))),
        }
    }
}

const MARKS: [Mark; 5] = [
    Mark::Outline,
    Mark::Shadow,
    Mark::Trailing,
    Mark::Delivered,
    Mark::Killed,
];

/// All that a word says, except for its token, because a short slot keeps only a part of it.
fn said<W: Phases>(word: W, fingerprints: &[u64]) -> String {
    let for_writers = word.without_reservation();
    let mut residents: Vec<Entry> = for_writers.residents(Fingerprint::NONE).collect();
    residents.sort_unstable();
    let held: Vec<_> = fingerprints
        .iter()
        .map(|&it| {
            let marked = MARKS.map(|mark| word.is_marked(mark, Entry::new(it)));
            let counted = (
                for_writers.holds(Entry::new(it)),
                for_writers.count(Entry::new(it)),
            );
            (counted, word.mark_of(Fingerprint::new(it)), marked)
        })
        .collect();
    let marked = word
        .mark()
        .map(|mark| (mark, word.marked_entry(Fingerprint::NONE)));
    let room = (
        word.slots(),
        for_writers.has_vacancy(),
        for_writers.occupied(),
    );
    let is_image = W::is_image(word.pack());
    let phase = (word.level(), word.phase(), word.is_frozen());
    let control = (word.is_reserved(), word.is_unmarked(), is_image);
    format!("{:?}", (residents, held, marked, room, control, phase))
}

/// One word, written in both ways.
type Both<L> = (Packed<L>, Contents<L>);

#[track_caller]
fn same<L: SemiSorted + PackedLayout>((packed, semi): Both<L>, fingerprints: &[u64]) {
    let (one, other) = (said(packed, fingerprints), said(semi, fingerprints));
    assert_eq!(one, other, "{packed:?} and {semi:?}");
    assert_eq!(Packed::unpack(packed.pack()), packed);
    assert_eq!(Contents::unpack(semi.pack()), semi);
}

/// What is asked of two words.
#[track_caller]
fn pair_is_same<L: SemiSorted + PackedLayout>(p: Both<L>, q: Both<L>, number: u64) {
    let asked = |settled, found| (settled, settled && found);
    let bits = |word: Packed<L>| Bits(word.pack());
    let (settled, found) =
        Packed::<L>::match_settled(bits(p.0), bits(q.0), Fingerprint::new(number), Hint::FIXED);
    let of_packed = asked(settled, found);
    let bits = |word: Contents<L>| Bits(word.pack());
    let (settled, found) =
        Contents::<L>::match_settled(bits(p.1), bits(q.1), Fingerprint::new(number), Hint::FIXED);
    assert_eq!(
        asked(settled, found),
        of_packed,
        "{number} in {p:?} and {q:?}"
    );

    let unmarked = Packed::both_unmarked(p.0, q.0);
    assert_eq!(
        Contents::both_unmarked(p.1, q.1),
        unmarked,
        "{p:?} and {q:?}"
    );
    assert!(Contents::<L>::are_at_hint(bits(p.1), bits(q.1), Hint::FIXED) && p.1.is_in_phase(q.1));
    let full = |word: &Both<L>| !word.0.without_reservation().has_vacancy();
    if full(&p) || full(&q) {
        let fuller =
            p.0.without_reservation()
                .is_fuller_than(q.0.without_reservation());
        let of_semi =
            p.1.without_reservation()
                .is_fuller_than(q.1.without_reservation());
        assert_eq!(of_semi, fuller, "{p:?} and {q:?}");
    }
}

/// The word with the change, in both ways, if it can be made.
#[track_caller]
fn changed<L: SemiSorted + PackedLayout>(word: Both<L>, change: Change) -> Option<Both<L>> {
    let (packed, semi) = (change.of(word.0), change.of(word.1));
    assert_eq!(packed.is_some(), semi.is_some(), "{change:?} of {word:?}");
    packed.zip(semi)
}

fn empty<L: SemiSorted + PackedLayout>() -> Both<L> {
    (Packed::EMPTY, Contents::EMPTY)
}

/// Every word that any changes lead to.
fn all_words<L: SemiSorted + PackedLayout>(fingerprints: &[u64]) -> Vec<Both<L>> {
    let of_each = |&it: &u64| {
        let marks = move |of: fn(u64, Mark) -> Change| MARKS.map(|mark| of(it, mark));
        let marked = [WithMark, PlusMarked, MarkedInstead].map(marks);
        [Plus(it), Minus(it)].into_iter().chain(marked.concat())
    };
    let of_all = [Unmarked, WithoutMarked, WithoutReservation, Image];
    let changes: Vec<Change> = fingerprints
        .iter()
        .flat_map(of_each)
        .chain(MARKS.map(Remarked))
        .chain(of_all)
        .chain([0, 5].map(WithReservation))
        .collect();
    let (mut all, mut seen) = (vec![empty()], HashSet::new());
    let mut next = 0;
    while let Some(&word) = all.get(next) {
        next += 1;
        for more in changes.iter().filter_map(|&it| changed::<L>(word, it)) {
            if seen.insert((more.0.pack(), more.1.pack())) {
                all.push(more);
            }
        }
    }
    all
}

/// How many semi-sorted words there are: each state has one.
fn all_words_hold_the_same<L: SemiSorted + PackedLayout>() -> usize {
    let fingerprints: Vec<u64> = (1..L::PREFIXES << L::RAW_BITS).collect();
    let all = all_words::<L>(&fingerprints);
    for &word in &all {
        same(word, &fingerprints);
    }
    let semi: HashSet<u64> = all.iter().map(|(_, semi)| semi.pack()).collect();
    semi.len()
}

#[test]
fn all_words_of_a_tiny_layout_hold_the_same() {
    // Up to S, S - 1 and S - 2 of 7 fingerprints; five marks of each; and two tokens.
    let states = |quiet: usize, one_less: usize, two_less: usize| {
        quiet + 35 * one_less + 2 * (one_less + 35 * two_less)
    };
    assert_eq!(all_words_hold_the_same::<Tiny>(), states(36, 8, 1));
    assert_eq!(all_words_hold_the_same::<Small>(), states(120, 36, 8));
}

#[test]
fn all_pairs_of_words_of_a_tiny_layout_match_the_same() {
    let all = all_words::<Tiny>(&[1, 2, 5, 6]);
    for &p in &all {
        for &q in &all {
            (1..=7).for_each(|it| pair_is_same(p, q, it));
        }
    }
}

/// Five fingerprints, and some differ in few bits: the same ones occur again and again.
fn fingerprints<L: SemiSorted>() -> impl Strategy<Value = [u64; 5]> {
    let largest = (L::PREFIXES << L::RAW_BITS) - 1;
    (1..=largest, 1..=largest, 0..L::RAW_BITS).prop_map(move |(one, other, bit)| {
        let near = (one ^ 1 << bit).max(1);
        [one, near, other, 1, largest]
    })
}

/// A change, with one of the five.
fn change(of: [u64; 5]) -> impl Strategy<Value = Change> {
    let it = || prop::sample::select(of.to_vec());
    let mark = || prop::sample::select(MARKS.to_vec());
    prop_oneof![
        4 => it().prop_map(Plus),
        2 => it().prop_map(Minus),
        1 => (it(), mark()).prop_map(|(it, mark)| WithMark(it, mark)),
        1 => (it(), mark()).prop_map(|(it, mark)| PlusMarked(it, mark)),
        1 => (it(), mark()).prop_map(|(it, mark)| MarkedInstead(it, mark)),
        1 => mark().prop_map(Remarked),
        1 => Just(Unmarked),
        1 => Just(WithoutMarked),
        1 => (0..512_u64).prop_map(WithReservation),
        1 => Just(WithoutReservation),
        1 => Just(Image),
    ]
}

/// Five fingerprints, and a row of changes with them.
fn row<L: SemiSorted>() -> impl Strategy<Value = ([u64; 5], Vec<Change>)> {
    let with = |all| (Just(all), prop::collection::vec(change(all), 1..60));
    fingerprints::<L>().prop_flat_map(with)
}

fn row_holds_the_same<L: SemiSorted + PackedLayout>(row: &[Change], fingerprints: &[u64]) {
    let mut word = empty::<L>();
    for &change in row {
        let before = word;
        word = changed(word, change).unwrap_or(word);
        same(word, fingerprints);
        for &fingerprint in fingerprints {
            pair_is_same(before, word, fingerprint);
        }
    }
}

macro_rules! rows {
    ($($name:ident: $layout:ty;)*) => {
        proptest! {$(
            #[test]
            fn $name((all, row) in row::<$layout>()) {
                row_holds_the_same::<$layout>(&row, &all);
            }
        )*}
    };
}

rows! {
    words_of_two_slots_hold_the_same: Two;
    words_of_three_slots_hold_the_same: Three;
    words_of_four_slots_hold_the_same: Four;
    words_of_five_slots_hold_the_same: Five;
    words_of_six_slots_hold_the_same: Six;
}

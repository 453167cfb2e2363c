//! Answers of `insert_unique` while a mover is stopped half way.

use crate::{
    error::InsertError,
    raw::{
        RawFilter,
        tests::{growing, grown, marked, put, word_at},
    },
    sync::loads,
    table::{
        Levels,
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{F10x6, Growing, Layout, Word},
        word::{Bucket, Mark},
    },
};

const EMPTY: Word<F10x6> = Word::<F10x6>::EMPTY;

/// A filter of two buckets, in which all pairs are the same, and a class.
fn filter_and_class() -> (RawFilter<F10x6>, Class) {
    let raw = RawFilter::new(2, Levels::FIXED).expect("a few bytes");
    (raw, Class::of_resident(Fingerprint::new(700), 0, 2))
}

/// Full of other items, but for what it holds already.
fn full_but_for(first: Word<F10x6>) -> Word<F10x6> {
    (1..6).map(Entry::new).fold(first, Bucket::plus)
}

/// A reservation beside these items.
fn reserved(items: &[u64]) -> Word<F10x6> {
    let entries = items.iter().copied().map(Entry::new);
    let word = entries.fold(EMPTY, Bucket::plus);
    word.with_reservation(77).expect("six slots")
}

fn is_reserved(raw: &RawFilter<F10x6>, bucket: usize) -> bool {
    let loaded = raw.table.load_for_update(Fingerprint::new(1), bucket);
    loaded.is_reserved()
}

/// The answer where a move brings the class from `from` to `to` and fills both words, with this mark on
/// what it brings.
fn answer_beside(mark: Mark, to: usize, from: usize, copies: usize) -> Result<bool, InsertError> {
    let (raw, class) = filter_and_class();
    for (bucket, mark) in [(to, mark), (from, Mark::Trailing)] {
        put(&raw, bucket, full_but_for(marked::<F10x6>(&class, mark)));
    }
    assert_eq!(raw.count(class), copies);
    raw.insert_unique(class)
}

/// The copy that the mover brings fills the home: there is no room for another,
/// but none is wanted either. Answering Full of a present item was a fault. If a remove has taken the
/// copy, nothing is there, and no room.
#[test]
fn an_item_is_found_or_refused_where_a_move_of_it_fills_its_home() {
    for (to, from) in [(0, 1), (1, 0)] {
        let present = answer_beside(Mark::Shadow, to, from, 1);
        assert_eq!(present, Ok(false), "{from} to {to}");
        let absent = answer_beside(Mark::Killed, to, from, 0);
        assert_eq!(absent, Err(InsertError::Contended), "{from} to {to}");
    }
}

/// 64 buckets, and a class whose home is its lower bucket.
fn wide() -> (RawFilter<F10x6>, Class) {
    let raw = RawFilter::new(64, Levels::FIXED).expect("a few bytes");
    let class = (100..)
        .map(|fingerprint| Class::of_resident(Fingerprint::new(fingerprint), 0, 64))
        .find(|class| class.home::<F10x6>() == (class.p, class.q));
    (raw, class.expect("every second one"))
}

fn home_is_either_bucket_for_half<L: Layout>(fingerprint: impl Fn(u64) -> u64) {
    let mut lower = 0;
    for bucket in 0..64 {
        for number in 1..=100 {
            let class = Class::of_resident(Fingerprint::new(fingerprint(number)), bucket, 64);
            let (home, other) = class.home::<L>();
            assert_eq!((home.min(other), home.max(other)), (class.p, class.q));
            lower += u32::from(home == class.p);
        }
    }
    assert!((3_000..3_400).contains(&lower), "{lower} of 6400");
}

#[test]
fn the_home_is_either_bucket_for_half_of_all_classes() {
    home_is_either_bucket_for_half::<F10x6>(|number| number);
    // The shortest fingerprints that there are at the last level.
    home_is_either_bucket_for_half::<Growing>(|number| number << Growing::MAX_LEVEL);
}

/// The home is better than nothing, but the emptier word is better, unless the home has a reservation. A
/// reservation is removed wherever it is, because its thread may be stopped for ever.
#[test]
fn an_absent_item_is_added_to_its_home_or_to_an_emptier_word() {
    let one = EMPTY.plus(Entry::new(700));
    for (home, away, goes_home) in [
        (EMPTY, EMPTY, true),
        (one, EMPTY, false),
        (reserved(&[]), EMPTY, true),
        (EMPTY, reserved(&[]), true),
        (reserved(&[700, 701]), EMPTY, true),
    ] {
        let context = format!("{home:?} and {away:?}");
        let (raw, class) = wide();
        put(&raw, class.p, home);
        put(&raw, class.q, away);
        let (into, other) = [(class.q, class.p), (class.p, class.q)][usize::from(goes_home)];
        let words = || [into, other].map(|bucket| word_at(&raw, bucket));
        let [before, beside] = words();
        let (answer, loads) = loads::during(|| raw.insert_unique(class));
        assert_eq!(answer, Ok(true), "{context}");
        let after = [before.plus(class.untagged()), beside];
        assert_eq!(words(), after, "{context}");
        let left = [into, other].map(|bucket| is_reserved(&raw, bucket));
        assert_eq!(left, [false; 2], "{context}");
        // It looks at the words many times first, so that the owner of a reservation may end.
        let waits = home.is_reserved() || away.is_reserved();
        let many = (20..200).contains(&loads);
        assert_eq!(many, waits, "{loads} loads: {context}");
        assert_eq!(raw.insert_unique(class), Ok(false), "{context}");
        assert_eq!((raw.count(class), raw.len.copies()), (1, 1), "{context}");
    }
}

#[test]
fn room_is_made_where_both_words_are_full() {
    let (raw, class) = wide();
    let others = (class.fingerprint.bits() + 1..).map(Entry::new).take(6);
    let full = others.fold(EMPTY, Bucket::plus);
    put(&raw, class.p, full);
    put(&raw, class.q, full);
    assert_eq!(raw.insert_unique(class), Ok(true));
    assert_eq!((raw.count(class), raw.len.copies()), (1, 1));
    assert_eq!(raw.stats().relocations, 1);
}

/// For an item that is there no room is made.
#[test]
fn a_present_item_moves_nothing_where_both_words_are_full() {
    for in_home in [true, false] {
        let (raw, class) = wide();
        let (with, without) = if in_home {
            (class.p, class.q)
        } else {
            (class.q, class.p)
        };
        put(&raw, with, full_but_for(EMPTY.plus(class.untagged())));
        put(&raw, without, full_but_for(EMPTY.plus(Entry::new(700))));
        assert_eq!(raw.insert_unique(class), Ok(false), "{in_home}");
        assert_eq!(raw.stats().relocations, 0, "{in_home}");
        assert_eq!(raw.count(class), 1, "{in_home}");
    }
}

/// As `insert` does: a filter that gets all its items from `insert_unique` must complete its levels.
#[test]
fn each_item_added_splits_some_words() {
    let raw = growing(8, 1);
    let level = raw.table.level();
    raw.table.begin_level(level).expect("a few bytes");
    let class = Class::of_resident(Fingerprint::new(grown(700)), 0, 8);
    assert_eq!(raw.insert_unique(class), Ok(true));
    assert_eq!(raw.table.doublings(), 1);
    assert_eq!(raw.count(class), 1);
}

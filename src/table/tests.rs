//! A word is exchanged whole or not at all, and reservations yield to writers.

use super::*;
use crate::{
    sync::loads,
    table::{
        entry::{Entry, Fingerprint},
        layout::F10x6,
        word::{Bucket, Mark},
    },
};
use std::thread;

fn table(buckets: usize) -> Table<F10x6> {
    Table::new(buckets, Levels::FIXED).expect("a few bytes")
}

const EMPTY: Word<F10x6> = Word::<F10x6>::EMPTY;

fn word_at(table: &Table<F10x6>, bucket: usize) -> Word<F10x6> {
    table.load(Step::ReadP, Fingerprint::new(7), bucket)
}

/// Puts `word` into `bucket`, whatever was there.
fn put(table: &Table<F10x6>, bucket: usize, word: Word<F10x6>) {
    assert!(table.update(Step::Claim, Fingerprint::new(7), bucket, |_| Some(word)));
}

#[test]
fn a_new_table_is_empty() {
    let table = table(6);
    assert_eq!((table.buckets(), table.bytes()), (6, 48));
    for bucket in 0..6 {
        assert_eq!(word_at(&table, bucket), EMPTY);
    }
}

#[test]
fn a_table_beyond_the_address_space_is_refused() {
    assert!(Table::<F10x6>::new(usize::MAX / 8 - 1, Levels::FIXED).is_none());
    assert!(Table::<F10x6>::new(usize::MAX - 1, Levels::FIXED).is_none());
}

#[test]
fn replace_succeeds_only_on_the_loaded_word() {
    let table = table(2);
    let loaded = table.load_for_update(Fingerprint::new(7), 1);
    let [first, stale] = [7, 8].map(|it| loaded.word().plus(Entry::new(it)));
    assert!(loaded.replace(Step::Claim, first) && !loaded.replace(Step::Claim, stale));
    assert_eq!(word_at(&table, 1), EMPTY.plus(Entry::new(7)));
    assert_eq!(word_at(&table, 0), EMPTY, "the other bucket");
}

#[test]
fn a_writer_drops_a_reservation_and_its_owner_notices() {
    let table = table(2);
    let owner = table.load_for_update(Fingerprint::new(7), 0);
    let reserved = owner.word().with_reservation(500).expect("six slots");
    assert!(owner.replace(Step::Reserve, reserved));
    let owner = owner.replaced_by(reserved);

    let writer = table.load_for_update(Fingerprint::new(7), 0);
    // Writers compute with a word that is free of it.
    assert!(writer.is_reserved() && !writer.word().is_reserved());
    assert!(writer.replace(Step::Claim, writer.word().plus(Entry::new(7))));
    let owners = || owner.replace(Step::Confirm, EMPTY.plus(Entry::new(9)));
    assert!(!owners(), "it was taken away");
    assert_eq!(word_at(&table, 0), EMPTY.plus(Entry::new(7)));
    put(&table, 0, EMPTY);
    assert!(!owners(), "nor is it back with what was there before");
}

#[test]
fn update_leaves_the_word_when_change_gives_up() {
    let table = table(2);
    let word = EMPTY
        .plus_marked(Entry::new(7), Mark::Shadow)
        .expect("six slots");
    put(&table, 0, word);
    assert!(!table.update(Step::Erase, Fingerprint::new(7), 0, |seen| {
        assert_eq!(seen, word);
        None
    }));
    assert_eq!(word_at(&table, 0), word);
}

#[test]
fn clear_empties_every_bucket() {
    let mut table = table(4);
    put(&table, 0, EMPTY.plus(Entry::new(7)));
    put(&table, 2, Word::<F10x6>::unpack(u64::MAX));
    table.clear();
    for bucket in 0..4 {
        assert_eq!(word_at(&table, bucket), EMPTY);
    }
}

#[test]
fn loads_of_this_thread_are_counted() {
    let table = table(2);
    let ((), loads) = loads::during(|| {
        table.load(Step::ReadP, Fingerprint::new(7), 0);
        table.load(Step::ReadQ, Fingerprint::new(7), 1);
        thread::scope(|scope| {
            scope.spawn(|| table.load(Step::ReadP, Fingerprint::new(7), 0));
        });
    });
    assert_eq!(loads, 2);
}

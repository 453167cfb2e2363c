//! Answers of `insert_unique` while a mover is stopped half way.

use crate::{
    cuckoo::Cuckoo,
    error::InsertError,
    fault::Event,
    hash::Class,
    layout::F10x6,
    token,
    word::{Mark, Word},
};
use std::sync::PoisonError;

/// A filter of two buckets, in which all pairs are the same, and a class.
fn filter_and_class() -> (Cuckoo<F10x6>, Class) {
    let cuckoo = Cuckoo::new(2, 0).expect("a few bytes");
    (cuckoo, Class::of_resident(700, 0, 2))
}

fn put(cuckoo: &Cuckoo<F10x6>, bucket: usize, word: Word<F10x6>) {
    assert!(cuckoo.table.update(Event::Claim, 1, bucket, |_| Some(word)));
}

/// Full of other items, but for slot 0.
fn full_but_for(first: Word<F10x6>) -> Word<F10x6> {
    (1..6).fold(first, |word, slot| word.with(slot, slot as u64))
}

/// The copy that the mover brings fills the home: there is no room for another,
/// but none is wanted either. Answering Full of a present item was a fault.
#[test]
fn a_present_item_is_found_where_a_move_of_it_fills_its_home() {
    let _turn = token::WHOLE_POOL
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for (to, from) in [(0, 1), (1, 0)] {
        let (cuckoo, class) = filter_and_class();
        let copy = Word::EMPTY.with(0, class.fingerprint);
        put(&cuckoo, to, full_but_for(copy.with_mark(0, Mark::Shadow)));
        put(
            &cuckoo,
            from,
            full_but_for(copy.with_mark(0, Mark::Trailing)),
        );
        assert_eq!(cuckoo.count(class), 1);
        assert_eq!(cuckoo.insert_unique(class), Ok(false), "{from} to {to}");
    }
}

/// The same with a copy that a remove has taken: nothing is there, and no room.
#[test]
fn an_absent_item_is_refused_where_a_move_of_it_fills_its_home() {
    let _turn = token::WHOLE_POOL
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for (to, from) in [(0, 1), (1, 0)] {
        let (cuckoo, class) = filter_and_class();
        let copy = Word::EMPTY.with(0, class.fingerprint);
        put(&cuckoo, to, full_but_for(copy.with_mark(0, Mark::Killed)));
        put(
            &cuckoo,
            from,
            full_but_for(copy.with_mark(0, Mark::Trailing)),
        );
        assert_eq!(cuckoo.count(class), 0);
        assert_eq!(
            cuckoo.insert_unique(class),
            Err(InsertError::Full),
            "{from} to {to}"
        );
    }
}

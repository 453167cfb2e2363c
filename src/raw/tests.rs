//! The protocol, word by word: what the tests of this folder and of other files have in common.

mod lookups;
mod marks;
mod writes;

use super::{
    lookup::ATTEMPTS,
    moves::{Fill, Left},
    *,
};
use crate::{
    error::InsertError,
    step::Step,
    sync::loads,
    table::{
        Levels,
        entry::{Entry, Fingerprint},
        layout::{F10x6, F30x2, Growing, S8x6, S9x5, S12x4, S17x3, Word},
        word::{Bucket, Mark, Phases},
    },
};
use std::{
    iter,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

pub(crate) fn put<L: Layout>(raw: &RawFilter<L>, bucket: usize, word: Word<L>) {
    assert!(
        raw.table
            .update(Step::Claim, Fingerprint::new(1), bucket, |_| Some(word))
    );
}

pub(crate) fn word_at<L: Layout>(raw: &RawFilter<L>, bucket: usize) -> Word<L> {
    raw.table
        .load_for_update(Fingerprint::new(1), bucket)
        .word()
}

/// The levels of a growable filter for tests: 13 bits × 4 slots, and after one doubling 12 × 4.
pub(crate) const GROWN: Levels = Levels { first: 27, more: 2 };

/// The bits of its fingerprint with these lower bits. The highest one is set in all of them.
pub(crate) const fn grown(lower: u64) -> u64 {
    lower << GROWN.first | 1 << 39
}

/// A filter that can double `more` times.
pub(crate) fn growing(buckets: usize, more: u32) -> RawFilter<Growing> {
    RawFilter::new(buckets, Levels { more, ..GROWN }).expect("a few bytes")
}

/// A filter of 8 buckets and a class whose pair is two buckets of it.
pub(crate) fn filter_and_class<L: Layout>() -> (RawFilter<L>, Class) {
    let raw = RawFilter::new(8, Levels::FIXED).expect("a few bytes");
    (raw, Class::of_resident(Fingerprint::new(1), 0, 8))
}

/// The class under a mark, and nothing else.
pub(crate) fn marked<L: Layout>(class: &Class, mark: Mark) -> Word<L> {
    let marked = Word::<L>::EMPTY.plus_marked(class.untagged(), mark);
    marked.expect("slots")
}

/// A class whose lower bucket is `p`.
pub(crate) fn from_lower(p: usize) -> Class {
    Class::of_pair(Fingerprint::new(1), p, p + 1)
}

/// Doubles an empty filter this number of times.
pub(crate) fn double<L: Layout>(raw: &RawFilter<L>, times: u32) {
    for _ in 0..times {
        raw.table.begin_level(raw.table.level()).expect("memory");
        raw.table.finish_level();
    }
}

/// A filter of one layout whose fill leaves hardly any slot.
fn nearly_full<L: Layout>(buckets: usize, slots_left: usize) -> (RawFilter<L>, Vec<Class>) {
    let raw = RawFilter::new(buckets, Levels::FIXED).expect("a few bytes");
    let mut inside = Vec::new();
    let mut hash = 0_u64;
    while inside.len() < buckets * L::slots_at(0) - slots_left {
        hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let class = raw.class(hash);
        if raw.insert(class).is_ok() {
            inside.push(class);
        }
    }
    (raw, inside)
}

/// A pair of words with these marks on the class in P and Q, `None` for a word
/// that does not hold it at all.
fn marked_pair<L: Layout>(p: Option<Mark>, q: Option<Mark>) -> (RawFilter<L>, Class) {
    let (raw, class) = filter_and_class::<L>();
    for (bucket, mark) in [(class.p, p), (class.q, q)] {
        if let Some(mark) = mark {
            put(&raw, bucket, marked::<L>(&class, mark));
        }
    }
    (raw, class)
}

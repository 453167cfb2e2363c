//! A filter whose words can be read, and restored to an earlier state, between any two steps.
//!
//! Its operations are the library's own. `watch/` shows them step by step: it stops an operation
//! before a step. Later it repeats the operation up to that step, with the words that each step met
//! before.

use super::{Filter, Item, Small};
use crate::{
    error::InsertError,
    fault::is_touched,
    raw::{RawFilter, version},
    sync::{AtomicU64, Ordering},
    table::{
        Levels,
        layout::{F10x6, F12x5, F15x4, F20x3, F30x2, Growing, Layout},
        word::{Bits, Bucket, Phases},
    },
};
use std::rc::Rc;

/// The mutable state of a filter, except for its counters of relocations and retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    words: Vec<u64>,
    stripes: Vec<u64>,
    len: usize,
}

/// The parts of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordShown {
    /// The contents of each slot, or 0 if it is empty. The marked slot comes first, and a token
    /// last.
    pub slots: Vec<u64>,
    /// The letter of the mark on slot 0.
    pub mark: Option<char>,
    /// True if the last slot contains a token.
    pub reserved: bool,
    /// The number of low bits of a fingerprint that the word does not store. In a filter that can
    /// grow, `None` if no split has created the word.
    pub level: Option<u32>,
    /// True while the word is being split.
    pub frozen: bool,
}

/// A filter in any layout, with any even number of buckets.
pub trait Watched: std::fmt::Debug {
    /// The item with this hash.
    fn item(&self, hash: u64) -> Item;

    /// Puts a copy of the item into the lowest empty slot of one of its buckets. False if the
    /// bucket is full.
    fn put(&self, item: Item, bucket: usize) -> bool;

    /// `CuckooFilter::contains`.
    fn contains(&self, item: Item) -> bool;

    /// `CuckooFilter::count`.
    fn count(&self, item: Item) -> usize;

    /// `CuckooFilter::insert`.
    ///
    /// # Errors
    ///
    /// As `CuckooFilter::insert`.
    fn insert(&self, item: Item) -> Result<(), InsertError>;

    /// `CuckooFilter::remove`.
    fn remove(&self, item: Item) -> bool;

    /// Relocates a copy of `item`. False if the move was given up.
    fn relocate(&self, item: Item, from: usize) -> bool;

    /// Begins the next level, unless it has begun. False if there is none.
    fn begin_level(&self) -> bool;

    /// Brings a word from the filter's level to the next one, which was begun.
    fn split(&self, plane: u64, bucket: usize);

    /// `CuckooFilter::finish_growth`.
    fn finish_growth(&self);

    /// Levels that are complete.
    fn doublings(&self) -> u32;

    /// The level at which the filter began.
    fn first_level(&self) -> u32;

    /// Buckets of a plane.
    fn buckets(&self) -> usize;

    /// The number of items.
    fn items(&self) -> usize {
        self.memory().len
    }

    /// All words, plane by plane.
    fn words(&self) -> Vec<WordShown>;

    /// Version and holds of each stripe.
    fn versions(&self) -> Vec<(u64, u64)> {
        let stripes = self.memory().stripes.into_iter();
        stripes.map(version::parts).collect()
    }

    /// The number of the word that this thread has loaded last for an update.
    fn touched(&self) -> Option<usize>;

    /// The filter as it is now.
    fn memory(&self) -> Memory;

    /// Makes the filter what it was.
    fn restore(&self, memory: &Memory);
}

impl dyn Watched {
    /// An empty filter, or `None` if the layout does not exist. The name of a layout is the bits of
    /// a fingerprint and the slots. `more` is the number of possible doublings of the last two.
    pub fn new(layout: &str, buckets: usize, more: u32) -> Option<Rc<Self>> {
        fn of<L: Layout>(buckets: usize, levels: Levels) -> Option<Rc<dyn Watched>> {
            Some(Rc::new(Filter(RawFilter::<L>::new(buckets, levels)?)))
        }
        let fixed = Levels::FIXED;
        match layout {
            "8x2" => of::<Small<2, 0>>(buckets, fixed),
            "8x4" => of::<Small<4, 0>>(buckets, fixed),
            "10x6" => of::<F10x6>(buckets, fixed),
            "12x5" => of::<F12x5>(buckets, fixed),
            "15x4" => of::<F15x4>(buckets, fixed),
            "20x3" => of::<F20x3>(buckets, fixed),
            "30x2" => of::<F30x2>(buckets, fixed),
            "8x2 growing" => of::<Small<2, 6>>(buckets, Levels { first: 0, more }),
            "18x3 growing" => of::<Growing>(buckets, Levels { first: 9, more }),
            _ => None,
        }
    }
}

// Relaxed, wherever words and stripes are looked at or put back: one thread does all of it.
impl<L: Layout> Watched for Filter<L> {
    fn item(&self, hash: u64) -> Item {
        Item(self.0.class(hash))
    }

    fn put(&self, item: Item, bucket: usize) -> bool {
        self.put(item, bucket, |word| word.plus(item.entry()))
    }

    fn contains(&self, item: Item) -> bool {
        self.contains(item)
    }

    fn count(&self, item: Item) -> usize {
        self.count(item)
    }

    fn insert(&self, item: Item) -> Result<(), InsertError> {
        self.try_insert(item)
    }

    fn remove(&self, item: Item) -> bool {
        self.remove(item)
    }

    fn relocate(&self, item: Item, from: usize) -> bool {
        self.relocate_entry(item.hop(item.entry(), from))
    }

    fn begin_level(&self) -> bool {
        let level = self.0.table.level();
        level < self.0.table.levels().last() && self.0.table.begin_level(level).is_some()
    }

    fn split(&self, plane: u64, bucket: usize) {
        self.0.table.split(plane, bucket, self.0.table.level());
    }

    fn finish_growth(&self) {
        self.0.table.finish_level();
    }

    fn doublings(&self) -> u32 {
        self.0.table.doublings()
    }

    fn first_level(&self) -> u32 {
        self.0.table.first_level()
    }

    fn buckets(&self) -> usize {
        self.0.table.buckets()
    }

    fn words(&self) -> Vec<WordShown> {
        let words = self.0.table.all_words().enumerate();
        words
            .map(|(index, atomic)| {
                // Relaxed: the page runs one thread at a time.
                let bits = atomic.load(Ordering::Relaxed);
                let made = index < self.0.table.buckets() || bits != 0;
                shown(self.0.table.decode(Bits(bits)), made)
            })
            .collect()
    }

    fn touched(&self) -> Option<usize> {
        self.0.table.all_words().position(is_touched)
    }

    fn memory(&self) -> Memory {
        // Relaxed: as in `words`.
        let load = |atomic: &AtomicU64| atomic.load(Ordering::Relaxed);
        Memory {
            words: self.0.table.all_words().map(load).collect(),
            stripes: self.0.versions.atomics().iter().map(load).collect(),
            len: self.0.len.slots(),
        }
    }

    fn restore(&self, memory: &Memory) {
        let words = self.0.table.all_words().zip(&memory.words);
        for (atomic, &bits) in words.chain(self.0.versions.atomics().iter().zip(&memory.stripes)) {
            // Relaxed: as in `words`.
            atomic.store(bits, Ordering::Relaxed);
        }
        self.0.len.subtract(self.0.len.slots() as u64);
        self.0.len.add(memory.len as u64);
    }
}

fn shown(word: impl Phases, made: bool) -> WordShown {
    WordShown {
        slots: word.shown(),
        mark: word
            .mark()
            .map(|mark| char::from(format!("{mark:?}").as_bytes()[0])),
        reserved: word.is_reserved(),
        level: made.then(|| word.level()),
        frozen: word.is_frozen(),
    }
}

//! A filter whose words can be read, and restored to an earlier state, between any two steps.
//!
//! Its operations are the library's own. `watch/` shows them step by step: it stops an operation
//! before a step. Later it repeats the operation up to that step, with the words that each step met
//! before.

use super::{Item, Small, hop};
use crate::{
    error::InsertError,
    fault::is_touched,
    raw::{RawFilter, moves::Fill, version},
    step::Step,
    sync::Ordering,
    table::{
        Levels,
        layout::{F10x6, F12x5, F15x4, F20x3, F30x2, Growing, Layout},
        word::{Bits, Bucket, Phases},
    },
};

/// A filter in any layout, with any even number of buckets.
#[derive(Debug)]
pub struct Watched(Box<dyn Operations>);

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

impl Watched {
    /// An empty filter, or `None` if the layout does not exist. The name of a layout is the bits of
    /// a fingerprint and the slots. `more` is the number of possible doublings of the last two.
    pub fn new(layout: &str, buckets: usize, more: u32) -> Option<Self> {
        fn boxed<L: Layout>(buckets: usize, levels: Levels) -> Option<Box<dyn Operations>> {
            Some(Box::new(RawFilter::<L>::new(buckets, levels)?))
        }
        let fixed = Levels::FIXED;
        let operations = match layout {
            "8x2" => boxed::<Small<2, 0>>(buckets, fixed),
            "8x4" => boxed::<Small<4, 0>>(buckets, fixed),
            "10x6" => boxed::<F10x6>(buckets, fixed),
            "12x5" => boxed::<F12x5>(buckets, fixed),
            "15x4" => boxed::<F15x4>(buckets, fixed),
            "20x3" => boxed::<F20x3>(buckets, fixed),
            "30x2" => boxed::<F30x2>(buckets, fixed),
            "8x2 growing" => boxed::<Small<2, 6>>(buckets, Levels { first: 0, more }),
            "18x3 growing" => boxed::<Growing>(buckets, Levels { first: 9, more }),
            _ => None,
        };
        operations.map(Self)
    }

    /// The item with this hash.
    pub fn item(&self, hash: u64) -> Item {
        self.0.item(hash)
    }

    /// Puts a copy of the item into the lowest empty slot of one of its buckets. False if the
    /// bucket is full.
    pub fn put(&self, item: Item, bucket: usize) -> bool {
        self.0.put(item, bucket)
    }

    /// `CuckooFilter::contains`.
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(item)
    }

    /// `CuckooFilter::count`.
    pub fn count(&self, item: Item) -> usize {
        self.0.count(item)
    }

    /// `CuckooFilter::insert`.
    ///
    /// # Errors
    ///
    /// As `CuckooFilter::insert`.
    pub fn insert(&self, item: Item) -> Result<(), InsertError> {
        self.0.insert(item)
    }

    /// `CuckooFilter::remove`.
    pub fn remove(&self, item: Item) -> bool {
        self.0.remove(item)
    }

    /// Relocates a copy of `item`. False if the move was given up.
    pub fn relocate(&self, item: Item, from: usize) -> bool {
        self.0.relocate(item, from)
    }

    /// Begins the next level, unless it has begun. False if there is none.
    pub fn begin_level(&self) -> bool {
        self.0.begin_level()
    }

    /// Brings a word from the filter's level to the next one, which was begun.
    pub fn split(&self, plane: u64, bucket: usize) {
        self.0.split(plane, bucket);
    }

    /// `CuckooFilter::finish_growth`.
    pub fn finish_growth(&self) {
        self.0.finish_growth();
    }

    /// Levels that are complete.
    pub fn doublings(&self) -> u32 {
        self.0.doublings()
    }

    /// The level at which the filter began.
    pub fn first_level(&self) -> u32 {
        self.0.first_level()
    }

    /// Buckets of a plane.
    pub fn buckets(&self) -> usize {
        self.0.buckets()
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.memory().len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All words, plane by plane.
    pub fn words(&self) -> Vec<WordShown> {
        self.0.words()
    }

    /// Version and holds of each stripe.
    pub fn versions(&self) -> Vec<(u64, u64)> {
        let memory = self.memory();
        memory.stripes.into_iter().map(version::parts).collect()
    }

    /// The number of the word that this thread has loaded last for an update.
    pub fn touched(&self) -> Option<usize> {
        self.0.touched()
    }

    /// The filter as it is now.
    pub fn memory(&self) -> Memory {
        self.0.memory()
    }

    /// Makes the filter what it was.
    pub fn restore(&self, memory: &Memory) {
        self.0.restore(memory);
    }
}

/// What [`Watched`] does, in one layout.
trait Operations {
    fn item(&self, hash: u64) -> Item;
    fn put(&self, item: Item, bucket: usize) -> bool;
    fn contains(&self, item: Item) -> bool;
    fn count(&self, item: Item) -> usize;
    fn insert(&self, item: Item) -> Result<(), InsertError>;
    fn remove(&self, item: Item) -> bool;
    fn relocate(&self, item: Item, from: usize) -> bool;
    fn begin_level(&self) -> bool;
    fn split(&self, plane: u64, bucket: usize);
    fn finish_growth(&self);
    fn doublings(&self) -> u32;
    fn first_level(&self) -> u32;
    fn buckets(&self) -> usize;
    fn words(&self) -> Vec<WordShown>;
    fn touched(&self) -> Option<usize>;
    fn memory(&self) -> Memory;
    fn restore(&self, memory: &Memory);
}

impl std::fmt::Debug for dyn Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.words()).finish()
    }
}

// Relaxed, wherever words and stripes are looked at or put back: one thread does all of it.
impl<L: Layout> Operations for RawFilter<L> {
    fn item(&self, hash: u64) -> Item {
        Item(self.class(hash))
    }

    fn put(&self, item: Item, bucket: usize) -> bool {
        let put = self
            .table
            .update(Step::Claim, item.0.fingerprint, bucket, |word| {
                word.has_vacancy().then(|| word.plus(item.entry()))
            });
        if put {
            self.len.add(1);
        }
        put
    }

    fn contains(&self, item: Item) -> bool {
        self.contains(item.0)
    }

    fn count(&self, item: Item) -> usize {
        self.count(item.0)
    }

    fn insert(&self, item: Item) -> Result<(), InsertError> {
        self.insert(item.0)
    }

    fn remove(&self, item: Item) -> bool {
        self.remove(item.0)
    }

    fn relocate(&self, item: Item, from: usize) -> bool {
        self.move_resident(hop(item, from), false, Fill::Hole)
            .is_some()
    }

    fn begin_level(&self) -> bool {
        let level = self.table.level();
        level < self.table.levels().last() && self.table.begin_level(level).is_some()
    }

    fn split(&self, plane: u64, bucket: usize) {
        self.table.split(plane, bucket, self.table.level());
    }

    fn finish_growth(&self) {
        self.table.finish_level();
    }

    fn doublings(&self) -> u32 {
        self.table.doublings()
    }

    fn first_level(&self) -> u32 {
        self.table.first_level()
    }

    fn buckets(&self) -> usize {
        self.table.buckets()
    }

    fn words(&self) -> Vec<WordShown> {
        let words = self.table.all_words().enumerate();
        words
            .map(|(index, atomic)| {
                // Relaxed: the page runs one thread at a time.
                let bits = atomic.load(Ordering::Relaxed);
                let made = index < self.table.buckets() || bits != 0;
                shown(self.table.decode(Bits(bits)), made)
            })
            .collect()
    }

    fn touched(&self) -> Option<usize> {
        self.table.all_words().position(is_touched)
    }

    fn memory(&self) -> Memory {
        // Relaxed: as in `words`.
        let load = |atomic: &crate::sync::AtomicU64| atomic.load(Ordering::Relaxed);
        Memory {
            words: self.table.all_words().map(load).collect(),
            stripes: self.versions.atomics().iter().map(load).collect(),
            len: self.len.slots(),
        }
    }

    fn restore(&self, memory: &Memory) {
        let words = self.table.all_words().zip(&memory.words);
        for (atomic, &bits) in words.chain(self.versions.atomics().iter().zip(&memory.stripes)) {
            // Relaxed: as in `words`.
            atomic.store(bits, Ordering::Relaxed);
        }
        self.len.subtract(self.len.slots() as u64);
        self.len.add(memory.len as u64);
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

//! Growth while in use: planes, a level for each word, and the split.
//!
//! A plane is one word for each bucket. At level g, a fingerprint lives in the
//! plane whose number is its g low bits; its pair is the same two buckets in
//! every plane. To split a word from level k to k + 1 moves the fingerprints
//! that have bit k set to the same bucket of the plane 2^k further on, slot by
//! slot; no key is needed for it, and two items of one class stay of one class.
//!
//! Each word carries its own level, so words can be split one by one while all
//! threads go on. At every moment exactly one word counts for a fingerprint and
//! a bucket; this changes only when a split is completed. `docs/PROOF.md` has
//! the proof.

mod image;
mod route;
mod split;

use crate::{
    fault,
    step::Step,
    sync::{self, AtomicU64, OnceBlock, Ordering},
    table::layout::Layout,
    table::word::Word,
};
use crossbeam_utils::CachePadded;
pub(crate) use image::Restored;
use std::marker::PhantomData;

/// Words that one insert splits while the filter grows: a line of them.
pub(crate) const CHUNK: usize = if sync::IN_MODEL { 1 } else { 8 };

/// Words over which one insert moves the sweep's mark on, at most: a filter that was
/// restored in the middle of a sweep has many that are split, and its mark at the first.
pub(crate) const STRIDE: usize = 64 * CHUNK;

/// All words of a filter.
pub(crate) struct Planes<L> {
    /// Plane 0.
    first: Stretch,
    growth: Growth,
    layout: PhantomData<L>,
}

/// What only growable filters have: next to nothing in a fixed one.
#[derive(Default)]
struct Growth {
    /// `blocks[k]` holds what level k needs beside those before it; of them `blocks[0]`
    /// stays empty, as plane 0 has its own place. None in a fixed filter.
    blocks: Box<[OnceBlock]>,
    /// All words are at this level or above: [`Word::hint`]. A shortcut for routing.
    hint: AtomicU64,
}

/// The words of successive planes.
pub(crate) struct Stretch {
    pub(crate) words: Box<[AtomicU64]>,
    /// How many words all planes before them have.
    before: usize,
}

/// What a filter needs to go to level k; published when it does.
#[repr(C)]
pub(crate) struct Block {
    /// The planes from 2^(k - 1) to 2^k - 1. At the front, so that a lookup finds them
    /// without an addition.
    pub(crate) stretch: Stretch,
    /// How many words of the planes before them are split for sure: the first ones.
    swept: CachePadded<AtomicU64>,
}

impl Growth {
    fn new<L: Layout>(buckets: usize, levels: u32) -> Self {
        let first = (L::PHASE_BITS != 0).then(|| OnceBlock::new(0));
        let more = (0..levels).map(|level| OnceBlock::new(buckets << level));
        Self {
            blocks: first.into_iter().chain(more).collect(),
            ..Self::default()
        }
    }

    /// The blocks that there are.
    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().skip(1).map_while(OnceBlock::get)
    }
}

impl Block {
    pub(crate) fn new(words: usize) -> Option<Self> {
        Some(Self {
            stretch: Stretch {
                words: sync::zeroed(words)?,
                // As many as they are themselves: they double the filter.
                before: words,
            },
            swept: CachePadded::new(AtomicU64::new(0)),
        })
    }
}

/// Why a filter does not grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has its largest size, or growing would not help.
    Full,
    /// The allocator has no memory for the new planes.
    Memory,
}

impl<L: Layout> Planes<L> {
    /// `buckets` buckets, an even number, that can double `levels` times; `None`
    /// if there is no memory.
    pub(crate) fn new(buckets: usize, levels: u32) -> Option<Self> {
        debug_assert!(buckets >= 2 && buckets.is_multiple_of(2));
        let growth = Growth::new::<L>(buckets, levels);
        Some(Self {
            first: Stretch {
                words: sync::zeroed(buckets)?,
                before: 0,
            },
            growth,
            layout: PhantomData,
        })
    }

    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        self.first.words.len()
    }

    /// Plane 0.
    #[inline(always)]
    pub(crate) fn first(&self) -> &[AtomicU64] {
        &self.first.words
    }

    /// Levels that all words have reached.
    #[inline(always)]
    pub(crate) fn level(&self) -> u32 {
        self.hint().level_of_hint()
    }

    #[inline(always)]
    fn hint(&self) -> Word<L> {
        if L::PHASE_BITS == 0 {
            return Word::EMPTY;
        }
        // Acquire: pairs with the Release of `sweep`.
        let order = fault::order(Step::Hint, Ordering::Acquire);
        Word::from_bits(self.growth.hint.load(order))
    }

    /// The level at which the filter has its largest size.
    pub(crate) fn max_level(&self) -> u32 {
        self.growth.blocks.len().saturating_sub(1) as u32
    }

    /// Words that there are.
    pub(crate) fn words(&self) -> usize {
        self.first.words.len()
            + self
                .growth
                .blocks()
                .map(|block| block.stretch.words.len())
                .sum::<usize>()
    }

    pub(crate) fn bytes(&self) -> usize {
        let of_block = |block: &Block| size_of::<Block>() + size_of_val(&*block.stretch.words);
        size_of_val(&*self.first.words)
            + size_of_val(&*self.growth.blocks)
            + self.growth.blocks().map(of_block).sum::<usize>()
    }

    /// Provides what the level after `level` needs; `None`: no memory.
    pub(crate) fn begin(&self, level: u32) -> Option<&Block> {
        let words = self.buckets() << level;
        self.growth.blocks[level as usize + 1].publish(words)
    }

    /// All words that there are, with plane and bucket; of a plane that is to
    /// come those that have been made.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn words_made(&self) -> impl Iterator<Item = (u64, usize, Word<L>)> {
        let planes = (self.words() / self.buckets()) as u64;
        (0..planes)
            .flat_map(|plane| (0..self.buckets()).map(move |bucket| (plane, bucket)))
            .map(|(plane, bucket)| {
                // Acquire: as a reader's load.
                let bits = self.atomic(plane, bucket).load(Ordering::Acquire);
                (plane, bucket, Word::from_bits(bits))
            })
            .filter(|&(plane, _, word)| plane == 0 || word != Word::EMPTY)
    }

    /// True if the level after `level` was begun.
    pub(crate) fn is_growing(&self, level: u32) -> bool {
        self.block(level).is_some()
    }

    /// The block for the level after `level`, if it was begun.
    #[inline(always)]
    fn block(&self, level: u32) -> Option<&Block> {
        self.growth.blocks.get(level as usize + 1)?.get()
    }
}

/// The plane of a fingerprint at a level.
#[inline(always)]
pub(crate) const fn low_bits(fingerprint: u64, level: u32) -> u64 {
    fingerprint & ((1 << level) - 1)
}

#[cfg(test)]
mod tests;

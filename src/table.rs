//! The words of a filter, and the only owner of their atomics.
//!
//! A *plane* is one word for each bucket. A fixed filter has one plane. In a filter that has
//! doubled g times, a fingerprint lives in the plane whose number is its g low bits. Its pair has
//! the same two buckets in every plane. So a bucket is addressed by its index and a fingerprint,
//! and at every moment exactly one word *counts* for the two (`docs/PROOF.md`, section 9).
//!
//! Each word carries its own level, so words can be split one by one while threads use the filter.
//! The level is the number of low bits of a fingerprint that the word does not store. A growable
//! filter begins at its *first* level k, with fingerprints whose k lowest bits are 0.

pub(crate) mod class;
pub(crate) mod entry;
pub(crate) mod layout;
mod level;
pub(crate) mod loaded;
mod planes;
pub(crate) mod route;
pub(crate) mod scan;
mod segment;
mod split;
pub(crate) mod time;
pub(crate) mod word;

use crate::{
    fault,
    step::Step,
    sync::{self, AtomicU64, Ordering},
};
use class::Fingerprints;
use entry::Fingerprint;
use layout::{Layout, Word};
pub(crate) use level::{Refusal, SPLITS_PER_INSERT};
use planes::Planes;
use segment::{Segment, Segments};
use word::{Bucket, Phases};

/// The levels that the words of a filter go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Levels {
    /// The level at which words begin; 0 in a fixed filter.
    pub(crate) first: u32,
    /// The number of times that the filter can double.
    pub(crate) more: u32,
}

impl Levels {
    /// The levels of a fixed filter.
    pub(crate) const FIXED: Self = Self { first: 0, more: 0 };

    /// The last level.
    pub(crate) fn last(self) -> u32 {
        self.first + self.more
    }
}

/// All words of a filter.
pub(crate) struct Table<L> {
    /// Plane 0.
    first: Planes,
    growth: Growth<L>,
}

/// The state that only growable filters have; nearly empty in a fixed filter.
struct Growth<L> {
    /// Number k holds the words that level k adds to the earlier ones.
    segments: Segments,
    /// A level that all words have reached, as [`Phases::hint`]. It speeds up routing.
    hint: AtomicU64,
    /// The level at which the filter begins.
    first_level: u32,
    /// The number of times that the filter can double.
    more: u32,
    fingerprints: Fingerprints<L>,
}

impl<L: Layout> Growth<L> {
    fn new(buckets: usize, levels: Levels) -> Self {
        let Levels { first, more } = levels;
        Self {
            segments: Segments::new(buckets, more),
            hint: AtomicU64::new(Word::<L>::hint(first, first).pack()),
            first_level: first,
            more,
            fingerprints: Fingerprints::new(first),
        }
    }
}

impl<L: Layout> Table<L> {
    /// A table of `buckets` empty buckets, an even number, that go through `levels`; `None` if there
    /// is no memory for them.
    pub(crate) fn new(buckets: usize, levels: Levels) -> Option<Self> {
        debug_assert!(buckets >= 2 && buckets.is_multiple_of(2));
        let mut first = Planes::first(sync::zeroed(buckets)?);
        first.empty::<L>(levels.first);
        Some(Self::with_first(first, levels))
    }

    fn with_first(first: Planes, levels: Levels) -> Self {
        Self {
            growth: Growth::new(first.words.len(), levels),
            first,
        }
    }

    /// The number of buckets of a plane, which is the whole table unless it has grown.
    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        self.first.words.len()
    }

    /// The number of allocated words.
    pub(crate) fn words(&self) -> usize {
        let segments = self.growth.segments.published();
        self.buckets() + segments.map(|it| it.planes.words.len()).sum::<usize>()
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.first.words) + self.growth.segments.bytes()
    }

    /// Empties the filter and gives back the memory of its growth.
    pub(crate) fn clear(&mut self) {
        let levels = self.levels();
        for word in &mut self.first.words {
            *word = AtomicU64::new(0);
        }
        self.first.empty::<L>(levels.first);
        self.growth = Growth::new(self.buckets(), levels);
    }

    /// The fingerprints of items in this filter.
    #[inline(always)]
    pub(crate) fn fingerprints(&self) -> Fingerprints<L> {
        if L::GROWS {
            self.growth.fingerprints
        } else {
            const { Fingerprints::new(0) }
        }
    }

    // Levels

    /// The levels that the words go through.
    pub(crate) fn levels(&self) -> Levels {
        Levels {
            first: self.first_level(),
            more: self.growth.more,
        }
    }

    /// The level at which the filter begins.
    #[inline(always)]
    pub(crate) fn first_level(&self) -> u32 {
        if L::GROWS { self.growth.first_level } else { 0 }
    }

    /// The level that all words have reached, according to the hint.
    #[inline(always)]
    pub(crate) fn level(&self) -> u32 {
        self.hint().level()
    }

    /// The number of times that the filter has doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.level() - self.first_level()
    }

    #[inline(always)]
    pub(crate) fn hint(&self) -> Word<L> {
        if !L::GROWS {
            return Word::<L>::EMPTY;
        }
        // Acquire: pairs with the Release of `complete_level`.
        let order = fault::order(Step::Hint, Ordering::Acquire);
        Word::<L>::unpack(self.growth.hint.load(order))
    }

    /// The number of planes of a filter at a level.
    pub(crate) fn planes_at(&self, level: u32) -> usize {
        1 << (level - self.first_level())
    }

    /// The number of words of a filter at a level.
    pub(crate) fn words_at(&self, level: u32) -> usize {
        self.buckets() * self.planes_at(level)
    }

    /// The plane of a fingerprint in a filter at a level.
    #[inline(always)]
    pub(crate) fn plane_at(&self, level: u32, fingerprint: Fingerprint) -> u64 {
        fingerprint.low_bits(level) >> self.first_level()
    }

    /// A fingerprint that belongs to a plane; only its low bits matter.
    pub(crate) fn one_of_plane(&self, plane: u64) -> Fingerprint {
        Fingerprint::new(plane << self.first_level())
    }

    /// True if the level after `level` has begun.
    pub(crate) fn is_growing(&self, level: u32) -> bool {
        self.segment(level).is_some()
    }

    /// The segment that takes the words of `level` to the next level, if it exists.
    #[inline(always)]
    fn segment(&self, level: u32) -> Option<&Segment> {
        let number = (level - self.first_level()) as usize + 1;
        self.growth.segments.get(number)
    }

    /// Allocates what the level after `level` needs; `None` if there is no memory.
    pub(crate) fn begin_level(&self, level: u32) -> Option<&Segment> {
        let number = (level - self.first_level()) as usize + 1;
        self.growth.segments.publish(number, self.words_at(level))
    }

    /// All words of the table, with plane and bucket. A plane that is being created has only its words
    /// so far.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn words_made(&self) -> impl Iterator<Item = (u64, usize, Word<L>)> {
        let planes = (self.words() / self.buckets()) as u64;
        (0..planes)
            .flat_map(|plane| (0..self.buckets()).map(move |bucket| (plane, bucket)))
            .map(|(plane, bucket)| {
                // Acquire: as a reader's load.
                let bits = self.atomic(plane, bucket).load(Ordering::Acquire);
                (plane, bucket, Word::<L>::unpack(bits))
            })
            .filter(|&(plane, _, word)| plane == 0 || word != Word::<L>::EMPTY)
    }

    /// The words, the hint and the split pointers.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        use crate::coherence::Field;
        let words = |words: &[AtomicU64]| Field {
            holds_items: true,
            ..Field::of("table.words", words)
        };
        let mut fields = vec![
            words(&self.first.words),
            Field::of("table.hint", &self.growth.hint),
        ];
        for segment in self.growth.segments.published() {
            fields.push(words(&segment.planes.words));
            fields.push(Field::of("table.split_pointer", &*segment.split_pointer));
        }
        fields
    }

    /// The atomics of all allocated words, plane by plane.
    #[cfg(all(guira_faults, not(any(guira_loom, guira_shuttle))))]
    pub(crate) fn atomics(&self) -> impl Iterator<Item = &AtomicU64> {
        let later = self
            .growth
            .segments
            .published()
            .flat_map(|it| &*it.planes.words);
        self.first.words.iter().chain(later)
    }
}

#[cfg(test)]
mod growth_tests;
#[cfg(test)]
mod tests;

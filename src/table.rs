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
pub(crate) mod counted;
pub(crate) mod entry;
#[cfg(feature = "shared")]
pub(crate) mod in_words;
pub(crate) mod layout;
mod level;
mod parts;
mod route;
pub(crate) mod scan;
mod segment;
mod shared;
mod split;
pub(crate) mod time;
pub(crate) mod view;
pub(crate) mod word;

use crate::{
    fault::{self, faulty},
    memory::{Extra, Kind, Storage},
    step::Step,
    sync::{AtomicU64, Ordering},
};
use class::Fingerprints;
use entry::Fingerprint;
use layout::{BaseOf, Layout, Word};
pub(crate) use level::Refusal;
use parts::Parts;
pub(crate) use parts::SPLITS_PER_INSERT;
use segment::{Segment, Segments};
use shared::Progress;
use word::{Base, Bits, Bucket, Hint};

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
pub(crate) struct Table<L: Layout> {
    /// Plane 0 of a fixed filter.
    first: IfFixed<L>,
    /// In a box, because there may be very many fixed filters, and they have the size of the others.
    growth: IfGrowing<L>,
}

/// The words of a plane.
type WordsOf<L> = <<L as Layout>::Storage as Storage>::Words;

/// The state that only fixed filters have.
type IfFixed<L> = <<L as Layout>::Kind as Kind>::IfFixed<WordsOf<L>>;

/// The state that only filters that can grow have.
type IfGrowing<L> = <<L as Layout>::Kind as Kind>::IfGrowing<Box<Growth<L>>>;

/// The state of a filter that can grow.
struct Growth<L: Layout> {
    /// Number k holds the words that level k adds to the earlier ones, number 0 plane 0.
    segments: Segments<L::Storage>,
    /// The number of buckets of a plane.
    buckets: usize,
    /// A level that all words have reached, as a [`Hint`]. It speeds up routing. In a filter that
    /// processes share, it is the hint of this process.
    hint: AtomicU64,
    /// How far the filter has grown, if processes share it.
    progress: <L::Storage as Storage>::Extra<Progress>,
    fingerprints: Fingerprints<L>,
    /// The level at which the filter begins.
    first_level: u8,
    /// The number of times that the filter can double.
    more: u8,
    /// True if levels begin before the filter runs out of room.
    begins_early: bool,
}

impl<L: Layout> Growth<L> {
    /// The hint of this process rises.
    #[cold]
    fn raise_hint(&self, hint: Hint) {
        // Release: pairs with the Acquire of `hint`. This thread has seen every word as it promises.
        let order = fault::order(Step::RaiseHint, Ordering::AcqRel);
        self.hint.fetch_max(hint.bits(), order);
    }

    fn new(levels: Levels, buckets: usize, segments: Segments<L::Storage>) -> Self {
        let Levels { first, more } = levels;
        Self {
            segments,
            buckets,
            progress: Default::default(),
            hint: AtomicU64::new(Hint::new(first, first).bits()),
            fingerprints: Fingerprints::new(first),
            first_level: first as u8,
            more: more as u8,
            begins_early: false,
        }
    }
}

impl<L: Layout> Table<L> {
    /// A table of `buckets` empty buckets, an even number, that go through `levels`; `None` if there
    /// is no memory for them.
    pub(crate) fn new(buckets: usize, levels: Levels) -> Option<Self> {
        debug_assert!(buckets >= 2 && buckets.is_multiple_of(2));
        Self::with_first(L::Storage::zeroed(buckets)?, levels)
    }

    fn with_first(first: WordsOf<L>, levels: Levels) -> Option<Self> {
        let (first, growth) = if L::Kind::GROWS {
            let (buckets, segments) = (first.len(), Segments::new(first, levels.more)?);
            (None, Some(Growth::new(levels, buckets, segments).into()))
        } else {
            (Some(first), None)
        };
        Some(Self {
            first: Extra::of(first)?,
            growth: Extra::of(growth)?,
        })
    }

    /// The number of buckets of a plane, which is the whole table unless it has grown.
    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        match self.growth() {
            Some(growth) => growth.buckets,
            None => self.first().len(),
        }
    }

    /// The number of allocated words.
    pub(crate) fn words(&self) -> usize {
        if let Some(progress) = self.progress() {
            return self.buckets() << progress.in_use();
        }
        match self.growth() {
            Some(growth) => growth.segments.words(),
            None => self.buckets(),
        }
    }

    /// The number of allocated planes.
    pub(crate) fn planes(&self) -> usize {
        if L::GROWS {
            self.words() / self.buckets()
        } else {
            1
        }
    }

    /// Bytes on the heap, and of the words in use that processes share.
    pub(crate) fn bytes(&self) -> usize {
        let of_growth = |growth: &Growth<L>| size_of_val(growth) + growth.segments.bytes();
        self.words() * size_of::<AtomicU64>() + self.growth().map_or(0, of_growth)
    }

    /// The [`bytes`](Self::bytes) of a filter with planes of `buckets` buckets that can double `more` times,
    /// and has doubled so often.
    pub(crate) fn bytes_for(buckets: usize, more: u32, doublings: u32) -> usize {
        let segments = Segments::<L::Storage>::bytes_for;
        let growth = match L::GROWS {
            true => size_of::<Growth<L>>() + segments(buckets, more, doublings),
            false => 0,
        };
        (buckets << doublings) * size_of::<AtomicU64>() + growth
    }

    /// Empties the filter and gives back the memory of its growth.
    pub(crate) fn clear(&mut self) {
        for word in self.first() {
            // Relaxed: no other thread has the filter.
            word.store(0, Ordering::Relaxed);
        }
        let first_level = self.first_level();
        if let Some(growth) = self.growth.get_mut() {
            growth.segments.shrink();
            growth.hint = AtomicU64::new(Hint::new(first_level, first_level).bits());
        }
    }

    // Levels

    /// The levels that the words go through.
    pub(crate) fn levels(&self) -> Levels {
        let levels = |growth: &Growth<L>| Levels {
            first: u32::from(growth.first_level),
            more: u32::from(growth.more),
        };
        self.growth().map_or(Levels::FIXED, levels)
    }

    /// True if levels begin before the filter runs out of room.
    pub(crate) fn begins_early(&self) -> bool {
        self.growth().is_some_and(|growth| growth.begins_early)
    }

    /// From now on levels begin early.
    pub(crate) fn begin_early(&mut self) {
        if let Some(growth) = self.growth.get_mut() {
            growth.begins_early = true;
        }
    }

    /// The level at which the filter begins.
    #[inline(always)]
    pub(crate) fn first_level(&self) -> u32 {
        self.growth()
            .map_or(0, |growth| u32::from(growth.first_level))
    }

    /// The level that all words have reached, according to the hint.
    #[inline(always)]
    pub(crate) fn level(&self) -> u32 {
        if L::Storage::SHARED && L::GROWS {
            return self.level_of_all();
        }
        self.hint().level()
    }

    /// How far the filter has grown, if processes share it.
    #[inline(always)]
    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.growth()?.progress.get()
    }

    /// The level that all words have reached, according to the hint of all processes. The hint of this
    /// process rises to it.
    #[inline]
    fn level_of_all(&self) -> u32 {
        let Some(growth) = self.growth() else {
            return 0;
        };
        let Some(progress) = growth.progress.get() else {
            return growth.hint().level();
        };
        let level = faulty!(
            self.first_level() + progress.complete() as u32,
            HintNotRefreshed => growth.hint().level()
        );
        let hint = Hint::new(level, self.first_level());
        // Relaxed: the exchange decides.
        if hint.bits() > growth.hint.load(Ordering::Relaxed) {
            growth.raise_hint(hint);
        }
        level
    }

    /// The number of times that the filter has doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.level() - self.first_level()
    }

    #[inline(always)]
    pub(crate) fn hint(&self) -> Hint {
        self.growth().map_or(Hint::FIXED, Growth::hint)
    }

    /// What the words lack of their phases.
    #[inline(always)]
    pub(crate) fn base(&self) -> BaseOf<L> {
        BaseOf::<L>::of_first(self.first_level())
    }

    /// A word of the table.
    #[inline(always)]
    pub(crate) fn decode(&self, bits: Bits) -> Word<L> {
        Word::<L>::unpack(self.base().add_to(bits))
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

    /// True if a level has begun and is not complete.
    #[inline(always)]
    pub(crate) fn is_between_levels(&self) -> bool {
        if L::Storage::SHARED {
            return self.is_growing(self.level());
        }
        let next =
            |growth: &Growth<L>| growth.segments.get(growth.hint().doublings() + 1).is_some();
        self.growth().is_some_and(next)
    }

    /// The segment that takes the words of `level` to the next level, if it exists.
    #[inline(always)]
    fn segment(&self, level: u32) -> Option<&Segment<L::Storage>> {
        let number = (level - self.first_level()) as usize + 1;
        if L::Storage::SHARED && self.progress().is_none_or(|it| it.in_use() < number) {
            return None;
        }
        self.growth()?.segments.get(number)
    }

    /// The words of `level`, and which of them are split, if the next level has begun.
    fn parts(&self, level: u32) -> Option<&Parts<L::Storage>> {
        self.segment(level)?.parts.as_ref()
    }

    /// Allocates what the level after `level` needs; `None` if there is no memory.
    pub(crate) fn begin_level(&self, level: u32) -> Option<&Segment<L::Storage>> {
        let number = (level - self.first_level()) as usize + 1;
        let segments = &self.growth()?.segments;
        if let Some(progress) = self.progress() {
            let has_begun = progress.begin(number);
            return segments.get(number).filter(|_| has_begun);
        }
        segments.publish(number, self.words_at(level))
    }

    /// All words of the table, with plane and bucket. A plane that is being created has only its words
    /// so far.
    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn words_made(&self) -> impl Iterator<Item = (u64, usize, Word<L>)> {
        (0..self.planes() as u64)
            .flat_map(|plane| (0..self.buckets()).map(move |bucket| (plane, bucket)))
            .map(|(plane, bucket)| {
                // Acquire: as a reader's load.
                let bits = self.atomic(plane, bucket).load(Ordering::Acquire);
                (plane, bucket, Bits(bits))
            })
            .filter(|&(plane, _, bits)| plane == 0 || bits.0 != 0)
            .map(|(plane, bucket, bits)| (plane, bucket, self.decode(bits)))
    }

    /// The words, the hint and the split pointers.
    #[cfg(guira_faults)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        use crate::coherence::Field;
        let words = |words: &[AtomicU64]| Field {
            holds_items: true,
            ..Field::of("table.words", words)
        };
        let mut fields = vec![words(self.first())];
        let hint = |growth: &Growth<L>| Field::of("table.hint", &growth.hint);
        fields.extend(self.growth().map(hint));
        let segments = self.growth().map(|growth| growth.segments.published());
        for segment in segments.into_iter().flatten().skip(1) {
            fields.push(words(&segment.planes.words));
            fields.extend(segment.parts.iter().flat_map(Parts::fields));
        }
        fields
    }

    /// All words that are allocated, or in use if processes share them, plane by plane.
    #[cfg(any(feature = "shared", guira_faults))]
    pub(crate) fn all_words(&self) -> impl Iterator<Item = &AtomicU64> {
        let buckets = 0..self.buckets();
        (0..self.planes() as u64).flat_map(move |plane| self.plane(plane).row(buckets.clone()))
    }
}

#[cfg(test)]
mod growth_tests;
#[cfg(test)]
mod tests;

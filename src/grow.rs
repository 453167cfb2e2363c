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
//! a bucket; this changes only when a split is completed. `docs/DESIGN.md` has
//! the proof.

use crate::{
    error::SnapshotError,
    fault::{self, Event, Fault},
    layout::Layout,
    sync::{self, AtomicU64, OnceBlock, Ordering},
    table::Prepared,
    word::Word,
};
use crossbeam_utils::CachePadded;
use std::{hint::select_unpredictable, marker::PhantomData, ops::Range};

/// Words that one insert splits while the filter grows: a line of them.
pub(crate) const CHUNK: usize = if sync::IN_MODEL { 1 } else { 8 };

/// All words of a filter.
pub(crate) struct Planes<L> {
    /// Plane 0.
    first: Box<[AtomicU64]>,
    growth: Growth,
    layout: PhantomData<L>,
}

/// What only growable filters have: next to nothing in a fixed one.
#[derive(Default)]
struct Growth {
    /// `blocks[k]` holds what level k + 1 needs.
    blocks: Box<[OnceBlock]>,
    /// All words are at this level or above: [`Word::hint`]. A shortcut for routing.
    hint: AtomicU64,
}

/// What a filter needs to go from level k to k + 1; published when it does.
pub(crate) struct Block {
    /// The planes from 2^k to 2^(k + 1) - 1.
    words: Box<[AtomicU64]>,
    /// How many words of the planes before them are split for sure: the first ones.
    swept: CachePadded<AtomicU64>,
}

/// The words of one plane.
#[derive(Clone, Copy)]
struct Plane<'a> {
    words: &'a [AtomicU64],
    /// The first word of the plane.
    start: usize,
}

impl<'a> Plane<'a> {
    /// All of `words`.
    #[inline(always)]
    fn of(words: &'a [AtomicU64]) -> Self {
        Self { words, start: 0 }
    }

    #[inline(always)]
    fn atomic(self, bucket: usize) -> &'a AtomicU64 {
        &self.words[self.start + bucket]
    }

    #[inline(always)]
    fn prefetch(self, bucket: usize) {
        sync::prefetch(self.words, self.start + bucket);
    }
}

impl Growth {
    fn new(buckets: usize, levels: u32) -> Self {
        let blocks = (0..levels)
            .map(|level| OnceBlock::new(buckets << level))
            .collect();
        Self {
            blocks,
            ..Self::default()
        }
    }

    /// The blocks that there are.
    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().map_while(OnceBlock::get)
    }
}

impl Block {
    pub(crate) fn new(words: usize) -> Option<Self> {
        Some(Self {
            words: sync::zeroed(words)?,
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
        let growth = Growth::new(buckets, levels);
        Some(Self {
            first: sync::zeroed(buckets)?,
            growth,
            layout: PhantomData,
        })
    }

    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        self.first.len()
    }

    /// Plane 0.
    #[inline(always)]
    pub(crate) fn first(&self) -> &[AtomicU64] {
        &self.first
    }

    /// Levels that all words have reached.
    #[inline(always)]
    pub(crate) fn level(&self) -> u32 {
        self.hint().level_of_hint()
    }

    #[inline(always)]
    fn hint(&self) -> Word<L> {
        // Acquire: pairs with the Release of `sweep`.
        let order = fault::order(Event::Hint, Ordering::Acquire);
        Word::from_bits(self.growth.hint.load(order))
    }

    /// The level at which the filter has its largest size.
    pub(crate) fn max_level(&self) -> u32 {
        self.growth.blocks.len() as u32
    }

    /// Words that there are.
    pub(crate) fn words(&self) -> usize {
        self.first.len()
            + self
                .growth
                .blocks()
                .map(|block| block.words.len())
                .sum::<usize>()
    }

    pub(crate) fn bytes(&self) -> usize {
        let of_block = |block: &Block| size_of::<Block>() + size_of_val(&*block.words);
        size_of_val(&*self.first)
            + size_of_val(&*self.growth.blocks)
            + self.growth.blocks().map(of_block).sum::<usize>()
    }

    // Snapshots

    /// A level that no word is above of, unless growth goes on.
    pub(crate) fn scan_level(&self) -> u32 {
        let level = self.level();
        level + u32::from(self.block(level).is_some())
    }

    /// Loads the words of `buckets` in the first 2^`level` planes as a snapshot
    /// keeps them, into `image`, plane by plane; 0 where there is no word, or
    /// none that counts. False if there are planes beyond.
    ///
    /// A word is loaded after the one that it was split from; if it is in the
    /// image of that one already, it does not count.
    pub(crate) fn scan(&self, buckets: Range<usize>, level: u32, image: &mut [u64]) -> bool {
        let width = buckets.len();
        for plane in 0..1_usize << level {
            let (before, rest) = image.split_at_mut(plane * width);
            let words = self.words_of(plane as u64, buckets.clone());
            // The next chunk of each plane: the processor does not foresee so many rows.
            let next = buckets.end.min(self.buckets() - 1);
            self.plane(plane as u64).prefetch(next);
            for (index, word) in words.iter().enumerate() {
                if plane != 0 && !descends::<L>(before, width, plane, index) {
                    rest[index] = 0;
                    continue;
                }
                // Acquire: pairs with the Release of every exchange, above all with
                // that of the split that made the planes to come.
                let order = fault::order(Event::Scan, Ordering::Acquire);
                let word = Word::<L>::from_bits(word.load(order)).image();
                if word.level() > level {
                    return false;
                }
                rest[index] = word.bits();
            }
        }
        true
    }

    /// An empty filter that has room for the images of the first 2^`level` planes.
    pub(crate) fn for_images(buckets: usize, levels: u32, level: u32) -> Option<Self> {
        let planes = Self::new(buckets, levels)?;
        for block in planes.growth.blocks.iter().take(level as usize) {
            block.publish()?;
        }
        Some(planes)
    }

    /// Stores an image that [`scan`](Self::scan) made of `buckets`. An error is a
    /// word that no scan can have made.
    pub(crate) fn restore(
        &self,
        buckets: Range<usize>,
        image: &[u64],
        restored: &mut Restored,
    ) -> Result<(), SnapshotError> {
        let width = buckets.len();
        for plane in 0..image.len() / width {
            let (before, rest) = image.split_at(plane * width);
            let words = self.words_of(plane as u64, buckets.clone());
            for ((index, bucket), stored) in buckets.clone().enumerate().zip(words) {
                let word = Word::<L>::from_bits(rest[index]);
                if plane == 0 || descends::<L>(before, width, plane, index) {
                    restored.check(plane, bucket, word)?;
                    // Relaxed: nobody else has the filter yet.
                    stored.store(word.bits(), Ordering::Relaxed);
                } else if word != Word::EMPTY {
                    return Err(refused(plane, bucket, word));
                }
            }
        }
        Ok(())
    }

    /// The filter that has not grown, with the image of its only plane.
    pub(crate) fn of_image(
        levels: u32,
        image: Vec<u64>,
        restored: &mut Restored,
    ) -> Result<Self, SnapshotError> {
        let growth = Growth::new(image.len(), levels);
        let stored = |(bucket, bits)| {
            restored.check(0, bucket, Word::<L>::from_bits(bits))?;
            Ok(AtomicU64::new(bits))
        };
        // The standard library collects these in place: the bytes are not copied.
        let first: Result<Vec<_>, SnapshotError> =
            image.into_iter().enumerate().map(stored).collect();
        Ok(Self {
            first: first?.into_boxed_slice(),
            growth,
            layout: PhantomData,
        })
    }

    /// After all images are stored: with the lowest level of their words as hint.
    pub(crate) fn at_level(mut self, level: u32) -> Self {
        self.growth.hint = AtomicU64::new(Word::<L>::hint(level).bits());
        self
    }

    /// Empties the filter and gives back the memory of its growth.
    pub(crate) fn clear(&mut self) {
        for word in &mut self.first {
            *word = AtomicU64::new(0);
        }
        self.growth = Growth::new(self.buckets(), self.max_level());
    }

    // Routing

    /// The word that counts for `fingerprint` in `bucket`, read by `load`. Between
    /// two levels all words are at the level of the hint: a comparison shows it.
    #[inline(always)]
    pub(crate) fn route(
        &self,
        first: &[AtomicU64],
        fingerprint: u64,
        bucket: usize,
        load: impl Fn(&AtomicU64) -> Word<L>,
    ) -> Word<L> {
        if L::PHASE_BITS == 0 {
            return load(&first[bucket]);
        }
        let hint = self.hint();
        let word = load(self.plane_of_hint(first, hint, fingerprint).atomic(bucket));
        if word.is_in_phase(hint) {
            return word;
        }
        self.route_from(hint, fingerprint, bucket, load)
    }

    /// A level is being swept: from plane to plane, with as many loads as there are
    /// levels above the hint, at most.
    #[cold]
    fn route_from(
        &self,
        hint: Word<L>,
        fingerprint: u64,
        bucket: usize,
        load: impl Fn(&AtomicU64) -> Word<L>,
    ) -> Word<L> {
        let mut plane = fingerprint & hint.bits();
        loop {
            let word = load(self.atomic(plane, bucket));
            if low_bits(fingerprint, word.level()) == plane {
                return word;
            }
            plane = next_plane(fingerprint, plane);
        }
    }

    /// [`route`](Self::route) for the words of both buckets, in this order.
    #[inline(always)]
    pub(crate) fn route_pair(
        &self,
        first: &[AtomicU64],
        fingerprint: u64,
        (p, load_p): (usize, impl Fn(&AtomicU64) -> Word<L>),
        (q, load_q): (usize, impl Fn(&AtomicU64) -> Word<L>),
    ) -> (Word<L>, Word<L>) {
        if L::PHASE_BITS == 0 {
            return (load_p(&first[p]), load_q(&first[q]));
        }
        let hint = self.hint();
        let plane = self.plane_of_hint(first, hint, fingerprint);
        let pair = (load_p(plane.atomic(p)), load_q(plane.atomic(q)));
        if Word::both_in_phase(pair.0, pair.1, hint) {
            return pair;
        }
        self.route_both(hint, fingerprint, pair, (p, load_p), (q, load_q))
    }

    /// A level is being swept: what was loaded of both buckets may count all the same.
    #[cold]
    fn route_both(
        &self,
        hint: Word<L>,
        fingerprint: u64,
        loaded: (Word<L>, Word<L>),
        (p, load_p): (usize, impl Fn(&AtomicU64) -> Word<L>),
        (q, load_q): (usize, impl Fn(&AtomicU64) -> Word<L>),
    ) -> (Word<L>, Word<L>) {
        let counts =
            |word: Word<L>| low_bits(fingerprint, word.level()) == fingerprint & hint.bits();
        match (counts(loaded.0), counts(loaded.1)) {
            (true, true) => loaded,
            (true, false) => (loaded.0, self.route_from(hint, fingerprint, q, load_q)),
            // The words of Q come after those of P, as always.
            (false, _) => {
                let p = self.route_from(hint, fingerprint, p, load_p);
                (p, self.route_from(hint, fingerprint, q, load_q))
            }
        }
    }

    /// Brings a word into the cache: while a level is being swept, the one that
    /// counted before it or the one that counts now.
    #[inline(always)]
    pub(crate) fn prefetch(&self, fingerprint: u64, bucket: usize) {
        let plane = match L::PHASE_BITS {
            0 => Plane::of(&self.first),
            _ => self.plane_of_hint(&self.first, self.hint(), fingerprint),
        };
        plane.prefetch(bucket);
    }

    /// The plane that counts for `fingerprint` if its words are at the level of the
    /// hint. Without a branch that depends on the fingerprint: nobody could foresee it.
    #[inline(always)]
    fn plane_of_hint<'a>(
        &'a self,
        first: &'a [AtomicU64],
        hint: Word<L>,
        fingerprint: u64,
    ) -> Plane<'a> {
        if hint == Word::EMPTY {
            return Plane::of(first);
        }
        let plane = fingerprint & hint.bits();
        // Plane 0 is taken for plane 1 up to the last step.
        let level = (plane | 1).ilog2();
        let words = select_unpredictable(plane == 0, first, self.block_of(level));
        let start = (plane & !(1 << level)) as usize * first.len();
        Plane { words, start }
    }

    /// The planes from 2^`level` to 2^(`level` + 1) - 1.
    #[inline(always)]
    fn block_of(&self, level: u32) -> &[AtomicU64] {
        let block = self.growth.blocks[level as usize].get();
        &block
            .expect("a block is published before a word of it is made")
            .words
    }

    /// [`route`](Self::route) for a writer, who completes the split of a frozen
    /// word before it goes on.
    #[inline(always)]
    pub(crate) fn route_for_update<'a>(
        &'a self,
        first: &'a [AtomicU64],
        fingerprint: u64,
        bucket: usize,
    ) -> Prepared<'a, L> {
        if L::PHASE_BITS == 0 {
            return Prepared::load(&first[bucket]);
        }
        let hint = self.hint();
        let plane = self.plane_of_hint(first, hint, fingerprint);
        let prepared = Prepared::load(plane.atomic(bucket));
        if prepared.word.is_in_phase(hint) {
            return prepared;
        }
        self.route_from_for_update(hint, fingerprint, bucket)
    }

    /// [`route_from`](Self::route_from) for a writer.
    #[cold]
    fn route_from_for_update(
        &self,
        hint: Word<L>,
        fingerprint: u64,
        bucket: usize,
    ) -> Prepared<'_, L> {
        let mut plane = fingerprint & hint.bits();
        loop {
            let prepared = Prepared::load(self.atomic(plane, bucket));
            if prepared.word.is_frozen() && !fault::is(Fault::FrozenIgnored) {
                self.complete_split(plane, bucket, prepared);
            } else if low_bits(fingerprint, prepared.word.level()) == plane {
                return prepared;
            } else {
                plane = next_plane(fingerprint, plane);
            }
        }
    }

    /// [`route_for_update`](Self::route_for_update) for the words of both buckets, in
    /// this order.
    #[inline(always)]
    pub(crate) fn route_pair_for_update<'a>(
        &'a self,
        first: &'a [AtomicU64],
        fingerprint: u64,
        one: usize,
        other: usize,
    ) -> (Prepared<'a, L>, Prepared<'a, L>) {
        if L::PHASE_BITS == 0 {
            return (Prepared::load(&first[one]), Prepared::load(&first[other]));
        }
        let hint = self.hint();
        let plane = self.plane_of_hint(first, hint, fingerprint);
        let pair = (
            Prepared::load(plane.atomic(one)),
            Prepared::load(plane.atomic(other)),
        );
        if Word::both_in_phase(pair.0.word, pair.1.word, hint) {
            return pair;
        }
        let one = self.route_from_for_update(hint, fingerprint, one);
        (one, self.route_from_for_update(hint, fingerprint, other))
    }

    #[inline(always)]
    fn atomic(&self, plane: u64, bucket: usize) -> &AtomicU64 {
        self.plane(plane).atomic(bucket)
    }

    /// The words of these buckets in one plane.
    fn words_of(&self, plane: u64, buckets: Range<usize>) -> &[AtomicU64] {
        let Plane { words, start } = self.plane(plane);
        &words[start + buckets.start..start + buckets.end]
    }

    #[inline(always)]
    fn plane(&self, plane: u64) -> Plane<'_> {
        if plane == 0 {
            return Plane::of(&self.first);
        }
        let level = plane.ilog2();
        Plane {
            words: self.block_of(level),
            start: (plane - (1 << level)) as usize * self.buckets(),
        }
    }

    // Splitting

    /// Provides what the level after `level` needs; `None`: no memory.
    pub(crate) fn begin(&self, level: u32) -> Option<&Block> {
        self.growth.blocks[level as usize].publish()
    }

    /// Brings a word from `level` to the next one. Any number of threads may do
    /// this at once, and any of them may stop.
    pub(crate) fn split(&self, plane: u64, bucket: usize, level: u32) {
        loop {
            let prepared = Prepared::<L>::load(self.atomic(plane, bucket));
            if prepared.word.level() > level {
                return;
            }
            if fault::is(Fault::NoFreeze) && !prepared.word.is_frozen() {
                self.complete_split(plane, bucket, prepared);
                sync::yield_in_model();
                continue;
            }
            let frozen = if prepared.word.is_frozen() {
                prepared
            } else {
                let frozen = prepared.word.frozen();
                if !prepared.replace(Event::Freeze, frozen) {
                    continue;
                }
                prepared.now(frozen)
            };
            self.complete_split(plane, bucket, frozen);
        }
    }

    /// A frozen word does not change, so whoever completes its split makes the
    /// same two words of it. An exchange that fails was done by another thread.
    #[cold]
    fn complete_split(&self, plane: u64, bucket: usize, frozen: Prepared<'_, L>) {
        let (stays, goes) = frozen.word.split();
        let new = Prepared::<L>::load(self.atomic(plane | 1 << frozen.word.level(), bucket));
        // A word that has been made is never 0 again: it has a level.
        let copy = || new.is_unmade() && new.replace(Event::Copy, goes);
        if fault::is(Fault::CutFirst) {
            frozen.replace(Event::Cut, stays);
            copy();
        } else {
            copy();
            // From here on the new word counts for what went there.
            frozen.replace(Event::Cut, stays);
        }
    }

    /// Splits the first few of `words` that can be split, begins a level for it
    /// if need be, and is bounded. `worthwhile` says whether the filter is full
    /// enough for another level.
    ///
    /// The words are those that a search at `level` has seen to be full, nearest first:
    /// where the split of a pair leaves it full, that of its neighbours helps. Where
    /// all of them are split the next level might help, so the sweep goes on, twice
    /// as far in each `round` of one insert: it ends the level rather than give up.
    #[cold]
    pub(crate) fn make_room(
        &self,
        round: usize,
        level: u32,
        words: impl Iterator<Item = (u64, usize)> + Clone,
        worthwhile: impl Fn(u32) -> bool,
    ) -> Result<(), Refusal> {
        if self.level() != level {
            // What was full may have been split since.
            return Ok(());
        }
        if self.block(level).is_none() {
            if level == self.max_level() || !worthwhile(level) {
                return Err(Refusal::Full);
            }
            if fault::is(Fault::PublishLate) {
                words.clone().take(1).for_each(|(fingerprint, bucket)| {
                    let prepared = self.route_for_update(&self.first, fingerprint, bucket);
                    prepared.replace(Event::Freeze, prepared.word.frozen());
                });
            }
            self.begin(level).ok_or(Refusal::Memory)?;
        }
        let unsplit = words.filter(|&(fingerprint, bucket)| {
            self.route_for_update(&self.first, fingerprint, bucket)
                .word
                .level()
                == level
        });
        let mut split = 0;
        for (fingerprint, bucket) in unsplit.take(CHUNK) {
            self.split(low_bits(fingerprint, level), bucket, level);
            split += 1;
        }
        if split == 0 {
            // There are at most 64 rounds.
            let chunks = if cfg!(loom) { 1 } else { 1_u64 << round };
            for _ in 0..chunks {
                if self.level() != level {
                    break;
                }
                self.sweep(level, lead());
            }
        }
        Ok(())
    }

    /// All words that there are, with plane and bucket; of a plane that is to
    /// come those that have been made.
    #[cfg(any(loom, guira_faults, guira_shuttle))]
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

    // The sweep

    /// Splits a few words, if the filter is between two levels.
    #[inline(always)]
    pub(crate) fn sweep_some(&self) {
        if L::PHASE_BITS != 0 && self.block(self.level()).is_some() {
            self.sweep(self.level(), lead());
        }
    }

    /// Completes the level that was begun, if any.
    pub(crate) fn sweep_all(&self) {
        while self.block(self.level()).is_some() {
            self.sweep(self.level(), lead());
        }
    }

    /// Words that the sweep has still to come by; 0 between levels.
    pub(crate) fn words_to_split(&self) -> usize {
        let level = self.level();
        self.block(level).map_or(0, |block| {
            // Acquire: as in `sweep`.
            (self.buckets() << level) - block.swept.load(Ordering::Acquire) as usize
        })
    }

    /// True if the level after `level` was begun.
    pub(crate) fn is_growing(&self, level: u32) -> bool {
        self.block(level).is_some()
    }

    /// The block for the level after `level`, if it was begun.
    #[inline(always)]
    fn block(&self, level: u32) -> Option<&Block> {
        self.growth.blocks.get(level as usize)?.get()
    }

    /// Splits a chunk of words, `lead` chunks ahead of the sweep's mark if there
    /// is work, and moves the mark on over all words that are split.
    ///
    /// Nobody owns a chunk: the mark moves on when the words say that they are
    /// split, so a thread that stops in the middle delays nobody.
    #[cold]
    pub(crate) fn sweep(&self, level: u32, lead: usize) {
        let Some(block) = self.block(level) else {
            return;
        };
        let words = self.buckets() << level;
        // Acquire: pairs with the Release of the exchange below.
        let mut swept = block.swept.load(Ordering::Acquire) as usize;
        let ahead = swept + lead * CHUNK;
        let is_split = |(plane, bucket)| self.is_split(plane, bucket, level);
        let start = match self.places(ahead..words).next() {
            Some(place) if !is_split(place) => ahead,
            _ => swept,
        };
        for (plane, bucket) in self.places(start..words.min(start + CHUNK)) {
            self.split(plane, bucket, level);
        }
        let more = self
            .places(swept..words)
            .take_while(|&place| is_split(place));
        swept += more.count();
        if fault::is(Fault::SweepBlindly) {
            swept = words.min(start + CHUNK);
        }
        // AcqRel: whoever reads the mark finds all words before it split.
        block
            .swept
            .fetch_max(swept as u64, fault::order(Event::Sweep, Ordering::AcqRel));
        if swept == words || fault::is(Fault::HintEarly) {
            // Release: pairs with the Acquire of `level`: whoever sees the hint
            // finds every word as it promises.
            let order = fault::order(Event::Complete, Ordering::AcqRel);
            let hint = Word::<L>::hint(level + 1);
            self.growth.hint.fetch_max(hint.bits(), order);
        }
    }

    /// Plane and bucket of these words, in the order of the sweep.
    fn places(&self, words: Range<usize>) -> impl Iterator<Item = (u64, usize)> {
        // Divisions are slow: one for all of them.
        let (mut plane, mut bucket) = (words.start / self.buckets(), words.start % self.buckets());
        words.map(move |_| {
            let place = (plane as u64, bucket);
            bucket += 1;
            if bucket == self.buckets() {
                (plane, bucket) = (plane + 1, 0);
            }
            place
        })
    }

    fn is_split(&self, plane: u64, bucket: usize, level: u32) -> bool {
        // Acquire: pairs with the Release of the Cut, so that whoever reads the
        // sweep's mark after this finds the word split (G1).
        let word = self.atomic(plane, bucket).load(Ordering::Acquire);
        Word::<L>::from_bits(word).level() > level
    }
}

/// What the words of an image amount to.
pub(crate) struct Restored {
    level: u32,
    /// The lowest level of the words.
    pub(crate) lowest: u32,
    /// Their fingerprints.
    pub(crate) items: u64,
}

impl Restored {
    /// Of the image of 2^`level` planes, before its first word.
    pub(crate) fn new(level: u32) -> Self {
        Self {
            level,
            lowest: level,
            items: 0,
        }
    }

    /// Counts the word, if a scan can have made it.
    #[inline(always)]
    fn check<L: Layout>(
        &mut self,
        plane: usize,
        bucket: usize,
        word: Word<L>,
    ) -> Result<(), SnapshotError> {
        let born = plane.checked_ilog2().map_or(0, |bit| bit + 1);
        // A level begins only when all words have completed the one before it.
        let levels = born.max(self.level.saturating_sub(1))..=self.level;
        if !(levels.contains(&word.level()) && word.is_image(plane as u64)) {
            return Err(refused(plane, bucket, word));
        }
        self.lowest = self.lowest.min(word.level());
        self.items += u64::from(word.occupied());
        Ok(())
    }
}

#[cold]
fn refused<L: Layout>(plane: usize, bucket: usize, word: Word<L>) -> SnapshotError {
    SnapshotError::Word {
        bucket,
        plane,
        bits: word.bits(),
    }
}

/// How many chunks ahead a thread sweeps: threads keep out of each other's way.
fn lead() -> usize {
    // In a model the thread's number says nothing: those choose.
    if cfg!(loom) {
        0
    } else {
        crate::len::thread_number() % 4
    }
}

/// True if the word at `index` of `plane` counts beside the images of the planes
/// before it: that of the word that it was split from does not hold its part.
fn descends<L: Layout>(before: &[u64], width: usize, plane: usize, index: usize) -> bool {
    let born = plane.ilog2();
    let parent = plane ^ 1 << born;
    Word::<L>::from_bits(before[parent * width + index]).level() > born
}

/// The plane of a fingerprint at a level.
#[inline(always)]
pub(crate) const fn low_bits(fingerprint: u64, level: u32) -> u64 {
    fingerprint & ((1 << level) - 1)
}

/// The next plane on the way of a fingerprint that went from `plane` at a later
/// split: cut just above its next bit that is set.
#[inline(always)]
const fn next_plane(fingerprint: u64, plane: u64) -> u64 {
    let length = u64::BITS - plane.leading_zeros();
    low_bits(
        fingerprint,
        length + (fingerprint >> length).trailing_zeros() + 1,
    )
}

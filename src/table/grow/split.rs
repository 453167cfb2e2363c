//! Splitting words, one by one, and the sweep over all of them.

use super::{CHUNK, Planes, Refusal, STRIDE, low_bits};
use crate::{
    fault::{self, Fault},
    step::Step,
    sync::{self, Ordering},
    table::Loaded,
    table::layout::Layout,
    table::word::Word,
};
use std::ops::Range;

impl<L: Layout> Planes<L> {
    /// Brings a word from `level` to the next one. Any number of threads may do
    /// this at once, and any of them may stop.
    pub(crate) fn split(&self, plane: u64, bucket: usize, level: u32) {
        loop {
            let loaded = Loaded::<L>::load(self.atomic(plane, bucket));
            if loaded.word.level() > level {
                return;
            }
            if fault::is(Fault::NoFreeze) && !loaded.word.is_frozen() {
                self.complete_split(plane, bucket, loaded);
                sync::yield_in_model();
                continue;
            }
            let frozen = if loaded.word.is_frozen() {
                loaded
            } else {
                let frozen = loaded.word.frozen();
                if !loaded.replace(Step::Freeze, frozen) {
                    continue;
                }
                loaded.now(frozen)
            };
            self.complete_split(plane, bucket, frozen);
        }
    }

    /// A frozen word does not change, so whoever completes its split makes the
    /// same two words of it. An exchange that fails was done by another thread.
    #[cold]
    pub(super) fn complete_split(&self, plane: u64, bucket: usize, frozen: Loaded<'_, L>) {
        let (stays, goes) = frozen.word.split();
        let new = Loaded::<L>::load(self.atomic(plane | 1 << frozen.word.level(), bucket));
        // A word that has been made is never 0 again: it has a level.
        let copy = || new.is_unmade() && new.replace(Step::Copy, goes);
        if fault::is(Fault::CutFirst) {
            frozen.replace(Step::Cut, stays);
            copy();
        } else {
            copy();
            // From here on the new word counts for what went there.
            frozen.replace(Step::Cut, stays);
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
                    let loaded = self.route_for_update(&self.first.words, fingerprint, bucket);
                    loaded.replace(Step::Freeze, loaded.word.frozen());
                });
            }
            self.begin(level).ok_or(Refusal::Memory)?;
        }
        let unsplit = words.filter(|&(fingerprint, bucket)| {
            self.route_for_update(&self.first.words, fingerprint, bucket)
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
            // A round is less than `PATIENT_ROUNDS`, 32.
            let chunks = if cfg!(guira_loom) { 1 } else { 1_u64 << round };
            for _ in 0..chunks {
                if self.level() != level {
                    break;
                }
                self.sweep(level, lead());
            }
        }
        Ok(())
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
            .places(swept..words.min(swept + STRIDE))
            .take_while(|&place| is_split(place));
        swept += more.count();
        if fault::is(Fault::SweepBlindly) {
            swept = words.min(start + CHUNK);
        }
        // AcqRel: whoever reads the mark finds all words before it split.
        block
            .swept
            .fetch_max(swept as u64, fault::order(Step::Sweep, Ordering::AcqRel));
        if swept == words || fault::is(Fault::HintEarly) {
            // Release: pairs with the Acquire of `level`: whoever sees the hint
            // finds every word as it promises.
            let order = fault::order(Step::Complete, Ordering::AcqRel);
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

/// How many chunks ahead a thread sweeps: threads keep out of each other's way.
fn lead() -> usize {
    // In a model the thread's number says nothing: those choose.
    if cfg!(guira_loom) {
        0
    } else {
        crate::raw::len::thread_number() % 4
    }
}

//! Growth: which words are split, and when a level is complete.
//!
//! | promise | a level is complete before lookups rely on it |
//! |---|---|
//! | how | docs/design/growth.md, "Phases" |
//! | why | PROOF, section 9 |
//! | checked by | growth_level |
//! | break it | `cargo xtask break HintEarly` |

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Table,
    entry::Fingerprint,
    layout::Layout,
    parts::{Part, Parts, SPLITS_PER_INSERT},
    word::{Bits, Hint, Phases},
};
use crate::{
    error::InsertError,
    fault::{self, faulty, when_faulty},
    memory::Extra,
    step::Step,
    sync::{Ordering, thread_number},
};
use std::ops::Range;

/// The maximum number of words by which one insert moves the split pointer. A filter that was restored
/// in the middle of a level has many split words, and its pointer at the first word.
const MAX_STRIDE: usize = 64 * SPLITS_PER_INSERT;

/// The reason why a filter does not grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has its largest size, or growing would not help.
    Full,
    /// The allocator has no memory for the new planes.
    Memory,
}

impl From<Refusal> for InsertError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full => Self::Full,
            Refusal::Memory => Self::Memory,
        }
    }
}

impl<L: Layout> Table<L> {
    /// Splits the first few words of `reached` that can be split, and begins a level for that if
    /// necessary. The work is bounded. `worthwhile` says whether the filter is full enough for another
    /// level.
    ///
    /// `reached` are the words that a search at `level` has found full, nearest first: if splitting a
    /// pair leaves it full, splitting its neighbours helps. If all of them are split already, only the
    /// next level might help, so `runs` runs are split. After the end of the level nothing is left to
    /// split.
    #[cold]
    pub(crate) fn split_reached(
        &self,
        runs: usize,
        level: u32,
        reached: impl Iterator<Item = (Fingerprint, usize)> + Clone,
        worthwhile: impl Fn(u32) -> bool,
    ) -> Result<(), Refusal> {
        if !self.is_growing(level) {
            if level == self.levels().last() || !worthwhile(level) {
                return Err(Refusal::Full);
            }
            when_faulty!(PublishLate, wrong::freeze_first(self, reached.clone()));
            self.begin_level(level).ok_or(Refusal::Memory)?;
        }
        let unsplit = reached.filter(|&(fingerprint, bucket)| {
            self.load_for_update(fingerprint, bucket).word().level() == level
        });
        let mut split = 0;
        for (fingerprint, bucket) in unsplit.take(SPLITS_PER_INSERT) {
            self.split(self.plane_at(level, fingerprint), bucket, level);
            split += 1;
        }
        if split == 0 {
            for _ in 0..runs {
                if self.level() != level {
                    break;
                }
                self.split_run(level, this_thread());
            }
        }
        Ok(())
    }

    /// Splits a few words, if the filter is between two levels.
    #[inline(always)]
    pub(crate) fn split_some(&self) {
        if L::GROWS && self.is_between_levels() {
            self.split_run(self.level(), this_thread());
        }
    }

    /// Completes the current level, if one has begun.
    pub(crate) fn finish_level(&self) {
        while self.is_between_levels() {
            self.split_run(self.level(), this_thread());
        }
    }

    /// The number of words that no split pointer has passed yet; 0 between levels.
    pub(crate) fn words_to_split(&self) -> usize {
        self.parts(self.level()).map_or(0, Parts::words_to_split)
    }

    /// Splits a run of words in the part where `thread` works, ahead of the split pointer if there are
    /// any, and moves the pointer over all words that are split.
    ///
    /// No thread owns a run or a part. The pointer moves when the words themselves are found split, so
    /// a thread that stops in the middle delays no other thread.
    #[cold]
    pub(crate) fn split_run(&self, level: u32, thread: usize) {
        let Some(parts) = self.parts(level) else {
            return;
        };
        let Some(part) = parts.of_thread(thread) else {
            // The thread that ended the last part may be stopped before this.
            return self.complete_level(level);
        };
        let pointer = part.pointer();
        let ahead = pointer + part.lead * SPLITS_PER_INSERT;
        let is_split = |(plane, bucket)| self.is_split(plane, bucket, level);
        let start = match self.places(ahead..part.end).next() {
            Some(place) if !is_split(place) => ahead,
            _ => pointer,
        };
        let end = part.end.min(start + SPLITS_PER_INSERT);
        for (plane, bucket) in self.places(start..end) {
            self.split(plane, bucket, level);
        }
        let more = self
            .places(pointer..part.end.min(pointer + MAX_STRIDE))
            .take_while(|&place| is_split(place));
        let to = pointer + more.count();
        let to = faulty!(to, MovePointerBlindly => end);
        self.move_split_pointer(parts, &part, level, to);
    }

    /// Moves the pointer to `to`, because all words of the part before it are split. Completes the
    /// level if these are all words.
    pub(super) fn move_split_pointer(
        &self,
        parts: &Parts<L::Storage>,
        part: &Part<'_>,
        level: u32,
        to: usize,
    ) {
        part.move_to(to);
        let complete = to == part.end && parts.end(part.number);
        if faulty!(complete, HintEarly => true) {
            self.complete_level(level);
        }
    }

    fn complete_level(&self, level: u32) {
        let hint = Hint::new(level + 1, self.first_level());
        let Some(growth) = self.growth() else {
            return;
        };
        if let Some(progress) = growth.progress.get() {
            progress.complete_level((level + 1 - self.first_level()) as usize);
            return growth.raise_hint(hint);
        }
        // Release: pairs with the Acquire of `level`: a thread that sees the hint finds every word
        // as it promises.
        let order = fault::order(Step::Complete, Ordering::AcqRel);
        growth.hint.fetch_max(hint.bits(), order);
    }

    /// The planes and buckets of these words, in the order in which runs are split.
    fn places(&self, words: Range<usize>) -> impl Iterator<Item = (u64, usize)> {
        // Divisions are slow, so one serves all words.
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
        // Acquire: pairs with the Release of the Cut, so that a thread that reads the split pointer
        // after this finds the word split (G1).
        let word = self.atomic(plane, bucket).load(Ordering::Acquire);
        self.is_past(self.decode(Bits(word)), level)
    }
}

/// The number by which this thread has its part of a level.
fn this_thread() -> usize {
    // In a model of loom the number of a thread has no meaning.
    if cfg!(guira_loom) { 0 } else { thread_number() }
}

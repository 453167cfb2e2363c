//! How far a filter has grown that processes share.
//!
//! | promise | no word is used before it has memory, and a process that is late is right, only slower |
//! |---|---|
//! | how | docs/SHARED-MEMORY.md, "Growth" |
//! | why | PROOF, section 13 (R8, R9, R10) |
//! | checked by | recovery_growth |
//! | break it | `cargo xtask break PublishBeforeCommit` |
//!
//! The file of the filter has its final length from the start, and each process maps all of it. So each
//! segment has its place, and a process needs to learn only how many of them are in use.
//!
//! All processes share these numbers. Each process also has its own hint, because lookups need it: the
//! hint may be late, and it is never ahead.
#![cfg_attr(
    not(feature = "shared"),
    allow(dead_code, reason = "only filters that processes share need it")
)]

use crate::{
    fault::{self, faulty, when_faulty},
    memory::{Memory, Words},
    step::Step,
    sync::{self, AtomicU64, Ordering},
};
use std::{ops::Range, sync::Arc};

/// The words of the numbers.
pub(super) const WORDS: usize = if sync::IN_MODEL { 2 } else { 16 };

/// The word that says how many levels are complete.
const COMPLETE: usize = 0;

/// The word that says how many segments are in use.
const IN_USE: usize = 1;

/// How far a filter has grown, as all processes see it.
pub(crate) struct Progress {
    numbers: Words,
    memory: Arc<dyn Memory>,
    /// The first word of plane 0 in the memory.
    start: usize,
    /// The words of a plane.
    buckets: usize,
    /// How often the filter can double.
    most: usize,
}

impl Progress {
    /// The progress of a filter that can double `most` times, in these [`WORDS`]. Its planes begin with
    /// word `start` of the memory.
    pub(super) fn new(
        numbers: Words,
        memory: Arc<dyn Memory>,
        start: usize,
        buckets: usize,
        most: usize,
    ) -> Self {
        Self {
            numbers,
            memory,
            start,
            buckets,
            most,
        }
    }

    /// A number, which may be nonsense: any process may have written it.
    fn load(&self, word: usize, order: Ordering) -> usize {
        usize::try_from(self.numbers[word].load(order)).map_or(self.most, |it| it.min(self.most))
    }

    /// The number of levels that are complete.
    #[inline]
    pub(super) fn complete(&self) -> usize {
        // Acquire: pairs with the Release of `complete_level`: every word is as the number promises.
        self.load(COMPLETE, fault::order(Step::SeeHint, Ordering::Acquire))
    }

    /// A further level is complete, so that there are `levels` of them.
    pub(super) fn complete_level(&self, levels: usize) {
        // AcqRel: as for the hint of a filter of one process.
        let order = fault::order(Step::Complete, Ordering::AcqRel);
        self.numbers[COMPLETE].fetch_max(levels as u64, order);
    }

    /// The number of segments that are in use.
    pub(super) fn in_use(&self) -> usize {
        // Acquire: pairs with the Release of `begin`.
        self.load(IN_USE, fault::order(Step::SeeSegments, Ordering::Acquire))
    }

    /// True if the segment with this number is in use, to a thread that a word has led there.
    pub(super) fn has_begun(&self, number: usize) -> bool {
        // Relaxed: the segment came into use before that word was written, which was loaded with Acquire.
        number <= self.load(IN_USE, Ordering::Relaxed)
    }

    /// From now on the segment with this number is in use. False if there is no memory for it.
    ///
    /// If a process dies in between, the next one commits the same words again.
    pub(super) fn begin(&self, number: usize) -> bool {
        if self.in_use() >= number {
            return true;
        }
        when_faulty!(PublishBeforeCommit, self.publish(number));
        if !self.commit(number) {
            return false;
        }
        if faulty!(true, PublishBeforeCommit => false) {
            self.publish(number);
        }
        true
    }

    /// Makes sure that the segment has memory.
    pub(crate) fn commit(&self, number: usize) -> bool {
        // No ordering: it names the step.
        let _ = fault::order(Step::Commit, Ordering::AcqRel);
        self.memory.commit(self.words(number))
    }

    /// Says that the segment is in use.
    pub(crate) fn publish(&self, number: usize) {
        // Release: the segment has memory before any process uses it. AcqRel, as of several calls only
        // the last one counts.
        let order = fault::order(Step::Publish, Ordering::AcqRel);
        self.numbers[IN_USE].fetch_max(number as u64, order);
    }

    /// The words of the segment with this number, which is at least 1.
    fn words(&self, number: usize) -> Range<usize> {
        let planes = self.buckets << (number - 1);
        self.start + planes..self.start + 2 * planes
    }

    /// The number of levels that are complete and that of segments in use, if these cannot be right. The
    /// filter may grow during the call.
    pub(super) fn wrong(&self) -> Option<[u64; 2]> {
        // Acquire: pairs with the Release of `publish` and of `complete_level`. All earlier levels are
        // complete when a segment comes into use, and the segment of a level is in use when the level is
        // complete.
        let load = |word: usize, step| {
            let number: &AtomicU64 = &self.numbers[word];
            number.load(fault::order(step, Ordering::Acquire))
        };
        let before = load(IN_USE, Step::SeeSegments);
        let complete = load(COMPLETE, Step::SeeHint);
        let after = load(IN_USE, Step::SeeSegments);
        let before = faulty!(before, SegmentsOnce => after);
        let is_right = complete <= after && after <= self.most as u64 && before <= complete + 1;
        (!is_right).then_some([complete, after])
    }

    /// Reports that a thread uses a word of the segments.
    #[cfg(guira_loom)]
    pub(super) fn touch(&self, plane: u64, bucket: usize) {
        self.memory
            .touch(self.start + plane as usize * self.buckets + bucket);
    }
}

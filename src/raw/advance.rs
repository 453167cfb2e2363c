//! The time of an expiring filter: epochs and sweeps.
//!
//! | promise | an epoch begins only after all words were swept in the one before |
//! |---|---|
//! | how | docs/design/expiry.md, "advance, sweep and tick" |
//! | why | PROOF, section 12 (E6) |
//! | checked by | expire_sweep, expire_lookup, expire_growth |
//! | break it | `cargo xtask break SweptLate` |
//!
//! Each epoch begins only after some thread has swept all words in the epoch before it. So two
//! sweeps meet a dead copy before its tag could mean a later epoch, with the exceptions that
//! `docs/design/expiry.md` names.

use super::{
    RawFilter,
    crew::{Alone, Crew, Hands},
    expire::Left,
};
use crate::{
    fault::{faulty, when_faulty},
    memory::Storage,
    sync,
    table::{
        layout::TimedLayout,
        time::{Now, beginning::Reading},
        view::View,
    },
};
use std::{cell::Cell, time::Duration};

/// The buckets of a part of a plane. After each part, a sweep counts what it has emptied.
pub(super) const PART: usize = if sync::IN_MODEL { 1 } else { 1 << 10 };

/// How often a sweep of a filter that processes share waits for gates and marks in one pass.
const PATIENCE: usize = if sync::IN_MODEL { 0 } else { 64 };

/// The most passes of a sweep of a filter that processes share. Each one after the first is for words
/// that the one before has left.
const MOST_PASSES: usize = if sync::IN_MODEL { 1 } else { 2 };

impl<L: TimedLayout> RawFilter<L> {
    /// Begins the next epoch, and empties what is dead by it. False if another thread began it
    /// during the call. O(words); no thread waits for it.
    pub(crate) fn advance(&self) -> bool {
        self.begin_epoch().map(|now| self.sweep_all(now)).is_some()
    }

    /// [`advance`](Self::advance), if the present epoch has lasted for `length` by the clock
    /// `clock`.
    pub(crate) fn tick(&self, length: Duration, clock: impl Fn() -> Reading) -> bool {
        let begun = self.begin_due_epoch(length, clock);
        begun.map(|now| self.sweep_all(now)).is_some()
    }

    /// Begins the next epoch, in which the caller has to arrange a [`sweep`](Self::sweep). `None`
    /// if another thread began it during the call.
    pub(crate) fn begin_epoch(&self) -> Option<Now> {
        let now = self.moment();
        self.begin_after(now, now.oldest())
    }

    /// [`begin_epoch`](Self::begin_epoch), if the present epoch has lasted for `length` by the clock
    /// `clock`.
    ///
    /// In any case, what is dead by the clock expires, however late the call is.
    pub(crate) fn begin_due_epoch(
        &self,
        length: Duration,
        clock: impl Fn() -> Reading,
    ) -> Option<Now> {
        let now = self.moment();
        // The clock is read after the time: copies of this epoch may be as young as this reading.
        let reading = clock();
        if !self.time.beginning.is_due(now.epoch(), length, reading) {
            self.expire_late(now, length, reading);
            return None;
        }
        let begun = self.begin_after(now, self.oldest_live(now, length, reading))?;
        // The clock is read now that the epoch has begun.
        self.time.beginning.record(begun.epoch(), clock());
        Some(begun)
    }

    /// Expires what is dead by a reading from after `now`, without a new epoch.
    pub(super) fn expire_late(&self, now: Now, length: Duration, reading: Reading) {
        let oldest = self.oldest_live(now, length, reading);
        // If another thread is faster, it goes by a reading of its own.
        if oldest < now.oldest() {
            self.time.tick(now, now.with_oldest(oldest));
        }
    }

    /// The age of the oldest live copies at the moment `now`, by a reading from after that.
    fn oldest_live(&self, now: Now, length: Duration, reading: Reading) -> u64 {
        let ttl = length.saturating_mul(self.time.most() as u32);
        self.time.oldest_live(now, ttl, reading)
    }

    /// Empties what is dead in the present epoch, unless that has been done. True if it was left to
    /// this call.
    pub(crate) fn sweep(&self) -> bool {
        let now = self.moment();
        let is_swept = self.time.is_swept(now);
        if !is_swept {
            self.sweep_all(now);
        }
        !is_swept
    }

    /// True if all words have been swept in the present epoch.
    pub(crate) fn is_swept(&self) -> bool {
        self.time.is_swept(self.moment())
    }

    /// The epoch after `now`, if this thread begins it. The copies stay live that have an age of at most
    /// `oldest` in `now`.
    fn begin_after(&self, now: Now, oldest: u64) -> Option<Now> {
        // As a rule that has been done since this epoch began.
        let is_swept = self.time.is_swept(now);
        if !faulty!(is_swept, AdvanceUnswept => true) && self.sweep_all(now) == Left::Ending {
            return None;
        }
        let mut before = now;
        loop {
            // Since a merge has begun, the clock no longer says what is dead.
            let oldest = match before.uncounted() > now.uncounted() {
                true => before.oldest(),
                false => oldest.min(before.oldest()),
            };
            let next = self.time.next(before, oldest);
            if self.time.tick(before, next) {
                return Some(next);
            }
            before = self.moment();
            if before.epoch() != now.epoch() {
                return None;
            }
            sync::yield_in_model();
        }
    }

    /// Empties the dead copies of all unmarked words, in the epoch `now` or later.
    ///
    /// A split carries dead copies to a higher plane. The planes are therefore swept in ascending
    /// order, and their number is read after the words of the last one. A copy that a split carries
    /// past the sweep is in a plane that is still to come.
    ///
    /// Further epochs may begin during the sweep. Words that were passed before then have not been
    /// swept in them, so this counts as a sweep of the epoch that was read before the first word.
    fn sweep_all(&self, now: Now) -> Left {
        when_faulty!(SweptFirst, self.time.sweep_ends(now));
        if L::Storage::SHARED
            && let Some(crew) = self.crew()
        {
            return self.sweep_by_line(crew, now);
        }
        self.pass(Alone, now, None);
        let swept = faulty!(now, SweptLate => self.moment());
        self.time.sweep_ends(swept);
        Left::Nothing
    }

    /// [`sweep_all`](Self::sweep_all) in a filter that processes share. It counts only if it has left
    /// no dead copy because of a gate or a mark. If it has left a copy in the last epoch of its death, the next epoch
    /// must not begin: the copy would seem to be live again.
    #[cold]
    #[inline(never)]
    fn sweep_by_line(&self, crew: &Crew, now: Now) -> Left {
        // Dead processes have gates and marks no longer.
        self.repair_dead(true);
        let mut left = Left::Ending;
        let Some(taken) = self.take_line(crew) else {
            return left;
        };
        let line = taken.for_moves();
        for _ in 0..MOST_PASSES {
            left = self.pass(&line, now, Some(&Cell::new(PATIENCE)));
            left = faulty!(left, GateOverlooked => Left::Nothing);
            if left == Left::Nothing {
                self.time.sweep_ends(now);
                break;
            }
            self.repair_dead(true);
        }
        left
    }

    /// Passes all words once. Returns the worst that it has left.
    fn pass(&self, hands: impl Hands, now: Now, patience: Option<&Cell<usize>>) -> Left {
        let most = faulty!(usize::MAX, SweepBoundEarly => self.table.planes());
        let most = faulty!(most, SweepPlaneZero => 1);
        let planes = (0..).take_while(|&plane| plane < self.table.planes().min(most));
        let left = planes.map(|plane| self.pass_plane(hands, plane, now, patience));
        left.fold(Left::Nothing, Left::max)
    }

    fn pass_plane(
        &self,
        hands: impl Hands,
        plane: usize,
        now: Now,
        patience: Option<&Cell<usize>>,
    ) -> Left {
        let view = self.table.view();
        let starts = (0..view.buckets()).step_by(PART);
        let left = starts.map(|first| self.pass_part(hands, &view, (plane, first), now, patience));
        left.fold(Left::Nothing, Left::max)
    }

    /// Passes a part of a plane, which begins at this bucket.
    pub(super) fn pass_part(
        &self,
        hands: impl Hands,
        view: &View<'_, L>,
        (plane, first): (usize, usize),
        now: Now,
        patience: Option<&Cell<usize>>,
    ) -> Left {
        let one = self.table.one_of_plane(plane as u64);
        let (mut left, mut emptied) = (Left::Nothing, 0);
        for bucket in first..view.buckets().min(first + PART) {
            let expired = self.expire(hands, view, one, bucket, now, patience);
            emptied += expired.emptied;
            left = left.max(expired.left);
        }
        self.len.subtract(emptied);
        left
    }

    /// A thread sweeps the first `buckets` words of a filter that processes share, and stops for ever.
    #[cfg(all(guira_loom, feature = "shared"))]
    pub(crate) fn stop_in_sweep(&self, buckets: usize) {
        let now = self.moment();
        when_faulty!(SweptFirst, self.time.sweep_ends(now));
        let taken = self
            .crew()
            .and_then(|crew| crew.take_line())
            .expect("a line");
        let line = taken.for_moves();
        let one = self.table.one_of_plane(0);
        for bucket in 0..buckets {
            self.expire(&line, &self.table.view(), one, bucket, now, None);
        }
        taken.stop();
    }
}

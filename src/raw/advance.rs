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

use super::RawFilter;
use crate::{
    fault::faulty,
    table::{
        layout::{PackedLayout, Word},
        time::{Epochs, Now, Time, beginning::Reading},
    },
};
use std::time::Duration;

/// Buckets after which a sweep counts what it has emptied.
const COUNTED: usize = 1 << 12;

impl<L: PackedLayout<Time = Epochs>> RawFilter<L> {
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
        self.begin_after(self.moment())
    }

    /// [`begin_epoch`](Self::begin_epoch), if the present epoch has lasted for `length` by the clock
    /// `clock`.
    pub(crate) fn begin_due_epoch(
        &self,
        length: Duration,
        clock: impl Fn() -> Reading,
    ) -> Option<Now> {
        let now = self.moment();
        if !self.time.beginning.is_due(now.epoch, length, &clock) {
            return None;
        }
        let begun = self.begin_after(now)?;
        // The clock is read now that the epoch has begun.
        self.time.beginning.record(begun.epoch, clock());
        Some(begun)
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

    /// The epoch, as it is now.
    pub(crate) fn moment(&self) -> Now {
        Time::<Word<L>>::now(&self.time)
    }

    /// The epoch after `now`, if this thread begins it.
    fn begin_after(&self, now: Now) -> Option<Now> {
        // As a rule that has been done since this epoch began.
        let is_swept = self.time.is_swept(now);
        if !faulty!(is_swept, AdvanceUnswept => true) {
            self.sweep_all(now);
        }
        self.time.tick(now).then(|| now.next())
    }

    /// Empties the dead copies of all unmarked words, in the epoch `now` or later.
    ///
    /// A split carries dead copies to a higher plane. The planes are therefore swept in ascending
    /// order, and their number is read after the words of the last one. A copy that a split carries
    /// past the sweep is in a plane that is still to come.
    ///
    /// Further epochs may begin during the sweep. Words that were passed before then have not been
    /// swept in them, so this counts as a sweep of the epoch that was read before the first word.
    fn sweep_all(&self, now: Now) {
        let most = faulty!(usize::MAX, SweepBoundEarly => self.table.planes());
        let most = faulty!(most, SweepPlaneZero => 1);
        for plane in (0..).take_while(|&plane| plane < self.table.planes().min(most)) {
            self.sweep_plane(plane, now);
        }
        let swept = faulty!(now, SweptLate => self.moment());
        self.time.sweep_ends(swept);
    }

    fn sweep_plane(&self, plane: usize, now: Now) {
        let view = self.table.view();
        let (buckets, one) = (view.buckets(), self.table.one_of_plane(plane as u64));
        for first in (0..buckets).step_by(COUNTED) {
            let run = first..buckets.min(first + COUNTED);
            let emptied = run.map(|bucket| self.expire(&view, one, bucket, now)).sum();
            self.len.subtract(emptied);
        }
    }
}

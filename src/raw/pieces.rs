//! How time passes in a filter that is not ticked: its writes begin the epochs, and sweep.
//!
//! | promise | a write makes at most a piece of a sweep, and an epoch still begins only after all words were swept |
//! |---|---|
//! | how | docs/design/expiry.md, "Time that passes by itself" |
//! | why | PROOF, section 12 (E6) |
//! | checked by | expire_pieces |
//! | break it | `cargo xtask break PieceEarly` |
//!
//! The pieces are swept in order, and a piece counts when it has been passed. A thread that finds a
//! piece unswept sweeps it, whatever thread is at it: it may sleep. The sweep of an epoch is therefore
//! that of one thread, except that some pieces are swept twice.

use super::{RawFilter, advance::PART, crew::Alone};
use crate::{
    fault::{faulty, when_faulty},
    table::{
        layout::TimedLayout,
        time::{Now, beginning::Reading},
    },
};
use std::time::Duration;

/// For how long a call sweeps at most, and a piece, if the sweep is late.
const LATE: Duration = Duration::from_micros(50);

/// The number of pieces of a plane with this many buckets, and of the planes that share a piece: a plane
/// has several pieces, or shares one with others.
pub(crate) const fn division(buckets: usize) -> (usize, usize) {
    let planes = PART / buckets;
    (buckets.div_ceil(PART), if planes == 0 { 1 } else { planes })
}

impl<L: TimedLayout> RawFilter<L> {
    /// Lets time pass, as far as one write does: sweeps a piece, or begins an epoch that is due. Returns
    /// the time until the next epoch is due; zero if there is something to do before.
    ///
    /// In any case, what is dead by the clock expires.
    #[cold]
    pub(crate) fn pass_time(&self, length: Duration, clock: impl Fn() -> Reading) -> Duration {
        let now = self.moment();
        if !self.time.is_swept(now) {
            self.expire_late(now, length, clock());
            self.sweep_some(now, length, &clock);
            if !self.time.is_swept(now) {
                return Duration::ZERO;
            }
        }
        if self.begin_due_epoch(length, &clock).is_some() {
            return Duration::ZERO;
        }
        let age = self.time.beginning.age(self.moment().epoch(), clock());
        length.saturating_sub(age.unwrap_or_default())
    }

    /// Sweeps a piece; more of them if half of the epoch has passed.
    fn sweep_some(&self, now: Now, length: Duration, clock: impl Fn() -> Reading) {
        let beginning = &self.time.beginning;
        let age = || beginning.age(now.epoch(), clock()).unwrap_or_default();
        let first = age();
        while !self.sweep_piece(now) && first > length / 2 && age().saturating_sub(first) < LATE {}
    }

    /// Sweeps the next piece of the epoch `now`. True if all words have been passed, or a
    /// later epoch has begun.
    pub(crate) fn sweep_piece(&self, now: Now) -> bool {
        let progress = self.time.progress();
        let Some(piece) = progress.next_in(now) else {
            return true;
        };
        let view = self.table.view();
        let (parts, planes) = division(view.buckets());
        let first = piece / parts * planes;
        for plane in first..first + planes {
            // The planes are counted after the words of the last one, as in `pass`.
            if plane >= faulty!(self.table.planes(), SweepPlaneZero => 1) {
                self.time.sweep_ends(now);
                return true;
            }
            when_faulty!(PieceEarly, self.time.piece_ends(progress, now, piece + 1));
            self.pass_part(Alone, &view, (plane, piece % parts * PART), now, None);
        }
        self.time.piece_ends(progress, now, piece + 1);
        false
    }
}

#[cfg(test)]
mod tests;

//! A thread that stops for ever while it withholds a copy, step by step, for models of recovery.

use super::HAND;
use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    step::Step as Name,
    table::{
        entry::Entry,
        layout::{Layout, Word},
        time::{Moment, Time},
        word::{Bucket, Mark},
    },
};

/// The number of steps of a thread that withholds a copy, including the steps of its line and its gate.
pub const STEPS_OF_WITHHOLD: usize = 5;

type Step<'a> = &'a dyn Fn() -> bool;

impl<L: Layout> RawFilter<L> {
    /// A thread makes the first `steps` steps of a sweep of the copy with this entry, or of a refresh if
    /// `refreshes`, and stops for ever.
    pub(crate) fn stop_withholding(
        &self,
        bucket: usize,
        entry: Entry,
        refreshes: bool,
        steps: usize,
    ) {
        let taken = self
            .crew()
            .and_then(|crew| crew.take_line())
            .expect("a line");
        let line = taken.for_moves();
        let hop = self.hop_out_of(bucket, entry);
        let note = || {
            line.record_move::<L>(HAND, hop);
            true
        };
        let gate = || line.take_gate::<L>(HAND, hop);
        let withhold = || {
            let loaded = self.table.load_for_update(L::fingerprint(entry), bucket);
            let withheld = loaded.word().with_mark(entry, Mark::Withheld);
            let here = loaded.word().holds(entry) && loaded.word().is_unmarked();
            here && withheld.is_some_and(|word| loaded.replace(Name::Withhold, word))
        };
        let end = || {
            let now = self.time.now();
            if refreshes && now.is_live(entry) {
                let young = now.entry(L::fingerprint(entry));
                self.end_withheld(Name::Renew, bucket, entry, |word: Word<L>| {
                    word.without_marked().plus(young)
                });
            } else {
                self.empty_or_release(bucket, entry, || now);
            }
            true
        };
        let leave = || {
            line.leave(HAND);
            true
        };
        let first: [Step<'_>; 3] = match fault::is(Fault::LineLate) {
            true => [&gate, &withhold, &note],
            false => [&note, &gate, &withhold],
        };
        let last: [Step<'_>; 2] = [&end, &leave];
        for step in first.iter().chain(&last).take(steps) {
            if !step() {
                // It gives way.
                line.leave(HAND);
                break;
            }
        }
        taken.stop();
    }

    /// A thread has the gate of a copy for a while, as a mover has before its outline.
    pub(crate) fn pass_gate(&self, bucket: usize, entry: Entry) -> bool {
        let taken = self
            .crew()
            .and_then(|crew| crew.take_line())
            .expect("a line");
        let line = taken.for_moves();
        let has = line.enter::<L>(HAND, self.hop_out_of(bucket, entry));
        if has {
            line.leave(HAND);
        }
        has
    }
}

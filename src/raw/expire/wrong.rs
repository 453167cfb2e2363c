//! Dead copies that go in another way, for negative controls.

use super::{Expired, Left};
use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    step::Step,
    sync,
    table::{
        entry::Fingerprint,
        layout::{Layout, Word},
        time::{Moment, Time},
        word::{Bucket, Mark},
    },
};

/// [`RawFilter::expire_dead`] with the fault that is switched on.
pub(super) fn expire_dead<L: Layout>(
    raw: &RawFilter<L>,
    one: Fingerprint,
    bucket: usize,
) -> Expired {
    let emptied = emptied(raw, one, bucket);
    Expired {
        emptied,
        left: Left::Nothing,
    }
}

fn emptied<L: Layout>(raw: &RawFilter<L>, one: Fingerprint, bucket: usize) -> u64 {
    let mut emptied = 0;
    loop {
        let now = raw.time.now();
        let loaded = raw.table.load_for_update(one, bucket);
        let word = loaded.word();
        if fault::is(Fault::SweepMarked) && !word.is_unmarked() {
            let dead = !now.is_live(word.marked_entry(one));
            let gone = dead && loaded.replace(Step::Empty, word.without_marked());
            return emptied + u64::from(gone);
        }
        let withheld = |entry| word.with_mark(entry, Mark::Withheld);
        let Some(withheld) = now.dead_in(word, one).and_then(withheld) else {
            return emptied;
        };
        let repeats = withheld.repeats() - withheld.without_marked().repeats();
        let counted = |gone: bool| {
            raw.len.subtract_repeats(if gone { repeats } else { 0 });
            gone
        };
        let gone = if fault::is(Fault::ExpireAtOnce) {
            counted(loaded.replace(Step::Empty, withheld.without_marked()))
        } else if !loaded.replace(Step::Withhold, withheld) {
            false
        } else if fault::is(Fault::ExpireTrustsOldNow) {
            let empty = |word: Word<L>| Some(word.without_marked());
            counted(raw.table.update(Step::Empty, one, bucket, empty))
        } else {
            raw.empty_or_release(bucket, withheld.marked_entry(one), || raw.time.now())
        };
        emptied += u64::from(gone);
        if !gone {
            sync::yield_in_model();
        }
    }
}

//! Removes done wrong, for negative controls.

use super::take;
use crate::{
    fault::{self, Fault},
    raw::{RawFilter, copies::holds_copy},
    table::{class::Class, layout::Layout, word::Mark},
};

/// True if one of the faults of this file is switched on.
pub(super) fn is_on() -> bool {
    matches!(
        fault::now(),
        Fault::RemoveHigherFirst | Fault::RemoveIgnoresMarks | Fault::KillNoHold
    )
}

/// [`RawFilter::try_remove`] with the fault that is switched on.
pub(super) fn try_remove<L: Layout>(raw: &RawFilter<L>, class: Class) -> Option<bool> {
    match fault::now() {
        Fault::RemoveHigherFirst => take_higher_first(raw, class),
        Fault::RemoveIgnoresMarks => ignore_marks(raw, class),
        _ => kill_without_hold(raw, class),
    }
}

/// Q is loaded before P, and what it holds is taken first.
fn take_higher_first<L: Layout>(raw: &RawFilter<L>, class: Class) -> Option<bool> {
    let version = raw.versions.of(class).observe();
    let q = raw.table.load_for_update(class.fingerprint, class.q);
    let p = raw.table.load_for_update(class.fingerprint, class.p);
    for word in [q, p] {
        if holds_copy(word.word, class.fingerprint) {
            return take(word, class.fingerprint);
        }
    }
    raw.remove_among_marks(class, version, p, q)
}

/// What only marks stand for is absent.
fn ignore_marks<L: Layout>(raw: &RawFilter<L>, class: Class) -> Option<bool> {
    let version = raw.versions.of(class).observe();
    let (p, q) = raw.table.view().load_pair_for_update(class);
    for word in [p, q] {
        if holds_copy(word.word, class.fingerprint) {
            return take(word, class.fingerprint);
        }
    }
    (raw.unchanged(class, p.word, q.word) && version.validate()).then_some(false)
}

/// A shadow is killed although its stripe is not held.
fn kill_without_hold<L: Layout>(raw: &RawFilter<L>, class: Class) -> Option<bool> {
    let (p, q) = raw.table.view().load_pair_for_update(class);
    let kill = |to, from| {
        raw.kill_if_decided(class.fingerprint, to, from)
            .then_some(true)
    };
    match [p, q].map(|loaded| loaded.word.mark_of(class.fingerprint)) {
        [Some(Mark::Shadow), Some(Mark::Trailing)] => kill(class.p, class.q),
        [Some(Mark::Trailing), Some(Mark::Shadow)] => kill(class.q, class.p),
        _ => raw.try_remove(class),
    }
}

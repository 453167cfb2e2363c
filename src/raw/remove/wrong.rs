//! Removes with one thing left out or done wrong, for negative controls.

use crate::{
    fault::{self, Fault},
    raw::{RawFilter, copies::holds_copy},
    table::{
        class::Class,
        layout::Layout,
        time::Always,
        word::{Bucket, Mark},
    },
};

/// [`RawFilter::try_remove`] with the fault that is switched on.
pub(super) fn try_remove<L: Layout>(raw: &RawFilter<L>, class: Class) -> Option<bool> {
    let fingerprint = class.fingerprint;
    let observed = if fault::is(Fault::RemoveWrongStripe) {
        class.swapped()
    } else {
        class
    };
    let version = raw.versions.of(observed).observe();
    let load = |bucket| raw.table.load_for_update(fingerprint, bucket);
    let (p, q) = if matches!(
        fault::now(),
        Fault::RemoveHigherFirst | Fault::RemoveReadsHigherFirst
    ) {
        let q = load(class.q);
        (load(class.p), q)
    } else {
        let (p, q, _) = raw.table.view().load_pair_for_update(class);
        (p, q)
    };
    let order = if fault::is(Fault::RemoveHigherFirst) {
        [q, p]
    } else {
        [p, q]
    };
    for word in order {
        if holds_copy::<L>(word.word(), fingerprint, Always) {
            return raw.take(word, class.untagged());
        }
    }
    let marks = [p, q].map(|loaded| loaded.word().mark_of(fingerprint));
    match marks {
        _ if fault::is(Fault::RemoveIgnoresMarks) => {}
        [Some(Mark::Shadow), Some(Mark::Trailing)] => {
            return kill_shadow(raw, class, class.p, class.q);
        }
        [Some(Mark::Trailing), Some(Mark::Shadow)] => {
            return kill_shadow(raw, class, class.q, class.p);
        }
        _ => {}
    }
    let reread = marks != [None, None] && !fault::is(Fault::RemoveNoReread);
    if reread && !raw.unchanged(class, p.word(), q.word()) {
        return None;
    }
    (fault::is(Fault::RemoveNoValidate) || version.validate()).then_some(false)
}

/// [`RawFilter::kill_shadow`] with the fault that is switched on.
fn kill_shadow<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    to: usize,
    from: usize,
) -> Option<bool> {
    let hold = match fault::now() {
        Fault::KillNoHold => None,
        Fault::KillWrongStripe => Some(raw.versions.of(class.swapped()).hold()?),
        _ => Some(raw.versions.of(class).hold()?),
    };
    let killed = raw.kill_if_decided(class, class.untagged(), to, from);
    drop(hold);
    killed.then_some(true)
}

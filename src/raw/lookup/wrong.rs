//! Lookups done wrong, for negative controls.

use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    table::{class::Class, layout::Layout, word::Word},
};

/// True if one of the faults of this file is switched on.
pub(super) fn is_on() -> bool {
    matches!(
        fault::now(),
        Fault::ContainsAnyPlane | Fault::ContainsTrustsMarks
    )
}

/// [`RawFilter::contains`] with the fault that is switched on.
pub(super) fn contains<L: Layout>(raw: &RawFilter<L>, class: Class) -> bool {
    if fault::is(Fault::ContainsAnyPlane) {
        return contains_in_any_plane(raw, class);
    }
    let Class { fingerprint, p, q } = class;
    raw.look_up(class) || {
        let marked = |bucket| {
            let word = raw.load(crate::step::Step::ReadP, fingerprint, bucket);
            word.mark_of(fingerprint).is_some()
        };
        marked(p) || marked(q)
    }
}

/// No match is none, whatever the phase of the words.
fn contains_in_any_plane<L: Layout>(raw: &RawFilter<L>, class: Class) -> bool {
    let Class { fingerprint, p, q } = class;
    let version = raw.versions.of(class).observe();
    let (in_p, in_q, _) = raw.table.view().load_pair_at_hint(class);
    if Word::either_matches(in_p, in_q, fingerprint) {
        Word::both_quiet(in_p, in_q) || raw.look_up_again(fingerprint, p, q)
    } else {
        !version.validate() && raw.look_up_again(fingerprint, p, q)
    }
}

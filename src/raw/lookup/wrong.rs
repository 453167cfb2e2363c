//! Lookups with one thing left out or done wrong, for negative controls.

use crate::{
    fault::{self, Fault},
    raw::{
        Now, RawFilter,
        copies::{copies, holds_copy},
        version::Version,
    },
    step::Step,
    table::{
        class::Class,
        layout::{Layout, Word},
        time::{Moment, Time},
        word::{Bucket, Phases},
    },
};

/// [`RawFilter::contains`] with the fault that is switched on.
pub(super) fn contains<L: Layout>(raw: &RawFilter<L>, class: Class) -> bool {
    let early = raw.time.now();
    let version = observe(raw, class, Fault::ContainsWrongStripe);
    let view = raw.table.view();
    let (p, q, hint) = if fault::is(Fault::ContainsReadsHigherFirst) {
        let (q, p, hint) = view.load_pair_at_hint(class.swapped());
        (p, q, hint)
    } else {
        view.load_pair_at_hint(class)
    };
    let now = if fault::is(Fault::ContainsReadsNowLate) {
        raw.time.now()
    } else {
        early
    };
    // Where the words are quiet only, what was found is taken for an answer on purpose.
    let (settled, found) = now.match_settled(p, q, class.fingerprint, hint);
    let words = [p, q].map(|bits| raw.table.decode(bits));
    let quiet = words
        .iter()
        .all(|word| word.is_unmarked() && !word.is_reserved());
    let settled = settled || quiet && fault::is(Fault::ContainsAnyPlane);
    let valid = fault::is(Fault::ContainsNoValidate) || version.validate();
    if settled && valid && is_still(raw, now) {
        return found;
    }
    let any_level = !L::GROWS || fault::is(Fault::ContainsMatchesFirst);
    if any_level && quiet && found {
        return true;
    }
    let splitting = !Word::<L>::are_at_hint(p, q, hint);
    raw.look_up_in_attempts(class, splitting, try_look_up)
}

fn is_still<L: Layout>(raw: &RawFilter<L>, now: Now<L>) -> bool {
    fault::is(Fault::ContainsNoSecondNow) || raw.time.is_still(now)
}

fn try_look_up<L: Layout>(raw: &RawFilter<L>, class: Class) -> Option<bool> {
    let fingerprint = class.fingerprint;
    let now = raw.time.now();
    let version = observe(raw, class, Fault::ContainsWrongStripe);
    let (p, q) = if fault::is(Fault::ContainsReadsHigherFirst) {
        let (q, p) = raw.load_pair(class.swapped());
        (p, q)
    } else {
        raw.load_pair(class)
    };
    if holds_copy::<L>(p, fingerprint, now) || holds_copy::<L>(q, fingerprint, now) {
        return Some(true);
    }
    let marked = p.mark_of(fingerprint).is_some() || q.mark_of(fingerprint).is_some();
    if marked && fault::is(Fault::ContainsTrustsMarks) {
        return Some(true);
    }
    let reread = marked && !fault::is(Fault::ContainsNoReread);
    if reread && !raw.unchanged(class, p, q) {
        return None;
    }
    if !((fault::is(Fault::ContainsNoValidate) || version.validate()) && is_still(raw, now)) {
        return None;
    }
    copies::<L>(p, q, fingerprint, now).map(|copies| copies > 0)
}

/// [`RawFilter::try_count`] with the fault that is switched on.
pub(super) fn try_count<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    by: impl FnOnce(Now<L>) -> Now<L>,
) -> Option<usize> {
    let now = raw.time.now();
    let version = observe(raw, class, Fault::CountWrongStripe);
    let (p, q) = raw.load_pair(class);
    let p_again = raw.load(Step::RereadP, class.fingerprint, class.p);
    let q_again = raw.load(Step::RereadQ, class.fingerprint, class.q);
    let together = (p == p_again || fault::is(Fault::CountNoRereadP))
        && (q == q_again || fault::is(Fault::CountNoRereadQ))
        && (version.validate() || fault::is(Fault::CountNoValidate));
    let valid = (together || fault::is(Fault::UnionNoValidate))
        && (raw.time.is_still(now) || fault::is(Fault::CountNoSecondNow));
    if !valid {
        return None;
    }
    copies::<L>(p, q, class.fingerprint, by(now))
}

/// The version of the class; with the fault `wrong` that of the stripe of its higher bucket.
fn observe<L: Layout>(raw: &RawFilter<L>, class: Class, wrong: Fault) -> Version<'_> {
    let class = if fault::is(wrong) {
        class.swapped()
    } else {
        class
    };
    raw.versions.of(class).observe()
}

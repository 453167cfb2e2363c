//! Refreshes with one thing left out or done wrong, for negative controls.

use crate::{
    error::InsertError,
    fault::{self, Fault},
    raw::{Now, RawFilter, expire::Renewal},
    step::Step,
    table::{
        class::Class,
        entry::Entry,
        layout::{Layout, Word},
        time::{Moment, Time},
        view::Loaded,
        word::{Bucket, Mark},
    },
};

/// [`RawFilter::try_refresh`] with the fault that is switched on.
pub(super) fn try_refresh<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
) -> Result<Option<bool>, InsertError> {
    let fingerprint = class.fingerprint;
    let is_still = |now| fault::is(Fault::RefreshNoSecondNow) || raw.time.is_still(now);
    let now = raw.time.now();
    let version = raw.versions.of(class).observe();
    let (p, q, _) = raw.table.view().load_pair_for_update(class);
    for loaded in [p, q] {
        let word = loaded.word();
        let young = now.entry(fingerprint);
        let new = match (fault::now(), word.mark_of(fingerprint)) {
            (Fault::RefreshMarked, Some(Mark::Shadow)) => word.marked_instead(young, Mark::Shadow),
            (Fault::WithheldByAnother, Some(Mark::Withheld)) => word.without_marked().plus(young),
            _ => continue,
        };
        return Ok(loaded.replace(Step::Renew, new).then_some(true));
    }
    let oldest = [(p, class.p), (q, class.q)]
        .into_iter()
        .filter(|(loaded, _)| loaded.word().is_unmarked())
        .filter_map(|place| Some((now.oldest_in(place.0.word(), fingerprint)?, place)))
        .max_by_key(|&(entry, _)| now.age(entry));
    let valid = fault::is(Fault::RefreshNoValidate) || version.validate();
    if !(valid && is_still(now)) {
        return Ok(None);
    }
    match oldest {
        Some((entry, _)) if now.age(entry) == 0 => Ok(Some(true)),
        Some((entry, (loaded, bucket))) => {
            let renewed = renew(raw, class, bucket, loaded, entry, now);
            Ok(renewed.filter(|&now| is_still(now)).map(|_| true))
        }
        None if Word::<L>::both_unmarked(p.word(), q.word()) => Ok(Some(false)),
        None => raw.refresh_beside_marks(class),
    }
}

/// [`Bucket::with_one_renewed`], but all copies under the mark are renewed.
pub(super) fn with_all_renewed<L: Layout>(word: Word<L>, young: Entry) -> Word<L> {
    let copies = Word::<L>::copies_of(word.marked_entry(L::fingerprint(young)));
    word.without_marked()
        .plus(Word::<L>::entry_of(young, copies))
}

/// [`RawFilter::renew`] with the fault that is switched on.
fn renew<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    bucket: usize,
    loaded: Loaded<'_, L>,
    entry: Entry,
    now: Now<L>,
) -> Option<Now<L>> {
    let young = now.entry(class.fingerprint);
    match fault::now() {
        Fault::RefreshAtOnce => {
            let new = loaded.word().minus(entry).plus(young);
            loaded.replace(Step::Renew, new).then_some(now)
        }
        Fault::RefreshTrustsOldNow => {
            let withheld = loaded.word().with_mark(entry, Mark::Withheld)?;
            let renew = || {
                raw.table
                    .update(Step::Renew, class.fingerprint, bucket, |word| {
                        Some(word.without_marked().plus(young))
                    })
            };
            (loaded.replace(Step::Withhold, withheld) && renew()).then_some(now)
        }
        _ => match raw.renew(bucket, loaded, entry, |now| now.entry(class.fingerprint)) {
            Renewal::Done(now) => Some(now),
            Renewal::Lost | Renewal::Gated | Renewal::Full => None,
        },
    }
}

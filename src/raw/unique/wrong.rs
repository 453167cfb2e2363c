//! Reservations done wrong, for negative controls.

use super::{Absent, Lost, Patience, Vacancy, Wanted};
use crate::{
    fault::{self, Fault},
    raw::{Now, RawFilter},
    step::Step,
    sync,
    table::{
        class::Class,
        entry::Entry,
        layout::{Layout, Word},
        time::{Moment, Time},
        view::Loaded,
        word::Bucket,
    },
};

/// [`RawFilter::reserve_and_confirm`] with the fault that is switched on.
pub(super) fn reserve<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    wanted: impl Wanted<L>,
    vacancy: Vacancy<'_, L>,
    patience: &mut Patience,
) -> Result<bool, Lost> {
    if fault::is(Fault::UniqueRevives) && !vacancy.at_home && revive(raw, class, vacancy.now) {
        return Ok(true);
    }
    let mut read_other = || {
        if fault::is(Fault::UniqueOverlooksTokens) {
            let other = raw.table.load_for_update(class.fingerprint, vacancy.other);
            return Some(other);
        }
        raw.read_other(class, vacancy, patience)
    };
    let early = fault::is(Fault::UniqueReadsEarly).then(&mut read_other);
    let own = match fault::now() {
        Fault::UniqueNoReservation => vacancy.own,
        Fault::UniqueSharedToken => {
            let shared = |reserved: Word<L>| Vacancy {
                reserved: vacancy.own.encode(reserved),
                ..vacancy
            };
            let reserved = vacancy.own.word().with_reservation(0).map(shared);
            reserved.and_then(Vacancy::reserve).ok_or(Lost::Word)?
        }
        _ => vacancy.reserve().ok_or(Lost::Word)?,
    };
    sync::fence_after_exchange();
    let in_time =
        |_: &Loaded<'_, L>| fault::is(Fault::UniqueNoSecondNow) || raw.time.is_still(vacancy.now);
    match early.unwrap_or_else(read_other).filter(in_time) {
        Some(seen) => raw.confirm(class, wanted, vacancy, own, seen),
        None => {
            own.replace(Step::Cancel, own.word());
            Err(Lost::Word)
        }
    }
}

/// [`RawFilter::insert_at_once`] with the fault that is switched on: only one that reads too early is one
/// of its own.
pub(super) fn insert_at_once<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    wanted: impl Wanted<L>,
    token: u64,
    absent: Absent<'_, L>,
) -> bool {
    fault::is(Fault::UniqueReadsEarly) && raw.insert_at_once(class, wanted, token, absent)
}

/// Gives a dead copy of the class the tag of `now`; false if there is none.
fn revive<L: Layout>(raw: &RawFilter<L>, class: Class, now: Now<L>) -> bool {
    [class.p, class.q].into_iter().any(|bucket| {
        let loaded = raw.table.load_for_update(class.fingerprint, bucket);
        let is_of_class = |&entry: &Entry| L::fingerprint(entry) == class.fingerprint;
        let dead = now
            .dead_in(loaded.word(), class.fingerprint)
            .filter(is_of_class);
        dead.is_some_and(|entry| {
            let young = now.entry(class.fingerprint);
            loaded.replace(Step::Renew, loaded.word().minus(entry).plus(young))
        })
    })
}

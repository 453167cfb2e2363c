//! Reservations done wrong, for negative controls.

use super::{Lost, Vacancy};
use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    table::{class::Class, layout::Layout},
};

/// True if one of the faults of this file is switched on.
pub(super) fn is_on() -> bool {
    matches!(
        fault::now(),
        Fault::UniqueNoReservation
            | Fault::UniqueSharedToken
            | Fault::UniqueReadsEarly
            | Fault::Rehearsed
    )
}

/// [`RawFilter::reserve_and_confirm`] with the fault that is switched on.
pub(super) fn reserve<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    vacancy: Vacancy<'_, L>,
) -> Result<bool, Lost> {
    let read_other = || raw.table.load_for_update(class.fingerprint, vacancy.other);
    let early = fault::is(Fault::UniqueReadsEarly).then(read_other);
    let own = match fault::now() {
        Fault::UniqueNoReservation => vacancy.home,
        Fault::UniqueSharedToken => {
            let shared = Vacancy {
                token: 0,
                ..vacancy
            };
            shared.reserve().ok_or(Lost::Home)?
        }
        _ => vacancy.reserve().ok_or(Lost::Home)?,
    };
    let seen = early.unwrap_or_else(read_other);
    raw.confirm(class, own, seen.word)
}

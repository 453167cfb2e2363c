//! Reservations done wrong, for negative controls.

use super::{Lost, Vacancy};
use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    table::{class::Class, layout::Layout, word::Word},
};

/// True if one of the faults of this file is switched on.
pub(super) fn is_on() -> bool {
    matches!(
        fault::now(),
        Fault::UniqueNoReservation | Fault::UniqueSharedToken | Fault::UniqueReadsEarly
    )
}

/// [`RawFilter::reserve_and_confirm`] with the fault that is switched on. `early` is the other word from
/// before the reservation.
pub(super) fn reserve<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    vacancy: Vacancy<'_, L>,
    early: Word<L>,
) -> Result<bool, Lost> {
    match fault::now() {
        Fault::UniqueSharedToken => raw.reserve_and_confirm(
            class,
            Vacancy {
                token: 0,
                ..vacancy
            },
        ),
        Fault::UniqueReadsEarly => {
            let own = vacancy.reserve().ok_or(Lost::Home)?;
            raw.confirm(class, own, early)
        }
        _ => {
            let seen = raw.table.load_for_update(class.fingerprint, vacancy.other);
            raw.confirm(class, vacancy.home, seen.word)
        }
    }
}

//! Reservations done wrong, for negative controls.

use super::{Lost, Patience, Vacancy};
use crate::{
    fault::{self, Fault},
    raw::RawFilter,
    step::Step,
    sync,
    table::{class::Class, layout::Layout},
};

/// True if one of the faults of this file is switched on.
pub(super) fn is_on() -> bool {
    matches!(
        fault::now(),
        Fault::UniqueNoReservation
            | Fault::UniqueSharedToken
            | Fault::UniqueReadsEarly
            | Fault::UniqueOverlooksTokens
            | Fault::Rehearsed
    )
}

/// [`RawFilter::reserve_and_confirm`] with the fault that is switched on.
pub(super) fn reserve<L: Layout>(
    raw: &RawFilter<L>,
    class: Class,
    vacancy: Vacancy<'_, L>,
    patience: &mut Patience,
) -> Result<bool, Lost> {
    let mut read_other = || {
        if fault::is(Fault::UniqueOverlooksTokens) {
            let other = raw.table.load_for_update(class.fingerprint, vacancy.other);
            return Some(other.word);
        }
        raw.read_other(class, vacancy, patience)
    };
    let early = fault::is(Fault::UniqueReadsEarly).then(&mut read_other);
    let own = match fault::now() {
        Fault::UniqueNoReservation => vacancy.own,
        Fault::UniqueSharedToken => {
            let shared = Vacancy {
                token: 0,
                ..vacancy
            };
            shared.reserve().ok_or(Lost::Word)?
        }
        _ => vacancy.reserve().ok_or(Lost::Word)?,
    };
    sync::fence_after_exchange();
    match early.unwrap_or_else(read_other) {
        Some(seen) => raw.confirm(class, own, seen),
        None => {
            own.replace(Step::Cancel, own.word);
            Err(Lost::Word)
        }
    }
}

//! Exchanges done wrong, for negative controls.

use super::Loaded;
use crate::{
    fault::{self, Fault},
    step::Step,
    sync::{self, Ordering},
    table::{
        layout::{Layout, Word},
        word::{Bits, Bucket, Phases},
    },
};

/// [`Loaded::replace`] with the fault that is switched on.
pub(super) fn replace<L: Layout>(loaded: Loaded<'_, L>, step: Step, new: Word<L>) -> bool {
    let splits = matches!(step, Step::Freeze | Step::Copy | Step::Cut);
    let old = loaded.word_in_table();
    match (fault::now(), step) {
        (Fault::ClaimUnchecked, Step::Claim) => {
            exchange(loaded, step, new);
            true
        }
        (Fault::ReservationKept, Step::Reserve | Step::Confirm | Step::Cancel) => {
            exchange(loaded, step, new)
        }
        (Fault::ReservationKept, _) => exchange(loaded, step, with_reservation_of(new, old)),
        (Fault::RemoveNoKilled, Step::Kill) => {
            exchange(loaded, step, loaded.word().without_marked())
        }
        (Fault::NoDelivered, Step::Deliver) => exchange(loaded, step, new.unmarked()),
        (Fault::MarkDropped, Step::Copy | Step::Cut) => exchange(loaded, step, new.unmarked()),
        (Fault::PhaseWraps, _) if splits => exchange(loaded, step, new.with_phase(new.phase() & 3)),
        (Fault::PackedAsBefore, Step::Copy | Step::Cut) => {
            exchange(loaded, step, new.packed_as_before())
        }
        (Fault::CutFirst, Step::Freeze) => exchange(loaded, step, new.split().0),
        // The phase stays as it is.
        (Fault::NoFreeze, Step::Freeze) => exchange(loaded, step, loaded.word()),
        (Fault::NoFreeze, Step::Cut) => {
            let thawed = old.with_phase(old.phase() - 1);
            let cut = exchange(loaded.replaced_by(thawed), step, new);
            if !cut {
                // The splitter begins again, but not before another thread has made a step.
                sync::yield_in_model();
            }
            cut
        }
        (Fault::PhaseIgnored, _) if old.is_in_phase(new) => {
            // Relaxed: done wrong on purpose, it only has to be a recent phase.
            let now = loaded.decode(Bits(loaded.atomic.load(Ordering::Relaxed)));
            let recent = old.with_phase(now.phase());
            exchange(
                loaded.replaced_by(recent),
                step,
                new.with_phase(now.phase()),
            )
        }
        _ => exchange(loaded, step, new),
    }
}

fn exchange<L: Layout>(loaded: Loaded<'_, L>, step: Step, new: Word<L>) -> bool {
    loaded.exchange(step, loaded.encode(new))
}

/// `new` with the reservation of `old`, if there is still an empty slot for it.
fn with_reservation_of<W: Bucket>(new: W, old: W) -> W {
    let kept = old.token().and_then(|token| new.with_reservation(token));
    kept.unwrap_or(new)
}

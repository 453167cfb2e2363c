//! Whole moves whose steps are left out, or come in another order, for negative controls.

use super::{Fill, Left, Move};
use crate::{
    fault::{self, Fault},
    raw::crew::Hands,
    step::Step,
    table::{
        entry::Entry,
        layout::Layout,
        word::{Bucket, Mark},
    },
};

/// The move with the fault that is switched on.
pub(super) fn make<L: Layout>(
    it: &Move<'_, L, impl Hands>,
    outlined: bool,
    fill: Fill,
) -> Option<Left> {
    let fault = fault::now();
    if fault == Fault::EraseFirst {
        return erase_first(it, outlined);
    }
    let held_early = it.stripe.is_held();
    if !(outlined || it.is_movable() && it.outline()) {
        return None;
    }
    let permitted = || it.may_cross();
    let free = match fault {
        Fault::NoAdvance | Fault::AdvanceLate => !it.stripe.is_held() && permitted(),
        Fault::HoldIgnored => {
            it.stripe.advance();
            permitted()
        }
        Fault::HoldSeenEarly => {
            it.stripe.advance();
            !held_early && permitted()
        }
        Fault::FrontierIgnored => {
            let held = it.stripe.advance();
            permitted();
            !held
        }
        _ => it.advance(),
    };
    let decided = free && {
        it.shadow();
        match fault {
            Fault::DecideAnyTag => decide_any_tag(it),
            // It erases the original at once.
            Fault::NoTrailing => erase_unmarked(it, Step::Decide),
            _ => it.decide(),
        }
    };
    // Or it continues although the original is gone.
    if !decided && fault != Fault::DecideBlindly {
        if fault != Fault::NoRetract {
            it.retract();
        }
        return None;
    }
    it.deliver();
    if fault == Fault::SettleEarly {
        it.settle();
    }
    let left = match fault {
        Fault::NoTrailing => Left::Hole,
        Fault::FillAnyPlane => it.erase_where(fill, |_, _| true),
        _ if decided => it.erase(fill),
        _ => Left::Hole,
    };
    if fault == Fault::AdvanceLate {
        it.stripe.advance();
    }
    it.settle();
    Some(left)
}

/// Erases the original, which has no mark.
fn erase_unmarked<L: Layout>(it: &Move<'_, L, impl Hands>, step: Step) -> bool {
    it.update(step, it.from, |word| {
        it.is_movable_in(word).then(|| word.minus(it.entry))
    })
}

/// Erases the original before it brings in the copy.
fn erase_first<L: Layout>(it: &Move<'_, L, impl Hands>, outlined: bool) -> Option<Left> {
    erase_unmarked(it, Step::Erase);
    if !outlined && !it.outline() {
        return None;
    }
    if it.advance() {
        it.shadow();
    }
    it.deliver();
    it.settle();
    Some(Left::Hole)
}

/// Decides for any original of the class, which then goes by the tag of the outline.
fn decide_any_tag<L: Layout>(it: &Move<'_, L, impl Hands>) -> bool {
    it.update(Step::Decide, it.from, |word| {
        let is_of_class = |&entry: &Entry| L::fingerprint(entry) == it.fingerprint();
        let original = word.residents(it.fingerprint()).find(is_of_class)?;
        let trailing = word.with_mark(original, Mark::Trailing)?;
        Some(trailing.marked_instead(it.entry, Mark::Trailing))
    })
}

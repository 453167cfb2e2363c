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
    match fault::now() {
        Fault::EraseFirst => erase_first(it, outlined),
        Fault::NoTrailing => no_trailing(it, outlined),
        Fault::DecideBlindly => decide_blindly(it, outlined, fill),
        fault => {
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
                if fault == Fault::DecideAnyTag {
                    decide_any_tag(it)
                } else {
                    it.decide()
                }
            };
            if !decided {
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
                Fault::FillAnyPlane => it.erase_where(fill, |_, _| true),
                _ => it.erase(fill),
            };
            if fault == Fault::AdvanceLate {
                it.stripe.advance();
            }
            it.settle();
            Some(left)
        }
    }
}

/// Erases the original before it brings in the copy.
fn erase_first<L: Layout>(it: &Move<'_, L, impl Hands>, outlined: bool) -> Option<Left> {
    it.update(Step::Erase, it.from, |word| {
        it.is_movable_in(word).then(|| word.minus(it.entry))
    });
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

/// Decides by erasing the original at once.
fn no_trailing<L: Layout>(it: &Move<'_, L, impl Hands>, outlined: bool) -> Option<Left> {
    if !(outlined || it.is_movable() && it.outline()) {
        return None;
    }
    let decided = it.advance() && {
        it.shadow();
        it.update(Step::Decide, it.from, |word| {
            it.is_movable_in(word).then(|| word.minus(it.entry))
        })
    };
    if !decided {
        it.retract();
        return None;
    }
    it.deliver();
    it.settle();
    Some(Left::Hole)
}

/// Continues although the original is gone.
fn decide_blindly<L: Layout>(
    it: &Move<'_, L, impl Hands>,
    outlined: bool,
    fill: Fill,
) -> Option<Left> {
    if !(outlined || it.is_movable() && it.outline()) {
        return None;
    }
    let mut decided = false;
    if it.advance() {
        it.shadow();
        decided = it.decide();
    }
    it.deliver();
    let left = if decided { it.erase(fill) } else { Left::Hole };
    it.settle();
    Some(left)
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

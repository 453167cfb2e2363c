//! Moves of a thread that stops for ever, step by step, for models of recovery.

use super::{Fill, Hop, Left, Move};
use crate::{
    fault::{self, Fault},
    raw::{
        RawFilter,
        crew::{Hand, Line, TakenLine},
    },
    step::Step as Name,
    table::{class::Class, entry::Entry, layout::Layout, word::Bucket},
};

/// The number of steps of a move, and of the notes and the gate around it.
pub const STEPS: usize = 10;

/// The steps of a move that leaves the outline of the next one, up to its end.
pub const STEPS_OF_PATH: usize = 12;

impl<L: Layout> RawFilter<L> {
    /// A thread makes the first `steps` steps of a move, and stops for ever. If `next` is given, the
    /// Erase leaves its outline. Returns the number of the thread's line.
    pub(crate) fn stop_in_move(&self, hop: Hop, next: Option<Entry>, steps: usize) -> usize {
        let crew = self.crew().expect("a filter that processes share");
        let taken = crew.take_line().expect("a line");
        let line = taken.for_moves();
        make(&self.move_of(&line, Hand::First, hop), &line, next, steps);
        taken.stop()
    }
}

type Step<'a> = &'a dyn Fn() -> bool;

/// A step after which the thread continues in any case.
fn done(step: impl Fn()) -> impl Fn() -> bool {
    move || {
        step();
        true
    }
}

fn make<L: Layout>(
    it: &Move<'_, L, &Line<'_>>,
    line: &Line<'_>,
    next: Option<Entry>,
    steps: usize,
) {
    let (hop, no_line) = (it.hop(), fault::is(Fault::LineLate));
    let say = done(|| line.record_move::<L>(Hand::First, hop));
    let gate = || line.take_gate::<L>(Hand::First, hop);
    let outline = || it.is_movable() && it.outline();
    let first: [Step<'_>; 3] = if no_line {
        [&gate, &outline, &say]
    } else {
        [&say, &gate, &outline]
    };
    let (shadow, deliver) = (done(|| it.shadow()), done(|| it.deliver()));
    let advance = || it.advance();
    let decide = || it.decide();
    let then: [Step<'_>; 4] = [&advance, &shadow, &decide, &deliver];
    let next_hop = next.map(|entry| it.next_hop(entry));
    let say_next = done(|| {
        next_hop
            .iter()
            .for_each(|&hop| line.record_move::<L>(Hand::Second, hop))
    });
    let gate_next = || next_hop.is_none_or(|hop| line.take_gate::<L>(Hand::Second, hop));
    let erase = done(|| {
        let left = it.erase(next.map_or(Fill::Hole, Fill::Outline));
        assert_eq!(left == Left::Filled, next.is_some(), "a path in one plane");
    });
    let of_next: [Step<'_>; 3] = if fault::is(Fault::NextGateLate) {
        [&erase, &say_next, &gate_next]
    } else {
        [&say_next, &gate_next, &erase]
    };
    let only: [Step<'_>; 1] = [&erase];
    let of_erase: &[Step<'_>] = if next.is_some() { &of_next } else { &only };
    let (settle, leave) = (done(|| it.settle()), done(|| line.leave(Hand::First)));
    let last: [Step<'_>; 2] = [&settle, &leave];
    let all = first.iter().chain(&then).chain(of_erase).chain(&last);
    for (number, step) in all.take(steps).enumerate() {
        if !step() {
            // It gives way.
            if number > 2 {
                it.retract();
            }
            line.leave(Hand::First);
            return;
        }
    }
}

impl<L: Layout> RawFilter<L> {
    /// A remove holds the stripe of a class, and stops for ever.
    pub(crate) fn hold_and_stop(&self, line: &Line<'_>, class: Class) {
        let number = self.versions.number_of(class);
        let hold = line.hold(self.versions.of(class), number);
        std::mem::forget(hold.expect("few holds"));
    }

    /// A remove names the stripe of a class, and stops for ever.
    pub(crate) fn name_and_stop(&self, line: &Line<'_>, class: Class) {
        line.record_stripe(self.versions.number_of(class));
    }

    /// A remove holds the stripe of a class for a while. True if it is held until the end.
    pub(crate) fn is_held_throughout(&self, line: &Line<'_>, class: Class) -> bool {
        let stripe = self.versions.of(class);
        let _hold = line.hold(stripe, self.versions.number_of(class));
        stripe.is_held_now()
    }

    /// A call of insert_unique reserves a slot, and stops for ever.
    pub(crate) fn reserve_and_stop(&self, line: &TakenLine<'_>, class: Class, bucket: usize) {
        line.record_reservation::<L>(class);
        let token = line.token();
        self.table
            .update(Name::Reserve, class.fingerprint, bucket, |word| {
                word.with_reservation(token)
            });
    }
}

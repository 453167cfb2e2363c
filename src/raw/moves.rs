//! One move of a resident: seven named steps.
//!
//! | promise | a moved copy is in one of its two buckets throughout; a move is made once or undone |
//! |---|---|
//! | how | DESIGN, section 4, "A move" |
//! | why | PROOF, section 2, section 5 (L1, L2) |
//! | checked by | lookup, path, remove, visible, semi_sorted |
//! | break it | `cargo xtask break NoAdvance` |

#[cfg(all(guira_loom, feature = "shared"))]
pub(crate) mod stopped;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

pub(crate) use super::hop::Hop;

use super::{
    RawFilter,
    crew::{Hand, Hands},
    expire::Withheld,
    frontier::Frontiers,
    len::Len,
    version::Stripe,
};
use crate::{
    fault::{faulty, when_faulty},
    memory::is_found,
    step::Step,
    table::{
        Table,
        class::alternate,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        word::{Bucket, Mark, Phases},
    },
};

/// What a move is to leave in the slot that it vacates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    /// Nothing.
    Hole,
    /// The outline of the next hop's entry.
    Outline(Entry),
    /// The entry that the path makes room for.
    Item(Entry),
}

/// What a move has left in the slot that it vacated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing.
    Hole,
    /// The requested contents.
    Filled,
}

/// A move of a class from one bucket of its pair to the other, made by one thread.
///
/// Each method is one step. Other threads change its marks only by a remove, which turns S or D into
/// K. The mover finds its marks by state and entry, so slots may be reordered in between.
pub(super) struct Move<'a, L: Layout, H> {
    table: &'a Table<L>,
    frontiers: &'a Frontiers,
    stripe: Stripe<'a>,
    len: &'a Len<L::Storage, L::Kind, L::Counted>,
    entry: Entry,
    from: usize,
    to: usize,
    hands: H,
    /// The hand of the line in which this move is.
    hand: Hand,
}

impl<L: Layout> RawFilter<L> {
    /// Makes one move. If `outlined`, the previous hop has left the outline in `hop.to`. Returns
    /// `None` if the move was given up, in which case everything is as before.
    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn move_resident(&self, hop: Hop, outlined: bool, fill: Fill) -> Option<Left> {
        self.move_by(super::crew::Alone, Hand::First, hop, outlined, fill)
    }

    /// Makes one move, which is in this hand of the thread's line, if the thread has one.
    pub(crate) fn move_by(
        &self,
        hands: impl Hands,
        hand: Hand,
        hop: Hop,
        outlined: bool,
        fill: Fill,
    ) -> Option<Left> {
        debug_assert!(
            hop.to == alternate(L::fingerprint(hop.entry), hop.from, self.table.buckets())
        );
        let resident = self.move_of(hands, hand, hop);
        faulty!(resident.make(outlined, fill), in Move => wrong::make(&resident, outlined, fill))
    }

    /// Returns the move of a hop, before its first step.
    #[inline(always)]
    pub(super) fn move_of<H: Hands>(&self, hands: H, hand: Hand, hop: Hop) -> Move<'_, L, H> {
        Move {
            table: &self.table,
            frontiers: &self.frontiers,
            stripe: self.versions.of(hop.class::<L>()),
            len: &self.len,
            entry: hop.entry,
            from: hop.from,
            to: hop.to,
            hands,
            hand,
        }
    }
}

impl<L: Layout, H: Hands> Move<'_, L, H> {
    fn fingerprint(&self) -> Fingerprint {
        L::fingerprint(self.entry)
    }

    /// Makes all steps in order. Returns `None` if the move was given up.
    fn make(&self, outlined: bool, fill: Fill) -> Option<Left> {
        if !(outlined || self.is_movable() && self.enter(self.hand, self.hop())) {
            return None;
        }
        if !(outlined || self.outline()) {
            self.leave();
            return None;
        }
        when_faulty!(LineLate, self.record());
        let decided = self.advance() && {
            self.shadow();
            self.decide()
        };
        if !decided {
            self.retract();
            self.leave();
            return None;
        }
        self.deliver();
        let admitted = faulty!(self.admitted(fill), NextGateLate => fill);
        let left = self.erase(admitted);
        when_faulty!(NextGateLate, self.admitted(fill));
        if L::GROWS && left == Left::Hole {
            self.leave_next();
        }
        self.settle();
        self.leave();
        Some(left)
    }

    fn hop(&self) -> Hop {
        Hop {
            entry: self.entry,
            from: self.from,
            to: self.to,
        }
    }

    /// Takes the gate of a move, if processes share the filter. Returns false if another thread has it.
    fn enter(&self, hand: Hand, hop: Hop) -> bool {
        self.hands
            .line()
            .is_none_or(|line| line.enter::<L>(hand, hop))
    }

    /// Records this move in the line, if the thread has one.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn record(&self) {
        if let Some(line) = self.hands.line() {
            line.record_move::<L>(self.hand, self.hop());
        }
    }

    /// Frees the gate.
    fn leave(&self) {
        if let Some(line) = self.hands.line() {
            line.leave(self.hand);
        }
    }

    /// Frees the gate of the next hop, if the Erase has left a hole: in a filter that grows, the outline
    /// may belong to another plane. The next move begins with its own gate.
    fn leave_next(&self) {
        if let Some(line) = self.hands.line() {
            faulty!(line.leave(self.hand.other()), NextGateKept => ());
        }
    }

    /// What the Erase may leave. It leaves the outline of the next hop only if the gate of that has
    /// been taken: the outline is a mark like others.
    fn admitted(&self, fill: Fill) -> Fill {
        if let (Some(_), Fill::Outline(entry)) = (self.hands.line(), fill)
            && !self.enter(self.hand.other(), self.next_hop(entry))
        {
            return Fill::Hole;
        }
        fill
    }

    /// The next hop of the path, of `entry` into the slot that this one vacates.
    fn next_hop(&self, entry: Entry) -> Hop {
        let from = alternate(L::fingerprint(entry), self.from, self.table.buckets());
        Hop {
            entry,
            from,
            to: self.from,
        }
    }

    /// True if the source holds the resident and has no mark. Otherwise an outline would be useless.
    fn is_movable(&self) -> bool {
        let source = self.table.load_for_update(self.fingerprint(), self.from);
        self.is_movable_in(source.word())
    }

    fn is_movable_in(&self, source: Word<L>) -> bool {
        source.is_unmarked() && source.holds(self.entry)
    }

    /// Step 1, Outline: an empty slot of the destination becomes O. Returns false if there is none or
    /// the word is marked.
    fn outline(&self) -> bool {
        self.update(Step::Outline, self.to, |word| {
            word.plus_marked(self.entry, Mark::Outline)
        })
    }

    /// Step 2, Advance: notifies readers that have passed P. Returns false if the move has to give way
    /// to a thread that holds the stripe, or to a snapshot between the two buckets.
    fn advance(&self) -> bool {
        !self.stripe.advance() && self.may_cross()
    }

    /// True if no snapshot is between the two buckets.
    fn may_cross(&self) -> bool {
        let places = self.hands.places();
        self.frontiers.may_cross(places, self.from, self.to)
    }

    /// Step 3, Shadow: O becomes S. From here on a remove may kill the copy.
    fn shadow(&self) {
        self.update(Step::Shadow, self.to, |word| {
            is_found!(L, word.is_marked(Mark::Outline, self.entry))
                .then(|| word.remarked(Mark::Shadow))
        });
    }

    /// Step 4, Decide: the original becomes T, and the copy is the item from here on. Returns false
    /// if the original is gone or its word is marked.
    fn decide(&self) -> bool {
        self.update(Step::Decide, self.from, |word| {
            word.with_mark(self.entry, Mark::Trailing)
        })
    }

    /// Gives up the move: O or S becomes empty.
    fn retract(&self) {
        self.update(Step::Retract, self.to, |word| {
            let is_there = is_found!(
                L,
                word.is_marked(Mark::Outline, self.entry)
                    || word.is_marked(Mark::Shadow, self.entry)
            );
            is_there.then(|| word.without_marked())
        });
    }

    /// Step 5, Deliver: S becomes D, unless a remove has killed it.
    fn deliver(&self) {
        self.update(Step::Deliver, self.to, |word| {
            let delivered = || {
                let delivered = faulty!(
                    word.remarked(Mark::Delivered),
                    DeliverOldCount => word.marked_instead(self.entry, Mark::Delivered)
                );
                faulty!(
                    delivered,
                    DeliverOneCopy => {
                        let one = Word::<L>::entry_of(self.entry, 1);
                        word.marked_instead(one, Mark::Delivered)
                    }
                )
            };
            word.is_marked(Mark::Shadow, self.entry).then(delivered)
        });
    }

    /// Step 6, Erase: T becomes empty, or becomes `fill` if that belongs to the same plane of the
    /// bucket.
    fn erase(&self, fill: Fill) -> Left {
        self.erase_where(fill, |word, other| {
            let low_bits = |fingerprint: Fingerprint| fingerprint.low_bits(word.level());
            low_bits(self.fingerprint()) == low_bits(L::fingerprint(other))
        })
    }

    fn erase_where(&self, fill: Fill, fits: impl Fn(Word<L>, Entry) -> bool) -> Left {
        let mut left = Left::Hole;
        self.update(Step::Erase, self.from, |word| {
            left = Left::Hole;
            if !is_found!(L, word.is_marked(Mark::Trailing, self.entry)) {
                return None;
            }
            let (new, leaves) = match fill {
                Fill::Outline(next) if fits(word, next) => {
                    (word.marked_instead(next, Mark::Outline), Left::Filled)
                }
                Fill::Item(item) if fits(word, item) => {
                    (word.without_marked().plus(item), Left::Filled)
                }
                _ => (word.without_marked(), Left::Hole),
            };
            left = leaves;
            Some(new)
        });
        left
    }

    /// Step 7, Settle: D becomes unmarked, K becomes empty. In a counting filter the word may hold
    /// another slot of the class, with which D is joined.
    fn settle(&self) {
        let mut joined = None;
        self.update(Step::Settle, self.to, |word| {
            if word.is_marked(Mark::Delivered, self.entry) {
                let alone = word.unmarked();
                let new = alone.joined(self.entry);
                joined = Some((alone, new));
                Some(new)
            } else {
                joined = None;
                word.is_marked(Mark::Killed, self.entry)
                    .then(|| word.without_marked())
            }
        });
        if let Some((alone, new)) = joined {
            self.len.share_of(alone, new);
        }
    }

    /// Marks a copy that is in the destination already, as the last step of its move leaves it: D, which
    /// only this thread settles. No other thread then sets a mark in the word.
    pub(super) fn guard(&self) -> Withheld {
        if !self.enter(self.hand, self.hop()) {
            return Withheld::Gated;
        }
        let guarded = self.update(Step::Guard, self.to, |word| {
            word.with_mark(self.entry, Mark::Delivered)
        });
        when_faulty!(LineLate, self.record());
        if !guarded {
            self.leave();
            return Withheld::Lost;
        }
        Withheld::Done
    }

    /// Ends what [`guard`](Self::guard) has begun.
    pub(super) fn end_guard(&self) {
        self.settle();
        self.leave();
    }

    fn update(
        &self,
        step: Step,
        bucket: usize,
        change: impl FnMut(Word<L>) -> Option<Word<L>>,
    ) -> bool {
        self.table.update(step, self.fingerprint(), bucket, change)
    }
}

#[cfg(test)]
mod tests;

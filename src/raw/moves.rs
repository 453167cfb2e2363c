//! One move of a resident: seven named steps.
//!
//! | promise | a moved copy is in one of its two buckets throughout; a move is made once or undone |
//! |---|---|
//! | how | DESIGN, section 4, "A move" |
//! | why | PROOF, section 2, section 5 (L1, L2) |
//! | checked by | lookup, path, remove, visible, semi_sorted |
//! | break it | `cargo xtask break NoAdvance` |

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{RawFilter, frontier::Frontiers, version::Stripe};
use crate::{
    fault::faulty,
    step::Step,
    table::{
        Table,
        class::{Class, alternate},
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        word::{Bucket, Mark, Phases},
    },
};

/// One relocation of a resident to its alternate bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The resident.
    pub(crate) entry: Entry,
    /// The bucket that it is in.
    pub(crate) from: usize,
    /// Its alternate bucket.
    pub(crate) to: usize,
}

impl Hop {
    pub(crate) fn class<L: Layout>(self) -> Class {
        Class::of_pair(L::fingerprint(self.entry), self.from, self.to)
    }
}

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
/// remove; it finds them by state and entry, wherever the slots have gone.
pub(super) struct Move<'a, L> {
    table: &'a Table<L>,
    frontiers: &'a Frontiers,
    stripe: Stripe<'a>,
    entry: Entry,
    from: usize,
    to: usize,
}

impl<L: Layout> RawFilter<L> {
    /// Makes one move. If `outlined`, the previous hop has left the outline in `hop.to`. Returns
    /// `None` if the move was given up, in which case everything is as before.
    pub(crate) fn move_resident(&self, hop: Hop, outlined: bool, fill: Fill) -> Option<Left> {
        debug_assert!(
            hop.to == alternate(L::fingerprint(hop.entry), hop.from, self.table.buckets())
        );
        let resident = Move {
            table: &self.table,
            frontiers: &self.frontiers,
            stripe: self.versions.of(hop.class::<L>()),
            entry: hop.entry,
            from: hop.from,
            to: hop.to,
        };
        faulty!(resident.make(outlined, fill), in Move => wrong::make(&resident, outlined, fill))
    }
}

impl<L: Layout> Move<'_, L> {
    fn fingerprint(&self) -> Fingerprint {
        L::fingerprint(self.entry)
    }

    /// Makes all steps in order. Returns `None` if the move was given up.
    fn make(&self, outlined: bool, fill: Fill) -> Option<Left> {
        if !(outlined || self.is_movable() && self.outline()) {
            return None;
        }
        let decided = self.advance() && {
            self.shadow();
            self.decide()
        };
        if !decided {
            self.retract();
            return None;
        }
        self.deliver();
        let left = self.erase(fill);
        self.settle();
        Some(left)
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
        !self.stripe.advance() && self.frontiers.may_cross(self.from, self.to)
    }

    /// Step 3, Shadow: O becomes S. From here on a remove may kill the copy.
    fn shadow(&self) {
        self.update(Step::Shadow, self.to, |word| {
            debug_assert!(word.is_marked(Mark::Outline, self.entry));
            Some(word.remarked(Mark::Shadow))
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
            debug_assert!(
                word.is_marked(Mark::Outline, self.entry)
                    || word.is_marked(Mark::Shadow, self.entry)
            );
            Some(word.without_marked())
        });
    }

    /// Step 5, Deliver: S becomes D, unless a remove has killed it.
    fn deliver(&self) {
        self.update(Step::Deliver, self.to, |word| {
            word.is_marked(Mark::Shadow, self.entry)
                .then(|| word.remarked(Mark::Delivered))
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
            debug_assert!(word.is_marked(Mark::Trailing, self.entry));
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

    /// Step 7, Settle: D becomes unmarked, K becomes empty.
    fn settle(&self) {
        self.update(Step::Settle, self.to, |word| {
            if word.is_marked(Mark::Delivered, self.entry) {
                Some(word.unmarked())
            } else {
                word.is_marked(Mark::Killed, self.entry)
                    .then(|| word.without_marked())
            }
        });
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

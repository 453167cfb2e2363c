//! Making room: search a path, then move a hole back along it.

use crate::{
    error::InsertError,
    fault::{self, Fault},
    hash::Class,
    raw::RawFilter,
    raw::search::{Found, Hop, Search},
    step::Step,
    sync,
    table::grow::{Refusal, low_bits},
    table::layout::Layout,
    table::word::{Mark, Word},
};

/// Words that a search probes before it counts the filter's items: to count them
/// costs some fifty nanoseconds.
const LONG_SEARCH: usize = 16;

/// Rounds that an insert makes before it gives up: each but the last led to splits,
/// or failed because another thread was in the way.
const MAX_ROUNDS: usize = if sync::IN_MODEL { 3 } else { 64 };

/// The first of these rounds, in which a filter does not begin a level because moves
/// of other threads are in the way: as a rule those are nearly over.
const PATIENT_ROUNDS: usize = MAX_ROUNDS / 2;

/// A growable filter with more slots for each item has no room for the item because
/// of many copies or crafted keys, which a split does not pull apart. (With two
/// copies of each item in buckets of two slots, the worst case for which growth
/// is meant, levels begin at loads down to a tenth.)
const SLOTS_FOR_AN_ITEM: usize = 16;

/// What a move leaves in the slot that it vacates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    /// Nothing.
    Hole,
    /// The outline of the next hop's fingerprint.
    Outline(u64),
    /// The fingerprint for which the path was made.
    Item(u64),
}

/// What a move has left in the slot that it vacated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing.
    Hole,
    /// What it was to leave there.
    Fill,
}

impl<L: Layout> RawFilter<L> {
    /// [`claim`](Self::claim) with both buckets full.
    #[cold]
    pub(crate) fn insert_by_relocation(&self, class: Class) -> Result<(), InsertError> {
        let item = Fill::Item(class.fingerprint);
        for round in 0..MAX_ROUNDS {
            if self.round(round, class, &[class.p, class.q], item)? || self.claim(class) {
                return Ok(());
            }
        }
        Err(InsertError::Full)
    }

    /// Empties a slot of `home`, a bucket of the class, which was full.
    #[cold]
    pub(crate) fn make_room(&self, class: Class, home: usize) -> Result<(), InsertError> {
        for round in 0..MAX_ROUNDS {
            if self.has_vacancy(class.fingerprint, home)
                || self.round(round, class, &[home], Fill::Hole)?
            {
                return Ok(());
            }
        }
        Err(InsertError::Full)
    }

    /// True if there is an empty slot for `fingerprint` in `bucket`.
    fn has_vacancy(&self, fingerprint: u64, bucket: usize) -> bool {
        self.table
            .load_for_update(fingerprint, bucket)
            .word
            .has_vacancy()
    }

    /// One search, and the moves or the splits that it leads to. True if `last`
    /// is in one of the roots.
    fn round(
        &self,
        round: usize,
        class: Class,
        roots: &[usize],
        last: Fill,
    ) -> Result<bool, InsertError> {
        let mut search = Search::default();
        let wary = round > 0;
        let mut found = search.run(self, class.fingerprint, roots, wary);
        if found == Found::Nothing && !fault::is(Fault::FullUnchecked) {
            // The search probes a word and goes on: behind it a slot may have been
            // emptied, while the one on the path before it was filled.
            found = search.run(self, class.fingerprint, roots, wary);
        }
        if found == Found::Path {
            if self.relocate(search.hops(), last) {
                if search.visited() >= LONG_SEARCH {
                    self.grow_in_time(search.level);
                }
                return Ok(true);
            }
        } else if found != Found::Blocked
            || round >= PATIENT_ROUNDS
            || self.table.planes.is_growing(search.level)
        {
            match (self.grow(round % PATIENT_ROUNDS, &search, class), found) {
                (Ok(()), _) => return Ok(false),
                (Err(Refusal::Memory), _) => return Err(InsertError::Memory),
                (Err(Refusal::Full), Found::Blocked) => {}
                (Err(Refusal::Full), _) => return Err(InsertError::Full),
            }
        }
        // Another thread has been in the way; it may be waiting for a processor.
        sync::yield_now();
        Ok(false)
    }

    /// A path, but a long search: begins a level, if the filter holds as many items
    /// as it should. To fill it up to the last path would cost many such searches.
    #[cold]
    fn grow_in_time(&self, level: u32) {
        let planes = &self.table.planes;
        let due = self.due.get(level as usize);
        if due.is_some_and(|&due| self.len.sum() >= due) && !planes.is_growing(level) {
            // Without memory the filter fills up, and an insert says so then.
            let _ = planes.begin(level);
        }
    }

    /// No path: splits words that the search has seen, if that can help.
    fn grow(&self, round: usize, search: &Search, class: Class) -> Result<(), Refusal> {
        let full_of_class = |bucket| {
            let word = self.table.load_for_update(class.fingerprint, bucket).word;
            word.count(class.fingerprint) == L::SLOTS
        };
        if full_of_class(class.p) && full_of_class(class.q) {
            return Err(Refusal::Full);
        }
        let enough = |level: u32| {
            let slots = (self.table.buckets() * L::SLOTS) << level;
            self.len.is_at_least(slots.div_ceil(SLOTS_FOR_AN_ITEM))
        };
        self.table
            .planes
            .make_room(round, search.level, search.reached(), enough)
    }

    /// The error with which a call ends.
    #[cold]
    pub(crate) fn refused(&self, error: InsertError) -> InsertError {
        if error == InsertError::Full {
            self.counters.failed();
        }
        error
    }

    /// Moves the hole at the end of a path to its beginning and leaves `last`
    /// there; the last hop comes first. False if another thread got in the way;
    /// all is whole then, too.
    pub(crate) fn relocate(&self, hops: impl Iterator<Item = Hop>, last: Fill) -> bool {
        let mut hops = hops.peekable();
        let (mut length, mut filled) = (0, matches!(last, Fill::Hole));
        let mut outlined = false;
        while let Some(hop) = hops.next() {
            let fill = hops
                .peek()
                .map_or(last, |next| Fill::Outline(next.fingerprint));
            let Some(moved) = self.move_resident(hop, outlined, fill) else {
                filled = false;
                break;
            };
            length += 1;
            outlined = moved == Left::Fill;
            filled = outlined || matches!(fill, Fill::Hole);
        }
        if length > 0 {
            self.counters.relocated(length);
        }
        filled
    }

    /// One move. `outlined`: the move of the hop before left the outline in `hop.to`.
    /// `None` if it was given up, with everything as it was.
    pub(crate) fn move_resident(&self, hop: Hop, outlined: bool, fill: Fill) -> Option<Left> {
        let Hop {
            fingerprint,
            from,
            to,
        } = hop;
        let pair = Class::of_resident(fingerprint, from, self.table.buckets());
        debug_assert!(from != to && (pair.p, pair.q) == (from.min(to), from.max(to)));
        let movable = |word: Word<L>| {
            if word.is_unmarked() {
                word.find(fingerprint)
            } else {
                None
            }
        };

        if fault::is(Fault::EraseFirst) {
            self.table.update(Step::Erase, fingerprint, from, |word| {
                movable(word).map(|slot| word.without(slot))
            });
        }
        // 1. Outline the copy.
        let outline = |word: Word<L>| {
            let slot = if word.is_unmarked() {
                word.vacancy()
            } else {
                None
            }?;
            Some(word.with(slot, fingerprint).with_mark(slot, Mark::Outline))
        };
        let held_early = fault::is(Fault::HoldSeenEarly) && self.versions.is_held(pair.p);
        if !outlined {
            let movable = movable(self.table.load_for_update(fingerprint, from).word).is_some();
            if !(movable || fault::is(Fault::EraseFirst))
                || !self.table.update(Step::Outline, fingerprint, to, outline)
            {
                return None;
            }
        }
        // 2. Tell the readers that have passed P, and give way to who holds the
        // stripe, and to a snapshot between the two buckets.
        let advanced = !fault::is(Fault::NoAdvance) && !fault::is(Fault::AdvanceLate);
        let held = if advanced {
            self.versions.advance(pair.p)
        } else {
            self.versions.is_held(pair.p)
        };
        let held = match fault::is(Fault::HoldSeenEarly) {
            true => held_early,
            false => held && !fault::is(Fault::HoldIgnored),
        };
        let free = !held && self.frontiers.permit(from, to);
        // 3. Confirm the copy: a remove may kill it from here on.
        if free {
            self.table.update(Step::Shadow, fingerprint, to, |word| {
                debug_assert!(word.is_marked(Mark::Outline, fingerprint));
                Some(word.remarked(Mark::Shadow))
            });
        }
        // 4. Decide: from here on the copy is the item.
        let trail = |word: Word<L>| {
            let slot = movable(word)?;
            Some(match fault::is(Fault::NoTrailing) {
                true => word.without(slot),
                false => word.with_mark(slot, Mark::Trailing),
            })
        };
        let decided = free && self.table.update(Step::Decide, fingerprint, from, trail);
        if !(decided || fault::is(Fault::DecideBlindly) || fault::is(Fault::EraseFirst)) {
            if !fault::is(Fault::NoRetract) {
                self.table.update(Step::Retract, fingerprint, to, |word| {
                    debug_assert!(
                        word.is_marked(Mark::Outline, fingerprint)
                            || word.is_marked(Mark::Shadow, fingerprint)
                    );
                    Some(word.without_marked())
                });
            }
            return None;
        }
        // 5. Deliver, unless a remove has taken it.
        self.table.update(Step::Deliver, fingerprint, to, |word| {
            let delivered = match fault::is(Fault::NoDelivered) {
                true => word.unmarked(),
                false => word.remarked(Mark::Delivered),
            };
            word.is_marked(Mark::Shadow, fingerprint)
                .then_some(delivered)
        });
        if fault::is(Fault::SettleEarly) {
            self.settle(fingerprint, to);
        }
        // 6. Erase the original, or put into its slot what is to be there next:
        // if that belongs into the same plane of the bucket.
        let mut left = Left::Hole;
        if decided && !fault::is(Fault::NoTrailing) {
            self.table.update(Step::Erase, fingerprint, from, |word| {
                debug_assert!(word.is_marked(Mark::Trailing, fingerprint));
                let hole = word.without_marked();
                let fits = |other| {
                    low_bits(fingerprint ^ other, word.level()) == 0
                        || fault::is(Fault::FillAnyPlane)
                };
                let (new, leaves) = match fill {
                    Fill::Outline(next) if fits(next) => {
                        (hole.with(0, next).remarked(Mark::Outline), Left::Fill)
                    }
                    Fill::Item(item) if fits(item) => (hole.with(0, item), Left::Fill),
                    _ => (hole, Left::Hole),
                };
                left = leaves;
                Some(new)
            });
        }
        if fault::is(Fault::AdvanceLate) {
            self.versions.advance(pair.p);
        }
        // 7. Let go of the copy.
        self.settle(fingerprint, to);
        Some(left)
    }

    fn settle(&self, fingerprint: u64, to: usize) {
        self.table.update(Step::Settle, fingerprint, to, |word| {
            if word.is_marked(Mark::Delivered, fingerprint) {
                Some(word.unmarked())
            } else {
                word.is_marked(Mark::Killed, fingerprint)
                    .then(|| word.without_marked())
            }
        });
    }
}

#[cfg(test)]
mod tests;

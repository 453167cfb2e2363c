//! Making room: search a path, then move a hole back along it.
//!
//! | promise | a path is followed without a gap; a failed insert leaves no mark |
//! |---|---|
//! | how | DESIGN, section 5 |
//! | why | PROOF, section 8 |
//! | checked by | path, insert, growth_insert |
//! | break it | `cargo xtask break NoRetract` |

use super::{
    RawFilter,
    moves::{Fill, Hop, Left},
    search::{Found, Search},
};
use crate::{
    error::InsertError,
    fault::faulty,
    sync,
    table::{
        Refusal,
        class::Class,
        entry::{Entry, Fingerprint},
        layout::Layout,
        time::{Moment, Time},
        word::Bucket,
    },
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

/// Twos by which the chunks multiply, at most, that an insert scans in one round.
const MOST_HELPED: usize = 20;

/// A growable filter with more slots for each item has no room for the item because
/// of many copies or crafted keys, which a split does not pull apart. (With two
/// copies of each item in buckets of two slots, the worst case for which growth
/// is meant, levels begin at loads down to a tenth.)
const SLOTS_FOR_AN_ITEM: usize = 16;

impl<L: Layout> RawFilter<L> {
    /// [`claim`](Self::claim) with both buckets full.
    #[cold]
    pub(crate) fn insert_by_relocation(
        &self,
        class: Class,
        entry: Entry,
    ) -> Result<(), InsertError> {
        if self.expire_pair(class) && self.claim(class, entry) {
            return Ok(());
        }
        self.make_room(class, Fill::Item(entry), || self.claim(class, entry))
    }

    /// Empties a slot of one of the buckets of the class, which were full.
    #[cold]
    pub(super) fn vacate(&self, class: Class) -> Result<(), InsertError> {
        if self.expire_pair(class) {
            return Ok(());
        }
        let has_vacancy = |bucket| self.has_vacancy(class.fingerprint, bucket);
        self.make_room(class, Fill::Hole, || {
            has_vacancy(class.p) || has_vacancy(class.q)
        })
    }

    /// Rounds, until one leaves `fill` in one of the buckets of the class, or `until` holds
    /// after one.
    fn make_room(
        &self,
        class: Class,
        fill: Fill,
        until: impl Fn() -> bool,
    ) -> Result<(), InsertError> {
        let mut search = Search::default();
        for round in 0..MAX_ROUNDS {
            match self.round(&mut search, round, class, fill) {
                Ok(false) if !until() => {}
                Ok(_) => return Ok(()),
                Err(Refusal::Memory) => return Err(InsertError::Memory),
                Err(Refusal::Full) => return Err(self.why_full(class)),
            }
        }
        Err(match self.why_full(class) {
            InsertError::Full if search.was_parted() => InsertError::BlockedByScan,
            error => error,
        })
    }

    /// Why there is no room for the class: copies of it fill both words, or the filter is full.
    #[cold]
    fn why_full(&self, class: Class) -> InsertError {
        match self.is_full_of_copies(class) {
            true => InsertError::TooManyCopies,
            false => InsertError::Full,
        }
    }

    /// True if live copies of the class fill both of its words.
    fn is_full_of_copies(&self, class: Class) -> bool {
        let now = self.time.now();
        [class.p, class.q].into_iter().all(|bucket| {
            let word = self.table.load_for_update(class.fingerprint, bucket).word();
            now.count_in(word, class.fingerprint) == word.slots()
        })
    }

    /// True if there is an empty slot for `fingerprint` in `bucket`.
    fn has_vacancy(&self, fingerprint: Fingerprint, bucket: usize) -> bool {
        self.table
            .load_for_update(fingerprint, bucket)
            .word()
            .has_vacancy()
    }

    /// One search, and the moves or the splits that it leads to. True if `fill`
    /// is in one of the buckets of the class.
    fn round(
        &self,
        search: &mut Search,
        round: usize,
        class: Class,
        fill: Fill,
    ) -> Result<bool, Refusal> {
        let roots = [class.p, class.q];
        let wary = round > 0;
        let mut found = search.run(self, class.fingerprint, &roots, wary);
        let nothing = found == Found::Nothing;
        if faulty!(nothing, FullUnchecked => false) {
            // The search probes one word after the other. Behind it a slot may have been emptied,
            // while the one on the path before it was filled.
            found = search.run(self, class.fingerprint, &roots, wary);
        }
        if found == Found::Path {
            if self.relocate(search.hops(), fill) {
                if search.visited() >= LONG_SEARCH {
                    self.grow_in_time(search.level);
                }
                return Ok(true);
            }
        } else {
            if found != Found::Blocked || self.may_grow_when_blocked(round, search) {
                match (self.grow(round, search, class), found) {
                    (Ok(()), _) => return Ok(false),
                    (Err(Refusal::Full), Found::Blocked) => {}
                    (Err(refusal), _) => return Err(refusal),
                }
            }
            // Twice as far in each round: where that does not help, no frontier is left.
            if search.was_parted() && self.help_scans(1 << round.min(MOST_HELPED)) {
                return Ok(false);
            }
        }
        // Another thread has been in the way; it may be waiting for a processor.
        sync::yield_now();
        Ok(false)
    }

    /// True if words may be split though only other threads are in the way. A scan alone begins no
    /// level: the filter would stay larger than its items ask for.
    fn may_grow_when_blocked(&self, round: usize, search: &Search) -> bool {
        let level = search.level;
        self.table.is_growing(level)
            || round >= PATIENT_ROUNDS
                && level != self.table.levels().last()
                && (!search.was_parted() || self.len.sum() >= self.grow_at_level(level))
    }

    /// The number of items with which the level after `level` is to begin.
    fn grow_at_level(&self, level: u32) -> usize {
        (self.grow_at)(self.table.buckets(), self.table.levels(), level)
    }

    /// A path, but a long search: begins a level, if the filter holds as many items
    /// as it should. To fill it up to the last path would cost many such searches.
    #[cold]
    fn grow_in_time(&self, level: u32) {
        if level == self.table.levels().last() || self.table.is_growing(level) {
            return;
        }
        if self.len.sum() >= self.grow_at_level(level) {
            // Without memory the filter fills up, and an insert says so then.
            let _ = self.table.begin_level(level);
            self.len.grow(self.table.words());
        }
    }

    /// No path: splits words that the search has seen, if that can help.
    fn grow(&self, round: usize, search: &Search, class: Class) -> Result<(), Refusal> {
        if self.is_full_of_copies(class) {
            return Err(Refusal::Full);
        }
        let enough = |level: u32| {
            let slots = self.table.words_at(level) * L::slots_at(level);
            self.len.is_at_least(slots.div_ceil(SLOTS_FOR_AN_ITEM))
        };
        // Twice as far in each round: an insert ends the level rather than give up. (From the
        // patient rounds on it begins at one run again.)
        #[cfg_attr(any(guira_loom, guira_shuttle), expect(clippy::modulo_one))] // 1 in a model
        let runs = 1 << (round % PATIENT_ROUNDS);
        let split = self
            .table
            .split_reached(runs, search.level, search.reached::<L>(), enough);
        self.len.grow(self.table.words());
        split
    }

    /// Moves the hole at the end of a path to its beginning and leaves `last`
    /// there; the last hop comes first. False if another thread got in the way;
    /// all is whole then, too.
    pub(crate) fn relocate(&self, hops: impl Iterator<Item = Hop>, last: Fill) -> bool {
        let mut hops = hops.peekable();
        let (mut length, mut filled) = (0, matches!(last, Fill::Hole));
        let mut outlined = false;
        while let Some(hop) = hops.next() {
            let fill = hops.peek().map_or(last, |next| Fill::Outline(next.entry));
            let Some(moved) = self.move_resident(hop, outlined, fill) else {
                filled = false;
                break;
            };
            length += 1;
            outlined = moved == Left::Filled;
            filled = outlined || matches!(fill, Fill::Hole);
        }
        if length > 0 {
            self.counters.relocated(length);
        }
        filled
    }
}

#[cfg(test)]
mod tests;

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
    crew::{Alone, Crew, Hand, Hands, TakenLine},
    moves::{Fill, Hop, Left},
    search::{Found, Search},
};
use crate::{
    error::InsertError,
    fault::faulty,
    geometry,
    memory::Storage,
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

/// The number of probes after which a search counts the filter's items, which costs about fifty
/// nanoseconds.
const LONG_SEARCH: usize = 16;

/// The maximum number of rounds of an insert. Each round but the last led to splits, or failed
/// because of another thread.
const MAX_ROUNDS: usize = if sync::IN_MODEL { 3 } else { 64 };

/// The round after which an insert ends what dead processes have begun, however short ago this
/// process has done so: there is one more round.
const LAST_REPAIR: usize = MAX_ROUNDS - 2;

/// The number of first rounds in which moves of other threads do not begin a level: these moves
/// usually end soon.
const PATIENT_ROUNDS: usize = MAX_ROUNDS / 2;

/// The maximum number of times that the number of chunks scanned in one round doubles.
const MOST_HELPED: usize = 20;

/// The number of slots per item above which a growable filter does not grow to make room. It then
/// lacks room because of many copies or crafted keys, which a split does not separate. (The worst
/// case that growth is designed for is two copies of each item in buckets of two slots, where levels
/// begin at loads down to a tenth.)
///
/// Words of one slot may be emptier: two copies of an item fill both words of its pair. No filter ends
/// with these words.
const SLOTS_FOR_AN_ITEM: usize = 16;

/// What a round of an insert has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// The fill is in one of the buckets of the class.
    Filled,
    /// Words were split, or chunks were read for a scan.
    Prepared,
    /// Nothing, because another thread was in the way.
    Disturbed,
}

impl<L: Layout> RawFilter<L> {
    /// [`claim`](Self::claim) for full buckets. The copy counts as a slot. An error is counted.
    #[cold]
    pub(crate) fn insert_by_relocation(
        &self,
        class: Class,
        entry: Entry,
    ) -> Result<(), InsertError> {
        let inserted = if !L::Storage::SHARED {
            self.insert_by(Alone, class, entry)
        } else if let Some(crew) = self.crew() {
            self.insert_by_line(crew, class, entry)
        } else {
            self.insert_alone_in_words(class, entry)
        };
        inserted.map_err(|error| self.count_failure(error))
    }

    /// [`insert_by`](Self::insert_by) in words that no other process has. It is apart, because a
    /// search takes up several pages of the stack, which each frame touches one by one.
    #[cold]
    #[inline(never)]
    fn insert_alone_in_words(&self, class: Class, entry: Entry) -> Result<(), InsertError> {
        self.insert_by(Alone, class, entry)
    }

    #[inline(always)]
    fn insert_by(&self, hands: impl Hands, class: Class, entry: Entry) -> Result<(), InsertError> {
        let claim = || self.claim_as_slot(class, entry);
        if self.expire_pair(hands, class) && claim() {
            return Ok(());
        }
        self.make_room(hands, class, Fill::Item(entry), claim)
    }

    /// [`insert_by_relocation`](Self::insert_by_relocation) in a filter that processes share.
    #[cold]
    #[inline(never)]
    fn insert_by_line(&self, crew: &Crew, class: Class, entry: Entry) -> Result<(), InsertError> {
        let Some(taken) = self.take_line(crew) else {
            return Err(InsertError::TooManyInFlight);
        };
        self.insert_by(&taken.for_moves(), class, entry)
    }

    /// [`claim`](Self::claim) for a copy that is counted as a slot.
    fn claim_as_slot(&self, class: Class, entry: Entry) -> bool {
        let claimed = self.claim(class, entry);
        claimed.map(|copy| self.len.share(copy)).is_some()
    }

    /// A line for this thread. There is none if too many calls are in flight.
    #[inline(always)]
    pub(super) fn take_line<'a>(&self, crew: &'a Crew) -> Option<TakenLine<'a>> {
        crew.take_line().or_else(|| self.take_line_again(crew))
    }

    /// A line for this thread after a repair, which frees the seats of dead processes.
    #[cold]
    #[inline(never)]
    fn take_line_again<'a>(&self, crew: &'a Crew) -> Option<TakenLine<'a>> {
        self.repair_dead(false);
        crew.take_line()
    }

    /// Empties a slot of one of the buckets of the class, which were full.
    #[cold]
    pub(super) fn vacate(&self, hands: impl Hands, class: Class) -> Result<(), InsertError> {
        if self.expire_pair(hands, class) {
            return Ok(());
        }
        let has_vacancy = |bucket| self.has_vacancy(class.fingerprint, bucket);
        self.make_room(hands, class, Fill::Hole, || {
            has_vacancy(class.p) || has_vacancy(class.q)
        })
    }

    /// Makes rounds until one of them stores `fill` in a bucket of the class, or until `until` holds
    /// after one.
    fn make_room(
        &self,
        hands: impl Hands,
        class: Class,
        fill: Fill,
        until: impl Fn() -> bool,
    ) -> Result<(), InsertError> {
        let mut search = Search::default();
        let mut last = Round::Prepared;
        for round in 0..MAX_ROUNDS {
            last = match self.round(hands, &mut search, round, class, fill)? {
                Round::Filled => return Ok(()),
                _ if until() => return Ok(()),
                other => other,
            };
        }
        let disturbed = last == Round::Disturbed;
        Err(if self.is_full_of_copies(class) {
            InsertError::TooManyCopies
        } else if search.was_parted() {
            InsertError::BlockedByScan
        } else if faulty!(disturbed, FullWhenDisturbed => false) {
            InsertError::Contended
        } else {
            InsertError::Full
        })
    }

    /// True if a slot of one of its words is occupied by another class.
    fn has_others(&self, class: Class) -> bool {
        let is_other = |entry| L::fingerprint(entry) != class.fingerprint;
        [class.p, class.q].into_iter().any(|bucket| {
            let word = self.table.load_for_update(class.fingerprint, bucket).word();
            let is_marked = !word.is_unmarked() && word.mark_of(class.fingerprint).is_none();
            is_marked || word.residents(class.fingerprint).any(is_other)
        })
    }

    /// True if live copies of the class fill both of its words, and no counter has room for one seen now.
    fn is_full_of_copies(&self, class: Class) -> bool {
        let (now, fingerprint) = (self.time.now(), class.fingerprint);
        [class.p, class.q].into_iter().all(|bucket| {
            let word = self.table.load_for_update(fingerprint, bucket).word();
            let is_copy = |&entry: &_| L::fingerprint(entry) == fingerprint && now.is_live(entry);
            let slots = word.residents(fingerprint).filter(is_copy).count();
            slots == word.slots() && !word.has_counter(now.entry(fingerprint))
        })
    }

    /// True if there is an empty slot for `fingerprint` in `bucket`.
    fn has_vacancy(&self, fingerprint: Fingerprint, bucket: usize) -> bool {
        self.table
            .load_for_update(fingerprint, bucket)
            .word()
            .has_vacancy()
    }

    /// Makes one search, and the moves or splits that it leads to.
    #[inline(always)]
    fn round(
        &self,
        hands: impl Hands,
        search: &mut Search,
        round: usize,
        class: Class,
        fill: Fill,
    ) -> Result<Round, InsertError> {
        let roots = [class.p, class.q];
        let wary = round > 0;
        let mut found = search.run(self, hands, class.fingerprint, &roots, wary);
        let nothing = found == Found::Nothing;
        if faulty!(nothing, FullUnchecked => false) {
            // While the search probes one word after the other, a slot that it has passed may have
            // been emptied, and a slot on the path filled.
            found = search.run(self, hands, class.fingerprint, &roots, wary);
        }
        if found == Found::Path {
            if self.relocate(hands, search.hops(), fill) {
                if search.visited() >= LONG_SEARCH {
                    self.grow_in_time(search.level);
                }
                return Ok(Round::Filled);
            }
        } else if faulty!(!self.has_others(class), GrowForCopies => self.is_full_of_copies(class)) {
            // A split would not help. A concurrent remove may have made room since the search.
            if self.is_full_of_copies(class) {
                return Err(InsertError::TooManyCopies);
            }
            self.expire_pair(hands, class);
        } else {
            if found != Found::Blocked || self.may_grow_when_blocked(round, search) {
                match (self.grow(round, search), found) {
                    (Ok(()), _) => return Ok(Round::Prepared),
                    (Err(Refusal::Full), Found::Blocked) => {}
                    (Err(refusal), _) => return Err(refusal.into()),
                }
            }
            // Twice the number of chunks in each round: if that does not help, no scan is left.
            if search.was_parted() && self.help_scans(1 << round.min(MOST_HELPED)) {
                return Ok(Round::Prepared);
            }
        }
        if hands.line().is_some() && (round == 1 || round == LAST_REPAIR) {
            self.repair_dead(round == LAST_REPAIR);
        }
        // The other thread may be waiting for a processor.
        sync::yield_now();
        Ok(Round::Disturbed)
    }

    /// True if words may be split although only other threads have interfered. Scans alone do not
    /// begin a level, because the filter would stay larger than its items require.
    fn may_grow_when_blocked(&self, round: usize, search: &Search) -> bool {
        let level = search.level;
        self.table.is_growing(level)
            || round >= PATIENT_ROUNDS
                && level != self.table.levels().last()
                && (!search.was_parted() || self.len.slots() >= self.grow_at_level(level))
    }

    /// The number of items at which the level after `level` begins.
    fn grow_at_level(&self, level: u32) -> usize {
        match self.table.begins_early() {
            true => geometry::grow_at::<L>(self.table.buckets(), self.table.levels(), level),
            false => usize::MAX,
        }
    }

    /// Begins a level after a long search that found a path, if the filter holds enough items.
    /// Filling it up to the last path would cost many more such searches.
    #[cold]
    fn grow_in_time(&self, level: u32) {
        if level == self.table.levels().last() || self.table.is_growing(level) {
            return;
        }
        if self.len.slots() >= self.grow_at_level(level) {
            // Without memory the filter fills up, and a later insert reports it.
            let _ = self.table.begin_level(level);
            self.len.grow(self.table.words());
        }
    }

    /// Splits words that the search has seen, if that can help a search without a path.
    fn grow(&self, round: usize, search: &Search) -> Result<(), Refusal> {
        let enough = |level: u32| {
            let slots = self.table.words_at(level) * L::slots_at(level);
            L::slots_at(level) == 1 || self.len.uses_at_least(slots.div_ceil(SLOTS_FOR_AN_ITEM))
        };
        // Twice the number of runs in each round, because an insert completes the level rather than give
        // up. The count restarts at one run with the patient rounds.
        #[cfg_attr(any(guira_loom, guira_shuttle), expect(clippy::modulo_one))] // 1 in a model
        let runs = 1 << (round % PATIENT_ROUNDS);
        let split = self
            .table
            .split_reached(runs, search.level, search.reached::<L>(), enough);
        self.len.grow(self.table.words());
        split
    }

    /// Moves the hole at the end of a path to its beginning and stores `last` there. Hops are given
    /// from the last to the first. Returns false if another thread interfered; no item is lost then.
    #[inline(always)]
    pub(crate) fn relocate(
        &self,
        hands: impl Hands,
        hops: impl Iterator<Item = Hop>,
        last: Fill,
    ) -> bool {
        let mut hops = hops.peekable();
        let (mut length, mut filled) = (0, matches!(last, Fill::Hole));
        let (mut hand, mut outlined) = (Hand::First, false);
        while let Some(hop) = hops.next() {
            let fill = hops.peek().map_or(last, |next| Fill::Outline(next.entry));
            let Some(moved) = self.move_by(hands, hand, hop, outlined, fill) else {
                filled = false;
                break;
            };
            length += 1;
            hand = hand.other();
            outlined = moved == Left::Filled;
            filled = outlined || matches!(fill, Fill::Hole);
        }
        if length > 0 {
            self.counters().relocated(length);
        }
        filled
    }
}

#[cfg(test)]
mod tests;

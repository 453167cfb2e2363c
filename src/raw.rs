//! The filter's operations on classes, in one layout: the protocol.
//!
//! `docs/DESIGN.md` has the states and the operations, `docs/PROOF.md` the proof and what
//! pairs with what; the names of the steps there are the [`Step`]s here.

pub(crate) mod any;
pub(crate) mod batch;
pub(crate) mod frontier;
pub(crate) mod len;
pub(crate) mod relocate;
pub(crate) mod search;
pub(crate) mod token;
mod unique;
pub(crate) mod version;

use crate::{
    error::InsertError,
    fault::{self, Fault},
    hash::Class,
    raw::frontier::{Frontiers, chunk_buckets},
    raw::len::Len,
    raw::version::{Version, Versions},
    stats::Counters,
    step::Step,
    table::layout::Layout,
    table::word::{Mark, Word},
    table::{Loaded, Table},
};
use std::hint::select_unpredictable;

/// Attempts of a lookup, after the last of which it answers true.
pub(crate) const ATTEMPTS: usize = 8;

/// The buckets of one filter with all that the protocol needs.
pub(crate) struct RawFilter<L> {
    pub(crate) table: Table<L>,
    pub(crate) versions: Versions,
    pub(crate) frontiers: Frontiers,
    pub(crate) len: Len,
    /// Items with which the level after each level is to begin.
    pub(crate) due: Box<[usize]>,
    /// Apart, as writers write it: lookups read the line that all this lies on.
    pub(crate) counters: Box<Counters>,
}

impl<L: Layout> RawFilter<L> {
    /// An empty filter of `buckets` buckets that can double `levels` times;
    /// `None` if there is no memory.
    pub(crate) fn new(buckets: usize, levels: u32) -> Option<Self> {
        Self::with_table(Table::new(buckets, levels)?)
    }

    /// The filter whose words are those of `table`, none of them counted yet.
    pub(crate) fn with_table(table: Table<L>) -> Option<Self> {
        let (buckets, levels) = (table.buckets(), table.planes.max_level());
        Some(Self {
            versions: Versions::new(buckets)?,
            frontiers: Frontiers::new(chunk_buckets(levels)),
            len: Len::new(buckets << levels),
            due: Box::default(),
            counters: Box::default(),
            table,
        })
    }

    /// The filter that begins a level in time, not only when it has no room left.
    pub(crate) fn growing_when(self, due: Box<[usize]>) -> Self {
        Self { due, ..self }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Counters>()
            + size_of_val(&*self.due)
            + self.table.planes.bytes()
            + self.versions.bytes()
            + self.len.bytes()
    }

    #[inline(always)]
    pub(crate) fn class(&self, hash: u64) -> Class {
        Class::of_hash::<L>(hash, self.table.buckets())
    }

    // contains

    /// True if the class is present. Wait-free; writes nothing but the counters of the
    /// rare cases.
    ///
    /// A match in quiet words is a copy, whichever plane counts; no match is none in
    /// the words that count, if no relocation towards P came between. All else is rare.
    #[inline(always)]
    pub(crate) fn contains(&self, class: Class) -> bool {
        let table = self.table.view();
        let version = self.versions.observe(class.p);
        let (p, q, hint) = table.load_pair_at_hint(class.fingerprint, class.p, class.q);
        if Word::either_matches(p, q, class.fingerprint) {
            Word::both_quiet(p, q) || self.contains_again(class.fingerprint, class.p, class.q)
        } else if !(Word::both_in_phase(p, q, hint) || fault::is(Fault::ContainsAnyPlane)) {
            self.contains_elsewhere(class.fingerprint, class.p, class.q)
        } else {
            let valid = version.validate();
            !(valid || fault::is(Fault::ContainsNoValidate))
                && self.contains_again(class.fingerprint, class.p, class.q)
        }
    }

    /// A level is being swept: an attempt among the words that count.
    #[cold]
    fn contains_elsewhere(&self, fingerprint: u64, p: usize, q: usize) -> bool {
        self.try_contains(Class { fingerprint, p, q })
            .unwrap_or_else(|| self.contains_again(fingerprint, p, q))
    }

    /// A relocation crossed the lookup's way: all further attempts.
    ///
    /// The class comes in parts, as they fit into registers: whole, it would be
    /// stored to memory on the fast path.
    #[cold]
    fn contains_again(&self, fingerprint: u64, p: usize, q: usize) -> bool {
        let class = Class { fingerprint, p, q };
        self.counters.retried();
        for _ in 1..fault::attempts(ATTEMPTS) {
            if let Some(present) = self.try_contains(class) {
                return present;
            }
        }
        // One-sided: an answer true without proof costs a false positive at most.
        self.counters.conservative();
        true
    }

    /// One attempt: `None` if the words changed under it.
    fn try_contains(&self, class: Class) -> Option<bool> {
        let version = self.versions.observe(class.p);
        let p = self.load(Step::ReadP, class.fingerprint, class.p);
        let q = self.load(Step::ReadQ, class.fingerprint, class.q);
        if holds_copy(p, class.fingerprint) || holds_copy(q, class.fingerprint) {
            return Some(true);
        }
        let mark = |word: Word<L>| word.mark_of(class.fingerprint);
        let undecided = mark(p).is_some() || mark(q).is_some();
        if undecided && fault::is(Fault::ContainsTrustsMarks) {
            return Some(true);
        }
        if undecided && !self.unchanged(class, p, q) && !fault::is(Fault::ContainsNoReread) {
            return None;
        }
        let valid = version.validate();
        if !valid && !fault::is(Fault::ContainsNoValidate) {
            return None;
        }
        copies(p, q, class.fingerprint).map(|copies| copies > 0)
    }

    /// A reader's load, without another thread's reservation.
    fn load(&self, step: Step, fingerprint: u64, bucket: usize) -> Word<L> {
        self.table
            .load(step, fingerprint, bucket)
            .without_reservation()
    }

    /// True if both words are, once more, what they were.
    fn unchanged(&self, class: Class, p: Word<L>, q: Word<L>) -> bool {
        self.load(Step::RereadP, class.fingerprint, class.p) == p
            && self.load(Step::RereadQ, class.fingerprint, class.q) == q
    }

    // count

    /// The number of copies of the class at one moment during the call, if they are only
    /// moved meanwhile (PROOF, section 11).
    pub(crate) fn count(&self, class: Class) -> usize {
        loop {
            let version = self.versions.observe(class.p);
            let p = self.load(Step::ReadP, class.fingerprint, class.p);
            let q = self.load(Step::ReadQ, class.fingerprint, class.q);
            let p_again = self.load(Step::RereadP, class.fingerprint, class.p);
            let q_again = self.load(Step::RereadQ, class.fingerprint, class.q);
            let valid = (p == p_again || fault::is(Fault::CountNoRereadP))
                && (q == q_again || fault::is(Fault::CountNoRereadQ))
                && (version.validate() || fault::is(Fault::CountNoValidate));
            if let (true, Some(copies)) = (valid, copies(p, q, class.fingerprint)) {
                return copies;
            }
            crate::sync::yield_in_model();
        }
    }

    // insert

    /// Adds a copy of the class. After an error no item has come or gone. Lock-free.
    #[inline]
    pub(crate) fn insert(&self, class: Class) -> Result<(), InsertError> {
        if !self.claim(class) {
            self.insert_by_relocation(class)
                .map_err(|error| self.refused(error))?;
        }
        self.len.add(1);
        self.table.planes.sweep_some();
        Ok(())
    }

    /// Claims an empty slot in either bucket; false if there is none.
    #[inline]
    pub(crate) fn claim(&self, class: Class) -> bool {
        let table = self.table.view();
        // The emptier bucket; of two equal ones a random one, which the
        // fingerprint's lowest bit is.
        let (one, other) = match class.fingerprint & 1 {
            0 => (class.p, class.q),
            _ => (class.q, class.p),
        };
        loop {
            let (one, other) = table.load_pair_for_update(class.fingerprint, one, other);
            // Without a branch, which nobody could foresee.
            let into = select_unpredictable(one.word.is_fuller_than(other.word), other, one);
            let new = into.word.plus(class.fingerprint);
            if new == into.word {
                return false;
            }
            if into.replace(Step::Claim, new) || fault::is(Fault::ClaimUnchecked) {
                return true;
            }
        }
    }

    // remove

    /// Takes one copy of the class. False: there was none. Lock-free.
    #[inline]
    pub(crate) fn remove(&self, class: Class) -> bool {
        let removed = loop {
            if let Some(removed) = self.try_remove(class) {
                break removed;
            }
            crate::sync::yield_in_model();
        };
        if removed {
            self.len.subtract(1);
        }
        removed
    }

    /// One attempt: `None` if another thread was faster.
    #[inline]
    fn try_remove(&self, class: Class) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let version = self.versions.observe(class.p);
        // P first, and from Q only if P held no copy: a reader that has passed P
        // already must still find in Q what is left.
        let (p, q) = if fault::is(Fault::RemoveHigherFirst) {
            (class.q, class.p)
        } else {
            (class.p, class.q)
        };
        let (p, q) = self.table.view().load_pair_for_update(fingerprint, p, q);
        if !(p.word.is_unmarked() && q.word.is_unmarked()) {
            return self.remove_among_marks(class, version, p, q);
        }
        let p = (p, p.word.minus(fingerprint));
        let q = (q, q.word.minus(fingerprint));
        let in_p = p.1 != p.0.word;
        let (from, new) = select_unpredictable(in_p, p, q);
        if new == from.word {
            let valid = version.validate();
            return (valid || fault::is(Fault::RemoveNoValidate)).then_some(false);
        }
        from.replace(Step::Take, new).then_some(true)
    }

    /// [`try_remove`](Self::try_remove) where a move is under way.
    #[cold]
    fn remove_among_marks(
        &self,
        class: Class,
        version: Version<'_>,
        first: Loaded<'_, L>,
        second: Loaded<'_, L>,
    ) -> Option<bool> {
        if let Some(from) = [first, second]
            .into_iter()
            .find(|loaded| holds_copy(loaded.word, class.fingerprint))
        {
            return take(from, class.fingerprint);
        }
        let marks = [first, second].map(|loaded| loaded.word.mark_of(class.fingerprint));
        match marks {
            _ if fault::is(Fault::RemoveIgnoresMarks) => {}
            [Some(Mark::Shadow), Some(Mark::Trailing)] => return self.kill_shadow(class, class.p),
            [Some(Mark::Trailing), Some(Mark::Shadow)] => return self.kill_shadow(class, class.q),
            _ => {}
        }
        // Without a mark of the class the version says enough, as without any.
        if marks != [None, None]
            && !self.unchanged(class, first.word, second.word)
            && !fault::is(Fault::RemoveNoReread)
        {
            return None;
        }
        let valid = version.validate();
        (valid || fault::is(Fault::RemoveNoValidate)).then_some(false)
    }

    /// Takes an item whose move is decided but not delivered: T stands, and the
    /// item is the S in `to`, which becomes K.
    ///
    /// The exchange sees only S. That T stands, of the same move, is known by the
    /// order: hold, S, T. Had another mover set the S that is exchanged, or the T,
    /// it would have set its outline after S was read here, and would have found
    /// the stripe held when it announced itself (PROOF, L6).
    fn kill_shadow(&self, class: Class, to: usize) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let from = if to == class.p { class.q } else { class.p };
        let hold = if fault::is(Fault::KillNoHold) {
            None
        } else {
            Some(self.versions.hold(class.p)?)
        };
        let shadow = self.table.load_for_update(fingerprint, to);
        let decided = shadow.word.is_marked(Mark::Shadow, fingerprint)
            && self
                .table
                .load_for_update(fingerprint, from)
                .word
                .is_marked(Mark::Trailing, fingerprint);
        let killed = decided && kill(shadow);
        drop(hold);
        killed.then_some(true)
    }
}

/// Takes the copy that the word holds: unmarked becomes empty, D becomes K.
fn take<L: Layout>(loaded: Loaded<'_, L>, fingerprint: u64) -> Option<bool> {
    let new = loaded.word.minus(fingerprint);
    let taken = if new == loaded.word {
        kill(loaded)
    } else {
        loaded.replace(Step::Take, new)
    };
    taken.then_some(true)
}

/// S or D becomes K, so that its mover will empty it.
fn kill<L: Layout>(loaded: Loaded<'_, L>) -> bool {
    let killed = match fault::is(Fault::RemoveNoKilled) {
        true => loaded.word.without_marked(),
        false => loaded.word.remarked(Mark::Killed),
    };
    loaded.replace(Step::Kill, killed)
}

/// True if the word holds a live copy by itself: unmarked or D.
#[inline]
pub(crate) fn holds_copy<L: Layout>(word: Word<L>, fingerprint: u64) -> bool {
    word.find(fingerprint).is_some() || word.is_marked(Mark::Delivered, fingerprint)
}

/// The copies of the class in its two words: unmarked, D, and S with T.
/// `None` if the words cannot have stood together.
pub(crate) fn copies<L: Layout>(p: Word<L>, q: Word<L>, fingerprint: u64) -> Option<usize> {
    let unmarked = p.count(fingerprint) + q.count(fingerprint);
    let (p, q) = (p.mark_of(fingerprint), q.mark_of(fingerprint));
    Some(unmarked + marked_copies(p, q)? + marked_copies(q, p)?)
}

/// The copies that the mark in `here` stands for, with the mark in `there`.
fn marked_copies(here: Option<Mark>, there: Option<Mark>) -> Option<usize> {
    match (here, there) {
        (Some(Mark::Delivered), _) => Some(1),
        (Some(Mark::Trailing), Some(Mark::Shadow)) => Some(1),
        // The item is, or was until it was taken, at the other end.
        (Some(Mark::Trailing), Some(Mark::Delivered | Mark::Killed)) => Some(0),
        (Some(Mark::Trailing), _) => None,
        // A shadow counts through its T; what is killed is gone.
        (Some(Mark::Outline | Mark::Shadow | Mark::Killed) | None, _) => Some(0),
    }
}

#[cfg(test)]
pub(crate) mod tests;

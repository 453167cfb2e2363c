//! lower: removes the copies of a class that an intersection or a difference does not keep.
//!
//! | promise | no copy goes unless as many stay as the other filter has; a class that the other one lacks goes |
//! |---|---|
//! | how | DESIGN, section 8, "Intersection and difference" |
//! | why | PROOF, section 10 (L13) |
//! | checked by | intersection, expire_intersection |
//! | break it | `cargo xtask break LowerUnguarded` |
//!
//! A copy may go only while enough others stay. If all of them are in one word, one exchange says so. If
//! they are in both words, the call marks a copy in P and then one in Q as D: it *guards* them. Then no
//! move carries a copy of the class away, and a remove takes the one in P before it takes any in Q. So
//! the copy in P is the one that goes, and goes only if no remove has taken it.

use super::{
    Now, RawFilter,
    attempts::Attempts,
    copies::{Seen, copies},
    crew::{Alone, Hand, Hands},
    expire::{Renewal, Withheld},
    hop::Hop,
    lookup::Lookups,
    remove::PATIENCE,
};
use crate::{
    fault::{faulty, when_faulty},
    sync,
    table::{
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        time::{Moment, Time},
        word::{Bucket, Mark, Minus, Pair},
    },
};

/// How many copies of a class stay at most, if the other filter has this number.
pub(crate) type Keep = fn(usize) -> usize;

/// The copies that both filters have stay.
pub(crate) const INTERSECTION: Keep = |there| there;

/// The copies of a class that the other filter lacks stay.
pub(crate) const DIFFERENCE: Keep = |there| if there == 0 { usize::MAX } else { 0 };

/// Looks into the other filter.
#[derive(Clone, Copy)]
pub(crate) struct Other<'a> {
    /// Which of these classes it has, perhaps: a bit of each.
    pub(crate) find: &'a dyn Fn(&[Seen]) -> u32,
    /// The number of its copies of a class.
    pub(crate) count: &'a dyn Fn(Class) -> Option<usize>,
}

/// What has become of a copy too many.
enum Lowered {
    /// It is gone.
    One,
    /// There is none, or another thread was faster.
    None,
    /// A word is marked by another thread, perhaps for long.
    Hidden,
}

impl<L: Layout> Lookups<'_, L> {
    /// True if the class has one copy. False if it may have another number.
    #[inline(always)]
    pub(crate) fn has_single(&self, class: Class) -> bool {
        let (raw, fingerprint) = (self.raw, class.fingerprint);
        let now = raw.time.now();
        let version = self.stripes.of(class).observe();
        let (p, q, hint) = self.view.load_pair_at_hint(class);
        let (settled, _) = now.match_settled(p, q, fingerprint, hint);
        if !settled {
            return false;
        }
        let is_single = if L::EXPIRES {
            let count = |bits| now.count_in(Word::<L>::decode(bits, hint), fingerprint);
            count(p) + count(q) == 1
        } else {
            // Faster than a number: without one copy there is none.
            match Word::<L>::minus_in_first(p, q, class.untagged(), hint) {
                Minus::Taken { in_p, new } => {
                    let [p, q] = if in_p { [new, q] } else { [p, new] };
                    !now.match_settled(p, q, fingerprint, hint).1
                }
                _ => false,
            }
        };
        // Else a copy may have gone from the word that was read last to the other one.
        is_single && faulty!(version.validate(), SingleNoValidate => true) && raw.time.is_still(now)
    }
}

impl<L: Layout> RawFilter<L> {
    /// Which of these classes are present, the first one in the lowest bit: at most
    /// [`GROUP`](super::batch::GROUP). True of a class may be a guess, as of a lookup; false is not.
    pub(crate) fn find_classes(&self, copies: &[Seen]) -> u32 {
        self.which(copies, |lookups, class| lookups.contains(class))
    }

    /// For which of these classes `is` is true, the first one in the lowest bit.
    #[inline(always)]
    pub(super) fn which(
        &self,
        copies: &[Seen],
        is: impl Fn(&Lookups<'_, L>, Class) -> bool,
    ) -> u32 {
        let lookups = self.lookups();
        let bit = |&(class, _): &Seen| u32::from(is(&lookups, class));
        let bits = copies.iter().enumerate();
        bits.fold(0, |all, (place, copy)| all | bit(copy) << place)
    }

    /// The number of copies of the class; `None` if it cannot be known.
    pub(crate) fn count_class(&self, class: Class) -> Option<usize> {
        self.count_by(class, |now| now)
    }

    /// Removes the copies of these classes beyond the numbers that `keep` says.
    pub(crate) fn lower_copies(&self, other: Other<'_>, keep: Keep, copies: &[Seen]) {
        let lookups = self.lookups();
        let looks_here = keep(1) == 1;
        let found = (other.find)(copies);
        for (place, &(class, _)) in copies.iter().enumerate() {
            let is_found = found >> place & 1 != 0;
            // The usual answers need no number.
            if keep(usize::from(is_found)) == usize::MAX
                || is_found && looks_here && lookups.has_single(class)
            {
                continue;
            }
            self.lower(other, keep, class, is_found);
        }
    }

    /// Removes the copies of the class beyond the number that `keep` says. `other` is counted first, so that an
    /// item is kept if its copies are removed from this filter before they are removed from that.
    ///
    /// If a number cannot be known, the copies stay.
    #[cold]
    #[inline(never)]
    fn lower(&self, other: Other<'_>, keep: Keep, class: Class, is_found: bool) {
        when_faulty!(
            LowerCountsOtherLast,
            return self.lower_late(other, keep, class)
        );
        let there = if is_found {
            (other.count)(class)
        } else {
            Some(0)
        };
        match there.map(keep) {
            Some(0) => self.remove_copies(class),
            Some(most) => self.lower_to(class, most),
            None => {}
        }
    }

    /// [`lower`](Self::lower) with the numbers in the wrong order.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn lower_late(&self, other: Other<'_>, keep: Keep, class: Class) {
        let here = self.count(class);
        let most = (other.count)(class).map_or(here, keep);
        for _ in most..here {
            self.remove(class);
        }
    }

    /// Removes copies of the class until there are at most `most`, which is not 0.
    ///
    /// Lock-free: it counts again only if a copy is gone, if another thread has changed a word, or if one is
    /// marked. For marks it has some patience. Then the copies stay.
    fn lower_to(&self, class: Class, most: usize) {
        let (mut patience, mut attempts) = (PATIENCE, Attempts::default());
        while self.count_class(class).is_some_and(|copies| copies > most) {
            match self.take_beyond(class, most) {
                Lowered::One => self.len.subtract(1),
                Lowered::None if attempts.was_last(self) => return,
                Lowered::None => sync::yield_in_model(),
                Lowered::Hidden if patience == 0 => return,
                Lowered::Hidden => {
                    patience -= 1;
                    sync::yield_now();
                }
            }
        }
    }

    /// Takes the oldest copy of the class, if more than `most` are there. A copy goes from Q only if P has
    /// none: the reason is that of a remove.
    fn take_beyond(&self, class: Class, most: usize) -> Lowered {
        let fingerprint = class.fingerprint;
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let (p, q, _) = self.table.view().load_pair_for_update(class);
        let (in_p, in_q) = (p.word(), q.word());
        if !Word::<L>::both_unmarked(in_p, in_q) {
            return Lowered::Hidden;
        }
        // Ages must be compared of copies that stood together, as in a remove.
        if L::EXPIRES && !(version.validate() && self.time.is_still(now)) {
            return Lowered::None;
        }
        let [of_p, of_q] = [in_p, in_q].map(|word| now.count_in(word, fingerprint));
        let oldest = |word| oldest_in::<L>(word, fingerprint, now);
        let taken = match (oldest(in_p), oldest(in_q)) {
            (Some(young), Some(entry)) if now.age(entry) > now.age(young) => {
                // As in a remove: what is left is the same if a copy in P goes. The next attempt takes it.
                return match self.make_even(class, young, (q, entry)) {
                    Renewal::Gated | Renewal::Full => Lowered::Hidden,
                    _ => Lowered::None,
                };
            }
            (Some(entry), _) if of_p > most => self.take(p, entry).is_some(),
            (None, Some(entry)) if of_q > most => self.take(q, entry).is_some(),
            (Some(in_p), Some(in_q)) if of_p + of_q > most => {
                when_faulty!(LowerUnguarded, return self.take_unguarded(p, in_p));
                return self.take_guarded(class, [in_p, in_q], most);
            }
            _ => false,
        };
        if taken { Lowered::One } else { Lowered::None }
    }

    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn take_unguarded(&self, p: crate::table::view::Loaded<'_, L>, entry: Entry) -> Lowered {
        match self.take(p, entry) {
            Some(_) => Lowered::One,
            None => Lowered::None,
        }
    }

    /// Takes the copy `entries[0]` from P while it guards the copy `entries[1]` in Q.
    fn take_guarded(&self, class: Class, entries: [Entry; 2], most: usize) -> Lowered {
        let Some(crew) = self.crew() else {
            return self.take_guarded_by(Alone, class, entries, most);
        };
        match self.take_line(crew) {
            Some(line) => self.take_guarded_by(&line.for_moves(), class, entries, most),
            None => Lowered::Hidden,
        }
    }

    fn take_guarded_by(
        &self,
        hands: impl Hands,
        class: Class,
        [in_p, in_q]: [Entry; 2],
        most: usize,
    ) -> Lowered {
        let guard_in = |hand, entry, from, to| self.move_of(hands, hand, Hop { entry, from, to });
        let in_p = (guard_in(Hand::First, in_p, class.q, class.p), in_p);
        let in_q = (guard_in(Hand::Second, in_q, class.p, class.q), in_q);
        // P first: a remove that finds the copy in Q guarded looks at P again, and finds that one.
        let (first, second) = faulty!((&in_p.0, &in_q.0), LowerGuardsQFirst => (&in_q.0, &in_p.0));
        match first.guard() {
            Withheld::Done => {}
            Withheld::Lost => return Lowered::None,
            Withheld::Gated => return Lowered::Hidden,
        }
        let mut lowered = Lowered::None;
        if let Withheld::Done = second.guard() {
            if self.take_if_beyond(class, in_p.1, most) {
                lowered = Lowered::One;
            }
            second.end_guard();
        }
        first.end_guard();
        lowered
    }

    /// Takes the guarded copy from P if more than `most` copies are there. Those in Q can only become more.
    fn take_if_beyond(&self, class: Class, entry: Entry, most: usize) -> bool {
        let fingerprint = class.fingerprint;
        let now = self.time.now();
        let q = self.table.load_for_update(fingerprint, class.q).word();
        let p = self.table.load_for_update(fingerprint, class.p);
        let present = copies::<L>(p.word(), q, fingerprint, now);
        let is_beyond = present.is_some_and(|copies| copies > most);
        p.word().is_marked(Mark::Delivered, entry)
            && faulty!(is_beyond, LowerCountsOnce => true)
            && self.kill(p)
    }
}

#[cfg(all(guira_loom, feature = "shared"))]
impl<L: Layout> RawFilter<L> {
    /// A thread begins to guard a copy with this entry in each word: gate and mark of P, and then of Q. After
    /// `steps` steps it stops for ever.
    pub(crate) fn stop_guarding(&self, class: Class, entry: Entry, steps: usize) {
        let taken = self
            .crew()
            .and_then(|crew| crew.take_line())
            .expect("a line");
        let line = taken.for_moves();
        let places = [
            (Hand::First, class.q, class.p),
            (Hand::Second, class.p, class.q),
        ];
        let guards = places.map(|(hand, from, to)| (hand, Hop { entry, from, to }));
        for step in 0..steps {
            let (hand, hop) = guards[step / 2];
            let made = match step % 2 {
                0 => line.enter::<L>(hand, hop),
                _ => matches!(self.move_of(&line, hand, hop).guard(), Withheld::Done),
            };
            if !made {
                // It gives way.
                self.move_of(&line, Hand::First, guards[0].1).end_guard();
                line.leave(Hand::Second);
                break;
            }
        }
        taken.stop();
    }
}

/// The entry of the oldest live copy, as it is in its slot.
fn oldest_in<L: Layout>(word: Word<L>, fingerprint: Fingerprint, now: Now<L>) -> Option<Entry> {
    word.residents(fingerprint)
        .filter(|&entry| L::fingerprint(entry) == fingerprint && now.is_live(entry))
        .max_by_key(|&entry| now.age(entry))
}

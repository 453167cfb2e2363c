//! How a living process completes or undoes what a dead one has begun.

use super::{Crew, HANDS, STRIPE, UNIQUE, unpacked};
use crate::{
    fault::{faulty, when_faulty},
    raw::{Now, RawFilter, hop::Hop},
    step::Step,
    sync::Ordering,
    table::{
        class::Class,
        entry::Entry,
        layout::{Layout, Word},
        time::Time,
        word::{Bucket, Mark},
    },
};
use std::ops::AddAssign;

/// What a repair has cleaned up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Dead processes.
    pub processes: usize,
    /// Moves that were undone.
    pub retracted: usize,
    /// Moves that were completed.
    pub completed: usize,
    /// Copies that were withheld, to be emptied or to get another time. (Expiring filters only.)
    pub withheld: usize,
    /// Gates that were taken.
    pub gates: usize,
    /// Stripes that were held.
    pub holds: usize,
    /// Reservations of `insert_unique`.
    pub reservations: usize,
    /// Scans that were in progress.
    pub scans: usize,
    /// Held stripes that a living thread uses as well, and that a later repair has to release.
    pub left: usize,
}

impl AddAssign for Repaired {
    fn add_assign(&mut self, other: Self) {
        self.processes += other.processes;
        self.retracted += other.retracted;
        self.completed += other.completed;
        self.withheld += other.withheld;
        self.gates += other.gates;
        self.holds += other.holds;
        self.reservations += other.reservations;
        self.scans += other.scans;
        self.left += other.left;
    }
}

impl<L: Layout> RawFilter<L> {
    /// Completes or undoes what dead processes have begun.
    #[cold]
    pub(crate) fn repair_dead(&self, at_once: bool) -> Repaired {
        let mut all = Repaired::default();
        if let Some(crew) = self.crew() {
            crew.members.repair_dead(at_once, &mut |member| {
                let repaired = self.repair(member);
                all += repaired;
                repaired.left == 0
            });
        }
        all
    }

    /// Completes or undoes what a dead process has begun. No other process may take its seat or repair
    /// it during the call.
    pub(crate) fn repair(&self, member: usize) -> Repaired {
        self.repair_by(member, &|| self.time.now())
    }

    /// [`repair`](Self::repair) with the time that `now` reads. It is read after the death, like the
    /// words.
    pub(crate) fn repair_by(&self, member: usize, now: &dyn Fn() -> Now<L>) -> Repaired {
        let mut done = Repaired::default();
        if let Some(crew) = self.crew() {
            let is_alive = |line| crew.members.is_alive(crew.member_of(line));
            for line in crew.lines_of(member) {
                done += self.repair_line(crew, line, &is_alive, now);
            }
            done.scans = crew.places.end_of(member);
            done.processes = 1;
        }
        done
    }

    /// Completes or undoes what the thread of a line has begun. `is_alive` is called for other lines.
    pub(crate) fn repair_line(
        &self,
        crew: &Crew,
        line: usize,
        is_alive: &dyn Fn(usize) -> bool,
        now: &dyn Fn() -> Now<L>,
    ) -> Repaired {
        let mut done = Repaired::default();
        let in_hand = HANDS.map(|hand| {
            let (entry, from) = unpacked::<L>(crew.first_level, crew.read(line, hand as usize));
            let hop = self.hop(entry, from)?;
            // Without the gate the move had not begun, or was over.
            let has_begun = crew.is_taken_by(line, hop.class::<L>());
            faulty!(has_begun, NoGate => true).then_some(hop)
        });
        when_faulty!(GatesFirst, crew.free_gates(line, &mut done));
        // Both moves before their gates, because they may be on one gate.
        for hop in in_hand.into_iter().flatten() {
            if L::EXPIRES && self.end_withholding(hop, now) {
                done.withheld += 1;
                continue;
            }
            match self.end_move(hop) {
                None => {}
                Some(false) => done.retracted += 1,
                Some(true) => done.completed += 1,
            }
        }
        crew.free_gates(line, &mut done);
        for hand in HANDS {
            crew.clear(line, hand as usize);
        }
        let (bits, p) = unpacked::<L>(crew.first_level, crew.read(line, UNIQUE));
        if let Some(hop) = self.hop(bits, p) {
            let pair = [hop.from, hop.to];
            let dropped = pair.map(|bucket| self.drop_reservation(hop.entry, bucket, line));
            done.reservations += usize::from(dropped[0]) + usize::from(dropped[1]);
        }
        crew.clear(line, UNIQUE);
        if let Some(stripe) = crew.read(line, STRIPE).checked_sub(1) {
            match self.end_hold(crew, line, stripe as usize, is_alive) {
                None => done.left += 1,
                Some(held) => {
                    done.holds += usize::from(held);
                    crew.clear(line, STRIPE);
                }
            }
        }
        done
    }

    /// The move of this entry out of this bucket, if the filter can have it: lines are as untrusted
    /// as all other words that processes share.
    fn hop(&self, entry: u64, from: usize) -> Option<Hop> {
        if entry > L::LARGEST_ENTRY || from >= self.table.buckets() {
            return None;
        }
        let entry = Entry::new(entry);
        L::is_of_item(L::fingerprint(entry)).then(|| self.hop_out_of(from, entry))
    }

    /// Ends what a dead thread has begun with W on a copy of this bucket. False if it had no mark.
    ///
    /// The copy goes if it is dead by now, and otherwise stays as it is: a refresh of the dead thread
    /// has not returned.
    fn end_withholding(&self, hop: Hop, now: &dyn Fn() -> Now<L>) -> bool {
        let Hop { entry, from, .. } = hop;
        let word = self.table.load_for_update(L::fingerprint(entry), from);
        let is_marked = |mark| word.word().is_marked(mark, entry);
        // A K that the hop leaves was a W, because the K of a move is where the hop leads.
        let is_killed = faulty!(is_marked(Mark::Killed), RepairMissesKilled => false);
        let stood = is_killed || is_marked(Mark::Withheld);
        if stood {
            let emptied = self.empty_or_release(from, entry, now);
            self.len.subtract(emptied.into());
        }
        stood
    }

    /// Ends a move as its thread would have. True if it was decided, false if it was given up; `None`
    /// if it has no mark.
    fn end_move(&self, hop: Hop) -> Option<bool> {
        let Hop { entry, from, to } = hop;
        let fingerprint = L::fingerprint(entry);
        let update = |step, bucket, change: &dyn Fn(Word<L>) -> Option<Word<L>>| {
            self.table.update(step, fingerprint, bucket, change)
        };
        let mark = |bucket| {
            let word = self.table.load_for_update(fingerprint, bucket).word();
            word.mark_of(fingerprint)
        };
        let is_decided = mark(from) == Some(Mark::Trailing);
        let is_decided = faulty!(is_decided, RepairTrustsShadow => true);
        let retract = |mark| {
            update(Step::Retract, to, &|word| {
                word.is_marked(mark, entry).then(|| word.without_marked())
            })
        };
        match mark(to)? {
            Mark::Outline => retract(Mark::Outline).then_some(false),
            Mark::Shadow if !is_decided => retract(Mark::Shadow).then_some(false),
            Mark::Shadow | Mark::Delivered | Mark::Killed => {
                update(Step::Deliver, to, &|word| {
                    word.is_marked(Mark::Shadow, entry)
                        .then(|| word.remarked(Mark::Delivered))
                });
                update(Step::Erase, from, &|word| {
                    word.is_marked(Mark::Trailing, entry)
                        .then(|| word.without_marked())
                });
                update(Step::Settle, to, &|word| {
                    if word.is_marked(Mark::Delivered, entry) {
                        return Some(word.unmarked());
                    }
                    word.is_marked(Mark::Killed, entry)
                        .then(|| word.without_marked())
                });
                Some(true)
            }
            Mark::Trailing | Mark::Withheld => None,
        }
    }

    /// Drops the reservation of a call in a bucket of its class. True if there was one.
    fn drop_reservation(&self, entry: Entry, bucket: usize, token: usize) -> bool {
        let loaded = self.table.load_for_update(L::fingerprint(entry), bucket);
        // An exchange of another thread that comes first drops it as well (PROOF, I8).
        loaded.token() == Some(token as u64) && loaded.replace(Step::Cancel, loaded.word())
    }

    /// Ends the holds of a stripe, if only dead threads can have any. True if there was one; `None` if
    /// a living thread names the stripe as well.
    fn end_hold(
        &self,
        crew: &Crew,
        line: usize,
        stripe: usize,
        is_alive: &dyn Fn(usize) -> bool,
    ) -> Option<bool> {
        let named = stripe as u64 + 1;
        self.versions.end_holds(stripe, || {
            let mut others = crew.all_lines().filter(|&other| other != line);
            let others_hold =
                others.any(|other| crew.read(other, STRIPE) == named && is_alive(other));
            !faulty!(others_hold, HoldSkipsLines => false)
        })
    }
}

impl Crew {
    /// What a line says. Acquire: pairs with the Release of `note`.
    fn read(&self, line: usize, at: usize) -> u64 {
        self.word(line, at).load(Ordering::Acquire)
    }

    /// Says that nothing of this is left.
    fn clear(&self, line: usize, at: usize) {
        let order = crate::fault::order(Step::Note, Ordering::Release);
        self.word(line, at).store(0, order);
    }

    fn is_taken_by(&self, line: usize, class: Class) -> bool {
        // Acquire: pairs with the Release of `enter`.
        self.gates[self.gate_of(class)].load(Ordering::Acquire) == line as u64
    }

    /// Frees the gates that a dead thread has taken.
    fn free_gates(&self, line: usize, done: &mut Repaired) {
        for gate in &*self.gates {
            // Relaxed: only this thread changes a gate that the dead one has.
            if gate.load(Ordering::Relaxed) == line as u64 {
                // Release: as in `leave`.
                let order = crate::fault::order(Step::Leave, Ordering::Release);
                gate.store(0, order);
                done.gates += 1;
            }
        }
    }

    /// The member whose line this is.
    fn member_of(&self, line: usize) -> usize {
        (line - 1) / self.lines_of_member
    }

    /// The numbers of all lines.
    fn all_lines(&self) -> std::ops::Range<usize> {
        1..self.lines.len() / super::LINE_WORDS
    }
}

#[cfg(all(test, feature = "shared"))]
mod tests;

//! union: raises the copies of a class to the number that another filter has.
//!
//! | promise | the larger of the two numbers of copies, and no copy becomes older |
//! |---|---|
//! | how | DESIGN, section 8, "Union" |
//! | why | PROOF, section 10 (L12) |
//! | checked by | union, expire_union |
//! | break it | `cargo xtask break UnionBlindly` |
//!
//! A copy is added as by [`insert_unique`](super::unique), but for the number of copies that the
//! call tolerates. So of two calls that raise a class to one number, each sees what the other has
//! added, and a concurrent `insert_unique` of the class adds no further copy.

use super::{
    Now, RawFilter,
    attempts::Attempts,
    copies::{Seen, unmarked_like_in},
    expire::Renewal,
    remove::PATIENCE,
    unique::Wanted,
};
use crate::{
    error::InsertError,
    fault::{faulty, when_faulty},
    sync,
    table::{
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        time::{Moment, Time},
        word::Bucket,
    },
};

/// The copies of a class that a union carries over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    /// All of them.
    pub(crate) copies: usize,
    /// The ones that are not older than asked.
    pub(crate) young: usize,
}

/// A number of copies of a class. A copy that is added was last seen `age` epochs ago.
#[derive(Clone, Copy)]
struct Several {
    copies: usize,
    age: u64,
}

impl<L: Layout> Wanted<L> for Several {
    fn copies(self) -> usize {
        faulty!(self.copies, UnionBlindly => usize::MAX)
    }

    fn entry(self, fingerprint: Fingerprint, now: Now<L>) -> Entry {
        now.aged_entry(fingerprint, self.age)
    }

    /// In an expiring filter it may be older than now.
    fn is_one(self) -> bool {
        !L::EXPIRES && faulty!(self.copies == 1, UnionBlindly => false)
    }

    /// The caller counts once more.
    fn added_too_early(self, _: &RawFilter<L>, _: Class) {}
}

/// The same number of copies, where copies count that are not older than `age`.
#[derive(Clone, Copy)]
struct Young(Several);

impl<L: Layout> Wanted<L> for Young {
    fn copies(self) -> usize {
        faulty!(self.0.copies, UnionBesideMarksBlindly => usize::MAX)
    }

    fn entry(self, fingerprint: Fingerprint, now: Now<L>) -> Entry {
        Wanted::<L>::entry(self.0, fingerprint, now)
    }

    fn by(self, now: Now<L>) -> Now<L> {
        young::<L>(now, self.0.age)
    }

    /// The caller counts once more.
    fn added_too_early(self, _: &RawFilter<L>, _: Class) {}
}

/// A moment by which only copies count that were last seen at most `age` epochs before `now`. `age` is
/// that of a live copy.
fn young<L: Layout>(now: Now<L>, age: u64) -> Now<L> {
    now.with_oldest(age.min(now.oldest()))
}

/// What became of a copy that is too old.
enum Renewed {
    /// It has the age that is wanted.
    One,
    /// There is none, or another thread was faster.
    None,
    /// There is none in sight, but a word is marked, and only copies in unmarked words are changed.
    Hidden,
}

impl<L: Layout> RawFilter<L> {
    /// The copies of the class, and how many of them were last seen at most `age` epochs ago.
    pub(crate) fn present_for_union(&self, class: Class, age: u64) -> Result<Present, InsertError> {
        let young = self.copies_for_union(class, |now| young::<L>(now, age))?;
        let copies = match L::EXPIRES {
            true => self.copies_for_union(class, |now| now)?,
            false => young,
        };
        Ok(Present { copies, young })
    }

    /// The copies of the class that are live by what `by` makes of the moment.
    fn copies_for_union(
        &self,
        class: Class,
        by: impl Fn(Now<L>) -> Now<L>,
    ) -> Result<usize, InsertError> {
        self.count_by(class, by).ok_or(InsertError::Contended)
    }

    /// Which of these classes have one copy, the first one in the lowest bit, as far as is seen at once:
    /// others may, too. In an expiring filter none is seen, because copies have ages.
    pub(crate) fn find_singles(&self, copies: &[Seen]) -> u32 {
        self.which(copies, |lookups, class| {
            !L::EXPIRES && lookups.has_single(class)
        })
    }

    /// Raises the copies of each class to the numbers that `other` says, of each age from the one
    /// that is given with the class. Of a class among the `singles`, it is one. Adds to `changed` how many
    /// were added or made younger.
    pub(crate) fn raise_copies(
        &self,
        other: &dyn Fn(Class, u64) -> Result<Present, InsertError>,
        singles: u32,
        copies: &[Seen],
        changed: &mut usize,
    ) -> Result<(), InsertError> {
        self.time.go_by_number();
        let oldest = self.time.most();
        for (place, &(class, age)) in copies.iter().enumerate() {
            if singles >> place & 1 != 0 {
                // The usual case, which needs no number.
                let one = Several { copies: 1, age };
                *changed += usize::from(self.insert_wanted(class, one)?);
                continue;
            }
            // The copies of a class may differ in age, so each age has a number of its own. If an
            // epoch has begun since the scan, the copy that it has met is older by now.
            for age in age.min(oldest)..=oldest {
                let Present { copies, young } = other(class, age)?;
                self.raise_to(class, young, age, changed)?;
                if young >= copies {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Raises the copies of the class that are not older than `age` to the number `copies`.
    ///
    /// Lock-free: it counts again only if it has changed a copy, if another thread has, or if a word is
    /// marked. For marks it has some patience, so that a call which renews or moves the copy can finish.
    fn raise_to(
        &self,
        class: Class,
        copies: usize,
        age: u64,
        changed: &mut usize,
    ) -> Result<(), InsertError> {
        // As in a merge: the current epoch of this filter may be about to end.
        let age = age.saturating_sub(1);
        let wanted = Several { copies, age };
        let (mut patience, mut attempts) = (PATIENCE, Attempts::default());
        let young = |now| young::<L>(now, age);
        while self.copies_for_union(class, young)? < copies {
            let is_changed = self.insert_wanted(class, wanted)?
                || L::EXPIRES && self.renews_one(class, wanted, &mut patience)?;
            if is_changed {
                *changed += 1;
            } else {
                self.count_attempt(&mut attempts)?;
            }
            when_faulty!(UnionLooksOnce, return Ok(()));
            // There are enough copies, and none of them is too old.
            if !(L::EXPIRES || is_changed) {
                return Ok(());
            }
            sync::yield_in_model();
        }
        Ok(())
    }

    /// Makes a copy that is older than wanted as young. True if that changed one.
    #[cold]
    fn renews_one(
        &self,
        class: Class,
        wanted: Several,
        patience: &mut usize,
    ) -> Result<bool, InsertError> {
        match self.make_younger(class, wanted.age) {
            Renewed::One => Ok(true),
            Renewed::None => Ok(false),
            Renewed::Hidden if *patience > 0 => {
                *patience -= 1;
                sync::yield_now();
                Ok(false)
            }
            // The old copy expires by itself.
            Renewed::Hidden => self.insert_wanted(class, Young(wanted)),
        }
    }

    /// Gives the youngest copy that is older than `age` epochs this age. The youngest, because the
    /// older ones may have to become younger by less.
    #[cold]
    fn make_younger(&self, class: Class, age: u64) -> Renewed {
        let fingerprint = class.fingerprint;
        let now = self.moment();
        let (p, q, _) = self.table.view().load_pair_for_update(class);
        let places = [(p, class.p), (q, class.q)];
        let found = (age + 1..=now.oldest()).find_map(|old| {
            let entry = now.aged_entry(fingerprint, old);
            unmarked_like_in(places, entry)
        });
        let Some((entry, (loaded, bucket))) = found else {
            return match Word::<L>::both_unmarked(p.word(), q.word()) {
                true => Renewed::None,
                false => Renewed::Hidden,
            };
        };
        // The word may have changed and changed back: it then holds a younger copy.
        let mut is_older = false;
        let young = |now: Now<L>| {
            let known = now.age(entry);
            is_older = age < known;
            let age = faulty!(age.min(known), UnionMakesOlder => age);
            now.aged_entry(fingerprint, age)
        };
        match self.renew(bucket, loaded, entry, young) {
            Renewal::Done(_) if is_older => Renewed::One,
            // As if the word had a mark.
            Renewal::Gated | Renewal::Full => Renewed::Hidden,
            _ => Renewed::None,
        }
    }
}

#[cfg(test)]
mod tests;

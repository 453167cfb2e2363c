//! union: raises the copies of a class to the number that another filter has.
//!
//! | promise | the larger of the two numbers of copies, and no copy becomes older |
//! |---|---|
//! | how | DESIGN, section 8, "Union" |
//! | why | PROOF, section 10 (L12) |
//! | checked by | union |
//! | break it | `cargo xtask break UnionBlindly` |
//!
//! A copy is added as by [`insert_unique`](super::unique), but for the number of copies that the
//! call tolerates. So of two calls that raise a class to one number, each sees what the other has
//! added, and a concurrent `insert_unique` of the class adds no further copy.

use super::{Now, RawFilter, copies::copies, remove::PATIENCE, unique::Wanted};
use crate::{
    error::InsertError,
    fault::faulty,
    sync,
    table::{
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{Layout, PackedLayout, Word},
        time::{Epochs, Moment, Time},
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

    /// The words may not have stood together, so that one copy may be in both.
    fn are_in(self, raw: &RawFilter<L>, class: Class, _: [Word<L>; 2], _: Now<L>) -> bool {
        let present = raw.count(class);
        faulty!(present >= self.copies, UnionBlindly => false)
    }

    /// The caller looks at the ages once more.
    fn added_too_early(self, _: &RawFilter<L>, _: Class) {}
}

impl<L: Layout> RawFilter<L> {
    /// The copies of the class that a union carries over: those at one moment, and at least one if
    /// the class is present throughout.
    ///
    /// [`count`](Self::count) alone can miss a class whose copies come and go.
    pub(crate) fn copies_for_union(&self, class: Class) -> usize {
        match self.count(class) {
            0 => self.contains(class).into(),
            copies => copies,
        }
    }

    /// Raises each class to the number of copies that `other` says, and adds to `added` how
    /// many copies that took. At most [`GROUP`](super::batch::GROUP) classes, as
    /// [`insert_classes`](Self::insert_classes).
    pub(crate) fn raise_classes(
        &self,
        other: &dyn Fn(Class) -> usize,
        classes: &[Class],
        added: &mut usize,
    ) -> Result<(), InsertError> {
        self.prefetch_words(classes.iter().copied());
        for &class in classes {
            let copies = other(class);
            let wanted = Several { copies, age: 0 };
            while self.count(class) < copies && self.insert_wanted(class, wanted)? {
                *added += 1;
            }
        }
        Ok(())
    }
}

impl<L: PackedLayout<Time = Epochs>> RawFilter<L> {
    /// The copies of the class, and how many of them were last seen at most `age` epochs ago.
    pub(crate) fn present_for_union(&self, class: Class, age: u64) -> Present {
        let young = self.count_within(class, age);
        let copies = self.copies_for_union(class).max(young);
        Present {
            copies,
            // The scan has met a young one. If an epoch has begun since, it is older by now.
            young: young.max(copies.min(1)),
        }
    }

    /// Raises the copies of each class to the numbers that `other` says, of each age from the one
    /// that is given with the class. Adds to `changed` how many were added or made younger.
    pub(crate) fn raise_seen(
        &self,
        other: &dyn Fn(Class, u64) -> Present,
        copies: &[(Class, u64)],
        changed: &mut usize,
    ) -> Result<(), InsertError> {
        let oldest = self.moment().oldest;
        for &(class, age) in copies {
            // The copies of a class may differ in age, so each age has a number of its own.
            for age in age.min(oldest)..=oldest {
                let Present { copies, young } = other(class, age);
                let wanted = if age == oldest { copies } else { young };
                self.raise_to(class, wanted, age, changed)?;
                if young >= copies {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Raises the copies of the class that are not older than `age` to the number `copies`.
    fn raise_to(
        &self,
        class: Class,
        copies: usize,
        age: u64,
        changed: &mut usize,
    ) -> Result<(), InsertError> {
        // As in a merge: the current epoch of this filter may be about to end.
        let age = age.saturating_sub(1);
        while self.count_within(class, age) < copies {
            if !self.insert_wanted(class, Several { copies, age })? {
                // There are enough, and one of them is too old.
                self.make_younger(class, age)?;
            }
            *changed += 1;
        }
        Ok(())
    }

    /// The live copies that were last seen at most `age` epochs ago, at one moment.
    fn count_within(&self, class: Class, age: u64) -> usize {
        loop {
            let now = self.moment();
            let young = Now::<L> {
                oldest: age.min(now.oldest),
                ..now
            };
            let version = self.versions.of(class).observe();
            let (p, q) = self.load_pair(class);
            let is_one_moment = self.unchanged(class, p, q) && version.validate();
            if is_one_moment
                && Time::<Word<L>>::is_still(&self.time, now)
                && let Some(copies) = copies::<L>(p, q, class.fingerprint, young)
            {
                return copies;
            }
            sync::yield_in_model();
        }
    }

    /// Gives the youngest copy that is older than `age` epochs this age, or does nothing if there is
    /// none. The youngest, because the older ones may have to become younger by less. If its word is
    /// marked for a while, a copy is added, and the old one expires by itself.
    #[cold]
    fn make_younger(&self, class: Class, age: u64) -> Result<(), InsertError> {
        let fingerprint = class.fingerprint;
        for _ in 0..=PATIENCE {
            let now = self.moment();
            let (p, q) = self.table.view().load_pair_for_update(class);
            let are_unmarked = Word::<L>::both_unmarked(p.word(), q.word());
            let places = [(p, class.p), (q, class.q)];
            let found = (age + 1..=now.oldest).find_map(|old| {
                let entry = Moment::<Word<L>>::aged_entry(now, fingerprint, old);
                let holds = |word: Word<L>| word.is_unmarked() && word.holds(entry);
                let place = places.iter().position(|(loaded, _)| holds(loaded.word()))?;
                Some((entry, place))
            });
            let [in_p, in_q] = places;
            match found {
                Some((entry, place)) => {
                    let (loaded, bucket) = if place == 0 { in_p } else { in_q };
                    // The word may have changed and changed back: it then holds a younger copy.
                    let young = |now| {
                        let known = Moment::<Word<L>>::age(now, entry);
                        let age = faulty!(age.min(known), UnionMakesOlder => age);
                        Moment::<Word<L>>::aged_entry(now, fingerprint, age)
                    };
                    if self.renew(bucket, loaded, entry, young).is_some() {
                        return Ok(());
                    }
                }
                None if are_unmarked => return Ok(()),
                None => sync::yield_now(),
            }
        }
        self.insert_aged(class, age)
    }
}

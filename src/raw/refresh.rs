//! refresh: a copy of the class is as young as a new one afterwards.
//!
//! | promise | a refreshed copy is as young as a new one; no copy becomes older |
//! |---|---|
//! | how | docs/design/expiry.md, "refresh" |
//! | why | PROOF, section 12 (E2, E4) |
//! | checked by | expire_refresh |
//! | break it | `cargo xtask break RefreshNoSecondNow` |
//!
//! The tag of a copy changes while the copy is withheld (W), as in [`expire`](super::expire). If
//! the word has a mark, and keeps it for a while, the call adds a second copy.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Now, RawFilter,
    attempts::Attempts,
    copies::unmarked_like_in,
    crew::{Alone, Hands},
    expire::{Renewal, Withheld, free_gate},
    remove::PATIENCE,
};
use crate::{
    error::InsertError,
    fault::faulty,
    memory::Storage,
    step::Step,
    sync,
    table::{
        class::Class,
        entry::Entry,
        layout::{Layout, Word},
        time::{Moment, Time},
        view::Loaded,
        word::{Bucket, Mark},
    },
};

impl<L: Layout> RawFilter<L> {
    /// If the class is present: makes its oldest copy one that is seen now. False: it is absent.
    /// Lock-free.
    ///
    /// An error is that of an insert: the copy could not be changed, and another one not be added.
    pub(crate) fn refresh(&self, class: Class) -> Result<bool, InsertError> {
        let (mut patience, mut attempts) = (PATIENCE, Attempts::default());
        loop {
            let attempt = faulty!(
                self.try_refresh(class, &mut patience),
                in Refresh => wrong::try_refresh(self, class)
            );
            if let Some(present) = attempt? {
                return Ok(present);
            }
            self.count_attempt(&mut attempts)?;
            sync::yield_in_model();
        }
    }

    /// Counts an attempt that has failed: an error if it was the last one.
    #[inline(always)]
    pub(super) fn count_attempt(&self, attempts: &mut Attempts) -> Result<(), InsertError> {
        if attempts.was_last(self) {
            return Err(InsertError::Contended);
        }
        Ok(())
    }

    /// Refreshes the class, or inserts it if it is absent. `Ok(true)`: it was absent.
    pub(crate) fn insert_or_refresh(&self, class: Class) -> Result<bool, InsertError> {
        let mut attempts = Attempts::default();
        loop {
            if self.refresh(class)? {
                return Ok(false);
            }
            if self.insert_unique(class)? {
                return Ok(true);
            }
            self.count_attempt(&mut attempts)?;
            sync::yield_in_model();
        }
    }

    /// One attempt: `None` if another thread was faster, or an epoch began.
    #[inline]
    fn try_refresh(&self, class: Class, patience: &mut usize) -> Result<Option<bool>, InsertError> {
        let fingerprint = class.fingerprint;
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let (p, q, _) = self.table.view().load_pair_for_update(class);
        let oldest = [(p, class.p), (q, class.q)]
            .into_iter()
            .filter(|(loaded, _)| loaded.word().is_unmarked())
            .filter_map(|place| Some((now.oldest_in(place.0.word(), fingerprint)?, place)))
            .max_by_key(|&(entry, _)| now.age(entry));
        // Else an older copy may have gone from the word that was read last to the other one, or
        // ages by this epoch may be wrong.
        if !(version.validate() && self.time.is_still(now)) {
            return Ok(None);
        }
        let is_hidden =
            |word: Word<L>| !word.is_unmarked() && now.oldest_in(word, fingerprint).is_some();
        if *patience > 0 && (is_hidden(p.word()) || is_hidden(q.word())) {
            // Another thread may be about to finish here, such as a sweep.
            *patience -= 1;
            sync::yield_now();
            return Ok(None);
        }
        match oldest {
            Some((entry, _)) if now.age(entry) == 0 => Ok(Some(true)),
            Some((entry, (loaded, bucket))) => {
                let young = |now: Now<L>| now.entry(fingerprint);
                match self.renew(bucket, loaded, entry, young) {
                    Renewal::Done(now) => Ok(self.time.is_still(now).then_some(true)),
                    Renewal::Lost => Ok(None),
                    Renewal::Gated => self.refresh_behind_gate(class, patience),
                    Renewal::Full => self.refresh_beside_marks(class),
                }
            }
            None if Word::<L>::both_unmarked(p.word(), q.word()) => Ok(Some(false)),
            None => self.refresh_beside_marks(class),
        }
    }

    /// The copy cannot be withheld for now, as if its word had a mark.
    #[cold]
    fn refresh_behind_gate(
        &self,
        class: Class,
        patience: &mut usize,
    ) -> Result<Option<bool>, InsertError> {
        let young = self.time.now().entry(class.fingerprint);
        let (p, q) = self.load_pair(class);
        if *patience == 0 || p.holds(young) || q.holds(young) {
            return self.refresh_beside_marks(class);
        }
        *patience -= 1;
        if *patience == 0 {
            // The other thread may be dead.
            self.repair_dead(false);
        }
        sync::yield_now();
        Ok(None)
    }

    /// Makes one of the copies like `single` another single, which is not older: the one that `young` says
    /// for the moment that is returned. `Lost` if no unmarked word has one.
    #[cold]
    pub(super) fn renew_one_like(
        &self,
        class: Class,
        single: Entry,
        young: impl Fn(Now<L>) -> Entry,
    ) -> Renewal<Now<L>> {
        while let Some((entry, (loaded, bucket))) = self.unmarked_like(class, single) {
            match self.renew(bucket, loaded, entry, &young) {
                Renewal::Lost => sync::yield_in_model(),
                other => return other,
            }
        }
        Renewal::Lost
    }

    /// Takes one of the copies like `single` that this call has put and not counted. False if no unmarked
    /// word has one.
    ///
    /// It may go from Q beside copies in P. Lookups learn of that by the version.
    #[cold]
    pub(super) fn take_back(&self, class: Class, single: Entry) -> bool {
        while let Some((entry, (loaded, _))) = self.unmarked_like(class, single) {
            self.versions.of(class).advance();
            if self.take(loaded, entry).is_some() {
                return true;
            }
            sync::yield_in_model();
        }
        false
    }

    /// An unmarked word with copies like `single`, its bucket, and their whole entry.
    fn unmarked_like(
        &self,
        class: Class,
        single: Entry,
    ) -> Option<(Entry, (Loaded<'_, L>, usize))> {
        let (p, q, _) = self.table.view().load_pair_for_update(class);
        unmarked_like_in([(p, class.p), (q, class.q)], single)
    }

    /// Puts another entry of its class, which is not older, into the place of `entry`: the one that
    /// `young` says for the moment that is returned. With a counter, one of the copies gets that entry, and
    /// the others stay as they are.
    pub(super) fn renew(
        &self,
        bucket: usize,
        loaded: Loaded<'_, L>,
        entry: Entry,
        young: impl FnMut(Now<L>) -> Entry,
    ) -> Renewal<Now<L>> {
        if L::Storage::SHARED
            && let Some(crew) = self.crew()
        {
            return match self.take_line(crew) {
                Some(line) => self.renew_by(&line.for_moves(), bucket, loaded, entry, young),
                None => Renewal::Gated,
            };
        }
        self.renew_by(Alone, bucket, loaded, entry, young)
    }

    #[inline(always)]
    fn renew_by(
        &self,
        hands: impl Hands,
        bucket: usize,
        loaded: Loaded<'_, L>,
        entry: Entry,
        mut young: impl FnMut(Now<L>) -> Entry,
    ) -> Renewal<Now<L>> {
        let Some(withheld) = loaded.word().with_mark(entry, Mark::Withheld) else {
            return Renewal::Lost;
        };
        if L::COUNTER_BITS != 0 {
            let has_room = withheld.with_one_renewed(young(self.time.now())).is_some();
            if !has_room {
                return Renewal::Full;
            }
        }
        match self.withhold(hands, loaded, bucket, entry, withheld) {
            Withheld::Done => {}
            Withheld::Lost => return Renewal::Lost,
            Withheld::Gated => return Renewal::Gated,
        }
        let now = self.time.now();
        if !now.is_live(entry) {
            let emptied = self.empty_or_release(bucket, entry, || self.time.now());
            free_gate(hands);
            self.len.subtract(emptied.into());
            return Renewal::Lost;
        }
        let (young, mut change) = (young(now), None);
        let renewed = self.end_withheld(Step::Renew, bucket, entry, |word| {
            let new = faulty!(
                word.with_one_renewed(young),
                RenewAllCopies => Some(wrong::with_all_renewed::<L>(word, young))
            );
            change = new.map(|new| (word, new));
            // If the room is gone, nothing changes.
            new.unwrap_or(word.unmarked())
        });
        free_gate(hands);
        match change {
            Some((word, new)) if renewed => {
                self.len.share_of(word, new);
                Renewal::Done(now)
            }
            _ => Renewal::Lost,
        }
    }

    /// A word with a live copy is marked: of each word only one copy can be withheld. So another
    /// copy is added, once in an epoch. With counters, the oldest copy goes for it.
    #[cold]
    fn refresh_beside_marks(&self, class: Class) -> Result<Option<bool>, InsertError> {
        let now = self.time.now();
        let (p, q) = self.load_pair(class);
        let young = now.entry(class.fingerprint);
        if L::COUNTER_BITS != 0 || !(p.holds(young) || q.holds(young)) {
            match self.try_count(class, |now| now) {
                None => return Ok(None),
                Some(0) => return Ok(Some(false)),
                Some(_) => {
                    let copy = self.put(class, young)?;
                    self.len.count().add(copy);
                    if L::COUNTER_BITS != 0 {
                        self.remove(class);
                    }
                }
            }
        }
        let is_still = faulty!(self.time.is_still(now), RefreshBesideMarksOnce => true);
        Ok(is_still.then_some(true))
    }
}

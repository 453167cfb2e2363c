//! Exact insertion of an absent item: load-linked, store-conditional on a word.
//!
//! Of the two words of a class one is its *home*. The call puts a token into an
//! empty slot of the home, reads the other word, and replaces the token by the
//! fingerprint. Any other change of the home removes the token, so if it is
//! still there, the home was the same word all the time, and the words read
//! stood together. From then on the class can reach the other word only through
//! the home (which would remove the token) or by a plain `insert`.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    RawFilter,
    copies::{copies, holds_copy},
    token::Token,
};
use crate::{
    error::InsertError,
    fault::instead,
    step::Step,
    sync,
    table::{
        class::Class,
        layout::{Layout, Masks},
        loaded::Loaded,
        word::Word,
    },
};

/// How often a call lets the owner of a reservation finish before it takes the
/// reservation away: at first, and at most. Each time that a call has lost its own
/// reservation it is twice as patient.
const COURTESY: usize = if sync::IN_MODEL { 0 } else { 16 };
const MAX_COURTESY: usize = 1024 * COURTESY;

/// Times that a call vacates a slot of the home before it gives up: each time but
/// the last another thread took the slot.
const MAX_VACATIONS: usize = if sync::IN_MODEL { 3 } else { 64 };

impl Class {
    /// The bucket in which `insert_unique` claims, and the other one. Either is
    /// the lower one for half of all classes, so that the load stays even.
    fn home(self) -> (usize, usize) {
        if (self.p as u64 ^ self.fingerprint) & 1 == 0 {
            (self.p, self.q)
        } else {
            (self.q, self.p)
        }
    }
}

/// How long a call waits for the owners of reservations.
struct Patience {
    /// How often it waits before it takes the next reservation away.
    limit: usize,
    left: usize,
}

impl Patience {
    fn new() -> Self {
        Self {
            limit: COURTESY,
            left: COURTESY,
        }
    }

    /// Gives the owner some time; false if it has had enough.
    fn wait(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        sync::spin();
        true
    }

    /// The own reservation was taken away: others need more time.
    #[cfg_attr(any(guira_loom, guira_shuttle), expect(clippy::unnecessary_min_or_max))] // 0 in a model
    fn double(&mut self) {
        self.limit = MAX_COURTESY.min(2 * self.limit);
        self.left = self.limit;
    }
}

/// An empty slot of the home, as it was loaded.
#[derive(Clone, Copy)]
struct Vacancy<'a, L> {
    home: Loaded<'a, L>,
    slot: usize,
    token: u64,
    /// The other bucket of the class.
    other: usize,
}

impl<'a, L: Layout> Vacancy<'a, L> {
    /// The home, with the slot reserved; `None` if it has changed.
    fn reserve(self) -> Option<Loaded<'a, L>> {
        let reserved = self.home.word.with_reservation(self.slot, self.token);
        self.home
            .replace(Step::Reserve, reserved)
            .then(|| self.home.now(reserved))
    }
}

/// What a call has lost to another thread.
enum Lost {
    /// The home changed before the reservation stood.
    Home,
    /// The reservation was taken away.
    Reservation,
}

impl<L: Layout> RawFilter<L> {
    /// Adds the class if it is absent. `Ok(true)`: it was, and now is present.
    pub(crate) fn insert_unique(&self, class: Class) -> Result<bool, InsertError> {
        let token = Token::acquire().ok_or(InsertError::TooManyInFlight)?;
        let (home, other) = class.home();
        let (mut patience, mut vacations) = (Patience::new(), MAX_VACATIONS);
        loop {
            let home_word = self.table.load_for_update(class.fingerprint, home);
            let early = self.table.load_for_update(class.fingerprint, other);
            if holds_copy(home_word.word, class.fingerprint)
                || holds_copy(early.word, class.fingerprint)
            {
                return Ok(false);
            }
            let Some(slot) = home_word.word.vacancy() else {
                if vacations == 0 {
                    return self.present_or(class, InsertError::Full);
                }
                vacations -= 1;
                if let Err(error) = self.vacate(class, home) {
                    return self.present_or(class, error);
                }
                continue;
            };
            if home_word.is_reserved() && patience.wait() {
                continue;
            }
            let vacancy = Vacancy {
                home: home_word,
                slot,
                token: token.value() & L::FINGERPRINT,
                other,
            };
            let reserve = instead!(wrong::is_on() => wrong::reserve, Self::reserve_and_confirm);
            match reserve(self, class, vacancy) {
                Ok(inserted) => return Ok(inserted),
                Err(Lost::Home) => continue,
                Err(Lost::Reservation) => patience.double(),
            }
            sync::yield_in_model();
        }
    }

    /// Reserves the slot, reads the other word, and confirms the reservation or cancels it.
    fn reserve_and_confirm(&self, class: Class, vacancy: Vacancy<'_, L>) -> Result<bool, Lost> {
        let own = vacancy.reserve().ok_or(Lost::Home)?;
        let seen = self.table.load_for_update(class.fingerprint, vacancy.other);
        self.confirm(class, own, seen.word)
    }

    /// Confirms the reservation, unless the home and the other word, as `seen`, hold a copy.
    ///
    /// Words that cannot have stood together are taken to hold none: the home has changed
    /// then, so Confirm fails.
    fn confirm(&self, class: Class, own: Loaded<'_, L>, seen: Word<L>) -> Result<bool, Lost> {
        let absent = copies(own.word, seen, class.fingerprint).unwrap_or(0) == 0;
        let confirmed_or_cancelled = if absent {
            own.replace(Step::Confirm, own.word.plus(class.fingerprint))
        } else {
            own.replace(Step::Cancel, own.word)
        };
        if !confirmed_or_cancelled {
            return Err(Lost::Reservation);
        }
        if absent {
            self.len.add(1);
            self.table.sweep_some();
        }
        Ok(absent)
    }

    /// `Ok(false)` if the class is present after all. The two loads of a call miss a copy that
    /// a relocation carries from one word to the other between them: this looks properly.
    fn present_or(&self, class: Class, error: InsertError) -> Result<bool, InsertError> {
        if self.count(class) > 0 {
            Ok(false)
        } else {
            Err(self.count_failure(error))
        }
    }
}

#[cfg(test)]
mod tests;

//! Exact insertion of an absent item: load-linked, store-conditional on a word.
//!
//! Of the two words of a class one is its *home*. The call puts a token into an
//! empty slot of the home, reads the other word, and replaces the token by the
//! fingerprint. Any other change of the home removes the token, so if it is
//! still there, the home was the same word all the time, and the words read
//! stood together. From then on the class can reach the other word only through
//! the home (which would remove the token) or by a plain `insert`.

use crate::{
    error::InsertError,
    fault::{self, Fault},
    hash::Class,
    raw::token::Token,
    raw::{RawFilter, copies, holds_copy},
    step::Step,
    sync,
    table::layout::{Layout, Masks},
};

/// How often a call lets the owner of a reservation finish before it takes the
/// reservation away: at first, and at most. Each time that a call has lost its own
/// reservation it is twice as patient.
const COURTESY: usize = if sync::IN_MODEL { 0 } else { 16 };
const MAX_COURTESY: usize = 1024 * COURTESY;

/// Times that a call makes room in the home before it gives up: each time but
/// the last another thread took the room.
const MAX_ROUNDS: usize = if sync::IN_MODEL { 3 } else { 64 };

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

impl<L: Layout> RawFilter<L> {
    /// Adds the class if it is absent. `Ok(true)`: it was, and now is present.
    pub(crate) fn insert_unique(&self, class: Class) -> Result<bool, InsertError> {
        let token = Token::acquire().ok_or(InsertError::TooManyInFlight)?;
        let token = if fault::is(Fault::UniqueSharedToken) {
            0
        } else {
            token.value() & L::FINGERPRINT
        };
        let (home, other) = class.home();
        let (mut patience, mut rounds) = (COURTESY, MAX_ROUNDS);
        let mut courtesy = patience;
        loop {
            let loaded = self.table.load_for_update(class.fingerprint, home);
            let word = loaded.word;
            let early = self.table.load_for_update(class.fingerprint, other).word;
            if holds_copy(word, class.fingerprint) || holds_copy(early, class.fingerprint) {
                return Ok(false);
            }
            let Some(vacancy) = word.vacancy() else {
                let room = match rounds {
                    0 => Err(InsertError::Full),
                    _ => self.make_room(class, home),
                };
                if let Err(error) = room {
                    // The two loads above miss a copy that a relocation carries
                    // from one word to the other between them: look properly.
                    return if self.count(class) > 0 {
                        Ok(false)
                    } else {
                        Err(self.refused(error))
                    };
                }
                rounds -= 1;
                continue;
            };
            if loaded.is_reserved() && courtesy > 0 {
                courtesy -= 1;
                sync::spin();
                continue;
            }
            let reserved = word.with_reservation(vacancy, token);
            if !fault::is(Fault::UniqueNoReservation) && !loaded.replace(Step::Reserve, reserved) {
                continue;
            }
            let loaded = match fault::is(Fault::UniqueNoReservation) {
                true => loaded,
                false => loaded.now(reserved),
            };
            let seen = match fault::is(Fault::UniqueReadsEarly) {
                true => early,
                false => self.table.load_for_update(class.fingerprint, other).word,
            };
            let present = copies(word, seen, class.fingerprint);
            let (step, new) = match present {
                Some(0) => (Step::Confirm, word.with(vacancy, class.fingerprint)),
                _ => (Step::Cancel, word),
            };
            if loaded.replace(step, new) {
                match present {
                    Some(0) => {
                        self.len.add(1);
                        self.table.planes.sweep_some();
                        return Ok(true);
                    }
                    Some(_) => return Ok(false),
                    None => {}
                }
            } else {
                #[cfg_attr(any(guira_loom, guira_shuttle), expect(clippy::unnecessary_min_or_max))]
                // 0 in a model
                let doubled = MAX_COURTESY.min(2 * patience);
                patience = doubled;
                courtesy = patience;
            }
            sync::yield_in_model();
        }
    }
}

#[cfg(test)]
mod tests;

//! Exact insertion of an absent item: load-linked, store-conditional on a word.
//!
//! | promise | one copy, and one `Ok(true)` of all calls that race |
//! |---|---|
//! | how | DESIGN, section 6 |
//! | why | PROOF, section 8, section 15 (L5, L11) |
//! | checked by | unique, growth_level, expire_unique |
//! | break it | `cargo xtask break UniqueNoReservation` |
//!
//! The call puts a token into an empty slot of one of the two words of the class, its *own* word.
//! Then it reads the other word, and replaces the token by the fingerprint. Every other change of
//! the own word removes the token. If the token is still there, the own word has not changed, so at
//! one moment both words were as the call has read them. From then on, the class can reach the other
//! word only in three ways. A plain `insert` can put it there, another call can reserve there, or it
//! comes through the own word, which removes the token.
//!
//! If two calls have reservations in different words, at least one of them sees the other's, because
//! each reserves before it reads. One of the two words is the *home* of the class
//! ([`Class::home`]), and a call at home has the right of way. It evicts a reservation in the other
//! word; a call there gives way to a call at home.
//!
//! The two words therefore have two pairs of names. *Home* and *away* belong to the class and never
//! change. *Own* and *other* belong to a call, which chooses its own word.
//!
//! ```text
//!                      home             away
//! a call at home:      own   ─ reads →  other    evicts a reservation there
//! a call away:         other  ← reads ─ own      gives way to a reservation there
//! ```

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Now, RawFilter,
    copies::{copies, holds_copy},
    crew::{Alone, Crew, Hands},
    token::with_token,
};
use crate::{
    error::InsertError,
    fault::faulty,
    memory::Storage,
    step::Step,
    sync,
    table::{
        class::Class,
        counted::Counted,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        time::{Moment, Time},
        view::Loaded,
        word::{Bits, Bucket, Hint, Pair},
    },
};
use std::hint::select_unpredictable;

/// The number of times that a call lets the owner of a reservation finish before it evicts the
/// reservation: initially, and at most. The number doubles each time that the call loses its own
/// reservation.
const COURTESY: usize = if sync::IN_MODEL { 0 } else { 16 };
const MAX_COURTESY: usize = 1024 * COURTESY;

/// The number of times that a call vacates a slot before it gives up. Each time another thread took
/// the slot.
const MAX_VACATIONS: usize = if sync::IN_MODEL { 3 } else { 64 };

/// How long a call waits for the owners of reservations.
struct Patience {
    /// The number of waits before the call evicts the next reservation.
    limit: usize,
    left: usize,
}

impl Patience {
    /// The patience of the call with this token. It differs between calls, so that two calls do not
    /// evict each other's reservations at the same moment forever.
    #[cfg_attr(any(guira_loom, guira_shuttle), expect(clippy::unnecessary_min_or_max))] // 0 in a model
    fn new(token: u64) -> Self {
        let limit = COURTESY + token as usize % COURTESY.max(1);
        Self { limit, left: limit }
    }

    /// Gives the owner some time. Returns false if the owner has had enough.
    fn wait(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        sync::spin();
        true
    }

    /// The call's own reservation was evicted, so it gives others more time.
    #[cfg_attr(any(guira_loom, guira_shuttle), expect(clippy::unnecessary_min_or_max))] // 0 in a model
    fn double(&mut self) {
        self.limit = MAX_COURTESY.min(2 * self.limit);
        self.left = self.limit;
    }
}

/// The call's own word, as loaded, with an empty slot.
#[derive(Clone, Copy)]
struct Vacancy<'a, L: Layout> {
    own: Loaded<'a, L>,
    /// The own word with the reservation.
    reserved: Bits,
    /// The bucket of the other word.
    other: usize,
    /// True if the own word is the home.
    at_home: bool,
    /// The moment just before the words were loaded.
    now: Now<L>,
}

impl<'a, L: Layout> Vacancy<'a, L> {
    /// Reserves a slot and returns the own word, or `None` if it has changed.
    fn reserve(self) -> Option<Loaded<'a, L>> {
        self.own
            .replace_bits(Step::Reserve, self.reserved)
            .then(|| self.own.replaced_by_bits(self.reserved))
    }
}

/// Both words of a class as they were loaded, settled and without a copy of the class.
#[derive(Clone, Copy)]
struct Absent<'a, L: Layout> {
    home: Loaded<'a, L>,
    away: Loaded<'a, L>,
    hint: Hint,
    /// The moment just before the words were loaded.
    now: Now<L>,
}

/// What a first look at the words of a class has seen.
enum Look<'a, L: Layout> {
    /// A copy.
    Present,
    /// No copy, and no other thread.
    Absent(Absent<'a, L>),
    /// Marks or reservations.
    Unsettled,
}

/// What a call has lost to another thread.
enum Lost {
    /// The own word changed before the reservation was made, or a call in the home has the right of
    /// way.
    Word,
    /// The reservation was evicted.
    Reservation,
}

/// The number of copies of a class that a call wants in the filter.
pub(super) trait Wanted<L: Layout>: Copy {
    /// A copy is added if fewer than this number are present.
    fn copies(self) -> usize;

    /// The copy to add at the moment `now`.
    fn entry(self, fingerprint: Fingerprint, now: Now<L>) -> Entry;

    /// The moment by which copies are counted, if the time is `now`.
    #[inline(always)]
    fn by(self, now: Now<L>) -> Now<L> {
        now
    }

    /// True if the filter has these copies.
    fn are_there(self, raw: &RawFilter<L>, class: Class) -> bool {
        let copies = raw.count_by(class, |now| self.by(now));
        copies.is_some_and(|copies| copies >= self.copies())
    }

    /// True if a first look finds these copies. The two words of the class, as they were loaded,
    /// may not have existed together, so one copy may be in both.
    fn are_in(self, raw: &RawFilter<L>, class: Class, _: [Word<L>; 2], _: Now<L>) -> bool {
        self.are_there(raw, class)
    }

    /// True if a single copy is wanted, seen now.
    fn is_one(self) -> bool {
        false
    }

    /// Called if an epoch has begun since a copy was added.
    fn added_too_early(self, raw: &RawFilter<L>, class: Class);
}

/// One copy, seen now.
#[derive(Clone, Copy)]
struct One;

impl<L: Layout> Wanted<L> for One {
    #[inline(always)]
    fn copies(self) -> usize {
        1
    }

    #[inline(always)]
    fn entry(self, fingerprint: Fingerprint, now: Now<L>) -> Entry {
        now.entry(fingerprint)
    }

    #[inline(always)]
    fn are_in(self, _: &RawFilter<L>, class: Class, words: [Word<L>; 2], now: Now<L>) -> bool {
        let [home, away] = words;
        holds_copy::<L>(home, class.fingerprint, now)
            || holds_copy::<L>(away, class.fingerprint, now)
    }

    #[inline(always)]
    fn is_one(self) -> bool {
        true
    }

    #[inline(always)]
    fn added_too_early(self, raw: &RawFilter<L>, class: Class) {
        raw.confirmed_too_early(class);
    }
}

impl<L: Layout> RawFilter<L> {
    /// Adds the class if it is absent. `Ok(true)` if this call added it.
    pub(crate) fn insert_unique(&self, class: Class) -> Result<bool, InsertError> {
        self.insert_wanted(class, One)
    }

    /// [`insert_unique`](Self::insert_unique) by hash.
    #[inline]
    pub(crate) fn insert_unique_by_hash(&self, hash: u64) -> Result<bool, InsertError> {
        if L::Storage::SHARED {
            return self.insert_unique_hash(hash);
        }
        self.insert_unique(self.class(hash))
    }

    /// [`insert_unique`](Self::insert_unique) by hash in a filter that processes share. It is not
    /// inlined, but the class is made within it, in registers.
    #[inline(never)]
    pub(crate) fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        let class = self.class(hash);
        match self.crew() {
            Some(crew) => self.insert_wanted_by_line(crew, class, One),
            None => self.insert_unique(class),
        }
    }

    /// Adds a copy if there are fewer than wanted. `Ok(true)` if this call added one.
    pub(super) fn insert_wanted(
        &self,
        class: Class,
        wanted: impl Wanted<L>,
    ) -> Result<bool, InsertError> {
        if L::Storage::SHARED
            && let Some(crew) = self.crew()
        {
            return self.insert_wanted_by_line(crew, class, wanted);
        }
        let look = self.first_look(class, wanted);
        if let Look::Present = look {
            return Ok(false);
        }
        let call = |token| {
            if self.is_inserted_at_once(class, wanted, token, look) {
                return Ok(true);
            }
            self.insert_wanted_in_rounds(Alone, class, wanted, token)
        };
        with_token(call).unwrap_or(Err(InsertError::TooManyInFlight))
    }

    /// [`insert_wanted`](Self::insert_wanted) in a filter that processes share: the number of the line
    /// is the token.
    #[inline(always)]
    fn insert_wanted_by_line(
        &self,
        crew: &Crew,
        class: Class,
        wanted: impl Wanted<L>,
    ) -> Result<bool, InsertError> {
        let look = self.first_look(class, wanted);
        if let Look::Present = look {
            return Ok(false);
        }
        let Some(line) = self.take_line(crew) else {
            return Err(InsertError::TooManyInFlight);
        };
        line.record_reservation::<L>(class);
        let token = line.token();
        let result = if self.is_inserted_at_once(class, wanted, token, look) {
            Ok(true)
        } else {
            self.insert_wanted_in_rounds(&line.for_moves(), class, wanted, token)
        };
        line.clear_reservation();
        result
    }

    /// Loads both words of the class. If no other thread interferes, they show whether it has a copy.
    #[inline(always)]
    fn first_look(&self, class: Class, wanted: impl Wanted<L>) -> Look<'_, L> {
        if !wanted.is_one() {
            return Look::Unsettled;
        }
        let (home, away) = class.home::<L>();
        let now = self.time.now();
        let view = self.table.view();
        let (home, away, hint) = view.load_both_at_hint(class.fingerprint, home, away);
        match now.match_settled(home.bits, away.bits, class.fingerprint, hint) {
            (false, _) => Look::Unsettled,
            (true, true) => Look::Present,
            (true, false) => Look::Absent(Absent {
                home,
                away,
                hint,
                now,
            }),
        }
    }

    /// True if the look has found no copy and this call has added one since.
    #[inline(always)]
    fn is_inserted_at_once(
        &self,
        class: Class,
        wanted: impl Wanted<L>,
        token: u64,
        look: Look<'_, L>,
    ) -> bool {
        let Look::Absent(absent) = look else {
            return false;
        };
        faulty!(
            self.insert_at_once(class, wanted, token, absent),
            in Unique => wrong::insert_at_once(self, class, wanted, token, absent)
        )
    }

    /// Adds the class if nothing has changed since the look. The loop of
    /// [`insert_wanted_in_rounds`](Self::insert_wanted_in_rounds) makes the same steps, but this code
    /// computes both new words before the first exchange, because what comes after it waits for it.
    #[inline(always)]
    fn insert_at_once(
        &self,
        class: Class,
        wanted: impl Wanted<L>,
        token: u64,
        Absent {
            home,
            away,
            hint,
            now,
        }: Absent<'_, L>,
    ) -> bool {
        let entry = wanted.entry(class.fingerprint, now);
        let at_home = if L::COUNTER_BITS != 0 {
            prefers_home::<L>(home.word_in_table(), away.word_in_table(), entry)
        } else {
            !Word::<L>::is_fuller_at_hint(home.bits, away.bits, hint)
        };
        // A branch would be unpredictable.
        let own = select_unpredictable(at_home, home, away);
        let other = select_unpredictable(at_home, away, home);
        let word = own.word_in_table();
        let Some(reserved) = word.with_reservation(token) else {
            return false;
        };
        let reserved = own.encode(reserved);
        let new = word.plus(entry).joined(entry);
        let count = self.len.count();
        if !own.replace_bits(Step::Reserve, reserved) {
            return false;
        }
        let own = own.replaced_by_bits(reserved);
        // As in `reserve_and_confirm`.
        sync::fence_after_exchange();
        let is_same = faulty!(other.is_same_now(), UniqueReadsEarly => true);
        if !(is_same && self.time.is_still(now)) {
            own.replace(Step::Cancel, word);
            return false;
        }
        if !own.replace(Step::Confirm, new) {
            return false;
        }
        if L::COUNTER_BITS != 0 {
            self.len.share_of(word, new);
        }
        count.add(L::Counted::SLOT);
        self.added(class, wanted, now);
        true
    }

    /// A copy was added at the moment `now`, and counted.
    #[inline(always)]
    fn added(&self, class: Class, wanted: impl Wanted<L>, now: Now<L>) {
        self.table.split_some();
        let in_time = self.time.is_still(now);
        if !faulty!(in_time, UniqueConfirmedEarly => true) {
            wanted.added_too_early(self, class);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_wanted_in_rounds(
        &self,
        hands: impl Hands,
        class: Class,
        wanted: impl Wanted<L>,
        token: u64,
    ) -> Result<bool, InsertError> {
        let (home, away) = class.home::<L>();
        let view = self.table.view();
        let (mut patience, mut vacations) = (Patience::new(token), MAX_VACATIONS);
        loop {
            let now = self.time.now();
            let (home_word, away_word) = view.load_both_for_update(class.fingerprint, home, away);
            let (in_home, in_away) = (home_word.word(), away_word.word());
            if wanted.are_in(self, class, [in_home, in_away], now) {
                return Ok(false);
            }
            // The own word is the preferred one, or the home if the home has a reservation.
            let entry = wanted.entry(class.fingerprint, now);
            let at_home = home_word.is_reserved() || prefers_home::<L>(in_home, in_away, entry);
            let (own, other) = if at_home {
                (home_word, away)
            } else {
                (away_word, home)
            };
            let Some(reserved) = own.word().with_reservation(token) else {
                if L::COUNTER_BITS != 0
                    && let Some(added) = self.count_in_full_pair(class, wanted)
                {
                    return Ok(added);
                }
                if vacations == 0 {
                    return self.present_or(class, wanted, InsertError::Contended);
                }
                vacations -= 1;
                if let Err(error) = self.vacate(hands, class) {
                    return self.present_or(class, wanted, error);
                }
                continue;
            };
            if own.is_reserved() && patience.wait() {
                continue;
            }
            let vacancy = Vacancy {
                own,
                reserved: own.encode(reserved),
                other,
                at_home,
                now,
            };
            let reserve = faulty!(Self::reserve_and_confirm, in Unique => wrong::reserve);
            match reserve(self, class, wanted, vacancy, &mut patience) {
                Ok(inserted) => return Ok(inserted),
                Err(Lost::Word) => {}
                Err(Lost::Reservation) => patience.double(),
            }
            sync::yield_in_model();
        }
    }

    /// Adds a wanted copy to a counter, because neither word has an empty slot for a reservation. `None`
    /// if one has, or if no counter has room.
    ///
    /// All calls add to P while a counter there has room. So one that adds to Q has counted all that P
    /// can hold, and one that adds to P has compared the rest (PROOF, section 14).
    #[cold]
    fn count_in_full_pair(&self, class: Class, wanted: impl Wanted<L>) -> Option<bool> {
        loop {
            let now = self.time.now();
            let (p, q, hint) = self.table.view().load_pair_for_update(class);
            let (in_p, in_q) = (p.word(), q.word());
            if in_p.has_vacancy() || in_q.has_vacancy() {
                return None;
            }
            let copies = copies::<L>(in_p, in_q, class.fingerprint, wanted.by(now))?;
            if copies >= wanted.copies() {
                return Some(false);
            }
            let entry = wanted.entry(class.fingerprint, now);
            let (to_q, new) = Word::<L>::plus_in_emptier(p.bits, q.bits, entry, hint)?;
            let into = if to_q { q } else { p };
            if into.replace_bits(Step::Claim, new) {
                self.len.share_of(into.word(), into.decode(new));
                self.len.add(1);
                if !self.time.is_still(now) {
                    wanted.added_too_early(self, class);
                }
                return Some(true);
            }
            sync::yield_in_model();
        }
    }

    /// Reserves a slot, reads the other word, and confirms the reservation or cancels it.
    fn reserve_and_confirm(
        &self,
        class: Class,
        wanted: impl Wanted<L>,
        vacancy: Vacancy<'_, L>,
        patience: &mut Patience,
    ) -> Result<bool, Lost> {
        let own = vacancy.reserve().ok_or(Lost::Word)?;
        // If two calls reserve in different words, at least one of them sees the other's
        // reservation.
        sync::fence_after_exchange();
        let seen = self.read_other(class, vacancy, patience);
        // If an epoch has begun, words that seem empty may contain a younger copy.
        let Some(seen) = seen.filter(|_| self.time.is_still(vacancy.now)) else {
            // If this fails, another thread has evicted the reservation.
            own.replace(Step::Cancel, vacancy.own.word());
            return Err(Lost::Word);
        };
        self.confirm(class, wanted, vacancy, own, seen)
    }

    /// Returns the other word, or `None` if a call there has the right of way.
    fn read_other<'a>(
        &'a self,
        class: Class,
        vacancy: Vacancy<'_, L>,
        patience: &mut Patience,
    ) -> Option<Loaded<'a, L>> {
        let load = || self.table.load_for_update(class.fingerprint, vacancy.other);
        if vacancy.at_home {
            return Some(evict_reservation(load, patience));
        }
        let home = load();
        (!home.is_reserved()).then_some(home)
    }

    /// Confirms the reservation in `own`, or cancels it if the own word and the other word, as
    /// `seen`, contain the wanted copies.
    ///
    /// Two words that cannot have existed together count as empty. In this case the own word has
    /// changed, so Confirm fails.
    fn confirm(
        &self,
        class: Class,
        wanted: impl Wanted<L>,
        vacancy: Vacancy<'_, L>,
        own: Loaded<'_, L>,
        seen: Loaded<'_, L>,
    ) -> Result<bool, Lost> {
        let (word, now) = (vacancy.own.word(), vacancy.now);
        let present = copies::<L>(word, seen.word(), class.fingerprint, wanted.by(now));
        let too_few = present.unwrap_or(0) < wanted.copies();
        let confirmed_or_cancelled = if too_few {
            let entry = wanted.entry(class.fingerprint, now);
            let new = word.plus(entry).joined(entry);
            let confirmed = own.replace(Step::Confirm, new);
            if L::COUNTER_BITS != 0 && confirmed {
                self.len.share_of(word, new);
            }
            confirmed
        } else {
            own.replace(Step::Cancel, word)
        };
        if !confirmed_or_cancelled {
            return Err(Lost::Reservation);
        }
        if too_few {
            self.len.add(1);
            self.added(class, wanted, now);
        }
        Ok(too_few)
    }

    /// An epoch began during the call, so the copy would expire too soon, and is made younger.
    /// Another call may already have seen the copy, so this call has added the class in any case.
    #[cold]
    fn confirmed_too_early(&self, class: Class) {
        if !matches!(self.refresh(class), Ok(true)) {
            // The copy is already dead, because this thread slept for as long as copies live.
            let _ = self.insert(class);
        }
    }

    /// `Ok(false)` if the copies are present after all. The two loads of a call miss a copy that a
    /// relocation carries from one word to the other in between, so this looks again with
    /// validation.
    fn present_or(
        &self,
        class: Class,
        wanted: impl Wanted<L>,
        error: InsertError,
    ) -> Result<bool, InsertError> {
        if wanted.are_there(self, class) {
            Ok(false)
        } else {
            Err(self.count_failure(error))
        }
    }
}

/// True if a copy should rather be in the home: the emptier word, or the one that has a counter for it.
#[inline(always)]
fn prefers_home<L: Layout>(home: Word<L>, away: Word<L>, entry: Entry) -> bool {
    if L::COUNTER_BITS != 0 {
        let has_counter = |word: Word<L>| word.has_vacancy() && word.has_counter(entry);
        let (in_home, in_away) = (has_counter(home), has_counter(away));
        if in_home != in_away {
            return in_home;
        }
    }
    !home.is_fuller_than(away)
}

/// Returns the word that `load` loads, without a reservation. Evicts a reservation that stays too
/// long.
fn evict_reservation<'a, L: Layout>(
    load: impl Fn() -> Loaded<'a, L>,
    patience: &mut Patience,
) -> Loaded<'a, L> {
    loop {
        let loaded = load();
        let free =
            !loaded.is_reserved() || !patience.wait() && loaded.replace(Step::Evict, loaded.word());
        if free {
            return loaded;
        }
    }
}

#[cfg(test)]
mod tests;

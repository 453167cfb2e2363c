//! The time of a filter: none, or a sequence of epochs in which copies age.
//!
//! In an expiring filter each copy has a tag, which encodes the epoch in which its item was last
//! seen. The *age* of a copy in epoch n is the number of epochs since then, modulo 2^t for tags of t
//! bits. A copy is *live* while its age is at most E, and *dead* afterwards. Only live copies count.
//!
//! A filter without time has a single moment, in which all copies are live. Nothing of this file
//! remains in its compiled code.

pub(crate) mod beginning;
#[cfg(feature = "shared")]
pub(crate) mod in_words;

pub(crate) use super::word::packed::tag::Now;
use super::{
    entry::{Entry, Fingerprint},
    word::{
        Bits, Hint, Pair,
        lanes::{Masks, PackedLayout},
        packed::Packed,
    },
};
use crate::{
    fault::{self, faulty, when_faulty},
    memory::{Heap, Number, Storage},
    step::Step,
    sync::{self, Ordering},
};
use beginning::{Beginning, Reading};
use crossbeam_utils::CachePadded;
#[cfg(feature = "shared")]
use in_words::InWords;
use std::{fmt::Debug, time::Duration};

/// The time of a filter.
pub(crate) trait Time<W: Pair>: Default + Send + Sync {
    /// A moment of this time.
    type Now: Moment<W>;

    /// The same time in words that processes share.
    #[cfg(feature = "shared")]
    type Shared: Time<W, Now = Self::Now> + InWords;

    /// The moment at which the call reads the time.
    fn now(&self) -> Self::Now;

    /// True if the moment is still the same, after words were read or exchanged.
    fn is_still(&self, now: Self::Now) -> bool;

    /// A time that has come to `now`, in which copies are live up to the age `most` at most. The last
    /// epochs began as `beginning` says, and no copy is dead.
    fn at(now: Now, most: u64, beginning: Beginning) -> Self;

    /// Records that no copy is dead at the moment `now`.
    fn note_swept(&self, now: Self::Now);

    /// E: the age of the oldest live copies, at most.
    fn most(&self) -> u64;

    /// From now on epochs say what is dead by their number alone, for E epochs.
    fn go_by_number(&self);

    /// How long ago the last epochs began at the moment `now`, the last one first, by the clock that shows
    /// `reading`.
    fn ages(&self, now: Self::Now, reading: Reading) -> Vec<Duration>;

    /// When the last epochs began, as it is known now.
    fn beginning(&self) -> Beginning;
}

/// A moment, which determines the copies that count.
pub(crate) trait Moment<W: Pair>: Copy + Debug + PartialEq {
    /// The moment in the epoch `epoch` at which copies with an age of at most `oldest` count.
    fn of(epoch: u64, oldest: u64) -> Self;

    /// The *entry* of a copy that is seen at this moment: the contents of its slot.
    fn entry(self, fingerprint: Fingerprint) -> Entry;

    /// The entry of a copy that was last seen `age` epochs before this moment, or in the first epoch
    /// whose copies are live.
    fn aged_entry(self, fingerprint: Fingerprint, age: u64) -> Entry;

    /// The age of the copy with this entry, in epochs.
    fn age(self, entry: Entry) -> u64;

    /// True if the copy with this entry counts.
    fn is_live(self, entry: Entry) -> bool;

    /// True if a copy that was seen at the moment `then` has counted ever since. Unlike a tag, the
    /// number of an epoch says so however long that is.
    fn is_live_since(self, then: Self) -> bool;

    /// [`Pair::match_settled`], where only live copies match.
    fn match_settled(self, p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> (bool, bool);

    /// [`Pair::plus_in_emptier`] of a copy that is seen at this moment, and, if both words are settled,
    /// the number of live copies that they had before it.
    #[inline(always)]
    fn plus_and_count(
        self,
        one: Bits,
        other: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
    ) -> Option<(bool, Bits, Option<usize>)> {
        let (in_other, new) = W::plus_in_emptier(one, other, self.entry(fingerprint), hint)?;
        let [one, other] = [one, other].map(|word| W::decode(word, hint));
        let settled = W::both_unmarked(one, other) && !one.is_reserved() && !other.is_reserved();
        let count = || self.count_in(one, fingerprint) + self.count_in(other, fingerprint);
        Some((in_other, new, settled.then(count)))
    }

    /// True if an unmarked slot holds a live copy.
    fn is_in(self, word: W, fingerprint: Fingerprint) -> bool;

    /// The number of live copies in unmarked slots.
    fn count_in(self, word: W, fingerprint: Fingerprint) -> usize;

    /// The entry of the oldest live copy in an unmarked slot.
    fn oldest_in(self, word: W, fingerprint: Fingerprint) -> Option<Entry>;

    /// The entry of a dead copy of any class, if the word is unmarked. The low bits that the word does
    /// not store are taken from `one`, a fingerprint that belongs to the same plane.
    fn dead_in(self, word: W, one: Fingerprint) -> Option<Entry>;

    /// The word, which is at rest, without the copies that are dead `later` epochs after this moment.
    fn without_dead(self, word: W, later: u64) -> W;

    /// True if the tag of this copy, which is dead, would be that of a live one in the next epoch.
    fn ends_death(self, entry: Entry) -> bool;

    /// The number of the epoch.
    fn number(self) -> u64;

    /// The age of the oldest copies that count.
    fn oldest(self) -> u64;

    /// The same with another age of the oldest copies that count.
    fn with_oldest(self, oldest: u64) -> Self;

    /// The moment in a filter whose copies expire. In another one it has no meaning.
    fn timed(self) -> Now;
}

/// No time: all copies count forever.
#[derive(Debug, Default)]
pub(crate) struct Timeless;

/// The only moment of a filter without time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Always;

impl<W: Pair> Time<W> for Timeless {
    type Now = Always;
    #[cfg(feature = "shared")]
    type Shared = Self;

    #[inline(always)]
    fn now(&self) -> Always {
        Always
    }

    #[inline(always)]
    fn is_still(&self, _now: Always) -> bool {
        true
    }

    fn at(_now: Now, _most: u64, _beginning: Beginning) -> Self {
        Self
    }

    fn note_swept(&self, _now: Always) {}

    #[inline(always)]
    fn most(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn go_by_number(&self) {}

    fn ages(&self, _now: Always, _reading: Reading) -> Vec<Duration> {
        Vec::new()
    }

    fn beginning(&self) -> Beginning {
        Beginning::default()
    }
}

impl<W: Pair> Moment<W> for Always {
    fn of(_epoch: u64, _oldest: u64) -> Self {
        Self
    }

    #[inline(always)]
    fn entry(self, fingerprint: Fingerprint) -> Entry {
        Entry::untagged(fingerprint)
    }

    fn aged_entry(self, fingerprint: Fingerprint, _age: u64) -> Entry {
        Entry::untagged(fingerprint)
    }

    #[inline(always)]
    fn age(self, _entry: Entry) -> u64 {
        0
    }

    #[inline(always)]
    fn is_live(self, _entry: Entry) -> bool {
        true
    }

    fn is_live_since(self, _then: Self) -> bool {
        true
    }

    #[inline(always)]
    fn match_settled(self, p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> (bool, bool) {
        W::match_settled(p, q, fingerprint, hint)
    }

    #[inline(always)]
    fn is_in(self, word: W, fingerprint: Fingerprint) -> bool {
        word.has(Entry::untagged(fingerprint))
    }

    #[inline(always)]
    fn count_in(self, word: W, fingerprint: Fingerprint) -> usize {
        word.copies(fingerprint)
    }

    #[inline]
    fn oldest_in(self, word: W, fingerprint: Fingerprint) -> Option<Entry> {
        let entry = Entry::untagged(fingerprint);
        word.holds(entry).then_some(entry)
    }

    #[inline(always)]
    fn dead_in(self, _word: W, _one: Fingerprint) -> Option<Entry> {
        None
    }

    fn without_dead(self, word: W, _later: u64) -> W {
        word
    }

    fn ends_death(self, _entry: Entry) -> bool {
        false
    }

    #[inline(always)]
    fn number(self) -> u64 {
        0
    }

    #[inline(always)]
    fn oldest(self) -> u64 {
        0
    }

    #[inline(always)]
    fn with_oldest(self, _oldest: u64) -> Self {
        self
    }

    fn timed(self) -> Now {
        Now::new(0, 0)
    }
}

/// A sequence of epochs. The user of the filter decides when an epoch begins.
pub(crate) struct Epochs<P: Storage = Heap> {
    /// The current epoch, and the age of its oldest live copies. All calls read it, so it has a cache
    /// line of its own.
    now: CachePadded<P::Number>,
    /// The last epoch in which all words have been swept.
    swept: P::Number,
    /// How far the sweep of the present epoch has come, if writes let time pass.
    progress: sync::AtomicU64,
    /// When the last epochs began.
    pub(crate) beginning: Beginning<P::Number>,
    /// Which start of the machine the clock counts from.
    #[cfg(feature = "shared")]
    boots: P::Extra<in_words::Boots>,
    /// E: the age of the oldest live copies, at most.
    most: u64,
}

impl<P: Storage> Default for Epochs<P> {
    fn default() -> Self {
        Self {
            now: CachePadded::default(),
            swept: P::Number::default(),
            progress: sync::AtomicU64::default(),
            beginning: Beginning::default(),
            #[cfg(feature = "shared")]
            boots: P::Extra::default(),
            most: 0,
        }
    }
}

impl Epochs {
    /// The first epoch of a time in which copies with an age of at most `oldest` are live.
    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn new(oldest: u64) -> Self {
        Self::default().up_to(oldest).at_epoch(0)
    }

    /// This time at the epoch `epoch`.
    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn at_epoch(self, epoch: u64) -> Self {
        let now = Now::new(epoch, self.most);
        Self {
            now: CachePadded::new(crate::sync::AtomicU64::new(now.word())),
            beginning: Beginning::in_epoch(epoch, vec![Duration::ZERO]),
            ..self
        }
    }

    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    fn up_to(self, most: u64) -> Self {
        Self { most, ..self }
    }
}

impl<P: Storage> Epochs<P> {
    /// E: the age of the oldest live copies, at most.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The greatest age of live copies at the moment `now`, by a reading from after that, and by the
    /// beginnings of the last epochs.
    pub(crate) fn oldest_live(&self, now: Now, ttl: Duration, reading: Reading) -> u64 {
        match faulty!(now.uncounted(), MergedByClock => 0) {
            0 => {
                let live = (now.epoch(), now.oldest());
                self.beginning.oldest_live(live, ttl, reading)
            }
            _ => now.oldest(),
        }
    }

    /// The epoch after `now`, in which the copies stay live that have an age of at most `oldest` in `now`.
    /// It is the `E + 1`th of a copy at most.
    pub(crate) fn next(&self, now: Now, oldest: u64) -> Now {
        // Processes may share the word, and any of them may have written it.
        Now::new(now.epoch() + 1, oldest.saturating_add(1).min(self.most))
            .with_uncounted(now.uncounted().saturating_sub(1))
    }

    /// Makes the moment `now` the moment `later`. Returns false if another thread has changed it.
    ///
    /// AcqRel: Release pairs with the Acquire of `now`: a thread that observes an epoch also observes
    /// what was swept before it.
    pub(crate) fn tick(&self, now: Now, later: Now) -> bool {
        let order = fault::order(Step::Tick, Ordering::AcqRel);
        self.now
            .word()
            .compare_exchange(now.word(), later.word(), order, Ordering::Relaxed)
            .is_ok()
    }

    /// From now on epochs say what is dead by their number alone, until no copy is live that has the tag
    /// of an epoch before the current one.
    ///
    /// Copies come that were not seen in the epochs of their tags, but in those of another filter. When
    /// this filter's epochs began says nothing of them.
    pub(crate) fn go_by_number(&self) {
        loop {
            // Relaxed: the exchange observes what the moment depends on.
            let now = Now::of_word(sync::load_for_update(self.now.word(), Ordering::Relaxed));
            if now.uncounted() >= self.most || self.tick(now, now.with_uncounted(self.most)) {
                return;
            }
            when_faulty!(MergeTriesOnce, return);
            sync::yield_in_model();
        }
    }

    /// True if all words have been swept in the epoch `now`, by any threads.
    pub(crate) fn is_swept(&self, now: Now) -> bool {
        // Acquire: pairs with the Release of `sweep_ends`.
        self.swept
            .word()
            .load(fault::order(Step::Swept, Ordering::Acquire))
            >= now.epoch()
    }

    /// Records that all words have been swept in the epoch `now`.
    pub(crate) fn sweep_ends(&self, now: Now) {
        let order = fault::order(Step::Swept, Ordering::AcqRel);
        self.swept.word().fetch_max(now.epoch(), order);
    }
}

/// How far a sweep by pieces has come: the next piece in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress(u64);

impl Progress {
    /// The most pieces of a table, as a test in `geometry` checks.
    pub(crate) const MOST_PIECES: usize = 1 << 23;

    /// The number of a piece has this size. After the last piece, the next one would be [`Self::MOST_PIECES`].
    const PIECE_BITS: u32 = 24;

    const LAST_PIECE: u64 = (1 << Self::PIECE_BITS) - 1;

    /// The piece that is next in the epoch `now`: the first one, if this is the progress of an earlier
    /// epoch. `None` if it is that of a later one.
    pub(crate) fn next_in(self, now: Now) -> Option<usize> {
        let first = Self::of(now, 0).0;
        let is_earlier = faulty!(self.0 < first, PieceOfAnotherEpoch => false);
        match self.0 > Self::of(now, Self::LAST_PIECE).0 {
            true => None,
            false if is_earlier => Some(0),
            false => Some((self.0 & Self::LAST_PIECE) as usize),
        }
    }

    /// The epochs before the last 2^40 ones have passed for decades.
    fn of(now: Now, piece: u64) -> Self {
        Self(now.epoch() << Self::PIECE_BITS | piece)
    }
}

const _: () = assert!(Progress::MOST_PIECES as u64 <= Progress::LAST_PIECE);

impl<P: Storage> Epochs<P> {
    /// How far the last sweep by pieces has come.
    pub(crate) fn progress(&self) -> Progress {
        // Acquire: pairs with the Release of `piece_ends`.
        let order = fault::order(Step::Piece, Ordering::Acquire);
        Progress(self.progress.load(order))
    }

    /// Records that the piece before `next` has been swept in the epoch `now`, unless the sweep has moved
    /// on from `from`.
    ///
    /// AcqRel: Release pairs with the Acquire of `progress`. Who sweeps a piece has seen what was emptied
    /// in those before it.
    pub(crate) fn piece_ends(&self, from: Progress, now: Now, next: usize) {
        let order = fault::order(Step::Piece, Ordering::AcqRel);
        let to = Progress::of(now, next as u64);
        // If this fails, another thread has swept the piece, or a later epoch has begun.
        let _ = self
            .progress
            .compare_exchange(from.0, to.0, order, Ordering::Relaxed);
    }
}

impl<L: PackedLayout, P: Storage> Time<Packed<L>> for Epochs<P> {
    type Now = Now;
    #[cfg(feature = "shared")]
    type Shared = Epochs<crate::memory::Shared>;

    #[inline(always)]
    fn now(&self) -> Now {
        // Acquire: pairs with the Release of `tick`.
        let order = fault::order(Step::ReadEpoch, Ordering::Acquire);
        Now::of_word(self.now.word().load(order))
    }

    /// Relaxed: who empties a copy that was live in the epoch `now` has read a later epoch, and
    /// releases the word. Who has read that word reads a later epoch here, too.
    #[inline(always)]
    fn is_still(&self, now: Now) -> bool {
        let order = fault::order(Step::RereadEpoch, Ordering::Relaxed);
        self.now.word().load(order) == now.word()
    }

    fn at(now: Now, most: u64, beginning: Beginning) -> Self {
        let time = Self {
            beginning: beginning.duplicate(),
            most,
            ..Self::default()
        };
        // Relaxed: no other thread has the filter yet.
        time.now.word().store(now.word(), Ordering::Relaxed);
        time.swept.word().store(now.epoch(), Ordering::Relaxed);
        time
    }

    fn note_swept(&self, now: Now) {
        self.sweep_ends(now);
    }

    #[inline(always)]
    fn most(&self) -> u64 {
        self.most
    }

    fn go_by_number(&self) {
        self.go_by_number();
    }

    fn ages(&self, now: Now, reading: Reading) -> Vec<Duration> {
        self.beginning.ages(now.epoch(), self.most, reading)
    }

    fn beginning(&self) -> Beginning {
        self.beginning.duplicate()
    }
}

impl<L: PackedLayout> Moment<Packed<L>> for Now {
    fn of(epoch: u64, oldest: u64) -> Self {
        Self::new(epoch, oldest)
    }

    #[inline(always)]
    fn entry(self, fingerprint: Fingerprint) -> Entry {
        self.entry_of::<L>(fingerprint)
    }

    fn aged_entry(self, fingerprint: Fingerprint, age: u64) -> Entry {
        let age = age.min(self.oldest());
        Self::new(self.epoch().wrapping_sub(age), 0).entry_of::<L>(fingerprint)
    }

    #[inline]
    fn age(self, entry: Entry) -> u64 {
        self.age_of::<L>(entry)
    }

    #[inline]
    fn is_live(self, entry: Entry) -> bool {
        self.has_live::<L>(entry)
    }

    fn is_live_since(self, then: Self) -> bool {
        self.epoch().wrapping_sub(then.epoch()) <= self.oldest()
    }

    #[inline(always)]
    fn match_settled(self, p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> (bool, bool) {
        Packed::<L>::match_settled_live(p, q, fingerprint, hint, self)
    }

    #[inline(always)]
    fn plus_and_count(
        self,
        one: Bits,
        other: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
    ) -> Option<(bool, Bits, Option<usize>)> {
        Packed::<L>::plus_and_count_live(one, other, fingerprint, hint, self)
    }

    #[inline(always)]
    fn is_in(self, word: Packed<L>, fingerprint: Fingerprint) -> bool {
        word.has_live(fingerprint, self)
    }

    #[inline(always)]
    fn count_in(self, word: Packed<L>, fingerprint: Fingerprint) -> usize {
        word.count_live(fingerprint, self)
    }

    #[inline]
    fn oldest_in(self, word: Packed<L>, fingerprint: Fingerprint) -> Option<Entry> {
        word.oldest_live(fingerprint, self)
    }

    #[inline(always)]
    fn dead_in(self, word: Packed<L>, one: Fingerprint) -> Option<Entry> {
        word.dead(one, self)
    }

    fn without_dead(self, word: Packed<L>, later: u64) -> Packed<L> {
        word.without_entries(|entry| self.age_of::<L>(entry) + later > self.oldest())
    }

    fn ends_death(self, entry: Entry) -> bool {
        self.age_of::<L>(entry) == L::LAST_TAG
    }

    #[inline(always)]
    fn number(self) -> u64 {
        self.epoch()
    }

    #[inline(always)]
    fn oldest(self) -> u64 {
        self.oldest()
    }

    #[inline(always)]
    fn with_oldest(self, oldest: u64) -> Self {
        self.with_oldest(oldest)
    }

    fn timed(self) -> Now {
        self
    }
}

#[cfg(test)]
mod tests;

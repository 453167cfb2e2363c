//! The threads that work in a filter in shared memory, and what each of them has begun.
//!
//! | promise | another process can complete or undo whatever a killed process has begun |
//! |---|---|
//! | how | docs/SHARED-MEMORY.md, "How it works" |
//! | why | PROOF, section 13 |
//! | checked by | recovery, recovery_lookup, recovery_holds |
//! | break it | `cargo xtask break NoGate` |
//!
//! A *line* records what a thread has begun. A *gate* admits one line at a time to the classes that map
//! to it: only the thread of that line sets relocation marks on them. The class of a mark therefore
//! identifies its owner. No thread waits for a gate: a mover that finds it taken gives up its move, as it
//! does for a held stripe.
//!
//! A filter on the heap has no crew, because its threads complete what they have begun.
#![cfg_attr(
    not(feature = "shared"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "only filters that processes share need it"
    )
)]

pub(crate) mod places;
mod repair;
mod seats;
#[cfg(all(test, feature = "shared"))]
pub(super) mod tests;

use places::{Places, PlacesAtHand};
#[cfg(feature = "shared")]
pub use repair::Repaired;
use seats::Seats;
pub(super) use seats::Taken;

use super::{
    hop::Hop,
    version::{Hold, Stripe},
};
use crate::{
    fault::{self, faulty},
    memory::{Members, Seat, Words},
    step::Step,
    sync::{self, AtomicU64, Ordering},
    table::{class::Class, layout::Layout},
};
use std::{cell::Cell, sync::Arc};

/// The most lines. Their numbers begin with 1, and are the tokens of `insert_unique`.
pub(crate) const MAX_LINES: usize = 511;

/// The words of a line: a cache line. (In a model only the words that it uses.)
const LINE_WORDS: usize = if sync::IN_MODEL { 4 } else { 8 };

/// A hand of a line: a path has the next move in hand before it has let the last one go.
///
/// Its number is that of the line's word that says which move the thread makes. A copy that is withheld is
/// recorded like a move. (As an enum it is known to be below 2, so no index needs a check.)
#[derive(Clone, Copy)]
pub(crate) enum Hand {
    First = 0,
    Second = 1,
}

const HANDS: [Hand; 2] = [Hand::First, Hand::Second];

impl Hand {
    #[inline(always)]
    pub(super) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// The word of a line that names the stripe which its thread may hold: its number and 1.
const STRIPE: usize = 2;

/// The word of a line that names the class of its call of `insert_unique`, as a hop out of P.
const UNIQUE: usize = 3;

/// The lines and gates of a filter, and the seat of this process.
pub(crate) struct Crew {
    lines: Words,
    gates: Words,
    lines_of_member: usize,
    /// The level at which the filter begins.
    first_level: u32,
    /// Which lines of this process are in use.
    in_use: Arc<Seats>,
    pub(super) members: Arc<dyn Members>,
    /// The word that has the seat of this process, 0 if it has none.
    seat: Words,
    /// Where the scans of all processes are.
    pub(super) places: Arc<Places>,
}

/// What a thread needs to make moves: its line, or nothing.
///
/// This is a type, so a filter on the heap pays nothing for lines.
pub(crate) trait Hands: Copy {
    /// The line, if processes share the filter.
    fn line(&self) -> Option<&Line<'_>>;

    /// Where the scans of all processes are, if processes share the filter.
    #[inline(always)]
    fn places(&self) -> Option<PlacesAtHand<'_>> {
        self.line().map(|line| line.places)
    }
}

/// For a thread whose filter belongs to one process.
#[derive(Clone, Copy)]
pub(crate) struct Alone;

impl Hands for Alone {
    #[inline(always)]
    fn line(&self) -> Option<&Line<'_>> {
        None
    }
}

impl Hands for &Line<'_> {
    #[inline(always)]
    fn line(&self) -> Option<&Line<'_>> {
        Some(self)
    }
}

/// A line that a thread has for one call, until this is dropped. No other thread has it, in any process
/// that lives.
pub(crate) struct TakenLine<'a> {
    crew: &'a Crew,
    words: &'a [AtomicU64; LINE_WORDS],
    taken: Taken,
}

/// A line, and what a thread needs to make moves in it. (It is apart from [`TakenLine`], because most calls
/// of `insert_unique` make no moves.)
pub(crate) struct Line<'a> {
    crew: &'a Crew,
    words: &'a [AtomicU64; LINE_WORDS],
    /// From 1 on.
    number: usize,
    /// All gates, and where the scans of all processes are. A thread goes from a line to these by one load,
    /// because a load after an exchange waits for that.
    gates: &'a [AtomicU64],
    places: PlacesAtHand<'a>,
    /// The numbers of the gates of the two moves in hand, or [`NO_GATE`].
    in_hand: [Cell<usize>; 2],
}

/// The number of no gate.
const NO_GATE: usize = usize::MAX;

impl Crew {
    /// The most gates. They stay in the first-level cache.
    pub(crate) const MAX_GATES: usize = 512;

    /// The lines of each member, if there are at most `members` of them.
    pub(crate) fn lines_of_member(members: usize) -> usize {
        if sync::IN_MODEL {
            return 2;
        }
        (MAX_LINES / members).clamp(1, Seats::MOST)
    }

    /// The words of these lines. (There is no line 0, and its words stay unused.)
    pub(crate) const fn words_of_lines(lines: usize) -> usize {
        (1 + lines) * LINE_WORDS
    }

    /// The crew in these words, which has `lines` lines in all; `None` if they are too few. The filter
    /// has this number of buckets, and begins at this level.
    #[cfg(feature = "shared")]
    pub(crate) fn in_words(
        (buckets, first_level): (usize, u32),
        lines: usize,
        lines_of_member: usize,
        (members, seat): (Arc<dyn Members>, Words),
        parts: &mut crate::memory::Parts,
    ) -> Option<Self> {
        let places = Places::in_words(lines, lines_of_member, members.clone(), parts)?;
        Some(Self {
            places: Arc::new(places),
            lines: parts.take(Self::words_of_lines(lines))?,
            gates: parts.take(buckets.next_power_of_two().min(Self::MAX_GATES))?,
            lines_of_member,
            first_level,
            in_use: Arc::default(),
            members,
            seat,
        })
    }

    /// A line for a call of this thread: the line of its last call, if the thread has kept it. There is
    /// none if all lines of this process are in use, or if the process cannot become a member.
    ///
    /// It is inlined because the processor would wait for a [`TakenLine`] that is returned in memory: it is
    /// stored word by word, and loaded at once.
    #[inline(always)]
    pub(crate) fn take_line(&self) -> Option<TakenLine<'_>> {
        let seat = self.seat()?;
        let kept = Taken::kept(&self.in_use, seat.turn());
        let taken = kept.or_else(|| self.take_new_line(seat))?;
        let words = self.lines[taken.number() * LINE_WORDS..].first_chunk();
        Some(TakenLine {
            crew: self,
            words: words.expect("there are as many lines as places"),
            taken,
        })
    }

    #[cold]
    #[inline(never)]
    fn take_new_line(&self, seat: Seat) -> Option<Taken> {
        let first = self.lines_of(seat.member()).start;
        Taken::take(&self.in_use, seat.turn(), self.lines_of_member, first)
    }

    /// The seat of this process, which becomes a member if it is none yet; `None` if it cannot.
    #[inline(always)]
    fn seat(&self) -> Option<Seat> {
        // Acquire: the seat was taken before. In a model the word is not used.
        let word = || self.seat[0].load(Ordering::Acquire);
        let seat = (!sync::IN_MODEL).then(word).and_then(Seat::of_word);
        seat.or_else(|| self.take_seat())
    }

    #[cold]
    fn take_seat(&self) -> Option<Seat> {
        self.members.seat()
    }

    /// The numbers of a member's lines.
    pub(crate) fn lines_of(&self, member: usize) -> std::ops::Range<usize> {
        let first = 1 + member * self.lines_of_member;
        first..first + self.lines_of_member
    }

    /// A word of a line.
    fn word(&self, line: usize, at: usize) -> &AtomicU64 {
        &self.lines[line * LINE_WORDS + at]
    }

    fn gate_of(&self, class: Class) -> usize {
        number_of_gate(&self.gates, class)
    }

    /// True if a thread makes moves on the gate of the class.
    fn is_taken(&self, class: Class) -> bool {
        // Relaxed: a search looks for a way that is free, and a mover takes the gate.
        self.gates[self.gate_of(class)].load(Ordering::Relaxed) != 0
    }

    /// The number of gates that are taken.
    pub(crate) fn taken_gates(&self) -> usize {
        let is_taken = |gate: &&AtomicU64| gate.load(Ordering::Acquire) != 0;
        self.gates.iter().filter(is_taken).count()
    }
}

/// Stores a word of a line: what the thread is about to do, or 0 once that is done.
///
/// Release: a thread that reads that a hold is over finds it over. Everything else that is read
/// from a line was written by a dead thread, or is published by an exchange of the word it describes.
#[inline(always)]
fn note(words: &[AtomicU64; LINE_WORDS], at: usize, value: u64) {
    let order = fault::order(Step::Note, Ordering::Release);
    words[at].store(value, order);
}

impl TakenLine<'_> {
    /// The number of the line, which is the token of its call of `insert_unique`.
    #[inline(always)]
    pub(super) fn token(&self) -> u64 {
        self.taken.number() as u64
    }

    /// Records that this call may leave a reservation in one of the words of the class.
    #[inline(always)]
    pub(super) fn record_reservation<L: Layout>(&self, class: Class) {
        let bits = class.fingerprint.bits();
        let packed = packed::<L>(self.crew.first_level, bits, class.p);
        note(self.words, UNIQUE, packed);
    }

    /// Records that no reservation of this call is left.
    #[inline(always)]
    pub(super) fn clear_reservation(&self) {
        note(self.words, UNIQUE, 0);
    }

    /// The line for moves.
    #[inline(always)]
    pub(crate) fn for_moves(&self) -> Line<'_> {
        Line {
            crew: self.crew,
            words: self.words,
            number: self.taken.number(),
            gates: &self.crew.gates,
            places: self.crew.places.at_hand(),
            in_hand: [const { Cell::new(NO_GATE) }; 2],
        }
    }

    /// The thread stops for ever: its line stays as it is, and in use.
    #[cfg(guira_loom)]
    pub(crate) fn stop(self) -> usize {
        let number = self.taken.number();
        std::mem::forget(self);
        number
    }
}

impl<'a> Line<'a> {
    /// True if a thread makes moves on the gate of the class.
    pub(super) fn is_taken(&self, class: Class) -> bool {
        self.crew.is_taken(class)
    }

    fn note(&self, at: usize, value: u64) {
        note(self.words, at, value);
    }

    /// Lets this thread make the move in one of its hands, 0 or 1, unless another thread makes moves
    /// on the same gate. Both the line and the gate then say so before the move has a mark.
    pub(super) fn enter<L: Layout>(&self, hand: Hand, hop: Hop) -> bool {
        if faulty!(true, LineLate => false) {
            self.record_move::<L>(hand, hop);
        }
        let has = self.take_gate::<L>(hand, hop);
        if !has {
            self.note(hand as usize, 0);
        }
        has
    }

    /// Records the move that this thread is about to make.
    pub(super) fn record_move<L: Layout>(&self, hand: Hand, hop: Hop) {
        let packed = packed::<L>(self.crew.first_level, hop.entry.bits(), hop.from);
        self.note(hand as usize, packed);
    }

    /// Takes the gate of a move; false if another thread has it.
    pub(super) fn take_gate<L: Layout>(&self, hand: Hand, hop: Hop) -> bool {
        // What the gates that this thread has taken say.
        let own = self.number as u64;
        let number = number_of_gate(self.gates, hop.class::<L>());
        // Acquire: pairs with the Release of `leave`, so the marks of the last mover are gone.
        let order = fault::order(Step::Gate, Ordering::AcqRel);
        let gate = &self.gates[number];
        let has = match gate.compare_exchange(0, own, order, Ordering::Relaxed) {
            Ok(_) => true,
            // It is taken for the move in the other hand.
            Err(taken) => taken == own,
        };
        let has = faulty!(has, NoGate => true);
        if has {
            self.in_hand[hand as usize].set(number);
        }
        has
    }

    /// The move in this hand is over, and none of its marks is left.
    pub(super) fn leave(&self, hand: Hand) {
        let number = self.in_hand[hand as usize].replace(NO_GATE);
        // The other move may be on the same gate. Then that one frees it.
        if number != NO_GATE && self.in_hand[hand.other() as usize].get() != number {
            // Release: the marks are gone before another mover has the gate.
            let order = fault::order(Step::Leave, Ordering::Release);
            self.gates[number].store(0, order);
        }
        self.note(hand as usize, 0);
    }

    /// Records the stripe that this thread is about to hold.
    pub(super) fn record_stripe(&self, stripe: usize) {
        self.note(STRIPE, stripe as u64 + 1);
    }

    /// Holds the stripe with this number until the result is dropped; `None` if too many others do.
    pub(super) fn hold(&'a self, stripe: Stripe<'a>, number: usize) -> Option<HoldByLine<'a>> {
        self.record_stripe(number);
        let hold = stripe.hold_and_advance();
        if hold.is_none() {
            self.note(STRIPE, 0);
        }
        Some(HoldByLine {
            line: self,
            hold: Some(hold?),
        })
    }
}

impl Drop for TakenLine<'_> {
    /// The thread keeps its line for its next call, if that leaves enough lines for other threads.
    #[inline]
    fn drop(&mut self) {
        let crew = self.crew;
        self.taken.end(&crew.in_use, crew.lines_of_member / 2);
    }
}

/// The number of the gate of a class. The number of gates is a power of two.
#[inline(always)]
fn number_of_gate(gates: &[AtomicU64], class: Class) -> usize {
    class.p & (gates.len() - 1)
}

/// A stripe that is held by a thread whose line says so.
pub(super) struct HoldByLine<'a> {
    line: &'a Line<'a>,
    hold: Option<Hold<'a>>,
}

impl Drop for HoldByLine<'_> {
    fn drop(&mut self) {
        self.hold.take();
        self.line.note(STRIPE, 0);
    }
}

/// The bits of a bucket in a line of a filter that begins at level `first`.
///
/// In a fixed filter an entry has at most 32 bits. In a growing one, the `first` lowest of its 40 bits are
/// 0, and are left out. What is left of the word suffices for the buckets of a plane, because a filter with
/// long fingerprints doubles often (a test in `geometry` checks all series).
pub(crate) const fn bucket_bits<L: Layout>(first: u32) -> u32 {
    match L::GROWS {
        false => 32,
        true => 64 - (L::LARGEST_ENTRY.ilog2() + 1 - first),
    }
}

/// An entry and a bucket in one word, so that a line never says half of a move. An entry is not 0.
fn packed<L: Layout>(first: u32, entry: u64, bucket: usize) -> u64 {
    let first = if L::GROWS { first } else { 0 };
    (entry >> first) << bucket_bits::<L>(first) | bucket as u64
}

/// The entry and the bucket.
fn unpacked<L: Layout>(first: u32, word: u64) -> (u64, usize) {
    let first = if L::GROWS { first } else { 0 };
    let bits = bucket_bits::<L>(first);
    (word >> bits << first, (word & !(u64::MAX << bits)) as usize)
}

//! Where the scans of all processes are, in words that the processes share.

use super::{MAX_LINES, Seats};
use crate::{
    fault::{self, faulty, when_faulty},
    memory::{LINE, Members, Words},
    step::Step,
    sync::{self, AtomicU64, Ordering},
};
use std::sync::Arc;

/// The frontiers of the scans of all processes.
///
/// A scan has a *place*, which says how far it is, and a bit that says that the place counts. Images
/// are local to the process of the scan, so only its own threads can help a scan.
pub(crate) struct Places {
    /// A bit for each place.
    count: Words,
    places: Words,
    places_of_member: usize,
    /// Which places of this process are in use.
    in_use: Seats,
    members: Arc<dyn Members>,
}

/// [`Places`] with their bits at hand: a mover looks at these after an exchange, and loads wait for it.
#[derive(Clone, Copy)]
pub(crate) struct PlacesAtHand<'a> {
    count: &'a [AtomicU64],
    all: &'a Places,
}

/// The place of one scan, in one of its passes.
pub(crate) struct Place {
    all: Arc<Places>,
    number: usize,
    turn: u32,
    /// The lowest value of the place in this pass.
    lowest: u64,
}

/// The most chunks of a filter: it has at most 2^32 words at its last level, and a chunk has at least 512 of
/// them. A test in `geometry` checks all series.
pub(crate) const MOST_CHUNKS: usize = 1 << 23;

/// The bits of a place that say how far the scan is.
const POSITION_BITS: u32 = 26;
const POSITION: u64 = (1 << POSITION_BITS) - 1;

// The last position is that after the last chunk.
const _: () = assert!(2 * MOST_CHUNKS as u64 <= POSITION);

/// The bits above those have the number of the pass. A further pass begins when a level does.
const PASS_BITS: u32 = 5;
const PASS: u64 = (1 << PASS_BITS) - 1;

/// The bits above these have the number of the scan. So what a thread says late of an earlier pass, or of
/// an earlier scan, changes nothing.
const SCAN: u64 = 1 << (POSITION_BITS + PASS_BITS);

const BITS: usize = u64::BITS as usize;

/// The words with a bit for each place. (A model has fewer.)
const GROUPS: usize = MAX_LINES.div_ceil(BITS);

impl Places {
    /// The words of these places.
    pub(crate) const fn words(places: usize) -> usize {
        places.div_ceil(BITS).next_multiple_of(LINE) + places.next_multiple_of(LINE)
    }

    /// The places in these words; `None` if they are too few.
    #[cfg(feature = "shared")]
    pub(crate) fn in_words(
        places: usize,
        places_of_member: usize,
        members: Arc<dyn Members>,
        parts: &mut crate::memory::Parts,
    ) -> Option<Self> {
        Some(Self {
            count: parts.take(places.div_ceil(BITS))?,
            places: parts.take(places)?,
            places_of_member,
            in_use: Seats::default(),
            members,
        })
    }

    /// A place for a scan that begins. A scan beyond the places of this process lets others run until
    /// one of these is free; `None` if the process cannot become a member.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Place> {
        let seat = self.members.seat()?;
        let taken = loop {
            if let Some(taken) = self.in_use.take(seat.turn(), self.places_of_member) {
                break taken;
            }
            sync::yield_now();
        };
        let number = self.first_of(seat.member()) + taken;
        let place = &self.places[number];
        // To the next multiple of SCAN. By exchanges, so that a mover which sees this scan cannot read what
        // an earlier one stored. Relaxed: threads of that may still write the place, with lower values.
        let last = place.fetch_or(SCAN - 1, Ordering::Relaxed) | (SCAN - 1);
        let lowest = last.wrapping_add(1);
        place.fetch_add(1, Ordering::Relaxed);
        // Release: the place comes with its bit.
        let order = fault::order(Step::Appear, Ordering::Release);
        self.count[number / BITS].fetch_or(1 << (number % BITS), order);
        Some(Place {
            all: self.clone(),
            number,
            turn: seat.turn(),
            lowest,
        })
    }

    #[inline(always)]
    pub(crate) fn at_hand(&self) -> PlacesAtHand<'_> {
        PlacesAtHand {
            count: &self.count,
            all: self,
        }
    }

    fn first_of(&self, member: usize) -> usize {
        member * self.places_of_member
    }

    /// The scans of a dead process are over. Returns their number.
    pub(crate) fn end_of(&self, member: usize) -> usize {
        let first = self.first_of(member);
        let ends = |number: &usize| self.vanish(*number);
        (first..first + self.places_of_member).filter(ends).count()
    }

    /// The place counts no longer: true if it did.
    fn vanish(&self, number: usize) -> bool {
        let bit = 1 << (number % BITS);
        let Some(bits) = self.count.get(number / BITS) else {
            return false;
        };
        // Release: what the scan has read was read before a mover sees no scan.
        let order = fault::order(Step::Vanish, Ordering::Release);
        bits.fetch_and(!bit, order) & bit != 0
    }
}

impl PlacesAtHand<'_> {
    /// True if no scan runs, as far as can be seen.
    #[inline(always)]
    pub(crate) fn are_idle(self) -> bool {
        // Acquire: a mover that sees no scan may move anywhere, because what it read was read before.
        let load = |bits: &AtomicU64| bits.load(Ordering::Acquire);
        // Without a loop, and without a branch for each word: they are nearly always 0.
        match self.count.first_chunk::<GROUPS>() {
            Some(all) => all.iter().fold(0, |any, bits| any | load(bits)) == 0,
            None => self.count.iter().all(|bits| load(bits) == 0),
        }
    }

    /// True if no scan is between the chunks, or at one of them.
    pub(crate) fn permit(self, from: usize, to: usize) -> bool {
        self.count.iter().enumerate().all(|(group, bits)| {
            // Acquire: as in `are_idle`.
            let bits = bits.load(Ordering::Acquire);
            let of_group = (0..BITS).filter(|bit| bits >> bit & 1 == 1);
            let mut places = of_group.filter_map(|bit| self.all.places.get(group * BITS + bit));
            // Acquire: chunks that are said to be scanned were read before.
            places.all(|place| permits(place.load(Ordering::Acquire) & POSITION, from, to))
        })
    }
}

/// True if both chunks are scanned, or both are still to come. The position is 0 before the first
/// chunk, 2c + 1 in chunk c, and 2c + 2 when that is scanned.
fn permits(position: u64, from: usize, to: usize) -> bool {
    let side = |chunk: usize| position.cmp(&(2 * chunk as u64 + 1));
    side(from).is_ne() && side(from) == side(to)
}

impl Place {
    /// The same place in the next pass of the scan. For other processes that begins when a thread enters
    /// a chunk in it: until then their movers heed the pass before.
    pub(crate) fn of_next_pass(&self) -> Self {
        let pass = self.lowest >> POSITION_BITS & PASS;
        let is_last = faulty!(pass == PASS, RestartUnseen => true);
        let more = if is_last { 0 } else { 1 << POSITION_BITS };
        Self {
            all: self.all.clone(),
            lowest: self.lowest + more,
            ..*self
        }
    }

    /// A thread enters a chunk. A fence follows.
    pub(crate) fn enter(&self, chunk: usize) {
        self.raise(
            2 * chunk as u64 + 1,
            fault::order(Step::Enter, Ordering::AcqRel),
        );
    }

    /// The chunk is scanned.
    pub(crate) fn leave(&self, chunk: usize) {
        self.raise(
            2 * chunk as u64 + 2,
            fault::order(Step::Enter, Ordering::AcqRel),
        );
    }

    fn raise(&self, position: u64, order: Ordering) {
        let place: &AtomicU64 = &self.all.places[self.number];
        place.fetch_max(self.lowest | position, order);
    }

    /// The scan is over.
    pub(crate) fn end(&self) {
        when_faulty!(PlaceBackFirst, self.give_back());
        // Before another scan can take the place, whose bit this would otherwise clear.
        self.all.vanish(self.number);
        faulty!(self.give_back(), PlaceBackFirst => ());
    }

    fn give_back(&self) {
        let number = self.number % self.all.places_of_member;
        self.all.in_use.give_back(self.turn, number);
    }
}

#[cfg(all(test, feature = "shared"))]
mod tests;

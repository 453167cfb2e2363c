//! Which of a few places the threads of this process have taken.

// Unchecked: only the threads of one process share it, and in a model a place is a number.
use crate::sync::{self, Ordering, unchecked::AtomicU64};
use std::{cell::Cell, num::NonZeroU64, sync::Arc};

/// A bit for each place, and the turn of the process for which they count.
///
/// A child process has a copy of its parent's bits. The first place that it takes is in a turn of its
/// own, in which none was taken before.
#[derive(Default)]
pub(crate) struct Seats(AtomicU64);

const BITS: u32 = 32;

impl Seats {
    /// The most places.
    pub(crate) const MOST: usize = BITS as usize;

    /// Takes one of the first `count` places; `None` if all are taken. Lock-free.
    #[cold]
    #[inline(never)]
    pub(crate) fn take(&self, turn: u32, count: usize) -> Option<usize> {
        let turn = u64::from(turn) << BITS;
        // Relaxed: a hint; the exchange decides.
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let taken = if seen >> BITS << BITS == turn {
                seen as u32
            } else {
                0
            };
            let place = taken.trailing_ones() as usize;
            if place >= count {
                return None;
            }
            let new = turn | u64::from(taken) | 1 << place;
            // Acquire: pairs with the Release of `give_back`: its earlier owner is done with it.
            let exchange = self
                .0
                .compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed);
            match exchange {
                Ok(_) => return Some(place),
                Err(now) => seen = now,
            }
        }
    }

    /// Gives a place back that was taken in this turn.
    pub(crate) fn give_back(&self, turn: u32, place: usize) {
        // Relaxed: only the turn is looked at, and this thread knows of its own one.
        if self.0.load(Ordering::Relaxed) >> BITS == u64::from(turn) {
            // Release: pairs with the Acquire in `take`.
            self.0.fetch_and(!(1 << place), Ordering::Release);
        }
    }
}

/// A place that a thread has taken for one call.
///
/// ```text
/// 63    32 31         30  24 23    8 7     0
/// [ turn ] [ was kept ][ 0 ][ number ][ place ]
/// ```
///
/// The number is what the caller calls the place by, from 1 on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken(NonZeroU64);

/// The bit of a place that the thread had from an earlier call.
const WAS_KEPT: u64 = 1 << (BITS - 1);

/// The lowest bit of the number of a place. (A place has less than 8 bits, and a number less than 16.)
const NUMBER_SHIFT: u32 = 8;

/// A place that a thread keeps between its calls, so that a call makes no exchange to take it. It is given
/// back when this is dropped.
struct Kept {
    seats: Arc<Seats>,
    taken: Taken,
}

impl Drop for Kept {
    fn drop(&mut self) {
        with_slot(&self.seats, |slot| slot.forget(self));
        self.seats.give_back(self.taken.turn(), self.taken.place());
    }
}

/// What a thread keeps, and whether a call uses it. It is apart from [`KEPT`], because an
/// access to a thread's variable that needs no drop takes fewer instructions.
struct Slot {
    /// That of the [`Seats`]; 0 if nothing is kept.
    address: Cell<usize>,
    taken: Cell<Option<Taken>>,
    is_in_use: Cell<bool>,
}

impl Slot {
    const fn new() -> Self {
        Self {
            address: Cell::new(0),
            taken: Cell::new(None),
            is_in_use: Cell::new(false),
        }
    }

    /// The place that is kept, unless it is of another filter, or of the parent process, or in use by a
    /// call in which this one runs.
    #[inline]
    fn begin(&self, address: usize, turn: u32) -> Option<Taken> {
        if self.address.get() != address || self.is_in_use.get() {
            return None;
        }
        let taken = self.taken.get().filter(|taken| taken.turn() == turn)?;
        self.is_in_use.set(true);
        Some(taken)
    }

    /// Nothing is kept any more, if this was.
    fn forget(&self, kept: &Kept) {
        if self.address.get() == address(&kept.seats) && self.taken.get() == Some(kept.taken) {
            self.address.set(0);
        }
    }
}

/// Keeps a place instead of the one in the same slot, unless that is in use, or the thread is about to
/// end.
fn keep(kept: Kept) {
    let (seats, taken) = (kept.seats.clone(), kept.taken);
    let is_free = with_slot(&seats, |slot| !slot.is_in_use.get());
    let swap = |all: &[Cell<Option<Kept>>; SLOTS]| all[slot_of(&seats)].replace(Some(kept));
    // What was kept before is dropped here, and the slot then forgets it.
    if is_free == Some(true) && KEPT.try_with(swap).map(drop).is_ok() {
        with_slot(&seats, |slot| {
            slot.address.set(address(&seats));
            slot.taken.set(Some(taken));
        });
    }
}

/// The slots of a thread. A filter always uses the same one, which it shares with few others.
const SLOTS: usize = 4;

thread_local! {
    static OWN: [Slot; SLOTS] = const { [const { Slot::new() }; SLOTS] };
    static KEPT: [Cell<Option<Kept>>; SLOTS] = const { [const { Cell::new(None) }; SLOTS] };
}

fn address(seats: &Arc<Seats>) -> usize {
    Arc::as_ptr(seats).addr()
}

/// The number of the slot of a filter.
#[inline]
fn slot_of(seats: &Arc<Seats>) -> usize {
    address(seats) / align_of::<u128>() % SLOTS
}

/// Calls `with` with the slot of a filter. In a model there is none: all its threads run on one thread of
/// the operating system, so they would share it.
#[inline]
fn with_slot<R>(seats: &Arc<Seats>, with: impl FnOnce(&Slot) -> R) -> Option<R> {
    (!sync::IN_MODEL).then(|| OWN.with(|slots| with(&slots[slot_of(seats)])))
}

impl Taken {
    /// The place that this thread has kept, unless it is in use.
    #[inline(always)]
    pub(super) fn kept(seats: &Arc<Seats>, turn: u32) -> Option<Self> {
        with_slot(seats, |slot| slot.begin(address(seats), turn)).flatten()
    }

    /// One of the first `count` places; `None` if all are taken. The first place has the number `first`,
    /// which is above 0.
    pub(super) fn take(seats: &Seats, turn: u32, count: usize, first: usize) -> Option<Self> {
        let place = seats.take(turn, count)?;
        let number = ((first + place) as u64) << NUMBER_SHIFT;
        NonZeroU64::new(u64::from(turn) << BITS | number | place as u64).map(Self)
    }

    fn turn(self) -> u32 {
        (self.0.get() >> BITS) as u32
    }

    /// The number of the place.
    #[inline(always)]
    pub(super) fn number(self) -> usize {
        usize::from((self.0.get() >> NUMBER_SHIFT) as u16)
    }

    fn place(self) -> usize {
        usize::from(self.0.get() as u8)
    }

    fn was_kept(self) -> bool {
        self.0.get() & WAS_KEPT != 0
    }

    /// The call is over. The thread keeps the place for its next call, if it is one of the first `count`.
    #[inline]
    pub(super) fn end(self, seats: &Arc<Seats>, count: usize) {
        if self.was_kept() {
            with_slot(seats, |slot| slot.is_in_use.set(false));
        } else {
            self.keep_or_give_back(seats, count);
        }
    }

    #[cold]
    fn keep_or_give_back(self, seats: &Arc<Seats>, count: usize) {
        // It is given back when this is dropped.
        let kept = Kept {
            seats: seats.clone(),
            taken: Self(self.0 | WAS_KEPT),
        };
        if self.place() < count {
            keep(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// The place for a call, which is number 1 or above.
    fn taken(seats: &Arc<Seats>, turn: u32, count: usize) -> Taken {
        let taken = Taken::kept(seats, turn).or_else(|| Taken::take(seats, turn, count, 1));
        let taken = taken.unwrap();
        assert_eq!(taken.number(), 1 + taken.place());
        taken
    }

    #[test]
    fn a_place_has_one_owner_and_a_new_turn_finds_all_free() {
        let seats = Seats::default();
        assert_eq!([(); 3].map(|()| seats.take(1, 2)), [Some(0), Some(1), None]);
        seats.give_back(1, 0);
        assert_eq!(seats.take(1, 2), Some(0));
        assert_eq!(seats.take(2, 2), Some(0));
        // What was taken before is not given back in the new turn.
        seats.give_back(1, 0);
        assert_eq!([(); 2].map(|()| seats.take(2, 2)), [Some(1), None]);
    }

    #[test]
    fn a_thread_keeps_its_place_and_gives_it_back_at_its_end() {
        let seats = Arc::new(Seats::default());
        let take = || taken(&seats, 1, 4);
        let free = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                take().end(&seats, 2);
                // Two calls within the first one.
                let [first, second, third] = [take(), take(), take()];
                assert_eq!([first, second, third].map(Taken::place), [0, 1, 2]);
                third.end(&seats, 2);
                second.end(&seats, 2);
                first.end(&seats, 2);
                let again = take();
                assert!(again.place() == 0 && again.was_kept());
                again.end(&seats, 2);
                seats.take(1, 4)
            });
            thread.join().unwrap()
        });
        assert_eq!(free, Some(1), "only place 0 is kept");
        seats.give_back(1, 1);
        assert_eq!([(); 2].map(|()| seats.take(1, 2)), [Some(0), Some(1)]);
    }

    #[test]
    fn a_place_beyond_the_first_ones_is_not_kept() {
        let seats = Arc::new(Seats::default());
        assert_eq!(seats.take(1, 2), Some(0));
        let call = taken(&seats, 1, 2);
        call.end(&seats, 1);
        assert_eq!((call.place(), seats.take(1, 2)), (1, Some(1)));
    }

    #[test]
    fn a_place_that_was_kept_is_not_used_in_another_filter_or_turn() {
        // More filters than slots.
        let filters: [_; 2 * SLOTS] = std::array::from_fn(|_| Arc::new(Seats::default()));
        for seats in &filters {
            taken(seats, 1, 2).end(seats, 2);
        }
        let is_kept = |seats: &&Arc<Seats>| seats.take(1, 2) == Some(1);
        assert!(filters.iter().filter(is_kept).count() <= SLOTS);
        // As in a child process: in its turn all places are free.
        for seats in &filters {
            let call = taken(seats, 2, 2);
            assert!(call.place() == 0 && !call.was_kept());
            call.end(seats, 2);
        }
    }

    /// A variable of the thread, which is dropped after the places that are kept.
    struct Late(Cell<Option<Arc<Seats>>>);

    impl Drop for Late {
        fn drop(&mut self) {
            let seats = self.0.take().expect("the thread has set it");
            // Another thread may have taken it since.
            let is_kept = Taken::kept(&seats, 1).is_some();
            seats.take(if is_kept { 3 } else { 2 }, 1);
        }
    }

    #[test]
    fn a_place_that_was_given_back_is_not_kept() {
        thread_local!(static LATE: Late = const { Late(Cell::new(None)) });
        let seats = Arc::new(Seats::default());
        let of_thread = seats.clone();
        let thread = thread::spawn(move || {
            LATE.with(|late| late.0.set(Some(of_thread.clone())));
            taken(&of_thread, 1, 1).end(&of_thread, 1);
        });
        thread.join().unwrap();
        // In the turn that it has begun, its place is taken.
        assert_eq!(seats.take(2, 1), None);
    }

    #[test]
    fn all_places_can_be_taken() {
        let seats = Seats::default();
        for place in 0..Seats::MOST {
            assert_eq!(seats.take(7, Seats::MOST), Some(place));
        }
        assert_eq!(seats.take(7, Seats::MOST), None);
    }
}

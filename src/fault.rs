//! The switch that does one thing of the protocol wrong, for negative controls.
//!
//! Under `cfg(guira_loom)`, `cfg(guira_shuttle)` or `cfg(guira_faults)` a test can switch one
//! [`Fault`] on, or make the memory ordering of one [`Step`] Relaxed. A promise must then break:
//! this is how we know that the tests can see anything. In a normal build nothing is left of it.

// Public where a test can reach it: in the builds for which `model` exists.
#![cfg_attr(
    not(any(guira_loom, guira_faults, guira_shuttle)),
    allow(dead_code, unreachable_pub)
)]

use crate::step::Step;
use std::sync::atomic::Ordering;

/// `right`; with the model cfgs `wrong` instead, while `on` is true. In `on`, `is(X)` says whether
/// the fault X is switched on.
macro_rules! instead {
    ($on:expr => $wrong:expr, $right:expr) => {{
        #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
        let result = {
            #[allow(unused_imports, clippy::enum_glob_use)]
            use $crate::fault::{Fault::*, is};
            if $on { $wrong } else { $right }
        };
        #[cfg(not(any(guira_loom, guira_faults, guira_shuttle)))]
        let result = $right;
        result
    }};
}

pub(crate) use instead;

/// One thing done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    any(guira_loom, guira_faults, guira_shuttle),
    derive(bytemuck::NoUninit)
)]
#[repr(u8)]
pub enum Fault {
    /// Nothing is done wrong.
    None,
    /// Nothing is done wrong either, but what the wrong operations are for is done by them: this
    /// shows that they are right but for their faults.
    Rehearsed,
    /// A move does not advance the version.
    NoAdvance,
    /// A move advances the version only after it has erased the original.
    AdvanceLate,
    /// A move erases the original before it has brought in the copy.
    EraseFirst,
    /// A move decides by erasing the original at once: no T.
    NoTrailing,
    /// A move lets go of the copy while the original still stands: no D.
    NoDelivered,
    /// A chained move settles the copy before the original is replaced.
    SettleEarly,
    /// A move that is given up leaves its shadow behind.
    NoRetract,
    /// A move goes on although its source has changed.
    DecideBlindly,
    /// A lookup that found nothing does not validate the version.
    ContainsNoValidate,
    /// A lookup that found only undecided copies does not read the words again.
    ContainsNoReread,
    /// A lookup observes and validates the stripe of the higher bucket.
    ContainsWrongStripe,
    /// A lookup takes any mark for a copy.
    ContainsTrustsMarks,
    /// A lookup that found nothing does not look at the phase of its words.
    ContainsAnyPlane,
    /// A lookup takes a match for a copy before it has looked at the phase.
    ContainsMatchesFirst,
    /// A lookup that found nothing does not look whether it is still the same step.
    ContainsNoSecondNow,
    /// A lookup reads the step after the words only.
    ContainsReadsNowLate,
    /// A copy under W counts for nothing.
    WithheldOverlooked,
    /// remove does not validate the version before it answers false.
    RemoveNoValidate,
    /// remove does not read the words again before it answers false.
    RemoveNoReread,
    /// remove observes and validates the stripe of the higher bucket.
    RemoveWrongStripe,
    /// remove takes from the higher word first.
    RemoveHigherFirst,
    /// remove reads the higher word first, and takes from the lower one first.
    RemoveReadsHigherFirst,
    /// remove kills a shadow without holding the stripe.
    KillNoHold,
    /// remove holds the stripe of the higher bucket when it kills a shadow.
    KillWrongStripe,
    /// A mover confirms its outline although the stripe is held.
    HoldIgnored,
    /// A mover looks whether the stripe is held before its outline stands.
    HoldSeenEarly,
    /// remove ignores an undecided or delivered copy.
    RemoveIgnoresMarks,
    /// remove empties a marked slot instead of leaving K.
    RemoveNoKilled,
    /// count does not read the lower word again.
    CountNoRereadP,
    /// count does not read the higher word again.
    CountNoRereadQ,
    /// count does not validate the version.
    CountNoValidate,
    /// count observes and validates the stripe of the higher bucket.
    CountWrongStripe,
    /// count does not look whether it is still the same step.
    CountNoSecondNow,
    /// insert_unique claims without a reservation.
    UniqueNoReservation,
    /// All calls of insert_unique use one token.
    UniqueSharedToken,
    /// insert_unique looks at the other word before it reserves, not after.
    UniqueReadsEarly,
    /// insert_unique does not heed a reservation in the other word.
    UniqueOverlooksTokens,
    /// insert_unique does not look whether it is still the same step before it confirms.
    UniqueNoSecondNow,
    /// insert_unique does not look whether it is still the same step after it has confirmed.
    UniqueConfirmedEarly,
    /// insert_unique, where it would reserve away from home, makes a dead copy a live one instead.
    UniqueRevives,
    /// insert does not look whether it is still the same step after its copy stands.
    InsertNoSecondNow,
    /// refresh does not look whether it is still the same step.
    RefreshNoSecondNow,
    /// refresh does not validate the version before it answers false.
    RefreshNoValidate,
    /// refresh changes the tag in one exchange, without W.
    RefreshAtOnce,
    /// refresh does not read the step again when W stands.
    RefreshTrustsOldNow,
    /// refresh changes the tag of a shadow.
    RefreshMarked,
    /// refresh ends what another thread has begun with W.
    WithheldByAnother,
    /// A dead copy goes in one exchange, without W.
    ExpireAtOnce,
    /// Whether a copy is dead is not read again when W stands.
    ExpireTrustsOldNow,
    /// A dead copy goes whatever its mark.
    SweepMarked,
    /// A step begins though the words have not been swept in the one before it.
    AdvanceUnswept,
    /// A sweep counts for the step in which it ends.
    SweptLate,
    /// A move is decided for an original of the class, whatever its tag.
    DecideAnyTag,
    /// remove takes the oldest copy from the higher word at once, beside one in the lower word.
    OldestFromQ,
    /// remove takes the oldest copy of two words that need not have stood together.
    OldestNoValidate,
    /// remove does not look whether it is still the same step in which it has compared ages.
    OldestNoSecondNow,
    /// remove takes from the lower word first, whichever copy is older.
    RemoveYoungest,
    /// Other writers leave a reservation standing.
    ReservationKept,
    /// A lost compare-exchange of a claim is taken for a success.
    ClaimUnchecked,
    /// An insert whose search found nothing does not search again.
    FullUnchecked,
    /// A writer goes on with a frozen word as with any other.
    FrozenIgnored,
    /// A split cuts the old word before it has made the new one.
    CutFirst,
    /// A split loses the mark.
    MarkDropped,
    /// A split leaves the slots where they lay at the level before.
    PackedAsBefore,
    /// A search leaves out of a resident's fingerprint what the word does not store.
    SearchForgetsPlane,
    /// A split does not freeze the word first.
    NoFreeze,
    /// The hint says that a level is complete before it is.
    HintEarly,
    /// The split pointer moves on without a look at the words that it passes.
    SweepBlindly,
    /// A segment is published only after the first word that needs it is frozen.
    PublishLate,
    /// A word's phase has two bits only, and wraps.
    PhaseWraps,
    /// The exchange of a word does not compare its phase.
    PhaseIgnored,
    /// A chained move fills the slot it leaves without regard to the plane.
    FillAnyPlane,
    /// A move does not heed the frontier of a snapshot.
    FrontierIgnored,
    /// Neither movers nor snapshots nor calls of insert_unique have a fence.
    NoFence,
    /// A thread that scans a chunk for another one's scan has no fence.
    HelpUnfenced,
    /// A thread that scans a chunk for another one's scan loads the words before it enters.
    HelpLoadsFirst,
    /// The thread of a scan takes its own image of a chunk, though another one came first.
    HelpOverwritten,
    /// A mover heeds the first pass of a scan, though another one has begun.
    RestartOverlooked,
    /// A snapshot leaves out shadows.
    ScanNoShadows,
    /// A snapshot goes through all buckets of a chunk in one plane before the next.
    ScanByPlane,
}

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod switch {
    use super::{Fault, Ordering, Step};
    use atomic::Atomic;

    /// What is weakened now: read by every operation, set between models.
    #[derive(Clone, Copy, bytemuck::NoUninit)]
    #[repr(C, align(8))] // so that the processor can load it as one
    struct Weakness {
        fault: Fault,
        relaxed: u8,
        loads_are_exchanges: bool,
        /// Attempts of a lookup; 0: as many as in a normal build.
        attempts: u8,
        memory_is_refused: bool,
        unused: [u8; 3],
    }

    const NO_STEP: u8 = u8::MAX;

    static WEAKNESS: Atomic<Weakness> = Atomic::new(Weakness {
        fault: Fault::None,
        relaxed: NO_STEP,
        loads_are_exchanges: false,
        attempts: 0,
        memory_is_refused: false,
        unused: [0; 3],
    });

    // Outside the models' memory. Relaxed, both: it changes only before and between
    // threads, or only says whether there is memory.
    fn weakness() -> Weakness {
        WEAKNESS.load(Ordering::Relaxed)
    }

    fn set(weakness: Weakness) {
        WEAKNESS.store(weakness, Ordering::Relaxed);
    }

    /// Breaks one thing, for all threads, until the next call.
    pub fn weaken(fault: Fault, relaxed: Option<Step>, loads_are_exchanges: bool) {
        set(Weakness {
            fault,
            relaxed: relaxed.map_or(NO_STEP, |step| step as u8),
            loads_are_exchanges,
            attempts: 0,
            memory_is_refused: false,
            unused: [0; 3],
        });
    }

    /// Lets a lookup make at most `attempts`, until the next call of [`weaken`]:
    /// a model cannot disturb as many as a normal build makes.
    pub fn limit_attempts(attempts: u8) {
        set(Weakness {
            attempts,
            ..weakness()
        });
    }

    /// Says whether there is no memory to grow, until the next call of [`weaken`].
    pub fn refuse_memory(refuse: bool) {
        set(Weakness {
            memory_is_refused: refuse,
            ..weakness()
        });
    }

    #[cfg(any(guira_loom, guira_shuttle))]
    pub(crate) fn memory_is_refused() -> bool {
        weakness().memory_is_refused
    }

    /// The attempts of a lookup: `normal`, or the limit.
    pub(crate) fn attempts(normal: usize) -> usize {
        match weakness().attempts {
            0 => normal,
            limit => limit.into(),
        }
    }

    pub(crate) fn is(fault: Fault) -> bool {
        weakness().fault == fault
    }

    /// The fault that is switched on.
    pub(crate) fn now() -> Fault {
        weakness().fault
    }

    pub(crate) fn order(step: Step, strong: Ordering) -> Ordering {
        #[cfg(not(any(guira_loom, guira_shuttle)))]
        {
            super::watch::see(step);
            give_way();
        }
        #[cfg(guira_loom)]
        crate::sync::traced::name(step);
        if weakness().relaxed == step as u8 {
            Ordering::Relaxed
        } else {
            strong
        }
    }

    /// Lets another thread run between two steps, at random: on few cores the
    /// threads would otherwise hardly ever meet in the middle of an operation.
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    fn give_way() {
        use std::cell::Cell;

        thread_local!(static STATE: Cell<u64> = const { Cell::new(0) });

        // A Weyl sequence, scrambled by a multiplication; each thread has its own.
        let thread = crate::threads::thread_number() as u64;
        let state = STATE
            .get()
            .wrapping_add(0x9e37_79b9_7f4a_7c15 ^ thread << 32);
        STATE.set(state);
        if state.wrapping_mul(0xd134_2543_de82_ef95) >> 59 == 0 {
            std::thread::yield_now();
        }
    }

    #[cfg(guira_loom)]
    pub(crate) fn loads_are_exchanges() -> bool {
        weakness().loads_are_exchanges
    }
}

/// A thread that a test can stop, for ever if it likes, before any step.
#[cfg(all(guira_faults, not(any(guira_loom, guira_shuttle))))]
mod watch {
    use super::Step;
    use std::{
        cell::{Cell, RefCell},
        sync::atomic::AtomicU64,
    };

    type Watcher = Box<dyn FnMut(Step)>;

    thread_local!(static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) });

    thread_local!(static TOUCHED: Cell<usize> = const { Cell::new(0) });

    /// Notes that this thread has loaded a word for an update: the step does not say which.
    pub(crate) fn touch(atomic: &AtomicU64) {
        TOUCHED.set(std::ptr::from_ref(atomic).addr());
    }

    /// True if `atomic` was the last one that this thread has loaded for an update.
    pub(crate) fn is_touched(atomic: &AtomicU64) -> bool {
        TOUCHED.get() == std::ptr::from_ref(atomic).addr()
    }

    /// From now on calls `watcher` before each step of this thread.
    pub fn watch(watcher: impl FnMut(Step) + 'static) {
        WATCHER.set(Some(Box::new(watcher)));
    }

    /// From now on calls nobody.
    pub fn unwatch() {
        WATCHER.set(None);
    }

    pub(crate) fn see(step: Step) {
        // Out of its place while it runs: it may use a filter itself.
        if let Some(mut watcher) = WATCHER.take() {
            watcher(step);
            WATCHER.set(Some(watcher));
        }
    }
}

#[cfg(guira_loom)]
pub(crate) use switch::loads_are_exchanges;
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) use switch::memory_is_refused;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub(crate) use switch::{attempts, is, now, order};
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub use switch::{limit_attempts, refuse_memory, weaken};
#[cfg(all(guira_faults, not(any(guira_loom, guira_shuttle))))]
pub(crate) use watch::{is_touched, touch};
#[cfg(all(guira_faults, not(any(guira_loom, guira_shuttle))))]
pub use watch::{unwatch, watch};

/// The memory ordering of `step`: `strong`, in a normal build.
#[cfg(not(any(guira_loom, guira_faults, guira_shuttle)))]
#[inline(always)]
pub(crate) const fn order(_step: Step, strong: Ordering) -> Ordering {
    strong
}

/// The attempts of a lookup: `normal`, in a normal build.
#[cfg(not(any(guira_loom, guira_faults, guira_shuttle)))]
#[inline(always)]
pub(crate) const fn attempts(normal: usize) -> usize {
    normal
}

//! The switch that does one thing of the protocol wrong, for negative controls.
//!
//! Under `cfg(guira_loom)`, `cfg(guira_shuttle)` or `cfg(guira_faults)` a test can switch one
//! [`Fault`] on, or make the memory ordering of one [`Step`] Relaxed. A promise must then break:
//! which shows that the tests can detect violations. Normal builds compile all of this out.

// Public where a test can reach it: in the builds for which `model` exists.
#![cfg_attr(
    not(any(guira_loom, guira_faults, guira_shuttle)),
    allow(dead_code, unreachable_pub)
)]

use crate::step::Step;
use std::sync::atomic::Ordering;

/// A value, or the other value while the fault is active in a build with `model`. With `in`, while any
/// fault of the operation is active.
macro_rules! faulty {
    (@ $right:expr, $on:expr => $wrong:expr) => {{
        #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
        let value = if $on { $wrong } else { $right };
        #[cfg(not(any(guira_loom, guira_faults, guira_shuttle)))]
        let value = $right;
        value
    }};
    ($right:expr, in $operation:ident => $wrong:expr) => {
        $crate::fault::faulty!(
            @ $right,
            $crate::fault::is_in($crate::fault::Operation::$operation) => $wrong
        )
    };
    ($right:expr, $fault:ident => $wrong:expr) => {
        $crate::fault::faulty!(@ $right, $crate::fault::is($crate::fault::Fault::$fault) => $wrong)
    };
}

/// A statement that exists only in builds with `model`. It runs while the fault is active.
macro_rules! when_faulty {
    ($fault:ident, $wrong:expr) => {
        #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
        if $crate::fault::is($crate::fault::Fault::$fault) {
            $wrong;
        }
    };
}

pub(crate) use {faulty, when_faulty};

/// The code that a fault is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// No code.
    Nothing,
    /// The wrong operations of all files.
    All,
    /// A value or a statement of the operation itself.
    InPlace,
    /// contains and count: `raw/lookup/wrong.rs`.
    Lookup,
    /// One move of a resident: `raw/moves/wrong.rs`.
    Move,
    /// remove in a filter without time: `raw/remove/wrong.rs`.
    Remove,
    /// insert_unique: `raw/unique/wrong.rs`.
    Unique,
    /// refresh: `raw/refresh/wrong.rs`.
    Refresh,
    /// The end of dead copies: `raw/expire/wrong.rs`.
    Expire,
    /// The exchange of a word: `table/view/wrong.rs`.
    Exchange,
    /// The reading of a chunk: `table/scan/wrong.rs`.
    Scan,
    /// The reading of a chunk for another thread's scan: `raw/frontier/scan/wrong.rs`.
    Help,
}

/// Lists the faults, each with the [`Operation`] that it is in.
macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident: $operation:ident,)*) => {
        /// One thing done wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(
            any(guira_loom, guira_faults, guira_shuttle),
            derive(bytemuck::NoUninit)
        )]
        #[repr(u8)]
        pub enum Fault {
            $($(#[$doc])* $fault,)*
        }

        impl Fault {
            /// Where the fault is.
            pub(crate) const fn operation(self) -> Operation {
                match self {
                    $(Self::$fault => Operation::$operation,)*
                }
            }
        }
    };
}

faults! {
    /// Nothing is done wrong.
    None: Nothing,
    /// Runs the wrong operations without any fault, to show that they are otherwise correct.
    Rehearsed: All,
    /// A move does not advance the version.
    NoAdvance: Move,
    /// A move advances the version only after it has erased the original.
    AdvanceLate: Move,
    /// A move erases the original before it has brought in the copy.
    EraseFirst: Move,
    /// A move decides by erasing the original at once: no T.
    NoTrailing: Move,
    /// A move unmarks the copy while the original still exists: no D.
    NoDelivered: Exchange,
    /// A chained move settles the copy before the original is replaced.
    SettleEarly: Move,
    /// A move that is given up leaves its shadow behind.
    NoRetract: Move,
    /// A move continues although its source has changed.
    DecideBlindly: Move,
    /// A lookup that found nothing does not validate the version.
    ContainsNoValidate: Lookup,
    /// A lookup that found only undecided copies does not read the words again.
    ContainsNoReread: Lookup,
    /// A lookup observes and validates the stripe of the higher bucket.
    ContainsWrongStripe: Lookup,
    /// A lookup reads the higher word first.
    ContainsReadsHigherFirst: Lookup,
    /// A lookup takes any mark for a copy.
    ContainsTrustsMarks: Lookup,
    /// A lookup that found nothing does not look at the phase of its words.
    ContainsAnyPlane: Lookup,
    /// A lookup takes a match for a copy before it has looked at the phase.
    ContainsMatchesFirst: Lookup,
    /// A lookup that found nothing does not look whether it is still the same epoch.
    ContainsNoSecondNow: Lookup,
    /// A lookup reads the epoch after the words only.
    ContainsReadsNowLate: Lookup,
    /// A sweep passes plane 0 only.
    SweepPlaneZero: InPlace,
    /// A sweep passes the planes that there were when it began.
    SweepBoundEarly: InPlace,
    /// A copy under W counts for nothing.
    WithheldOverlooked: InPlace,
    /// remove does not validate the version before it answers false.
    RemoveNoValidate: Remove,
    /// remove does not read the words again before it answers false.
    RemoveNoReread: Remove,
    /// remove observes and validates the stripe of the higher bucket.
    RemoveWrongStripe: Remove,
    /// remove takes from the higher word first.
    RemoveHigherFirst: Remove,
    /// remove reads the higher word first, and takes from the lower one first.
    RemoveReadsHigherFirst: Remove,
    /// remove kills a shadow without holding the stripe.
    KillNoHold: Remove,
    /// remove holds the stripe of the higher bucket when it kills a shadow.
    KillWrongStripe: Remove,
    /// A mover confirms its outline although the stripe is held.
    HoldIgnored: Move,
    /// A mover checks whether the stripe is held before its outline is set.
    HoldSeenEarly: Move,
    /// remove ignores an undecided or delivered copy.
    RemoveIgnoresMarks: Remove,
    /// remove empties a marked slot instead of leaving K.
    RemoveNoKilled: Exchange,
    /// count does not read the lower word again.
    CountNoRereadP: Lookup,
    /// count does not read the higher word again.
    CountNoRereadQ: Lookup,
    /// count does not validate the version.
    CountNoValidate: Lookup,
    /// count observes and validates the stripe of the higher bucket.
    CountWrongStripe: Lookup,
    /// count does not look whether it is still the same epoch.
    CountNoSecondNow: Lookup,
    /// insert_and_count takes the other word as it was before the exchange.
    InsertCountsEarly: InPlace,
    /// insert_and_count does not validate the version.
    InsertCountsNoValidate: InPlace,
    /// insert_unique claims without a reservation.
    UniqueNoReservation: Unique,
    /// All calls of insert_unique use one token.
    UniqueSharedToken: Unique,
    /// insert_unique looks at the other word before it reserves, not after.
    UniqueReadsEarly: Unique,
    /// insert_unique does not heed a reservation in the other word.
    UniqueOverlooksTokens: Unique,
    /// insert_unique does not look whether it is still the same epoch before it confirms.
    UniqueNoSecondNow: Unique,
    /// insert_unique does not look whether it is still the same epoch after it has confirmed.
    UniqueConfirmedEarly: InPlace,
    /// insert_unique, where it would reserve away from home, makes a dead copy a live one instead.
    UniqueRevives: Unique,
    /// insert does not check the epoch again after it has added its copy.
    InsertNoSecondNow: InPlace,
    /// insert adds a second copy if an epoch began during the call.
    InsertOnceMore: InPlace,
    /// insert does not look whether its copy has died.
    InsertOverlooksDeath: InPlace,
    /// merge does not check the epoch again after it has added its copy.
    MergeNoSecondNow: InPlace,
    /// union adds copies whatever number there is.
    UnionBlindly: InPlace,
    /// union adds a copy beside a marked word whatever number of young ones there is.
    UnionBesideMarksBlindly: InPlace,
    /// union does not count again after it has added or renewed a copy.
    UnionLooksOnce: InPlace,
    /// union treats any two words as if they had existed together.
    UnionNoValidate: Lookup,
    /// union gives a copy the age that it wants, even if another copy with the same tag is younger.
    UnionMakesOlder: InPlace,
    /// intersection takes a copy from P beside one in Q without guarding either.
    LowerUnguarded: InPlace,
    /// intersection guards the copy in Q before the one in P.
    LowerGuardsQFirst: InPlace,
    /// intersection does not count again once it guards a copy in each word.
    LowerCountsOnce: InPlace,
    /// intersection counts the copies in its own filter before those in the other one.
    LowerCountsOtherLast: InPlace,
    /// intersection takes a copy for the only one without validating the version.
    SingleNoValidate: InPlace,
    /// remove does not look at P again before it takes a copy from a marked Q.
    RemoveTrustsOldP: InPlace,
    /// A late record of an epoch's beginning takes the place of a later reading.
    ReadingOverwritten: InPlace,
    /// A late record of an epoch's beginning takes the place of that of a later epoch.
    RecordOverwritten: InPlace,
    /// What was seen in an epoch counts from the beginning of that epoch, not from its end.
    DeadByOwnBeginning: InPlace,
    /// An epoch whose beginning is not recorded has that of an earlier epoch.
    SkippedUnrecorded: InPlace,
    /// The clock decides about copies that were merged, whose tags do not say when they were seen.
    MergedByClock: InPlace,
    /// A merge that meets a new epoch leaves its copies to the clock.
    MergeTriesOnce: InPlace,
    /// A clone takes the epoch, and after it what is known of the epoch's beginning.
    EndBeforeBeginning: InPlace,
    /// A snapshot or a merge does not look whether it is still the epoch by which it reads tags.
    ScanNoSecondNow: InPlace,
    /// refresh does not look whether it is still the same epoch.
    RefreshNoSecondNow: Refresh,
    /// refresh adds a copy beside a mark, and does not look whether it is still the same epoch.
    RefreshBesideMarksOnce: InPlace,
    /// refresh does not validate the version before it answers false.
    RefreshNoValidate: Refresh,
    /// refresh changes the tag in one exchange, without W.
    RefreshAtOnce: Refresh,
    /// refresh does not read the epoch again after W is set.
    RefreshTrustsOldNow: Refresh,
    /// refresh changes the tag of a shadow.
    RefreshMarked: Refresh,
    /// refresh ends what another thread has begun with W.
    WithheldByAnother: Refresh,
    /// A dead copy is removed in one exchange, without W.
    ExpireAtOnce: Expire,
    /// The epoch is not read again after W is set on a dead copy.
    ExpireTrustsOldNow: Expire,
    /// A dead copy is removed whatever its mark.
    SweepMarked: Expire,
    /// An epoch begins though the words have not been swept in the one before it.
    AdvanceUnswept: InPlace,
    /// A sweep counts for the epoch in which it ends.
    SweptLate: InPlace,
    /// A piece counts as swept before its first word is passed.
    PieceEarly: InPlace,
    /// A sweep by pieces continues that of an earlier epoch.
    PieceOfAnotherEpoch: InPlace,
    /// A move is decided for an original of the class, whatever its tag.
    DecideAnyTag: Move,
    /// remove takes the oldest copy from the higher word at once, beside one in the lower word.
    OldestFromQ: InPlace,
    /// remove takes all copies of a marked slot.
    KillAllCopies: InPlace,
    /// count takes the copies of a slot that is moved from its original.
    CountFromTrailing: InPlace,
    /// insert adds its copy to a slot that is moved.
    CountMarked: InPlace,
    /// insert adds its copy to a slot of its class, whatever the tag.
    CountAnyTag: InPlace,
    /// insert makes the oldest copy younger, instead of one of its own epoch, if an epoch began during the
    /// call.
    InsertRenewsOldest: InPlace,
    /// Deliver gives a slot the copies that it had before the move.
    DeliverOldCount: InPlace,
    /// Deliver leaves a slot one copy.
    DeliverOneCopy: InPlace,
    /// A slot with several dead copies is emptied, and one of them is counted.
    SweepOneCopy: InPlace,
    /// remove or refresh makes all copies of a slot younger, instead of one.
    RenewAllCopies: InPlace,
    /// remove takes the oldest copy from the marked word of Q without an advance.
    OldestUnannounced: InPlace,
    /// remove takes the oldest copy of two words that need not have stood together.
    OldestNoValidate: InPlace,
    /// remove does not look whether it is still the same epoch in which it has compared ages.
    OldestNoSecondNow: InPlace,
    /// remove takes from the lower word first, whichever copy is older.
    RemoveYoungest: InPlace,
    /// Other writers leave a reservation standing.
    ReservationKept: Exchange,
    /// A lost compare-exchange of a claim is taken for a success.
    ClaimUnchecked: Exchange,
    /// An insert whose search found nothing does not search again.
    FullUnchecked: InPlace,
    /// An insert takes the filter for full although only another thread was in the way.
    FullWhenDisturbed: InPlace,
    /// A filter grows for an item whose copies alone occupy its words.
    GrowForCopies: InPlace,
    /// A writer changes a frozen word like any other.
    FrozenIgnored: InPlace,
    /// A split cuts the old word before it has made the new one.
    CutFirst: Exchange,
    /// A split loses the mark.
    MarkDropped: Exchange,
    /// A split leaves the slots where they lay at the level before.
    PackedAsBefore: Exchange,
    /// A search leaves out of a resident's fingerprint what the word does not store.
    SearchForgetsPlane: InPlace,
    /// A split does not freeze the word first.
    NoFreeze: Exchange,
    /// The hint says that a level is complete before it is.
    HintEarly: InPlace,
    /// The split pointer moves on without a look at the words that it passes.
    MovePointerBlindly: InPlace,
    /// A level is taken for complete when one part of it is.
    OnePartEnough: InPlace,
    /// A segment is published only after the first word that needs it is frozen.
    PublishLate: InPlace,
    /// A thread that finds a value published does not observe what was done before that.
    OnceUnordered: InPlace,
    /// A word's phase has two bits only, and wraps.
    PhaseWraps: Exchange,
    /// The exchange of a word does not compare its phase.
    PhaseIgnored: Exchange,
    /// A chained move fills the slot it leaves without regard to the plane.
    FillAnyPlane: Move,
    /// A move does not heed the frontier of a snapshot.
    FrontierIgnored: Move,
    /// Neither movers nor snapshots nor calls of insert_unique have a fence.
    NoFence: InPlace,
    /// A thread that scans a chunk for another one's scan has no fence.
    HelpUnfenced: Help,
    /// A thread that scans a chunk for another one's scan loads the words before it enters.
    HelpLoadsFirst: Help,
    /// The thread of a scan takes its own image of a chunk, though another one came first.
    HelpOverwritten: InPlace,
    /// A mover heeds the first pass of a scan, though another one has begun.
    RestartOverlooked: InPlace,
    /// A snapshot leaves out shadows.
    ScanNoShadows: Scan,
    /// A snapshot goes through all buckets of a chunk in one plane before the next.
    ScanByPlane: Scan,
    /// A mover takes no gate, and a repair looks at none.
    NoGate: InPlace,
    /// A line says what its thread moves only after the outline stands.
    LineLate: InPlace,
    /// The gate of a path's next move is taken after the Erase that leaves its outline.
    NextGateLate: InPlace,
    /// A mover keeps the gate of a path's next move, although its Erase has left a hole.
    NextGateKept: InPlace,
    /// A repair frees the gates before it ends the moves.
    GatesFirst: InPlace,
    /// A repair takes each shadow for that of a decided move.
    RepairTrustsShadow: InPlace,
    /// A hold does not change the version.
    HoldNoVersion: InPlace,
    /// A hold does not release the line that names its stripe.
    HoldUnreleased: InPlace,
    /// A repair ends the holds of a stripe though a living thread has one.
    HoldSkipsLines: InPlace,
    /// A repair ends a W by a reading of the time from before it knew of the death.
    RepairTrustsOldNow: InPlace,
    /// A repair leaves a K that was a W.
    RepairMissesKilled: InPlace,
    /// A sweep counts although a gate or a mark has kept it from a word.
    GateOverlooked: InPlace,
    /// A sweep counts before it has passed its first word.
    SweptFirst: InPlace,
    /// The beginning of an epoch is said to be recorded before it is.
    RecordedFirst: InPlace,
    /// A process looks whether the base of its clock is known before it reads the latest beginning.
    BootFirst: InPlace,
    /// A process that opens a filter reads the epoch before what is noted of epochs.
    EpochFirst: InPlace,
    /// A process that opens a filter reads how many segments are in use only after the level.
    SegmentsOnce: InPlace,
    /// A thread that lives is taken for dead.
    FalseDeath: InPlace,
    /// A dead process is taken for a living one while another process repairs it.
    RepairerLives: InPlace,
    /// A mover does not heed the scans of other processes.
    PlacesIgnored: InPlace,
    /// Another scan can take the place of one that ends before its bit is cleared.
    PlaceBackFirst: InPlace,
    /// A segment is in use before it has memory.
    PublishBeforeCommit: InPlace,
    /// A process never looks at the hint of the others.
    HintNotRefreshed: InPlace,
    /// The hint of a process rises with the first word above it.
    HintTrustsWords: InPlace,
    /// A scan that starts again stays where it is for other processes.
    RestartUnseen: InPlace,
}

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod switch;

#[cfg(guira_faults)]
mod watch;

#[cfg(guira_loom)]
pub(crate) use switch::loads_are_exchanges;
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) use switch::memory_is_refused;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub(crate) use switch::{attempts, is, is_in, is_weakened, now, order};
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub use switch::{limit_attempts, refuse_memory, weaken};
#[cfg(guira_faults)]
pub(crate) use watch::{is_touched, touch};
#[cfg(guira_faults)]
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

/// False, in a normal build.
#[cfg(not(any(guira_loom, guira_faults, guira_shuttle)))]
#[inline(always)]
pub(crate) const fn is_weakened() -> bool {
    false
}

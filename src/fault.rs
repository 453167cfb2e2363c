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
    /// Runs the wrong operations without any fault, to show that they are otherwise correct.
    Rehearsed,
    /// A move does not advance the version.
    NoAdvance,
    /// A move advances the version only after it has erased the original.
    AdvanceLate,
    /// A move erases the original before it has brought in the copy.
    EraseFirst,
    /// A move decides by erasing the original at once: no T.
    NoTrailing,
    /// A move unmarks the copy while the original still exists: no D.
    NoDelivered,
    /// A chained move settles the copy before the original is replaced.
    SettleEarly,
    /// A move that is given up leaves its shadow behind.
    NoRetract,
    /// A move continues although its source has changed.
    DecideBlindly,
    /// A lookup that found nothing does not validate the version.
    ContainsNoValidate,
    /// A lookup that found only undecided copies does not read the words again.
    ContainsNoReread,
    /// A lookup observes and validates the stripe of the higher bucket.
    ContainsWrongStripe,
    /// A lookup reads the higher word first.
    ContainsReadsHigherFirst,
    /// A lookup takes any mark for a copy.
    ContainsTrustsMarks,
    /// A lookup that found nothing does not look at the phase of its words.
    ContainsAnyPlane,
    /// A lookup takes a match for a copy before it has looked at the phase.
    ContainsMatchesFirst,
    /// A lookup that found nothing does not look whether it is still the same epoch.
    ContainsNoSecondNow,
    /// A lookup reads the epoch after the words only.
    ContainsReadsNowLate,
    /// A sweep passes plane 0 only.
    SweepPlaneZero,
    /// A sweep passes the planes that there were when it began.
    SweepBoundEarly,
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
    /// A mover checks whether the stripe is held before its outline is set.
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
    /// count does not look whether it is still the same epoch.
    CountNoSecondNow,
    /// insert_and_count takes the other word as it was before the exchange.
    InsertCountsEarly,
    /// insert_and_count does not validate the version.
    InsertCountsNoValidate,
    /// insert_unique claims without a reservation.
    UniqueNoReservation,
    /// All calls of insert_unique use one token.
    UniqueSharedToken,
    /// insert_unique looks at the other word before it reserves, not after.
    UniqueReadsEarly,
    /// insert_unique does not heed a reservation in the other word.
    UniqueOverlooksTokens,
    /// insert_unique does not look whether it is still the same epoch before it confirms.
    UniqueNoSecondNow,
    /// insert_unique does not look whether it is still the same epoch after it has confirmed.
    UniqueConfirmedEarly,
    /// insert_unique, where it would reserve away from home, makes a dead copy a live one instead.
    UniqueRevives,
    /// insert does not check the epoch again after it has added its copy.
    InsertNoSecondNow,
    /// insert adds a second copy if an epoch began during the call.
    InsertOnceMore,
    /// insert does not look whether its copy has died.
    InsertOverlooksDeath,
    /// merge does not check the epoch again after it has added its copy.
    MergeNoSecondNow,
    /// union adds copies whatever number there is.
    UnionBlindly,
    /// union adds a copy beside a marked word whatever number of young ones there is.
    UnionBesideMarksBlindly,
    /// union does not count again after it has added or renewed a copy.
    UnionLooksOnce,
    /// union treats any two words as if they had existed together.
    UnionNoValidate,
    /// union gives a copy the age that it wants, even if another copy with the same tag is younger.
    UnionMakesOlder,
    /// intersection takes a copy from P beside one in Q without guarding either.
    LowerUnguarded,
    /// intersection guards the copy in Q before the one in P.
    LowerGuardsQFirst,
    /// intersection does not count again once it guards a copy in each word.
    LowerCountsOnce,
    /// intersection counts the copies in its own filter before those in the other one.
    LowerCountsOtherLast,
    /// intersection takes a copy for the only one without validating the version.
    SingleNoValidate,
    /// remove does not look at P again before it takes a copy from a marked Q.
    RemoveTrustsOldP,
    /// A late record of an epoch's beginning takes the place of a later reading.
    ReadingOverwritten,
    /// A late record of an epoch's beginning takes the place of that of a later epoch.
    RecordOverwritten,
    /// What was seen in an epoch counts from the beginning of that epoch, not from its end.
    DeadByOwnBeginning,
    /// An epoch whose beginning is not recorded has that of an earlier epoch.
    SkippedUnrecorded,
    /// The clock decides about copies that were merged, whose tags do not say when they were seen.
    MergedByClock,
    /// A merge that meets a new epoch leaves its copies to the clock.
    MergeTriesOnce,
    /// A clone takes the epoch, and after it what is known of the epoch's beginning.
    EndBeforeBeginning,
    /// A snapshot or a merge does not look whether it is still the epoch by which it reads tags.
    ScanNoSecondNow,
    /// refresh does not look whether it is still the same epoch.
    RefreshNoSecondNow,
    /// refresh adds a copy beside a mark, and does not look whether it is still the same epoch.
    RefreshBesideMarksOnce,
    /// refresh does not validate the version before it answers false.
    RefreshNoValidate,
    /// refresh changes the tag in one exchange, without W.
    RefreshAtOnce,
    /// refresh does not read the epoch again after W is set.
    RefreshTrustsOldNow,
    /// refresh changes the tag of a shadow.
    RefreshMarked,
    /// refresh ends what another thread has begun with W.
    WithheldByAnother,
    /// A dead copy is removed in one exchange, without W.
    ExpireAtOnce,
    /// The epoch is not read again after W is set on a dead copy.
    ExpireTrustsOldNow,
    /// A dead copy is removed whatever its mark.
    SweepMarked,
    /// An epoch begins though the words have not been swept in the one before it.
    AdvanceUnswept,
    /// A sweep counts for the epoch in which it ends.
    SweptLate,
    /// A piece counts as swept before its first word is passed.
    PieceEarly,
    /// A sweep by pieces continues that of an earlier epoch.
    PieceOfAnotherEpoch,
    /// A move is decided for an original of the class, whatever its tag.
    DecideAnyTag,
    /// remove takes the oldest copy from the higher word at once, beside one in the lower word.
    OldestFromQ,
    /// remove takes all copies of a marked slot.
    KillAllCopies,
    /// count takes the copies of a slot that is moved from its original.
    CountFromTrailing,
    /// insert adds its copy to a slot that is moved.
    CountMarked,
    /// insert adds its copy to a slot of its class, whatever the tag.
    CountAnyTag,
    /// insert makes the oldest copy younger, instead of one of its own epoch, if an epoch began during the
    /// call.
    InsertRenewsOldest,
    /// Deliver gives a slot the copies that it had before the move.
    DeliverOldCount,
    /// Deliver leaves a slot one copy.
    DeliverOneCopy,
    /// A slot with several dead copies is emptied, and one of them is counted.
    SweepOneCopy,
    /// remove or refresh makes all copies of a slot younger, instead of one.
    RenewAllCopies,
    /// remove takes the oldest copy from the marked word of Q without an advance.
    OldestUnannounced,
    /// remove takes the oldest copy of two words that need not have stood together.
    OldestNoValidate,
    /// remove does not look whether it is still the same epoch in which it has compared ages.
    OldestNoSecondNow,
    /// remove takes from the lower word first, whichever copy is older.
    RemoveYoungest,
    /// Other writers leave a reservation standing.
    ReservationKept,
    /// A lost compare-exchange of a claim is taken for a success.
    ClaimUnchecked,
    /// An insert whose search found nothing does not search again.
    FullUnchecked,
    /// An insert takes the filter for full although only another thread was in the way.
    FullWhenDisturbed,
    /// A filter grows for an item whose copies alone occupy its words.
    GrowForCopies,
    /// A writer changes a frozen word like any other.
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
    MovePointerBlindly,
    /// A level is taken for complete when one part of it is.
    OnePartEnough,
    /// A segment is published only after the first word that needs it is frozen.
    PublishLate,
    /// A thread that finds a value published does not observe what was done before that.
    OnceUnordered,
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
    /// A mover takes no gate, and a repair looks at none.
    NoGate,
    /// A line says what its thread moves only after the outline stands.
    LineLate,
    /// The gate of a path's next move is taken after the Erase that leaves its outline.
    NextGateLate,
    /// A mover keeps the gate of a path's next move, although its Erase has left a hole.
    NextGateKept,
    /// A repair frees the gates before it ends the moves.
    GatesFirst,
    /// A repair takes each shadow for that of a decided move.
    RepairTrustsShadow,
    /// A hold does not change the version.
    HoldNoVersion,
    /// A hold does not release the line that names its stripe.
    HoldUnreleased,
    /// A repair ends the holds of a stripe though a living thread has one.
    HoldSkipsLines,
    /// A repair ends a W by a reading of the time from before it knew of the death.
    RepairTrustsOldNow,
    /// A repair leaves a K that was a W.
    RepairMissesKilled,
    /// A sweep counts although a gate or a mark has kept it from a word.
    GateOverlooked,
    /// A sweep counts before it has passed its first word.
    SweptFirst,
    /// The beginning of an epoch is said to be recorded before it is.
    RecordedFirst,
    /// A process looks whether the base of its clock is known before it reads the latest beginning.
    BootFirst,
    /// A process that opens a filter reads the epoch before what is noted of epochs.
    EpochFirst,
    /// A process that opens a filter reads how many segments are in use only after the level.
    SegmentsOnce,
    /// A thread that lives is taken for dead.
    FalseDeath,
    /// A dead process is taken for a living one while another process repairs it.
    RepairerLives,
    /// A mover does not heed the scans of other processes.
    PlacesIgnored,
    /// Another scan can take the place of one that ends before its bit is cleared.
    PlaceBackFirst,
    /// A segment is in use before it has memory.
    PublishBeforeCommit,
    /// A process never looks at the hint of the others.
    HintNotRefreshed,
    /// The hint of a process rises with the first word above it.
    HintTrustsWords,
    /// A scan that starts again stays where it is for other processes.
    RestartUnseen,
}

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
    /// The exchange of a word: `table/loaded/wrong.rs`.
    Exchange,
    /// The reading of a chunk: `table/scan/wrong.rs`.
    Scan,
    /// The reading of a chunk for another thread's scan: `raw/frontier/scan/wrong.rs`.
    Help,
}

impl Fault {
    /// Where the fault is. Without a line here a fault does not compile.
    pub(crate) const fn operation(self) -> Operation {
        match self {
            Self::None => Operation::Nothing,
            Self::Rehearsed => Operation::All,
            Self::WithheldOverlooked
            | Self::UniqueConfirmedEarly
            | Self::InsertNoSecondNow
            | Self::InsertOnceMore
            | Self::InsertOverlooksDeath
            | Self::InsertCountsEarly
            | Self::InsertCountsNoValidate
            | Self::MergeNoSecondNow
            | Self::UnionBlindly
            | Self::UnionBesideMarksBlindly
            | Self::UnionLooksOnce
            | Self::UnionMakesOlder
            | Self::LowerUnguarded
            | Self::LowerGuardsQFirst
            | Self::LowerCountsOnce
            | Self::LowerCountsOtherLast
            | Self::SingleNoValidate
            | Self::RemoveTrustsOldP
            | Self::EndBeforeBeginning
            | Self::ReadingOverwritten
            | Self::DeadByOwnBeginning
            | Self::SkippedUnrecorded
            | Self::MergedByClock
            | Self::MergeTriesOnce
            | Self::RefreshBesideMarksOnce
            | Self::RecordOverwritten
            | Self::ScanNoSecondNow
            | Self::AdvanceUnswept
            | Self::SweptLate
            | Self::PieceEarly
            | Self::PieceOfAnotherEpoch
            | Self::SweepPlaneZero
            | Self::SweepBoundEarly
            | Self::HelpOverwritten
            | Self::RestartOverlooked
            | Self::KillAllCopies
            | Self::CountFromTrailing
            | Self::CountMarked
            | Self::CountAnyTag
            | Self::InsertRenewsOldest
            | Self::DeliverOldCount
            | Self::DeliverOneCopy
            | Self::SweepOneCopy
            | Self::RenewAllCopies
            | Self::OldestFromQ
            | Self::OldestUnannounced
            | Self::OldestNoValidate
            | Self::OldestNoSecondNow
            | Self::RemoveYoungest
            | Self::FullUnchecked
            | Self::FullWhenDisturbed
            | Self::GrowForCopies
            | Self::FrozenIgnored
            | Self::SearchForgetsPlane
            | Self::HintEarly
            | Self::MovePointerBlindly
            | Self::OnePartEnough
            | Self::PublishLate
            | Self::OnceUnordered
            | Self::NoGate
            | Self::LineLate
            | Self::NextGateLate
            | Self::NextGateKept
            | Self::GatesFirst
            | Self::RepairTrustsShadow
            | Self::HoldNoVersion
            | Self::HoldUnreleased
            | Self::HoldSkipsLines
            | Self::FalseDeath
            | Self::RepairerLives
            | Self::RepairTrustsOldNow
            | Self::RepairMissesKilled
            | Self::GateOverlooked
            | Self::SweptFirst
            | Self::RecordedFirst
            | Self::BootFirst
            | Self::EpochFirst
            | Self::SegmentsOnce
            | Self::PlacesIgnored
            | Self::PlaceBackFirst
            | Self::PublishBeforeCommit
            | Self::HintNotRefreshed
            | Self::HintTrustsWords
            | Self::RestartUnseen
            | Self::NoFence => Operation::InPlace,
            Self::ContainsNoValidate
            | Self::ContainsNoReread
            | Self::ContainsWrongStripe
            | Self::ContainsReadsHigherFirst
            | Self::ContainsTrustsMarks
            | Self::ContainsAnyPlane
            | Self::ContainsMatchesFirst
            | Self::ContainsNoSecondNow
            | Self::ContainsReadsNowLate
            | Self::CountNoRereadP
            | Self::CountNoRereadQ
            | Self::CountNoValidate
            | Self::CountWrongStripe
            | Self::CountNoSecondNow
            | Self::UnionNoValidate => Operation::Lookup,
            Self::NoAdvance
            | Self::AdvanceLate
            | Self::EraseFirst
            | Self::NoTrailing
            | Self::SettleEarly
            | Self::NoRetract
            | Self::DecideBlindly
            | Self::HoldIgnored
            | Self::HoldSeenEarly
            | Self::DecideAnyTag
            | Self::FillAnyPlane
            | Self::FrontierIgnored => Operation::Move,
            Self::RemoveNoValidate
            | Self::RemoveNoReread
            | Self::RemoveWrongStripe
            | Self::RemoveHigherFirst
            | Self::RemoveReadsHigherFirst
            | Self::KillNoHold
            | Self::KillWrongStripe
            | Self::RemoveIgnoresMarks => Operation::Remove,
            Self::UniqueNoReservation
            | Self::UniqueSharedToken
            | Self::UniqueReadsEarly
            | Self::UniqueOverlooksTokens
            | Self::UniqueNoSecondNow
            | Self::UniqueRevives => Operation::Unique,
            Self::RefreshNoSecondNow
            | Self::RefreshNoValidate
            | Self::RefreshAtOnce
            | Self::RefreshTrustsOldNow
            | Self::RefreshMarked
            | Self::WithheldByAnother => Operation::Refresh,
            Self::ExpireAtOnce | Self::ExpireTrustsOldNow | Self::SweepMarked => Operation::Expire,
            Self::NoDelivered
            | Self::RemoveNoKilled
            | Self::ReservationKept
            | Self::ClaimUnchecked
            | Self::CutFirst
            | Self::MarkDropped
            | Self::PackedAsBefore
            | Self::NoFreeze
            | Self::PhaseWraps
            | Self::PhaseIgnored => Operation::Exchange,
            Self::ScanNoShadows | Self::ScanByPlane => Operation::Scan,
            Self::HelpUnfenced | Self::HelpLoadsFirst => Operation::Help,
        }
    }
}

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod switch;

#[cfg(all(guira_faults, not(any(guira_loom, guira_shuttle))))]
mod watch;

#[cfg(guira_loom)]
pub(crate) use switch::loads_are_exchanges;
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) use switch::memory_is_refused;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub(crate) use switch::{attempts, is, is_in, now, order};
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

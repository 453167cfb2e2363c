//! Negative controls of the tests with real threads. With one step of the protocol done wrong,
//! their rounds must soon fail. A check that passes here would prove nothing.
//!
//! | fault | exact answers to the owner, then bounds | bounds alone | order of a window | the same while the filter doubles |
//! |---|---|---|---|---|
//! | `EraseFirst`, `NoTrailing`, `DecideBlindly`, `ClaimUnchecked` | caught | caught | caught | caught |
//! | `NoAdvance`, `NoRetract`, `RemoveNoValidate` | caught | caught | caught | |
//! | `ContainsNoValidate`, `RemoveIgnoresMarks` | caught | | caught | |
//! | `AdvanceLate`, `ContainsNoReread`, `CountNoRereadP`, `RemoveNoReread` | caught | | | |
//! | `ContainsAnyPlane`, `FrozenIgnored`, `CutFirst`, `MarkDropped`, `NoFreeze`, `HintEarly`, `MovePointerBlindly`, `PublishLate`, `FillAnyPlane` | | | | caught |
//!
//! An empty cell means: not tried, or not noticed within a few seconds, so that a test cannot rely
//! on it. For the same reason, these faults are not in the table at all. They require interleavings
//! of three steps or more, so they are left to the loom models:
//!
//! | left to the models |
//! |---|
//! | `NoDelivered`, `SettleEarly`, `RemoveNoKilled`, `RemoveHigherFirst`, `RemoveReadsHigherFirst`, `ContainsReadsHigherFirst`, `ContainsWrongStripe`, `RemoveWrongStripe`, `CountWrongStripe`, `KillWrongStripe`, `KillNoHold`, `HoldIgnored`, `HoldSeenEarly`, `CountNoRereadQ`, `CountNoValidate`, `PhaseIgnored`, `PhaseWraps`, `OnePartEnough`, `FullUnchecked`, `ReservationKept`, `UniqueNoReservation`, `UniqueSharedToken`, `UniqueReadsEarly`, `UniqueOverlooksTokens`, `ContainsTrustsMarks` |
//!
//! The same applies to the faults of snapshots, which have schedules, too. The faults of expiring
//! filters require an epoch to begin between two steps. The models cover them, and so does
//! `slept.rs`, whose calls sleep before each of their steps.
//!
//! ```text
//! RUSTFLAGS="--cfg guira_faults" cargo test --release --test faults
//! ```
#![cfg(guira_faults)]

mod common {
    pub(crate) mod batch;
    pub(crate) mod classes;
    pub(crate) mod distinct;
    pub(crate) mod event;
    pub(crate) mod filters;
    pub(crate) mod history;
    pub(crate) mod owned;
    pub(crate) mod round;
    pub(crate) mod shared;
    pub(crate) mod step;
    pub(crate) mod wgl;
    pub(crate) mod windows;
}

use common::{
    filters::{BITS, GROWABLE_BITS},
    round::{Report, Round},
};
use guira::model::{Fault, weaken};
use std::{
    panic,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// All threads share one fault switch.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Some faults need 10 seconds on average, and more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(3600);

type Check = fn(Round) -> Result<Report, String>;

/// Results for the only writer of a class must be exact. Other results are checked as in
/// [`bounds`].
fn rounds(round: Round) -> Result<Report, String> {
    round.owned().and_then(|_| round.shared())
}

/// Results must lie within the bounds of `common/history.rs`.
fn bounds(round: Round) -> Result<Report, String> {
    round.shared()
}

/// The results of each short window must have an order.
fn windows(round: Round) -> Result<Report, String> {
    let operations = 12;
    let windows = round.operations / operations;
    Round {
        operations,
        ..round
    }
    .windows(windows)
}

/// As [`windows`], while the filter doubles.
fn growing_windows(round: Round) -> Result<Report, String> {
    let layout = BITS.iter().position(|&bits| bits == round.bits);
    let bits = GROWABLE_BITS[layout.expect("one of them")];
    windows(Round { bits, ..round })
}

/// Runs rounds until `check` fails. Returns what was wrong, and the number of operations until
/// then.
fn caught(patience: Duration, check: Check) -> Option<(String, u64)> {
    let (start, mut operations) = (Instant::now(), 0);
    for seed in 0.. {
        for (bits, buckets, threads) in [(30, 4, 2), (20, 4, 4), (15, 4, 2), (12, 6, 4), (10, 2, 4)]
        {
            assert!(BITS.contains(&bits));
            let (load, crowd, yields) = (0.9, [1.25, 0.3][seed as usize % 2], seed % 4 < 2);
            let round = Round {
                bits,
                counter_bits: 0,
                buckets,
                threads,
                operations: 4_000,
                load,
                crowd,
                yields,
                seed,
            };
            // A wrong protocol may also fail the library's own assertions.
            let done =
                panic::catch_unwind(|| check(round)).unwrap_or_else(|_| Err("panicked".into()));
            operations += (threads * 4_000) as u64;
            if let Err(violation) = done {
                return Some((violation, operations));
            }
            if start.elapsed() > patience {
                return None;
            }
        }
    }
    unreachable!("the range of seeds has no end")
}

fn must_be_caught(fault: Fault, check: Check) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    weaken(fault, None, false);
    let caught = caught(PATIENCE, check);
    weaken(Fault::None, None, false);
    let Some((violation, operations)) = caught else {
        panic!("{fault:?} went unnoticed for {PATIENCE:?}")
    };
    println!(
        "{fault:?}: after {operations} operations, {:.1?}: {violation}",
        start.elapsed()
    );
}

/// Without a fault, the same rounds pass.
#[test]
fn no_fault_passes() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    weaken(Fault::None, None, false);
    for check in [rounds, bounds, windows, growing_windows] {
        assert_eq!(caught(Duration::from_secs(5), check), None);
    }
}

#[test]
fn wrong_operations_are_right_but_for_their_faults() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    weaken(Fault::Rehearsed, None, false);
    for check in [rounds, bounds, windows, growing_windows] {
        assert_eq!(caught(Duration::from_secs(2), check), None);
    }
    weaken(Fault::None, None, false);
}

macro_rules! faults {
    ($check:ident: $($name:ident: $fault:ident;)*) => {
        mod $check {
            use super::{Fault, must_be_caught};

            $(
                #[test]
                fn $name() {
                    must_be_caught(Fault::$fault, super::$check);
                }
            )*
        }
    };
}

faults! {
    rounds:
    no_advance: NoAdvance;
    advance_late: AdvanceLate;
    erase_first: EraseFirst;
    no_trailing: NoTrailing;
    no_retract: NoRetract;
    decide_blindly: DecideBlindly;
    contains_no_validate: ContainsNoValidate;
    contains_no_reread: ContainsNoReread;
    remove_no_validate: RemoveNoValidate;
    remove_no_reread: RemoveNoReread;
    remove_ignores_marks: RemoveIgnoresMarks;
    count_no_reread_p: CountNoRereadP;
    claim_unchecked: ClaimUnchecked;
}

faults! {
    bounds:
    no_advance: NoAdvance;
    erase_first: EraseFirst;
    no_trailing: NoTrailing;
    no_retract: NoRetract;
    decide_blindly: DecideBlindly;
    remove_no_validate: RemoveNoValidate;
    claim_unchecked: ClaimUnchecked;
}

faults! {
    windows:
    no_advance: NoAdvance;
    erase_first: EraseFirst;
    no_trailing: NoTrailing;
    no_retract: NoRetract;
    decide_blindly: DecideBlindly;
    contains_no_validate: ContainsNoValidate;
    remove_no_validate: RemoveNoValidate;
    remove_ignores_marks: RemoveIgnoresMarks;
    claim_unchecked: ClaimUnchecked;
}

faults! {
    growing_windows:
    erase_first: EraseFirst;
    no_trailing: NoTrailing;
    decide_blindly: DecideBlindly;
    claim_unchecked: ClaimUnchecked;
    contains_any_plane: ContainsAnyPlane;
    frozen_ignored: FrozenIgnored;
    cut_first: CutFirst;
    mark_dropped: MarkDropped;
    no_freeze: NoFreeze;
    hint_early: HintEarly;
    move_pointer_blindly: MovePointerBlindly;
    publish_late: PublishLate;
    fill_any_plane: FillAnyPlane;
}

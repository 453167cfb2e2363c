//! The steps of the protocol by name.
//!
//! `docs/DESIGN.md` and `docs/PROOF.md` argue over these steps. Each access to a shared word or
//! version names the step that it is; in a normal build the name vanishes.

// Public where a test can reach it: in the builds for which `model` exists.
#![cfg_attr(
    not(any(guira_loom, guira_faults, guira_shuttle)),
    allow(dead_code, unreachable_pub)
)]

/// A step of an operation, as `docs/DESIGN.md` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// A reader notes the version of its pair.
    Observe,
    /// A reader loads the lower word of the pair.
    ReadP,
    /// A reader loads the higher word of the pair.
    ReadQ,
    /// A reader loads the lower word once more.
    RereadP,
    /// A reader loads the higher word once more.
    RereadQ,
    /// A reader compares the version with the one it observed.
    Validate,
    /// A writer loads a word that it is about to exchange.
    LoadForUpdate,
    /// insert: an empty slot becomes the fingerprint.
    Claim,
    /// move, step 1: an empty slot of the destination becomes O.
    Outline,
    /// move, step 2: the version of the pair advances; the mover gives way to a thread that holds
    /// it.
    Advance,
    /// move, step 3: O becomes S.
    Shadow,
    /// move, step 4: the original becomes T.
    Decide,
    /// move, step 5: S becomes D.
    Deliver,
    /// move, step 6: T goes.
    Erase,
    /// move, step 7: D becomes unmarked, K becomes empty.
    Settle,
    /// move, given up: the outline or shadow becomes empty.
    Retract,
    /// remove: an unmarked copy becomes empty.
    Take,
    /// remove: S or D becomes K.
    Kill,
    /// remove: the pair's stripe is held, before an S is killed.
    Hold,
    /// insert_unique: an empty slot becomes a token.
    Reserve,
    /// insert_unique: the token of a call in the other word becomes empty.
    Evict,
    /// insert_unique: the own token becomes the fingerprint.
    Confirm,
    /// insert_unique: the own token becomes empty.
    Cancel,
    /// A thread reads how many levels are complete.
    Hint,
    /// split: the word is frozen.
    Freeze,
    /// split: the new word is made.
    Copy,
    /// split: what went to the new word leaves the old one, which thaws.
    Cut,
    /// split: the split pointer moves on.
    MovePointer,
    /// split: the level is complete.
    Complete,
    /// A call reads the epoch of the filter's time.
    ReadEpoch,
    /// A call reads once more whether it is still that epoch.
    RereadEpoch,
    /// expire, refresh: a copy becomes W.
    Withhold,
    /// expire: W becomes empty, as its copy is dead.
    Empty,
    /// expire, refresh: W becomes unmarked, with its tag as it was.
    Release,
    /// refresh: W becomes unmarked, with the tag of now.
    Renew,
    /// advance: the next epoch begins.
    Tick,
    /// advance, sweep: all words have been swept in an epoch.
    Swept,
    /// tick: when an epoch began.
    Began,
    /// snapshot: the scan enters a chunk of buckets.
    Enter,
    /// snapshot: the scan loads a word.
    Scan,
}

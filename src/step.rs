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
    /// move, step 2: the version of the pair advances. The mover retracts if a remove holds the
    /// stripe.
    Advance,
    /// move, step 3: O becomes S.
    Shadow,
    /// move, step 4: the original becomes T.
    Decide,
    /// move, step 5: S becomes D.
    Deliver,
    /// move, step 6: T becomes empty, or the outline of the next hop, or the new item.
    Erase,
    /// move, step 7: D becomes unmarked, K becomes empty.
    Settle,
    /// move, abandoned: the outline or shadow becomes empty.
    Retract,
    /// intersection: an unmarked copy becomes D, which ends like that of a move.
    Guard,
    /// remove: an unmarked copy becomes empty.
    Take,
    /// remove: S or D becomes K.
    Kill,
    /// remove: holds the stripe of the pair before it kills an S.
    Hold,
    /// remove: a hold of a stripe ends.
    EndHold,
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
    /// split: the new word gets its contents.
    Copy,
    /// split: the fingerprints in the new word are removed from the old one, which thaws.
    Cut,
    /// split: the split pointer of a part advances.
    MovePointer,
    /// split: all words of a part are split.
    EndPart,
    /// split: a thread reads which parts have ended.
    SeeParts,
    /// split: the level is complete.
    Complete,
    /// growth, in a filter that processes share: a segment gets its memory.
    Commit,
    /// growth, in a filter that processes share: a segment is in use from now on.
    Publish,
    /// growth, in a filter that processes share: a process reads how many segments are in use.
    SeeSegments,
    /// growth, in a filter that processes share: a process reads how many levels are complete.
    SeeHint,
    /// growth, in a filter that processes share: the hint of a process rises.
    RaiseHint,
    /// A call reads the epoch of the filter's time.
    ReadEpoch,
    /// A call checks once more that the epoch has not changed.
    RereadEpoch,
    /// expire, refresh: a copy becomes W.
    Withhold,
    /// expire: W becomes empty, because its copy is dead.
    Empty,
    /// expire, refresh: W becomes unmarked, and keeps its tag.
    Release,
    /// refresh: W becomes unmarked, with the tag of the current epoch.
    Renew,
    /// advance: the next epoch begins.
    Tick,
    /// advance, sweep: all words have been swept in an epoch.
    Swept,
    /// A write that lets time pass: a piece of the words has been swept in an epoch.
    Piece,
    /// tick: the beginning of an epoch is recorded.
    Began,
    /// tick: the latest beginning rises. In a filter that processes share, a process reads it before it
    /// looks whether the base of its clock is known.
    Latest,
    /// In a filter that processes share, a process looks whether the base of its clock is known, or says
    /// so.
    Boot,
    /// snapshot: the scan enters a chunk of buckets.
    Enter,
    /// snapshot: the scan loads a word.
    Scan,
    /// In a filter that processes share, a thread notes what it is about to do, or that it has done it.
    Note,
    /// move, expire, refresh, in a filter that processes share: the thread takes the gate of the class.
    Gate,
    /// move, expire, refresh, in a filter that processes share: the thread frees the gate.
    Leave,
    /// snapshot, in a filter that processes share: a scan begins.
    Appear,
    /// snapshot, in a filter that processes share: a scan ends.
    Vanish,
}

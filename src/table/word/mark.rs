//! The states of a mark.

/// What a relocation is doing with a fingerprint.
///
/// The letters are those of the protocol in `docs/DESIGN.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Mark {
    /// O: a copy that is being brought in, by a mover that may still have to give way.
    Outline = 1,
    /// S: a copy that is being brought in, for a move that may be decided at any time.
    Shadow = 2,
    /// T: the original of a decided move, to be erased next.
    Trailing = 3,
    /// D: the copy of a decided move. It is live, and held until the original is erased.
    Delivered = 4,
    /// K: a copy under S, D or W that a remove has removed.
    Killed = 5,
    /// W: a copy whose tag will be made younger, or which will be emptied because it has expired.
    /// Until then it counts like any other copy. Only expiring filters have it.
    Withheld = 6,
}

impl Mark {
    pub(super) const ALL: [Mark; 6] = [
        Mark::Outline,
        Mark::Shadow,
        Mark::Trailing,
        Mark::Delivered,
        Mark::Killed,
        Mark::Withheld,
    ];
}

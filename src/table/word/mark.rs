//! The states of a mark.

/// What a relocation is doing with a fingerprint.
///
/// The letters are those of the protocol in `docs/DESIGN.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Mark {
    /// O: a copy being brought in, by a mover that may yet have to give way.
    Outline = 1,
    /// S: a copy being brought in, for a move that may be decided at any time.
    Shadow = 2,
    /// T: the original of a decided move, about to be erased.
    Trailing = 3,
    /// D: the copy of a decided move, live, held until the original is gone.
    Delivered = 4,
    /// K: a copy under S, D or W that a remove has taken.
    Killed = 5,
    /// W: a copy that its setter is about to empty because it is dead, or to give a younger tag.
    /// Until then it is a copy as any other. Only in expiring filters.
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

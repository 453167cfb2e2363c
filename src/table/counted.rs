//! As what a copy counts. In filters without counters that is known, and costs nothing.

// Unchecked: as in `len`.
use crate::sync::unchecked::AtomicU64;

/// As what a copy counts: as a slot, or as a repeat, which is a copy beyond the first one of a slot.
pub(crate) trait Counted: Copy + 'static {
    /// A number of repeats, if copies can share slots.
    type Repeats: Default + Send + Sync + 'static;

    const SLOT: Self;

    /// As what a copy counts that was added to a word or taken from one, if `shares` says whether it shares
    /// its slot there.
    fn of(shares: impl FnOnce() -> bool) -> Self;

    fn is_repeat(self) -> bool;

    fn number(repeats: &Self::Repeats) -> Option<&AtomicU64>;
}

/// Without counters, each copy has a slot of its own.
impl Counted for () {
    type Repeats = ();

    const SLOT: Self = ();

    #[inline(always)]
    fn of(_shares: impl FnOnce() -> bool) -> Self {}

    #[inline(always)]
    fn is_repeat(self) -> bool {
        false
    }

    #[inline(always)]
    fn number(_repeats: &()) -> Option<&AtomicU64> {
        None
    }
}

/// A copy in a filter with counters.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum SlotOrRepeat {
    /// It has a slot of its own.
    Slot,
    /// It shares its slot.
    Repeat,
}

impl Counted for SlotOrRepeat {
    type Repeats = AtomicU64;

    const SLOT: Self = Self::Slot;

    #[inline(always)]
    fn of(shares: impl FnOnce() -> bool) -> Self {
        match shares() {
            true => Self::Repeat,
            false => Self::Slot,
        }
    }

    #[inline(always)]
    fn is_repeat(self) -> bool {
        self == Self::Repeat
    }

    #[inline(always)]
    fn number(repeats: &AtomicU64) -> Option<&AtomicU64> {
        Some(repeats)
    }
}

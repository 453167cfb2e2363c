//! As what a copy counts. In filters without counters that is known, and costs nothing.

use super::word::Bucket;
// Unchecked: as in `len`.
use crate::sync::unchecked::AtomicU64;

/// As what a copy counts: as a slot, or as a repeat, which is a copy beyond the first one of a slot.
pub(crate) trait Counted: Copy + 'static {
    /// A number of repeats, if copies can share slots.
    type Repeats: Default + Send + Sync + 'static;

    const SLOT: Self;

    /// What was added to the first of these words, or taken from it: the second one has replaced it.
    fn of<W: Bucket>(words: impl FnOnce() -> (W, W)) -> Self;

    fn is_repeat(self) -> bool;

    fn number(repeats: &Self::Repeats) -> Option<&AtomicU64>;
}

/// Without counters, each copy has a slot of its own.
impl Counted for () {
    type Repeats = ();

    const SLOT: Self = ();

    #[inline(always)]
    fn of<W: Bucket>(_words: impl FnOnce() -> (W, W)) -> Self {}

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
    fn of<W: Bucket>(words: impl FnOnce() -> (W, W)) -> Self {
        let (old, new) = words();
        match new.uses_slots_of(old) {
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

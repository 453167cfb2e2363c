//! Layouts: the words of a filter, and how the 64 bits of packed words are divided.
//!
//! A layout is a type without values. Filters and words are generic over it, so every mask of a fixed
//! filter is a constant in the compiled code.

use super::{
    counted::{Counted, SlotOrRepeat},
    entry::{Entry, Fingerprint},
    time::{Epochs, Now, Time, Timeless},
    word::{
        Based, Pair,
        lanes::{TOKEN_BITS, fingerprint_of},
        packed::Packed,
    },
};

use crate::memory::{CanGrow, Fixed, Heap, Kind, Storage};

pub(crate) use super::word::lanes::{Lanes, Masks, PackedLayout, series};

/// The word type of a layout.
pub(crate) type Word<L> = <L as Layout>::Word;

/// What the words of a table with this layout lack of their phases.
pub(crate) type BaseOf<L> = <<L as Layout>::Kind as Based>::Base;

/// The words of a filter, and its time: all that the protocol needs of a layout.
pub(crate) trait Layout: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The contents of one atomic word.
    type Word: Pair;
    /// The time of the filter.
    type Time: Time<Self::Word>;
    /// Where the words of a filter are.
    type Storage: Storage;
    /// As what a copy counts.
    type Counted: Counted;
    /// Whether filters can grow.
    type Kind: Kind + Based;
    /// True if filters of this layout can grow.
    const GROWS: bool;
    /// True if copies have tags, and expire.
    const EXPIRES: bool;
    /// The bits of a slot's counter; 0 if each copy has a slot.
    const COUNTER_BITS: u32;
    /// The prefixes of a fingerprint in semi-sorted words; otherwise 0.
    const PREFIXES: u64;
    /// The largest fingerprint. Fingerprints start at 1.
    const LARGEST: u64;
    /// The largest entry.
    const LARGEST_ENTRY: u64;
    /// The highest level that a word can have.
    const MAX_LEVEL: u32;

    /// The number of slots of a word at a level.
    fn slots_at(level: u32) -> usize;

    /// The fingerprint of a copy with this entry.
    fn fingerprint(entry: Entry) -> Fingerprint;

    /// True if an item can have this fingerprint, which must not be 0 at any level. In words that
    /// processes share there may be other ones.
    #[inline(always)]
    fn is_of_item(fingerprint: Fingerprint) -> bool {
        fingerprint.bits() >> Self::MAX_LEVEL != 0
    }
}

impl<L: PackedLayout<Time: Time<Packed<L>>>> Layout for L {
    type Word = Packed<Self>;
    type Time = <Self as PackedLayout>::Time;
    type Storage = Heap;
    type Counted = <Self as PackedLayout>::Counted;
    type Kind = <Self as PackedLayout>::Kind;
    const GROWS: bool = Self::HAS_PHASE;
    const EXPIRES: bool = Self::TAG_BITS != 0;
    const COUNTER_BITS: u32 = <Self as PackedLayout>::COUNTER_BITS;
    const PREFIXES: u64 = 0;
    const LARGEST: u64 = Self::FINGERPRINT;
    const LARGEST_ENTRY: u64 = Self::LEVELS[0].largest;
    const MAX_LEVEL: u32 = Self::LAST_LEVEL;

    #[inline(always)]
    fn slots_at(level: u32) -> usize {
        Self::LEVELS[level as usize].slots
    }

    #[inline(always)]
    fn fingerprint(entry: Entry) -> Fingerprint {
        fingerprint_of::<Self>(entry)
    }
}

/// A layout whose copies expire.
pub(crate) trait TimedLayout:
    Layout<Time = Epochs<<Self as Layout>::Storage>>
    + Layout<Time: Time<<Self as Layout>::Word, Now = Now>>
{
}

impl<L> TimedLayout for L where
    L: Layout<Time = Epochs<<L as Layout>::Storage>>
        + Layout<Time: Time<<L as Layout>::Word, Now = Now>>
{
}

/// The same words, in memory that processes share.
#[cfg(feature = "shared")]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(guira_loom), expect(unreachable_pub, reason = "models name it"))]
pub struct Shared<L>(std::marker::PhantomData<L>);

#[cfg(feature = "shared")]
impl<L: Layout> Layout for Shared<L> {
    type Word = L::Word;
    type Time = <L::Time as Time<L::Word>>::Shared;
    type Storage = crate::memory::Shared;
    type Counted = L::Counted;
    type Kind = L::Kind;
    const GROWS: bool = L::GROWS;
    const EXPIRES: bool = L::EXPIRES;
    const COUNTER_BITS: u32 = L::COUNTER_BITS;
    const PREFIXES: u64 = L::PREFIXES;
    const LARGEST: u64 = L::LARGEST;
    const LARGEST_ENTRY: u64 = L::LARGEST_ENTRY;
    const MAX_LEVEL: u32 = L::MAX_LEVEL;

    #[inline(always)]
    fn slots_at(level: u32) -> usize {
        L::slots_at(level)
    }

    #[inline(always)]
    fn fingerprint(entry: Entry) -> Fingerprint {
        L::fingerprint(entry)
    }
}

/// Makes `$layout` a layout of [`semi_sorted_words`](super::word::semi::semi_sorted_words).
macro_rules! semi_sorted {
    ($layout:ty: $raw:literal raw bits x $slots:literal, $prefixes:literal prefixes, $sets:literal sets) => {
        $crate::table::word::semi::semi_sorted_words!(
            $layout: $raw raw bits x $slots, $prefixes prefixes, $sets sets
        );

        impl $crate::table::layout::Layout for $layout {
            type Word = $crate::table::word::semi::Contents<Self>;
            type Time = $crate::table::time::Timeless;
            type Storage = $crate::memory::Heap;
            type Counted = ();
            type Kind = $crate::memory::Fixed;
            const GROWS: bool = false;
            const EXPIRES: bool = false;
            const COUNTER_BITS: u32 = 0;
            const PREFIXES: u64 = $prefixes;
            const LARGEST: u64 = ($prefixes << $raw) - 1;
            const LARGEST_ENTRY: u64 = Self::LARGEST;
            const MAX_LEVEL: u32 = 0;

            #[inline(always)]
            fn slots_at(_level: u32) -> usize {
                $slots
            }

            #[inline(always)]
            fn fingerprint(
                entry: $crate::table::entry::Entry,
            ) -> $crate::table::entry::Fingerprint {
                $crate::table::entry::Fingerprint::new(entry.bits())
            }
        }
    };
}

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub(crate) use semi_sorted;

/// Lists every layout but the growing ones; there is no other list. Passes it to the macro `$then`,
/// together with a dollar sign for macros that define other macros.
///
/// - Fixed filters have 60 payload bits and 4 control bits. If 64 / S is a whole number of bytes, the
///   slots are aligned to it, with the control bits in their uppermost bits.
/// - Semi-sorted words make tables smaller.
/// - Expiring filters have the slots of fixed ones, with a tag in each slot.
/// - Counting filters have them with a counter in each slot.
/// - Expiring filters with counters have a counter above each tag. A pair has a slot for each of the
///   epochs in which one item can be live, so few of them fit, and tags have three bits.
macro_rules! layouts {
    ($then:ident, $dollar:tt) => {
        $then! {
            ($dollar)
            fixed {
                F10x6(10 bits x 6, lane 10)
                F12x5(12 bits x 5, lane 12)
                F15x4(15 bits x 4, lane 16)
                F20x3(20 bits x 3, lane 20)
                F30x2(30 bits x 2, lane 32)
            }
            semi_sorted {
                S7x7(7 raw bits x 7, 5 prefixes, 330 sets)
                S8x6(8 raw bits x 6, 8 prefixes, 1716 sets)
                S9x5(9 raw bits x 5, 17 prefixes, 20_349 sets)
                S12x4(12 raw bits x 4, 15 prefixes, 3060 sets)
                S17x3(17 raw bits x 3, 14 prefixes, 560 sets)
            }
            expiring {
                E9x5(9 bits and 3 of a tag x 5, lane 12)
                E11x4(11 bits and 4 of a tag x 4, lane 16)
                E16x3(16 bits and 4 of a tag x 3, lane 20)
                E26x2(26 bits and 4 of a tag x 2, lane 32)
            }
            counting {
                C8x5(8 bits and 4 of a counter x 5, lane 12)
                C11x4(11 bits and 4 of a counter x 4, lane 16)
                C16x3(16 bits and 4 of a counter x 3, lane 20)
                C26x2(26 bits and 4 of a counter x 2, lane 32)
                C12x3(12 bits and 8 of a counter x 3, lane 20)
                C22x2(22 bits and 8 of a counter x 2, lane 32)
            }
            expiring_counting {
                EC8x4(8 bits, 3 of a tag and 4 of a counter x 4, lane 16)
                EC13x3(13 bits, 3 of a tag and 4 of a counter x 3, lane 20)
                EC23x2(23 bits, 3 of a tag and 4 of a counter x 2, lane 32)
                EC9x3(9 bits, 3 of a tag and 8 of a counter x 3, lane 20)
                EC19x2(19 bits, 3 of a tag and 8 of a counter x 2, lane 32)
            }
        }
    };
}

pub(crate) use layouts;

macro_rules! define {
    (
        ($dollar:tt)
        fixed { $($fixed:ident($bits:literal bits x $slots:literal, lane $lane:literal))* }
        semi_sorted { $($semi:ident($($division:tt)*))* }
        expiring {
            $($expiring:ident(
                $short:literal bits and $tag:literal of a tag x $tagged:literal, lane $wide:literal
            ))*
        }
        counting {
            $($counting:ident(
                $rest:literal bits and $counter:literal of a counter x $counted:literal, lane $lanes:literal
            ))*
        }
        expiring_counting {
            $($both:ident(
                $left:literal bits, $age:literal of a tag and $number:literal of a counter x $slot:literal,
                lane $apart:literal
            ))*
        }
    ) => {
        $(
            #[doc = concat!($bits, " bits × ", $slots, " slots.")]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $fixed;

            impl PackedLayout for $fixed {
                const LEVELS: &'static [Lanes] = &[Lanes::new($bits, $slots, $lane)];
                const PHASE_BITS: u32 = 0;
                type Time = Timeless;
                type Counted = ();
                type Kind = Fixed;
            }
        )*
        $(
            #[doc = concat!("Semi-sorted: ", stringify!($($division)*), ".")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $semi;

            semi_sorted!($semi: $($division)*);
        )*
        $(
            #[doc = concat!($short, " bits and a tag of ", $tag, " × ", $tagged, " slots.")]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $expiring;

            impl PackedLayout for $expiring {
                const LEVELS: &'static [Lanes] = &[Lanes::new($short + $tag, $tagged, $wide)];
                const PHASE_BITS: u32 = 0;
                const TAG_BITS: u32 = $tag;
                type Time = Epochs;
                type Counted = ();
                type Kind = Fixed;
            }
        )*
        $(
            #[doc = concat!($rest, " bits and a counter of ", $counter, " × ", $counted, " slots.")]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $counting;

            impl PackedLayout for $counting {
                const LEVELS: &'static [Lanes] = &[Lanes::new($rest + $counter, $counted, $lanes)];
                const PHASE_BITS: u32 = 0;
                const COUNTER_BITS: u32 = $counter;
                type Time = Timeless;
                type Counted = SlotOrRepeat;
                type Kind = Fixed;
            }
        )*
        $(
            #[doc = concat!(
                $left, " bits, a tag of ", $age, " and a counter of ", $number, " × ", $slot, " slots."
            )]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $both;

            impl PackedLayout for $both {
                const LEVELS: &'static [Lanes] = &[Lanes::new($left + $age + $number, $slot, $apart)];
                const PHASE_BITS: u32 = 0;
                const TAG_BITS: u32 = $age;
                const COUNTER_BITS: u32 = $number;
                type Time = Epochs;
                type Counted = SlotOrRepeat;
                type Kind = Fixed;
            }
        )*
    };
}

layouts!(define, $);

/// The layout of growable filters, whose slots are packed again at each level. At level k a slot
/// holds 40 − k bits of a fingerprint. A word has the largest number of slots that fits 54 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growing;

impl Growing {
    /// The number of bits of the longest fingerprint.
    pub(crate) const LONGEST: u32 = 40;
    /// The minimum number of bits of a slot.
    pub(crate) const SHORTEST: u32 = TOKEN_BITS;
    const PAYLOAD_BITS: u32 = 54;
}

impl PackedLayout for Growing {
    const LEVELS: &'static [Lanes] = &series(Self::LONGEST, Self::SHORTEST, Self::PAYLOAD_BITS);
    const PHASE_BITS: u32 = 6;
    type Time = Timeless;
    type Counted = ();
    type Kind = CanGrow;
}

/// The layout of growable filters whose copies expire: that of other growable ones, where the
/// uppermost bits of each slot are a tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowingExpiring;

impl GrowingExpiring {
    const TAG: u32 = 4;
}

impl PackedLayout for GrowingExpiring {
    const LEVELS: &'static [Lanes] = &series(
        Growing::LONGEST + Self::TAG,
        Growing::SHORTEST + Self::TAG,
        Growing::PAYLOAD_BITS,
    );
    const PHASE_BITS: u32 = 6;
    const TAG_BITS: u32 = Self::TAG;
    type Time = Epochs;
    type Counted = ();
    type Kind = CanGrow;
}

/// The layout of growable filters whose slots have counters of `COUNTER` bits: that of other growable
/// ones, where the uppermost bits of each slot are the counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowingCounting<const COUNTER: u32>;

impl<const COUNTER: u32> PackedLayout for GrowingCounting<COUNTER> {
    const LEVELS: &'static [Lanes] = &series(
        Growing::LONGEST + COUNTER,
        Growing::SHORTEST + COUNTER,
        Growing::PAYLOAD_BITS,
    );
    const PHASE_BITS: u32 = 6;
    const COUNTER_BITS: u32 = COUNTER;
    type Time = Timeless;
    type Counted = SlotOrRepeat;
    type Kind = CanGrow;
}

/// The layout of growable filters whose copies expire, and whose slots have counters of `COUNTER` bits
/// above the tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowingExpiringCounting<const COUNTER: u32>;

impl<const COUNTER: u32> GrowingExpiringCounting<COUNTER> {
    const TAG: u32 = 3;
}

impl<const COUNTER: u32> PackedLayout for GrowingExpiringCounting<COUNTER> {
    const LEVELS: &'static [Lanes] = &series(
        Growing::LONGEST + Self::TAG + COUNTER,
        Growing::SHORTEST + Self::TAG + COUNTER,
        Growing::PAYLOAD_BITS,
    );
    const PHASE_BITS: u32 = 6;
    const TAG_BITS: u32 = Self::TAG;
    const COUNTER_BITS: u32 = COUNTER;
    type Time = Epochs;
    type Counted = SlotOrRepeat;
    type Kind = CanGrow;
}

#[cfg(test)]
mod tests;

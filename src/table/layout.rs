//! Layouts: which words a filter has, and how the 64 bits of packed ones are divided.
//!
//! A layout is a type without values; filter and word take it as a parameter, so that in a fixed
//! filter every mask below is a constant in the compiled code.

use super::{
    entry::{Entry, Fingerprint},
    time::{Epochs, Time, Timeless},
    word::{Bucket, packed::Packed},
};

/// The words of a filter, and its time. All that the protocol asks of a layout.
pub(crate) trait Layout: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// What one atomic word stands for.
    type Word: Bucket;
    /// The time of the filter.
    type Time: Time<Self>;
    /// True if filters of this layout can grow.
    const GROWS: bool;
    /// True if copies have tags, and expire.
    const EXPIRES: bool;
    /// Slots of a word at level 0.
    const SLOTS: usize;
    /// The largest fingerprint, of those from 1 on.
    const LARGEST: u64;
    /// The highest level that a word can have.
    const MAX_LEVEL: u32;

    /// Slots of a word at a level.
    fn slots_at(level: u32) -> usize;

    /// The fingerprint of a copy with this entry: what its slot holds.
    fn fingerprint(entry: Entry) -> Fingerprint;
}

/// The division of a packed word into slots and control bits.
///
/// The slots lie as the [`Lanes`] of the word's level say. The bits that belong to no slot at any
/// level are control bits, taken from the lowest up: three for the mark, one for the
/// reservation, `PHASE_BITS` for the phase. So they lie in one place at all levels.
pub(crate) trait PackedLayout: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The lanes of a word, by its level. A fixed layout has one level.
    const LEVELS: &'static [Lanes];
    /// Bits that hold a growable filter's phase; 0 in a fixed layout.
    const PHASE_BITS: u32;
    /// Bits of a slot that hold the tag of an expiring filter's copy: its uppermost ones. 0 in other
    /// layouts, and not together with a phase.
    const TAG_BITS: u32 = 0;
    /// The time of a filter with this layout.
    type Time: Time<Self>;
}

impl<L: PackedLayout> Layout for L {
    type Word = Packed<Self>;
    type Time = <Self as PackedLayout>::Time;
    const GROWS: bool = Self::PHASE_BITS != 0;
    const EXPIRES: bool = Self::TAG_BITS != 0;
    const SLOTS: usize = Self::LEVELS[0].slots;
    const LARGEST: u64 = Self::FINGERPRINT;
    const MAX_LEVEL: u32 = Self::LEVELS[0].bits - Self::LEVELS[Self::LEVELS.len() - 1].bits;

    #[inline(always)]
    fn slots_at(level: u32) -> usize {
        Self::LEVELS[level as usize].slots
    }

    #[inline(always)]
    fn fingerprint(entry: Entry) -> Fingerprint {
        Fingerprint::new(if Self::TAG_BITS == 0 {
            entry.bits()
        } else {
            entry.bits() & Self::FINGERPRINT
        })
    }
}

/// The most slots that a word has.
pub(crate) const MAX_SLOTS: usize = 7;

/// The most slots that a packed word has.
const MAX_PACKED_SLOTS: usize = 6;

/// How the slots of a word lie, with the masks that follow from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// Bits of a slot (w): the number of bits that it stores of a fingerprint.
    pub(crate) bits: u32,
    /// Slots in a word (S).
    pub(crate) slots: usize,
    /// Distance from one slot's lowest bit to the next one's.
    pub(crate) distance: u32,
    /// The largest number that a slot holds; also the mask of slot 0.
    pub(crate) largest: u64,
    /// Bit 0 of every slot: multiplying by it copies a number to all slots.
    pub(crate) ones: u64,
    /// All bits of all slots.
    pub(crate) payload: u64,
    /// The top bit of every slot.
    pub(crate) tops: u64,
    /// All bits of all slots but their top bits.
    pub(crate) lows: u64,
}

impl Lanes {
    /// `slots` slots of `bits` bits, each `distance` bits above the one before.
    pub(crate) const fn new(bits: u32, slots: usize, distance: u32) -> Self {
        let largest = (1 << bits) - 1;
        let (mut ones, mut slot) = (0, 0);
        while slot < slots {
            ones |= 1 << (distance * slot as u32);
            slot += 1;
        }
        let (payload, tops) = (largest * ones, ones << (bits - 1));
        Self {
            bits,
            slots,
            distance,
            largest,
            ones,
            payload,
            tops,
            lows: payload & !tops,
        }
    }

    /// Refuses, at compile time, lanes that overlap or do not fit.
    const fn check(&self) {
        assert!(
            self.slots >= 2 && self.slots <= MAX_PACKED_SLOTS,
            "the mark and the reservation need a slot each"
        );
        assert!(self.bits <= self.distance && self.bits <= 32);
        assert!(self.distance as usize * self.slots <= 64);
    }
}

/// Every constant that follows from a [`PackedLayout`].
pub(crate) trait Masks: PackedLayout {
    /// Bits of a whole fingerprint: the bits that a word stores at level 0.
    const FINGERPRINT_BITS: u32 = Self::LEVELS[0].bits - Self::TAG_BITS;
    /// The bits of a whole slot that are its fingerprint: all but the tag.
    const FINGERPRINT: u64 = (1 << Self::FINGERPRINT_BITS) - 1;
    /// The largest tag.
    const LAST_TAG: u64 = (1 << Self::TAG_BITS) - 1;
    /// All bits that belong to a slot at some level.
    const PAYLOAD: u64 = {
        let (mut payload, mut level) = (0, 0);
        while level < Self::LEVELS.len() {
            payload |= Self::LEVELS[level].payload;
            level += 1;
        }
        payload
    };
    /// The three bits of the mark's code.
    const MARK: u64 = deposit(0b111, !Self::PAYLOAD);
    /// The bit that says: the last slot holds a reservation's token.
    const RESERVED: u64 = deposit(0b1000, !Self::PAYLOAD);
    /// Mark and reservation: 0 in a word without an operation in progress.
    const CONTROL: u64 = Self::MARK | Self::RESERVED;
    /// The phase of a growable filter's word: the bits from this one up.
    const PHASE_SHIFT: u32 = u64::BITS - Self::PHASE_BITS;
    /// The phase of a growable filter's word.
    const PHASE: u64 = match Self::PHASE_BITS {
        0 => 0,
        _ => u64::MAX << Self::PHASE_SHIFT,
    };

    /// Refuses, at compile time, a layout whose parts overlap or do not fit.
    const CHECKED: () = {
        let mut level = 0;
        while level < Self::LEVELS.len() {
            Self::LEVELS[level].check();
            level += 1;
        }
        assert!((!Self::PAYLOAD).count_ones() >= 4 + Self::PHASE_BITS);
        assert!((Self::PAYLOAD | Self::CONTROL) & Self::PHASE == 0);
        // So no level can be out of range.
        assert!(!Self::GROWS && Self::LEVELS.len() == 1 || Self::LEVELS.len() == LEVELS);
        assert!(!Self::GROWS || LEVELS == 1 << (Self::PHASE_BITS - 1));
        // A tag is compared in its place, with a bit above it to carry into.
        assert!(Self::TAG_BITS == 0 || !Self::GROWS && Self::FINGERPRINT_BITS > 1);
        assert!(Self::TAG_BITS == 0 || Self::PAYLOAD >> 63 == 0);
    };
}

impl<L: PackedLayout> Masks for L {}

/// Spreads the low bits of `bits` over the set bits of `mask`, lowest first.
pub(crate) const fn deposit(bits: u64, mask: u64) -> u64 {
    let (mut result, mut mask, mut index) = (0, mask, 0);
    while mask != 0 {
        let lowest = mask & mask.wrapping_neg();
        if index < 64 && bits >> index & 1 == 1 {
            result |= lowest;
        }
        mask ^= lowest;
        index += 1;
    }
    result
}

/// Makes `$layout` one of [`semi_sorted_words`](super::word::semi::semi_sorted_words).
macro_rules! semi_sorted {
    ($layout:ty: $raw:literal raw bits x $slots:literal, $prefixes:literal prefixes, $sets:literal sets) => {
        $crate::table::word::semi::semi_sorted_words!(
            $layout: $raw raw bits x $slots, $prefixes prefixes, $sets sets
        );

        impl $crate::table::layout::Layout for $layout {
            type Word = $crate::table::word::semi::Contents<Self>;
            type Time = $crate::table::time::Timeless;
            const GROWS: bool = false;
            const EXPIRES: bool = false;
            const SLOTS: usize = $slots;
            const LARGEST: u64 = ($prefixes << $raw) - 1;
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

/// Every layout but [`Growing`]: the only list of them. It is handed to the macro `$then`, with a
/// dollar sign for macros that define others.
///
/// - Fixed filters have 60 payload bits and 4 control bits. Where 64 / S is a whole number of bytes,
///   the slots are aligned to it and carry the control bits on top.
/// - Semi-sorted words make tables smaller.
/// - Expiring filters have the slots of fixed ones, and each slot holds a tag as well.
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
    ) => {
        $(
            #[doc = concat!($bits, " bits × ", $slots, " slots.")]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $fixed;

            impl PackedLayout for $fixed {
                const LEVELS: &'static [Lanes] = &[Lanes::new($bits, $slots, $lane)];
                const PHASE_BITS: u32 = 0;
                type Time = Timeless;
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
            }
        )*
    };
}

layouts!(define, $);

/// Growable filters: words whose slots are packed again at each level. At level k a slot holds 27 −
/// k bits of a fingerprint, and there are as many slots as fit into 54 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growing;

impl Growing {
    /// Bits of the longest fingerprint.
    pub(crate) const LONGEST: u32 = 27;
    /// Bits that a slot holds at least: a token needs that number.
    pub(crate) const SHORTEST: u32 = 9;
    const PAYLOAD_BITS: u32 = 54;
}

impl PackedLayout for Growing {
    const LEVELS: &'static [Lanes] = &series(Self::LONGEST, Self::SHORTEST, Self::PAYLOAD_BITS);
    const PHASE_BITS: u32 = 6;
    type Time = Timeless;
}

/// Levels that a phase of 6 bits can tell apart.
const LEVELS: usize = 32;

/// The lanes of each level: `longest` bits at level 0, one less at each further one, and
/// `shortest` at those beyond, which no word reaches.
pub(crate) const fn series(longest: u32, shortest: u32, payload: u32) -> [Lanes; LEVELS] {
    let mut lanes = [Lanes::new(longest, 2, longest); LEVELS];
    let (mut level, mut bits) = (0, longest);
    while level < LEVELS {
        let fitting = (payload / bits) as usize;
        let slots = if fitting < MAX_PACKED_SLOTS {
            fitting
        } else {
            MAX_PACKED_SLOTS
        };
        lanes[level] = Lanes::new(bits, slots, bits);
        if bits > shortest {
            bits -= 1;
        }
        level += 1;
    }
    lanes
}

#[cfg(test)]
mod tests;

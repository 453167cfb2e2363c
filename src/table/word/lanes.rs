//! How a packed word is divided: its slots, and the control bits beside them.

use super::Based;
use crate::{
    memory::Kind,
    table::{
        counted::Counted,
        entry::{Entry, Fingerprint},
    },
};

/// The maximum number of slots of a word.
pub(crate) const MAX_SLOTS: usize = 7;

/// The number of bits of a reservation's token. Every slot has room for them, with a prefix in
/// semi-sorted words.
pub(crate) const TOKEN_BITS: u32 = 9;

/// The maximum number of slots of a packed word.
const MAX_PACKED_SLOTS: usize = 6;

/// The division of a packed word into slots and control bits.
///
/// The [`Lanes`] of the word's level describe the slots. Bits that belong to no slot at any level are
/// control bits. From the lowest up, three are for the mark, one is for the reservation, and
/// `PHASE_BITS` are for the phase. Control bits therefore have the same positions at all levels.
pub(crate) trait PackedLayout: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The lanes of a word at each level. A fixed layout has one level.
    const LEVELS: &'static [Lanes];
    /// The number of bits of a growable filter's phase; 0 in a fixed layout.
    const PHASE_BITS: u32;
    /// The number of bits above the fingerprint in a slot that hold a tag: the epoch of an expiring
    /// filter's copy. 0 in other layouts. The number is the same at all levels.
    const TAG_BITS: u32 = 0;
    /// The number of uppermost bits of a slot, above a tag, that hold a counter. 0 in layouts without.
    /// The number is the same at all levels.
    const COUNTER_BITS: u32 = 0;
    /// A value that a filter has only if slots have counters.
    type Counted: Counted;
    /// Whether filters can grow. All models say so: their fixed filters do not use that state.
    type Kind: Kind + Based;
    /// The time of a filter with this layout: a [`Time`](crate::table::time::Time). Words do not use
    /// it.
    type Time;
}

/// The positions of the slots of a word, and masks derived from them.
///
/// A cache line, so that a lookup finds the lanes of a level by a shift instead of a multiplication.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes {
    /// Bits of a slot (w), which is the number of fingerprint bits that it stores.
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

    /// The sum of the numbers in all slots, which must fit one slot.
    ///
    /// The multiplication adds them up in the last slot, and nothing is carried into it.
    #[inline(always)]
    pub(crate) const fn sum_of_slots(&self, numbers: u64) -> u64 {
        let last = self.distance * (self.slots as u32 - 1);
        numbers.wrapping_mul(self.ones) >> last & self.largest
    }

    /// Rejects, at compile time, lanes that overlap or do not fit.
    const fn check(&self) {
        assert!(self.slots >= 1 && self.slots <= MAX_PACKED_SLOTS);
        assert!(self.bits <= self.distance);
        assert!(self.distance as usize * self.slots <= 64);
    }
}

/// The constants that are derived from a [`PackedLayout`].
pub(crate) trait Masks: PackedLayout {
    /// True if slots have counters.
    const COUNTS: bool = Self::COUNTER_BITS != 0;
    /// The number of bits of the whole entry of a single copy: all bits of a slot but its counter.
    const SINGLE_BITS: u32 = Self::LEVELS[0].bits - Self::COUNTER_BITS;
    /// The bits of the whole entry of a single copy.
    const SINGLE: u64 = (1 << Self::SINGLE_BITS) - 1;
    /// The number of bits of a whole fingerprint, which a word stores at level 0.
    const FINGERPRINT_BITS: u32 = Self::SINGLE_BITS - Self::TAG_BITS;
    /// The bits of a whole slot that are its fingerprint.
    const FINGERPRINT: u64 = (1 << Self::FINGERPRINT_BITS) - 1;
    /// True if words have a phase, and thus levels.
    const HAS_PHASE: bool = Self::PHASE_BITS != 0;
    /// The highest level that a word can have.
    const LAST_LEVEL: u32 = Self::LEVELS[0].bits - Self::LEVELS[Self::LEVELS.len() - 1].bits;
    /// The largest tag.
    const LAST_TAG: u64 = (1 << Self::TAG_BITS) - 1;
    /// The largest number of repeats that a counter holds.
    const MOST_REPEATS: u64 = (1 << Self::COUNTER_BITS) - 1;
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
    /// The bit that is set if the last slot holds a reservation's token.
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

    /// Rejects, at compile time, a layout whose parts overlap or do not fit.
    const CHECKED: () = {
        // Nothing but a fingerprint is in a slot.
        let alone = Self::FINGERPRINT_BITS == Self::LEVELS[0].bits;
        let mut level = 0;
        while level < Self::LEVELS.len() {
            Self::LEVELS[level].check();
            // A sum of copies fits one slot: those of a word, and of both if copies expire.
            let words = if Self::TAG_BITS == 0 { 1 } else { 2 };
            let copies = words * (Self::LEVELS[level].slots << Self::COUNTER_BITS);
            assert!(alone || copies as u64 <= Self::LEVELS[level].largest);
            level += 1;
        }
        assert!((!Self::PAYLOAD).count_ones() >= 4 + Self::PHASE_BITS);
        assert!((Self::PAYLOAD | Self::CONTROL) & Self::PHASE == 0);
        // Hence no level can be out of range.
        assert!(!Self::HAS_PHASE && Self::LEVELS.len() == 1 || Self::LEVELS.len() == LEVELS);
        assert!(!Self::HAS_PHASE || LEVELS == 1 << (Self::PHASE_BITS - 1));
        // Tags and counters are compared in place, with a bit above them for the carry.
        assert!(alone || Self::FINGERPRINT_BITS > Self::LAST_LEVEL + 1);
        assert!(alone || Self::PAYLOAD >> 63 == 0);
    };
}

impl<L: PackedLayout> Masks for L {}

/// The fingerprint of a copy with this entry.
#[inline(always)]
pub(crate) const fn fingerprint_of<L: PackedLayout>(entry: Entry) -> Fingerprint {
    Fingerprint::new(if L::FINGERPRINT_BITS == L::LEVELS[0].bits {
        entry.bits()
    } else {
        entry.bits() & L::FINGERPRINT
    })
}

/// The entry of a single copy of those with this entry.
#[inline(always)]
pub(crate) const fn single_of<L: PackedLayout>(entry: Entry) -> Entry {
    Entry::new(if L::COUNTS {
        entry.bits() & L::SINGLE
    } else {
        entry.bits()
    })
}

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

/// The number of levels that a phase of 6 bits can distinguish.
pub(crate) const LEVELS: usize = 32;

/// The lanes of each level: `longest` bits at level 0, one bit less at each further level, and
/// `shortest` bits at the levels beyond, which no word reaches.
pub(crate) const fn series(longest: u32, shortest: u32, payload: u32) -> [Lanes; LEVELS] {
    let mut lanes = [Lanes::new(longest, 1, longest); LEVELS];
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

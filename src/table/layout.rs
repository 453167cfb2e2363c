//! How a bucket's 64 bits are divided: slots, fingerprints, control bits.
//!
//! A layout is a type without values; [`Word`](crate::table::word::Word) takes it as a
//! parameter, so that every mask below is a constant in the compiled code.

/// The division of one 64-bit word into slots and control bits.
///
/// Slot `i` begins at bit `LANE_BITS * i` and holds `FINGERPRINT_BITS` bits;
/// all remaining bits of the word are control bits, taken from the lowest up:
/// three for the mark, one for the reservation, `PHASE_BITS` for the phase.
pub(crate) trait Layout: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// Bits in a fingerprint (f).
    const FINGERPRINT_BITS: u32;
    /// Slots in a bucket (S).
    const SLOTS: usize;
    /// Distance from one slot's lowest bit to the next one's.
    const LANE_BITS: u32;
    /// Bits that hold a growable filter's phase.
    const PHASE_BITS: u32;
}

/// The most slots that a layout has.
pub(crate) const MAX_SLOTS: usize = 6;

/// Every constant that follows from a [`Layout`].
pub(crate) trait Masks: Layout {
    /// The largest fingerprint; also the mask of slot 0.
    const FINGERPRINT: u64 = (1 << Self::FINGERPRINT_BITS) - 1;
    /// Bit 0 of every slot: multiplying by it copies a fingerprint to all slots.
    const ONES: u64 = {
        let (mut ones, mut slot) = (0, 0);
        while slot < Self::SLOTS {
            ones |= 1 << (Self::LANE_BITS * slot as u32);
            slot += 1;
        }
        ones
    };
    /// All bits of all slots.
    const PAYLOAD: u64 = Self::FINGERPRINT * Self::ONES;
    /// The top bit of every slot.
    const TOPS: u64 = Self::ONES << (Self::FINGERPRINT_BITS - 1);
    /// All bits of all slots but their top bits.
    const LOWS: u64 = Self::PAYLOAD & !Self::TOPS;
    /// The three bits of the mark's code.
    const MARK: u64 = deposit(0b111, !Self::PAYLOAD);
    /// The bit that says: the last slot holds a reservation's token.
    const RESERVED: u64 = deposit(0b1000, !Self::PAYLOAD);
    /// Mark and reservation: 0 in a word that nobody is working on.
    const CONTROL: u64 = Self::MARK | Self::RESERVED;
    /// The phase of a growable filter's word.
    const PHASE: u64 = deposit(((1 << Self::PHASE_BITS) - 1) << 4, !Self::PAYLOAD);

    /// Refuses, at compile time, a layout whose parts overlap or do not fit.
    const CHECKED: () = {
        assert!(
            Self::SLOTS >= 2 && Self::SLOTS <= MAX_SLOTS,
            "the mark and the reservation need a slot each"
        );
        assert!(Self::FINGERPRINT_BITS <= Self::LANE_BITS && Self::FINGERPRINT_BITS <= 32);
        assert!(Self::LANE_BITS as usize * Self::SLOTS <= 64);
        assert!((!Self::PAYLOAD).count_ones() >= 4 + Self::PHASE_BITS);
    };
}

impl<L: Layout> Masks for L {}

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

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident: $bits:literal x $slots:literal, lane $lane:literal, phase $phase:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;

        impl Layout for $name {
            const FINGERPRINT_BITS: u32 = $bits;
            const SLOTS: usize = $slots;
            const LANE_BITS: u32 = $lane;
            const PHASE_BITS: u32 = $phase;
        }
    )*};
}

// Fixed filters: 60 payload bits, 4 control bits. Where 64 / S is a whole
// number of bytes the slots are aligned to it and carry the control bits on top.
layouts! {
    /// 10 bits × 6 slots.
    F10x6: 10 x 6, lane 10, phase 0;
    /// 12 bits × 5 slots.
    F12x5: 12 x 5, lane 12, phase 0;
    /// 15 bits × 4 slots, in aligned 16-bit lanes.
    F15x4: 15 x 4, lane 16, phase 0;
    /// 20 bits × 3 slots.
    F20x3: 20 x 3, lane 20, phase 0;
    /// 30 bits × 2 slots, in aligned 32-bit lanes.
    F30x2: 30 x 2, lane 32, phase 0;
}

// Growable filters: a bit or more of each slot goes to the word's phase.
layouts! {
    /// 9 bits × 6 slots, 6 bits of phase.
    G9x6: 9 x 6, lane 9, phase 6;
    /// 11 bits × 5 slots, 5 bits of phase.
    G11x5: 11 x 5, lane 11, phase 5;
    /// 14 bits × 4 slots, in aligned 16-bit lanes, 4 bits of phase.
    G14x4: 14 x 4, lane 16, phase 4;
    /// 18 bits × 3 slots, 6 bits of phase.
    G18x3: 18 x 3, lane 18, phase 6;
    /// 27 bits × 2 slots, in aligned 32-bit lanes, 6 bits of phase.
    G27x2: 27 x 2, lane 32, phase 6;
    /// 28 bits × 2 slots, in aligned 32-bit lanes, 4 bits of phase.
    G28x2: 28 x 2, lane 32, phase 4;
}

#[cfg(test)]
mod tests;

//! Every layout's masks are where its documentation says.

use super::*;
use crate::table::word::lanes::deposit;
use proptest::prelude::*;

/// Where the parts of `L` lie, told bit by bit: no mask is used to say so.
fn masks_are_as_documented<L: PackedLayout>() {
    let bits = |mask: u64| (0..64).filter(move |bit| mask >> bit & 1 == 1);
    let in_slot = |bit: u32, lanes: &Lanes| {
        bit / lanes.distance < lanes.slots as u32 && bit % lanes.distance < lanes.bits
    };
    for lanes in L::LEVELS {
        let slots: Vec<u32> = (0..64).filter(|&bit| in_slot(bit, lanes)).collect();
        assert_eq!(slots.len(), lanes.slots * lanes.bits as usize);
        assert!(bits(lanes.payload).eq(slots));
        assert!(bits(lanes.largest).eq(0..lanes.bits));
        let lane =
            |offset: u32| (0..lanes.slots as u32).map(move |slot| slot * lanes.distance + offset);
        assert!(bits(lanes.ones).eq(lane(0)));
        assert!(bits(lanes.tops).eq(lane(lanes.bits - 1)));
        let lows = (lanes.lows | lanes.tops, lanes.lows & lanes.tops);
        assert_eq!(lows, (lanes.payload, 0));
    }
    let control: Vec<u32> = (0..64)
        .filter(|&bit| !L::LEVELS.iter().any(|lanes| in_slot(bit, lanes)))
        .collect();
    assert!(bits(L::MARK).eq(control[..3].iter().copied()));
    assert!(bits(L::RESERVED).eq(control[3..4].iter().copied()));
    assert!(bits(L::PHASE).eq(control[4..4 + L::PHASE_BITS as usize].iter().copied()));
    assert_eq!(L::CONTROL, L::MARK | L::RESERVED);
}

#[test]
fn masks_of_every_layout_are_as_documented() {
    masks_are_as_documented::<F10x6>();
    masks_are_as_documented::<F12x5>();
    masks_are_as_documented::<F15x4>();
    masks_are_as_documented::<F20x3>();
    masks_are_as_documented::<F30x2>();
    masks_are_as_documented::<Growing>();
}

/// The table in `docs/design/growth.md`.
#[test]
fn words_of_growable_filters_are_packed_anew_at_each_level() {
    let slots = |bits: u32| Growing::LEVELS[(40 - bits) as usize].slots;
    let all: Vec<(u32, usize)> = (9..=40).rev().map(|bits| (bits, slots(bits))).collect();
    let expected = |bits: u32| match bits {
        9 => 6,
        10 => 5,
        11..=13 => 4,
        14..=18 => 3,
        19..=27 => 2,
        _ => 1,
    };
    assert!(
        all.iter().all(|&(bits, slots)| slots == expected(bits)),
        "{all:?}"
    );
    for (level, lanes) in Growing::LEVELS.iter().enumerate() {
        assert_eq!(lanes.bits, 40 - level as u32);
    }
}

/// The positions themselves, as the diagram in `packed.rs` draws them: words
/// that were written by an earlier release must mean the same in a later one.
#[test]
fn control_bits_stay_where_they_are() {
    assert_eq!((F10x6::MARK, F10x6::RESERVED), (0b111 << 60, 1 << 63));
    assert_eq!((F12x5::MARK, F12x5::RESERVED), (0b111 << 60, 1 << 63));
    assert_eq!(
        (F15x4::MARK, F15x4::RESERVED),
        (1 << 15 | 1 << 31 | 1 << 47, 1 << 63)
    );
    assert_eq!((F20x3::MARK, F20x3::RESERVED), (0b111 << 60, 1 << 63));
    assert_eq!(
        (F30x2::MARK, F30x2::RESERVED),
        (0b11 << 30 | 1 << 62, 1 << 63)
    );
    assert_eq!((Growing::MARK, Growing::RESERVED), (0b111 << 54, 1 << 57));
    assert_eq!(Growing::PHASE, 0b11_1111 << 58);
}

fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}

/// The bits of `bits` under `mask`, lowest first.
fn extract(bits: u64, mask: u64) -> u64 {
    let under = (0..64).filter(|bit| mask >> bit & 1 == 1);
    (0..)
        .zip(under)
        .fold(0, |all, (index, bit)| all | (bits >> bit & 1) << index)
}

proptest! {
    #[test]
    fn deposit_keeps_every_bit_in_order(bits: u64, mask: u64) {
        let deposited = deposit(bits, mask);
        prop_assert_eq!(deposited & !mask, 0);
        prop_assert_eq!(extract(deposited, mask), bits & low_bits(mask.count_ones()));
        prop_assert_eq!(deposit(extract(bits, mask), mask), bits & mask);
    }
}

#[test]
fn deposit_at_the_ends() {
    assert_eq!(deposit(u64::MAX, 0), 0);
    assert_eq!(deposit(0x1234, u64::MAX), 0x1234);
}

//! Every layout's masks are where its documentation says.

use super::*;
use proptest::prelude::*;

/// Where the parts of `L` lie, told bit by bit: no mask is used to say so.
fn masks_are_as_documented<L: Layout>() {
    let in_slot =
        |bit: u32| bit / L::LANE_BITS < L::SLOTS as u32 && bit % L::LANE_BITS < L::FINGERPRINT_BITS;
    let bits = |mask: u64| (0..64).filter(move |bit| mask >> bit & 1 == 1);
    let slots: Vec<u32> = (0..64).filter(|&bit| in_slot(bit)).collect();
    let control: Vec<u32> = (0..64).filter(|&bit| !in_slot(bit)).collect();

    assert_eq!(slots.len(), L::SLOTS * L::FINGERPRINT_BITS as usize);
    assert!(bits(L::PAYLOAD).eq(slots));
    assert!(bits(L::MARK).eq(control[..3].iter().copied()));
    assert!(bits(L::RESERVED).eq(control[3..4].iter().copied()));
    assert!(bits(L::PHASE).eq(control[4..4 + L::PHASE_BITS as usize].iter().copied()));
    assert_eq!(L::CONTROL, L::MARK | L::RESERVED);
    assert!(bits(L::FINGERPRINT).eq(0..L::FINGERPRINT_BITS));
    let lanes = |offset: u32| (0..L::SLOTS as u32).map(move |slot| slot * L::LANE_BITS + offset);
    assert!(bits(L::ONES).eq(lanes(0)));
    assert!(bits(L::TOPS).eq(lanes(L::FINGERPRINT_BITS - 1)));
    assert_eq!((L::LOWS | L::TOPS, L::LOWS & L::TOPS), (L::PAYLOAD, 0));
}

#[test]
fn masks_of_every_layout_are_as_documented() {
    masks_are_as_documented::<F10x6>();
    masks_are_as_documented::<F12x5>();
    masks_are_as_documented::<F15x4>();
    masks_are_as_documented::<F20x3>();
    masks_are_as_documented::<F30x2>();
    masks_are_as_documented::<G9x6>();
    masks_are_as_documented::<G11x5>();
    masks_are_as_documented::<G14x4>();
    masks_are_as_documented::<G18x3>();
    masks_are_as_documented::<G27x2>();
    masks_are_as_documented::<G28x2>();
}

/// The positions themselves, as the diagram in `word.rs` draws them: words
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

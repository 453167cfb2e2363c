//! Hashes are stable, and values that are equal hash alike.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn widths_of_an_unsigned_integer_do_not_matter(seed: u64, value: u8) {
        let state = SeededState::new(seed);
        let hash = state.hash_one(value);
        prop_assert_eq!(state.hash_one(u16::from(value)), hash);
        prop_assert_eq!(state.hash_one(u32::from(value)), hash);
        prop_assert_eq!(state.hash_one(u64::from(value)), hash);
        prop_assert_eq!(state.hash_one(usize::from(value)), hash);
    }

    #[test]
    fn a_pointer_sized_integer_hashes_as_64_bits(seed: u64, value: i32) {
        let state = SeededState::new(seed);
        prop_assert_eq!(state.hash_one(value as isize), state.hash_one(i64::from(value)));
    }

    /// `Borrow` and `Hash` agree: an owned key and its borrowed form are one item.
    #[test]
    fn borrowed_and_owned_keys_hash_alike(seed: u64, text: String) {
        let state = SeededState::new(seed);
        let hash = state.hash_one(text.as_str());
        prop_assert_eq!(state.hash_one(&text), hash);
        prop_assert_eq!(state.hash_one(text.clone().into_boxed_str()), hash);
        prop_assert_eq!(state.hash_one(text.as_bytes().to_vec()), state.hash_one(text.as_bytes()));
    }
}

/// What the documentation says of values of different types.
#[test]
fn some_values_of_different_types_hash_alike() {
    let state = SeededState::new(7);
    let text = state.hash_one("a");
    assert_eq!(state.hash_one(String::from("a")), text);
    assert_ne!(state.hash_one(b"a"), text);
    assert_ne!(state.hash_one('a'), text);
    assert_eq!(state.hash_one(vec![b'a']), state.hash_one(b"a"));

    let five = state.hash_one(5_u32);
    assert_eq!(state.hash_one(5_u64), five);
    assert_eq!(state.hash_one(5_i32), five);
    assert_eq!(state.hash_one((5_u8,)), five);
    assert_ne!(state.hash_one(5_u128), five);

    assert_ne!(state.hash_one(-1_i32), state.hash_one(-1_i64));
    assert_eq!(state.hash_one(-1_i64), state.hash_one(u64::MAX));
}

/// Fixed for ever: hashes are part of what a stored filter means, so a
/// release that changes one of these values cannot read older filters.
#[test]
fn hashes_are_stable() {
    #[derive(Hash)]
    struct Request<'a> {
        user: u32,
        path: &'a str,
        body: Option<Vec<u8>>,
    }

    let hashes = |seed| {
        let state = SeededState::new(seed);
        let long: Vec<u8> = (0..=255).collect();
        [
            state.hash_one(0_u64),
            state.hash_one(1_u64),
            state.hash_one(u64::MAX),
            state.hash_one(-1_i32),
            state.hash_one(-1_isize),
            state.hash_one(u128::MAX - 1),
            state.hash_one('ß'),
            state.hash_one(true),
            state.hash_one(()),
            state.hash_one(""),
            state.hash_one("guira"),
            state.hash_one("a key that is longer than sixteen bytes"),
            state.hash_one(long.as_slice()),
            state.hash_one((1_u32, "quail", 2_u64)),
            state.hash_one(Request {
                user: 7,
                path: "/nest",
                body: Some(vec![1, 2, 3]),
            }),
        ]
    };
    assert_eq!(hashes(0), GOLDEN_0);
    assert_eq!(hashes(42), GOLDEN_42);
}

const GOLDEN_0: [u64; 15] = [
    0x0c4a_e3d5_ea9e_7255,
    0x7521_44d5_b5b5_e1c4,
    0x7a7a_f16b_9fad_4789,
    0x16b3_08da_892f_7824,
    0x7a7a_f16b_9fad_4789,
    0xcfdf_2172_8797_aa2b,
    0x4cbe_708f_6f34_a160,
    0x7521_44d5_b5b5_e1c4,
    0,
    0x8795_3b82_76be_4aff,
    0x8a47_9173_5458_29bf,
    0x4347_3c78_0324_4957,
    0x6389_28fb_c4ab_7802,
    0xd651_4e1f_f0e3_7242,
    0xd425_531a_035d_1625,
];
const GOLDEN_42: [u64; 15] = [
    0xdae5_fb02_ed27_4b14,
    0x5d43_0f40_d270_70af,
    0x67de_8578_6255_c21e,
    0x256d_f2b9_c56f_882d,
    0x67de_8578_6255_c21e,
    0xf70c_629f_7ab2_bd1d,
    0xb091_8974_9a2d_cafa,
    0x5d43_0f40_d270_70af,
    0,
    0x1d3a_c706_fb76_f9e0,
    0xccd3_4ff8_1161_b648,
    0xf5ee_2200_68ae_6c0e,
    0xe2b3_616b_3ad2_2382,
    0x1992_2d23_5017_0af9,
    0x5021_e058_5c70_6490,
];

#[test]
fn random_seeds_differ() {
    let seeds: std::collections::HashSet<u64> =
        (0..100).map(|_| SeededState::default().seed()).collect();
    assert_eq!(seeds.len(), 100);
    let (a, b) = (SeededState::new(1), SeededState::new(2));
    assert_ne!(a.hash_one("ani"), b.hash_one("ani"));
}

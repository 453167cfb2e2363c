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
    0xe887_060a_de50_fc37,
    0x74b8_17e9_ae7d_4b5a,
    0x69d2_f65f_27d8_71c7,
    0x63ad_f1f4_5c80_ebbd,
    0x69d2_f65f_27d8_71c7,
    0x0320_8217_44ad_438c,
    0x048b_1448_d005_1060,
    0x74b8_17e9_ae7d_4b5a,
    0,
    0xcad3_3bb2_f1bf_ca5b,
    0xa3cf_431b_803b_9165,
    0xf6ee_0926_e32f_81de,
    0x7d05_9b11_0d1c_edef,
    0xe1f2_921a_baf0_9052,
    0xb765_1ca4_dd52_c74e,
];
const GOLDEN_42: [u64; 15] = [
    0xafdf_8f8f_0ec2_8adb,
    0x5ea0_7599_55b0_6d9b,
    0x073c_0fcf_e1b3_1dcd,
    0x1084_5765_a2a1_fb26,
    0x073c_0fcf_e1b3_1dcd,
    0x7032_fc57_7860_cb5b,
    0xaadf_2fbf_f509_fe79,
    0x5ea0_7599_55b0_6d9b,
    0,
    0x7270_c4d1_e848_6a09,
    0xc314_d375_1b26_71fc,
    0xfa5a_310c_6cda_289f,
    0xd832_47e8_029a_d079,
    0x9b2b_dc99_0e07_e36c,
    0xfbb2_a8e5_ee29_b8ae,
];

#[test]
fn random_seeds_differ() {
    let seeds: std::collections::HashSet<u64> =
        (0..100).map(|_| SeededState::default().seed()).collect();
    assert_eq!(seeds.len(), 100);
    let (a, b) = (SeededState::new(1), SeededState::new(2));
    assert_ne!(a.hash_one("ani"), b.hash_one("ani"));
}

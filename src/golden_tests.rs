//! What one machine writes, every other one reads, and writes itself: bytes and hashes that x86-64 made.
//!
//! `ci/miri.sh` runs these tests for machines with other word sizes and byte orders.
//! `tests/tests/snapshot/golden.rs` has files of all layouts.

use crate::{Builder, CuckooFilter, ExpiringFilter, Prefer, SeededState};
use std::{hash::BuildHasher, time::Duration};

const ITEMS: u64 = 24;

/// Fills a filter with items of several types.
macro_rules! fill {
    ($filter:expr) => {{
        let filter = $filter;
        for number in 0..ITEMS {
            filter.insert(&number).unwrap();
        }
        filter.insert("ani").unwrap();
        filter.insert("смешливая кукушка").unwrap();
        filter.insert(b"koel").unwrap();
        filter.insert(&-1_i32).unwrap();
        filter.insert(&(7_usize, 'ß', Some(u128::MAX))).unwrap();
        filter
    }};
}

/// A filter that the builder makes, with items.
fn filled(builder: Builder) -> CuckooFilter {
    fill!(builder.seed(0x5eed).build().unwrap())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hexadecimal.as_bytes().chunks(2).map(digits).collect()
}

/// The filter that was made here is the one of the bytes.
fn assert_golden(made: &CuckooFilter, golden: &str, digest: u128) {
    assert_eq!(hexadecimal(&made.to_bytes()), golden);
    assert_eq!(made.digest(), digest, "{:#x}", made.digest());
    assert_read(made.digest(), golden);
}

/// The filter of the bytes has all items and this digest, and writes the same bytes.
fn assert_read(digest: u128, golden: &str) {
    let read = CuckooFilter::from_bytes(&bytes(golden)).unwrap();
    assert_eq!(read.digest(), digest, "{:#x}", read.digest());
    assert_eq!(hexadecimal(&read.to_bytes()), golden);
    let numbers = read.len() as u64 - 5;
    assert!((0..numbers).all(|number| read.remove(&number)));
    assert!(read.remove("ani") && read.remove("смешливая кукушка") && read.remove(b"koel"));
    assert!(read.remove(&-1_i32) && read.remove(&(7_usize, 'ß', Some(u128::MAX))));
    assert!(read.is_empty());
}

#[test]
fn a_fixed_filter_has_these_bytes() {
    let made = filled(CuckooFilter::builder().capacity(40));
    assert_golden(&made, FIXED, 0xd3f8_c913_946d_18d2_e841_6d5e_6da4_6dc2);
}

#[test]
fn a_semi_sorted_filter_has_these_bytes() {
    let space = CuckooFilter::builder().prefer(Prefer::Space);
    let made = filled(space.capacity(40).false_positive_rate(0.03));
    assert_golden(
        &made,
        SEMI_SORTED,
        0x6e4f_46ac_aef3_1272_aeee_7742_f292_a252,
    );
}

#[test]
fn a_counting_filter_has_these_bytes() {
    let made = filled(CuckooFilter::builder().capacity(40).counter_bits(4));
    assert_golden(&made, COUNTING, 0xaffd_0bce_5d2d_77bb_72bc_8a77_04e5_0ef3);
}

/// Where a thread begins to split depends on the thread, so the bytes that it writes do, too.
#[test]
fn a_growing_filter_has_this_digest() {
    let made = filled(CuckooFilter::builder().capacity(8).max_capacity(1000));
    made.insert_batch(&Vec::from_iter(ITEMS..65)).unwrap();
    assert_ne!(made.stats().buckets_to_split, 0, "it doubles");
    assert_eq!(
        made.digest(),
        0x3c3d_f557_3c2c_11f8_660c_69d6_97de_572a,
        "{:#x}",
        made.digest()
    );
    assert_read(made.digest(), GROWN);
}

#[test]
fn an_expiring_filter_has_these_bytes() {
    let time = |seconds| move || Duration::from_secs(seconds);
    let builder = ExpiringFilter::builder(Duration::from_millis(60_500)).epochs(4);
    let made = builder.capacity(40).seed(0x5eed).build().unwrap();
    made.tick_at(time(100));
    let made = fill!(made);
    assert!(made.tick_at(time(116)) && made.refresh(&0_u64).unwrap());
    assert_eq!(hexadecimal(&made.to_bytes_at(time(120))), EXPIRING);
    assert_eq!(
        made.digest(),
        0xb55a_93d8_c4de_bd1a_a152_7c25_55c4_de18,
        "{:#x}",
        made.digest()
    );
    let read = ExpiringFilter::from_bytes(&bytes(EXPIRING)).unwrap();
    assert_eq!(read.digest(), made.digest());
    read.tick_at(time(7));
    assert_eq!(hexadecimal(&read.to_bytes_at(time(7))), EXPIRING);
    assert!(read.contains("ani"));
    for _ in 0..4 {
        assert!(read.advance());
    }
    assert!(read.contains(&0_u64) && read.len() == 1);
}

/// Integers in a slice are hashed as they are in memory.
#[test]
fn a_slice_of_little_endian_integers_has_this_hash() {
    let state = SeededState::new(0x5eed);
    let little = [1_u32, 2, 0xdead_beef].map(u32::to_le);
    assert_eq!(
        state.hash_one(little),
        0x3d82_df20_002c_361b,
        "{:#x}",
        state.hash_one(little)
    );
    let native = state.hash_one([1_u32, 2, 0xdead_beef]);
    assert_eq!(
        native == state.hash_one(little),
        cfg!(target_endian = "little")
    );
}

const FIXED: &str = "\
67756972611a0d0a020000000f040000120000000000000028000000000000002800000000000000ed5e000000000000\
162c24fe897cf21d000000000000000000000000000000000000000000000000aa365a54000000002a727e2c00000000\
401e000000000000935e000000000000901f69420000000000000000000000009e0bee4000000000e4725d5d8d1e0000\
b14e000000000000661b0000000000001a70d31100000000d905000000000000fb5aa34c6a4300000000000000000000\
72502465000000003334f06b0f2f0000910b000000000000c34e8b2c000000003e258c78";
const SEMI_SORTED: &str = "\
67756972611a0d0a0200000007070005080000000000000028000000000000002800000000000000ed5e000000000000\
162c24fe897cf21d000000000000000000000000000000000000000000000000000000a0d6cd3d00000000b042053d00\
0080c5d4c3c060000000002018bb1600000000102bbc0e00000060b3d12d3100000040cef1ed40000000803c91ef3d00\
17ed29f7";
const COUNTING: &str = "\
67756972611a0d0a0200000010030000200000000000000028000000000000002800000000000000ed5e000000000000\
162c24fe897cf21d040000000000000000000000000000000000000000000000aab60000000000005a54000000000000\
2a720000000000000000000000000000000000000000000000000000000000007eac0000000000000000000000000000\
901f00000000000069420000000000009e8b40520e000000e472e00e0400000000000000000000005ddd000000000000\
8d9ea0360c00000072d000000000000000000000000000001a70000000000000a3cc000000000000d905000000000000\
918b000000000000f06b0000000000000000000000000000b1ce000000000000409e0000000000003334000000000000\
c3cef0f0020000008bac0000000000000000000000000000d391000000000000661b30e90d000000fb5a000000000000\
a20a56a0";
const GROWN: &str = "\
67756972611a0d0a020000001103050018000000000000000800000000000000e803000000000000ed5e000000000000\
162c24fe897cf21d0000000000000000010000000000000000000000000000005ad358cc970400b81ded6e8e025802b8\
18b4ff3282fa00b84affd52336f206b82280dfd1dd2105b8fd3ce7c3304a02b84dff7b44b41b03b8c3090f714adf04b8\
6bb00000000000c06b6a86ec000000c03861f9b61a2000c000000000000000c013530000000000c08c1f0000000000c0\
4cf4bc34000000c0f9af03f1000000c00000000000000000000000000000000000000000000000000000000000000000\
00000000000000000000000000000000000000000000000000000000000000000bab9974000000c05bba0000000000c0\
00000000000000c03d62af63bd7c00c000000000000000c0da8db6ad000000c0ceb80000000000c09d510000000000c0\
0000000000000000a9cf9f880ce005b82b1553541cbe07b8fd11856f9b1a07b8de48996c363703b8fbef901b27b707b8\
e762345c640703b84f83fda77dc705b8d3a6f8d7084807b8000000000000000000000000000000000000000000000000\
00000000000000000000000000000000000000000000000000000000000000000000000000000000b3b355c5";
const EXPIRING: &str = "\
6775697261780d0a0200000010030400130000000065cd1d280000000000000028000000000000003c00000000000000\
ed5e000000000000162c24fe897cf21d00000000000000000100000000000000aab600000000000093de000000000000\
5a5400e4090000002a720000000000000000000000000000000000000000000000000000000000007eac000000000000\
00000000000000000000000000000000901f01000000000000000000000000009e8b40520e000000e472e00e04000000\
000000000000000000000000000000005ddda0360c0000008d9e000000000000000000000000000072d0000000000000\
a3cc0000000000001a70000000000000d905000000000000918b000000000000f06b0000000000000f2f000000000000\
0000000000000000b1ce00000000000000000000000000003334000000000000c3ce0000000000000000000000000000\
0000000000000000d391b0c80a0000000000000000000000661b902604000000fb5a0000000000000000000000000000\
010000000000000000286bee0000000000c817a80400000000c817a80400000000c817a8040000000b20f94c";

//! Tests the hashes that programs in other languages share.
//!
//! `data/hashes.txt` lists them, one per line, for the tests of all languages.

use guira::{CuckooFilter, ExpiringFilter, Hashed, SeededState};
use proptest::prelude::*;
use std::{hash::BuildHasher, time::Duration};

/// A line of the file: the hash of an item with a seed.
struct Golden {
    kind: &'static str,
    seed: u64,
    item: &'static str,
    hash: u64,
}

fn goldens() -> Vec<Golden> {
    let lines = include_str!("data/hashes.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            let [kind, seed, item, hash] = fields[..] else {
                panic!("not four fields: {line}");
            };
            Golden {
                kind,
                seed: seed.parse().expect("a seed"),
                item,
                hash: u64::from_str_radix(hash, 16).expect("a hash"),
            }
        })
        .collect()
}

/// Decodes the hexadecimal bytes of an item. A hyphen stands for no bytes.
fn bytes(item: &str) -> Vec<u8> {
    let digits = if item == "-" { "" } else { item };
    assert_eq!(digits.len() % 2, 0, "{item}");
    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits"))
        .collect()
}

/// The hash by the documented rule, if the kind has one, and by `std::hash::Hash`.
fn hashes(kind: &str, seed: u64, item: &str) -> (Option<u64>, u64) {
    let state = SeededState::new(seed);
    match kind {
        "str" => {
            let text = String::from_utf8(bytes(item)).expect("UTF-8");
            (Some(state.hash_str(&text)), state.hash_one(text))
        }
        "bytes" => {
            let item = bytes(item);
            (Some(state.hash_bytes(&item)), state.hash_one(item))
        }
        "u64" => {
            let item: u64 = item.parse().expect("a u64");
            (Some(state.hash_u64(item)), state.hash_one(item))
        }
        "i64" => {
            let item: i64 = item.parse().expect("an i64");
            (Some(state.hash_i64(item)), state.hash_one(item))
        }
        "u128" => (None, state.hash_one(item.parse::<u128>().expect("a u128"))),
        "i128" => (None, state.hash_one(item.parse::<i128>().expect("an i128"))),
        _ => panic!("unknown kind {kind}"),
    }
}

#[test]
fn items_hash_as_the_file_says() {
    let goldens = goldens();
    for Golden {
        kind,
        seed,
        item,
        hash,
    } in &goldens
    {
        let (by_rule, by_trait) = hashes(kind, *seed, item);
        assert_eq!(by_trait, *hash, "{kind} {seed} {item}");
        assert_eq!(by_rule.unwrap_or(*hash), *hash, "{kind} {seed} {item}");
    }
    for kind in ["str", "bytes", "u64", "i64", "u128", "i128"] {
        let count = goldens.iter().filter(|golden| golden.kind == kind).count();
        assert!(count >= 8, "{count} of {kind}");
    }
}

proptest! {
    /// A filter finds items that were inserted under the other form.
    #[test]
    fn each_rule_agrees_with_the_trait(
        seed: u64, text: String, bytes: Vec<u8>, unsigned: u64, signed: i64,
    ) {
        let state = SeededState::new(seed);
        prop_assert_eq!(state.hash_str(&text), state.hash_one(text.as_str()));
        prop_assert_eq!(state.hash_bytes(&bytes), state.hash_one(bytes.as_slice()));
        prop_assert_eq!(state.hash_u64(unsigned), state.hash_one(unsigned));
        prop_assert_eq!(state.hash_i64(signed), state.hash_one(signed));
    }
}

/// An item and its hash are the same item.
#[test]
fn a_hash_stands_for_its_item() {
    let filter = CuckooFilter::builder().capacity(100).seed(7).build();
    let filter = filter.expect("a filter");
    let state = SeededState::new(7);
    let (bytes, hashed) = (&[1_u8, 2, 3][..], [4_u8, 5]);
    filter.insert("x").expect("room");
    filter.insert(bytes).expect("room");
    filter.insert(&-5_i64).expect("room");
    for hash in [
        state.hash_str("x"),
        state.hash_bytes(bytes),
        state.hash_i64(-5),
    ] {
        assert_eq!(filter.insert_unique(&Hashed(hash)), Ok(false));
        assert!(filter.remove(&Hashed(hash)) && !filter.contains(&Hashed(hash)));
    }
    assert!(filter.is_empty());
    filter
        .insert(&Hashed(state.hash_bytes(&hashed)))
        .expect("room");
    filter.insert(&Hashed(state.hash_u64(9))).expect("room");
    assert!(filter.remove(&hashed) && filter.remove(&9_u8) && filter.is_empty());
}

/// `snapshot_len_hint` is the length of a snapshot, for each kind and size of filter.
#[test]
fn the_length_of_a_snapshot_is_known_before() {
    for bits in [10, 12, 15, 20, 30] {
        let builder = CuckooFilter::builder()
            .capacity(3_000)
            .fingerprint_bits(bits);
        let filter = builder.build().expect("a filter");
        assert_eq!(filter.snapshot_len_hint(), filter.to_bytes().len());
    }
    let builder = CuckooFilter::builder()
        .capacity(1_000)
        .max_capacity(100_000);
    let filter = builder.build().expect("a filter");
    let mut sizes = vec![filter.snapshot_len_hint()];
    for item in 0..100_000_u32 {
        filter.insert(&item).expect("room");
        if item % 997 == 0 {
            let len = filter.to_bytes().len();
            assert_eq!(filter.snapshot_len_hint(), len, "with {item} items");
            sizes.push(len);
        }
    }
    sizes.dedup();
    assert!(sizes.len() > 5, "{sizes:?}");
    for capacity in [1, 3_000, 100_000] {
        let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(capacity);
        let filter = builder.build().expect("a filter");
        filter.advance();
        assert_eq!(filter.snapshot_len_hint(), filter.to_bytes().len());
    }
}

//! The property of the fuzzer, in a few seconds: a changed snapshot with a valid checksum gives a
//! typed error or a filter that works.

use super::common::{
    damaged::assert_corpus_keeps_to_the_law,
    fields::fix_checksum,
    layouts::{LAYOUTS, SEMI_SORTED, fill, filter, growing, semi_sorted},
    works::{assert_works, check},
};
use guira::CuckooFilter;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Small snapshots of all layouts: empty, full, during a doubling, and fully grown.
static SNAPSHOTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut snapshots = Vec::new();
    for bits in LAYOUTS {
        let filter = filter(bits, 12);
        snapshots.push(filter.to_bytes());
        fill(&filter, 0..12);
        snapshots.push(filter.to_bytes());
        for (filter, _) in [0, 1].into_iter().filter_map(|level| growing(bits, level)) {
            snapshots.push(filter.to_bytes());
            filter.finish_growth();
            snapshots.push(filter.to_bytes());
        }
    }
    for (_, rate) in SEMI_SORTED {
        let filter = semi_sorted(rate, 100);
        snapshots.push(filter.to_bytes());
        fill(&filter, 0..100);
        snapshots.push(filter.to_bytes());
    }
    snapshots
});

/// One change of the bytes. Positions are scaled to the length.
#[derive(Clone, Debug)]
enum Change {
    Byte(u16, u8),
    Bit(u16, u8),
    /// A number of 8 bytes, as most fields are.
    Number(u16, u64),
    /// A byte of the header.
    Header(u16, u8),
    Remove(u16, u16),
    Repeat(u16, u16),
}

fn changes() -> impl Strategy<Value = Change> {
    let number = prop_oneof![
        any::<u64>(),
        0..4_u64,
        (0..64_u32).prop_map(|bit| 1 << bit),
        (0..64_u32).prop_map(|bit| (1 << bit) - 1),
    ];
    prop_oneof![
        (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (any::<u16>(), 0..8_u8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        (any::<u16>(), number).prop_map(|(at, number)| Change::Number(at, number)),
        (0..80_u16, any::<u8>()).prop_map(|(at, byte)| Change::Header(at, byte)),
        (any::<u16>(), 1..64_u16).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<u16>(), 1..64_u16).prop_map(|(at, length)| Change::Repeat(at, length)),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    let length = bytes.len();
    let place = |at: u16| (usize::from(at) * length) >> 16;
    let range = |at, size: u16| place(at)..length.min(place(at) + usize::from(size));
    match *change {
        Change::Byte(at, byte) => bytes[place(at)] = byte,
        Change::Bit(at, bit) => bytes[place(at)] ^= 1 << bit,
        Change::Number(at, number) => {
            let start = place(at) / 8 * 8;
            for (byte, new) in bytes[start..].iter_mut().zip(number.to_le_bytes()) {
                *byte = new;
            }
        }
        Change::Header(at, byte) => {
            if let Some(old) = bytes.get_mut(usize::from(at)) {
                *old = byte;
            }
        }
        Change::Remove(at, size) if length > 200 => drop(bytes.drain(range(at, size))),
        Change::Remove(..) => {}
        Change::Repeat(at, size) => {
            let part = bytes[range(at, size)].to_vec();
            bytes.splice(place(at)..place(at), part);
        }
    }
}

/// Checks the initial inputs of the fuzzer.
#[test]
fn the_corpus_keeps_to_the_law() {
    assert_corpus_keeps_to_the_law("snapshot_decode", check);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn changed_snapshots_are_refused_or_work(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(changes(), 0..4),
    ) {
        let mut bytes = which.get(&SNAPSHOTS).clone();
        for change in &changes {
            apply(change, &mut bytes);
        }
        fix_checksum(&mut bytes);
        if let Ok(filter) = CuckooFilter::from_bytes(&bytes) {
            assert_works(&filter);
        } else {
            prop_assert!(!changes.is_empty(), "an unchanged snapshot is refused");
        }
    }
}

//! A snapshot is refused if a bit is flipped, if it is truncated, or if bytes follow it.

use super::common::{
    fields::with_byte,
    layouts::{LAYOUTS, fill, filter, growing},
};
use crate::common::filters::{COUNTING, tiny_counting};
use guira::{CuckooFilter, SnapshotError};

/// A small snapshot of each layout, and also during a doubling if the layout can grow.
fn small_snapshots() -> Vec<Vec<u8>> {
    let of_size = |bits| {
        let filter = filter(bits, 20);
        fill(&filter, 0..20);
        filter.to_bytes()
    };
    let growing = |bits| Some(growing(bits, 0)?.0.to_bytes());
    let counting = |bits| {
        let filter = tiny_counting(bits, 12);
        for item in 0..10_usize {
            filter.insert_batch(&[item; 3]).expect("room");
        }
        filter.to_bytes()
    };
    let of_all_sizes = LAYOUTS.into_iter().map(of_size);
    of_all_sizes
        .chain(COUNTING.into_iter().map(counting))
        .chain(LAYOUTS.into_iter().filter_map(growing))
        .collect()
}

#[test]
fn every_truncation_is_refused() {
    for bytes in small_snapshots() {
        for length in 0..bytes.len() {
            let error = CuckooFilter::from_bytes(&bytes[..length]).expect_err("cut short");
            assert!(
                matches!(error, SnapshotError::Truncated),
                "{length}: {error}"
            );
        }
        CuckooFilter::from_bytes(&bytes).expect("the whole snapshot");
    }
}

#[test]
fn every_bit_flip_is_refused() {
    for mut bytes in small_snapshots() {
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = CuckooFilter::from_bytes(&bytes).expect_err("a flipped bit");
            let expected = match bit / 8 {
                0..8 => matches!(error, SnapshotError::Magic),
                8..12 => matches!(error, SnapshotError::Version { supported: 2, .. }),
                // If a changed geometry is possible, the snapshot is refused later, by a
                // consequence of it.
                12..40 | 56..80 => matches!(
                    error,
                    SnapshotError::Geometry { .. }
                        | SnapshotError::Truncated
                        | SnapshotError::Checksum { .. }
                ),
                40..56 => matches!(error, SnapshotError::Checksum { .. }),
                _ => true,
            };
            assert!(expected, "bit {bit}: {error}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        CuckooFilter::from_bytes(&bytes).expect("the snapshot without damage");
    }
}

/// Only the checksum protects the last four bytes and the words.
#[test]
fn damage_in_the_words_is_a_wrong_checksum() {
    let filter = filter(15, 20);
    fill(&filter, 0..20);
    let bytes = filter.to_bytes();
    for at in 80..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        let error = CuckooFilter::from_bytes(&bytes).expect_err("damage");
        assert!(
            matches!(error, SnapshotError::Checksum { stored, computed } if stored != computed),
            "byte {at}: {error}"
        );
    }
}

#[test]
fn trailing_bytes_are_refused_by_from_bytes_and_left_by_read_from() {
    for snapshot in small_snapshots() {
        let mut bytes = snapshot.clone();
        for count in 1..20 {
            bytes.push(0);
            let error = CuckooFilter::from_bytes(&bytes).expect_err("trailing bytes");
            assert!(matches!(error, SnapshotError::TrailingBytes { count: c } if c == count));
        }
        bytes.truncate(snapshot.len());
        bytes.extend_from_slice(&snapshot);
        let mut reader = &bytes[..];
        for rest in [snapshot.len(), 0] {
            let filter = CuckooFilter::read_from(&mut reader).expect("a snapshot");
            assert_eq!(filter.to_bytes(), snapshot);
            assert_eq!(reader.len(), rest);
        }
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let filter = filter(15, 20);
    let bytes = filter.to_bytes();
    let message = |bytes: &[u8]| {
        let error = CuckooFilter::from_bytes(bytes).expect_err("a damaged snapshot");
        error.to_string()
    };
    assert_eq!(
        message(b"GIF89a, and so on, as it may be"),
        "the snapshot is truncated"
    );
    let mut other = bytes.clone();
    other[0] = b'G';
    assert_eq!(
        message(&other),
        "this is not a snapshot: it does not begin with the magic number"
    );
    assert_eq!(
        message(&with_byte(&bytes, 8, 1)),
        "the snapshot has format version 1; this release reads version 2"
    );
    assert_eq!(
        message(&with_byte(&bytes, 12, 16)),
        "the snapshot describes an impossible filter: fingerprint bits 16"
    );
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(message(&longer), "1 bytes follow the snapshot");
}

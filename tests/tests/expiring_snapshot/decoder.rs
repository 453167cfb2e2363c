//! A snapshot in pieces gives the same filter, or error, as the whole snapshot.

use super::{HEADER, SNAPSHOTS, TTL, bytes_at_rest, end_of, filter, works::fix_checksum};
use guira::{ExpiringFilter, ExpiringSnapshotDecoder, SnapshotError};
use proptest::prelude::*;
use std::hash::RandomState;

type Decoded = Result<ExpiringFilter, SnapshotError>;

/// Decodes pieces of these sizes, in rotation.
fn decode(bytes: &[u8], sizes: &[usize], most: usize) -> Decoded {
    let mut decoder = ExpiringSnapshotDecoder::new(most);
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = *sizes.next().expect("there is a size");
        let (piece, after) = rest.split_at(size.min(rest.len()));
        let taken = decoder.feed(piece)?;
        if taken < piece.len() {
            assert!(decoder.is_complete());
            let count = piece.len() - taken + after.len();
            return decoder
                .finish()
                .and(Err(SnapshotError::TrailingBytes { count }));
        }
        rest = after;
    }
    decoder.finish()
}

/// The comparable parts of a result.
fn outcome(decoded: Decoded) -> Result<(Vec<u8>, usize, u64, usize), String> {
    decoded
        .map(|it| (bytes_at_rest(&it), it.len(), it.epoch(), it.memory_usage()))
        .map_err(|error| format!("{error:?}"))
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(
        index: prop::sample::Index,
        sizes in prop::collection::vec(1_usize..3_000, 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        is_fixed: bool,
        cut in 0_usize..40,
    ) {
        let mut bytes = index.get(&SNAPSHOTS).clone();
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        if is_fixed {
            fix_checksum(&mut bytes);
        }
        // Half of the snapshots are complete.
        match cut {
            0..10 => bytes.truncate(bytes.len() - cut),
            10..20 => bytes.resize(bytes.len() + cut - 9, 0),
            _ => {}
        }
        let whole = outcome(ExpiringFilter::from_bytes(&bytes));
        match decode(&bytes, &sizes, 1 << 20) {
            Err(SnapshotError::TooLarge { asked, .. }) => {
                prop_assert!(asked > 1 << 20 && whole.is_err());
            }
            decoded => prop_assert_eq!(outcome(decoded), whole),
        }
    }
}

/// The snapshot has several chunks, read in several epochs. Some copies had expired before the last
/// chunks were read.
#[test]
fn any_pieces_make_a_snapshot_that_took_long() {
    let filter = filter(16, 4_000, 3);
    for item in 0..4_000 {
        filter.insert(&item).expect("room");
    }
    let mut bytes = filter.to_bytes();
    assert!(bytes.len() > HEADER + 3 * (8 * 512 + 8));
    let end = end_of(&bytes, filter.epochs());
    // All chunks but the first were read in epoch 3, and the snapshot ended in epoch 4.
    let first = HEADER + 8;
    for at in (first..end).step_by(8 * 512 + 8).skip(1) {
        bytes[at..at + 8].copy_from_slice(&3_u64.to_le_bytes());
    }
    for (passed, is_alive) in [(3_u64, true), (4, false)] {
        bytes[end..end + 8].copy_from_slice(&passed.to_le_bytes());
        fix_checksum(&mut bytes);
        let whole = ExpiringFilter::from_bytes(&bytes).expect("a snapshot");
        assert_eq!(whole.len(), if is_alive { 4_000 } else { 0 });
        for sizes in [&[1][..], &[7, 4_000], &[100_000]] {
            let decoded = decode(&bytes, sizes, 1 << 20);
            assert_eq!(outcome(decoded), outcome(Ok(whole.clone())));
        }
    }
}

#[test]
fn the_limit_is_that_of_the_buckets() {
    let filter = filter(16, 100_000, 3);
    let (bytes, buckets) = (filter.to_bytes(), 8 * filter.buckets());
    assert!(decode(&bytes, &[1 << 12], buckets).is_ok());
    let mut decoder = ExpiringSnapshotDecoder::new(buckets - 1);
    // The header, and the number of doublings.
    match decoder.feed(&bytes[..HEADER + 8]) {
        Err(SnapshotError::TooLarge { asked, allowed }) => {
            assert_eq!((asked, allowed), (buckets, buckets - 1));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        decoder.feed(&bytes),
        Err(SnapshotError::Truncated)
    ));
    assert!(matches!(decoder.finish(), Err(SnapshotError::Truncated)));
}

#[test]
fn memory_grows_with_the_bytes_that_come() {
    let filter = filter(16, 100_000, 3);
    let (bytes, table) = (filter.to_bytes(), 8 * filter.buckets());
    let mut decoder = ExpiringSnapshotDecoder::new(1 << 30);
    decoder.feed(&bytes[..HEADER]).expect("a header");
    assert!(decoder.memory_usage() < 1 << 12, "the header's claim");
    let mut come = HEADER;
    for piece in bytes[HEADER..].chunks(1_000) {
        decoder.feed(piece).expect("a snapshot");
        come += piece.len();
        assert!(decoder.memory_usage() <= 5 * come + (32 << 10));
    }
    assert!(decoder.memory_usage() <= table + (64 << 10));
    assert_eq!(
        decoder.finish().expect("a filter").memory_usage(),
        filter.memory_usage()
    );
}

#[test]
fn another_hasher_is_refused() {
    let filter = ExpiringFilter::builder(TTL)
        .hasher(RandomState::new())
        .build();
    let bytes = filter.expect("a filter").to_bytes();
    let mut decoder = ExpiringSnapshotDecoder::new(1 << 20);
    decoder.feed(&bytes).expect("a snapshot");
    let refused = ExpiringFilter::restore()
        .hasher(RandomState::new())
        .finish(decoder);
    assert!(matches!(refused, Err(SnapshotError::Hasher { .. })));
}

//! A snapshot in pieces gives the same filter, or error, as the whole snapshot.

use super::{HEADER, SNAPSHOTS, TTL, bytes_at_rest, end_of, filter};
use crate::snapshot::common::{
    fields::with,
    pieces::{assert_another_hasher_is_refused, assert_limit, cases, decode},
};
use guira::{ExpiringFilter, ExpiringSnapshotDecoder};
use proptest::prelude::*;
use std::hash::RandomState;

/// The comparable parts of a filter.
fn parts(it: &ExpiringFilter) -> (Vec<u8>, usize, u64, usize) {
    (bytes_at_rest(it), it.len(), it.epoch(), it.memory_usage())
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(case in cases()) {
        case.check(&SNAPSHOTS, parts)?;
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
        let bytes = with(&bytes, end, passed);
        let whole = ExpiringFilter::from_bytes(&bytes).expect("a snapshot");
        assert_eq!(whole.len(), if is_alive { 4_000 } else { 0 });
        for sizes in [&[1][..], &[7, 4_000], &[100_000]] {
            let decoded = decode(&bytes, sizes, 1 << 20).expect("a snapshot");
            assert_eq!(parts(&decoded), parts(&whole.clone()));
        }
    }
}

#[test]
fn the_limit_is_that_of_the_buckets() {
    let filter = filter(16, 100_000, 3);
    // The header, and the number of doublings.
    assert_limit(&filter, HEADER + 8);
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
    assert_another_hasher_is_refused(&filter.expect("a filter"));
}

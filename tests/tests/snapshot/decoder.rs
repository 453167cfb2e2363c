//! A snapshot in pieces gives the same filter, or error, as the whole snapshot. The memory is at
//! most that of the filter and a quarter more.

use super::common::{
    allocated::allocated_by,
    fields::{LEVEL, TAG, WORDS, fix_checksum, number},
    layouts::{LAYOUTS, fill, filter, growing},
    pieces::{assert_another_hasher_is_refused, assert_limit, assert_takes_nothing, cases, decode},
};
use crate::common::filters::{COUNTING, tiny_counting};
use guira::{CuckooFilter, SnapshotDecoder, SnapshotError};
use proptest::prelude::*;
use std::hash::RandomState;

/// The comparable parts of a filter.
fn parts(filter: &CuckooFilter) -> (Vec<u8>, usize, usize) {
    (filter.to_bytes(), filter.len(), filter.memory_usage())
}

/// Snapshots of each layout: empty, full, during a doubling, and fully grown.
fn snapshots() -> Vec<Vec<u8>> {
    let mut snapshots = Vec::new();
    for bits in LAYOUTS {
        let filter = filter(bits, 400);
        snapshots.push(filter.to_bytes());
        fill(&filter, 0..filter.max_capacity());
        snapshots.push(filter.to_bytes());
        filter.finish_growth();
        snapshots.push(filter.to_bytes());
        for level in 0..2 {
            snapshots.extend(growing(bits, level).map(|(filter, _)| filter.to_bytes()));
        }
    }
    for bits in COUNTING {
        let filter = tiny_counting(bits, 12);
        for item in 0..10_usize {
            filter.insert_batch(&[item; 3]).expect("room");
        }
        snapshots.push(filter.to_bytes());
    }
    snapshots
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(case in cases()) {
        case.check(&snapshots(), parts)?;
    }
}

#[test]
fn any_two_pieces_make_the_whole() {
    let (filter, _) = growing(14, 1).expect("a filter");
    let bytes = filter.to_bytes();
    for at in 0..bytes.len() {
        let decoded = decode(&bytes, &[at.max(1), bytes.len()], 1 << 20);
        let decoded: CuckooFilter = decoded.expect("a snapshot");
        assert_eq!(decoded.to_bytes(), bytes, "cut at {at}");
    }
}

/// A snapshot has two passes if the filter doubles during the call.
#[test]
fn a_pass_that_was_cut_off_is_void() {
    let filter = filter(13, 4_000);
    fill(&filter, 0..16_000);
    filter.finish_growth();
    let bytes = filter.to_bytes();
    assert!(number(&bytes, LEVEL) > 0);
    let mut of_two_passes = bytes[..LEVEL].to_vec();
    of_two_passes.extend(0_u64.to_le_bytes());
    // A chunk of one plane, with words that no filter has.
    let chunk = (512_usize >> bytes[14]).max(8);
    of_two_passes.extend(0_u64.to_le_bytes());
    of_two_passes.extend(vec![0xff; 8 * chunk]);
    of_two_passes.extend(1_u64.to_le_bytes());
    of_two_passes.extend(&bytes[LEVEL..]);
    fix_checksum(&mut of_two_passes);
    let decoded = decode(&of_two_passes, &[1_000], 1 << 24).expect("a snapshot");
    assert_eq!(decoded.to_bytes(), bytes);
    let whole = CuckooFilter::from_bytes(&of_two_passes).expect("a snapshot");
    assert_eq!(parts(&whole), parts(&decoded));
}

#[test]
fn memory_is_that_of_the_filter() {
    let fixed = CuckooFilter::with_capacity(1_000_000);
    let growable = CuckooFilter::builder()
        .capacity(10_000)
        .max_capacity(640_000);
    let grown = growable.build().expect("a filter");
    fill(&grown, 0..600_000);
    grown.finish_growth();
    for filter in [fixed, grown] {
        let bytes = filter.to_bytes();
        let (decoded, allocated) = allocated_by(|| decode(&bytes, &[1 << 16], 1 << 24));
        let decoded: CuckooFilter = decoded.expect("a snapshot");
        assert_eq!(decoded.memory_usage(), filter.memory_usage());
        let most = filter.memory_usage() * 13 / 10 + (64 << 10);
        assert!(allocated <= most, "{allocated} of {most}");

        let mut decoder = SnapshotDecoder::new(1 << 24);
        assert_eq!(decoder.memory_usage(), 0);
        decoder.feed(&bytes[..WORDS]).expect("the beginning of one");
        assert!(decoder.memory_usage() < 1 << 12, "the header's claim");
        for piece in bytes[WORDS..bytes.len() / 3].chunks(1 << 12) {
            decoder.feed(piece).expect("a third of it");
        }
        let table = 8 * filter.buckets();
        assert!((table..table + (64 << 10)).contains(&decoder.memory_usage()));
    }
}

#[test]
fn the_limit_is_that_of_the_buckets() {
    let filter = CuckooFilter::with_capacity(1_000_000);
    assert_limit(&filter, filter.to_bytes().len());
}

#[test]
fn a_decoder_takes_nothing_after_an_error() {
    let bytes = CuckooFilter::with_capacity(100).to_bytes();
    let mut damaged = bytes.clone();
    damaged[TAG] = 2;
    let mut decoder = SnapshotDecoder::new(1 << 20);
    let refused = decoder.feed(&damaged);
    assert!(matches!(
        refused,
        Err(SnapshotError::Geometry {
            what: "chunk tag",
            found: 2
        })
    ));
    assert_takes_nothing(decoder, &bytes);
}

#[test]
fn another_hasher_is_refused() {
    let filter = CuckooFilter::builder().hasher(RandomState::new()).build();
    assert_another_hasher_is_refused(&filter.expect("a filter"));
}

/// A chunk of a filter that has grown has many words. Their memory is allocated as the bytes
/// arrive.
#[test]
fn the_announcement_of_a_chunk_takes_no_memory_for_all_of_it() {
    let builder = CuckooFilter::builder().capacity(300).max_capacity(700_000);
    let filter = builder.seed(1).build().expect("a filter");
    filter.try_extend(0..600_000_u32).expect("room");
    let bytes = filter.to_bytes();
    // Of eight buckets.
    assert!(
        8 << number(&bytes, LEVEL) >= 4 * 512,
        "a chunk of many words"
    );
    let mut decoder = SnapshotDecoder::new(usize::MAX);
    // The header, the level, the tag of the first chunk, and one word.
    let first = WORDS + 8;
    let taken = decoder.feed(&bytes[..first]);
    assert!(matches!(taken, Ok(count) if count == first), "{taken:?}");
    let usage = decoder.memory_usage();
    assert!(usage <= 2 * 512 * 8, "{usage} bytes");
}

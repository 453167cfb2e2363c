//! A header is an empty filter in a few bytes.

use super::{LAYOUTS, TTL, aged, epochs};
use crate::snapshot::common::{
    damaged::{assert_flipped_bits_are_refused, assert_other_lengths_are_refused},
    fields::with_byte,
};
use guira::{ExpiringFilter, SnapshotError};
use std::{hash::RandomState, time::Duration};

/// The size by `docs/FORMAT.md`.
const BYTES: usize = 68;

#[test]
fn a_filter_of_its_header_is_like_it_and_empty() {
    for bits in LAYOUTS {
        for epochs in epochs(bits) {
            let (filter, _) = aged(bits, epochs);
            let header = filter.header();
            assert_eq!(header.len(), BYTES);
            assert_eq!(header[..64], filter.to_bytes()[..64]);
            let bytes = 8 * filter.buckets();
            let like_it = ExpiringFilter::from_header(&header, bytes).expect("a header");
            assert_eq!(like_it.header(), header);
            assert_eq!((like_it.ttl(), like_it.epochs()), (TTL, epochs));
            assert_eq!(like_it.capacity(), filter.capacity());
            assert_eq!((like_it.len(), like_it.epoch()), (0, 0));
            let refused = ExpiringFilter::from_header(&header, bytes - 1);
            let (asked, allowed) = match refused {
                Err(SnapshotError::TooLarge { asked, allowed }) => (asked, allowed),
                other => panic!("{other:?}"),
            };
            assert_eq!((asked, allowed), (bytes, bytes - 1));
            super::works::assert_works(&like_it);
        }
    }
}

#[test]
fn another_hasher_must_be_the_same() {
    let hasher = RandomState::new();
    let builder = ExpiringFilter::builder(TTL).hasher(hasher.clone());
    let header = builder.build().expect("a filter").header();
    let with = |hasher| {
        ExpiringFilter::restore()
            .hasher(hasher)
            .max_bytes(1 << 20)
            .from_header(&header)
    };
    assert!(with(hasher).expect("the same hasher").is_empty());
    let other = with(RandomState::new());
    assert!(matches!(other, Err(SnapshotError::Hasher { .. })));
}

#[test]
fn every_flipped_bit_and_every_other_length_is_noticed() {
    let (filter, _) = aged(16, 3);
    let header = filter.header();
    let restore = |bytes: &[u8]| ExpiringFilter::from_header(bytes, 1 << 20);
    assert_flipped_bits_are_refused(&header, restore);
    assert_other_lengths_are_refused(&header, restore);
}

#[test]
fn what_is_wrong_is_named() {
    let (filter, _) = aged(16, 3);
    let with = |at: usize, byte: u8| {
        let header = with_byte(&filter.header(), at, byte);
        ExpiringFilter::from_header(&header, 1 << 20).expect_err("it is wrong")
    };
    assert!(matches!(with(0, 0), SnapshotError::Magic));
    assert!(matches!(
        with(8, 9),
        SnapshotError::Version { found: 9, .. }
    ));
    for (at, byte) in [(12, 10), (13, 5), (14, 14), (14, 0x52), (15, 1), (23, 0x40)] {
        let error = with(at, byte);
        assert!(
            matches!(error, SnapshotError::Geometry { .. }),
            "{at}: {error}"
        );
    }
    // The header of a plain filter.
    let plain = guira::CuckooFilter::with_capacity(100).header();
    let refused = ExpiringFilter::from_header(&plain, 1 << 20);
    assert!(matches!(refused, Err(SnapshotError::Magic)));
    let refused = guira::CuckooFilter::from_header(&filter.header(), 1 << 20);
    assert!(matches!(refused, Err(SnapshotError::Magic)));
}

/// The caller limits the memory that a header may request.
#[test]
fn a_header_that_asks_for_gigabytes_gets_nothing() {
    let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(1_000);
    let mut header = builder.build().expect("a filter").header();
    header[16..20].copy_from_slice(&(1_u32 << 30).to_le_bytes());
    super::works::fix_checksum(&mut header);
    let refused = ExpiringFilter::from_header(&header, 1 << 30);
    assert!(
        matches!(refused, Err(SnapshotError::TooLarge { .. })),
        "{refused:?}"
    );
}

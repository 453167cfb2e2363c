//! A header describes an empty filter, and no other bytes are accepted as a header.

use crate::snapshot::common::{
    damaged::{assert_flipped_bits_are_refused, assert_other_lengths_are_refused},
    fields::{BUCKETS, PROBE, with, with_byte},
    layouts::{LAYOUTS, filter},
};
use guira::{CuckooFilter, SnapshotError};
use proptest::{collection::vec, prelude::*};
use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, DefaultHasher},
};

/// The position of the checksum, by docs/FORMAT.md.
const CHECKSUM: usize = 64;

fn with_right_checksum(mut header: Vec<u8>) -> Vec<u8> {
    if let Some((body, sum)) = header.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
    header
}

#[test]
fn a_filter_of_its_header_is_like_it_and_empty() {
    let mut headers = HashSet::new();
    for bits in LAYOUTS {
        for capacity in [1, 100, 3_000] {
            let filter = filter(bits, capacity);
            let (header, at_first) = (filter.header(), filter.capacity());
            assert!(headers.insert(header), "each filter has another header");
            for item in 0..capacity {
                filter.insert(&item).expect("room");
            }
            assert_eq!(
                filter.header(),
                header,
                "the header does not depend on the items"
            );

            let empty = CuckooFilter::from_header(&header, 1 << 20).expect("a header");
            assert_eq!(empty.header(), header);
            assert!(empty.is_empty());
            assert_eq!(empty.capacity(), at_first);
            assert_eq!(empty.max_capacity(), filter.max_capacity());
            assert_eq!(empty.fingerprint_bits(), bits);
            assert_eq!(empty.hasher().seed(), 0x5eed);
            empty.merge(&filter).expect("room");
            assert_eq!(empty.digest(), filter.digest());
            for item in 0..capacity {
                assert!(empty.remove(&item));
            }
            assert!(empty.is_empty());
        }
    }
}

#[test]
fn a_filter_of_a_header_grows_as_far() {
    let filter = filter(27, 500);
    let like_it = CuckooFilter::from_header(&filter.header(), 1 << 20).expect("a header");
    for item in 0..2_000 {
        like_it.insert(&item).expect("room");
    }
    assert!(like_it.stats().doublings > 0);
    assert!((0..2_000).all(|item| like_it.contains(&item)));
}

#[test]
fn a_header_is_that_of_the_snapshot() {
    let filter = filter(14, 100);
    let (header, snapshot) = (filter.header(), filter.to_bytes());
    assert_eq!(header[..CHECKSUM], snapshot[..CHECKSUM]);
    assert_eq!(
        header[CHECKSUM..],
        crc32fast::hash(&header[..CHECKSUM]).to_le_bytes()
    );

    // A header is not accepted as a snapshot, nor a snapshot as a header.
    let refused = CuckooFilter::from_bytes(&header);
    assert!(
        matches!(refused, Err(SnapshotError::Truncated)),
        "{refused:?}"
    );
    let refused = CuckooFilter::from_header(&snapshot, 1 << 20);
    let count = snapshot.len() - header.len();
    assert!(
        matches!(refused, Err(SnapshotError::TrailingBytes { count: found }) if found == count),
        "{refused:?}"
    );
}

#[test]
fn another_hasher_must_be_the_same() {
    type Fixed = BuildHasherDefault<DefaultHasher>;
    let filter = CuckooFilter::builder()
        .hasher(Fixed::new())
        .build()
        .unwrap();
    filter.insert("ani").unwrap();
    let header = filter.header();
    let like_it = CuckooFilter::restore()
        .hasher(Fixed::new())
        .max_bytes(1 << 20)
        .from_header(&header);
    let like_it = like_it.expect("a header");
    like_it.merge(&filter).unwrap();
    assert!(like_it.contains("ani"));

    let probe = header[PROBE..PROBE + 8].try_into().unwrap();
    let refused = CuckooFilter::from_header(&header, 1 << 20);
    assert!(
        matches!(refused, Err(SnapshotError::Hasher { found, .. }) if found == u64::from_le_bytes(probe)),
        "{refused:?}"
    );
}

fn restore(bytes: &[u8]) -> Result<CuckooFilter, SnapshotError> {
    CuckooFilter::from_header(bytes, 1 << 20)
}

#[test]
fn every_flipped_bit_is_noticed() {
    for bits in LAYOUTS {
        assert_flipped_bits_are_refused(&filter(bits, 100).header(), restore);
    }
}

#[test]
fn a_header_of_another_length_is_none() {
    assert_other_lengths_are_refused(&filter(15, 100).header(), restore);
}

#[test]
fn what_is_wrong_is_named() {
    let good = filter(15, 100).header().to_vec();
    let error = |at: usize, byte: u8| restore(&with_byte(&good, at, byte)).expect_err("damaged");
    assert!(matches!(error(0, b'G'), SnapshotError::Magic));
    assert!(matches!(
        error(8, 1),
        SnapshotError::Version {
            found: 1,
            supported: 2
        }
    ));
    // Such filters exist, but they can grow.
    assert!(matches!(
        error(12, 16),
        SnapshotError::Geometry {
            what: "fingerprint bits",
            found: 16
        }
    ));
    // The words of a growable filter of 15 bits have another number of slots.
    assert!(matches!(
        error(14, 1),
        SnapshotError::Geometry {
            what: "slots of a bucket",
            found: 4
        }
    ));
    // The fingerprints of this filter have 9 bits after its last doubling.
    assert!(matches!(
        error(14, 7),
        SnapshotError::Geometry {
            what: "levels",
            found: 7
        }
    ));
    assert!(matches!(
        error(15, 1),
        SnapshotError::Geometry {
            what: "prefixes",
            found: 1
        }
    ));
    assert!(matches!(
        error(16, 1),
        SnapshotError::Geometry {
            what: "buckets",
            ..
        }
    ));
    assert!(matches!(
        error(39, 1),
        SnapshotError::Geometry {
            what: "maximal capacity",
            ..
        }
    ));
    assert!(matches!(error(40, 1), SnapshotError::Hasher { .. }));

    let mut bytes = good.clone();
    bytes[CHECKSUM] ^= 1;
    let refused = restore(&bytes).expect_err("damaged");
    assert!(
        matches!(refused, SnapshotError::Checksum { .. }),
        "{refused}"
    );
}

#[test]
fn a_header_gets_no_more_memory_than_the_caller_allows() {
    let filter = filter(15, 100_000);
    let (header, bytes) = (filter.header(), 8 * filter.buckets());
    assert!(CuckooFilter::from_header(&header, bytes).is_ok());
    for allowed in [0, 1, bytes - 1] {
        let refused = CuckooFilter::from_header(&header, allowed).expect_err("too large");
        let as_asked = matches!(
            refused,
            SnapshotError::TooLarge { asked, allowed: most } if (asked, most) == (bytes, allowed)
        );
        assert!(as_asked, "{refused}");
    }
    let refused = CuckooFilter::from_header(&header, 1_000).expect_err("too large");
    assert_eq!(
        refused.to_string(),
        format!("the filter needs {bytes} bytes, more than the limit of 1000")
    );
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_header_that_asks_for_32_gib_gets_nothing() {
    let header = with(&filter(15, 100).header(), BUCKETS, 1 << 32);
    let refused = CuckooFilter::from_header(&header, 1 << 30).expect_err("too large");
    assert!(
        matches!(refused, SnapshotError::TooLarge { asked, allowed: 0x4000_0000 } if asked == 1 << 35),
        "{refused}"
    );
}

/// A number that is small, near a power of two, or arbitrary.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..100_u64,
        (0..64_u32).prop_map(|bit| 1 << bit),
        (0..64_u32).prop_map(|bit| (1 << bit) - 1),
    ]
}

/// Checks that accepted bytes give a filter that works, and that has these bytes as its header.
fn assert_works(bytes: &[u8]) -> bool {
    let Ok(filter) = CuckooFilter::from_header(bytes, 1 << 14) else {
        return false;
    };
    assert_eq!(filter.header()[..], *bytes);
    assert!(filter.buckets() <= 1 << 11);
    assert!(filter.capacity() <= filter.max_capacity());
    for item in 0..64_u32 {
        if filter.insert(&item).is_ok() {
            assert!(filter.contains(&item));
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused_or_work(bytes in vec(any::<u8>(), 0..100)) {
        prop_assert!(!assert_works(&bytes), "random bytes are refused");
        let summed = with_right_checksum(bytes);
        prop_assert!(!assert_works(&summed), "random bytes with a valid checksum are refused");
    }

    #[test]
    fn changed_headers_are_refused_or_work(
        bits in prop::sample::select(&LAYOUTS[..]),
        numbers in vec((2..5_usize, number()), 0..3),
        bytes in vec((12..16_usize, 0..32_u8), 0..2),
    ) {
        let mut header = filter(bits, 20).header().to_vec();
        for (field, number) in &numbers {
            header[8 * field..][..8].copy_from_slice(&number.to_le_bytes());
        }
        for (at, byte) in &bytes {
            header[*at] = *byte;
        }
        let works = assert_works(&with_right_checksum(header));
        prop_assert!(works || !numbers.is_empty() || !bytes.is_empty());
    }
}

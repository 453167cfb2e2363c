//! Two filters have the same digest exactly if they hold the same copies with the same ages.

use super::{LAYOUTS, aged, bytes_at_rest, epochs, growing::grown};
use crate::common::class_digest::{absorb, copy, value};
use guira::ExpiringFilter;
use std::collections::BTreeMap;

/// Computes the digest from the words of a snapshot of one pass, as `docs/FORMAT.md` describes it,
/// without the library.
fn expected(snapshot: &[u8]) -> u128 {
    let (numbers, _) = snapshot.as_chunks();
    let numbers: Vec<u64> = numbers.iter().map(|it| u64::from_le_bytes(*it)).collect();
    let (header, rest) = numbers.split_at(8);
    let f = u32::from(snapshot[12]);
    let (epochs, levels) = (u64::from(snapshot[14]), u32::from(snapshot[15]));
    let (tag_bits, slots, distance) = match f {
        _ if levels > 0 => (4, 0, 0),
        9 => (3, 5, 12),
        11 => (4, 4, 16),
        16 => (4, 3, 20),
        _ => (4, 2, 32),
    };
    let low = |number: u64, bits: u32| number & ((1 << bits) - 1);

    let start = header
        .iter()
        .fold((0, 0), |state, &word| absorb(state, word));
    let (rest, _ages) = rest.split_at(rest.len() - epochs as usize);
    let (buckets, end) = (2 * low(header[2], 32), rest[rest.len() - 1]);
    let (planes, chunk) = (1 << rest[0], (512 >> levels).max(8));
    let mut sums: BTreeMap<u64, u128> = BTreeMap::new();
    let mut bucket = 0;
    for chunk in rest[1..rest.len() - 1].chunks(chunk * planes + 1) {
        let (&epoch, words) = chunk.split_first().expect("an epoch");
        let width = words.len() / planes;
        for (index, &word) in words.iter().enumerate() {
            let (plane, bucket) = ((index / width) as u64, bucket + (index % width) as u64);
            // In a filter that grows a word stores f bits less what its level drops.
            let level = (word >> 59) as u32;
            let (w, slots, distance, unstored) = match levels {
                0 => (f, slots, distance, 0),
                _ => (40 - level, (54 / (44 - level)).min(6), 44 - level, level),
            };
            for slot in 0..slots {
                let entry = low(word >> (slot * distance), w + tag_bits);
                let (stored, tag) = (low(entry, w), entry >> w);
                let age = low(epoch.wrapping_sub(tag), tag_bits) + (end - epoch);
                if stored == 0 || age > epochs {
                    continue;
                }
                let first_level = if levels > 0 { 40 - f } else { 0 };
                let fingerprint = stored << unstored | plane << first_level;
                let sum = sums.entry(age).or_default();
                *sum = sum.wrapping_add(copy(start, buckets, bucket, fingerprint));
            }
        }
        bucket += width as u64;
    }
    assert_eq!(bucket, buckets);
    sums.into_iter().fold(value(start), |digest, (age, sum)| {
        let state = absorb(absorb(start, age), sum as u64);
        digest.wrapping_add(value(absorb(state, (sum >> 64) as u64)))
    })
}

fn filter(bits: u32, capacity: usize, seed: u64) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(super::TTL).epochs(3);
    let builder = builder.capacity(capacity).fingerprint_bits(bits).seed(seed);
    builder.build().expect("a filter")
}

#[test]
fn it_is_as_the_format_says() {
    for bits in LAYOUTS {
        for epochs in epochs(bits) {
            let (filter, _) = aged(bits, epochs);
            for _ in 0..epochs {
                assert!(!filter.is_empty());
                assert_eq!(filter.digest(), expected(&filter.to_bytes()));
                filter.advance();
            }
            assert!(filter.is_empty());
            assert_eq!(filter.digest(), expected(&filter.to_bytes()));
        }
        // A filter with several chunks.
        let large = filter(bits, 10_000, 7);
        for item in 0..10_000_u32 {
            large.insert(&item).expect("room");
            if item % 4_000 == 0 {
                large.advance();
            }
        }
        assert_eq!(large.digest(), expected(&large.to_bytes()));
    }
}

#[test]
fn it_does_not_depend_on_growth() {
    for items in [0, 30, 200, 1_000, 5_000] {
        let grown = grown(items);
        assert_eq!(grown.digest(), expected(&bytes_at_rest(&grown)), "{items}");
        let before = grown.digest();
        grown.finish_growth();
        assert_eq!(grown.digest(), before, "{items}");
    }
}

/// The digest of the example in `docs/FORMAT.md`.
#[test]
fn it_does_not_change_from_release_to_release() {
    let filter = filter(11, 1, 7);
    filter.insert("ani").expect("room");
    filter.advance();
    assert_eq!(filter.digest(), 0x84a7_32c7_8c52_e215_fe31_5d4d_ac9f_515a);
}

#[test]
fn the_order_of_inserts_and_the_number_of_the_epoch_do_not_matter() {
    for bits in LAYOUTS {
        let (one, other) = (filter(bits, 2_000, 7), filter(bits, 2_000, 7));
        for _ in 0..5 {
            other.advance();
        }
        for part in [0..700, 700..1_400] {
            for item in part.clone() {
                one.insert(&item).expect("room");
            }
            for item in part.rev() {
                assert_ne!(one.digest(), other.digest());
                other.insert(&item).expect("room");
            }
            assert_ne!(bytes_at_rest(&one), bytes_at_rest(&other));
            assert_eq!(one.digest(), other.digest());
            one.advance();
            assert_ne!(one.digest(), other.digest());
            other.advance();
            assert_eq!(one.digest(), other.digest());
        }
    }
}

#[test]
fn copies_and_ages_matter() {
    let (one, other) = (filter(16, 2_000, 7), filter(16, 2_000, 7));
    for filter in [&one, &other] {
        for item in 0..100 {
            filter.insert(&item).expect("room");
        }
        filter.advance();
    }
    let digest = one.digest();
    assert!(one.refresh(&7).expect("it has a slot"));
    assert_ne!(one.digest(), digest, "it is younger");
    assert!(other.remove(&7));
    assert_ne!(other.digest(), digest);
    assert_ne!(other.digest(), one.digest());
    other.insert(&7).expect("room");
    assert_eq!(other.digest(), one.digest());
    other.insert(&7).expect("room");
    assert_ne!(other.digest(), one.digest(), "there are two copies");
}

#[test]
fn the_header_matters() {
    let builder = || ExpiringFilter::builder(super::TTL).capacity(100).seed(7);
    let digests = [
        builder(),
        builder().seed(8),
        builder().capacity(101),
        builder().epochs(5),
        builder().fingerprint_bits(26),
        builder().max_capacity(10_000),
        builder().max_capacity(10_001),
    ]
    .map(|builder| builder.build().expect("a filter").digest());
    for (place, digest) in digests.iter().enumerate() {
        assert!(!digests[..place].contains(digest), "{place}");
    }
    let longer = ExpiringFilter::builder(2 * super::TTL)
        .capacity(100)
        .seed(7);
    assert!(!digests.contains(&longer.build().expect("a filter").digest()));
}

/// Two threads insert items, and one of them removes some of them. At rest, the digest is that of
/// the remaining items.
#[test]
fn it_is_read_beside_others() {
    let filter = filter(16, 20_000, 7);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for item in 0..10_000 {
                filter.insert(&item).expect("room");
                if item % 2 == 1 {
                    assert!(filter.remove(&item));
                }
                if item % 5_000 == 0 {
                    filter.advance();
                }
            }
        });
        let mut digests = 0;
        while !writer.is_finished() || digests == 0 {
            std::hint::black_box(filter.digest());
            digests += 1;
        }
    });
    assert_eq!(filter.digest(), expected(&filter.to_bytes()));
}

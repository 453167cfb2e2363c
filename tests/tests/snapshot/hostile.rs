//! A snapshot constructed by an attacker, with a valid checksum, gives a typed error or a filter
//! that works. The memory is in proportion to its length.

mod growable;

use super::common::{
    allocated::allocated_by,
    fields::{
        BUCKETS, CAPACITY, COUNTER_BITS, FINGERPRINT_BITS, HEADER, LEVEL, LEVELS, MAX_CAPACITY,
        PREFIXES, PROBE, SEED, SLOTS, TAG, WORDS, fix_checksum, number, with, with_byte,
    },
    layouts::{LAYOUTS, SEMI_SORTED, fill, filter, semi_sorted},
};
use crate::common::filters::GROWABLE_BITS;
use guira::{CuckooFilter, SnapshotError};
use rand::{Rng, RngExt, SeedableRng, rngs::SmallRng};

/// Reads a snapshot, and checks the sum of all allocations.
fn read(bytes: &[u8]) -> Result<CuckooFilter, SnapshotError> {
    let (result, allocated) = allocated_by(|| CuckooFilter::from_bytes(bytes));
    assert!(
        allocated <= 5 * bytes.len() + (64 << 10),
        "{allocated} bytes were allocated for {} bytes of input",
        bytes.len()
    );
    result
}

/// Checks that the result is the geometry error about `what`.
fn assert_geometry(bytes: &[u8], what: &str) {
    match read(bytes).expect_err("impossible geometry") {
        SnapshotError::Geometry { what: found, .. } => assert_eq!(found, what),
        error => panic!("{what}: {error}"),
    }
}

/// Checks that the result is the error about the word at this place.
fn assert_word(bytes: &[u8], bucket: usize, plane: usize) {
    match read(bytes).expect_err("an impossible word") {
        SnapshotError::Word {
            bucket: b,
            plane: p,
            ..
        } => assert_eq!((b, p), (bucket, plane)),
        error => panic!("bucket {bucket} of plane {plane}: {error}"),
    }
}

/// A snapshot of each layout before growth.
fn small() -> impl Iterator<Item = (u32, Vec<u8>)> {
    LAYOUTS.into_iter().map(|bits| {
        let filter = filter(bits, 100);
        fill(&filter, 0..100);
        (bits, filter.to_bytes())
    })
}

/// The snapshot of a filter that has doubled as often as possible.
fn grown(bits: u32) -> Vec<u8> {
    // More than 27 bits come with many doublings.
    let capacity = if bits > 27 { 20 } else { 1_000 };
    let filter = filter(bits, capacity);
    let levels = u32::from(filter.header()[LEVELS]);
    let mut items = 4 * capacity;
    fill(&filter, 0..items);
    filter.finish_growth();
    while filter.stats().doublings < levels {
        items += fill(&filter, items..items + 10);
        filter.finish_growth();
    }
    let bytes = filter.to_bytes();
    assert_eq!(number(&bytes, LEVEL), u64::from(levels));
    bytes
}

#[test]
fn valid_snapshots_of_all_sizes_take_little_memory() {
    for bits in LAYOUTS {
        for capacity in [1, 100, 10_000, 100_000] {
            let filter = filter(bits, capacity);
            read(&filter.to_bytes()).expect("a snapshot");
            fill(&filter, 0..filter.max_capacity());
            read(&filter.to_bytes()).expect("a snapshot");
        }
    }
    for (_, rate) in SEMI_SORTED {
        let filter = semi_sorted(rate, 10_000);
        read(&filter.to_bytes()).expect("a snapshot");
        fill(&filter, 0..10_000);
        read(&filter.to_bytes()).expect("a snapshot");
    }
    let filter = filter(15, 3_000_000);
    read(&filter.to_bytes()).expect("a snapshot");
}

#[test]
fn sizes_that_cannot_be() {
    for (bits, bytes) in small() {
        for buckets in [0, 1, 3, 1 << 33, 1 << 60, (1 << 60) + 2, 1 << 63, u64::MAX] {
            assert_geometry(&with(&bytes, BUCKETS, buckets), "buckets");
        }
        for capacity in [1 << 60, 1 << 63, u64::MAX] {
            assert_geometry(&with(&bytes, CAPACITY, capacity), "capacity");
            assert_geometry(&with(&bytes, MAX_CAPACITY, capacity), "maximal capacity");
        }
        assert_geometry(&with(&bytes, MAX_CAPACITY, 0), "capacity");
        for slots in [0, bytes[SLOTS] - 1, bytes[SLOTS] + 1, 255] {
            assert_geometry(&with_byte(&bytes, SLOTS, slots), "slots of a bucket");
        }
        for other in (0..=255).filter(|&other| u32::from(other) != bits) {
            // If all words are possible in the other layout, the result is a filter of that layout.
            let Err(error) = read(&with_byte(&bytes, FINGERPRINT_BITS, other)) else {
                continue;
            };
            let expected = match &error {
                SnapshotError::Geometry { what, .. } => [
                    "fingerprint bits",
                    "prefixes",
                    "slots of a bucket",
                    "levels",
                ]
                .contains(what),
                // The layouts have the same number of slots, but use other bits.
                SnapshotError::Word { .. } => true,
                _ => false,
            };
            assert!(expected, "{bits} as {other}: {error}");
        }
        for prefixes in [1, 8, 255] {
            assert_geometry(&with_byte(&bytes, PREFIXES, prefixes), "prefixes");
        }
        for levels in [32, 63, 64, 65, 128, 255] {
            assert_geometry(&with_byte(&bytes, LEVELS, levels), "levels");
        }
    }
}

#[test]
fn counters_that_no_filter_has() {
    for (_, bytes) in small() {
        for counter_bits in [1, 2, 3, 5, 16, 1 << 32, 1 << 63] {
            assert_geometry(&with(&bytes, COUNTER_BITS, counter_bits), "counter bits");
        }
    }
}

/// A header claims more buckets than there are words. Their memory is not allocated.
#[test]
fn sizes_that_the_bytes_do_not_have() {
    for (_, bytes) in small() {
        let buckets = number(&bytes, BUCKETS);
        for more in [buckets + 2, 2 * buckets, 1 << 20, 1 << 26] {
            let bytes = with(&bytes, BUCKETS, more);
            let error = read(&bytes).expect_err("missing words");
            assert!(
                matches!(
                    error,
                    SnapshotError::Truncated
                        | SnapshotError::Geometry {
                            what: "chunk tag" | "buckets",
                            ..
                        }
                ),
                "{buckets} + {more}: {error}"
            );
        }
        if buckets > 2 {
            read(&with(&bytes, BUCKETS, buckets - 2)).expect_err("too many words");
        }
    }
}

#[test]
fn passes_that_cannot_be() {
    for (_, bytes) in small() {
        let levels = u64::from(bytes[LEVELS]);
        for level in [levels + 1, 64, 1 << 32, u64::MAX] {
            assert_geometry(&with(&bytes, LEVEL, level), "level");
        }
        if levels > 0 {
            let error = read(&with(&bytes, LEVEL, 1)).expect_err("half of the words");
            assert!(matches!(
                error,
                SnapshotError::Truncated | SnapshotError::Geometry { .. }
            ));
        }
        for tag in [2, 1 << 32, u64::MAX] {
            assert_geometry(&with(&bytes, TAG, tag), "chunk tag");
        }
    }
}

/// A pass of one plane with one chunk, which the next pass replaces.
fn cut_off(bytes: &[u8]) -> Vec<u8> {
    let chunk = (512_usize >> bytes[LEVELS]).max(8);
    let words = vec![0; 8 * chunk.min(number(bytes, BUCKETS) as usize)];
    [&[0; 16], &words[..], &1_u64.to_le_bytes()].concat()
}

/// A snapshot with these passes before its own.
fn after(passes: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut bytes = [&bytes[..HEADER], passes, &bytes[HEADER..]].concat();
    fix_checksum(&mut bytes);
    bytes
}

/// Each of these passes would allocate a table.
#[test]
fn passes_without_a_chunk_are_refused() {
    for bytes in small()
        .map(|(_, bytes)| bytes)
        .chain(GROWABLE_BITS.map(grown))
    {
        let empty = [0_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat();
        for count in [1, 50_000] {
            assert_geometry(&after(&empty.repeat(count), &bytes), "chunk tag");
        }
    }
}

/// Each pass has more planes than the one before, and the last possible one must be complete.
#[test]
fn passes_that_do_not_rise_are_refused() {
    // These snapshots have several chunks.
    for bytes in LAYOUTS.map(|bits| filter(bits, 10_000).to_bytes()) {
        let cut_off = cut_off(&bytes);
        let what = match bytes[LEVELS] {
            0 => "chunk tag",
            _ => "level",
        };
        for count in [1, 1_000] {
            assert_geometry(&after(&cut_off.repeat(count), &bytes), what);
        }
    }
    for bytes in GROWABLE_BITS.map(grown) {
        let once = after(&cut_off(&bytes), &bytes);
        assert_eq!(read(&once).expect("a snapshot").to_bytes(), bytes);
        let twice = after(&cut_off(&bytes).repeat(2), &bytes);
        assert_geometry(&twice, "level");
        // The pass of the last level ends after its first chunk.
        let level = number(&bytes, LEVEL);
        let chunk = (512_usize >> bytes[LEVELS]).max(8) << level;
        let first = &bytes[LEVEL..WORDS + 8 * chunk];
        let last = [first, &1_u64.to_le_bytes()].concat();
        assert_geometry(&after(&last, &bytes), "chunk tag");
    }
}

/// Every bit outside the fingerprints: marks, reservations, phases, and unused bits.
#[test]
fn words_that_are_not_at_rest() {
    for (bits, bytes) in small() {
        let slots = usize::from(bytes[SLOTS]);
        let lane = match (bits, bytes[LEVELS]) {
            (15, 0) => 16,
            (30, 0) => 32,
            _ => bits as usize,
        };
        let payload = |bit: usize| bit / lane < slots && bit % lane < bits as usize;
        let others: Vec<_> = (0..64).filter(|&bit| !payload(bit)).collect();
        assert_eq!(others.len(), 64 - slots * bits as usize);
        let last = number(&bytes, BUCKETS) as usize - 1;
        for bucket in [0, 1, last] {
            let at = place(&bytes, 0, bucket);
            let word = number(&bytes, at);
            for &bit in &others {
                assert_word(&with(&bytes, at, word ^ 1 << bit), bucket, 0);
            }
            let all = others.iter().fold(0, |all, bit| all | 1 << bit);
            assert_word(&with(&bytes, at, word | all), bucket, 0);
        }
    }
}

/// Heads that no unmarked word has, and slots in the wrong order.
#[test]
fn semi_sorted_words_that_are_not_at_rest() {
    for (name, rate) in SEMI_SORTED {
        let filter = semi_sorted(rate, 100);
        fill(&filter, 0..100);
        let bytes = filter.to_bytes();
        let [raw_bits, slots, prefixes] =
            [FINGERPRINT_BITS, SLOTS, PREFIXES].map(|at| u64::from(bytes[at]));
        // The number of multisets of prefixes.
        let quiet = (1..=slots).fold(1, |sets, size| sets * (prefixes + size - 1) / size);
        let (shift, lane) = (raw_bits * slots, (1 << raw_bits) - 1);
        let last = number(&bytes, BUCKETS) as usize - 1;
        for bucket in [0, 1, last] {
            let at = place(&bytes, 0, bucket);
            let lanes = number(&bytes, at) & ((1 << shift) - 1);
            let heads = 64 - shift;
            let beyond = (0..heads).map(|bit| quiet | 1 << bit);
            for head in beyond.chain([(1 << heads) - 1]) {
                assert_word(&with(&bytes, at, head << shift | lanes), bucket, 0);
            }
            // All slots have the first prefix. In one pair of neighbours, the lower slot is the
            // greater.
            for lower in 0..slots - 1 {
                let one_each = (lower..slots).fold(0, |all, slot| all | 1 << (raw_bits * slot));
                let above = one_each & !(1 << (raw_bits * lower));
                let disorder = above | lane << (raw_bits * lower);
                read(&with(&bytes, at, one_each)).expect("a word in order");
                assert_word(&with(&bytes, at, disorder), bucket, 0);
            }
            // The last possible word is full of the largest fingerprint.
            let largest = (quiet - 1) << shift | ((1 << shift) - 1);
            let filled = read(&with(&bytes, at, largest));
            assert!(filled.is_ok(), "{name}");
        }
    }
}

/// The position of the word of `plane` and `bucket` in a snapshot of one pass.
fn place(bytes: &[u8], plane: usize, bucket: usize) -> usize {
    let levels = u32::from(bytes[LEVELS]);
    let chunk = (512_usize >> levels).max(8);
    let buckets = number(bytes, BUCKETS) as usize;
    let level = number(bytes, LEVEL);
    let whole = bucket / chunk;
    let width = chunk.min(buckets - whole * chunk);
    TAG + whole * 8 * (1 + (chunk << level)) + 8 + 8 * (plane * width + bucket % chunk)
}

#[test]
fn seeds_and_hashers() {
    for (_, bytes) in small() {
        for at in [SEED, PROBE] {
            let other = with(&bytes, at, number(&bytes, at) ^ 1 << 40);
            let error = read(&other).expect_err("another hasher");
            assert!(matches!(error, SnapshotError::Hasher { .. }), "{error}");
        }
    }
}

#[test]
fn random_bytes() {
    let mut random = SmallRng::seed_from_u64(1);
    let (_, valid) = small().next().expect("a layout");
    for round in 0..20_000 {
        let length = random.random_range(0..2_000);
        let mut bytes = vec![0; length];
        random.fill_bytes(&mut bytes);
        // A header, valid in half of the inputs, leads to later checks.
        if round % 2 == 0 && length > HEADER + 4 {
            bytes[..HEADER].copy_from_slice(&valid[..HEADER]);
            fix_checksum(&mut bytes);
        }
        read(&bytes).expect_err("random bytes");
    }
}

//! A snapshot made up by an attacker, with a right checksum, gives a typed error
//! or a filter that works, in memory that its length justifies.

use crate::common::{
    allocated::allocated_by,
    fields::{
        BUCKETS, CAPACITY, FINGERPRINT_BITS, HEADER, LEVEL, LEVELS, MAX_CAPACITY, PROBE, RESERVED,
        RESERVED_NUMBER, SEED, SLOTS, TAG, WORDS, fix_checksum, number, with, with_byte,
    },
    layouts::{LAYOUTS, fill, filter},
};
use guira::{CuckooFilter, SnapshotError};
use rand::{Rng, RngExt, SeedableRng, rngs::SmallRng};

/// Reads a snapshot; checks how much memory that takes, all allocations together.
fn read(bytes: &[u8]) -> Result<CuckooFilter, SnapshotError> {
    let (result, allocated) = allocated_by(|| CuckooFilter::from_bytes(bytes));
    assert!(
        allocated <= 2 * bytes.len() + (64 << 10),
        "{allocated} bytes were allocated for {} bytes of input",
        bytes.len()
    );
    result
}

/// The geometry error about `what`.
fn assert_geometry(bytes: &[u8], what: &str) {
    match read(bytes).expect_err("impossible geometry") {
        SnapshotError::Geometry { what: found, .. } => assert_eq!(found, what),
        error => panic!("{what}: {error}"),
    }
}

/// The error about the word in this place.
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

/// A snapshot of each layout, not grown.
fn small() -> impl Iterator<Item = (u32, Vec<u8>)> {
    LAYOUTS.into_iter().map(|bits| {
        let filter = filter(bits, 100).expect("a filter");
        fill(&filter, 0..100);
        (bits, filter.to_bytes())
    })
}

/// A filter with fingerprints of 14 bits that has doubled, and can no more.
fn grown() -> CuckooFilter {
    let filter = filter(14, 1_000).expect("a filter");
    fill(&filter, 0..4_000);
    filter.finish_growth();
    assert!(filter.stats().level >= 1);
    filter
}

#[test]
fn valid_snapshots_of_all_sizes_take_little_memory() {
    for bits in LAYOUTS {
        for capacity in [1, 100, 10_000, 100_000] {
            let filter = filter(bits, capacity).expect("a filter");
            read(&filter.to_bytes()).expect("a snapshot");
            fill(&filter, 0..filter.max_capacity());
            read(&filter.to_bytes()).expect("a snapshot");
        }
    }
    let filter = filter(15, 3_000_000).expect("a filter");
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
        for slots in [0, 1, bytes[SLOTS] + 1, 255] {
            assert_geometry(&with_byte(&bytes, SLOTS, slots), "slots of a bucket");
        }
        for other in (0..=255).filter(|&other| u32::from(other) != bits) {
            // If all words are possible in the other layout, it is a filter of that.
            let Err(error) = read(&with_byte(&bytes, FINGERPRINT_BITS, other)) else {
                continue;
            };
            let expected = match &error {
                SnapshotError::Geometry { what, .. } => {
                    ["fingerprint bits", "slots of a bucket", "levels"].contains(what)
                }
                // As many slots, and other bits in use.
                SnapshotError::Word { .. } => true,
                _ => false,
            };
            assert!(expected, "{bits} as {other}: {error}");
        }
        for levels in [32, 63, 64, 65, 128, 255] {
            assert_geometry(&with_byte(&bytes, LEVELS, levels), "levels");
        }
    }
}

/// What may mean something in a later version means nothing in this one.
#[test]
fn reserved_bytes_must_be_0() {
    for (_, bytes) in small() {
        let changed = [
            with_byte(&bytes, RESERVED, 1),
            with(&bytes, RESERVED_NUMBER, 1 << 63),
        ];
        for bytes in changed {
            assert_geometry(&bytes, "reserved bytes");
        }
    }
}

/// More buckets than there are words: their memory is not allocated.
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
                            what: "chunk tag",
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

/// Any number of passes that were broken off is in order, and costs no memory.
#[test]
fn passes_without_end() {
    let (_, bytes) = small().next().expect("a layout");
    let mut passes = bytes[..HEADER].to_vec();
    for _ in 0..50_000 {
        passes.extend_from_slice(&0_u64.to_le_bytes());
        passes.extend_from_slice(&1_u64.to_le_bytes());
    }
    let mut endless = passes.clone();
    endless.extend_from_slice(&[0; 4]);
    fix_checksum(&mut endless);
    assert!(matches!(read(&endless), Err(SnapshotError::Truncated)));
    passes.extend_from_slice(&bytes[HEADER..]);
    fix_checksum(&mut passes);
    assert_eq!(read(&passes).expect("a snapshot").to_bytes(), bytes);
}

/// Every bit outside of the fingerprints: marks, reservations, phases, and those
/// without a meaning.
#[test]
fn words_that_are_not_at_rest() {
    for (bits, bytes) in small() {
        let slots = usize::from(bytes[SLOTS]);
        let lane = match slots {
            4 => 16,
            2 => 32,
            _ => bits as usize,
        };
        let payload = |bit: usize| bit / lane < slots && bit % lane < bits as usize;
        let others: Vec<_> = (0..64).filter(|&bit| !payload(bit)).collect();
        assert_eq!(others.len(), 64 - slots * bits as usize);
        let last = (bytes.len() - WORDS - 4) / 8 - 1;
        for at in [0, 1, last] {
            let word = number(&bytes, WORDS + 8 * at);
            for &bit in &others {
                assert_word(&with(&bytes, WORDS + 8 * at, word | 1 << bit), at, 0);
            }
            let all = others.iter().fold(0, |all, bit| all | 1 << bit);
            assert_word(&with(&bytes, WORDS + 8 * at, word | all), at, 0);
        }
    }
}

/// The number of the word of `plane` and `bucket`, in a snapshot of one pass.
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
fn fingerprints_in_another_plane() {
    let bytes = grown().to_bytes();
    let planes = 1 << number(&bytes, LEVEL);
    for (plane, bucket) in [(0, 0), (0, 9), (1, 0), (planes - 1, 3)] {
        let at = place(&bytes, plane, bucket);
        let word = number(&bytes, at);
        for slot in 0..4 {
            let fingerprint = word >> (16 * slot) & 0x3fff;
            if fingerprint != 0 {
                let astray = word ^ 1 << (16 * slot);
                assert_word(&with(&bytes, at, astray), bucket, plane);
            }
        }
    }
}

#[test]
fn words_of_other_levels() {
    // The phase of 14 × 4: bit 4 to 7 of the control bits, in the lanes' top bits:
    // 14, 15, 30, 31 have the mark and the reservation, 46, 47, 62, 63 the phase.
    let phase = |word: u64, phase: u64| {
        word & !(0b11 << 46 | 0b11 << 62) | (phase & 3) << 46 | (phase >> 2) << 62
    };
    let bytes = grown().to_bytes();
    let level = number(&bytes, LEVEL);
    let at = place(&bytes, 0, 5);
    assert_eq!(
        phase(number(&bytes, at), 2 * level),
        number(&bytes, at),
        "the phase is there"
    );
    for other in (0..16).filter(|&other| other != 2 * level) {
        let changed = with(&bytes, at, phase(number(&bytes, at), other));
        read(&changed).expect_err("a word of another level, or frozen");
    }
    // Below the level with which its plane begins, with nothing in it.
    let plane = (1 << level) - 1;
    let changed = with(&bytes, place(&bytes, plane, 5), phase(0, 2 * (level - 1)));
    assert_word(&changed, 5, plane);
    // A level that has not begun anywhere.
    let filter = filter(14, 1_000).expect("a filter");
    let bytes = filter.to_bytes();
    assert_word(&with(&bytes, WORDS, phase(0, 2)), 0, 0);
}

/// Two levels apart: no filter begins a level before all words have completed the
/// one before it, and one that had would scan itself without end.
#[test]
fn words_two_levels_apart() {
    let filter = CuckooFilter::builder()
        .capacity(200)
        .max_capacity(3_000)
        .fingerprint_bits(18)
        .build()
        .expect("a filter");
    fill(&filter, 0..3_000);
    filter.finish_growth();
    let bytes = filter.to_bytes();
    let level = number(&bytes, LEVEL) as usize;
    assert!(level >= 2, "{level}");
    // Bucket 0 as it is before the first split.
    let mut changed = bytes.clone();
    for plane in 0..1 << level {
        changed = with(&changed, place(&bytes, plane, 0), 0);
    }
    assert_word(&changed, 0, 0);
}

/// A word in a plane that its bucket has not reached.
#[test]
fn words_in_planes_that_cannot_exist() {
    let filter = filter(14, 1_000).expect("a filter");
    let mut items = 0;
    while filter.stats().buckets_to_split == 0 {
        items += fill(&filter, items..items + 1);
    }
    let bytes = filter.to_bytes();
    assert_eq!(number(&bytes, LEVEL), 1);
    let unsplit: Vec<_> = (0..100)
        .filter(|&bucket| number(&bytes, place(&bytes, 1, bucket)) == 0)
        .collect();
    assert!(unsplit.len() > 10, "few words are split yet");
    for bucket in unsplit {
        let at = place(&bytes, 1, bucket);
        for word in [1, 0xff, 1 << 47, u64::MAX] {
            assert_word(&with(&bytes, at, word), bucket, 1);
        }
    }
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
        // With a header, half of it valid, that leads further.
        if round % 2 == 0 && length > HEADER + 4 {
            bytes[..HEADER].copy_from_slice(&valid[..HEADER]);
            fix_checksum(&mut bytes);
        }
        read(&bytes).expect_err("random bytes");
    }
}

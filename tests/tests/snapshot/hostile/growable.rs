//! Impossible words in snapshots of filters that can grow. docs/FORMAT.md describes the words.

use super::{assert_word, grown, place, read};
use crate::common::filters::GROWABLE_BITS;
use crate::snapshot::common::{
    fields::{FINGERPRINT_BITS, LEVEL, WORDS, number, with},
    layouts::{fill, filter},
};
use guira::{CuckooFilter, SnapshotError};

/// The level of the words before the first doubling.
fn first_level(bytes: &[u8]) -> u64 {
    40 - u64::from(bytes[FINGERPRINT_BITS])
}

/// The number of bits of a slot, and of slots of a word.
fn lanes(level: u64) -> (u64, u64) {
    let bits = 40 - level;
    (bits, (54 / bits).min(6))
}

fn level_of(word: u64) -> u64 {
    word >> 59
}

/// The word with another phase.
fn with_phase(word: u64, phase: u64) -> u64 {
    word & !(0x3f << 58) | phase << 58
}

/// A word of a level whose last slot contains `stored`.
fn word_with(level: u64, stored: u64) -> u64 {
    let (bits, slots) = lanes(level);
    with_phase(stored << ((slots - 1) * bits), 2 * level)
}

/// If the slots of a level leave bits unused, these bits are not a further slot.
#[test]
fn words_with_more_slots_than_their_level_has() {
    let mut unused = 0;
    for bits in GROWABLE_BITS {
        let grown = grown(bits);
        let not_grown = filter(bits, 1_000).to_bytes();
        for bytes in [not_grown, grown] {
            let at = place(&bytes, 0, 5);
            let word = number(&bytes, at);
            let (stored, slots) = lanes(level_of(word));
            for bit in stored * slots..58 {
                assert_word(&with(&bytes, at, word | 1 << bit), 5, 0);
                unused += u64::from(bit < 54);
            }
        }
    }
    assert!(unused > 0, "no level has unused bits");
}

/// A slot whose fingerprint would become 0 at level 31.
#[test]
fn fingerprints_that_end_as_an_empty_slot() {
    for bits in GROWABLE_BITS {
        let bytes = filter(bits, 1_000).to_bytes();
        let first = first_level(&bytes);
        let at = place(&bytes, 0, 5);
        let levels = 31 - first;
        for bit in 0..u64::from(bits) {
            let changed = with(&bytes, at, word_with(first, 1 << bit));
            match bit < levels {
                true => assert_word(&changed, 5, 0),
                false => drop(read(&changed).expect("a filter of one item")),
            }
        }
        let all_lost = (1 << levels) - 1;
        assert_word(&with(&bytes, at, word_with(first, all_lost)), 5, 0);
        // A valid fingerprint in another slot does not hide it.
        if lanes(first).1 > 1 {
            let both = word_with(first, all_lost) | 1 << levels;
            assert_word(&with(&bytes, at, both), 5, 0);
        }

        // With each level, there are fewer doublings left.
        let bytes = grown(bits);
        let level = first + number(&bytes, LEVEL);
        let at = place(&bytes, 1, 5);
        let least = 1 << (31 - level);
        let changed = with(&bytes, at, word_with(level, least));
        read(&changed).expect("a filter");
        if level < 31 {
            assert_word(&with(&bytes, at, word_with(level, least >> 1)), 5, 1);
        }
    }
}

#[test]
fn words_of_other_levels() {
    for bits in GROWABLE_BITS {
        let bytes = grown(bits);
        let first = first_level(&bytes);
        let level = first + number(&bytes, LEVEL);
        let at = place(&bytes, 0, 5);
        assert_eq!(level_of(number(&bytes, at)), level, "the phase is there");
        for other in (0..64).filter(|&other| other != 2 * level) {
            // The word keeps its fingerprints, or is empty.
            for word in [number(&bytes, at), 0] {
                let changed = with(&bytes, at, with_phase(word, other));
                let error = read(&changed).expect_err("a word of another level, or frozen");
                assert!(
                    matches!(error, SnapshotError::Word { bucket: 5, .. }),
                    "{error}"
                );
            }
        }
        // An empty word with a level below the first one of its plane.
        let plane = (1 << (level - first)) - 1;
        let changed = with(&bytes, place(&bytes, plane, 5), word_with(level - 1, 0));
        assert_word(&changed, 5, plane);
        // A level that has not begun in any word, and a level that the filter never had.
        let bytes = filter(bits, 1_000).to_bytes();
        for other in (0..32).filter(|&other| other != first) {
            assert_word(&with(&bytes, WORDS, word_with(other, 0)), 0, 0);
        }
    }
}

/// Words that are two levels apart. No filter begins a level before all words have completed the
/// one before it, and scans of this filter would not end.
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
    // Bucket 0 as it is before its first split.
    let mut changed = bytes.clone();
    for plane in 1..1 << level {
        changed = with(&changed, place(&bytes, plane, 0), 0);
    }
    let first = first_level(&bytes);
    for level in [first, first + 1] {
        changed = with(&changed, place(&bytes, 0, 0), word_with(level, 0));
        read(&changed).expect_err("words two levels apart, or without one that was split off");
    }
    changed = with(&changed, place(&bytes, 0, 0), word_with(first, 0));
    assert_word(&changed, 0, 0);
}

/// A word in a plane that its bucket has not reached.
#[test]
fn words_in_planes_that_cannot_exist() {
    let filter = filter(14, 1_000);
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
    let level = first_level(&bytes) + 1;
    for bucket in unsplit {
        let at = place(&bytes, 1, bucket);
        for word in [
            1,
            0xff,
            1 << 58,
            u64::MAX,
            word_with(level, 0),
            word_with(level, 9),
        ] {
            assert_word(&with(&bytes, at, word), bucket, 1);
        }
    }
}

//! The words of a snapshot, found without the library.

use super::fields::{BUCKETS, FINGERPRINT_BITS, LEVEL, LEVELS, SLOTS, TAG, number};

/// The fingerprints in a snapshot of one pass, of a layout with 4 slots.
pub(crate) fn fingerprints(bytes: &[u8]) -> usize {
    assert_eq!(bytes[SLOTS], 4, "slots");
    let mask = (1 << bytes[FINGERPRINT_BITS]) - 1;
    let chunk = (512_usize >> bytes[LEVELS]).max(8);
    let (mut buckets, mut at) = (number(bytes, BUCKETS) as usize, TAG);
    let mut fingerprints = 0;
    while buckets > 0 {
        let width = chunk.min(buckets);
        assert_eq!(number(bytes, at), 0, "a chunk follows");
        for word in 1..=width << number(bytes, LEVEL) {
            let word = number(bytes, at + 8 * word);
            let lanes = (0..4).filter(|lane| word >> (16 * lane) & mask != 0);
            fingerprints += lanes.count();
        }
        buckets -= width;
        at += 8 * (1 + (width << number(bytes, LEVEL)));
    }
    assert_eq!(at + 4, bytes.len(), "nothing but the checksum is left");
    fingerprints
}

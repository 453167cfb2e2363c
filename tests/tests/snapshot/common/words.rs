//! Reads the contents of a snapshot as `docs/FORMAT.md` describes them, without the library.

/// The bucket and the whole fingerprint of each copy in a snapshot of one pass.
pub(crate) fn copies(bytes: &[u8]) -> Vec<(u64, u64)> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let (f, doublings) = (u64::from(bytes[12]), bytes[14]);
    let (buckets, planes) = (number(16), 1 << number(64));
    let chunk = (512_u64 >> doublings).max(8);
    let (mut copies, mut bucket, mut at) = (Vec::new(), 0, 72);
    while bucket < buckets {
        assert_eq!(number(at), 0, "a chunk follows");
        at += 8;
        let width = chunk.min(buckets - bucket);
        for plane in 0..planes {
            for bucket in bucket..bucket + width {
                let fingerprints = fingerprints(f, doublings, plane, number(at));
                copies.extend(fingerprints.map(|fingerprint| (bucket, fingerprint)));
                at += 8;
            }
        }
        bucket += width;
    }
    assert_eq!(at + 4, bytes.len(), "only the checksum is left");
    copies
}

/// The fingerprints in a word of a plane.
fn fingerprints(f: u64, doublings: u8, plane: u64, word: u64) -> impl Iterator<Item = u64> {
    // The level, the bits that a slot stores, the slots, the bits of a lane, and the bits that the
    // plane implies.
    let (level, stored, slots, lane, below) = match (doublings, f) {
        (0, 15) => (0, 15, 4, 16, 0),
        (0, 30) => (0, 30, 2, 32, 0),
        (0, _) => (0, f, 60 / f, f, 0),
        // A word that does not exist yet is 0, and has no fingerprint at any level.
        (_, _) => {
            let (level, first) = ((word >> 59).max(40 - f), 40 - f);
            let stored = 40 - level;
            let slots = (54 / stored).min(6);
            (level, stored, slots, stored, plane << first)
        }
    };
    let slot = move |slot| word >> (slot * lane) & ((1 << stored) - 1);
    let used = (0..slots).map(slot).filter(|&stored| stored != 0);
    used.map(move |stored| stored << level | below)
}

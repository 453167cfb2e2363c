//! Damage of a snapshot or header is refused, for both kinds of filters.

use guira::SnapshotError;
use serde::de::DeserializeOwned;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Checks that no bytes with one flipped bit are restored.
pub(crate) fn assert_flipped_bits_are_refused<R>(
    bytes: &[u8],
    restore: impl Fn(&[u8]) -> Result<R, SnapshotError>,
) {
    let mut bytes = bytes.to_vec();
    for bit in 0..8 * bytes.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(restore(&bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Checks that no bytes are restored that are cut off, or followed by others.
pub(crate) fn assert_other_lengths_are_refused<R>(
    bytes: &[u8],
    restore: impl Fn(&[u8]) -> Result<R, SnapshotError>,
) {
    for length in 0..bytes.len() {
        let cut = restore(&bytes[..length]);
        assert!(matches!(cut, Err(SnapshotError::Truncated)), "{length}");
    }
    for more in [1, 3] {
        let longer = restore(&[bytes, &vec![0; more]].concat());
        assert!(matches!(longer, Err(SnapshotError::TrailingBytes { count }) if count == more));
    }
}

/// Checks that no part of the bytes, and no change of a byte, is a filter.
pub(crate) fn assert_postcard_is_refused<F: DeserializeOwned>(bytes: &[u8]) {
    assert!(postcard::from_bytes::<F>(bytes).is_ok());
    for length in 0..bytes.len() {
        assert!(postcard::from_bytes::<F>(&bytes[..length]).is_err());
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1;
        assert!(postcard::from_bytes::<F>(&damaged).is_err());
    }
}

/// The directory of the initial inputs of a fuzzer.
pub(crate) fn corpus(fuzzer: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    all.join(fuzzer)
}

/// Checks the initial inputs of a fuzzer: most are snapshots.
pub(crate) fn assert_corpus_keeps_to_the_law(fuzzer: &str, check: fn(&[u8]) -> bool) {
    let (mut inputs, mut accepted) = (0, 0);
    for entry in fs::read_dir(corpus(fuzzer)).expect("the corpus is in the repository") {
        let bytes = fs::read(entry.expect("a file").path()).expect("a file");
        inputs += 1;
        accepted += u32::from(check(&bytes));
    }
    assert!(inputs >= 20 && accepted >= 20, "{accepted} of {inputs}");
}

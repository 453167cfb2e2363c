//! The fields of a snapshot, as `docs/FORMAT.md` describes them, and changes of them under a valid
//! checksum.

pub(crate) const HEADER: usize = 64;
pub(crate) const FINGERPRINT_BITS: usize = 12;
pub(crate) const SLOTS: usize = 13;
pub(crate) const LEVELS: usize = 14;
pub(crate) const PREFIXES: usize = 15;
pub(crate) const BUCKETS: usize = 16;
pub(crate) const CAPACITY: usize = 24;
pub(crate) const MAX_CAPACITY: usize = 32;
pub(crate) const SEED: usize = 40;
pub(crate) const PROBE: usize = 48;
pub(crate) const COUNTER_BITS: usize = 56;
/// The positions of the level of the first pass, the tag of its first chunk, and its first word.
pub(crate) const LEVEL: usize = 64;
pub(crate) const TAG: usize = 72;
pub(crate) const WORDS: usize = 80;

/// Replaces the checksum at the end by that of the bytes before it.
pub(crate) fn fix_checksum(bytes: &mut [u8]) {
    let (body, sum) = bytes.split_last_chunk_mut::<4>().expect("a checksum");
    *sum = crc32fast::hash(body).to_le_bytes();
}

/// Returns `bytes` with another number at `at`, under a valid checksum.
pub(crate) fn with(bytes: &[u8], at: usize, number: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    fix_checksum(&mut bytes);
    bytes
}

/// Returns `bytes` with another byte at `at`, under a valid checksum.
pub(crate) fn with_byte(bytes: &[u8], at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] = byte;
    fix_checksum(&mut bytes);
    bytes
}

pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[at..at + 8].try_into().expect("8 bytes");
    u64::from_le_bytes(bytes)
}

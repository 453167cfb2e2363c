//! Changes of an input that a decoder may not expect.

use super::LONGEST;
use rand::{RngExt, rngs::SmallRng};

/// Numbers at which the meaning of fields changes.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    3,
    4,
    8,
    9,
    16,
    17,
    18,
    512,
    1 << 12,
    1 << 17,
    1 << 20,
    1 << 22,
    1 << 24,
    1 << 32,
    1 << 33,
    1 << 63,
    u64::MAX,
];

/// The number of bytes at the beginning that headers occupy.
const HEAD: usize = 96;

/// Replaces the last 4 bytes by the CRC-32 of the bytes before them.
pub fn fix_checksum(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
}

/// Changes `bytes` in one way. `other` is a valid input.
pub(super) fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut SmallRng) {
    match random.random_range(0..10) {
        0..2 => set_number(bytes, HEAD, random),
        2 => set_number(bytes, usize::MAX, random),
        3..5 => set_byte(bytes, random),
        5 => repeat(bytes, random),
        6 => insert_pairs(bytes, random),
        7 => {
            let section = section(bytes.len(), usize::MAX, random);
            bytes.drain(section);
        }
        8 => {
            let (at, from) = (place(bytes.len(), random), place(other.len(), random));
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => {
            let more = random.random_range(1..LONGEST / 8) * 8;
            bytes.resize(LONGEST.min(bytes.len() + more), 0);
        }
    }
}

/// A position in `length` bytes at which a number can begin.
fn place(length: usize, random: &mut SmallRng) -> usize {
    random.random_range(0..=length / 8) * 8
}

/// A section of `length` bytes that is at most `longest` bytes long.
fn section(length: usize, longest: usize, random: &mut SmallRng) -> std::ops::Range<usize> {
    let (a, b) = (place(length, random), place(length, random));
    let start = a.min(b);
    start..a.max(b).min(start.saturating_add(longest))
}

fn set_number(bytes: &mut [u8], within: usize, random: &mut SmallRng) {
    let at = place(bytes.len().min(within), random);
    let Some(number) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<8>) else {
        return;
    };
    let before = u64::from_le_bytes(*number);
    let after = match random.random_range(0..5) {
        0 => before.wrapping_add(1),
        1 => before.wrapping_mul(2),
        2 => before / 2,
        _ => EDGES[random.random_range(0..EDGES.len())],
    };
    *number = after.to_le_bytes();
}

fn set_byte(bytes: &mut [u8], random: &mut SmallRng) {
    let at = random.random_range(0..HEAD);
    if let Some(byte) = bytes.get_mut(at) {
        *byte = match random.random_ratio(1, 2) {
            true => random.random_range(0..32),
            false => random.random(),
        };
    }
}

/// Repeats a short section in place.
fn repeat(bytes: &mut Vec<u8>, random: &mut SmallRng) {
    let repeated = section(bytes.len(), 128, random);
    let at = repeated.end;
    let one = bytes[repeated].to_vec();
    if !one.is_empty() {
        let room = LONGEST.saturating_sub(bytes.len()) / one.len();
        let times = random.random_range(1..512).min(room);
        bytes.splice(at..at, one.repeat(times));
    }
}

/// Inserts two small numbers at some position, many times.
fn insert_pairs(bytes: &mut Vec<u8>, random: &mut SmallRng) {
    let at = place(bytes.len().min(2 * HEAD), random);
    let mut number = || random.random_range(0_u64..3).to_le_bytes();
    let pair = [number(), number()].concat();
    let room = LONGEST.saturating_sub(bytes.len()) / pair.len();
    let times = random.random_range(1..2_048).min(room);
    bytes.splice(at..at, pair.repeat(times));
}

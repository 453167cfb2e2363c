//! What a snapshot says before its words. With a checksum it names an empty filter.

use super::summed::fill;
use crate::{error::SnapshotError, filter::CuckooFilter, geometry::Geometry, hash::SeededState};
use std::{
    any::Any,
    hash::{BuildHasher, Hasher},
};

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"guira\x1a\r\n";

/// What a hasher makes of this number and this text tells hashers apart.
const PROBE: (u64, &[u8]) = (
    0x6775_6972_6120_2121,
    b"Hashers that agree on this text are taken for one and the same.",
);

/// What a snapshot says before its words.
pub(crate) struct Header {
    pub(crate) geometry: Geometry,
    pub(crate) hashing: Hashing,
}

/// What tells by which hasher a filter's items were hashed.
#[derive(Clone, Copy)]
pub(crate) struct Hashing {
    /// The seed of a [`SeededState`], 0 for other hashers.
    pub(crate) seed: u64,
    /// The hasher's [`probe`].
    pub(crate) probe: u64,
}

pub(crate) const HEADER_BYTES: usize = 64;

const CHECKSUM_BYTES: usize = 4;

impl Header {
    pub(crate) const BYTES_WITH_CHECKSUM: usize = HEADER_BYTES + CHECKSUM_BYTES;

    pub(crate) fn of<S: BuildHasher + 'static>(filter: &CuckooFilter<S>) -> Self {
        Self {
            geometry: filter.geometry,
            hashing: Hashing::of(filter.hasher()),
        }
    }

    /// The header by itself.
    pub(crate) fn to_bytes_with_checksum(&self) -> [u8; Self::BYTES_WITH_CHECKSUM] {
        let header = self.to_bytes();
        let mut bytes = [0; Self::BYTES_WITH_CHECKSUM];
        bytes[..HEADER_BYTES].copy_from_slice(&header);
        bytes[HEADER_BYTES..].copy_from_slice(&crc32fast::hash(&header).to_le_bytes());
        bytes
    }

    /// What [`to_bytes_with_checksum`](Self::to_bytes_with_checksum) has made.
    pub(crate) fn from_bytes_with_checksum(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (bytes, rest) = bytes.split_first_chunk().ok_or(SnapshotError::Truncated)?;
        let header = Self::from_bytes(bytes)?;
        let (stored, rest) = rest
            .split_first_chunk::<CHECKSUM_BYTES>()
            .ok_or(SnapshotError::Truncated)?;
        if !rest.is_empty() {
            return Err(SnapshotError::TrailingBytes { count: rest.len() });
        }
        let (stored, computed) = (u32::from_le_bytes(*stored), crc32fast::hash(bytes));
        if stored != computed {
            return Err(SnapshotError::Checksum { stored, computed });
        }
        Ok(header)
    }

    pub(crate) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let Geometry {
            series,
            buckets,
            capacity,
            max_capacity,
        } = self.geometry;
        let small = [
            series.fingerprint_bits,
            series.slots(0) as u32,
            series.levels,
        ];
        let numbers = [
            buckets as u64,
            capacity as u64,
            max_capacity as u64,
            self.hashing.seed,
            self.hashing.probe,
            0,
        ];
        encode((MAGIC, VERSION), small, numbers)
    }

    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, SnapshotError> {
        let ([bits, slots, levels, reserved], numbers) = decode(bytes, (MAGIC, VERSION))?;
        let [buckets, capacity, max_capacity, seed, probe, last] = numbers;
        if reserved != 0 || last != 0 {
            return Err(SnapshotError::Geometry {
                what: "reserved bytes",
                found: last,
            });
        }
        let geometry = Geometry::from_snapshot(
            (bits.into(), slots.into(), levels.into()),
            [buckets, capacity, max_capacity],
        )?;
        Ok(Self {
            geometry,
            hashing: Hashing { seed, probe },
        })
    }
}

/// The bytes of a header of a format and its version: numbers of one byte, and of eight.
pub(crate) fn encode(
    (magic, version): ([u8; 8], u32),
    small: [u32; 3],
    numbers: [u64; 6],
) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[0..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes[12..15].copy_from_slice(&small.map(|number| number as u8));
    fill(&mut bytes[16..], &numbers);
    bytes
}

/// The numbers that [`encode`] was given, and the reserved byte after the small ones, if the format
/// is this one.
pub(crate) fn decode(
    bytes: &[u8; HEADER_BYTES],
    (magic, supported): ([u8; 8], u32),
) -> Result<([u8; 4], [u64; 6]), SnapshotError> {
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    if bytes[0..8] != magic {
        return Err(SnapshotError::Magic);
    }
    let found = number(8) as u32;
    if found != supported {
        return Err(SnapshotError::Version { found, supported });
    }
    let small = std::array::from_fn(|i| bytes[12 + i]);
    Ok((small, std::array::from_fn(|i| number(16 + 8 * i))))
}

impl Hashing {
    pub(crate) fn of<S: BuildHasher + 'static>(hasher: &S) -> Self {
        Self {
            seed: seed(hasher),
            probe: probe(hasher),
        }
    }

    /// The hasher that `make` makes of the seed, if it is the one that the filter had.
    pub(crate) fn hasher<S: BuildHasher>(
        self,
        make: impl FnOnce(u64) -> S,
    ) -> Result<S, SnapshotError> {
        let hasher = make(self.seed);
        let (found, expected) = (self.probe, probe(&hasher));
        if found == expected {
            Ok(hasher)
        } else {
            Err(SnapshotError::Hasher { found, expected })
        }
    }
}

/// The hash of [`PROBE`], fed as integers and strings are.
///
/// By the methods of [`Hasher`] themselves, for it is up to the standard library
/// which of them a value's `Hash` calls.
pub(crate) fn probe(hasher: &impl BuildHasher) -> u64 {
    let (number, text) = PROBE;
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(number);
    hasher.write(text);
    hasher.write_u8(0xff);
    hasher.finish()
}

/// The seed of the default hasher; others keep theirs to themselves.
fn seed<S: 'static>(hasher: &S) -> u64 {
    (hasher as &dyn Any)
        .downcast_ref()
        .map_or(0, SeededState::seed)
}

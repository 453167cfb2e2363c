//! The header of a snapshot, before its words. A header with a checksum describes an empty filter.

use super::summed::fill;
use crate::{
    error::SnapshotError,
    filter::CuckooFilter,
    geometry::Geometry,
    hash::{SeededState, finished},
};
use std::{
    any::Any,
    hash::{BuildHasher, Hasher},
};

/// The version of the format that is written. No other version is read.
const VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"guira\x1a\r\n";

/// The number and the text that [`probe`] hashes to tell hashers apart.
const PROBE: (u64, &[u8]) = (
    0x6775_6972_6120_2121,
    b"Hashers that agree on this text are taken for one and the same.",
);

/// The contents of a header.
pub(crate) struct Header {
    pub(crate) geometry: Geometry,
    pub(crate) hashing: Hashing,
}

/// Identifies the hasher of a filter's items.
#[derive(Clone, Copy)]
pub(crate) struct Hashing {
    /// The seed of a [`SeededState`], or 0 for other hashers.
    pub(crate) seed: u64,
    /// The hasher's [`probe`].
    pub(crate) probe: u64,
}

pub(crate) const HEADER_BYTES: usize = 64;

/// The size of a header with its checksum.
pub(crate) const BYTES_WITH_CHECKSUM: usize = HEADER_BYTES + size_of::<u32>();

impl Header {
    pub(crate) fn of<S: BuildHasher + 'static>(filter: &CuckooFilter<S>) -> Self {
        Self {
            geometry: filter.geometry(),
            hashing: Hashing::of(filter.hasher()),
        }
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
            series.prefixes,
        ];
        let numbers = [
            buckets as u64,
            capacity as u64,
            max_capacity as u64,
            self.hashing.seed,
            self.hashing.probe,
            series.counter_bits.into(),
        ];
        encode((MAGIC, VERSION), small, numbers)
    }

    pub(crate) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, SnapshotError> {
        let ([bits, slots, levels, prefixes], numbers) = decode(bytes, (MAGIC, VERSION))?;
        let [buckets, capacity, max_capacity, seed, probe, counter_bits] = numbers;
        let geometry = Geometry::from_snapshot(
            (bits.into(), prefixes.into(), slots.into(), levels.into()),
            [buckets, capacity, max_capacity, counter_bits],
        )?;
        Ok(Self {
            geometry,
            hashing: Hashing { seed, probe },
        })
    }
}

/// The size of a snapshot with this number of words between its header and its checksum.
pub(crate) fn len_with(numbers: usize) -> usize {
    numbers
        .saturating_mul(size_of::<u64>())
        .saturating_add(BYTES_WITH_CHECKSUM)
}

/// A header with its checksum.
pub(crate) fn with_checksum(header: [u8; HEADER_BYTES]) -> [u8; BYTES_WITH_CHECKSUM] {
    let mut bytes = [0; BYTES_WITH_CHECKSUM];
    bytes[..HEADER_BYTES].copy_from_slice(&header);
    bytes[HEADER_BYTES..].copy_from_slice(&crc32fast::hash(&header).to_le_bytes());
    bytes
}

/// Applies `from_bytes` to a header that was made by [`with_checksum`].
pub(crate) fn check_sum<H>(
    bytes: &[u8],
    from_bytes: impl FnOnce(&[u8; HEADER_BYTES]) -> Result<H, SnapshotError>,
) -> Result<H, SnapshotError> {
    let (bytes, rest) = bytes.split_first_chunk().ok_or(SnapshotError::Truncated)?;
    let header = from_bytes(bytes)?;
    let (stored, rest) = rest.split_first_chunk().ok_or(SnapshotError::Truncated)?;
    if !rest.is_empty() {
        return Err(SnapshotError::TrailingBytes { count: rest.len() });
    }
    let (stored, computed) = (u32::from_le_bytes(*stored), crc32fast::hash(bytes));
    if stored != computed {
        return Err(SnapshotError::Checksum { stored, computed });
    }
    Ok(header)
}

/// Refuses buckets that occupy more than `max_bytes`.
pub(crate) fn check_size(buckets: usize, max_bytes: usize) -> Result<(), SnapshotError> {
    let asked = buckets * size_of::<u64>();
    if asked > max_bytes {
        return Err(SnapshotError::TooLarge {
            asked,
            allowed: max_bytes,
        });
    }
    Ok(())
}

/// Encodes a header of this format and version: numbers of one byte, then numbers of eight.
pub(crate) fn encode(
    (magic, version): ([u8; 8], u32),
    small: [u32; 4],
    numbers: [u64; 6],
) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[0..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes[12..16].copy_from_slice(&small.map(|number| number as u8));
    fill(&mut bytes[16..], &numbers);
    bytes
}

/// Returns the numbers that were passed to [`encode`], if the format is this one.
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

    /// Returns the hasher that `make` builds from the seed, if it is the hasher of the filter.
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

/// The hash of [`PROBE`], fed as integers and strings are, and finished as the hash of an item is. So
/// the default hasher differs from one that makes the same hashes and has them hashed again.
///
/// It calls the methods of [`Hasher`] directly, because the standard library does not specify which
/// of them `Hash` calls.
pub(crate) fn probe<S: BuildHasher>(hasher: &S) -> u64 {
    let (number, text) = PROBE;
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(number);
    hasher.write(text);
    hasher.write_u8(0xff);
    finished::<S>(hasher.finish())
}

/// The seed of the default hasher. Other hashers do not reveal theirs.
fn seed<S: 'static>(hasher: &S) -> u64 {
    (hasher as &dyn Any)
        .downcast_ref()
        .map_or(0, SeededState::seed)
}

//! What a snapshot says before its words. With a checksum it names an empty filter.

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
    /// The seed of a [`SeededState`], 0 for other hashers.
    seed: u64,
    /// The hasher's [`probe`].
    probe: u64,
}

pub(super) const HEADER_BYTES: usize = 64;

const CHECKSUM_BYTES: usize = 4;

impl Header {
    pub(crate) const BYTES_WITH_CHECKSUM: usize = HEADER_BYTES + CHECKSUM_BYTES;

    pub(crate) fn of<S: BuildHasher + 'static>(filter: &CuckooFilter<S>) -> Self {
        Self {
            geometry: filter.geometry,
            seed: seed(filter.hasher()),
            probe: probe(filter.hasher()),
        }
    }

    /// The hasher that `make` makes of the seed, if it is the one that the filter had.
    pub(crate) fn check_hasher<S: BuildHasher>(
        &self,
        make: impl FnOnce(u64) -> S,
    ) -> Result<S, SnapshotError> {
        check_probe(self.probe, make(self.seed))
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
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12] = series.fingerprint_bits as u8;
        bytes[13] = series.slots(0) as u8;
        bytes[14] = series.levels as u8;
        let numbers = [
            buckets as u64,
            capacity as u64,
            max_capacity as u64,
            self.seed,
            self.probe,
        ];
        for (bytes, number) in bytes[16..56].chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, SnapshotError> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[0..8] != MAGIC {
            return Err(SnapshotError::Magic);
        }
        let found = number(8) as u32;
        if found != VERSION {
            return Err(SnapshotError::Version {
                found,
                supported: VERSION,
            });
        }
        if bytes[15] != 0 || number(56) != 0 {
            return Err(SnapshotError::Geometry {
                what: "reserved bytes",
                found: number(56),
            });
        }
        let geometry = Geometry::from_snapshot(
            (
                u32::from(bytes[12]),
                usize::from(bytes[13]),
                u32::from(bytes[14]),
            ),
            [16, 24, 32].map(number),
        )?;
        Ok(Self {
            geometry,
            seed: number(40),
            probe: number(48),
        })
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

/// The hasher, if it makes `found` of the probe.
pub(crate) fn check_probe<S: BuildHasher>(found: u64, hasher: S) -> Result<S, SnapshotError> {
    let expected = probe(&hasher);
    if found == expected {
        Ok(hasher)
    } else {
        Err(SnapshotError::Hasher { found, expected })
    }
}

/// The seed of the default hasher; others keep theirs to themselves.
pub(crate) fn seed<S: 'static>(hasher: &S) -> u64 {
    (hasher as &dyn Any)
        .downcast_ref()
        .map_or(0, SeededState::seed)
}

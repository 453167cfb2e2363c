//! The header of a snapshot, before its words. A header with a checksum describes an empty filter.

use super::summed::fill;
use crate::{
    error::SnapshotError,
    filter::Filter,
    geometry::{Claim, Geometry},
    hash::{SeededState, finished},
    lifetime::{Lifetime, MIN_EPOCH, Window},
};
use std::{
    any::Any,
    hash::{BuildHasher, Hasher},
    time::Duration,
};

/// The version of the format. It changes when a snapshot of an earlier version is no longer read.
const VERSION: u32 = 2;

/// The first bytes: those of a filter whose items stay, and of one whose items expire.
const MAGIC: [[u8; 8]; 2] = [*b"guira\x1a\r\n", *b"guirax\r\n"];

/// The number and the text that [`probe`] hashes to tell hashers apart.
const PROBE: (u64, &[u8]) = (
    0x6775_6972_6120_2121,
    b"Hashers that agree on this text are taken for one and the same.",
);

/// The number of low bits of the epochs' byte that are the epochs. The others are the counter bits.
const EPOCHS_BITS: u32 = 4;

/// The contents of a header.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) geometry: Geometry,
    pub(crate) window: Window,
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
    pub(crate) fn of<S: BuildHasher + 'static, T: Lifetime>(filter: &Filter<S, T>) -> Self {
        Self {
            geometry: filter.geometry(),
            window: filter.window(),
            hashing: Hashing::of(filter.hasher()),
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let (
            Geometry {
                series, buckets, ..
            },
            window,
        ) = (self.geometry, self.window);
        let (capacity, max_capacity) = (window.capacity as u64, window.max_capacity as u64);
        let Hashing { seed, probe } = self.hashing;
        let (bits, slots) = (series.fingerprint_bits, series.slots(0) as u32);
        if window.epochs == 0 {
            let small = [bits, slots, series.levels, series.prefixes];
            let counter_bits = series.counter_bits.into();
            let numbers = [
                buckets as u64,
                capacity,
                max_capacity,
                seed,
                probe,
                counter_bits,
            ];
            return encode(MAGIC[0], small, numbers);
        }
        // There are at most 2^32 buckets, and an even number of them.
        let pairs = buckets as u64 / 2;
        let small = [
            bits,
            slots,
            window.epochs | series.counter_bits << EPOCHS_BITS,
            series.levels,
        ];
        let numbers = [
            pairs | u64::from(window.ttl.subsec_nanos()) << 32,
            capacity,
            max_capacity,
            window.ttl.as_secs(),
            seed,
            probe,
        ];
        encode(MAGIC[1], small, numbers)
    }

    /// The header of a filter with this lifetime.
    pub(crate) fn from_bytes<T: Lifetime>(
        bytes: &[u8; HEADER_BYTES],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let (small, numbers) = decode(bytes, MAGIC[usize::from(T::EXPIRES)])?;
        let small = small.map(u32::from);
        let (claim, ttl, hashing) = if T::EXPIRES {
            let [fingerprint_bits, slots, epochs_and_counter, levels] = small;
            let [pairs_and_nanos, items, max_items, seconds, seed, probe] = numbers;
            let (pairs, nanos) = (pairs_and_nanos as u32, (pairs_and_nanos >> 32) as u32);
            if nanos >= 1_000_000_000 {
                return refuse("nanoseconds", nanos.into());
            }
            let claim = Claim {
                fingerprint_bits,
                prefixes: 0,
                levels,
                slots,
                epochs: Some(epochs_and_counter & ((1 << EPOCHS_BITS) - 1)),
                counter_bits: (epochs_and_counter >> EPOCHS_BITS).into(),
                buckets: 2 * u64::from(pairs),
                items,
                max_items,
            };
            let ttl = Duration::new(seconds, nanos);
            (claim, ttl, Hashing { seed, probe })
        } else {
            let [fingerprint_bits, slots, levels, prefixes] = small;
            let [buckets, items, max_items, seed, probe, counter_bits] = numbers;
            let claim = Claim {
                fingerprint_bits,
                prefixes,
                levels,
                slots,
                epochs: None,
                counter_bits,
                buckets,
                items,
                max_items,
            };
            (claim, Duration::ZERO, Hashing { seed, probe })
        };
        let geometry = claim.geometry()?;
        let window = Window {
            capacity: claim.items as usize,
            max_capacity: claim.max_items as usize,
            ttl,
            epochs: claim.epochs.unwrap_or(0),
        };
        if T::EXPIRES && window.epoch_length() < MIN_EPOCH {
            return refuse("seconds of a TTL", ttl.as_secs());
        }
        Ok(Self {
            geometry,
            window,
            hashing,
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
pub(crate) fn check_sum<T: Lifetime>(bytes: &[u8]) -> Result<Header, SnapshotError> {
    let (bytes, rest) = bytes.split_first_chunk().ok_or(SnapshotError::Truncated)?;
    let header = Header::from_bytes::<T>(bytes)?;
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
fn encode(magic: [u8; 8], small: [u32; 4], numbers: [u64; 6]) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[0..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&small.map(|number| number as u8));
    fill(&mut bytes[16..], &numbers);
    bytes
}

/// Returns the numbers that were passed to [`encode`], if the format is this one.
fn decode(
    bytes: &[u8; HEADER_BYTES],
    magic: [u8; 8],
) -> Result<([u8; 4], [u64; 6]), SnapshotError> {
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    if bytes[0..8] != magic {
        return Err(SnapshotError::Magic);
    }
    let (found, supported) = (number(8) as u32, VERSION);
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

//! What the snapshot of an expiring filter says before its words.

use crate::{
    error::SnapshotError,
    expiring::{ExpiringFilter, MIN_EPOCH, Window},
    geometry::Geometry,
    snapshot::header::{HEADER_BYTES, Hashing, decode, encode},
};
use std::{hash::BuildHasher, time::Duration};

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"guirax\r\n";

pub(in crate::expiring) struct Header {
    pub(in crate::expiring) geometry: Geometry,
    pub(in crate::expiring) window: Window,
    pub(in crate::expiring) hashing: Hashing,
}

impl Header {
    pub(in crate::expiring) fn of<S: BuildHasher + 'static>(filter: &ExpiringFilter<S>) -> Self {
        Self {
            geometry: filter.geometry,
            window: filter.window,
            hashing: Hashing::of(&filter.hasher),
        }
    }

    pub(in crate::expiring) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let (series, window) = (self.geometry.series, self.window);
        let small = [
            series.fingerprint_bits,
            series.slots(0) as u32,
            window.epochs,
            series.levels,
        ];
        // There are at most 2^32 buckets, and an even number of them.
        let pairs = self.geometry.buckets as u64 / 2;
        let numbers = [
            pairs | u64::from(window.ttl.subsec_nanos()) << 32,
            window.capacity as u64,
            window.max_capacity as u64,
            window.ttl.as_secs(),
            self.hashing.seed,
            self.hashing.probe,
        ];
        encode((MAGIC, VERSION), small, numbers)
    }

    pub(in crate::expiring) fn from_bytes(
        bytes: &[u8; HEADER_BYTES],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let ([bits, slots, steps, levels], numbers) = decode(bytes, (MAGIC, VERSION))?;
        let [
            pairs_and_nanos,
            capacity,
            max_capacity,
            seconds,
            seed,
            probe,
        ] = numbers;
        let (pairs, nanos) = (pairs_and_nanos as u32, (pairs_and_nanos >> 32) as u32);
        if nanos >= 1_000_000_000 {
            return refuse("nanoseconds", nanos.into());
        }
        let steps = u32::from(steps);
        let geometry = Geometry::from_expiring_snapshot(
            (bits.into(), slots.into(), steps, levels.into()),
            [2 * u64::from(pairs), capacity, max_capacity],
        )?;
        let window = Window {
            capacity: capacity as usize,
            max_capacity: max_capacity as usize,
            ttl: Duration::new(seconds, nanos),
            epochs: steps,
        };
        if window.epoch_length() < MIN_EPOCH {
            return refuse("seconds of a TTL", seconds);
        }
        Ok(Self {
            geometry,
            window,
            hashing: Hashing { seed, probe },
        })
    }
}

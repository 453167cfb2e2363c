//! What the snapshot of an expiring filter says before its words.

use crate::{
    error::SnapshotError,
    expiring::{ExpiringFilter, MIN_EPOCH, Window},
    geometry::Geometry,
    snapshot::header::{HEADER_BYTES, Hashing, decode, encode},
};
use std::{hash::BuildHasher, time::Duration};

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;

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
            0,
        ];
        let numbers = [
            self.geometry.buckets as u64,
            window.capacity as u64,
            window.ttl.as_secs(),
            window.ttl.subsec_nanos().into(),
            self.hashing.seed,
            self.hashing.probe,
        ];
        encode((MAGIC, VERSION), small, numbers)
    }

    pub(in crate::expiring) fn from_bytes(
        bytes: &[u8; HEADER_BYTES],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let ([bits, slots, steps, reserved], numbers) = decode(bytes, (MAGIC, VERSION))?;
        let [buckets, capacity, seconds, nanos, seed, probe] = numbers;
        if reserved != 0 {
            return refuse("reserved byte", reserved.into());
        }
        let Some(nanos) = u32::try_from(nanos).ok().filter(|&it| it < 1_000_000_000) else {
            return refuse("nanoseconds", nanos);
        };
        let steps = u32::from(steps);
        let geometry = Geometry::from_expiring_snapshot(
            (bits.into(), slots.into(), steps),
            [buckets, capacity],
        )?;
        let window = Window {
            capacity: capacity as usize,
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

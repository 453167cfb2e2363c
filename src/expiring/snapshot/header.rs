//! What the snapshot of an expiring filter says before its words.

use crate::{
    error::SnapshotError,
    expiring::{ExpiringFilter, Window},
    geometry::Geometry,
    snapshot::header::{check_probe, probe, seed},
};
use std::{hash::BuildHasher, time::Duration};

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"guirax\r\n";

pub(super) const HEADER_BYTES: usize = 64;

pub(super) struct Header {
    pub(super) geometry: Geometry,
    pub(super) window: Window,
    /// The seed of a [`SeededState`](crate::SeededState), 0 for other hashers.
    seed: u64,
    /// The hasher's probe.
    probe: u64,
}

impl Header {
    pub(super) fn of<S: BuildHasher + 'static>(filter: &ExpiringFilter<S>) -> Self {
        Self {
            geometry: filter.geometry,
            window: filter.window,
            seed: seed(&filter.hasher),
            probe: probe(&filter.hasher),
        }
    }

    /// The hasher that `make` makes of the seed, if it is the one that the filter had.
    pub(super) fn hasher<S: BuildHasher>(
        &self,
        make: impl FnOnce(u64) -> S,
    ) -> Result<S, SnapshotError> {
        check_probe(self.probe, make(self.seed))
    }

    pub(super) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let (series, window) = (self.geometry.series, self.window);
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12] = series.fingerprint_bits as u8;
        bytes[13] = series.slots(0) as u8;
        bytes[14] = window.steps as u8;
        let numbers = [
            self.geometry.buckets as u64,
            window.capacity as u64,
            window.ttl.as_secs(),
            window.ttl.subsec_nanos().into(),
            self.seed,
            self.probe,
        ];
        for (bytes, number) in bytes[16..64].chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, SnapshotError> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
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
        if bytes[15] != 0 {
            return refuse("reserved byte", bytes[15].into());
        }
        let nanos = number(40);
        let Some(nanos) = u32::try_from(nanos).ok().filter(|&it| it < 1_000_000_000) else {
            return refuse("nanoseconds", nanos);
        };
        let steps = u32::from(bytes[14]);
        let geometry = Geometry::from_expiring_snapshot(
            (u32::from(bytes[12]), usize::from(bytes[13]), steps),
            [16, 24].map(number),
        )?;
        let window = Window {
            capacity: number(24) as usize,
            ttl: Duration::new(number(32), nanos),
            steps,
        };
        if window.step_length() < crate::expiring::MIN_STEP {
            return refuse("seconds of a TTL", window.ttl.as_secs());
        }
        Ok(Self {
            geometry,
            window,
            seed: number(48),
            probe: number(56),
        })
    }
}

//! The bytes of a snapshot, as they come.

use super::{CHUNK, Image};
use crate::{
    error::SnapshotError,
    snapshot::{chunks, fill_from},
};
use std::io::Read;

/// Epochs from this one on are refused: none is ever reached, and they could not be counted on.
const END_OF_TIME: u64 = 1 << 63;

/// A reader that keeps the checksum of what came through it.
pub(super) struct Reader<R> {
    inner: R,
    sum: crc32fast::Hasher,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            sum: crc32fast::Hasher::new(),
        }
    }

    /// The next bytes.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        fill_from(&mut self.inner, bytes)?;
        self.sum.update(bytes);
        Ok(())
    }

    /// A step, which is not before the one that was read last.
    fn step(&mut self, last: u64) -> Result<u64, SnapshotError> {
        let step = u64::from_le_bytes(self.take()?);
        if (last..END_OF_TIME).contains(&step) {
            Ok(step)
        } else {
            Err(SnapshotError::Geometry {
                what: "step",
                found: step,
            })
        }
    }

    /// The words of so many buckets, if the checksum is right. Memory is taken as the bytes come.
    pub(super) fn image(mut self, buckets: usize) -> Result<Image, SnapshotError> {
        let mut image = Image {
            words: Vec::new(),
            steps: Vec::new(),
            end: 0,
        };
        let mut bytes = [0; 8 * CHUNK];
        for chunk in chunks(buckets, CHUNK) {
            let bytes = &mut bytes[..8 * chunk.len()];
            self.fill(bytes)?;
            let words = bytes.as_chunks().0;
            image
                .words
                .try_reserve(chunk.len())
                .map_err(|_| SnapshotError::Memory { buckets })?;
            image
                .words
                .extend(words.iter().map(|&word| u64::from_le_bytes(word)));
            image.end = self.step(image.end)?;
            image.steps.push(image.end);
        }
        image.end = self.step(image.end)?;
        let computed = self.sum.clone().finalize();
        let stored = u32::from_le_bytes(self.take()?);
        if stored != computed {
            return Err(SnapshotError::Checksum { stored, computed });
        }
        Ok(image)
    }
}

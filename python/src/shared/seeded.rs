//! Snapshots of filters whose items are hashes.

use std::{
    io::{self, Write},
    mem,
    ops::Range,
};

/// Where the header of a snapshot has the seed: `docs/FORMAT.md`.
const SEED: Range<usize> = 40..48;

/// The bytes of the checksum, which ends a snapshot.
const SUM: usize = 4;

/// A writer that puts the seed into the header of a snapshot.
///
/// The library knows the seed of its own hasher only, and writes 0 for [`ByHash`](super::ByHash). With
/// the seed, readers get the filter with the default hasher.
pub(super) struct Seeded<W> {
    inner: W,
    seed: u64,
    sum: crc32fast::Hasher,
    /// The number of bytes that are written.
    written: usize,
    /// The last bytes, which may be the checksum.
    last: Vec<u8>,
}

impl<W: Write> Seeded<W> {
    pub(super) fn new(inner: W, seed: u64) -> Self {
        Self {
            inner,
            seed,
            sum: crc32fast::Hasher::new(),
            written: 0,
            last: Vec::new(),
        }
    }

    /// Writes the checksum of what was written, instead of the one that it ended with.
    pub(super) fn end(mut self) -> io::Result<()> {
        let sum = mem::take(&mut self.sum).finalize();
        self.inner.write_all(&sum.to_le_bytes())?;
        self.inner.flush()
    }
}

impl<W: Write> Write for Seeded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.last.extend_from_slice(bytes);
        let ready = self.last.len().saturating_sub(SUM);
        let piece = &mut self.last[..ready];
        for (at, byte) in SEED.zip(self.seed.to_le_bytes()) {
            if let Some(place) = at
                .checked_sub(self.written)
                .and_then(|at| piece.get_mut(at))
            {
                *place = byte;
            }
        }
        self.sum.update(piece);
        self.inner.write_all(piece)?;
        self.written += ready;
        self.last.drain(..ready);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! A writer that computes the checksum of the bytes that pass through it.

use std::io::{self, Write};

pub(crate) struct Summed<W> {
    inner: W,
    sum: crc32fast::Hasher,
    /// A buffer for the bytes of numbers, kept to avoid allocations.
    bytes: Vec<u8>,
}

impl<W: Write> Summed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            sum: crc32fast::Hasher::new(),
            bytes: Vec::new(),
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }

    /// Writes the numbers of both parts, with one call of the writer.
    pub(crate) fn put_numbers(&mut self, parts: [&[u64]; 2]) -> io::Result<()> {
        let [first, rest] = parts;
        self.bytes.resize(8 * (first.len() + rest.len()), 0);
        // Each by itself: over a chain of both, the loop is not vectorised.
        let (of_first, of_rest) = self.bytes.split_at_mut(8 * first.len());
        fill(of_first, first);
        fill(of_rest, rest);
        self.sum.update(&self.bytes);
        self.inner.write_all(&self.bytes)
    }

    /// Writes the checksum, which ends the snapshot.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let sum = self.sum.finalize();
        self.inner.write_all(&sum.to_le_bytes())?;
        self.inner.flush()
    }
}

/// Encodes the numbers in little-endian order, until `bytes` is full.
pub(super) fn fill<'a>(bytes: &mut [u8], numbers: impl IntoIterator<Item = &'a u64>) {
    for (bytes, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

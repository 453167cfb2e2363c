//! A writer that computes the checksum of the bytes that go through it.

use std::io::{self, Write};

pub(crate) struct Summed<W> {
    inner: W,
    sum: crc32fast::Hasher,
    /// The bytes of numbers, kept for their memory.
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

    /// Writes the numbers of both parts, at once.
    pub(crate) fn put_numbers(&mut self, parts: [&[u64]; 2]) -> io::Result<()> {
        let [first, rest] = parts;
        self.bytes.resize(8 * (first.len() + rest.len()), 0);
        fill(&mut self.bytes, first.iter().chain(rest));
        self.sum.update(&self.bytes);
        self.inner.write_all(&self.bytes)
    }

    /// Writes the checksum, the last bytes.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let sum = self.sum.finalize();
        self.inner.write_all(&sum.to_le_bytes())?;
        self.inner.flush()
    }
}

/// Writes the numbers, low bytes first, as far as there is room.
pub(super) fn fill<'a>(bytes: &mut [u8], numbers: impl IntoIterator<Item = &'a u64>) {
    for (bytes, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

//! A writer that keeps the checksum of what went through it.

use std::io::{self, Write};

pub(crate) struct Summed<W> {
    inner: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Summed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            sum: crc32fast::Hasher::new(),
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }

    /// Writes the checksum, the last bytes.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let sum = self.sum.finalize();
        self.inner.write_all(&sum.to_le_bytes())?;
        self.inner.flush()
    }
}

//! A buffer in front of a file. Unlike [`std::io::BufWriter`] it reports when there is no memory.

use std::io::{self, Write};

/// The size of one write.
const BYTES: usize = 1 << 20;

/// Writes to `inner` in large pieces. Bytes that are not [flushed](Write::flush) are lost.
pub(super) struct Buffered<W> {
    inner: W,
    buffer: Vec<u8>,
}

impl<W: Write> Buffered<W> {
    /// # Errors
    ///
    /// [`io::ErrorKind::OutOfMemory`]
    pub(super) fn new(inner: W) -> io::Result<Self> {
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(BYTES)?;
        Ok(Self { inner, buffer })
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

impl<W: Write> Write for Buffered<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BYTES {
            self.write_buffer()?;
        }
        // The buffer never grows.
        let taken = bytes.len().min(BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_buffer()?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_arrives_in_order() {
        let mut out = Vec::new();
        let mut expected = Vec::new();
        let mut buffered = Buffered::new(&mut out).unwrap();
        for (byte, length) in [
            (1, 5),
            (2, BYTES - 5),
            (3, 1),
            (4, 2 * BYTES + 7),
            (5, 0),
            (6, BYTES),
        ] {
            let part = vec![byte; length];
            buffered.write_all(&part).unwrap();
            expected.extend(part);
        }
        buffered.flush().unwrap();
        assert_eq!(buffered.buffer.capacity(), BYTES);
        assert!(out == expected);
    }

    #[test]
    fn an_error_of_the_file_is_one_of_the_buffer() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut buffered = Buffered::new(Full).unwrap();
        buffered.write_all(b"x").unwrap();
        let error = buffered.flush().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

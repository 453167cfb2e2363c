//! The bytes of a snapshot, with their checksum, written chunk by chunk.

use super::{header::Header, image::Sink, summed::Summed};
use crate::error::SnapshotError;
use std::io::{self, Read, Write};

/// Precedes a chunk of words.
pub(super) const CHUNK_FOLLOWS: u64 = 0;

/// Replaces a chunk, but never the first one of a pass. The filter has doubled, and the scan starts
/// again at a higher level.
pub(super) const PASS_ENDS: u64 = 1;

/// A sink that writes bytes.
pub(super) struct Encoder<W> {
    out: Summed<W>,
    /// The doublings of the present pass.
    doublings: Option<u32>,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(writer: W, header: &Header) -> io::Result<Self> {
        let mut out = Summed::new(writer);
        out.put(&header.to_bytes())?;
        Ok(Self {
            out,
            doublings: None,
        })
    }

    pub(super) fn end(self) -> io::Result<()> {
        self.out.end()
    }
}

impl<W: Write> Sink for Encoder<W> {
    type Error = io::Error;

    fn begin_pass(&mut self, doublings: u32) -> io::Result<()> {
        let before = self.doublings.replace(doublings);
        debug_assert!(before < Some(doublings), "a pass at no higher level");
        if before.is_some() {
            self.out.put(&PASS_ENDS.to_le_bytes())?;
        }
        self.out.put(&u64::from(doublings).to_le_bytes())
    }

    fn chunk(&mut self, words: &[u64]) -> io::Result<()> {
        self.out.put_numbers([&[CHUNK_FOLLOWS], words])
    }
}

/// Reads as many bytes as there is room for.
pub(crate) fn fill_from(reader: &mut impl Read, bytes: &mut [u8]) -> Result<(), SnapshotError> {
    reader
        .read_exact(bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SnapshotError::Truncated,
            _ => SnapshotError::Io(error),
        })
}

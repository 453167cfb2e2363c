//! The bytes of a snapshot, with their checksum: written chunk by chunk, and read.

use super::{decoder::SnapshotDecoder, header::Header, image::Sink, summed::Summed};
use crate::error::SnapshotError;
use std::io::{self, Read, Write};

/// Before a chunk of words.
pub(super) const CHUNK_FOLLOWS: u64 = 0;

/// Instead of a chunk: the filter has doubled, and the scan starts again.
pub(super) const PASS_ENDS: u64 = 1;

/// A sink that writes bytes.
pub(super) struct Encoder<W>(Summed<W>);

impl<W: Write> Encoder<W> {
    pub(super) fn new(writer: W, header: &Header) -> io::Result<Self> {
        let mut out = Summed::new(writer);
        out.put(&header.to_bytes())?;
        Ok(Self(out))
    }

    pub(super) fn end(self) -> io::Result<()> {
        self.0.end()
    }
}

impl<W: Write> Sink for Encoder<W> {
    type Error = io::Error;

    fn begin_pass(&mut self, doublings: u32, first: bool) -> io::Result<()> {
        if !first {
            self.0.put(&PASS_ENDS.to_le_bytes())?;
        }
        self.0.put(&u64::from(doublings).to_le_bytes())
    }

    fn chunk(&mut self, words: &[u64]) -> io::Result<()> {
        self.0.put_numbers([&[CHUNK_FOLLOWS], words])
    }
}

/// Reads what an [`Encoder`] has written.
pub(super) fn decode<R: Read>(mut reader: R) -> Result<SnapshotDecoder, SnapshotError> {
    let mut decoder = SnapshotDecoder::with_limit(None);
    while !decoder.is_complete() {
        let room = decoder.room()?;
        let count = room.len();
        fill_from(&mut reader, room)?;
        decoder.take(count)?;
    }
    Ok(decoder)
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

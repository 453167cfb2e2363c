//! The bytes of a snapshot, with their checksum, written chunk by chunk.

use super::{header::HEADER_BYTES, summed::Summed};
use crate::{error::SnapshotError, lifetime::Kind, raw::image::Sink};
use std::io::{self, Read, Write};

/// Before each chunk is the epoch in which it was read: 0 if items stay. All epochs are below this one.
pub(super) const END_OF_TIME: u64 = 1 << 63;

/// The number after the last chunk of a pass that is void.
pub(super) const fn pass_ends<T: Kind>() -> u64 {
    if T::EXPIRES { u64::MAX } else { 1 }
}

/// A sink that writes bytes.
pub(crate) struct Encoder<W> {
    out: Summed<W>,
    /// What replaces a chunk when a pass is void.
    pass_ends: u64,
    /// The doublings of the present pass.
    doublings: Option<u32>,
}

impl<W: Write> Encoder<W> {
    pub(crate) fn new(writer: W, header: &[u8; HEADER_BYTES], pass_ends: u64) -> io::Result<Self> {
        let mut out = Summed::new(writer);
        out.put(header)?;
        Ok(Self {
            out,
            pass_ends,
            doublings: None,
        })
    }

    pub(crate) fn put_number(&mut self, number: u64) -> io::Result<()> {
        self.out.put(&number.to_le_bytes())
    }

    pub(crate) fn end(self) -> io::Result<()> {
        self.out.end()
    }
}

impl<W: Write> Sink for Encoder<W> {
    fn begin_pass(&mut self, doublings: u32) -> Result<(), SnapshotError> {
        let before = self.doublings.replace(doublings);
        debug_assert!(
            before < Some(doublings),
            "each pass has a higher level than the one before"
        );
        if before.is_some() {
            self.put_number(self.pass_ends)?;
        }
        Ok(self.put_number(doublings.into())?)
    }

    fn chunk(&mut self, words: &[u64], epoch: u64) -> Result<(), SnapshotError> {
        Ok(self.out.put_numbers([&[epoch], words])?)
    }
}

/// Reads until `bytes` is full or the input ends.
pub(crate) fn fill_from(reader: &mut impl Read, bytes: &mut [u8]) -> Result<(), SnapshotError> {
    reader
        .read_exact(bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SnapshotError::Truncated,
            _ => SnapshotError::Io(error),
        })
}

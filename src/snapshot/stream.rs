//! The bytes of a snapshot, with their checksum: written chunk by chunk, and read.

use super::{
    header::{HEADER_BYTES, Header},
    image::{Image, Sink, chunks},
};
use crate::{error::SnapshotError, geometry::Geometry, raw::frontier::chunk_buckets};
use std::io::{self, Read, Write};

/// Before a chunk of words.
const CHUNK_FOLLOWS: u64 = 0;

/// Instead of a chunk: the filter has doubled, and the scan starts again.
const PASS_ENDS: u64 = 1;

/// A writer that keeps the checksum of what went through it.
struct Summed<W> {
    inner: W,
    sum: crc32fast::Hasher,
}

impl<W> Summed<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            sum: crc32fast::Hasher::new(),
        }
    }

    fn sum(&self) -> u32 {
        self.sum.clone().finalize()
    }
}

impl<W: Write> Summed<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }
}

impl<R: Read> Summed<R> {
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        self.inner
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => SnapshotError::Truncated,
                _ => SnapshotError::Io(error),
            })?;
        self.sum.update(bytes);
        Ok(())
    }

    fn take_u64(&mut self) -> Result<u64, SnapshotError> {
        let mut bytes = [0; 8];
        self.take(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// A sink that writes bytes.
pub(super) struct Encoder<W> {
    out: Summed<W>,
    /// The bytes of a chunk, kept for their memory.
    bytes: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(writer: W, header: &Header) -> io::Result<Self> {
        let mut out = Summed::new(writer);
        out.put(&header.to_bytes())?;
        Ok(Self {
            out,
            bytes: Vec::new(),
        })
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        let sum = self.out.sum();
        self.out.put(&sum.to_le_bytes())?;
        self.out.inner.flush()
    }
}

impl<W: Write> Sink for Encoder<W> {
    type Error = io::Error;

    fn begin_pass(&mut self, doublings: u32, first: bool) -> io::Result<()> {
        if !first {
            self.out.put(&PASS_ENDS.to_le_bytes())?;
        }
        self.out.put(&u64::from(doublings).to_le_bytes())
    }

    fn chunk(&mut self, words: &[u64]) -> io::Result<()> {
        self.bytes.resize(8 + 8 * words.len(), 0);
        let words = [CHUNK_FOLLOWS].iter().chain(words);
        for (bytes, word) in self.bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.out.put(&self.bytes)
    }
}

/// What an [`Encoder`] has written.
pub(super) fn decode<R: Read>(reader: R) -> Result<(Header, Image), SnapshotError> {
    let mut input = Summed::new(reader);
    let mut bytes = [0; HEADER_BYTES];
    input.take(&mut bytes)?;
    let header = Header::from_bytes(&bytes)?;
    let image = read_image(&mut input, header.geometry)?;
    let computed = input.sum();
    let mut stored = [0; 4];
    input.take(&mut stored)?;
    let stored = u32::from_le_bytes(stored);
    if stored != computed {
        return Err(SnapshotError::Checksum { stored, computed });
    }
    Ok((header, image))
}

/// The words of the last pass.
fn read_image<R: Read>(input: &mut Summed<R>, geometry: Geometry) -> Result<Image, SnapshotError> {
    'pass: loop {
        let level = input.take_u64()?;
        if level > u64::from(geometry.series.levels) {
            return Err(SnapshotError::Geometry {
                what: "level",
                found: level,
            });
        }
        let doublings = level as u32;
        let total = geometry.buckets << doublings;
        let mut words = Vec::new();
        for buckets in chunks(geometry.buckets, chunk_buckets(geometry.series.levels)) {
            match input.take_u64()? {
                CHUNK_FOLLOWS => read_words(input, buckets.len() << doublings, total, &mut words)?,
                PASS_ENDS => continue 'pass,
                found => {
                    return Err(SnapshotError::Geometry {
                        what: "chunk tag",
                        found,
                    });
                }
            }
        }
        return Ok(Image { doublings, words });
    }
}

/// Reads `count` words more of `total`, into memory that grows with the bytes that
/// really come: by as much as it is, and at last to the total exactly.
fn read_words<R: Read>(
    input: &mut Summed<R>,
    count: usize,
    total: usize,
    words: &mut Vec<u64>,
) -> Result<(), SnapshotError> {
    const STEP: usize = 512;
    let end = words.len() + count;
    while words.len() < end {
        let start = words.len();
        let step = STEP.min(end - start);
        if words.capacity() - start < step {
            let more = start.max(STEP).min(total - start);
            words
                .try_reserve_exact(more)
                .map_err(|_| SnapshotError::Memory { buckets: total })?;
        }
        words.resize(start + step, 0);
        let new = &mut words[start..];
        input.take(bytemuck::cast_slice_mut(new))?;
        for word in new {
            *word = u64::from_le(*word);
        }
    }
    Ok(())
}

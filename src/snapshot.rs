//! Snapshots: the filter's words as bytes, taken while all threads go on.
//!
//! `docs/FORMAT.md` describes the bytes. What makes a scan right although
//! fingerprints move meanwhile is in [`crate::frontier`] and, for growth, in
//! [`Planes::scan`].

use crate::{
    any::{of_layout, with_layout},
    cuckoo::Cuckoo,
    error::SnapshotError,
    filter::CuckooFilter,
    frontier::chunk_buckets,
    geometry::Geometry,
    grow::{Planes, Restored},
    hash::SeededState,
    layout::Layout,
    table::Table,
};
use std::{
    any::Any,
    convert::Infallible,
    hash::{BuildHasher, Hasher},
    io::{self, Read, Write},
    ops::Range,
};

/// The version of the format that is written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"guira\x1a\r\n";

/// Before a chunk of words.
const CHUNK_FOLLOWS: u64 = 0;

/// Instead of a chunk: the filter has doubled, and the scan starts again.
const PASS_ENDS: u64 = 1;

/// What a hasher makes of this number and this text tells hashers apart.
const PROBE: (u64, &[u8]) = (
    0x6775_6972_6120_2121,
    b"Hashers that agree on this text are taken for one and the same.",
);

/// What a snapshot says before its words.
struct Header {
    geometry: Geometry,
    /// The seed of a [`SeededState`], 0 for other hashers.
    seed: u64,
    /// The hasher's [`probe`].
    probe: u64,
}

const HEADER_BYTES: usize = 64;

impl Header {
    fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let Geometry {
            layout,
            buckets,
            levels,
            capacity,
            max_capacity,
        } = self.geometry;
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12] = layout.fingerprint_bits as u8;
        bytes[13] = layout.slots as u8;
        bytes[14] = levels as u8;
        let numbers = [
            buckets as u64,
            capacity as u64,
            max_capacity as u64,
            self.seed,
            self.probe,
        ];
        for (bytes, number) in bytes[16..56].chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, SnapshotError> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[0..8] != MAGIC {
            return Err(SnapshotError::Magic);
        }
        let found = number(8) as u32;
        if found != VERSION {
            return Err(SnapshotError::Version {
                found,
                supported: VERSION,
            });
        }
        if bytes[15] != 0 || number(56) != 0 {
            return Err(SnapshotError::Geometry {
                what: "reserved bytes",
                found: number(56),
            });
        }
        let geometry = Geometry::from_snapshot(
            (
                u32::from(bytes[12]),
                usize::from(bytes[13]),
                u32::from(bytes[14]),
            ),
            [16, 24, 32].map(number),
        )?;
        Ok(Self {
            geometry,
            seed: number(40),
            probe: number(48),
        })
    }
}

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

/// The words of one pass over the filter.
pub(crate) struct Image {
    /// There are 2^`level` planes.
    level: u32,
    /// Chunk by chunk of buckets, and in a chunk plane by plane.
    pub(crate) words: Vec<u64>,
}

/// Where a scan puts what it has read.
trait Sink {
    type Error;

    /// A pass begins, over 2^`level` planes; what an earlier one put is void.
    fn begin(&mut self, level: u32, first: bool) -> Result<(), Self::Error>;

    /// The words of the next chunk of buckets, plane by plane.
    fn chunk(&mut self, words: &[u64]) -> Result<(), Self::Error>;
}

impl Sink for Image {
    type Error = Infallible;

    fn begin(&mut self, level: u32, _first: bool) -> Result<(), Infallible> {
        self.level = level;
        self.words.clear();
        Ok(())
    }

    fn chunk(&mut self, words: &[u64]) -> Result<(), Infallible> {
        self.words.extend_from_slice(words);
        Ok(())
    }
}

/// A sink that writes bytes.
struct Encoder<W> {
    out: Summed<W>,
    /// The bytes of a chunk, kept for their memory.
    bytes: Vec<u8>,
}

impl<W: Write> Sink for Encoder<W> {
    type Error = io::Error;

    fn begin(&mut self, level: u32, first: bool) -> io::Result<()> {
        if !first {
            self.out.put(&PASS_ENDS.to_le_bytes())?;
        }
        self.out.put(&u64::from(level).to_le_bytes())
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

impl<L: Layout> Cuckoo<L> {
    /// Hands all words to `sink`: every item present during the whole call is
    /// in one of them.
    fn scan<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let planes = &self.table.planes;
        let frontier = self.frontiers.begin();
        let mut words = Vec::new();
        let mut first = true;
        'pass: loop {
            let level = planes.scan_level();
            sink.begin(level, first)?;
            first = false;
            let size = self.frontiers.chunk_buckets();
            for (chunk, buckets) in chunks(self.table.buckets(), size).enumerate() {
                frontier.enter(chunk);
                words.resize(buckets.len() << level, 0);
                let complete = planes.scan(buckets, level, &mut words);
                frontier.leave(chunk);
                if !complete {
                    continue 'pass;
                }
                sink.chunk(&words)?;
            }
            return Ok(());
        }
    }

    /// The words, as a snapshot has them.
    pub(crate) fn image(&self) -> Image {
        let mut image = Image {
            level: 0,
            words: Vec::with_capacity(self.table.planes.words()),
        };
        let Ok(()) = self.scan(&mut image);
        image
    }

    /// The filter that `image` is of.
    fn restore(geometry: Geometry, image: Image) -> Result<Self, SnapshotError> {
        let Geometry {
            buckets, levels, ..
        } = geometry;
        let level = image.level;
        let memory = || SnapshotError::Memory {
            buckets: buckets << level,
        };
        let mut restored = Restored::new(level);
        let planes = if level == 0 {
            Planes::of_image(levels, image.words, &mut restored)?
        } else {
            let planes = Planes::for_images(buckets, levels, level).ok_or_else(memory)?;
            let mut rest = &image.words[..];
            for buckets in chunks(buckets, chunk_buckets(levels)) {
                let (words, after) = rest.split_at(buckets.len() << level);
                planes.restore(buckets, words, &mut restored)?;
                rest = after;
            }
            planes.at_level(restored.lowest)
        };
        let cuckoo = Self::with_table(Table { planes })
            .ok_or_else(memory)?
            .growing_when(geometry.due());
        cuckoo.len.add(restored.items);
        Ok(cuckoo)
    }
}

/// The chunks in which the buckets of a plane are scanned.
fn chunks(buckets: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..buckets)
        .step_by(size)
        .map(move |start| start..buckets.min(start + size))
}

impl<S: BuildHasher + 'static> CuckooFilter<S> {
    /// Writes a snapshot of the filter, while any number of threads go on.
    ///
    /// Every item that is present during the whole call is in the snapshot; one
    /// that is inserted or removed meanwhile may be in it or not, and one that
    /// is being relocated just when the scan passes may be in it twice. With no
    /// writers it is exact, down to the place of each fingerprint.
    ///
    /// In memory it needs some KiB beyond the filter (more where the filter has
    /// doubled often). While it runs, no relocation crosses the place where it is,
    /// so that an insert into a filter that is well filled may be told that it is
    /// full. Where `writer` is slow, rather write what [`to_bytes`](Self::to_bytes)
    /// gives: it is done in less than a second a GiB.
    ///
    /// Wrap `writer` to observe the progress: all but about
    /// 1 % of the bytes come in proportion to the buckets scanned, and for a
    /// fixed filter [`memory_usage`](Self::memory_usage) is about their number.
    ///
    /// # Errors
    ///
    /// Those of `writer`.
    pub fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        let mut encoder = Encoder {
            out: Summed::new(writer),
            bytes: Vec::new(),
        };
        let header = Header {
            geometry: self.geometry,
            seed: seed(self.hasher()),
            probe: probe(self.hasher()),
        };
        encoder.out.put(&header.to_bytes())?;
        with_layout!(&self.cuckoo, cuckoo => cuckoo.scan(&mut encoder))?;
        let sum = encoder.out.sum();
        encoder.out.put(&sum.to_le_bytes())?;
        encoder.out.inner.flush()
    }

    /// [`write_to`](Self::write_to) into a vector.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let copy = CuckooFilter::from_bytes(&filter.to_bytes())?;
    /// assert!(copy.contains("ani"));
    /// assert_eq!(copy.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.buckets() * 8 + self.buckets() / 64 + 256);
        match self.write_to(&mut bytes) {
            Ok(()) => bytes,
            Err(error) => unreachable!("a vector takes all bytes: {error}"),
        }
    }

    /// Reads a snapshot whose filter hashed with `hasher`, up to its last byte;
    /// bytes after it are left.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] says what is wrong with the bytes. No more memory is
    /// allocated than twice as many bytes as were read, and some KiB.
    pub fn read_from_with_hasher<R: Read>(reader: R, hasher: S) -> Result<Self, SnapshotError> {
        Self::read(reader, |_| hasher)
    }

    fn read<R: Read>(reader: R, hasher: impl FnOnce(u64) -> S) -> Result<Self, SnapshotError> {
        let mut input = Summed::new(reader);
        let mut bytes = [0; HEADER_BYTES];
        input.take(&mut bytes)?;
        let Header {
            geometry,
            seed,
            probe,
        } = Header::from_bytes(&bytes)?;
        let image = read_image(&mut input, geometry)?;
        let computed = input.sum();
        let mut stored = [0; 4];
        input.take(&mut stored)?;
        let stored = u32::from_le_bytes(stored);
        if stored != computed {
            return Err(SnapshotError::Checksum { stored, computed });
        }
        let hasher = hasher(seed);
        let expected = self::probe(&hasher);
        if probe != expected {
            return Err(SnapshotError::Hasher {
                found: probe,
                expected,
            });
        }
        Self::restore(hasher, geometry, image)
    }

    fn restore(hasher: S, geometry: Geometry, image: Image) -> Result<Self, SnapshotError> {
        let bits = geometry.layout.fingerprint_bits;
        let cuckoo = of_layout!(bits, L => Cuckoo::<L>::restore(geometry, image)?);
        // No layout has so many bits, so no geometry has.
        let unknown = SnapshotError::Geometry {
            what: "fingerprint bits",
            found: u64::from(bits),
        };
        Ok(Self {
            hasher,
            cuckoo: cuckoo.ok_or(unknown)?,
            geometry,
        })
    }
}

/// The hash of [`PROBE`], fed as integers and strings are.
///
/// By the methods of [`Hasher`] themselves, for it is up to the standard library
/// which of them a value's `Hash` calls.
fn probe(hasher: &impl BuildHasher) -> u64 {
    let (number, text) = PROBE;
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(number);
    hasher.write(text);
    hasher.write_u8(0xff);
    hasher.finish()
}

/// The seed of the default hasher; others keep theirs to themselves.
fn seed<S: 'static>(hasher: &S) -> u64 {
    (hasher as &dyn Any)
        .downcast_ref()
        .map_or(0, SeededState::seed)
}

/// The words of the last pass.
fn read_image<R: Read>(input: &mut Summed<R>, geometry: Geometry) -> Result<Image, SnapshotError> {
    'pass: loop {
        let level = input.take_u64()?;
        if level > u64::from(geometry.levels) {
            return Err(SnapshotError::Geometry {
                what: "level",
                found: level,
            });
        }
        let level = level as u32;
        let total = geometry.buckets << level;
        let mut words = Vec::new();
        for buckets in chunks(geometry.buckets, chunk_buckets(geometry.levels)) {
            match input.take_u64()? {
                CHUNK_FOLLOWS => read_words(input, buckets.len() << level, total, &mut words)?,
                PASS_ENDS => continue 'pass,
                found => {
                    return Err(SnapshotError::Geometry {
                        what: "chunk tag",
                        found,
                    });
                }
            }
        }
        return Ok(Image { level, words });
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

impl CuckooFilter {
    /// Reads a snapshot, up to its last byte; bytes after it are left.
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher).
    pub fn read_from<R: Read>(reader: R) -> Result<Self, SnapshotError> {
        Self::read(reader, SeededState::new)
    }

    /// The filter of the snapshot that `bytes` are.
    ///
    /// # Errors
    ///
    /// As [`read_from_with_hasher`](Self::read_from_with_hasher), and
    /// [`SnapshotError::TrailingBytes`] if the snapshot ends before the bytes do.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, SnapshotError> {
        let filter = Self::read_from(&mut bytes)?;
        match bytes.len() {
            0 => Ok(filter),
            count => Err(SnapshotError::TrailingBytes { count }),
        }
    }
}

impl<S: Clone + BuildHasher + 'static> Clone for CuckooFilter<S> {
    /// A filter with the items of this one, which other threads may use
    /// meanwhile: as by [`write_to`](Self::write_to) and back.
    ///
    /// # Panics
    ///
    /// If there is no memory for it.
    fn clone(&self) -> Self {
        let image = with_layout!(&self.cuckoo, cuckoo => cuckoo.image());
        match Self::restore(self.hasher.clone(), self.geometry, image) {
            Ok(clone) => clone,
            Err(error) => panic!("{error}"),
        }
    }
}

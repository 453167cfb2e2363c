//! What a filter with a window is, and what it holds, wherever that lies: by its snapshot, of which
//! `docs/FORMAT.md` says what each byte means.

use guira::{ExpiringFilter, SnapshotError};
use std::io::{self, Read, Write};

/// Bytes of what a snapshot says before its words.
const SNAPSHOT_HEADER: usize = 64;

/// The same, and their checksum.
pub(super) const HEADER_BYTES: usize = SNAPSHOT_HEADER + 4;

/// Words in a chunk, but for the last one.
const CHUNK: u64 = 512;

/// Takes the first bytes, and no more.
struct First {
    bytes: [u8; SNAPSHOT_HEADER],
    taken: usize,
}

impl Write for First {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rest = &mut self.bytes[self.taken..];
        let count = rest.len().min(bytes.len());
        rest[..count].copy_from_slice(&bytes[..count]);
        self.taken += count;
        match count {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WriteZero.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The beginning of its snapshot, with a checksum.
pub(super) fn header(filter: &ExpiringFilter) -> [u8; HEADER_BYTES] {
    let mut first = First {
        bytes: [0; SNAPSHOT_HEADER],
        taken: 0,
    };
    let ended = filter.write_to(&mut first);
    debug_assert!(ended.is_err(), "a snapshot is longer than its header");
    let mut bytes = [0; HEADER_BYTES];
    bytes[..SNAPSHOT_HEADER].copy_from_slice(&first.bytes);
    bytes[SNAPSHOT_HEADER..].copy_from_slice(&crc32fast::hash(&first.bytes).to_le_bytes());
    bytes
}

/// The number at so many bytes.
fn number(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk);
    number.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The snapshot of the empty filter with this [header].
pub(super) fn empty(bytes: &[u8]) -> Result<impl Read, SnapshotError> {
    let bytes: &[u8; HEADER_BYTES] = bytes.try_into().map_err(|_| SnapshotError::Truncated)?;
    let (header, stored) = bytes.split_at(SNAPSHOT_HEADER);
    let (stored, computed) = (number_of_sum(stored), crc32fast::hash(header));
    if stored != computed {
        return Err(SnapshotError::Checksum { stored, computed });
    }
    let buckets = number(header, 16);
    // Its words, and a step for each chunk and for the end, all of which are 0.
    let zeros = (buckets + buckets.div_ceil(CHUNK) + 1).saturating_mul(8);
    Ok(Empty {
        header: header.try_into().unwrap_or([0; SNAPSHOT_HEADER]),
        read: 0,
        zeros,
        sum: crc32fast::Hasher::new(),
        end: None,
    })
}

fn number_of_sum(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |sum| u32::from_le_bytes(*sum))
}

/// Header, zeros, and the checksum of both.
struct Empty {
    header: [u8; SNAPSHOT_HEADER],
    read: usize,
    zeros: u64,
    sum: crc32fast::Hasher,
    end: Option<([u8; 4], usize)>,
}

impl Read for Empty {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = &self.header[self.read..];
        if !rest.is_empty() {
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            self.read += count;
            self.sum.update(&into[..count]);
            return Ok(count);
        }
        if self.zeros > 0 {
            let count = usize::try_from(self.zeros).map_or(into.len(), |left| left.min(into.len()));
            into[..count].fill(0);
            self.zeros -= count as u64;
            self.sum.update(&into[..count]);
            return Ok(count);
        }
        let sum = &self.sum;
        let (bytes, taken) = self
            .end
            .get_or_insert_with(|| (sum.clone().finalize().to_le_bytes(), 0));
        let rest = &bytes[*taken..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        *taken += count;
        Ok(count)
    }
}

/// How a snapshot stores copies.
#[derive(Clone, Copy)]
struct Layout {
    fingerprint_bits: u32,
    tag_bits: u32,
    slots: u32,
    lane: u32,
}

impl Layout {
    fn of(fingerprint_bits: u32) -> Self {
        let (tag_bits, slots, lane) = match fingerprint_bits {
            9 => (3, 5, 12),
            11 => (4, 4, 16),
            16 => (4, 3, 20),
            _ => (4, 2, 32),
        };
        Self {
            fingerprint_bits,
            tag_bits,
            slots,
            lane,
        }
    }

    /// Fingerprints and tags.
    fn copies(self, word: u64) -> impl Iterator<Item = (u64, u64)> {
        let low = |number: u64, bits: u32| number & ((1 << bits) - 1);
        (0..self.slots).filter_map(move |slot| {
            let slot = word >> (slot * self.lane);
            let fingerprint = low(slot, self.fingerprint_bits);
            let tag = low(slot >> self.fingerprint_bits, self.tag_bits);
            (fingerprint != 0).then_some((fingerprint, tag))
        })
    }
}

/// A sum over all copies: of their fingerprints, pairs of buckets, and ages.
pub(super) fn digest(filter: &ExpiringFilter) -> u128 {
    let layout = Layout::of(filter.fingerprint_bits());
    let mut sum = Sum {
        layout,
        buckets: filter.buckets() as u64,
        oldest: u64::from(filter.steps()),
        bytes: Vec::new(),
        header: SNAPSHOT_HEADER,
        bucket: 0,
        total: 0,
    };
    let written = filter.write_to(&mut sum);
    debug_assert!(written.is_ok(), "it takes all bytes");
    sum.total
}

struct Sum {
    layout: Layout,
    buckets: u64,
    /// The age of the oldest live copies.
    oldest: u64,
    /// What has come of a chunk.
    bytes: Vec<u8>,
    /// Bytes of the header that are to come.
    header: usize,
    bucket: u64,
    total: u128,
}

impl Sum {
    fn add_chunk(&mut self, words: u64) {
        let step = number(&self.bytes, 8 * words as usize);
        let (words, _) = self.bytes.as_chunks();
        // The last of them is the step.
        let (_, words) = words.split_last().unwrap_or((&[0; 8], &[]));
        for (bucket, word) in (self.bucket..).zip(words) {
            for (fingerprint, tag) in self.layout.copies(u64::from_le_bytes(*word)) {
                let age = step.wrapping_sub(tag) & ((1 << self.layout.tag_bits) - 1);
                if age <= self.oldest {
                    let pair = self.lower_bucket(bucket, fingerprint);
                    self.total = self.total.wrapping_add(mix(fingerprint, pair, age));
                }
            }
        }
    }

    /// Of the pair of the fingerprint that stands in this bucket.
    fn lower_bucket(&self, bucket: u64, fingerprint: u64) -> u64 {
        let half = u128::from(self.buckets / 2);
        let spread = fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let h = ((u128::from(spread) * half) >> 64) as u64;
        let other = (2 * h + 1 + self.buckets - bucket) % self.buckets;
        bucket.min(other)
    }
}

/// A number that looks random.
fn mix(fingerprint: u64, pair: u64, age: u64) -> u128 {
    let half = |seed: u64| {
        let scramble = |number: u64| {
            let number = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let number = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            number ^ number >> 32
        };
        [fingerprint, pair, age]
            .into_iter()
            .fold(seed, |sum, number| {
                scramble(sum ^ number).wrapping_add(seed)
            })
    };
    u128::from(half(0x9e37_79b9_7f4a_7c15)) << 64 | u128::from(half(0xc2b2_ae3d_27d4_eb4f))
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() && self.bucket < self.buckets {
            if self.header > 0 {
                let count = self.header.min(rest.len());
                self.header -= count;
                rest = &rest[count..];
                continue;
            }
            let words = CHUNK.min(self.buckets - self.bucket);
            let missing = 8 * (words as usize + 1) - self.bytes.len();
            let count = missing.min(rest.len());
            self.bytes.extend_from_slice(&rest[..count]);
            rest = &rest[count..];
            if count == missing {
                self.add_chunk(words);
                self.bucket += words;
                self.bytes.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn filter(bits: u32, seed: u64) -> ExpiringFilter {
        let builder = ExpiringFilter::builder(Duration::from_secs(60)).steps(3);
        let builder = builder.capacity(2_000).fingerprint_bits(bits).seed(seed);
        builder.build().unwrap()
    }

    #[test]
    fn an_empty_filter_is_made_from_a_header() {
        for bits in [9, 11, 16, 26] {
            let full = filter(bits, 7);
            for item in 0..1000 {
                full.insert(&item).unwrap();
            }
            let bytes = header(&full);
            let made = ExpiringFilter::read_from(empty(&bytes).unwrap()).unwrap();
            assert!(made.is_empty());
            assert_eq!(header(&made), bytes);
            assert_eq!(made.to_bytes(), filter(bits, 7).to_bytes());
            for bit in 0..8 * bytes.len() {
                let mut changed = bytes;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(empty(&changed).is_err());
            }
            assert!(empty(&bytes[1..]).is_err());
        }
    }

    /// In whichever order things happen.
    #[test]
    fn the_digest_is_of_what_is_held_and_of_its_age() {
        for bits in [9, 11, 16, 26] {
            let (one, other) = (filter(bits, 7), filter(bits, 7));
            for item in 0..1500 {
                one.insert(&item).unwrap();
            }
            for item in (0..1500).rev() {
                assert_ne!(digest(&one), digest(&other));
                other.insert(&item).unwrap();
            }
            assert_ne!(one.to_bytes(), other.to_bytes(), "they lie elsewhere");
            assert_eq!(digest(&one), digest(&other));
            one.advance();
            assert_ne!(digest(&one), digest(&other));
            other.advance();
            assert_eq!(digest(&one), digest(&other));
            assert!(one.refresh(&7).unwrap());
            assert_ne!(digest(&one), digest(&other));
            assert!(other.remove(&7));
            other.insert(&7).unwrap();
            assert_eq!(digest(&one), digest(&other));
            for filter in [&one, &other] {
                (0..5).for_each(|_| _ = filter.advance());
                assert_eq!(digest(filter), 0);
            }
        }
    }
}

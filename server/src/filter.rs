//! A filter of a key, and what its client asked for.

use guira::{BuildError, CuckooFilter};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The false-positive rate of a filter that was made without `ERROR`: RedisBloom's
/// first filter has 1.45 %.
pub const DEFAULT_RATE: f64 = 0.01;

/// A filter that grows has room for so many times its capacity at most.
const LARGEST_FACTOR: usize = 1024;

/// What `CF.RESERVE` was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Distinct items that must fit.
    pub capacity: usize,
    /// The false-positive rate, at every size.
    pub rate: f64,
    /// RedisBloom's slots of a bucket; this filter chooses its own.
    pub bucket_size: u8,
    /// RedisBloom's bound on relocations; this filter has its own.
    pub max_iterations: u16,
    /// 0: the filter does not grow.
    pub expansion: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            capacity: 1024,
            rate: DEFAULT_RATE,
            bucket_size: 2,
            max_iterations: 20,
            expansion: 1,
        }
    }
}

/// The value of a key.
#[derive(Debug)]
pub struct Filter {
    /// The filter itself.
    pub cuckoo: CuckooFilter,
    /// What its client asked for.
    pub options: Options,
    /// Items deleted so far.
    pub deleted: AtomicU64,
    /// Buckets when its memory was last charged.
    charged_buckets: AtomicUsize,
    /// Bytes that are charged for it; see [`crate::keyspace`].
    pub(crate) charged: AtomicUsize,
}

impl Filter {
    /// The empty filter that `options` ask for. One that grows can do so until
    /// it has room for 1024 times its capacity; for less if it needed more than
    /// `memory` bytes then, or if the rate could not be kept.
    ///
    /// # Errors
    ///
    /// Those of the library for a filter that does not grow at all.
    pub fn build(options: Options, memory: usize) -> Result<Self, BuildError> {
        let builder = || {
            CuckooFilter::builder()
                .capacity(options.capacity)
                .false_positive_rate(options.rate)
        };
        let limits = (options.expansion > 0).then(|| {
            let most = options.capacity.saturating_mul(LARGEST_FACTOR);
            let halved = |limit: &usize| Some(limit / 2);
            std::iter::successors(Some(most), halved)
                .take_while(|&limit| limit >= options.capacity.saturating_mul(2))
        });
        for limit in limits.into_iter().flatten() {
            if let Ok(cuckoo) = builder().max_capacity(limit).build()
                && grown_bytes(&cuckoo) <= memory
            {
                return Ok(Self::new(cuckoo, options, 0));
            }
        }
        Ok(Self::new(builder().build()?, options, 0))
    }

    /// Puts together what a save or a dump has taken apart.
    #[must_use]
    pub fn new(cuckoo: CuckooFilter, options: Options, deleted: u64) -> Self {
        Self {
            charged_buckets: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
            cuckoo,
            options,
            deleted: AtomicU64::new(deleted),
        }
    }

    /// Items deleted so far.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::Relaxed)
    }

    /// True if it has grown since this was last asked. Cheap, for after every insert.
    pub(crate) fn has_grown(&self) -> bool {
        let buckets = self.cuckoo.buckets();
        // Relaxed: whoever sees the change first charges for it, once or twice.
        self.charged_buckets.load(Ordering::Relaxed) != buckets && {
            self.charged_buckets.store(buckets, Ordering::Relaxed);
            true
        }
    }
}

/// Bytes of the filter when it has grown as far as it may.
fn grown_bytes(cuckoo: &CuckooFilter) -> usize {
    let factor = cuckoo.max_capacity().div_ceil(cuckoo.capacity().max(1));
    cuckoo
        .memory_usage()
        .saturating_mul(factor.next_power_of_two())
}

impl Options {
    /// Bytes of its encoding.
    pub const BYTES: usize = 8 + 8 + 1 + 2 + 2;

    /// For saves and dumps.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..8].copy_from_slice(&(self.capacity as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.rate.to_le_bytes());
        bytes[16] = self.bucket_size;
        bytes[17..19].copy_from_slice(&self.max_iterations.to_le_bytes());
        bytes[19..21].copy_from_slice(&self.expansion.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) made; `None` if it cannot have.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let at = |start: usize| std::array::from_fn(|i| bytes[start + i]);
        let options = Self {
            capacity: u64::from_le_bytes(at(0)).try_into().ok()?,
            rate: f64::from_le_bytes(at(8)),
            bucket_size: bytes[16],
            max_iterations: u16::from_le_bytes([bytes[17], bytes[18]]),
            expansion: u16::from_le_bytes([bytes[19], bytes[20]]),
        };
        (options.rate > 0.0 && options.rate < 1.0).then_some(options)
    }
}

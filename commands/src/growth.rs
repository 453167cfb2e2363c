//! How far a filter grows.

use crate::Options;
use guira::{BuildError, Builder, CuckooFilter};
use thiserror::Error;

/// A filter that grows has room for so many times its capacity, unless its client asked for more.
///
/// Fingerprints are a bit longer for each doubling to come, so at every size before the last one
/// there are fewer of them in a bucket. A filter for 4000 items that can grow to 4 million has then
/// 14.2 bits an item; one that could grow twice as far, 28.5.
const LARGEST_FACTOR: usize = 1024;

/// A filter that grows is to start with so many times the buckets of a fixed one, at most.
const START_FACTOR: usize = 5;

/// Bytes of a bucket, and the most items that it holds in any layout.
const BUCKET_BYTES: usize = 8;
const BUCKET_SLOTS: usize = 6;

/// Where a filter's header says how often the filter can double: see `docs/FORMAT.md`.
const DOUBLINGS: usize = 14;

/// How far a filter grows, and with which fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Items at its full size; `None`: its size is fixed.
    max_capacity: Option<usize>,
    /// Bits of a fingerprint; `None`: as the library chooses.
    fingerprint_bits: Option<u32>,
}

/// A filter cannot grow as asked.
#[derive(Debug, Error)]
pub enum GrowthError {
    /// The library refused.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It would need too much memory when it has grown.
    #[error("the filter would grow to {needed} bytes")]
    Memory {
        /// Bytes of the filter then, at least.
        needed: usize,
    },
}

/// Bytes of the filter when it has grown as far as it may.
fn grown_bytes(cuckoo: &CuckooFilter) -> usize {
    let first = BUCKET_BYTES * cuckoo.buckets();
    let others = cuckoo.memory_usage() - first;
    (first << cuckoo.header()[DOUBLINGS]).saturating_add(others)
}

impl Growth {
    const NONE: Self = Self {
        max_capacity: None,
        fingerprint_bits: None,
    };

    /// Up to so many items.
    ///
    /// # Errors
    ///
    /// [`GrowthError`] if that cannot be, or needs more than `memory` bytes.
    pub fn up_to(
        max_capacity: usize,
        options: &Options,
        memory: usize,
    ) -> Result<Self, GrowthError> {
        // The least that it can need, before anything is allocated.
        let needed = max_capacity / BUCKET_SLOTS * BUCKET_BYTES;
        if needed > memory {
            return Err(GrowthError::Memory { needed });
        }
        let growth = Self {
            max_capacity: Some(max_capacity),
            ..Self::NONE
        };
        match grown_bytes(&growth.builder(options).build()?) {
            needed if needed > memory => Err(GrowthError::Memory { needed }),
            _ => Ok(growth),
        }
    }

    /// As far as `LARGEST_FACTOR` times the capacity, the rate and `memory` bytes allow.
    ///
    /// # Errors
    ///
    /// What the library refuses even if the size is fixed.
    pub fn furthest(options: &Options, memory: usize) -> Result<Self, BuildError> {
        let fixed = Self::NONE.builder(options).build()?;
        if options.expansion == 0 {
            return Ok(Self::NONE);
        }
        let mut most = options
            .capacity
            .saturating_mul(LARGEST_FACTOR)
            .min(memory / BUCKET_BYTES * BUCKET_SLOTS);
        while most >= options.capacity.saturating_mul(2) {
            let growth = Self {
                max_capacity: Some(most),
                ..Self::NONE
            };
            let Ok(cuckoo) = growth.builder(options).build() else {
                most /= 2;
                continue;
            };
            let grown = grown_bytes(&cuckoo);
            if grown <= memory {
                return Ok(growth.with_modest_start(&cuckoo, &fixed, options));
            }
            // As many items as would fit, were there as many bytes for each at every size. There
            // are not quite: not to get closer and closer, it is a sixteenth less at least.
            let share = memory as f64 / grown as f64;
            most = ((most as f64 * share) as usize).min(most - most / 16);
        }
        Ok(Self::NONE)
    }

    /// This growth, which that of `cuckoo` is; or one to a half or a quarter of its size, if
    /// that makes the filter start modestly. It does for few items, of which there may be many keys.
    fn with_modest_start(
        self,
        cuckoo: &CuckooFilter,
        fixed: &CuckooFilter,
        options: &Options,
    ) -> Self {
        let is_modest = |it: &CuckooFilter| it.buckets() <= START_FACTOR * fixed.buckets();
        if is_modest(cuckoo) {
            return self;
        }
        let smaller = [2, 4].map(|divisor| Self {
            max_capacity: Some(cuckoo.max_capacity() / divisor),
            // With as many bits it doubles as often, and so begins with less.
            fingerprint_bits: Some(cuckoo.fingerprint_bits()),
        });
        let found = smaller.into_iter().find(|growth| {
            let built = growth.builder(options).build();
            built.is_ok_and(|cuckoo| is_modest(&cuckoo))
        });
        found.unwrap_or(self)
    }

    pub(crate) fn builder(self, options: &Options) -> Builder {
        let mut builder = CuckooFilter::builder()
            .capacity(options.capacity)
            .false_positive_rate(options.rate);
        if let Some(items) = self.max_capacity {
            builder = builder.max_capacity(items);
        }
        if let Some(bits) = self.fingerprint_bits {
            builder = builder.fingerprint_bits(bits);
        }
        builder
    }
}

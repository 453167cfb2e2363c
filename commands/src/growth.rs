//! How far a filter grows.

use crate::{Options, Wanted};
use guira::{BuildError, Builder, CuckooFilter};
use thiserror::Error;

/// A filter that grows has room for this number of times its capacity, unless its client requested
/// more.
///
/// Fingerprints are a bit longer for each doubling to come, so at every size before the last one
/// there are fewer of them in a bucket. A filter for 4000 items that can grow to 4 million has then
/// 14.2 bits an item; one that could grow twice as far, 28.5.
const LARGEST_FACTOR: usize = 1024;

/// A filter that grows should start with at most this number of times the buckets of a fixed one.
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

    /// The growth of the filter that is `wanted`, whose table may have up to `memory` bytes.
    ///
    /// # Errors
    ///
    /// [`GrowthError`] if the library refuses the filter, or if a table for its `max_capacity`
    /// needs more memory.
    pub fn of(wanted: &Wanted, memory: usize) -> Result<Self, GrowthError> {
        let options = &wanted.options;
        match wanted.max_capacity {
            Some(items) => Self::up_to(items, options, memory),
            None => Ok(Self::reaching(wanted.reach, options, memory)?),
        }
    }

    fn up_to(max_capacity: usize, options: &Options, memory: usize) -> Result<Self, GrowthError> {
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
        Self::reaching(0, options, memory)
    }

    /// As [`furthest`](Self::furthest), and to at least `reach` items if the rate and `memory`
    /// allow it.
    fn reaching(reach: usize, options: &Options, memory: usize) -> Result<Self, BuildError> {
        let fixed = Self::NONE.builder(options).build()?;
        if options.expansion == 0 {
            return Ok(Self::NONE);
        }
        let mut most = options
            .capacity
            .saturating_mul(LARGEST_FACTOR)
            .max(reach)
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
                return Ok(growth.with_modest_start(&cuckoo, &fixed, reach, options));
            }
            // The number of items that would fit if each size had the same number of bytes per
            // item. Sizes differ a little, so each round takes at least a sixteenth less, or it
            // would take many rounds.
            let share = memory as f64 / grown as f64;
            most = ((most as f64 * share) as usize).min(most - most / 16);
        }
        Ok(Self::NONE)
    }

    /// This growth, whose library filter is `cuckoo`; or one to nearly half or a quarter of its size,
    /// if that makes the filter start modestly and still reaches `reach` items. It does for few items,
    /// and there may be many keys with few items. Half would take an eighth more memory at the start.
    fn with_modest_start(
        self,
        cuckoo: &CuckooFilter,
        fixed: &CuckooFilter,
        reach: usize,
        options: &Options,
    ) -> Self {
        let is_modest = |it: &CuckooFilter| it.buckets() <= START_FACTOR * fixed.buckets();
        if is_modest(cuckoo) {
            return self;
        }
        let smaller = [7, 4].map(|sixteenths| Self {
            max_capacity: Some(cuckoo.max_capacity() / 16 * sixteenths),
            // With as many bits it doubles as often, and so begins with less.
            fingerprint_bits: Some(cuckoo.fingerprint_bits()),
        });
        let found = smaller.into_iter().find(|growth| {
            let built = growth.builder(options).build();
            built.is_ok_and(|cuckoo| is_modest(&cuckoo) && cuckoo.max_capacity() >= reach)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    const MEMORY: usize = 1 << 30;

    fn build(wanted: &Wanted, memory: usize) -> Filter {
        let growth = Growth::of(wanted, memory).unwrap();
        Filter::build(wanted.options, growth).unwrap()
    }

    fn of(capacity: usize) -> Options {
        Options {
            capacity,
            ..Options::default()
        }
    }

    fn by_default(capacity: usize) -> Wanted {
        Wanted::by_default(of(capacity))
    }

    /// An operator may choose another capacity, for keys that start smaller or larger.
    #[test]
    fn keys_that_inserts_make_reach_a_million_items() {
        for capacity in [4, 100, 256, 1024, 5000] {
            let filter = build(&by_default(capacity), MEMORY);
            let most = filter.max_capacity();
            assert!(most >= (1 << 20).max(1024 * capacity), "{capacity}: {most}");
        }
        let bytes = build(&Options::default().into(), MEMORY).memory_usage();
        let reaching = build(&by_default(Options::default().capacity), MEMORY).memory_usage();
        assert!((bytes..3000).contains(&reaching), "{reaching}, {bytes}");
    }

    /// A client that chose a small capacity gets a small filter.
    #[test]
    fn keys_whose_clients_chose_the_capacity_start_small() {
        for (capacity, most_bytes) in [(4, 656), (100, 992), (256, 1776)] {
            let filter = build(&of(capacity).into(), MEMORY);
            let bytes = filter.memory_usage();
            assert!(bytes <= most_bytes, "{capacity}: {bytes}");
        }
    }

    #[test]
    fn the_reach_ends_where_memory_ends() {
        const LITTLE: usize = 1 << 16;
        let filter = build(&by_default(256), LITTLE);
        let most = filter.max_capacity();
        assert!((20_000..40_000).contains(&most), "{most}");
        let fixed = Wanted::by_default(Options {
            expansion: 0,
            ..of(256)
        });
        let filter = build(&fixed, MEMORY);
        assert_eq!(filter.max_capacity(), filter.capacity());
    }
}

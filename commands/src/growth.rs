//! How far a filter grows.

use crate::{Options, Wanted, Window};
use guira::{
    BuildError, Builder, CuckooFilter, Estimate, ExpiringBuilder, ExpiringFilter, Lifetime,
    SeededState, Size,
};
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

/// The same for a filter with a window, which grows less instead. At low rates it cannot grow far, so
/// there is little to gain for more memory.
const START_FACTOR_OF_WINDOW: usize = 4;

/// A filter with a window may start with this number of buckets in any case: 512 bytes.
const START_LEAST_OF_WINDOW: usize = 64;

/// A smaller end for a filter is looked for in steps of this part of the whole.
const PARTS: usize = 32;

/// Bytes of a bucket, and the most items that it holds in any layout.
const BUCKET_BYTES: usize = 8;
const BUCKET_SLOTS: usize = 6;

/// How far a filter grows, and with which fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Items at its full size; `None`: its size is fixed.
    max_capacity: Option<usize>,
    /// Bits of a fingerprint; `None`: as the library chooses.
    fingerprint_bits: Option<u32>,
    /// Bits of a counter; `None`: slots have none.
    counter_bits: Option<u32>,
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

/// The bytes of the table for which there was no memory, if that is the error.
#[must_use]
pub fn bytes_refused(error: &BuildError) -> Option<usize> {
    match error {
        BuildError::Memory { buckets } => Some(buckets.saturating_mul(BUCKET_BYTES)),
        _ => None,
    }
}

impl Growth {
    /// No growth of the filter that is `wanted`.
    fn none(wanted: &Wanted) -> Self {
        Self {
            max_capacity: None,
            fingerprint_bits: None,
            counter_bits: wanted.counter_bits,
        }
    }

    /// The growth of the filter that is `wanted`, whose table may have up to `memory` bytes.
    ///
    /// # Errors
    ///
    /// [`GrowthError`] if the library refuses the filter, or if a table for its `max_capacity`
    /// needs more memory.
    pub fn of(wanted: &Wanted, memory: usize) -> Result<Self, GrowthError> {
        match wanted.max_capacity {
            Some(items) => Self::up_to(items, wanted, memory),
            None => Ok(Self::reaching(wanted, memory)?),
        }
    }

    fn up_to(max_capacity: usize, wanted: &Wanted, memory: usize) -> Result<Self, GrowthError> {
        let growth = Self {
            max_capacity: Some(max_capacity),
            ..Self::none(wanted)
        };
        match growth.estimate(wanted)?.max_bytes() {
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
        Self::reaching(&(*options).into(), memory)
    }

    /// [`furthest`](Self::furthest), and at least as far as `wanted.reach` if the rate and `memory` allow
    /// it.
    fn reaching(wanted: &Wanted, memory: usize) -> Result<Self, BuildError> {
        let (options, reach) = (&wanted.options, wanted.reach);
        let fixed = Self::none(wanted).estimate(wanted)?;
        if options.expansion == 0 {
            return Ok(Self::none(wanted));
        }
        let mut most = options
            .capacity
            .saturating_mul(LARGEST_FACTOR)
            .max(reach)
            .min(memory / BUCKET_BYTES * BUCKET_SLOTS);
        while most >= options.capacity.saturating_mul(2) {
            let growth = Self {
                max_capacity: Some(most),
                ..Self::none(wanted)
            };
            // Buckets of one slot would refuse the third `CF.ADD` of an item, and a client that asks for
            // no size does not expect that.
            let estimate = growth.estimate(wanted).ok();
            let Some(sizes) = estimate.filter(|it| first(it).bucket_slots > 1) else {
                most /= 2;
                continue;
            };
            let grown = sizes.max_bytes();
            if wanted.window.is_some() && sizes.doublings() == 0 {
                // It would not grow, but be as large from the beginning.
                return Ok(Self::none(wanted));
            }
            if grown <= memory {
                match growth.with_modest_start(&sizes, &fixed, wanted) {
                    Some(growth) => return Ok(growth),
                    None if wanted.window.is_none() => return Ok(growth),
                    None => {
                        most /= 2;
                        continue;
                    }
                }
            }
            // The number of items that would fit if each size had the same number of bytes per
            // item. Sizes differ a little, so each round takes at least a sixteenth less, or it
            // would take many rounds.
            let share = memory as f64 / grown as f64;
            most = ((most as f64 * share) as usize).min(most - most / 16);
        }
        Ok(Self::none(wanted))
    }

    /// This growth, whose library filter has these `sizes`, or a smaller one that starts modestly, reaches
    /// what is `wanted` and doubles the same number of times. Of these it is the one that starts with
    /// least, because there may be many keys with few items. If several start alike, it is the one that
    /// ends largest.
    fn with_modest_start(
        self,
        sizes: &Estimate,
        fixed: &Estimate,
        wanted: &Wanted,
    ) -> Option<Self> {
        let of_fixed = first(fixed).buckets;
        let most = match wanted.window {
            Some(_) => (START_FACTOR_OF_WINDOW * of_fixed).max(START_LEAST_OF_WINDOW),
            None => START_FACTOR * of_fixed,
        };
        let is_modest = |it: &Estimate| first(it).buckets <= most;
        if is_modest(sizes) {
            return Some(self);
        }
        let least = match wanted.window {
            Some(_) => wanted.reach.max(2 * wanted.options.capacity),
            None => wanted.reach,
        };
        let suffices = |it: &Estimate| {
            it.doublings() == sizes.doublings() && is_modest(it) && at_end(it) >= least
        };
        let mut best: Option<(usize, Self)> = None;
        // With less than a quarter it would double once less, and start larger again.
        for parts in PARTS / 4..PARTS {
            let growth = Self {
                max_capacity: Some(at_end(sizes) / PARTS * parts),
                fingerprint_bits: Some(sizes.fingerprint_bits()),
                ..self
            };
            let Some(it) = growth.estimate(wanted).ok().filter(suffices) else {
                continue;
            };
            let first = first(&it).buckets;
            if best.is_some_and(|(buckets, _)| first > buckets) {
                break;
            }
            best = Some((first, growth));
        }
        best.map(|(_, growth)| growth)
    }

    /// What the filter that is `wanted` will take at each size.
    ///
    /// # Errors
    ///
    /// What the library refuses.
    pub fn estimate(self, wanted: &Wanted) -> Result<Estimate, BuildError> {
        match wanted.window {
            None => self.builder(&wanted.options).estimate(),
            Some(window) => self.window_builder(&wanted.options, window).estimate(),
        }
    }

    pub(crate) fn window_builder(self, options: &Options, window: Window) -> ExpiringBuilder {
        let builder = ExpiringFilter::builder(window.length);
        let builder = match window.epochs {
            None => builder,
            Some(epochs) => builder.epochs(epochs),
        };
        self.with_sizes(builder, options)
    }

    pub(crate) fn builder(self, options: &Options) -> Builder {
        self.with_sizes(CuckooFilter::builder(), options)
    }

    fn with_sizes<T: Lifetime>(
        self,
        builder: Builder<SeededState, T>,
        options: &Options,
    ) -> Builder<SeededState, T> {
        let mut builder = builder
            .capacity(options.capacity)
            .false_positive_rate(options.rate);
        if let Some(items) = self.max_capacity {
            builder = builder.max_capacity(items);
        }
        if let Some(bits) = self.fingerprint_bits {
            builder = builder.fingerprint_bits(bits);
        }
        if let Some(bits) = self.counter_bits {
            builder = builder.counter_bits(bits);
        }
        builder
    }
}

/// The size at which a filter begins.
fn first(estimate: &Estimate) -> Size {
    estimate.sizes()[0]
}

/// The items that fit at the last size.
fn at_end(estimate: &Estimate) -> usize {
    estimate.sizes().last().map_or(0, |size| size.items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Filter};
    use std::time::Duration;

    const MEMORY: usize = 1 << 30;

    fn build(wanted: &Wanted, memory: usize) -> Filter {
        let growth = Growth::of(wanted, memory).unwrap();
        Filter::wanted(wanted, growth, Clock::Process).unwrap()
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

    /// At 1 % they grow at least 256-fold, and at low rates as far as their tags allow.
    #[test]
    fn windows_start_small_and_grow() {
        let window = Window {
            length: Duration::from_secs(3600),
            epochs: None,
        };
        let built = |capacity, rate, expansion| {
            let options = Options {
                rate,
                expansion,
                ..of(capacity)
            };
            let wanted = Wanted {
                window: Some(window),
                ..options.into()
            };
            build(&wanted, MEMORY)
        };
        for (rate, least) in [(0.01, 256), (1e-3, 256), (1e-5, 4), (1e-6, 2), (1e-7, 1)] {
            for capacity in [4, 100, 1_000, 20_000, 1_000_000] {
                let [grows, fixed] = [1, 0].map(|expansion| built(capacity, rate, expansion));
                let (most, bytes) = (grows.max_capacity(), grows.memory_usage());
                let what = format!("{capacity} at {rate}: {most}, {bytes}");
                assert_eq!(fixed.max_capacity(), capacity, "{what}");
                assert!(bytes <= 4 * fixed.memory_usage() + 512, "{what}: {fixed:?}");
                let grown = MEMORY / 32;
                assert!(most >= (least * capacity).min(grown), "{what}");
            }
        }
    }

    /// A filter that hardly grows would begin larger, and with fewer epochs, for nothing.
    #[test]
    fn windows_with_counters_grow_to_twice_their_capacity_or_not_at_all() {
        let window = Window {
            length: Duration::from_secs(3600),
            epochs: None,
        };
        let mut grown = 0;
        for (bits, rates) in [(4, [0.03, 0.01, 1e-4]), (8, [0.03, 0.01, 1e-5])] {
            for (rate, capacity) in rates
                .map(|rate| [100, 10_000].map(|it| (rate, it)))
                .as_flattened()
            {
                let built = |expansion| {
                    let options = Options {
                        rate: *rate,
                        expansion,
                        ..of(*capacity)
                    };
                    let wanted = Wanted {
                        window: Some(window),
                        counter_bits: Some(bits),
                        ..options.into()
                    };
                    build(&wanted, MEMORY)
                };
                let [grows, fixed] = [1, 0].map(built);
                let (most, bytes) = (grows.max_capacity(), grows.memory_usage());
                let what = format!("{bits}, {capacity} at {rate}: {most}, {bytes}");
                assert_eq!(grows.counter_bits(), bits, "{what}");
                assert_eq!(fixed.max_capacity(), *capacity, "{what}");
                assert!(bytes <= 4 * fixed.memory_usage() + 512, "{what}");
                if most == *capacity {
                    assert_eq!(bytes, fixed.memory_usage(), "{what}");
                } else {
                    assert!(most >= 2 * capacity, "{what}");
                    grown += 1;
                }
            }
        }
        assert!(grown >= 7, "{grown}");
    }

    /// A client that chose a small capacity gets a small filter.
    #[test]
    fn keys_whose_clients_chose_the_capacity_start_small() {
        for (capacity, most_bytes) in [(4, 656), (100, 696), (256, 1208)] {
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

//! The configuration of an expiring filter.

use super::{ExpiringFilter, MIN_EPOCH, Window, any::AnyExpiring};
use crate::{
    error::BuildError,
    geometry::{Geometry, rate_asked},
    hash::SeededState,
};
use std::time::Duration;

/// The items of a TTL by default.
const DEFAULT_CAPACITY: usize = 1024;

/// The epochs of a TTL by default: an item expires at most 1/12 of the TTL late, and the sweeps cost
/// little.
const DEFAULT_EPOCHS: u32 = 12;

/// Configures an [`ExpiringFilter`]. Made by [`ExpiringFilter::builder`].
///
/// ```
/// use guira::ExpiringFilter;
/// use std::time::Duration;
///
/// let filter = ExpiringFilter::builder(Duration::from_secs(3600))
///     .capacity(1_000_000)
///     .false_positive_rate(0.0001)
///     .epochs(6)
///     .build()?;
/// assert_eq!(filter.capacity(), 1_000_000);
/// assert_eq!(filter.epoch_length(), Duration::from_secs(600));
/// # Ok::<(), guira::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExpiringBuilder<S = SeededState> {
    window: Window,
    max_capacity: Option<usize>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    hasher: S,
}

impl ExpiringFilter {
    /// Configures a filter that keeps each item for at least `ttl` after it was last seen.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(600))
    ///     .capacity(10_000)
    ///     .false_positive_rate(0.001)
    ///     .build()?;
    /// assert_eq!(filter.ttl(), Duration::from_secs(600));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn builder(ttl: Duration) -> ExpiringBuilder {
        ExpiringBuilder::new(ttl)
    }

    /// A filter that keeps each item for at least `ttl`, with room for `capacity` distinct items per
    /// TTL, a false-positive rate of at most 0.1 % and a random seed.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::with_capacity(10_000, Duration::from_secs(600));
    /// assert_eq!(filter.capacity(), 10_000);
    /// assert!(filter.false_positive_rate() <= 0.001);
    /// ```
    ///
    /// # Panics
    ///
    /// If `capacity` is 0 or too large, if `ttl` is shorter than 12 ms, or if there is no memory.
    /// [`ExpiringBuilder::build`] returns an error instead.
    #[must_use]
    pub fn with_capacity(capacity: usize, ttl: Duration) -> Self {
        match Self::builder(ttl).capacity(capacity).build() {
            Ok(filter) => filter,
            Err(error) => panic!("{error}"),
        }
    }
}

impl ExpiringBuilder {
    fn new(ttl: Duration) -> Self {
        Self {
            window: Window {
                capacity: DEFAULT_CAPACITY,
                max_capacity: DEFAULT_CAPACITY,
                ttl,
                epochs: DEFAULT_EPOCHS,
            },
            max_capacity: None,
            rate: None,
            fingerprint_bits: None,
            hasher: SeededState::random(),
        }
    }

    /// Seeds the default hasher, as [`Builder::seed`](crate::Builder::seed). The default is a random
    /// seed. For replay protection, keep the seed secret.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).seed(42).build()?;
    /// assert_eq!(filter.hasher().seed(), 42);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.hasher = SeededState::new(seed);
        self
    }
}

impl<S> ExpiringBuilder<S> {
    /// The number of distinct items that arrive per TTL, at least 1. The default is 1024.
    ///
    /// The filter has room for the items of the TTL and of 1.5 epochs more, if items arrive at an
    /// even pace. If bursts have up to twice that number, request twice the capacity.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).capacity(5_000).build()?;
    /// assert_eq!(filter.capacity(), 5_000);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn capacity(mut self, items: usize) -> Self {
        self.window.capacity = items;
        self
    }

    /// Lets the filter grow until it has room for `items` distinct items per TTL, at least
    /// [`capacity`](Self::capacity). By default it has a fixed size.
    ///
    /// The filter doubles when it needs more room, and its rate never exceeds the
    /// [requested one](Self::false_positive_rate). No thread waits for a doubling, and each item keeps its
    /// time. A filter does not shrink; [`reset`](ExpiringFilter::reset) makes it small again.
    ///
    /// Expired items take up room until they are swept. A filter whose epochs begin late may therefore
    /// grow further than its traffic requires.
    ///
    /// As with [`Builder::max_capacity`](crate::Builder::max_capacity), the filter is fixed if growth
    /// would save at most half of its start.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(3600))
    ///     .capacity(1_000)
    ///     .max_capacity(100_000)
    ///     .build()?;
    /// let small = filter.memory_usage();
    /// for event in 0..100_000_u32 {
    ///     assert!(filter.insert(&event).is_ok());
    /// }
    /// assert!(filter.memory_usage() > 20 * small);
    /// assert!(filter.false_positive_rate() <= 0.001);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn max_capacity(mut self, items: usize) -> Self {
        self.max_capacity = Some(items);
        self
    }

    /// The number of epochs in the TTL, E: from 1 to 13. The default is 12.
    ///
    /// An item lives for at most TTL · (1 + 1/E), and the table is larger by the items of an epoch.
    /// With at most 5 epochs there is a smaller layout for rates of about 2 % and more.
    ///
    /// ```
    /// use guira::{BuildError, ExpiringFilter};
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(5).build()?;
    /// assert_eq!(filter.epoch_length(), Duration::from_secs(12));
    ///
    /// let error = ExpiringFilter::builder(Duration::from_secs(60)).epochs(20).build();
    /// assert_eq!(error.err(), Some(BuildError::Epochs { asked: 20, max: 13 }));
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn epochs(mut self, epochs: u32) -> Self {
        self.window.epochs = epochs;
        self
    }

    /// The highest share of absent items for which the filter may answer true, from 3·10⁻⁸ to less
    /// than 1, while [`capacity`](Self::capacity) items arrive per TTL. In a filter that grows, from
    /// 5·10⁻⁷, and at every size.
    ///
    /// The default is 0.001, or with [`fingerprint_bits`](Self::fingerprint_bits) the rate of these.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60));
    /// let filter = builder.false_positive_rate(0.01).build()?;
    /// assert!(filter.false_positive_rate() <= 0.01);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The size of a fingerprint in bits, which determines the layout: 9 (with at most 5 epochs), 11,
    /// 16 or 26. In a filter that [grows](Self::max_capacity), the size before growth: 10 to 23.
    /// By default the rate determines it.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60));
    /// let filter = builder.fingerprint_bits(26).build()?;
    /// assert!(filter.false_positive_rate() < 1e-7);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// Hashes items with `hasher`, as [`Builder::hasher`](crate::Builder::hasher).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{hash::RandomState, time::Duration};
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60));
    /// let filter = builder.hasher(RandomState::new()).build()?;
    /// assert_eq!(filter.insert_unique("ani"), Ok(true));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> ExpiringBuilder<H> {
        let Self {
            window,
            max_capacity,
            rate,
            fingerprint_bits,
            hasher: _,
        } = self;
        ExpiringBuilder {
            window,
            max_capacity,
            rate,
            fingerprint_bits,
            hasher,
        }
    }

    /// Makes the filter, in epoch 0: O(buckets).
    ///
    /// ```
    /// use guira::{BuildError, ExpiringFilter};
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert!(filter.is_empty() && filter.epoch() == 0);
    ///
    /// let error = ExpiringFilter::builder(Duration::from_millis(11)).build();
    /// assert!(matches!(error, Err(BuildError::Ttl { .. })));
    /// # Ok::<(), BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting that cannot be met, and the allowed range.
    pub fn build(self) -> Result<ExpiringFilter<S>, BuildError> {
        let rate = rate_asked(self.rate, self.fingerprint_bits);
        let mut window = self.window;
        if window.capacity == 0 {
            return Err(BuildError::ZeroCapacity);
        }
        let (asked, max) = (window.epochs, Geometry::MAX_EPOCHS);
        if !(1..=max).contains(&asked) {
            return Err(BuildError::Epochs { asked, max });
        }
        if window.epoch_length() < MIN_EPOCH {
            return Err(BuildError::Ttl {
                asked: window.ttl,
                min: MIN_EPOCH * asked,
            });
        }
        let (items, bits) = (window.capacity, self.fingerprint_bits);
        let geometry = match self.max_capacity {
            None => Geometry::expiring(items, window.epochs, rate, bits),
            Some(most) => Geometry::growable_expiring(items, most, window.epochs, rate, bits),
        }?;
        window.max_capacity = self.max_capacity.unwrap_or(items);
        let buckets = geometry.buckets;
        let raw =
            AnyExpiring::new(&geometry, window.epochs).ok_or(BuildError::Memory { buckets })?;
        Ok(ExpiringFilter::from_parts(
            self.hasher,
            raw,
            geometry,
            window,
        ))
    }
}

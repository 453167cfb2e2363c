//! The configuration of an expiring filter.

use super::{ExpiringFilter, MIN_STEP, Window, any::AnyExpiring};
use crate::{
    error::BuildError,
    geometry::{Geometry, rate_asked},
    hash::SeededState,
};
use std::time::Duration;

/// The steps of a TTL, unless another number is asked for: an item lives by a twelfth too long at
/// most, and the sweep of a step takes few enough of them.
const DEFAULT_STEPS: u32 = 12;

/// Configures an [`ExpiringFilter`]; made by [`ExpiringFilter::builder`].
///
/// ```
/// use guira::ExpiringFilter;
/// use std::time::Duration;
///
/// let filter = ExpiringFilter::builder(Duration::from_secs(3600))
///     .capacity(1_000_000)
///     .false_positive_rate(0.0001)
///     .steps(6)
///     .build()?;
/// assert_eq!(filter.capacity(), 1_000_000);
/// assert_eq!(filter.step_length(), Duration::from_secs(600));
/// # Ok::<(), guira::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExpiringBuilder<S = SeededState> {
    window: Window,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    hasher: S,
}

impl ExpiringBuilder {
    pub(super) fn new(ttl: Duration) -> Self {
        Self {
            window: Window {
                capacity: 1024,
                ttl,
                steps: DEFAULT_STEPS,
            },
            rate: None,
            fingerprint_bits: None,
            hasher: SeededState::random(),
        }
    }

    /// As [`Builder::seed`](crate::Builder::seed). With replay protection the seed must be a
    /// secret.
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
    /// How many distinct items come within a TTL. Without this call 1024 do.
    ///
    /// There is room for what lives longer than the TTL by a step, and half a step more, if the
    /// items come at an even pace. If there may be twice as many at one time, ask for twice as
    /// many.
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

    /// How many steps the TTL has, E: from 1 to 13. Without this call 12.
    ///
    /// An item lives for TTL · (1 + 1/E) at most, and so many more items are in the filter at any
    /// time. With up to 5 steps there is a smaller layout for rates from some 2 % on.
    ///
    /// ```
    /// use guira::{BuildError, ExpiringFilter};
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).steps(5).build()?;
    /// assert_eq!(filter.step_length(), Duration::from_secs(12));
    ///
    /// let error = ExpiringFilter::builder(Duration::from_secs(60)).steps(20).build();
    /// assert_eq!(error.err(), Some(BuildError::Steps { asked: 20, max: 13 }));
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn steps(mut self, steps: u32) -> Self {
        self.window.steps = steps;
        self
    }

    /// The share of absent items, at most, for which the filter answers true while it holds what
    /// comes in a TTL and a step. Without this call it is 0.001, or with
    /// [`fingerprint_bits`](Self::fingerprint_bits) whatever rate these have.
    ///
    /// It is from 3·10⁻⁸ up to, but not including, 1.
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

    /// The bits of a fingerprint, and with them the layout: 9 (with up to 5 steps), 11, 16 or 26.
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

    /// Hashes items with `hasher` instead of the default one: as
    /// [`Builder::hasher`](crate::Builder::hasher).
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
            rate,
            fingerprint_bits,
            hasher: _,
        } = self;
        ExpiringBuilder {
            window,
            rate,
            fingerprint_bits,
            hasher,
        }
    }

    /// Makes the filter, in its step 0: O(buckets).
    ///
    /// ```
    /// use guira::{BuildError, ExpiringFilter};
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert!(filter.is_empty() && filter.step() == 0);
    ///
    /// let error = ExpiringFilter::builder(Duration::from_millis(11)).build();
    /// assert!(matches!(error, Err(BuildError::Ttl { .. })));
    /// # Ok::<(), BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be met, and what can.
    pub fn build(self) -> Result<ExpiringFilter<S>, BuildError> {
        let rate = rate_asked(self.rate, self.fingerprint_bits);
        let window = self.window;
        let (asked, max) = (window.steps, Geometry::MAX_STEPS);
        if !(1..=max).contains(&asked) {
            return Err(BuildError::Steps { asked, max });
        }
        if window.step_length() < MIN_STEP {
            return Err(BuildError::Ttl {
                asked: window.ttl,
                min: MIN_STEP * asked,
            });
        }
        let geometry =
            Geometry::expiring(window.capacity, window.steps, rate, self.fingerprint_bits)?;
        let raw = AnyExpiring::new(&geometry, window.steps);
        Ok(ExpiringFilter {
            hasher: self.hasher,
            raw: raw.ok_or(BuildError::Memory {
                buckets: geometry.buckets,
            })?,
            geometry,
            window,
        })
    }
}

//! The configuration of a filter.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod load;

use crate::{
    error::BuildError,
    estimate::Estimate,
    filter::{CuckooFilter, ExpiringFilter, Filter},
    geometry::{COUNTER_BITS, Geometry, Kind, Request},
    hash::SeededState,
    lifetime::{Expiring, Forever, Lifetime, MIN_EPOCH, Timing, Window},
};
use std::{marker::PhantomData, time::Duration};

/// What a filter is optimized for: see [`Builder::prefer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefer {
    /// Fast operations.
    #[default]
    Speed,
    /// A small table.
    Space,
}

/// Configures a filter. Made by [`CuckooFilter::builder`] and [`ExpiringFilter::builder`].
///
/// ```
/// use guira::CuckooFilter;
///
/// let filter = CuckooFilter::builder()
///     .capacity(10_000)
///     .false_positive_rate(0.01)
///     .seed(42)
///     .build()?;
/// assert_eq!(filter.capacity(), 10_000);
/// assert!(filter.false_positive_rate() <= 0.01);
/// assert!(filter.insert("quail").is_ok());
/// # Ok::<(), guira::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder<S = SeededState, T: Lifetime = Forever> {
    capacity: usize,
    max_capacity: Option<usize>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    prefer: Prefer,
    counter_bits: Option<u32>,
    ttl: Duration,
    /// The epochs asked for.
    epochs: Option<u32>,
    hasher: S,
    /// Makes the hasher from the seed of a saved filter, if the caller has chosen none.
    reseed: Option<fn(u64) -> S>,
    lifetime: PhantomData<T>,
}

/// Configures an [`ExpiringFilter`]. Made by [`ExpiringFilter::builder`].
pub type ExpiringBuilder<S = SeededState> = Builder<S, Expiring>;

/// The items by default.
const DEFAULT_CAPACITY: usize = 1024;

/// The rate of a filter for which none is asked.
const DEFAULT_RATE: f64 = 0.001;

/// The epochs of a TTL by default: an item expires at most 1/12 of the TTL late, and the sweeps cost
/// little.
const DEFAULT_EPOCHS: u32 = 12;

impl CuckooFilter {
    /// Configures a filter.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder()
    ///     .capacity(10_000)
    ///     .max_capacity(1_000_000)
    ///     .false_positive_rate(0.01)
    ///     .build()?;
    /// assert_eq!(filter.max_capacity(), 1_000_000);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn builder() -> Builder {
        Builder::new(Duration::ZERO)
    }

    /// Makes a filter for `capacity` distinct items, with a false-positive rate of at most 0.1 %
    /// and a random seed.
    ///
    /// It occupies about 2 bytes per item.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(10_000);
    /// assert_eq!(filter.capacity(), 10_000);
    /// assert!(filter.false_positive_rate() <= 0.001);
    /// ```
    ///
    /// # Panics
    ///
    /// If `capacity` is 0 or too large, or if there is no memory. [`Builder::build`] returns an
    /// error instead.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::builder().capacity(capacity).build() {
            Ok(filter) => filter,
            Err(error) => panic!("{error}"),
        }
    }
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
        Builder::new(ttl)
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
    /// [`Builder::build`] returns an error instead.
    #[must_use]
    pub fn with_capacity(capacity: usize, ttl: Duration) -> Self {
        match Self::builder(ttl).capacity(capacity).build() {
            Ok(filter) => filter,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T: Lifetime> Builder<SeededState, T> {
    fn new(ttl: Duration) -> Self {
        Self {
            capacity: DEFAULT_CAPACITY,
            max_capacity: None,
            rate: None,
            fingerprint_bits: None,
            prefer: Prefer::Speed,
            counter_bits: None,
            ttl,
            epochs: None,
            hasher: SeededState::random(),
            reseed: Some(SeededState::new),
            lifetime: PhantomData,
        }
    }

    /// Seeds the default hasher. The default is a random seed.
    ///
    /// For replay protection, keep the seed secret.
    ///
    /// A filter with a given seed is [deterministic](CuckooFilter#determinism). An attacker who
    /// knows the seed can make keys that overfill a pair of buckets: see [Keys from
    /// attackers](CuckooFilter#keys-from-attackers).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let bytes = || {
    ///     let filter = CuckooFilter::builder().seed(42).build()?;
    ///     filter.try_extend(["ani", "koel"])?;
    ///     Ok::<_, Box<dyn std::error::Error>>(filter.to_bytes())
    /// };
    /// assert_eq!(bytes()?, bytes()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.hasher = SeededState::new(seed);
        self.reseed = None;
        self
    }
}

impl<S, T: Lifetime> Builder<S, T> {
    /// The number of distinct items for which the filter has room, at least 1. The default is 1024.
    ///
    /// The false-positive rate is kept up to this number. Usually a few more items fit, and each of
    /// them raises the rate.
    ///
    /// In an [`ExpiringFilter`], it is the number of distinct items that arrive per TTL. The filter has
    /// room for these and for the items of 1.5 epochs more, if items arrive evenly. If all items of a TTL
    /// can arrive in one burst, request twice their number.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(5_000).build()?;
    /// assert_eq!(filter.capacity(), 5_000);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn capacity(mut self, items: usize) -> Self {
        self.capacity = items;
        self
    }

    /// Lets the filter grow in use until it has room for `items` distinct items. By default it does
    /// not grow.
    ///
    /// `items` must be at least [`capacity`](Self::capacity). Whenever the filter is full, it
    /// doubles. The false-positive rate is kept at every size. Lookups read two buckets at every
    /// size.
    ///
    /// In an [`ExpiringFilter`], the items are those of a TTL, and each item keeps its time. Expired
    /// items take up room until they are swept, so a filter whose epochs begin late may grow further
    /// than its traffic requires.
    ///
    /// The filter starts with long fingerprints in few slots. Each doubling stores one bit less of
    /// each fingerprint, so buckets get more [slots](CuckooFilter::bucket_slots). After its last
    /// doubling the filter is hardly larger than a fixed one. Bits per item of the table alone, for
    /// a final million items:
    ///
    /// | rate | grows | at the start | at the end | fixed |
    /// |---|---|---|---|---|
    /// | 1 % | 16 times | 27 | 13.5 | 12.5 |
    /// | 1 % | 64 times | 27 | 13.7 | 12.5 |
    /// | 1 % | 1000 times | 57 | 14.6 | 12.5 |
    /// | 0.1 % | 16 times | 34 | 17.1 | 16.8 |
    /// | 0.1 % | 64 times | 35 | 17.4 | 16.8 |
    /// | 0.1 % | 1000 times | 72 | 18.5 | 16.8 |
    ///
    /// At low rates, a filter that can double often starts with buckets of one slot. There, a third
    /// copy of an item is [refused](crate::InsertError::TooManyCopies), and items with two copies make
    /// the filter double early.
    ///
    /// The builder chooses the fingerprint size whose table is smallest at the end. Among sizes
    /// within 2 % of that one, it takes the smallest start. The start has at most as many buckets
    /// as the largest of:
    ///
    /// * six times the buckets of a fixed filter for `capacity` items
    /// * 32 buckets
    /// * 1/1024 of the final buckets
    /// * the buckets that `capacity` items need in the initial words
    ///
    /// The filter has its final size from the start if a fixed filter for `items` items has at most
    /// twice the buckets of a fixed one for `capacity`. This does not apply if
    /// [`fingerprint_bits`](Self::fingerprint_bits) is set.
    ///
    /// Usually no single insert pays for a doubling: each insert splits a few words. An insert that
    /// finds no room during a doubling splits more of them, twice the number in each attempt.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder()
    ///     .capacity(1_000)
    ///     .max_capacity(100_000)
    ///     .false_positive_rate(0.01)
    ///     .build()?;
    /// let before = filter.memory_usage();
    /// for item in 0..100_000_u32 {
    ///     filter.insert(&item).expect("100 000 items fit");
    /// }
    /// assert!(filter.memory_usage() > 10 * before);
    /// assert!((0..100_000_u32).all(|item| filter.contains(&item)));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn max_capacity(mut self, items: usize) -> Self {
        self.max_capacity = Some(items);
        self
    }

    /// The highest share of absent items for which a filter with `capacity` items may return true.
    ///
    /// The rate is from 2·10⁻⁹ to less than 1; in an [`ExpiringFilter`] from 3·10⁻⁸, and from 2.4·10⁻⁷ if
    /// it can grow. The lowest rate of a [`CuckooFilter`] that can grow is higher, too, and the error
    /// names it. The default is 0.001, or with
    /// [`fingerprint_bits`](Self::fingerprint_bits) the rate of these.
    ///
    /// Among the layouts that keep the rate, the builder chooses the one with the smallest table.
    /// For a filter that can grow, [`max_capacity`](Self::max_capacity) describes the choice.
    ///
    /// The rate is kept up to `capacity` items, not up to the first
    /// [`InsertError::Full`](crate::InsertError::Full). Items beyond the capacity raise it.
    ///
    /// ```
    /// use guira::{BuildError, CuckooFilter};
    ///
    /// let filter = CuckooFilter::builder().false_positive_rate(0.0001).build()?;
    /// assert!(filter.false_positive_rate() <= 0.0001);
    ///
    /// let error = CuckooFilter::builder().false_positive_rate(0.0).build();
    /// assert!(matches!(error, Err(BuildError::FalsePositiveRate { .. })));
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The size of a fingerprint in bits, which determines the layout. By default the rate
    /// determines it.
    ///
    /// | filter | sizes |
    /// |---|---|
    /// | fixed | 10, 12, 15, 20, 30 |
    /// | fixed, with [`Prefer::Space`] | these, and 9, 11, 13 |
    /// | growing | 10 to 40 |
    /// | [expiring](ExpiringFilter) | 9 (with at most 5 epochs), 11, 16, 26 |
    /// | expiring and growing | 10 to 40 |
    /// | expiring, with [counters](Self::counter_bits) | 8, 13, 23 with 4 bits; 9, 19 with 8 bits |
    /// | expiring and growing, with counters | 10 to 40 |
    ///
    /// With `Prefer::Space`, 15 and 20 stand for two layouts each, and the builder chooses the one
    /// with the smaller table.
    ///
    /// If a rate is set, too, the result keeps both or is an error. Without a rate, note that a
    /// growing filter stores one of these bits less after each doubling, which about doubles the
    /// rate. It always keeps 9 bits, so its rate at full size is at most about 2.3 %.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().fingerprint_bits(12).build()?;
    /// assert_eq!(filter.fingerprint_bits(), 12);
    /// assert!(filter.false_positive_rate() < 0.003);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// Hashes items with `hasher` instead of [`SeededState`].
    ///
    /// A hasher for hash maps is good enough if it rarely gives two items the same 64 bits, even one
    /// that returns each number unchanged. The filter hashes its results again, with two
    /// multiplications: [`hash_of`](CuckooFilter::hash_of) returns what it then uses.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::RandomState;
    ///
    /// let filter = CuckooFilter::builder().hasher(RandomState::new()).build()?;
    /// assert_eq!(filter.insert_unique("ani"), Ok(true));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> Builder<H, T> {
        let Self {
            capacity,
            max_capacity,
            rate,
            fingerprint_bits,
            prefer,
            counter_bits,
            ttl,
            epochs,
            hasher: _,
            reseed: _,
            lifetime,
        } = self;
        Builder {
            capacity,
            max_capacity,
            rate,
            fingerprint_bits,
            prefer,
            counter_bits,
            ttl,
            epochs,
            hasher,
            reseed: None,
            lifetime,
        }
    }

    /// Makes the filter. O(buckets).
    ///
    /// ```
    /// use guira::{BuildError, CuckooFilter};
    ///
    /// let filter = CuckooFilter::builder().capacity(1_000).build()?;
    /// assert!(filter.is_empty());
    ///
    /// let error = CuckooFilter::builder().capacity(usize::MAX).build();
    /// assert!(matches!(error, Err(BuildError::Capacity { .. })));
    /// # Ok::<(), BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting that cannot be met, and the allowed range.
    /// [`BuildError::Memory`] if the allocator refuses the memory for the table.
    pub fn build(self) -> Result<Filter<S, T>, BuildError> {
        self.build_with(T::Timing::start)
    }

    /// Makes a filter in which writes let no time pass.
    #[cfg(feature = "shared")]
    #[doc(hidden)]
    pub fn build_by_hand(self) -> Result<Filter<S, T>, BuildError> {
        self.build_with(T::Timing::start_by_hand)
    }

    fn build_with(
        self,
        start: impl FnOnce(Window) -> T::Timing,
    ) -> Result<Filter<S, T>, BuildError> {
        let (geometry, window) = self.plan()?;
        let buckets = geometry.buckets;
        Filter::empty(self.hasher, &geometry, window, start).ok_or(BuildError::Memory { buckets })
    }

    /// What the filter will take at each size: bytes, items, copies, and the rate. Nothing is allocated for
    /// the table.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(10_000_000).false_positive_rate(0.001);
    /// let estimate = builder.estimate()?;
    /// assert_eq!(estimate.bytes(), builder.build()?.memory_usage());
    /// assert!(estimate.bits_per_item() < 17.0);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), except for [`BuildError::Memory`].
    pub fn estimate(&self) -> Result<Estimate, BuildError> {
        let (geometry, window) = self.plan()?;
        let inline = size_of::<Filter<S, T>>();
        Ok(Estimate::of(&geometry, window, inline))
    }

    /// The size of the filter, and what it is asked to remember.
    pub(crate) fn plan(&self) -> Result<(Geometry, Window), BuildError> {
        if self.capacity == 0 {
            return Err(BuildError::ZeroCapacity);
        }
        let epochs = match T::EXPIRES {
            true => self.checked_epochs()?,
            false => 0,
        };
        Ok((self.geometry(epochs)?, self.window(epochs)))
    }

    /// What the filter is asked to remember, if a TTL has this number of epochs.
    fn window(&self, epochs: u32) -> Window {
        Window {
            capacity: self.capacity,
            max_capacity: self.max_capacity.unwrap_or(self.capacity),
            ttl: self.ttl,
            epochs,
        }
    }

    /// The epochs of a TTL: those asked for, or by default as many as suit the layout.
    fn checked_epochs(&self) -> Result<u32, BuildError> {
        let Some(counter_bits) = self.counter_bits else {
            let epochs = self.epochs.unwrap_or(DEFAULT_EPOCHS);
            return check(self.window(epochs)).map(|()| epochs);
        };
        // An item that occurs in each epoch must fit its buckets. The rate decides on their slots.
        let fits = |&epochs: &u32| self.geometry(epochs).is_ok();
        let Some(max) = (1..=DEFAULT_EPOCHS).rev().find(fits) else {
            // Not the epochs are the reason.
            return self.geometry(1).map(|_| 1);
        };
        // If a bucket has a slot for each epoch, many items can occur in every epoch beside each other.
        let suits = |&epochs: &u32| {
            let geometry = self.geometry(epochs);
            geometry.is_ok_and(|geometry| epochs < geometry.series.slots(0) as u32)
        };
        let epochs = self.epochs.or_else(|| (1..=max).rev().find(suits));
        let epochs = epochs.unwrap_or(1);
        check(self.window(epochs))?;
        if epochs > max {
            return Err(BuildError::EpochsOfCounters {
                asked: epochs,
                counter_bits,
                max,
            });
        }
        Ok(epochs)
    }

    fn geometry(&self, epochs: u32) -> Result<Geometry, BuildError> {
        match (self.max_capacity, self.counter_bits, self.prefer) {
            (_, Some(asked), _) if !COUNTER_BITS.contains(&asked) => {
                let allowed = COUNTER_BITS.to_vec();
                Err(BuildError::CounterBits { asked, allowed })
            }
            (_, Some(counter_bits), Prefer::Space) => {
                Err(BuildError::CountersInSpace { counter_bits })
            }
            (Some(max_capacity), None, Prefer::Space) => {
                Err(BuildError::GrowthInSpace { max_capacity })
            }
            _ => Request {
                kind: Kind {
                    epochs,
                    counter_bits: self.counter_bits.unwrap_or(0),
                    semi_sorted: self.prefer == Prefer::Space,
                },
                items: self.capacity,
                max_items: self.max_capacity,
                rate: self.rate.unwrap_or(match self.fingerprint_bits {
                    // Fingerprints asked for without a rate have the rate that they have, whatever it is.
                    Some(_) => 0.5,
                    None => DEFAULT_RATE,
                }),
                bits: self.fingerprint_bits,
            }
            .geometry(),
        }
    }

    /// Gives each slot a counter of 4 or 8 bits. Without this setting there are none.
    ///
    /// Then up to 2^`bits` copies of one item occupy one slot, and at most
    /// 2 × [`bucket_slots`](CuckooFilter::bucket_slots) × 2^`bits` copies of it fit. Use counters if
    /// items repeat, for instance to count references. The capacity is a number of distinct items as in
    /// other filters, and a filter that can grow does not grow because of copies.
    ///
    /// | | without | 4 bits | 8 bits |
    /// |---|---|---|---|
    /// | copies of one item that fit a fixed filter | 4 to 14 | 64 to 160 | 1024 to 1536 |
    ///
    /// Each remove removes one copy, and [`count`](CuckooFilter::count) says how many there are. Filters
    /// with counters cannot prefer space.
    ///
    /// ```
    /// use guira::{BuildError, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(1_000).counter_bits(8);
    /// let references = builder.clone().build()?;
    /// for _ in 0..1_000 {
    ///     references.insert("ani").expect("at least 1 024 copies fit");
    /// }
    /// assert_eq!(references.count("ani"), 1_000);
    /// assert_eq!(references.slots_in_use(), 4);
    ///
    /// let error = builder.counter_bits(5).build();
    /// assert!(matches!(error, Err(BuildError::CounterBits { asked: 5, .. })));
    /// # Ok::<(), BuildError>(())
    /// ```
    ///
    /// In an [`ExpiringFilter`], one slot holds copies of one epoch, so that
    /// [`count`](ExpiringFilter::count) is the number of occurrences within the TTL: for rate limits, see
    /// [`insert_and_count`](ExpiringFilter::insert_and_count). The capacity counts an item once for each
    /// epoch in which it occurs. If most items occur in every epoch, ask for twice the capacity.
    ///
    /// | counter | lowest rate | epochs by default | most epochs |
    /// |---|---|---|---|
    /// | 4 bits | 2 %, 0.04 %, 3·10⁻⁷ | 3, 2, 1 | 5, 4, 2 |
    /// | 8 bits | 0.6 %, 4·10⁻⁶ | 2, 1 | 4, 2 |
    ///
    /// With the default, an item that occurs in every epoch, up to 2^`bits` times in each, fits one of its
    /// buckets. With more epochs it needs both, and few items can occur in every epoch.
    #[must_use]
    pub fn counter_bits(mut self, bits: u32) -> Self {
        self.counter_bits = Some(bits);
        self
    }
}

/// Settings that only filters have whose items stay.
impl<S> Builder<S> {
    /// What the filter is optimized for. The default is [`Prefer::Speed`].
    ///
    /// [`Prefer::Space`] also allows semi-sorted words. These keep their slots in order and
    /// therefore need not store part of the fingerprints. The builder chooses the smallest table
    /// among all kinds of words. At equal memory, filters with semi-sorted words have 0.6 to 1.1 of the
    /// speed of the others for lookups, 0.4 to 0.8 for inserts, and 0.6 to 0.9 for removes. Bits per item of
    /// the table, for a million items:
    ///
    /// | rate | speed | space |
    /// |---|---|---|
    /// | 3 % | 11.0 | 9.4 |
    /// | 1 % | 12.5 | 11.0 |
    /// | 0.5 % | 13.3 | 12.5 |
    /// | 0.3 % | 13.3 | 13.3 |
    /// | 0.1 % | 16.8 | 14.7 |
    /// | 0.01 % | 23.2 | 20.8 |
    ///
    /// Only a fixed filter can prefer space.
    ///
    /// ```
    /// use guira::{BuildError, CuckooFilter, Prefer};
    ///
    /// let builder = CuckooFilter::builder().capacity(100_000).false_positive_rate(0.01);
    /// let fast = builder.clone().build()?;
    /// let small = builder.clone().prefer(Prefer::Space).build()?;
    /// assert!(small.false_positive_rate() <= 0.01);
    /// assert!(small.memory_usage() < fast.memory_usage());
    ///
    /// let error = builder.max_capacity(1_000_000).prefer(Prefer::Space).build();
    /// assert!(matches!(error, Err(BuildError::GrowthInSpace { .. })));
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }
}

/// Settings that only filters have whose items expire.
impl<S> Builder<S, Expiring> {
    /// The number of epochs in the TTL, E: from 1 to 13. The default is 12. With
    /// [counters](Self::counter_bits) fewer fit, and the default is one less than a bucket has slots.
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
        self.epochs = Some(epochs);
        self
    }
}

/// Checks the epochs of a TTL.
fn check(window: Window) -> Result<(), BuildError> {
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
    Ok(())
}

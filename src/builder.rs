//! The configuration of a filter: what its users ask for.

use crate::{
    error::BuildError,
    filter::CuckooFilter,
    geometry::{Geometry, rate_asked},
    hash::SeededState,
};

/// What a filter is to be better in: [`Builder::prefer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefer {
    /// Fast operations.
    #[default]
    Speed,
    /// A small table.
    Space,
}

/// Configures a [`CuckooFilter`]; made by [`CuckooFilter::builder`].
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
pub struct Builder<S = SeededState> {
    capacity: usize,
    max_capacity: Option<usize>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    prefer: Prefer,
    hasher: S,
}

impl CuckooFilter {
    /// A filter for `capacity` distinct items, with a false-positive rate of at most 0.1 % and a
    /// random seed: about 2 bytes per item.
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
    /// If `capacity` is 0 or too large, or if there is no memory.
    /// [`Builder::build`] returns an error instead.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::builder().capacity(capacity).build() {
            Ok(filter) => filter,
            Err(error) => panic!("{error}"),
        }
    }

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
        Builder::new()
    }
}

impl Builder {
    fn new() -> Self {
        Self {
            capacity: 1024,
            max_capacity: None,
            rate: None,
            fingerprint_bits: None,
            prefer: Prefer::Speed,
            hasher: SeededState::random(),
        }
    }

    /// Seeds the default hasher. Without this call its seed is random.
    ///
    /// With a seed a filter is [deterministic](CuckooFilter#determinism). Whoever
    /// knows the seed can make keys that overfill a pair of buckets:
    /// see [Keys from attackers](CuckooFilter#keys-from-attackers).
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
        self
    }
}

impl<S> Builder<S> {
    /// How many distinct items fit. Without this call 1024 do.
    ///
    /// The false-positive rate is kept for so many items. As a rule a few more fit, and for
    /// each of those the rate rises.
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

    /// Lets the filter grow while in use, until it has room for so many distinct
    /// items, not fewer than [`capacity`](Self::capacity).
    ///
    /// It doubles whenever it is full. Its false-positive rate stays at or below the rate asked
    /// for at every size. It begins with long fingerprints in few slots, and stores one bit less of
    /// each after each doubling. So its buckets have more and more
    /// [slots](CuckooFilter::bucket_slots), and in the end it is hardly larger than a fixed filter.
    ///
    /// Of the fingerprints with which it can grow as far, those are chosen with which it ends
    /// smallest; of sizes within 2 % of that one, the one with the smallest start. But it starts
    /// with at most six times the buckets of a fixed filter for `capacity` items, or with 32, or with
    /// 1/1024 of its own final ones, or with what `capacity` items need in its first words, if that
    /// is more.
    /// For a million items in the end, in bits an item of the
    /// table alone:
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
    /// If a fixed filter for so many items has at most twice the buckets of a fixed one for
    /// `capacity`, this filter is that one: it has its final size from the start. (Not if
    /// [`fingerprint_bits`](Self::fingerprint_bits) are given.)
    ///
    /// As a rule no insert pays for a doubling: each splits a few words. One that finds
    /// no room although a doubling is under way splits more, twice as many at each try.
    /// Lookups look at two buckets at every size.
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

    /// The share of absent items, at most, for which a filter that holds
    /// `capacity` items answers true. Without this call it is 0.001, or with
    /// [`fingerprint_bits`](Self::fingerprint_bits) whatever rate these have.
    ///
    /// It is from 2·10⁻⁹ up to, but not including, 1. The lowest rate of a filter that can
    /// grow is higher, and the error says it.
    /// Of the layouts that keep the rate, the one with the smallest table is chosen; of a filter
    /// that can grow, as [`max_capacity`](Self::max_capacity) says.
    ///
    /// The rate is kept up to `capacity` items, not up to the first
    /// [`InsertError::Full`](crate::InsertError::Full): items that fit beyond the capacity
    /// bring the filter above the rate.
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

    /// The bits of a fingerprint, and with them the layout: 10, 12, 15, 20 or 30; for a filter
    /// that can grow 10 to 27, and for one that prefers [`Prefer::Space`] 9, 11 and 13, too. For such
    /// a filter 15 and 20 are two layouts each, of which the one with the smaller table is chosen.
    ///
    /// A rate asked for as well is kept, or is an error. Without one, mind that a filter that
    /// can grow stores one of these bits less after each doubling, which makes the rate about twice
    /// as high. It always keeps 9 of them, so the rate is at most some 2.3 % at its full size.
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

    /// What the filter is to be better in. Without this call it is [`Prefer::Speed`].
    ///
    /// With [`Prefer::Space`] the table may have words whose slots are kept in order, so that part of
    /// their fingerprints need not be stored: the one with the smallest table is chosen, of these
    /// words and of the others. In cache all operations take up to a half longer then, and out of cache
    /// up to two thirds. In bits an item of the table, for a million items:
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
    /// Only a filter that cannot grow may prefer space.
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

    /// Hashes items with `hasher` instead of the default one.
    ///
    /// All 64 bits of its hashes must be as good as random: the low ones
    /// make the fingerprint, the high ones choose the buckets.
    /// A weak hasher fills a filter early. With one that hashes a number to itself, not half of
    /// the numbers from 0 to 999 fit into a filter of the default rate for 1000 items, and of
    /// multiples of 32 768 only 8.
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
    pub fn hasher<H>(self, hasher: H) -> Builder<H> {
        let Self {
            capacity,
            max_capacity,
            rate,
            fingerprint_bits,
            prefer,
            hasher: _,
        } = self;
        Builder {
            capacity,
            max_capacity,
            rate,
            fingerprint_bits,
            prefer,
            hasher,
        }
    }

    /// Makes the filter: O(buckets).
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
    /// [`BuildError`] names what cannot be met, and what can.
    pub fn build(self) -> Result<CuckooFilter<S>, BuildError> {
        if self.capacity == 0 {
            return Err(BuildError::ZeroCapacity);
        }
        let rate = rate_asked(self.rate, self.fingerprint_bits);
        let (capacity, bits) = (self.capacity, self.fingerprint_bits);
        let geometry = match (self.max_capacity, self.prefer) {
            (None, Prefer::Speed) => Geometry::fixed(capacity, rate, bits),
            (None, Prefer::Space) => Geometry::for_space(capacity, rate, bits),
            (Some(max), Prefer::Speed) => Geometry::growable(capacity, max, rate, bits),
            (Some(max_capacity), Prefer::Space) => Err(BuildError::GrowthInSpace { max_capacity }),
        }?;
        let buckets = geometry.buckets;
        CuckooFilter::empty(self.hasher, geometry).ok_or(BuildError::Memory { buckets })
    }
}

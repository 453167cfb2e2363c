//! From capacity and rate to a geometry; every error about a configuration.

use crate::{
    cuckoo::Cuckoo,
    error::BuildError,
    filter::{AnyCuckoo, CuckooFilter},
    hash::SeededState,
    layout::{F10x6, F12x5, F15x4, F20x3, F30x2, Layout},
};

/// The lowest false-positive rate on offer: 30-bit fingerprints in a table that
/// is filled to half at most.
pub(crate) const MIN_RATE: f64 = 2e-9;

/// The rate of [`CuckooFilter::with_capacity`].
const DEFAULT_RATE: f64 = 0.001;

/// A table is never made larger to reach a rate than for this load factor: the
/// next longer fingerprint reaches it in less memory.
const MIN_LOAD: f64 = 0.5;

/// The most buckets of a table: the bucket index must not use the hash bits
/// that the fingerprint comes from.
const MAX_BUCKETS: usize = if usize::BITS > 32 { 1 << 32 } else { isize::MAX as usize / 8 };

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
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    hasher: S,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { capacity: 1024, rate: None, fingerprint_bits: None, hasher: SeededState::random() }
    }

    /// Seeds the default hasher; without this call its seed is random.
    ///
    /// Filters with one seed, capacity and rate place items alike. Whoever
    /// knows the seed can make keys that overfill a pair of buckets.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.hasher = SeededState::new(seed);
        self
    }
}

impl<S> Builder<S> {
    /// How many distinct items fit; 1024 without this call.
    #[must_use]
    pub fn capacity(mut self, items: usize) -> Self {
        self.capacity = items;
        self
    }

    /// The share of absent items, at most, for which a filter that holds
    /// `capacity` items answers true: 2·10⁻⁹ ≤ `rate` < 1; 0.001 without this
    /// call. The layout with the smallest table that keeps it is chosen.
    #[must_use]
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The bits of a fingerprint, 10, 12, 15, 20 or 30, and with them the
    /// layout. A rate asked for as well is kept, or is an error.
    #[must_use]
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// Hashes items with `hasher` instead of the default one.
    ///
    /// All 64 bits of its hashes must be as good as random: the high ones
    /// choose the bucket, the low ones make the fingerprint.
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> Builder<H> {
        let Self { capacity, rate, fingerprint_bits, .. } = self;
        Builder { capacity, rate, fingerprint_bits, hasher }
    }

    /// Makes the filter.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be met, and what can.
    pub fn build(self) -> Result<CuckooFilter<S>, BuildError> {
        let geometry = Geometry::choose(self.capacity, self.rate, self.fingerprint_bits)?;
        let buckets = geometry.buckets;
        let cuckoo = geometry.cuckoo().ok_or(BuildError::Memory { buckets })?;
        Ok(CuckooFilter { hasher: self.hasher, cuckoo, capacity: self.capacity })
    }
}

/// The false-positive rate at a load factor: 2Sα comparisons, each of which
/// matches by chance (Fan et al., *Cuckoo Filter*, CoNEXT 2014, §5.1).
pub(crate) fn false_positive_rate(fingerprint_bits: u32, slots: usize, load: f64) -> f64 {
    -f64::exp_m1(2.0 * slots as f64 * load * ln_mismatch(fingerprint_bits))
}

/// The logarithm of the chance that two fingerprints differ: there are 2^f - 1
/// of them, as 0 is none.
fn ln_mismatch(fingerprint_bits: u32) -> f64 {
    let fingerprints = ((1_u64 << fingerprint_bits) - 1) as f64;
    f64::ln_1p(-1.0 / fingerprints)
}

/// A layout and a number of buckets.
#[derive(Clone, Copy, Debug)]
struct Geometry {
    layout: &'static LayoutFacts,
    buckets: usize,
}

/// What the builder knows of a layout.
#[derive(Debug)]
struct LayoutFacts {
    fingerprint_bits: u32,
    slots: usize,
    /// The load factor to which a large table fills.
    load: f64,
    /// What small tables need beyond it, in square roots of their slots.
    margin: f64,
}

/// Measured: see "Headroom" in `docs/DESIGN.md`.
const LAYOUTS: [LayoutFacts; 5] = [
    LayoutFacts::of::<F10x6>(0.97, 0.5),
    LayoutFacts::of::<F12x5>(0.96, 0.5),
    LayoutFacts::of::<F15x4>(0.95, 0.5),
    LayoutFacts::of::<F20x3>(0.9, 0.5),
    LayoutFacts::of::<F30x2>(0.85, 0.5),
];

impl LayoutFacts {
    const fn of<L: Layout>(load: f64, margin: f64) -> Self {
        let (fingerprint_bits, slots) = (L::FINGERPRINT_BITS, L::SLOTS);
        Self { fingerprint_bits, slots, load, margin }
    }

    /// The load factor at which the rate is `rate`.
    fn load_for(&self, rate: f64) -> f64 {
        f64::ln_1p(-rate) / ln_mismatch(self.fingerprint_bits) / (2.0 * self.slots as f64)
    }

    /// The lowest rate on offer.
    fn min_rate(&self) -> f64 {
        false_positive_rate(self.fingerprint_bits, self.slots, MIN_LOAD)
    }

    /// The items that fit into `buckets` buckets.
    fn room(&self, buckets: usize) -> f64 {
        let slots = (self.slots * buckets) as f64;
        (slots * self.load - self.margin * slots.sqrt()).max(if buckets == 1 { slots } else { 0.0 })
    }

    /// The buckets for `capacity` items at `rate`; `None` if it is out of reach.
    fn buckets(&self, capacity: usize, rate: f64) -> Option<usize> {
        let load = self.load_for(rate);
        if load < MIN_LOAD {
            return None;
        }
        let slots = (self.slots as f64) * load.min(1.0);
        let for_rate = (capacity as f64 / slots).ceil() as usize;
        // `room` grows with the number of buckets: the least that suffices.
        let (mut low, mut high) = (for_rate.max(1), usize::MAX / 64);
        while low < high {
            let middle = low.midpoint(high);
            if self.room(middle) >= capacity as f64 { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }

    /// The items that fit into the largest table at `rate`.
    fn max_capacity(&self, rate: f64) -> usize {
        let slots = (self.slots * MAX_BUCKETS) as f64;
        self.room(MAX_BUCKETS).min(slots * self.load_for(rate)) as usize
    }
}

impl Geometry {
    /// The smallest table for `capacity` items at `rate`; of equal ones that
    /// with the longest fingerprints.
    fn choose(
        capacity: usize,
        rate: Option<f64>,
        fingerprint_bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        // Fingerprints that are asked for without a rate have the rate they have.
        let asked = rate.unwrap_or(if fingerprint_bits.is_some() { 0.5 } else { DEFAULT_RATE });
        if !(MIN_RATE..1.0).contains(&asked) {
            return Err(BuildError::FalsePositiveRate { asked });
        }
        let layouts = LAYOUTS
            .iter()
            .filter(|layout| fingerprint_bits.is_none_or(|bits| bits == layout.fingerprint_bits));
        let Some(longest) = layouts.clone().next_back() else {
            return Err(BuildError::FingerprintBits { asked: fingerprint_bits.unwrap_or(0) });
        };
        let fitting = layouts
            .clone()
            .filter_map(|layout| Some(Self { layout, buckets: layout.buckets(capacity, asked)? }))
            .rev()
            .min_by_key(|geometry| geometry.buckets);
        match fitting {
            Some(geometry) if geometry.buckets <= MAX_BUCKETS => Ok(geometry),
            Some(_) => {
                let roomy = layouts.max_by_key(|layout| layout.max_capacity(asked)).unwrap_or(longest);
                Err(BuildError::Capacity {
                    asked: capacity,
                    fingerprint_bits: roomy.fingerprint_bits,
                    max: roomy.max_capacity(asked),
                })
            }
            None => Err(BuildError::RateOfFingerprint {
                asked,
                fingerprint_bits: longest.fingerprint_bits,
                min: longest.min_rate(),
            }),
        }
    }

    fn cuckoo(self) -> Option<AnyCuckoo> {
        Some(match self.layout.fingerprint_bits {
            10 => AnyCuckoo::F10x6(Cuckoo::new(self.buckets)?),
            12 => AnyCuckoo::F12x5(Cuckoo::new(self.buckets)?),
            15 => AnyCuckoo::F15x4(Cuckoo::new(self.buckets)?),
            20 => AnyCuckoo::F20x3(Cuckoo::new(self.buckets)?),
            _ => AnyCuckoo::F30x2(Cuckoo::new(self.buckets)?),
        })
    }
}

//! Which layout, how many buckets, how many doublings: arithmetic only.

use crate::{
    error::{BuildError, SnapshotError},
    table::{
        Levels, SPLITS_PER_INSERT,
        layout::{F10x6, F12x5, F15x4, F20x3, F30x2, Growing, Layout},
    },
};
use std::ops::Range;

/// The lowest false-positive rate on offer: 30-bit fingerprints in a table that
/// is filled to half at most.
const MIN_RATE: f64 = 2e-9;

/// A table is never made larger to reach a rate than for this load factor: the
/// next longer fingerprint reaches it in less memory.
const MIN_LOAD: f64 = 0.5;

/// The most buckets of a table: the bucket index must not use the hash bits
/// that the fingerprint comes from, and their bytes must have addresses. Even.
const MAX_BUCKETS: usize = if usize::BITS > 32 {
    1 << 32
} else {
    isize::MAX as usize / 16 * 2
};

/// A filter that can grow starts with at most so many times the buckets of a fixed one of its
/// capacity and rate, or with so many buckets, or with this part of the buckets that it may grow
/// to.
const START_FACTOR: usize = 6;
const START_LEAST: usize = 32;
const START_SHARE: usize = 1024;

/// Of filters that grow to nearly the same size the one that starts smallest is chosen: of those
/// that end with this part more buckets than the smallest one, at most.
const SAME_END_SHARE: usize = 50;

/// The size of a filter, now and when it has grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Geometry {
    pub(crate) series: Series,
    /// Buckets of a plane: of the whole table, until it doubles.
    pub(crate) buckets: usize,
    /// Distinct items that fit before it doubles, as asked for.
    pub(crate) capacity: usize,
    /// Distinct items that fit at the last level, as asked for.
    pub(crate) max_capacity: usize,
}

/// The words of a filter, from its first level to its last one. Levels are counted from 0 here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// Bits of a whole fingerprint (f).
    pub(crate) fingerprint_bits: u32,
    /// How often the filter can double; 0: it is fixed.
    pub(crate) levels: u32,
}

/// What there is to know of words at one level.
#[derive(Clone, Copy, Debug)]
struct Words {
    /// Bits of a fingerprint that they store (w).
    bits: u32,
    /// Slots (S).
    slots: usize,
    /// The load factor to which a large plane fills.
    load: f64,
    /// Slots that remain empty beyond it: small planes have denser corners.
    margin: f64,
}

/// Measured: see "Headroom" in `docs/DESIGN.md`.
static FIXED: [Words; 5] = [
    Words::of::<F10x6>(),
    Words::of::<F12x5>(),
    Words::of::<F15x4>(),
    Words::of::<F20x3>(),
    Words::of::<F30x2>(),
];

/// The part of its slots that the smallest plane leaves empty. Measured: as above.
const SMALL_MARGIN: f64 = 0.75;

/// With the planes, items are spread at random over tables that cannot help each
/// other: the logarithm of the odds against the fullest one's being too full.
const LN_ODDS: f64 = 10.0;

impl Words {
    const fn of<L: Layout>() -> Self {
        Self::new(L::LEVELS[0].bits, L::LEVELS[0].slots)
    }

    /// Load and margin are measured: see "Headroom" in `docs/DESIGN.md`.
    const fn new(bits: u32, slots: usize) -> Self {
        let (load, margin) = match slots {
            6 => (0.972, 14.0),
            5 => (0.963, 20.0),
            4 => (0.95, 28.0),
            3 => (0.92, 48.0),
            _ => (0.845, 160.0),
        };
        Self {
            bits,
            slots,
            load,
            margin,
        }
    }
}

impl Series {
    /// Those of growable filters: each begins with more bits than it ends with.
    fn growable() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (Growing::SHORTEST + 1..=Growing::LONGEST).flat_map(|fingerprint_bits| {
            let levels = 1..=fingerprint_bits - Growing::SHORTEST;
            levels.map(move |levels| Self {
                fingerprint_bits,
                levels,
            })
        })
    }

    /// Those of fixed filters.
    fn fixed() -> impl DoubleEndedIterator<Item = Self> + Clone {
        FIXED.iter().map(|words| Self {
            fingerprint_bits: words.bits,
            levels: 0,
        })
    }

    /// The words at a level.
    fn at(self, level: u32) -> Words {
        let fixed = || FIXED.iter().find(|it| it.bits == self.fingerprint_bits);
        match self.levels {
            0 => *fixed().expect("one of the fixed layouts"),
            _ => {
                let lanes = &Growing::LEVELS[(self.first_level() + level) as usize];
                Words::new(lanes.bits, lanes.slots)
            }
        }
    }

    /// Slots of a word at a level.
    pub(crate) fn slots(self, level: u32) -> usize {
        self.at(level).slots
    }

    /// The level of the table's words at which the filter begins.
    fn first_level(self) -> u32 {
        Growing::LONGEST - self.fingerprint_bits
    }

    /// The levels of the table's words.
    pub(crate) fn table_levels(self) -> Levels {
        match self.levels {
            0 => Levels::FIXED,
            more => Levels {
                first: self.first_level(),
                more,
            },
        }
    }

    /// The logarithm of the chance that two fingerprints of a plane differ. There are 2^w of
    /// them, of which those do not occur that are too small; those that they are raised to occur
    /// twice as often. In a fixed filter that is one, and its double is neglected.
    fn ln_mismatch(self, level: u32) -> f64 {
        let bits = self.at(level).bits;
        let too_small = match self.levels {
            0 => 1,
            _ => 2 << (bits - Growing::SHORTEST),
        };
        let fingerprints = ((1_u64 << bits) - too_small) as f64;
        f64::ln_1p(-1.0 / fingerprints)
    }

    /// The false-positive rate at a load factor: 2Sα comparisons, each of which
    /// may match by chance (Fan et al., *Cuckoo Filter*, CoNEXT 2014, §5.1).
    fn rate(self, load: f64, level: u32) -> f64 {
        -f64::exp_m1(2.0 * self.slots(level) as f64 * load * self.ln_mismatch(level))
    }

    /// The load factor at which the rate is `rate`.
    fn load_for(self, rate: f64, level: u32) -> f64 {
        f64::ln_1p(-rate) / self.ln_mismatch(level) / (2.0 * self.slots(level) as f64)
    }

    /// The load factor to which a large plane fills at a level: the
    /// fewer bits of a fingerprint are left to choose the alternate bucket, the
    /// less of the table can a search reach (Fan et al., as above, §4.2). Measured.
    fn load_at(self, level: u32) -> f64 {
        let words = self.at(level);
        let lost = match words.bits {
            ..=9 => 0.01,
            10.. => 0.0,
        };
        words.load - lost
    }

    /// The items that fit into planes of `buckets` buckets at a level.
    fn room(self, buckets: usize, level: u32) -> usize {
        let words = self.at(level);
        if buckets == 2 && level == 0 {
            return 2 * words.slots;
        }
        let slots = (words.slots * buckets) as f64;
        let of_plane = slots * self.load_at(level) - words.margin.min(SMALL_MARGIN * slots);
        if level == 0 {
            return of_plane as usize;
        }
        // x + z * sqrt(x) = of_plane, for the mean x.
        let z = deviations(level);
        let root = ((z * z + 4.0 * of_plane).sqrt() - z) / 2.0;
        (root * root * f64::from(level).exp2()) as usize
    }

    /// The pairs of buckets that planes have at least if [`room`](Self::room) for `capacity` items
    /// is in them: the same equations, solved for the slots.
    fn least_pairs(self, capacity: usize, level: u32) -> usize {
        let (words, load) = (self.at(level), self.load_at(level));
        let of_plane = match level {
            0 => capacity as f64,
            _ => {
                let mean = capacity as f64 / f64::from(level).exp2();
                mean + deviations(level) * mean.sqrt()
            }
        };
        let slots = f64::min(
            (of_plane + words.margin) / load,
            of_plane / (load - SMALL_MARGIN),
        );
        // One less, as the floating-point numbers are not exact.
        ((slots / (2 * words.slots) as f64) as usize).saturating_sub(1)
    }

    /// The items with which the level after `level` is to begin.
    fn due(self, buckets: usize, level: u32) -> usize {
        let inserts_of_sweep = match level {
            0 => 0,
            _ => (buckets << level) / SPLITS_PER_INSERT,
        };
        let room = self.room(buckets, level);
        room.saturating_sub(inserts_of_sweep)
    }

    /// The buckets of a plane, for `capacity` items at `rate` at a level;
    /// `None` if the rate is out of reach.
    fn buckets(self, capacity: usize, rate: f64, level: u32) -> Option<usize> {
        let load = self.load_for(rate, level);
        if load < MIN_LOAD {
            return None;
        }
        let slots = self.slots(level) as f64 * load.min(1.0) * f64::from(level).exp2();
        let for_rate = (capacity as f64 / slots).ceil() as usize;
        let enough = |pairs| self.room(2 * pairs, level) >= capacity;
        let end = ((MAX_BUCKETS / 2) >> level) + 1;
        let first = for_rate.div_ceil(2).max(1);
        // Two buckets, which are those of every item, have more room than four.
        if first < end && enough(first) {
            return Some(2 * first);
        }
        // `room` grows with the number of pairs of buckets: the least that suffices.
        // If none suffices, one more than there can be: `fits` says no.
        let first = first.max(self.least_pairs(capacity, level));
        let least = least_of(first..end, enough);
        Some(least.saturating_mul(2))
    }

    /// The items that fit at `rate` into the largest table, at the last level.
    fn max_capacity(self, rate: f64) -> usize {
        let level = self.levels;
        let buckets = (MAX_BUCKETS >> level) / 2 * 2;
        let slots = (self.slots(level) * (buckets << level)) as f64;
        self.room(buckets, level)
            .min((slots * self.load_for(rate, level)) as usize)
    }
}

/// The number of items in a plane is binomial: of 2^level planes none has more than so many
/// standard deviations above the mean, by Chernoff's bound for z^2 = 2 ln(2^level * odds).
fn deviations(level: u32) -> f64 {
    (2.0 * (f64::from(level) * std::f64::consts::LN_2 + LN_ODDS)).sqrt()
}

/// The items with which the level after `level` is to begin, in a filter that goes through
/// `levels`.
pub(crate) fn due(buckets: usize, levels: Levels, level: u32) -> usize {
    let series = Series {
        fingerprint_bits: Growing::LONGEST - levels.first,
        levels: levels.more,
    };
    series.due(buckets, level - levels.first)
}

impl Geometry {
    /// The smallest table for `capacity` items at `rate`; of equal ones that
    /// with the longest fingerprints.
    pub(crate) fn fixed(capacity: usize, rate: f64, bits: Option<u32>) -> Result<Self, BuildError> {
        let all = candidates(Series::fixed(), rate, bits)?;
        let made = |&series: &Series| {
            let buckets = series.buckets(capacity, rate, 0)?;
            Some(Self {
                series,
                buckets,
                capacity,
                max_capacity: capacity,
            })
        };
        let smallest = all
            .iter()
            .rev()
            .filter_map(made)
            .min_by_key(|geometry| geometry.buckets);
        let smallest = smallest.ok_or_else(|| out_of_reach(&all, rate))?;
        if !smallest.fits() {
            return Err(too_many(capacity, capacity, rate, &all));
        }
        Ok(smallest)
    }

    /// The table that is smallest when it has grown to `max_capacity` items, of
    /// those that start modestly; of nearly equal ones that which starts smallest. It is fixed if
    /// its final size is no more than twice the first one.
    pub(crate) fn growable(
        capacity: usize,
        max_capacity: usize,
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        if max_capacity < capacity {
            return Err(BuildError::MaxCapacity {
                asked: max_capacity,
                capacity,
            });
        }
        let series = candidates(Series::growable(), rate, bits)?;
        if let Some(chosen) = Self::modest(capacity, max_capacity, rate, bits, &series) {
            return Ok(chosen);
        }
        let all: Vec<Self> = Self::of_series(capacity, max_capacity, rate, &series).collect();
        let fitting = all.iter().filter(|geometry| geometry.fits());
        Err(match fitting.map(|geometry| geometry.buckets).min() {
            // The table may become as large, but not from so small a start.
            Some(least) => {
                let enough = |items| most_buckets(small_start(items, rate)) >= least;
                let min = least_of(capacity + 1..max_capacity, enough);
                BuildError::Growth {
                    asked: capacity,
                    max_capacity,
                    rate,
                    min,
                }
            }
            None if all.is_empty() => out_of_reach(&series, rate),
            None => too_many(max_capacity, capacity, rate, &series),
        })
    }

    /// The table that [`growable`](Self::growable) chooses; `None` if no one starts modestly.
    fn modest(
        capacity: usize,
        max_capacity: usize,
        rate: f64,
        bits: Option<u32>,
        series: &[Series],
    ) -> Option<Self> {
        let small = small_start(capacity, rate);
        if bits.is_none()
            && let Ok(large) = Self::fixed(max_capacity, rate, None)
            && large.buckets <= small.saturating_mul(2)
        {
            return Some(Self { capacity, ..large });
        }
        let is_modest = |geometry: &Self| {
            let most = most_buckets(small);
            let needed = geometry.series.buckets(capacity, rate, 0);
            let most = most.max(geometry.grown_buckets() / START_SHARE);
            geometry.fits() && (geometry.buckets <= most || Some(geometry.buckets) == needed)
        };
        let modest: Vec<Self> = Self::of_series(capacity, max_capacity, rate, series)
            .filter(is_modest)
            .collect();
        let end = modest.iter().map(Self::grown_buckets).min()?;
        let near = end + end / SAME_END_SHARE;
        modest
            .into_iter()
            .filter(|geometry| geometry.grown_buckets() <= near)
            .min_by_key(|geometry| (geometry.buckets, geometry.grown_buckets()))
    }

    /// The smallest table of each series that keeps the rate.
    fn of_series(
        capacity: usize,
        max_capacity: usize,
        rate: f64,
        series: &[Series],
    ) -> impl Iterator<Item = Self> {
        series.iter().filter_map(move |&series| {
            let grown = series.buckets(max_capacity, rate, series.levels)?;
            let buckets = grown.max(series.buckets(capacity, rate, 0)?);
            Some(Self {
                series,
                buckets,
                capacity,
                max_capacity,
            })
        })
    }

    /// True if a table can have so many buckets.
    fn fits(&self) -> bool {
        self.grown_buckets() <= MAX_BUCKETS
    }

    fn grown_buckets(&self) -> usize {
        self.buckets.saturating_mul(1 << self.series.levels)
    }

    /// The distinct items that fit at a level. At those between the first and the last
    /// one the next doubling comes so early that it ends while there is room.
    pub(crate) fn capacity_at(&self, level: u32) -> usize {
        if level == self.series.levels {
            return self.max_capacity;
        }
        let due = self.series.due(self.buckets, level);
        due.clamp(self.capacity, self.max_capacity)
    }

    /// The false-positive rate with as many items as fit at a level.
    pub(crate) fn rate_at(&self, level: u32) -> f64 {
        let slots = (self.series.slots(level) * self.buckets) << level;
        self.series
            .rate(self.capacity_at(level) as f64 / slots as f64, level)
    }

    /// The geometry that a snapshot says it has, if there can be such a one.
    pub(crate) fn from_snapshot(
        (fingerprint_bits, slots, levels): (u32, usize, u32),
        [buckets, capacity, max_capacity]: [u64; 3],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let of_bits = |series: &Series| series.fingerprint_bits == fingerprint_bits;
        let mut known = Series::fixed().chain(Series::growable()).filter(of_bits);
        if !known
            .clone()
            .any(|series| (series.levels == 0) == (levels == 0))
        {
            return refuse("fingerprint bits", u64::from(fingerprint_bits));
        }
        let Some(series) = known.find(|series| series.levels == levels) else {
            return refuse("levels", u64::from(levels));
        };
        if slots != series.slots(0) {
            return refuse("slots of a bucket", slots as u64);
        }
        if buckets == 0 || buckets % 2 != 0 || buckets > (MAX_BUCKETS as u64) >> levels {
            return refuse("buckets", buckets);
        }
        let most = (series.slots(levels) as u64 * buckets) << levels;
        if max_capacity > most {
            return refuse("maximal capacity", max_capacity);
        }
        if capacity > max_capacity {
            return refuse("capacity", capacity);
        }
        let [buckets, capacity, max_capacity] =
            [buckets, capacity, max_capacity].map(|number| number as usize);
        Ok(Self {
            series,
            buckets,
            capacity,
            max_capacity,
        })
    }
}

/// The buckets of a fixed filter, with which the start of one that can grow is compared.
fn small_start(capacity: usize, rate: f64) -> usize {
    Geometry::fixed(capacity, rate, None).map_or(usize::MAX, |small| small.buckets)
}

/// The most buckets that a filter that can grow starts with, if a fixed one has `small`.
fn most_buckets(small: usize) -> usize {
    small.saturating_mul(START_FACTOR).max(START_LEAST)
}

/// The least number of `range`, or its end, that is `enough`, as all greater ones are. It is found
/// fast if it is near the start.
fn least_of(range: Range<usize>, enough: impl Fn(usize) -> bool) -> usize {
    let Range {
        start: mut low,
        end: mut high,
    } = range;
    let mut step = 1;
    while low.saturating_add(step) < high {
        if enough(low + step) {
            high = low + step;
        } else {
            low += step + 1;
            step *= 2;
        }
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    low
}

/// The series with the fingerprint asked for, or all; checks the rate.
fn candidates(
    all: impl Iterator<Item = Series> + Clone,
    rate: f64,
    bits: Option<u32>,
) -> Result<Vec<Series>, BuildError> {
    if !(MIN_RATE..1.0).contains(&rate) {
        return Err(BuildError::FalsePositiveRate {
            asked: rate,
            min: MIN_RATE,
        });
    }
    let chosen = |series: &Series| bits.is_none_or(|bits| bits == series.fingerprint_bits);
    let candidates: Vec<_> = all.clone().filter(chosen).collect();
    match (candidates.is_empty(), bits) {
        (true, Some(asked)) => {
            let mut allowed: Vec<_> = all.map(|series| series.fingerprint_bits).collect();
            allowed.dedup();
            Err(BuildError::FingerprintBits { asked, allowed })
        }
        _ => Ok(candidates),
    }
}

/// No candidate has room for `asked` items, of those that start with `capacity`.
fn too_many(asked: usize, capacity: usize, rate: f64, candidates: &[Series]) -> BuildError {
    let starts = |series: &&Series| {
        let start = series.buckets(capacity, rate, 0).unwrap_or(usize::MAX);
        series.levels == 0 || start <= MAX_BUCKETS >> series.levels
    };
    let most = |series: &Series| (series.max_capacity(rate), series.fingerprint_bits);
    let starting = candidates.iter().filter(starts).map(most).max();
    // Where none can start with so many items, the most that one can start with.
    let first = |series: &Series| {
        let room = series.room((MAX_BUCKETS >> series.levels) / 2 * 2, 0);
        (room, series.fingerprint_bits)
    };
    let reaches = |series: &&Series| series.buckets(0, rate, series.levels).is_some();
    let most = starting.or_else(|| candidates.iter().filter(reaches).map(first).max());
    let (max, fingerprint_bits) = most.unwrap_or_default();
    BuildError::Capacity {
        asked,
        fingerprint_bits,
        max,
    }
}

/// No candidate reaches the rate.
fn out_of_reach(candidates: &[Series], rate: f64) -> BuildError {
    let lowest = |series: &Series| {
        let rate = series.rate(MIN_LOAD, series.levels);
        (rate, series.fingerprint_bits)
    };
    let (min, fingerprint_bits) = candidates
        .iter()
        .map(lowest)
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or_default();
    BuildError::RateOfFingerprint {
        asked: rate,
        fingerprint_bits,
        min,
    }
}

#[cfg(test)]
mod tests;

//! How many buckets, and which series of words: arithmetic only.

mod series;

use crate::error::{BuildError, SnapshotError};
use series::{MAX_BUCKETS, MIN_LOAD, least_of};
pub(crate) use series::{Series, grow_at};

/// The lowest false-positive rate on offer: 30-bit fingerprints in a table that
/// is filled to half at most.
const MIN_RATE: f64 = 2e-9;

/// The rate of a filter for which none is asked.
const DEFAULT_RATE: f64 = 0.001;

/// A filter that can grow starts with a limited number of buckets. The limit is the largest of
/// three numbers: `START_FACTOR` times the buckets of a fixed filter, `START_LEAST`, and this
/// part of its final buckets.
const START_FACTOR: usize = 6;
const START_LEAST: usize = 32;
const START_SHARE: usize = 1024;

/// Among filters that grow to nearly the same size, the one that starts smallest is chosen. Nearly:
/// at most this part more buckets than the filter that ends smallest.
const SAME_END_SHARE: usize = 50;

/// The rate to keep where `rate` and `bits` were asked for, or not.
pub(crate) fn rate_asked(rate: Option<f64>, bits: Option<u32>) -> f64 {
    rate.unwrap_or(match bits {
        // Fingerprints asked for without a rate have the rate that they have, whatever it is.
        Some(_) => 0.5,
        None => DEFAULT_RATE,
    })
}

/// The sizes that a counter can have.
pub(crate) const COUNTER_BITS: [u32; 2] = [4, 8];

/// The kinds of filters that can grow.
#[derive(Clone, Copy)]
enum Kind {
    Plain,
    /// Slots have counters of this size.
    Counting {
        bits: u32,
    },
    /// A TTL has this number of epochs. Slots have counters of this size, or none.
    Expiring {
        epochs: u32,
        counter_bits: u32,
    },
}

impl Kind {
    /// The series of fixed filters of this kind.
    fn fixed(self) -> Vec<Series> {
        match self {
            Self::Plain => Series::fixed().collect(),
            Self::Counting { bits } => Series::counting(bits).collect(),
            Self::Expiring {
                epochs,
                counter_bits,
            } => Series::expiring(epochs, counter_bits).collect(),
        }
    }

    fn growable(self) -> Vec<Series> {
        match self {
            Self::Plain => Series::growable().collect(),
            Self::Counting { bits } => Series::growable_counting(bits).collect(),
            Self::Expiring {
                epochs,
                counter_bits,
            } => Series::growable_expiring(epochs, counter_bits).collect(),
        }
    }

    /// The most items that are in the filter at once, if `items` come.
    fn standing(self, items: usize) -> usize {
        match self {
            Self::Plain | Self::Counting { .. } => items,
            Self::Expiring { epochs, .. } => Geometry::standing_items(items, epochs),
        }
    }
}

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

impl Geometry {
    /// The smallest table for `capacity` items at `rate`; of equal ones that
    /// with the longest fingerprints.
    pub(crate) fn fixed(capacity: usize, rate: f64, bits: Option<u32>) -> Result<Self, BuildError> {
        Self::smallest(Series::fixed(), capacity, rate, bits)
    }

    /// The same, where slots have counters of this size.
    pub(crate) fn counting(
        capacity: usize,
        counter_bits: u32,
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        Self::smallest(Series::counting(counter_bits), capacity, rate, bits)
    }

    /// The same, where words may be semi-sorted; of equal tables one of packed words.
    pub(crate) fn for_space(
        capacity: usize,
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        let all = Series::semi_sorted().chain(Series::fixed());
        Self::smallest(all, capacity, rate, bits)
    }

    /// The most epochs of a TTL.
    pub(crate) const MAX_EPOCHS: u32 = Series::MAX_EPOCHS;

    /// The smallest table of an expiring filter to which `items` come in a TTL of `epochs`
    /// epochs, whose slots have counters of this size. Its capacity is what is in it at most.
    pub(crate) fn expiring(
        items: usize,
        (epochs, counter_bits): (u32, u32),
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        let kind = Kind::Expiring {
            epochs,
            counter_bits,
        };
        Self::smallest(kind.fixed().into_iter(), kind.standing(items), rate, bits)
    }

    /// The geometry that the snapshot of an expiring filter claims, if it can exist. The layout is
    /// given by the bits of a fingerprint and of a counter, the slots of a bucket, the epochs of a TTL and the
    /// number of doublings. The size is given by the buckets, and by the items of a TTL before the filter
    /// doubles and at the last level.
    pub(crate) fn from_expiring_snapshot(
        (fingerprint_bits, slots, epochs, levels, counter_bits): (u32, usize, u32, u32, u32),
        [buckets, items, max_items]: [u64; 3],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let of_bits = |series: &Series| series.fingerprint_bits == fingerprint_bits;
        if counter_bits != 0 && !COUNTER_BITS.contains(&counter_bits) {
            return refuse("counter bits", u64::from(counter_bits));
        }
        let all = |epochs| {
            let fixed = Series::expiring(epochs, counter_bits);
            fixed.chain(Series::growable_expiring(epochs, counter_bits))
        };
        let grows = |series: &Series| (series.levels == 0) == (levels == 0);
        let mut known = all(1).filter(grows).filter(of_bits);
        if known.clone().next().is_none() {
            return refuse("fingerprint bits", u64::from(fingerprint_bits));
        }
        if !known.any(|series| series.levels == levels) {
            return refuse("levels", u64::from(levels));
        }
        let series = all(epochs).filter(of_bits);
        let series = series.filter(|_| epochs > 0);
        let Some(series) = { series }.find(|series| series.levels == levels) else {
            return refuse("epochs", u64::from(epochs));
        };
        if slots != series.slots(0) {
            return refuse("slots of a bucket", slots as u64);
        }
        if buckets == 0 || buckets % 2 != 0 || buckets > (MAX_BUCKETS as u64) >> levels {
            return refuse("buckets", buckets);
        }
        let max_capacity = Self::standing(max_items, epochs);
        if max_capacity > (series.slots(levels) as u64 * buckets) << levels {
            return refuse("maximal capacity", max_items);
        }
        if items > max_items {
            return refuse("capacity", items);
        }
        Ok(Self {
            series,
            buckets: buckets as usize,
            capacity: Self::standing(items, epochs) as usize,
            max_capacity: max_capacity as usize,
        })
    }

    /// The most items in an expiring filter if `items` come in a TTL of `epochs` epochs, at an even
    /// pace. These are the items of a TTL, of another epoch, and of half an epoch while that one is
    /// swept.
    fn standing(items: u64, epochs: u32) -> u64 {
        if epochs == 0 {
            return items;
        }
        let more = (u128::from(items) * 3).div_ceil(2 * u128::from(epochs));
        u64::try_from(u128::from(items) + more).unwrap_or(u64::MAX)
    }

    /// [`standing`](Self::standing), as a number of items in memory.
    pub(crate) fn standing_items(items: usize, epochs: u32) -> usize {
        usize::try_from(Self::standing(items as u64, epochs)).unwrap_or(usize::MAX)
    }

    /// The items of a TTL with which at most `standing` are in the filter: [`standing`](Self::standing) the
    /// other way round.
    pub(crate) fn arriving(standing: usize, epochs: u32) -> usize {
        if epochs == 0 {
            return standing;
        }
        let twice = 2 * u128::from(epochs);
        // Not more than `standing`.
        (standing as u128 * twice / (twice + 3)) as usize
    }

    fn smallest(
        all: impl Iterator<Item = Series> + Clone,
        capacity: usize,
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        let all = candidates(all, rate, bits)?;
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

    /// Among tables with a modest start, the one that is smallest when it has grown to
    /// `max_capacity` items. Among nearly equal ones, the one that starts smallest. The table is
    /// fixed if its final size is no more than twice the first one.
    pub(crate) fn growable(
        capacity: usize,
        max_capacity: usize,
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        Self::growing(Kind::Plain, capacity, max_capacity, rate, bits)
    }

    /// The same, where slots have counters of this size.
    pub(crate) fn growable_counting(
        capacity: usize,
        max_capacity: usize,
        counter_bits: u32,
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        let kind = Kind::Counting { bits: counter_bits };
        Self::growing(kind, capacity, max_capacity, rate, bits)
    }

    /// The same for an expiring filter to which `items` come in a TTL of `epochs` epochs, and
    /// `max_items` when it has grown, and whose slots have counters of this size.
    pub(crate) fn growable_expiring(
        items: usize,
        max_items: usize,
        (epochs, counter_bits): (u32, u32),
        rate: f64,
        bits: Option<u32>,
    ) -> Result<Self, BuildError> {
        let kind = Kind::Expiring {
            epochs,
            counter_bits,
        };
        Self::growing(kind, items, max_items, rate, bits)
    }

    fn growing(
        kind: Kind,
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
        let series = candidates(kind.growable().into_iter(), rate, bits)?;
        let (most, most_at_end) = (kind.standing(capacity), kind.standing(max_capacity));
        // In words of one slot, two copies of an item fill its pair. So they are the last resort.
        let (wide, others): (Vec<_>, Vec<_>) = series.iter().partition(|it| it.slots(0) == 1);
        for series in [others, wide] {
            if let Some(chosen) = Self::modest(kind, most, most_at_end, rate, bits, &series) {
                return Ok(chosen);
            }
        }
        let all: Vec<Self> = Self::of_series(most, most_at_end, rate, &series).collect();
        let fitting = all.iter().filter(|geometry| geometry.fits());
        Err(match fitting.map(|geometry| geometry.buckets).min() {
            // The table may become as large, but not from so small a start.
            Some(least) => {
                let small = |items| small_start(kind, kind.standing(items), rate);
                let enough = |items| most_buckets(small(items)) >= least;
                let min = least_of(capacity + 1..max_capacity, enough);
                BuildError::Growth {
                    asked: capacity,
                    max_capacity,
                    rate,
                    min,
                }
            }
            None if all.is_empty() => out_of_reach(&series, rate),
            None => too_many(most_at_end, most, rate, &series),
        })
    }

    /// The table that [`growable`](Self::growable) chooses; `None` if no one starts modestly.
    fn modest(
        kind: Kind,
        capacity: usize,
        max_capacity: usize,
        rate: f64,
        bits: Option<u32>,
        series: &[Series],
    ) -> Option<Self> {
        let small = small_start(kind, capacity, rate);
        if bits.is_none()
            && let Ok(large) = Self::smallest(kind.fixed().into_iter(), max_capacity, rate, None)
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

    /// True if a table can have this number of buckets.
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
        let items = match level {
            0 => self.series.room(self.buckets, 0),
            _ => self.series.grow_at(self.buckets, level),
        };
        items.clamp(self.capacity, self.max_capacity)
    }

    /// The false-positive rate with as many items as fit at a level.
    pub(crate) fn rate_at(&self, level: u32) -> f64 {
        let slots = (self.series.slots(level) * self.buckets) << level;
        self.series
            .rate(self.capacity_at(level) as f64 / slots as f64, level)
    }

    /// The highest rate of any level.
    pub(crate) fn highest_rate(&self) -> f64 {
        let rates = (0..=self.series.levels).map(|level| self.rate_at(level));
        rates.fold(0.0, f64::max)
    }

    /// The geometry that a snapshot claims, if it can exist.
    pub(crate) fn from_snapshot(
        (fingerprint_bits, prefixes, slots, levels): (u32, u32, usize, u32),
        [buckets, capacity, max_capacity, counter_bits]: [u64; 4],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let all = Series::fixed().chain(Series::growable());
        let all = all.chain(Series::semi_sorted());
        let counting = COUNTER_BITS
            .into_iter()
            .flat_map(|bits| Series::counting(bits).chain(Series::growable_counting(bits)));
        let all = all.chain(counting);
        let all = all.filter(|series| u64::from(series.counter_bits) == counter_bits);
        if all.clone().next().is_none() {
            return refuse("counter bits", counter_bits);
        }
        let known = all.filter(|series| series.fingerprint_bits == fingerprint_bits);
        let grows = |series: &Series| (series.levels == 0) == (levels == 0);
        if !known.clone().any(|series| grows(&series)) {
            return refuse("fingerprint bits", u64::from(fingerprint_bits));
        }
        let mut known = known.filter(|series| series.prefixes == prefixes);
        if !known.clone().any(|series| grows(&series)) {
            return refuse("prefixes", u64::from(prefixes));
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
fn small_start(kind: Kind, capacity: usize, rate: f64) -> usize {
    let small = Geometry::smallest(kind.fixed().into_iter(), capacity, rate, None);
    small.map_or(usize::MAX, |small| small.buckets)
}

/// The most buckets that a filter that can grow starts with, if a fixed one has `small`.
fn most_buckets(small: usize) -> usize {
    small.saturating_mul(START_FACTOR).max(START_LEAST)
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
    let chosen = |series: &Series| bits.is_none_or(|bits| bits == series.bits());
    let candidates: Vec<_> = all.clone().filter(chosen).collect();
    match (candidates.is_empty(), bits) {
        (true, Some(asked)) => {
            let mut allowed: Vec<_> = all.map(Series::bits).collect();
            allowed.sort_unstable();
            allowed.dedup();
            Err(BuildError::FingerprintBits { asked, allowed })
        }
        _ => Ok(candidates),
    }
}

/// The error if no candidate that starts with `capacity` has room for `asked` items.
fn too_many(asked: usize, capacity: usize, rate: f64, candidates: &[Series]) -> BuildError {
    let starts = |series: &&Series| {
        let start = series.buckets(capacity, rate, 0).unwrap_or(usize::MAX);
        series.levels == 0 || start <= MAX_BUCKETS >> series.levels
    };
    let most = |series: &Series| (series.max_capacity(rate), series.bits());
    let starting = candidates.iter().filter(starts).map(most).max();
    // If no candidate can start with this capacity, the largest start of any.
    let first = |series: &Series| {
        let room = series.room((MAX_BUCKETS >> series.levels) / 2 * 2, 0);
        (room, series.bits())
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
        (rate, series.bits())
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

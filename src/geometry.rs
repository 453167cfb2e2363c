//! How many buckets, and which series of words: arithmetic only.

mod series;

use crate::error::{BuildError, SnapshotError};
pub(crate) use series::{Kind, Series, grow_at};
use series::{MAX_BUCKETS, MIN_LOAD, least_of};

/// The lowest false-positive rate on offer: 30-bit fingerprints in a table that
/// is filled to half at most.
const MIN_RATE: f64 = 2e-9;

/// A filter that can grow starts with a limited number of buckets. The limit is the largest of
/// three numbers: `START_FACTOR` times the buckets of a fixed filter, `START_LEAST`, and this
/// part of its final buckets.
const START_FACTOR: usize = 6;
const START_LEAST: usize = 32;
const START_SHARE: usize = 1024;

/// Among filters that grow to nearly the same size, the one that starts smallest is chosen. Nearly:
/// at most this part more buckets than the filter that ends smallest.
const SAME_END_SHARE: usize = 50;

/// The sizes that a counter can have.
pub(crate) const COUNTER_BITS: [u32; 2] = [4, 8];

/// What a filter is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    /// The items to come: in a TTL, if they expire.
    pub(crate) items: usize,
    /// The items to come when the filter has grown, if it can grow.
    pub(crate) max_items: Option<usize>,
    pub(crate) rate: f64,
    /// The bits of a fingerprint, if they were asked for.
    pub(crate) bits: Option<u32>,
}

/// The geometry that a snapshot claims.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) fingerprint_bits: u32,
    pub(crate) prefixes: u32,
    pub(crate) levels: u32,
    /// Slots of a word at the first level.
    pub(crate) slots: u32,
    /// The epochs of a TTL, if items expire.
    pub(crate) epochs: Option<u32>,
    pub(crate) counter_bits: u64,
    pub(crate) buckets: u64,
    pub(crate) items: u64,
    pub(crate) max_items: u64,
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

impl Request {
    pub(crate) fn geometry(self) -> Result<Geometry, BuildError> {
        match self.max_items {
            None => self.fixed(self.items),
            Some(max_items) => self.growing(max_items),
        }
    }

    /// The smallest table for `items`; of equal ones that with packed words, and of these that with the
    /// longest fingerprints. The capacity is what is in it at most.
    fn fixed(self, items: usize) -> Result<Geometry, BuildError> {
        let capacity = self.standing(items);
        let all = self.candidates(false)?;
        let smallest = all
            .iter()
            .rev()
            .filter_map(|&series| Geometry::of_series(series, capacity, capacity, self.rate))
            .min_by_key(|geometry| (geometry.buckets, geometry.series.prefixes > 0))
            .ok_or_else(|| self.out_of_reach(&all))?;
        if !smallest.fits() {
            return Err(self.too_many(capacity, capacity, &all));
        }
        Ok(smallest)
    }

    /// Among tables with a modest start, the one that is smallest when it has grown to
    /// `max_items`. Among nearly equal ones, the one that starts smallest. The table is
    /// fixed if its final size is no more than twice the first one.
    fn growing(self, max_items: usize) -> Result<Geometry, BuildError> {
        if max_items < self.items {
            return Err(BuildError::MaxCapacity {
                asked: max_items,
                capacity: self.items,
            });
        }
        let series = self.candidates(true)?;
        let (capacity, max_capacity) = (self.standing(self.items), self.standing(max_items));
        let small = self.small_start(self.items);
        if self.bits.is_none()
            && let Ok(large) = self.fixed(max_items)
            && large.buckets <= small.saturating_mul(2)
        {
            return Ok(Geometry { capacity, ..large });
        }
        let is_modest = |geometry: &&Geometry| {
            let needed = geometry.series.buckets(capacity, self.rate, 0);
            let most = most_buckets(small).max(geometry.grown_buckets() / START_SHARE);
            geometry.fits() && (geometry.buckets <= most || Some(geometry.buckets) == needed)
        };
        // In words of one slot, two copies of an item fill its pair. So they are the last resort.
        let (wide, others): (Vec<_>, Vec<_>) = series.iter().partition(|it| it.slots(0) == 1);
        let mut all = Vec::new();
        for series in [others, wide] {
            let before = all.len();
            let made = |&series: &_| Geometry::of_series(series, capacity, max_capacity, self.rate);
            all.extend(series.into_iter().filter_map(made));
            let modest: Vec<&Geometry> = all[before..].iter().filter(is_modest).collect();
            let end = modest.iter().map(|geometry| geometry.grown_buckets()).min();
            let near = end.map_or(0, |end| end + end / SAME_END_SHARE);
            let chosen = modest
                .into_iter()
                .filter(|geometry| geometry.grown_buckets() <= near)
                .min_by_key(|geometry| (geometry.buckets, geometry.grown_buckets()));
            if let Some(&chosen) = chosen {
                return Ok(chosen);
            }
        }
        let fitting = all.iter().filter(|geometry| geometry.fits());
        Err(match fitting.map(|geometry| geometry.buckets).min() {
            // The table may become as large, but not from so small a start.
            Some(least) => {
                let enough = |items| most_buckets(self.small_start(items)) >= least;
                BuildError::Growth {
                    asked: self.items,
                    max_capacity: max_items,
                    rate: self.rate,
                    min: least_of(self.items + 1..max_items, enough),
                }
            }
            None if all.is_empty() => self.out_of_reach(&series),
            None => self.too_many(max_capacity, capacity, &series),
        })
    }

    /// The buckets of a fixed filter, with which the start of one that can grow is compared.
    fn small_start(self, items: usize) -> usize {
        let small = Self { bits: None, ..self }.fixed(items);
        small.map_or(usize::MAX, |small| small.buckets)
    }

    /// The most items that are in the filter at once, if `items` come.
    fn standing(self, items: usize) -> usize {
        Geometry::standing(items, self.kind.epochs)
    }

    /// The series with the fingerprint asked for, or all; checks the rate.
    fn candidates(self, grows: bool) -> Result<Vec<Series>, BuildError> {
        if !(MIN_RATE..1.0).contains(&self.rate) {
            return Err(BuildError::FalsePositiveRate {
                asked: self.rate,
                min: MIN_RATE,
            });
        }
        let mut candidates: Vec<_> = Series::all(self.kind, grows).collect();
        if let Some(asked) = self.bits {
            let mut allowed: Vec<_> = candidates.iter().map(|series| series.bits()).collect();
            candidates.retain(|series| series.bits() == asked);
            if candidates.is_empty() {
                allowed.sort_unstable();
                allowed.dedup();
                return Err(BuildError::FingerprintBits { asked, allowed });
            }
        }
        Ok(candidates)
    }

    /// The error if no candidate that starts with `capacity` has room for `asked` items.
    fn too_many(self, asked: usize, capacity: usize, candidates: &[Series]) -> BuildError {
        let rate = self.rate;
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
    fn out_of_reach(self, candidates: &[Series]) -> BuildError {
        let lowest = |series: &Series| (series.rate(MIN_LOAD, series.levels), series.bits());
        let (min, fingerprint_bits) = candidates
            .iter()
            .map(lowest)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or_default();
        BuildError::RateOfFingerprint {
            asked: self.rate,
            fingerprint_bits,
            min,
        }
    }
}

/// The most buckets that a filter that can grow starts with, if a fixed one has `small`.
fn most_buckets(small: usize) -> usize {
    small.saturating_mul(START_FACTOR).max(START_LEAST)
}

impl Claim {
    /// The geometry, if it can exist.
    pub(crate) fn geometry(self) -> Result<Geometry, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        if self.counter_bits != 0 && !COUNTER_BITS.map(u64::from).contains(&self.counter_bits) {
            return refuse("counter bits", self.counter_bits);
        }
        let kind = Kind {
            // With this number, all series of expiring filters are there.
            epochs: self.epochs.map_or(0, |_| 1),
            counter_bits: self.counter_bits as u32,
            semi_sorted: true,
        };
        let mut known = Series::all(kind, self.levels > 0)
            .filter(|series| series.fingerprint_bits == self.fingerprint_bits)
            .peekable();
        if known.peek().is_none() {
            return refuse("fingerprint bits", self.fingerprint_bits.into());
        }
        let mut known = known
            .filter(|series| series.prefixes == self.prefixes)
            .peekable();
        if known.peek().is_none() {
            return refuse("prefixes", self.prefixes.into());
        }
        let Some(series) = known.find(|series| series.levels == self.levels) else {
            return refuse("levels", self.levels.into());
        };
        let epochs = self.epochs.unwrap_or(0);
        if epochs < kind.epochs || epochs > series.max_epochs() {
            return refuse("epochs", epochs.into());
        }
        if self.slots as usize != series.slots(0) {
            return refuse("slots of a bucket", self.slots.into());
        }
        let buckets = self.buckets;
        if buckets == 0
            || !buckets.is_multiple_of(2)
            || buckets > (MAX_BUCKETS as u64) >> self.levels
        {
            return refuse("buckets", buckets);
        }
        let buckets = buckets as usize;
        // More items than there are addresses are too many in any table.
        let standing =
            |items: u64| Geometry::standing(items.try_into().unwrap_or(usize::MAX), epochs);
        let max_capacity = standing(self.max_items);
        if max_capacity > (series.slots(self.levels) * buckets) << self.levels {
            return refuse("maximal capacity", self.max_items);
        }
        if self.items > self.max_items {
            return refuse("capacity", self.items);
        }
        Ok(Geometry {
            series,
            buckets,
            capacity: standing(self.items),
            max_capacity,
        })
    }
}

impl Geometry {
    /// The most epochs of a TTL.
    pub(crate) const MAX_EPOCHS: u32 = 13;

    /// The most items in a filter if `items` come in a TTL of `epochs` epochs, at an even pace. These are
    /// the items of a TTL, of another epoch, and of half an epoch while that one is swept. If items
    /// stay, and there are 0 epochs, they are the items.
    pub(crate) fn standing(items: usize, epochs: u32) -> usize {
        if epochs == 0 {
            return items;
        }
        let more = (items as u128 * 3).div_ceil(2 * u128::from(epochs));
        usize::try_from(items as u128 + more).unwrap_or(usize::MAX)
    }

    /// The items of a TTL with which at most `standing` are in the filter: [`standing`](Self::standing)
    /// the other way round.
    pub(crate) fn arriving(standing: usize, epochs: u32) -> usize {
        if epochs == 0 {
            return standing;
        }
        let twice = 2 * u128::from(epochs);
        // Not more than `standing`.
        (standing as u128 * twice / (twice + 3)) as usize
    }

    /// The smallest table of a series that keeps the rate, if it is within reach.
    fn of_series(series: Series, capacity: usize, max_capacity: usize, rate: f64) -> Option<Self> {
        let mut buckets = series.buckets(max_capacity, rate, series.levels)?;
        if series.levels > 0 {
            buckets = buckets.max(series.buckets(capacity, rate, 0)?);
        }
        Some(Self {
            series,
            buckets,
            capacity,
            max_capacity,
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
}

#[cfg(test)]
mod tests;

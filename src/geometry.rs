//! Which layout, how many buckets, how many doublings: arithmetic only.

use crate::{
    error::{BuildError, SnapshotError},
    table::{
        SPLITS_PER_INSERT,
        layout::{
            F10x6, F12x5, F15x4, F20x3, F30x2, G9x6, G11x5, G14x4, G18x3, G27x2, G28x2, Layout,
        },
    },
};

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

/// A filter that can grow starts with at most twice the buckets that its capacity
/// needs, or this part of those it may grow to, or so many.
const START_SHARE: usize = 1024;
const SMALL_START: usize = 512;

/// The size of a filter, now and when it has grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Geometry {
    pub(crate) layout: &'static LayoutFacts,
    /// Buckets at level 0.
    pub(crate) buckets: usize,
    /// How often the filter can double.
    pub(crate) levels: u32,
    /// Distinct items that fit at level 0, as asked for.
    pub(crate) capacity: usize,
    /// Distinct items that fit at the last level, as asked for.
    pub(crate) max_capacity: usize,
}

/// What there is to know of a layout.
#[derive(Debug, PartialEq)]
pub(crate) struct LayoutFacts {
    pub(crate) fingerprint_bits: u32,
    pub(crate) slots: usize,
    phase_bits: u32,
    /// The load factor to which a large plane fills.
    load: f64,
    /// Slots that remain empty beyond it: small planes have denser corners.
    margin: f64,
}

/// Measured: see "Headroom" in `docs/DESIGN.md`.
static FIXED: [LayoutFacts; 5] = [
    LayoutFacts::of::<F10x6>(0.972, 14.0),
    LayoutFacts::of::<F12x5>(0.963, 20.0),
    LayoutFacts::of::<F15x4>(0.95, 28.0),
    LayoutFacts::of::<F20x3>(0.92, 48.0),
    LayoutFacts::of::<F30x2>(0.845, 160.0),
];

/// Measured: see "Headroom" in `docs/DESIGN.md`.
static GROWABLE: [LayoutFacts; 6] = [
    LayoutFacts::of::<G9x6>(0.972, 14.0),
    LayoutFacts::of::<G11x5>(0.963, 20.0),
    LayoutFacts::of::<G14x4>(0.95, 28.0),
    LayoutFacts::of::<G18x3>(0.92, 48.0),
    LayoutFacts::of::<G27x2>(0.845, 160.0),
    LayoutFacts::of::<G28x2>(0.845, 160.0),
];

/// The part of its slots that the smallest plane leaves empty. Measured: as above.
const SMALL_MARGIN: f64 = 0.75;

/// With the planes, items are spread at random over tables that cannot help each
/// other: the logarithm of the odds against the fullest one's being too full.
const LN_ODDS: f64 = 10.0;

/// Bits of a fingerprint that must remain to choose the alternate bucket.
const MIN_BITS: u32 = 7;

impl LayoutFacts {
    const fn of<L: Layout>(load: f64, margin: f64) -> Self {
        Self {
            fingerprint_bits: L::FINGERPRINT_BITS,
            slots: L::SLOTS,
            phase_bits: L::PHASE_BITS,
            load,
            margin,
        }
    }

    /// How often a filter can double: the phase counts two for each level and
    /// one more while a word is frozen, and never wraps.
    const fn max_levels(&self) -> u32 {
        if self.phase_bits == 0 {
            return 0;
        }
        let of_phase = ((1 << self.phase_bits) - 1) / 2;
        let of_bits = self.fingerprint_bits.saturating_sub(MIN_BITS);
        if of_phase < of_bits {
            of_phase
        } else {
            of_bits
        }
    }

    /// The logarithm of the chance that two fingerprints of a plane differ:
    /// there are 2^(f - level) of them, one of which may be 0, which is none.
    fn ln_mismatch(&self, level: u32) -> f64 {
        let fingerprints = ((1_u64 << (self.fingerprint_bits - level)) - 1) as f64;
        f64::ln_1p(-1.0 / fingerprints)
    }

    /// The false-positive rate at a load factor: 2Sα comparisons, each of which
    /// may match by chance (Fan et al., *Cuckoo Filter*, CoNEXT 2014, §5.1).
    fn rate(&self, load: f64, level: u32) -> f64 {
        -f64::exp_m1(2.0 * self.slots as f64 * load * self.ln_mismatch(level))
    }

    /// The load factor at which the rate is `rate`.
    fn load_for(&self, rate: f64, level: u32) -> f64 {
        f64::ln_1p(-rate) / self.ln_mismatch(level) / (2.0 * self.slots as f64)
    }

    /// The load factor to which a large plane fills after `level` doublings: the
    /// fewer bits of a fingerprint are left to choose the alternate bucket, the
    /// less of the table can a search reach (Fan et al., as above, §4.2). Measured.
    fn load_at(&self, level: u32) -> f64 {
        let lost = match self.fingerprint_bits - level {
            ..=7 => 0.035,
            8 => 0.02,
            9 => 0.01,
            10.. => 0.0,
        };
        self.load - lost
    }

    /// The items that fit into planes of `buckets` buckets after `level` doublings.
    fn room(&self, buckets: usize, level: u32) -> usize {
        if buckets == 2 && level == 0 {
            return 2 * self.slots;
        }
        let slots = (self.slots * buckets) as f64;
        let of_plane = slots * self.load_at(level) - self.margin.min(SMALL_MARGIN * slots);
        if level == 0 {
            return of_plane as usize;
        }
        // The number of items in a plane is binomial: of 2^level planes none has
        // more than z standard deviations above the mean x, by Chernoff's bound
        // for z^2 = 2 ln(2^level * odds). x + z * sqrt(x) = of_plane.
        let z = (2.0 * (f64::from(level) * std::f64::consts::LN_2 + LN_ODDS)).sqrt();
        let root = ((z * z + 4.0 * of_plane).sqrt() - z) / 2.0;
        (root * root * f64::from(level).exp2()) as usize
    }

    /// The buckets of a plane, for `capacity` items at `rate` after `level`
    /// doublings; `None` if the rate is out of reach.
    fn buckets(&self, capacity: usize, rate: f64, level: u32) -> Option<usize> {
        let load = self.load_for(rate, level);
        if load < MIN_LOAD {
            return None;
        }
        let slots = self.slots as f64 * load.min(1.0) * f64::from(level).exp2();
        let for_rate = (capacity as f64 / slots).ceil() as usize;
        // `room` grows with the number of pairs of buckets: the least that suffices. (But
        // two buckets, which are those of every item, have more room than four; a few
        // items may thus get some buckets more than they need.)
        // If none suffices, one more than there can be: `fits` says no.
        let (mut low, mut high) = (
            for_rate.div_ceil(2).max(1),
            ((MAX_BUCKETS / 2) >> level) + 1,
        );
        while low < high {
            let middle = low.midpoint(high);
            if self.room(2 * middle, level) >= capacity {
                high = middle
            } else {
                low = middle + 1
            }
        }
        Some(low.saturating_mul(2))
    }

    /// The items that fit at `rate` into the largest table that can double `level` times.
    fn max_capacity(&self, rate: f64, level: u32) -> usize {
        let buckets = (MAX_BUCKETS >> level) / 2 * 2;
        let slots = (self.slots * (buckets << level)) as f64;
        self.room(buckets, level)
            .min((slots * self.load_for(rate, level)) as usize)
    }
}

impl Geometry {
    /// The smallest table for `capacity` items at `rate`; of equal ones that
    /// with the longest fingerprints.
    pub(crate) fn fixed(capacity: usize, rate: f64, bits: Option<u32>) -> Result<Self, BuildError> {
        let layouts = candidates(&FIXED, rate, bits)?;
        let made = |layout: &&'static LayoutFacts| {
            let buckets = layout.buckets(capacity, rate, 0)?;
            Some(Self {
                layout,
                buckets,
                levels: 0,
                capacity,
                max_capacity: capacity,
            })
        };
        let smallest = layouts
            .iter()
            .rev()
            .filter_map(made)
            .min_by_key(|geometry| geometry.buckets);
        let smallest = smallest.ok_or_else(|| out_of_reach(&layouts, rate))?;
        if !smallest.fits() {
            return Err(too_many(capacity, capacity, rate, &layouts));
        }
        Ok(smallest)
    }

    /// The table that is smallest when it has grown to `max_capacity` items, of
    /// those that start with little more than `capacity` items need.
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
        let layouts = candidates(&GROWABLE, rate, bits)?;
        let made = |layout: &'static LayoutFacts, levels: u32| {
            let grown = layout.buckets(max_capacity, rate, levels)?;
            let buckets = grown.max(layout.buckets(capacity, rate, 0)?);
            Some(Self {
                layout,
                buckets,
                levels,
                capacity,
                max_capacity,
            })
        };
        let all = layouts
            .iter()
            .flat_map(|layout| (0..=layout.max_levels()).map(move |levels| (*layout, levels)))
            .filter_map(|(layout, levels)| made(layout, levels));
        let modest = |geometry: &Self| {
            let needed = geometry.layout.buckets(capacity, rate, 0).unwrap_or(0);
            geometry.buckets
                <= needed
                    .saturating_mul(2)
                    .max(geometry.grown_buckets() / START_SHARE)
                    .max(SMALL_START)
        };
        let fitting = all.clone().filter(Self::fits);
        let smallest = fitting
            .clone()
            .filter(modest)
            .min_by_key(|geometry| (geometry.grown_buckets(), geometry.buckets, geometry.levels));
        if let Some(geometry) = smallest {
            return Ok(geometry);
        }
        // The table may become as large, but not from so small a start.
        let least = fitting.min_by_key(|geometry| geometry.buckets);
        Err(match (least, all.clone().next()) {
            (Some(least), _) => BuildError::Growth {
                asked: capacity,
                max_capacity,
                rate,
                min: least.layout.room(least.buckets, 0) / 2,
            },
            (None, Some(_)) => too_many(max_capacity, capacity, rate, &layouts),
            (None, None) => out_of_reach(&layouts, rate),
        })
    }

    /// True if a table can have so many buckets.
    fn fits(&self) -> bool {
        self.grown_buckets() <= MAX_BUCKETS
    }

    fn grown_buckets(&self) -> usize {
        self.buckets.saturating_mul(1 << self.levels)
    }

    /// The distinct items that fit at a level. At those between the first and the last
    /// one the next doubling comes so early that it ends while there is room.
    pub(crate) fn capacity_at(&self, level: u32) -> usize {
        if level == self.levels {
            return self.max_capacity;
        }
        let room = self.layout.room(self.buckets, level);
        let inserts_of_sweep = match level {
            0 => 0,
            _ => (self.buckets << level) / SPLITS_PER_INSERT,
        };
        room.saturating_sub(inserts_of_sweep)
            .clamp(self.capacity, self.max_capacity)
    }

    /// The numbers of items with which the doublings are due.
    pub(crate) fn due(&self) -> Box<[usize]> {
        (0..self.levels)
            .map(|level| self.capacity_at(level))
            .collect()
    }

    /// The false-positive rate with as many items as fit at a level.
    pub(crate) fn rate_at(&self, level: u32) -> f64 {
        let slots = (self.layout.slots * self.buckets) << level;
        self.layout
            .rate(self.capacity_at(level) as f64 / slots as f64, level)
    }

    /// The geometry that a snapshot says it has, if there can be such a one.
    pub(crate) fn from_snapshot(
        (fingerprint_bits, slots, levels): (u32, usize, u32),
        [buckets, capacity, max_capacity]: [u64; 3],
    ) -> Result<Self, SnapshotError> {
        let refuse = |what, found| Err(SnapshotError::Geometry { what, found });
        let growable = GROWABLE
            .iter()
            .find(|layout| layout.fingerprint_bits == fingerprint_bits);
        let fixed = FIXED
            .iter()
            .find(|layout| layout.fingerprint_bits == fingerprint_bits);
        let Some(layout) = fixed.or(growable) else {
            return refuse("fingerprint bits", u64::from(fingerprint_bits));
        };
        if slots != layout.slots {
            return refuse("slots of a bucket", slots as u64);
        }
        if levels > layout.max_levels() {
            return refuse("levels", u64::from(levels));
        }
        if buckets == 0 || buckets % 2 != 0 || buckets > (MAX_BUCKETS as u64) >> levels {
            return refuse("buckets", buckets);
        }
        let most = (layout.slots as u64 * buckets) << levels;
        if max_capacity > most {
            return refuse("maximal capacity", max_capacity);
        }
        if capacity > max_capacity {
            return refuse("capacity", capacity);
        }
        let [buckets, capacity, max_capacity] =
            [buckets, capacity, max_capacity].map(|number| number as usize);
        Ok(Self {
            layout,
            buckets,
            levels,
            capacity,
            max_capacity,
        })
    }
}

/// The layouts with the fingerprint asked for, or all; checks the rate.
fn candidates(
    layouts: &'static [LayoutFacts],
    rate: f64,
    bits: Option<u32>,
) -> Result<Vec<&'static LayoutFacts>, BuildError> {
    if !(MIN_RATE..1.0).contains(&rate) {
        return Err(BuildError::FalsePositiveRate {
            asked: rate,
            min: MIN_RATE,
        });
    }
    let chosen = |layout: &&LayoutFacts| bits.is_none_or(|bits| bits == layout.fingerprint_bits);
    let candidates: Vec<_> = layouts.iter().filter(chosen).collect();
    match (candidates.is_empty(), bits) {
        (true, Some(asked)) => Err(BuildError::FingerprintBits {
            asked,
            allowed: layouts
                .iter()
                .map(|layout| layout.fingerprint_bits)
                .collect(),
        }),
        _ => Ok(candidates),
    }
}

/// No candidate has room for `asked` items, of those that start with `capacity`.
fn too_many(asked: usize, capacity: usize, rate: f64, layouts: &[&LayoutFacts]) -> BuildError {
    let most = layouts.iter().flat_map(|layout| {
        let start = layout.buckets(capacity, rate, 0).unwrap_or(usize::MAX);
        let starts = move |&level: &u32| level == 0 || start <= MAX_BUCKETS >> level;
        (0..=layout.max_levels())
            .filter(starts)
            .map(|level| (layout.max_capacity(rate, level), layout.fingerprint_bits))
    });
    let (max, fingerprint_bits) = most.max().unwrap_or_default();
    BuildError::Capacity {
        asked,
        fingerprint_bits,
        max,
    }
}

/// No candidate reaches the rate.
fn out_of_reach(layouts: &[&LayoutFacts], rate: f64) -> BuildError {
    let lowest = |layout: &&LayoutFacts| (layout.rate(MIN_LOAD, 0), layout.fingerprint_bits);
    let (min, fingerprint_bits) = layouts
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

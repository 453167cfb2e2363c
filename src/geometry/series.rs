//! The words that a filter goes through, and how many items they hold at which rate.

use crate::table::{
    Levels, SPLITS_PER_INSERT,
    layout::{self, Growing, Masks, PackedLayout, layouts},
    word::semi::SemiSorted,
};
use std::ops::Range;

/// A table is never made larger to reach a rate than for this load factor: the
/// next longer fingerprint reaches it in less memory.
pub(super) const MIN_LOAD: f64 = 0.5;

/// The most buckets of a table: the bucket index must not use the hash bits
/// that the fingerprint comes from, and their bytes must have addresses. Even.
pub(super) const MAX_BUCKETS: usize = if usize::BITS > 32 {
    1 << 32
} else {
    isize::MAX as usize / 16 * 2
};

/// The words of a filter, from its first level to its last one. Levels are counted from 0 here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// Bits of a whole fingerprint (f); where it has a prefix, those below it.
    pub(crate) fingerprint_bits: u32,
    /// Prefixes of a fingerprint, if its words are semi-sorted; else 0.
    pub(crate) prefixes: u32,
    /// How often the filter can double; 0: it is fixed.
    pub(crate) levels: u32,
}

/// What there is to know of words at one level.
#[derive(Clone, Copy, Debug)]
struct Words {
    /// Bits of a fingerprint that they store (w); where it has a prefix, those below it.
    bits: u32,
    /// Prefixes of a fingerprint; 0 if it has none.
    prefixes: u32,
    /// Slots (S).
    slots: usize,
    /// The load factor to which a large plane fills.
    load: f64,
    /// Slots that remain empty beyond it: small planes have denser corners.
    margin: f64,
}

/// Makes from the list of layouts what is known of their words.
macro_rules! words {
    (
        ($_d:tt)
        fixed { $($fixed:ident $_fixed:tt)* }
        semi_sorted { $($semi:ident $_semi:tt)* }
        expiring { $($expiring:ident $_expiring:tt)* }
    ) => {
        /// Measured: see `docs/design/headroom.md`.
        static FIXED: &[Words] = &[$(Words::of::<layout::$fixed>()),*];

        /// Those whose words are semi-sorted.
        static SEMI_SORTED: &[Words] = &[$(Words::semi_sorted::<layout::$semi>()),*];

        /// Those of expiring filters. No fingerprint has as many bits as one of [`FIXED`].
        static EXPIRING: &[Expiring] = &[$(Expiring::of::<layout::$expiring>()),*];
    };
}

layouts!(words, $);

/// Words whose slots have tags.
struct Expiring {
    words: Words,
    /// The most epochs for which a copy can be live.
    max_epochs: u32,
}

impl Expiring {
    /// At least two of the 2^t ages of a tag are dead ones, besides that of a copy seen now. The
    /// reason is that a sweep passes a marked word, and empties it only in the next epoch
    /// (`docs/design/expiry.md`).
    const fn of<L: PackedLayout>() -> Self {
        Self {
            words: Words::of::<L>(),
            max_epochs: (1 << L::TAG_BITS) - 3,
        }
    }
}

/// The part of its slots that the smallest plane leaves empty. Measured: as above.
const SMALL_MARGIN: f64 = 0.75;

/// With the planes, items are spread at random over tables that cannot help each
/// other: the logarithm of the odds against the fullest one's being too full.
const LN_ODDS: f64 = 10.0;

impl Words {
    const fn of<L: PackedLayout>() -> Self {
        Self::new(L::FINGERPRINT_BITS, 0, L::LEVELS[0].slots)
    }

    const fn semi_sorted<L: SemiSorted>() -> Self {
        Self::new(L::RAW_BITS, L::PREFIXES as u32, L::SLOTS)
    }

    /// The numbers that a slot can hold.
    fn values(&self) -> u64 {
        u64::from(self.prefixes.max(1)) << self.bits
    }

    /// Load and margin are measured: see `docs/design/headroom.md`.
    const fn new(bits: u32, prefixes: u32, slots: usize) -> Self {
        let (load, margin) = match slots {
            7.. => (0.982, 14.0),
            6 => (0.972, 14.0),
            5 => (0.963, 20.0),
            4 => (0.95, 28.0),
            3 => (0.92, 48.0),
            _ => (0.845, 160.0),
        };
        Self {
            bits,
            prefixes,
            slots,
            load,
            margin,
        }
    }
}

impl Series {
    /// Those of growable filters: each begins with more bits than it ends with.
    pub(super) fn growable() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (Growing::SHORTEST + 1..=Growing::LONGEST).flat_map(|fingerprint_bits| {
            let levels = 1..=fingerprint_bits - Growing::SHORTEST;
            levels.map(move |levels| Self {
                fingerprint_bits,
                prefixes: 0,
                levels,
            })
        })
    }

    /// Those of fixed filters.
    pub(super) fn fixed() -> impl DoubleEndedIterator<Item = Self> + Clone {
        FIXED.iter().map(Self::of)
    }

    /// Those whose words are semi-sorted.
    pub(super) fn semi_sorted() -> impl DoubleEndedIterator<Item = Self> + Clone {
        SEMI_SORTED.iter().map(Self::of)
    }

    /// Those of words that have no levels.
    const fn of(words: &Words) -> Self {
        Self {
            fingerprint_bits: words.bits,
            prefixes: words.prefixes,
            levels: 0,
        }
    }

    /// Bits of a whole fingerprint, rounded down where there is no power of two of them.
    pub(crate) fn bits(self) -> u32 {
        self.fingerprint_bits + self.prefixes.max(1).ilog2()
    }

    /// The series of expiring filters whose copies are live for this number of epochs.
    pub(super) fn expiring(epochs: u32) -> impl DoubleEndedIterator<Item = Self> + Clone {
        let possible = EXPIRING.iter().filter(move |it| epochs <= it.max_epochs);
        possible.map(|it| Self::of(&it.words))
    }

    /// The most epochs for which a copy can be live, in any expiring filter.
    pub(super) const MAX_EPOCHS: u32 = 13;

    /// The words at a level.
    fn at(self, level: u32) -> Words {
        let expiring = EXPIRING.iter().map(|it| &it.words);
        let mut all = FIXED.iter().chain(SEMI_SORTED).chain(expiring);
        let mut fixed = || all.find(|it| Self::of(it) == self);
        match self.levels {
            0 => *fixed().expect("one of the fixed layouts"),
            _ => {
                let lanes = &Growing::LEVELS[(self.first_level() + level) as usize];
                Words::new(lanes.bits, 0, lanes.slots)
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

    /// The logarithm of the chance that two fingerprints of a plane differ. A slot can hold 2^w
    /// numbers, or A · 2^k; numbers that are too small do not occur. Where f bits of the hash are
    /// the fingerprint, small fingerprints are raised to others, which occur twice as often. In a
    /// fixed filter that is one fingerprint, and its double is neglected.
    fn ln_mismatch(self, level: u32) -> f64 {
        let words = self.at(level);
        let too_small = match self.levels {
            0 => 1,
            _ => 2 << (words.bits - Growing::SHORTEST),
        };
        let fingerprints = (words.values() - too_small) as f64;
        f64::ln_1p(-1.0 / fingerprints)
    }

    /// The false-positive rate at a load factor: 2Sα comparisons, and each may match by chance (Fan
    /// et al., *Cuckoo Filter*, CoNEXT 2014, §5.1).
    pub(super) fn rate(self, load: f64, level: u32) -> f64 {
        -f64::exp_m1(2.0 * self.slots(level) as f64 * load * self.ln_mismatch(level))
    }

    /// The load factor at which the rate is `rate`.
    pub(super) fn load_for(self, rate: f64, level: u32) -> f64 {
        f64::ln_1p(-rate) / self.ln_mismatch(level) / (2.0 * self.slots(level) as f64)
    }

    /// The load factor to which a large plane fills at a level. The fewer bits of a fingerprint are
    /// left to choose the alternate bucket, the smaller is the part of the table that a search
    /// reaches (Fan et al., as above, §4.2). Measured.
    fn load_at(self, level: u32) -> f64 {
        let words = self.at(level);
        let lost = match words.values().ilog2() {
            ..=9 => 0.01,
            10.. => 0.0,
        };
        words.load - lost
    }

    /// The items that fit into planes of `buckets` buckets at a level.
    pub(super) fn room(self, buckets: usize, level: u32) -> usize {
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
    pub(super) fn grow_at(self, buckets: usize, level: u32) -> usize {
        let inserts_of_splits = match level {
            0 => 0,
            _ => (buckets << level) / SPLITS_PER_INSERT,
        };
        let room = self.room(buckets, level);
        room.saturating_sub(inserts_of_splits)
    }

    /// The buckets of a plane, for `capacity` items at `rate` at a level;
    /// `None` if the rate is out of reach.
    pub(super) fn buckets(self, capacity: usize, rate: f64, level: u32) -> Option<usize> {
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
    pub(super) fn max_capacity(self, rate: f64) -> usize {
        let level = self.levels;
        let buckets = (MAX_BUCKETS >> level) / 2 * 2;
        let slots = (self.slots(level) * (buckets << level)) as f64;
        self.room(buckets, level)
            .min((slots * self.load_for(rate, level)) as usize)
    }
}

/// The number of items in a plane is binomial. By Chernoff's bound for z^2 = 2 ln(2^level * odds),
/// no plane of 2^level is more than z standard deviations above the mean. The result is z.
fn deviations(level: u32) -> f64 {
    (2.0 * (f64::from(level) * std::f64::consts::LN_2 + LN_ODDS)).sqrt()
}

/// The items with which the level after `level` is to begin, in a filter that goes through
/// `levels`.
pub(crate) fn grow_at(buckets: usize, levels: Levels, level: u32) -> usize {
    let series = Series {
        fingerprint_bits: Growing::LONGEST - levels.first,
        prefixes: 0,
        levels: levels.more,
    };
    series.grow_at(buckets, level - levels.first)
}

/// The least number of `range`, or its end, that is `enough`, as all greater ones are. It is found
/// fast if it is near the start.
pub(super) fn least_of(range: Range<usize>, enough: impl Fn(usize) -> bool) -> usize {
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

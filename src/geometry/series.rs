//! The words that a filter goes through, and how many items they hold at which rate.

use crate::table::{
    Levels, SPLITS_PER_INSERT,
    layout::{
        self, Growing, GrowingCounting, GrowingExpiring, GrowingExpiringCounting, Layout, layouts,
    },
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

/// What decides on the words that a filter can have.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The epochs of a TTL; 0 if items stay.
    pub(crate) epochs: u32,
    /// Bits of a slot's counter; 0 if there are none.
    pub(crate) counter_bits: u32,
    /// True if the words of a fixed filter may be semi-sorted.
    pub(crate) semi_sorted: bool,
}

/// The words of a filter, from its first level to its last one. Levels are counted from 0 here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// Bits of a whole fingerprint (f); where it has a prefix, those below it.
    pub(crate) fingerprint_bits: u32,
    /// Prefixes of a fingerprint, if its words are semi-sorted; else 0.
    pub(crate) prefixes: u32,
    /// How often the filter can double; 0: it is fixed.
    pub(crate) levels: u32,
    /// Bits of a tag, in an expiring filter; else 0.
    pub(crate) tag_bits: u32,
    /// Bits of a counter, in a counting filter; else 0.
    pub(crate) counter_bits: u32,
}

/// The words of a layout.
#[derive(Clone, Copy)]
struct Words {
    /// Those with the longest fingerprints, through all levels.
    longest: Series,
    /// The slots of a word (S) at a level of the layout.
    slots_at: fn(u32) -> usize,
}

/// Lists the words of the fixed layouts.
macro_rules! words {
    (($_d:tt) $($_kind:ident { $($layout:ident $_words:tt)* })*) => {
        static FIXED: &[Words] = &[$($(Words::of::<layout::$layout>()),*),*];
    };
}

layouts!(words, $);

impl Words {
    const fn of<L: Layout>() -> Self {
        let levels = Levels {
            first: 0,
            more: L::MAX_LEVEL,
        };
        Self {
            longest: Series::of_layout::<L>(levels),
            slots_at: L::slots_at,
        }
    }

    /// The words of filters that grow, with tags if copies expire, and with counters of this size.
    fn growing(expires: bool, counter_bits: u32) -> Self {
        match (expires, counter_bits) {
            (false, 0) => Self::of::<Growing>(),
            (false, 4) => Self::of::<GrowingCounting<4>>(),
            (false, _) => Self::of::<GrowingCounting<8>>(),
            (true, 0) => Self::of::<GrowingExpiring>(),
            (true, 4) => Self::of::<GrowingExpiringCounting<4>>(),
            (true, _) => Self::of::<GrowingExpiringCounting<8>>(),
        }
    }
}

/// The part of its slots that the smallest plane leaves empty. Measured: see `docs/design/headroom.md`.
const SMALL_MARGIN: f64 = 0.75;

/// The part of the margin that a filter that can grow leaves empty at first, and the slots from which
/// on it is the whole margin, linearly. A growing filter with too little room doubles early instead of
/// refusing an item. With this margin, none of 936 000 filters did. They had 5 to 2500 items at 1 % or
/// 0.1 %, and could grow 16- to 1000-fold.
const FIRST_MARGIN: f64 = 1.0 / 6.0;
const SLOTS_OF_MARGIN: f64 = 2400.0;

/// With the planes, items are spread at random over tables that cannot help each
/// other: the logarithm of the odds against the fullest one's being too full.
const LN_ODDS: f64 = 10.0;

impl Series {
    /// All series that filters of a kind can have, if they grow, or if they do not. Of those with equally
    /// many slots, the ones with longer fingerprints come later, and packed words after semi-sorted ones.
    ///
    /// Nothing is allocated: a snapshot may be read with little memory.
    pub(super) fn all(kind: Kind, grows: bool) -> impl Iterator<Item = Self> + Clone {
        let growing = move || Self::growing(Words::growing(kind.epochs > 0, kind.counter_bits));
        let fixed = (!grows).then_some(FIXED).into_iter().flatten();
        let fits = move |series: &Self| {
            (series.tag_bits > 0) == (kind.epochs > 0)
                && series.counter_bits == kind.counter_bits
                && (kind.semi_sorted || series.prefixes == 0)
                && kind.epochs <= series.max_epochs()
        };
        let all = fixed
            .map(|words| words.longest)
            .chain(grows.then(growing).into_iter().flatten());
        all.filter(fits)
    }

    /// All series of growing words: each begins with more bits than it ends with. None ends with words
    /// of one slot, which fill to half and would refuse a third copy of an item for ever.
    fn growing(Words { longest, slots_at }: Words) -> impl Iterator<Item = Self> + Clone {
        (Growing::SHORTEST + 1..=Growing::LONGEST).flat_map(move |fingerprint_bits| {
            let levels = 1..=fingerprint_bits - Growing::SHORTEST;
            let first = Growing::LONGEST - fingerprint_bits;
            let ends_well = move |&levels: &u32| slots_at(first + levels) > 1;
            levels.filter(ends_well).map(move |levels| Self {
                fingerprint_bits,
                levels,
                ..longest
            })
        })
    }

    /// Bits of a whole fingerprint, rounded down where there is no power of two of them.
    pub(crate) fn bits(self) -> u32 {
        self.fingerprint_bits + self.prefixes.max(1).ilog2()
    }

    /// The most epochs for which a copy can be live; 0 if none expires.
    ///
    /// At least two of the 2^t ages of a tag are dead ones, besides that of a copy seen now. The reason
    /// is that a sweep passes a marked word, and empties it only in the next epoch
    /// (`docs/design/expiry.md`).
    ///
    /// With counters, an item that occurs in each epoch has a slot for each of E + 1 epochs at least. One
    /// more slot of its two buckets is for two inserts that begin an epoch at once, in both buckets.
    pub(super) fn max_epochs(self) -> u32 {
        let of_tags = (1_u32 << self.tag_bits).saturating_sub(3);
        match self.counter_bits {
            0 => of_tags,
            _ => of_tags.min(2 * self.slots(0) as u32 - 2),
        }
    }

    /// Slots of a word at a level.
    pub(crate) fn slots(self, level: u32) -> usize {
        let words = match self.levels {
            0 => *FIXED
                .iter()
                .find(|words| words.longest == self)
                .expect("one of the fixed layouts"),
            _ => Words::growing(self.tag_bits > 0, self.counter_bits),
        };
        (words.slots_at)(self.table_levels().first + level)
    }

    /// The series of a table of this layout that goes through `levels`. The small growing words of models
    /// count as those of filters.
    pub(crate) const fn of_layout<L: Layout>(levels: Levels) -> Self {
        let prefixes = if L::PREFIXES == 0 { 1 } else { L::PREFIXES };
        let fingerprint_bits = match L::GROWS {
            true => Growing::LONGEST - levels.first,
            false => ((L::LARGEST + 1) / prefixes).ilog2(),
        };
        let above = (L::LARGEST_ENTRY / (L::LARGEST + 1)).count_ones();
        Self {
            fingerprint_bits,
            prefixes: L::PREFIXES as u32,
            levels: levels.more,
            tag_bits: above - L::COUNTER_BITS,
            counter_bits: L::COUNTER_BITS,
        }
    }

    /// The levels of the table's words.
    pub(crate) fn table_levels(self) -> Levels {
        match self.levels {
            0 => Levels::FIXED,
            more => Levels {
                first: Growing::LONGEST - self.fingerprint_bits,
                more,
            },
        }
    }

    /// The numbers that a slot can hold at a level: 2^w, or A · 2^k with prefixes.
    fn values(self, level: u32) -> u64 {
        u64::from(self.prefixes.max(1)) << (self.fingerprint_bits - level)
    }

    /// The logarithm of the chance that two fingerprints of a plane differ. Numbers that are too small
    /// do not occur. Where f bits of the hash are the fingerprint, small fingerprints are raised to
    /// others, which occur twice as often. In a fixed filter that is one fingerprint, and its double is
    /// neglected.
    fn ln_mismatch(self, level: u32) -> f64 {
        let too_small = match self.levels {
            0 => 1,
            _ => 2 << (self.fingerprint_bits - level - Growing::SHORTEST),
        };
        let fingerprints = (self.values(level) - too_small) as f64;
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

    /// The load factor to which a large plane fills at a level, and the slots that remain empty beyond
    /// it: small planes have denser corners. Measured: see `docs/design/headroom.md`.
    fn fill(self, level: u32) -> (f64, f64) {
        let (load, margin) = match self.slots(level) {
            7.. => (0.982, 14.0),
            6 => (0.972, 14.0),
            5 => (0.963, 20.0),
            4 => (0.95, 28.0),
            3 => (0.92, 48.0),
            2 => (0.845, 160.0),
            _ => (0.45, 48.0),
        };
        // With fewer bits of a fingerprint left to choose the alternate bucket, a search reaches a
        // smaller part of the table (Fan et al., as above, §4.2).
        let lost = match self.values(level).ilog2() {
            ..=9 => 0.01,
            10.. => 0.0,
        };
        (load - lost, margin)
    }

    /// The slots that stay empty in small planes at the start, and the part of all slots that is added
    /// to them, up to the whole margin.
    fn first_margin(self, level: u32) -> (f64, f64) {
        let (_, whole) = self.fill(level);
        if self.levels > 0 && level == 0 {
            let least = FIRST_MARGIN * whole;
            (least, (whole - least) / SLOTS_OF_MARGIN)
        } else {
            (whole, 0.0)
        }
    }

    /// [`room`](Self::room), with the margin that suffices at the start.
    fn first_room(self, buckets: usize, level: u32) -> usize {
        let (least, more) = self.first_margin(level);
        let slots = (self.slots(level) * buckets) as f64;
        self.room_beside(least + more * slots, buckets, level)
    }

    /// The items that fit into planes of `buckets` buckets at a level.
    pub(super) fn room(self, buckets: usize, level: u32) -> usize {
        self.room_beside(f64::INFINITY, buckets, level)
    }

    /// [`room`](Self::room), if no more slots than `margin` stay empty.
    fn room_beside(self, margin: f64, buckets: usize, level: u32) -> usize {
        let slots = self.slots(level) * buckets;
        if buckets == 2 && level == 0 {
            return slots;
        }
        let (slots, (load, whole)) = (slots as f64, self.fill(level));
        let of_plane = slots * load - margin.min(whole).min(SMALL_MARGIN * slots);
        if level == 0 {
            return of_plane as usize;
        }
        // x + z * sqrt(x) = of_plane, for the mean x.
        let z = deviations(level);
        let root = ((z * z + 4.0 * of_plane).sqrt() - z) / 2.0;
        (root * root * f64::from(level).exp2()) as usize
    }

    /// The pairs of buckets that planes have at least if [`first_room`](Self::first_room) for `capacity`
    /// items is in them: the same equations, solved for the slots.
    fn least_pairs(self, capacity: usize, level: u32) -> usize {
        let (load, margin) = self.fill(level);
        let of_plane = match level {
            0 => capacity as f64,
            _ => {
                let mean = capacity as f64 / f64::from(level).exp2();
                mean + deviations(level) * mean.sqrt()
            }
        };
        let (least, more) = self.first_margin(level);
        let slots = f64::min((of_plane + margin) / load, of_plane / (load - SMALL_MARGIN));
        let slots = slots.min((of_plane + least) / (load - more));
        // One less, as the floating-point numbers are not exact.
        ((slots / (2 * self.slots(level)) as f64) as usize).saturating_sub(1)
    }

    /// The items with which the level after `level` is to begin.
    pub(super) fn grow_at(self, buckets: usize, level: u32) -> usize {
        let inserts_of_splits = match level {
            0 => 0,
            _ => (buckets << level) / SPLITS_PER_INSERT,
        };
        let room = self.first_room(buckets, level);
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
        let enough = |pairs| self.first_room(2 * pairs, level) >= capacity;
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
pub(crate) fn grow_at<L: Layout>(buckets: usize, levels: Levels, level: u32) -> usize {
    Series::of_layout::<L>(levels).grow_at(buckets, level - levels.first)
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

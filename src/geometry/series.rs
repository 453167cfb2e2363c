//! The words that a filter goes through, and how many items they hold at which rate.

use crate::table::{
    Levels, SPLITS_PER_INSERT,
    layout::{
        self, Growing, GrowingCounting, GrowingExpiring, GrowingExpiringCounting, Lanes, Layout,
        Masks, PackedLayout, layouts,
    },
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
    /// Bits of a tag, in an expiring filter; else 0.
    pub(crate) tag_bits: u32,
    /// Bits of a counter, in a counting filter; else 0.
    pub(crate) counter_bits: u32,
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
        counting { $($counting:ident $_counting:tt)* }
        expiring_counting { $($both:ident $_both:tt)* }
    ) => {
        /// Measured: see `docs/design/headroom.md`.
        static FIXED: &[Words] = &[$(Words::of::<layout::$fixed>()),*];

        /// Those whose words are semi-sorted.
        static SEMI_SORTED: &[Words] = &[$(Words::semi_sorted::<layout::$semi>()),*];

        /// Those of expiring filters, with and without counters.
        static EXPIRING: &[Tagged] = &[
            $(Tagged::of::<layout::$expiring>(),)*
            $(Tagged::of::<layout::$both>(),)*
        ];

        /// The words of counting filters.
        static COUNTING: &[Tagged] = &[$(Tagged::of::<layout::$counting>()),*];
    };
}

layouts!(words, $);

/// Words whose slots have tags.
struct Tagged {
    words: Words,
    tag_bits: u32,
    counter_bits: u32,
}

impl Tagged {
    const fn of<L: PackedLayout>() -> Self {
        Self {
            words: Words::of::<L>(),
            tag_bits: L::TAG_BITS,
            counter_bits: L::COUNTER_BITS,
        }
    }
}

/// The most epochs for which a copy with a tag of this size can be live.
///
/// At least two of the 2^t ages of a tag are dead ones, besides that of a copy seen now. The reason
/// is that a sweep passes a marked word, and empties it only in the next epoch
/// (`docs/design/expiry.md`).
const fn max_epochs(tag_bits: u32) -> u32 {
    (1 << tag_bits) - 3
}

/// The words that a filter can go through as it grows.
struct Growable {
    levels: &'static [Lanes],
    /// Bits of the longest fingerprint, and of the shortest one.
    longest: u32,
    shortest: u32,
    tag_bits: u32,
    counter_bits: u32,
}

impl Growable {
    const PLAIN: Self = Self::of::<Growing>();
    const EXPIRING: Self = Self::of::<GrowingExpiring>();
    const COUNTING_4: Self = Self::of::<GrowingCounting<4>>();
    const COUNTING_8: Self = Self::of::<GrowingCounting<8>>();
    const EXPIRING_COUNTING_4: Self = Self::of::<GrowingExpiringCounting<4>>();
    const EXPIRING_COUNTING_8: Self = Self::of::<GrowingExpiringCounting<8>>();

    /// The words whose slots have tags, if copies expire, and counters of this size.
    fn with(expires: bool, counter_bits: u32) -> &'static Self {
        match (expires, counter_bits) {
            (false, 0) => const { &Self::PLAIN },
            (false, 4) => const { &Self::COUNTING_4 },
            (false, _) => const { &Self::COUNTING_8 },
            (true, 0) => const { &Self::EXPIRING },
            (true, 4) => const { &Self::EXPIRING_COUNTING_4 },
            (true, _) => const { &Self::EXPIRING_COUNTING_8 },
        }
    }

    const fn of<L: PackedLayout>() -> Self {
        Self {
            levels: L::LEVELS,
            longest: L::FINGERPRINT_BITS,
            shortest: L::FINGERPRINT_BITS - L::LAST_LEVEL,
            tag_bits: L::TAG_BITS,
            counter_bits: L::COUNTER_BITS,
        }
    }

    /// All series of these words: each begins with more bits than it ends with. None ends with words
    /// of one slot, which fill to half and would refuse a third copy of an item for ever.
    fn series(&'static self) -> impl DoubleEndedIterator<Item = Series> + Clone {
        (self.shortest + 1..=self.longest).flat_map(move |fingerprint_bits| {
            let levels = 1..=fingerprint_bits - self.shortest;
            let first = self.longest - fingerprint_bits;
            let ends_well = move |&levels: &u32| self.levels[(first + levels) as usize].slots > 1;
            levels.filter(ends_well).map(move |levels| Series {
                fingerprint_bits,
                prefixes: 0,
                levels,
                tag_bits: self.tag_bits,
                counter_bits: self.counter_bits,
            })
        })
    }
}

/// The part of its slots that the smallest plane leaves empty. Measured: as above.
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
            2 => (0.845, 160.0),
            _ => (0.45, 48.0),
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
    /// All series of growable filters.
    pub(super) fn growable() -> impl DoubleEndedIterator<Item = Self> + Clone {
        const { &Growable::PLAIN }.series()
    }

    /// All series of growable filters whose copies live for this number of epochs, and whose slots have
    /// counters of this size.
    pub(super) fn growable_expiring(
        epochs: u32,
        counter_bits: u32,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        let all = Growable::with(true, counter_bits).series();
        all.filter(move |series| epochs <= series.max_epochs())
    }

    /// Those of fixed filters.
    pub(super) fn fixed() -> impl DoubleEndedIterator<Item = Self> + Clone {
        FIXED.iter().map(Self::of)
    }

    /// The series of fixed filters whose slots have counters of this size.
    pub(super) fn counting(counter_bits: u32) -> impl DoubleEndedIterator<Item = Self> + Clone {
        let all = COUNTING.iter().map(Self::of_tagged);
        all.filter(move |series| series.counter_bits == counter_bits)
    }

    /// The series of growing filters whose slots have counters of this size.
    pub(super) fn growable_counting(
        counter_bits: u32,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        Growable::with(false, counter_bits).series()
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
            tag_bits: 0,
            counter_bits: 0,
        }
    }

    const fn of_tagged(tagged: &Tagged) -> Self {
        Self {
            tag_bits: tagged.tag_bits,
            counter_bits: tagged.counter_bits,
            ..Self::of(&tagged.words)
        }
    }

    /// Bits of a whole fingerprint, rounded down where there is no power of two of them.
    pub(crate) fn bits(self) -> u32 {
        self.fingerprint_bits + self.prefixes.max(1).ilog2()
    }

    /// The series of expiring filters whose copies are live for this number of epochs, and whose slots
    /// have counters of this size.
    pub(super) fn expiring(
        epochs: u32,
        counter_bits: u32,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        let all = EXPIRING.iter().map(Self::of_tagged);
        let all = all.filter(move |series| series.counter_bits == counter_bits);
        all.filter(move |series| epochs <= series.max_epochs())
    }

    /// The most epochs for which a copy can be live.
    ///
    /// With counters, an item that occurs in each epoch has a slot for each of E + 1 epochs at least. One
    /// more slot of its two buckets is for two inserts that begin an epoch at once, in both buckets.
    fn max_epochs(self) -> u32 {
        let of_tags = max_epochs(self.tag_bits);
        match self.counter_bits {
            0 => of_tags,
            _ => of_tags.min(2 * self.slots(0) as u32 - 2),
        }
    }

    /// The most epochs for which a copy can be live, in any expiring filter.
    pub(super) const MAX_EPOCHS: u32 = 13;

    /// The words that it goes through, if it grows.
    fn words(self) -> &'static Growable {
        Growable::with(self.tag_bits != 0, self.counter_bits)
    }

    /// The words at a level.
    fn at(self, level: u32) -> Words {
        let plain = FIXED.iter().chain(SEMI_SORTED);
        let plain = plain.map(|words| (Self::of(words), words));
        let tagged = EXPIRING.iter().chain(COUNTING);
        let tagged = tagged.map(|it| (Self::of_tagged(it), &it.words));
        let fixed = || plain.chain(tagged).find(|&(series, _)| series == self);
        match self.levels {
            0 => *fixed().expect("one of the fixed layouts").1,
            _ => {
                let lanes = &self.words().levels[(self.first_level() + level) as usize];
                Words::new(
                    lanes.bits - self.tag_bits - self.counter_bits,
                    0,
                    lanes.slots,
                )
            }
        }
    }

    /// Slots of a word at a level.
    pub(crate) fn slots(self, level: u32) -> usize {
        self.at(level).slots
    }

    /// The series of a table of this layout that goes through `levels`.
    pub(crate) fn of_layout<L: Layout>(levels: Levels) -> Self {
        if L::GROWS {
            return Self::of_levels::<L>(levels);
        }
        let bits = ((L::LARGEST + 1) / L::PREFIXES.max(1)).ilog2();
        let above = (L::LARGEST_ENTRY / (L::LARGEST + 1)).count_ones();
        Self {
            fingerprint_bits: bits,
            prefixes: L::PREFIXES as u32,
            levels: 0,
            tag_bits: above - L::COUNTER_BITS,
            counter_bits: L::COUNTER_BITS,
        }
    }

    /// The series of a growing table that goes through `levels`.
    fn of_levels<L: Layout>(levels: Levels) -> Self {
        let words = Growable::with(L::EXPIRES, L::COUNTER_BITS);
        Self {
            fingerprint_bits: words.longest - levels.first,
            prefixes: 0,
            levels: levels.more,
            tag_bits: words.tag_bits,
            counter_bits: words.counter_bits,
        }
    }

    /// The level of the table's words at which the filter begins.
    fn first_level(self) -> u32 {
        self.words().longest - self.fingerprint_bits
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
            _ => 2 << (words.bits - self.words().shortest),
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

    /// The load factor to which a large plane fills at a level. The values were
    /// measured. With fewer bits of a fingerprint left to choose the alternate bucket, a search
    /// reaches a smaller part of the table (Fan et al., as above, §4.2).
    fn load_at(self, level: u32) -> f64 {
        let words = self.at(level);
        let lost = match words.values().ilog2() {
            ..=9 => 0.01,
            10.. => 0.0,
        };
        words.load - lost
    }

    /// The slots that stay empty in small planes at the start, and the part of all slots that is added
    /// to them, up to the whole margin.
    fn first_margin(self, level: u32) -> (f64, f64) {
        let whole = self.at(level).margin;
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
        let margin = (least + more * slots).min(self.at(level).margin);
        self.room_beside(margin, buckets, level)
    }

    /// The items that fit into planes of `buckets` buckets at a level.
    pub(super) fn room(self, buckets: usize, level: u32) -> usize {
        self.room_beside(self.at(level).margin, buckets, level)
    }

    fn room_beside(self, margin: f64, buckets: usize, level: u32) -> usize {
        let words = self.at(level);
        if buckets == 2 && level == 0 {
            return 2 * words.slots;
        }
        let slots = (words.slots * buckets) as f64;
        let of_plane = slots * self.load_at(level) - margin.min(SMALL_MARGIN * slots);
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
        let (words, load) = (self.at(level), self.load_at(level));
        let of_plane = match level {
            0 => capacity as f64,
            _ => {
                let mean = capacity as f64 / f64::from(level).exp2();
                mean + deviations(level) * mean.sqrt()
            }
        };
        let (least, more) = self.first_margin(level);
        let slots = f64::min(
            (of_plane + words.margin) / load,
            of_plane / (load - SMALL_MARGIN),
        );
        let slots = slots.min((of_plane + least) / (load - more));
        // One less, as the floating-point numbers are not exact.
        ((slots / (2 * words.slots) as f64) as usize).saturating_sub(1)
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
    Series::of_levels::<L>(levels).grow_at(buckets, level - levels.first)
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

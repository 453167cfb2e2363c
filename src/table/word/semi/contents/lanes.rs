//! The lanes of raw bits and of prefixes: what is in order, and what moves.

use super::{Contents, Heads, SemiSorted};
use crate::table::{entry::Entry, word::Bucket};

/// The `bits` lowest bits of a word.
#[inline(always)]
pub(super) const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl<L: SemiSorted> Contents<L> {
    /// Where the first lane in order begins: lane 1 if there is a mark.
    #[inline(always)]
    pub(super) fn first(self) -> u32 {
        if self.is_unmarked() { 0 } else { L::RAW_BITS }
    }

    /// The entry in a lane.
    pub(super) fn entry(self, lane: usize) -> Entry {
        let shift = L::RAW_BITS * lane as u32;
        let (prefix, raw) = (
            self.prefixes >> shift & L::LANE,
            self.raws >> shift & L::LANE,
        );
        Entry::new(prefix << L::RAW_BITS | raw)
    }

    /// The raw bits and the prefix of an entry.
    #[inline(always)]
    pub(in crate::table::word::semi) fn parts(entry: Entry) -> (u64, u64) {
        let bits = entry.bits();
        debug_assert!(bits >> L::RAW_BITS < L::PREFIXES);
        (bits & L::LANE, bits >> L::RAW_BITS)
    }

    /// The top bit of every lane of `lanes` that is not 0.
    #[inline(always)]
    pub(super) fn used(lanes: u64) -> u64 {
        (((lanes & L::LOWS) + L::LOWS) | lanes) & L::TOPS
    }

    /// The top bit of every lane of `lanes` that is 0.
    #[inline(always)]
    pub(super) fn zeros(lanes: u64) -> u64 {
        Self::used(lanes) ^ L::TOPS
    }

    /// The top bit of every lane that is smaller in `these` than in `those`.
    ///
    /// Without their top bits they are subtracted, with a bit above each lane to borrow from: it is
    /// left if nothing was borrowed. The top bits decide if they differ (Warren, *Hacker's Delight*,
    /// 2nd ed., §2-12 and §2-18).
    #[inline(always)]
    pub(super) fn smaller(these: u64, those: u64) -> u64 {
        let left = (these | L::TOPS) - (those & L::LOWS);
        (!these & those | !(these ^ those) & !left) & L::TOPS
    }

    /// The top bit of every lane whose entry is smaller than this one.
    #[inline(always)]
    fn before(self, raw: u64, prefix: u64) -> u64 {
        let borrows = Self::smaller(self.raws, raw * L::ONES) >> (L::RAW_BITS - 1);
        // Prefixes have no top bits. It is left if the prefix is not smaller, or if it is equal and
        // nothing is borrowed.
        !((self.prefixes | L::TOPS) - (prefix * L::ONES) - borrows) & L::TOPS
    }

    /// The top bit of every unmarked lane that holds `entry`.
    #[inline(always)]
    pub(super) fn unmarked_matches(self, entry: Entry) -> u64 {
        let (raw, prefix) = Self::parts(entry);
        let different = (self.raws ^ (raw * L::ONES)) | (self.prefixes ^ (prefix * L::ONES));
        Self::zeros(different) & !low(self.first())
    }

    /// With `entry` in its place, and the first lane in order, which is empty, gone.
    #[inline(always)]
    pub(super) fn put(self, entry: Entry) -> Self {
        let (raw, prefix) = Self::parts(entry);
        // Those before it are a run from the first lane on. The entry comes into the last lane of
        // it; the others move down.
        let first = low(self.first());
        let run = self.before(raw, prefix);
        let last = run & !(run >> L::RAW_BITS);
        let place = last >> (L::RAW_BITS - 1);
        let moved = (place - 1) & !first;
        let kept = first | !(last << 1).wrapping_sub(1);
        let shift =
            |lanes: u64, part: u64| lanes & kept | lanes >> L::RAW_BITS & moved | (part * place);
        self.with_lanes(shift(self.raws, raw), shift(self.prefixes, prefix))
    }

    /// Without the entry in the lane whose top bit is given: the first lane in order is empty then.
    #[inline(always)]
    pub(super) fn taken(self, top: u64) -> Self {
        let first = low(self.first());
        let moved = ((top >> (L::RAW_BITS - 1)) - 1) & !first;
        let kept = first | !(top << 1).wrapping_sub(1);
        let shift = |lanes: u64| lanes & kept | (lanes & moved) << L::RAW_BITS;
        self.with_lanes(shift(self.raws), shift(self.prefixes))
    }

    /// With these lanes instead.
    #[inline(always)]
    fn with_lanes(self, raws: u64, prefixes: u64) -> Self {
        Self {
            raws,
            prefixes,
            set: Self::number(prefixes & !low(self.first())),
            ..self
        }
    }

    /// With `entry` in lane 0, whatever was there.
    #[inline(always)]
    pub(super) fn with_first(self, entry: Entry) -> Self {
        let (raw, prefix) = Self::parts(entry);
        Self {
            raws: self.raws & !L::LANE | raw,
            prefixes: self.prefixes & !L::LANE | prefix,
            ..self
        }
    }

    /// True if the slots are in order. (Their prefixes always are.)
    #[inline]
    pub(crate) fn is_in_order(self) -> bool {
        // Of each lane but the last the one after it, and how they compare.
        let (raws, prefixes) = (self.raws >> L::RAW_BITS, self.prefixes >> L::RAW_BITS);
        let falls = Self::zeros(self.prefixes ^ prefixes) & Self::smaller(raws, self.raws);
        let last = L::LANE << (L::SHIFT - L::RAW_BITS);
        falls & !last & !low(self.first()) == 0
    }

    /// True if a word of a table may hold this: what [`from_bits`](Self::from_bits) gives of a word
    /// from outside may be in disorder, or have a mark on nothing.
    #[cfg(test)]
    pub(crate) fn is_sound(self) -> bool {
        self.is_in_order() && (self.is_unmarked() || self.entry(0) != Entry::EMPTY)
    }
}

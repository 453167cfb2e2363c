//! From the 64 bits of a word to what it holds, and back.

use super::{
    super::{MARKS, quiet_prefixes, sets::ROW},
    Contents, Heads, SemiSorted, TOKENS, low,
};
use crate::table::word::{Bits, Bucket, Mark};
use std::marker::PhantomData;

/// The marks that there are, in the order of their codes.
const KINDS: &[Mark] = Mark::ALL.split_at(MARKS as usize).0;

impl<L: SemiSorted> Contents<L> {
    /// What the word holds; `None` if its head is none of a word.
    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        match Self::quiet(Bits(bits)) {
            None => Self::from_busy_bits(bits),
            quiet => quiet,
        }
    }

    /// What the word holds if it is quiet.
    #[inline(always)]
    pub(super) fn quiet(Bits(bits): Bits) -> Option<Self> {
        Some(Self {
            raws: bits & L::LANES,
            prefixes: quiet_prefixes::<L>(bits)?,
            set: bits >> L::SHIFT,
            ..Self::EMPTY
        })
    }

    /// [`from_bits`](Self::from_bits) for a word with a mark or a reservation.
    #[inline(never)]
    fn from_busy_bits(bits: u64) -> Option<Self> {
        let head = bits >> L::SHIFT;
        let is_reserved = head >= L::RESERVED;
        let is_marked = !is_reserved || head >= L::BOTH;
        let (first, sets) = Self::heads(is_marked, is_reserved);
        let (mut number, mut raws, mut token) = (head - first, bits & L::LANES, None);
        if is_reserved {
            let lane = if is_marked { L::RAW_BITS } else { 0 };
            let held = raws >> lane & L::LANE;
            raws ^= held << lane;
            let all = number << L::RAW_BITS | held;
            (number, token) = (all / TOKENS, Some((all % TOKENS) as u16));
        }
        let (marked, set) = (number / sets, number % sets);
        // There always is one. Without a check that might panic the compiler calls this once a word.
        let prefixes = L::SETS.get(set as usize)?;
        let (kind, prefix) = (marked / L::PREFIXES, marked % L::PREFIXES);
        let mark = match is_marked {
            // There is none if the head is above the last one.
            true => Some(*KINDS.get(kind as usize)?),
            false if marked == 0 => None,
            // Above the last one in the last head.
            false => return None,
        };
        Some(Self {
            raws,
            prefixes: prefixes | prefix,
            set,
            mark,
            token,
            layout: PhantomData,
        })
    }

    /// The heads of words that are not quiet: the first one, and the number of sets.
    #[inline(always)]
    fn heads(is_marked: bool, is_reserved: bool) -> (u64, u64) {
        match (is_marked, is_reserved) {
            (true, true) => (L::BOTH, L::SETS_OF_LAST),
            (false, true) => (L::RESERVED, L::SETS_OF_REST),
            _ => (L::MARKED, L::SETS_OF_REST),
        }
    }

    /// The word that holds this.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        if self.is_unmarked() && !self.is_reserved() {
            self.quiet_bits().0
        } else {
            self.busy_bits()
        }
    }

    /// The word that holds this, which is quiet.
    #[inline(always)]
    pub(super) fn quiet_bits(self) -> Bits {
        debug_assert!(self.is_unmarked() && !self.is_reserved());
        Bits(self.set << L::SHIFT | self.raws)
    }

    /// [`bits`](Self::bits) with a mark or a reservation. Inlined: otherwise the parts of the word
    /// are passed in memory, and reading them right after they were written is slow.
    #[inline(always)]
    fn busy_bits(self) -> u64 {
        let (first, sets) = Self::heads(!self.is_unmarked(), self.is_reserved());
        let prefix = self.prefixes & low(self.first());
        let kind = self.mark.map_or(0, |mark| mark as u64 - 1);
        let number = (kind * L::PREFIXES + prefix) * sets + self.set;
        let (number, held) = match self.token {
            None => (number, 0),
            Some(token) => {
                let all = number * TOKENS + u64::from(token);
                (all >> L::RAW_BITS, all & L::LANE)
            }
        };
        debug_assert!(first + number < L::END);
        (first + number) << L::SHIFT | self.raws | held << self.first()
    }

    /// The number of the set of these prefixes, which are in order.
    #[inline(always)]
    pub(super) fn number(prefixes: u64) -> u64 {
        // A prefix has no bits beyond these, so no bounds are checked.
        let mask = L::LANE as usize & (ROW - 1);
        let rank = |slot: usize| {
            let prefix = prefixes >> (L::RAW_BITS * slot as u32);
            u64::from(L::RANKS[slot][prefix as usize & mask])
        };
        (0..L::SLOTS).map(rank).sum()
    }
}

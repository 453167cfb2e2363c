//! Semi-sorted words: how they are written in 64 bits.
//!
//! A fingerprint has a *prefix*, a number below A, and k *raw* bits below that; 0 is an empty slot,
//! as everywhere. The order of the slots has no meaning, so they are kept in the order of what they
//! hold. Then their prefixes are a multiset, and there are far fewer multisets than sequences of S
//! prefixes (Fan et al., *Cuckoo Filter*, CoNEXT 2014, §5.2).
//!
//! ```text
//! 6 × 8 raw bits:   63      48 47    40      ...      15     8 7      0
//!                  [   head   ][ lane 5 ]    ...     [ lane 1 ][ lane 0 ]
//! ```
//!
//! The lanes hold the raw bits. The head is one number, which says all else:
//!
//! | the word | what the head counts off | lane 0 | the next lane | the other lanes |
//! |---|---|---|---|---|
//! | quiet | sets of S prefixes | in order | in order | in order |
//! | marked | 5 marks × A prefixes × sets of S − 1 | the marked one | in order | in order |
//! | reserved | sets of S − 1, × tokens / 2^k | a rest | in order | in order |
//! | both | 5 × A × sets of S − 2, × tokens / 2^k | the marked one | a rest | in order |
//!
//! These four come one after the other, each from where the one before ends; nothing above the last
//! one is a word. A reservation takes an empty slot, so its lane is free. The token, and above it
//! all that the head would have to say, are one number; k bits of it are in that lane.
//!
//! The sets are numbered in the order of a dictionary. So those of S − 1 prefixes are those of S that
//! have a 0 more, in the same order, and one table is enough for all. Empty slots come first, and a
//! word of nothing else is 0.
//!
//! There is one word for each state.

mod contents;
pub(crate) mod sets;

use super::Mark;
use crate::table::word::lanes::{MAX_SLOTS, TOKEN_BITS};
use sets::{ROW, multisets};

pub(crate) use contents::Contents;

/// The division of a semi-sorted word. A type without values, as any layout.
pub(crate) trait SemiSorted: Copy + Eq + std::fmt::Debug + 'static {
    /// Slots in a word (S).
    const SLOTS: usize;
    /// Bits of a lane (k).
    const RAW_BITS: u32;
    /// Prefixes that there are (A).
    const PREFIXES: u64;
    /// The prefixes that each head of a quiet word stands for, in lanes:
    /// [`prefixes_of_heads`](sets::prefixes_of_heads).
    const SETS: &'static [u64];
}

/// Makes `$layout` a division of semi-sorted words, with `$sets` sets of prefixes.
macro_rules! semi_sorted_words {
    ($layout:ty: $raw:literal raw bits x $slots:literal, $prefixes:literal prefixes, $sets:literal sets) => {
        impl $crate::table::word::semi::SemiSorted for $layout {
            const SLOTS: usize = $slots;
            const RAW_BITS: u32 = $raw;
            const PREFIXES: u64 = $prefixes;
            // A static, so that a program has it once.
            const SETS: &'static [u64] = {
                static SETS: [u64; $sets] =
                    $crate::table::word::semi::sets::prefixes_of_heads($slots, $raw, $prefixes);
                &SETS
            };
        }
    };
}

pub(crate) use semi_sorted_words;

/// Tokens that there are.
const TOKENS: u64 = 1 << TOKEN_BITS;

/// Kinds of marks: all but the one of words whose copies have tags.
const MARKS: u64 = Mark::ALL.len() as u64 - 1;

// No head says that a copy is withheld. Nothing withholds one here: the time of a filter has epochs
// only if its words are packed.
const _: () = assert!(Mark::Withheld as u64 == MARKS + 1);

/// Every constant that follows from a [`SemiSorted`].
pub(crate) trait Heads: SemiSorted {
    /// All bits of lane 0.
    const LANE: u64 = (1 << Self::RAW_BITS) - 1;
    /// The lowest bit of the head.
    const SHIFT: u32 = Self::RAW_BITS * Self::SLOTS as u32;
    /// All bits of all lanes.
    const LANES: u64 = (1 << Self::SHIFT) - 1;
    /// Bit 0 of every lane.
    const ONES: u64 = Self::LANES / Self::LANE;
    /// The top bit of every lane.
    const TOPS: u64 = Self::ONES << (Self::RAW_BITS - 1);
    /// All bits of all lanes but their top bits.
    const LOWS: u64 = Self::LANES & !Self::TOPS;

    /// Multisets of S prefixes.
    const QUIET_SETS: u64 = multisets(Self::PREFIXES, Self::SLOTS);
    /// Those of S − 1.
    const SETS_OF_REST: u64 = multisets(Self::PREFIXES, Self::SLOTS - 1);
    /// Those of S − 2.
    const SETS_OF_LAST: u64 = multisets(Self::PREFIXES, Self::SLOTS - 2);
    /// Those of S − 1, with the mark and the prefix of the marked one.
    const MARKED_SETS: u64 = MARKS * Self::PREFIXES * Self::SETS_OF_REST;
    /// The same of S − 2.
    const MARKED_SETS_OF_LAST: u64 = MARKS * Self::PREFIXES * Self::SETS_OF_LAST;

    /// The first head of a marked word. Those of quiet words come before it.
    const MARKED: u64 = Self::QUIET_SETS;
    /// The first head of a reserved word.
    const RESERVED: u64 = Self::MARKED + Self::MARKED_SETS;
    /// The first head of a word that is both.
    const BOTH: u64 = Self::RESERVED + (Self::SETS_OF_REST * TOKENS).div_ceil(1 << Self::RAW_BITS);
    /// The first head that is none.
    const END: u64 =
        Self::BOTH + (Self::MARKED_SETS_OF_LAST * TOKENS).div_ceil(1 << Self::RAW_BITS);

    /// What each prefix adds to the number of its set, by its lane.
    const RANKS: &'static [[u32; ROW]] = &sets::ranks(Self::SLOTS, Self::PREFIXES);

    /// Refuses, at compile time, a layout whose parts do not fit.
    const CHECKED: () = {
        assert!(
            Self::SLOTS >= 2 && Self::SLOTS <= MAX_SLOTS,
            "the mark and the reservation need a slot each"
        );
        assert!(Self::END - 1 <= u64::MAX >> Self::SHIFT);
        // A row of `RANKS` has a place for each, and a lane of prefixes a bit to borrow from.
        assert!(Self::PREFIXES <= ROW as u64 && Self::PREFIXES <= 1 << (Self::RAW_BITS - 1));
        assert!(Self::SETS.len() as u64 == Self::QUIET_SETS);
    };
}

impl<L: SemiSorted> Heads for L {}

/// The prefixes of a quiet word, in lanes; `None` if it is not quiet.
#[inline(always)]
fn quiet_prefixes<L: SemiSorted>(bits: u64) -> Option<u64> {
    let () = L::CHECKED;
    let head = usize::try_from(bits >> L::SHIFT).ok()?;
    L::SETS.get(head).copied()
}

#[cfg(test)]
mod tests;

//! What the fast paths ask of two words at once, if both are quiet.

use super::{
    super::{Heads, SemiSorted, quiet_prefixes},
    Contents,
};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::{Bits, Bucket, Hint, Minus, Pair},
};
#[cfg(target_feature = "sse2")]
use safe_arch::{
    bitand_m128i, cmp_eq_mask_i8_m128i, move_mask_i8_m128i, set_i64_m128i, set_splat_i8_m128i,
};
use std::hint::select_unpredictable;

impl<L: SemiSorted> Pair for Contents<L> {
    /// The bounds of the table say that a word is quiet, and so that it is settled.
    #[inline(always)]
    fn match_settled(p: Bits, q: Bits, fingerprint: Fingerprint, _hint: Hint) -> (bool, bool) {
        match either_holds::<L>(p.0, q.0, fingerprint) {
            Some(found) => (true, found),
            None => (false, false),
        }
    }

    #[inline(always)]
    fn plus_in_emptier(one: Bits, other: Bits, entry: Entry, hint: Hint) -> Option<(bool, Bits)> {
        let (Some(of_one), Some(of_other)) = (Self::quiet(one), Self::quiet(other)) else {
            return Self::plus_by_contents(one, other, entry, hint);
        };
        let in_other = of_one.is_fuller_than(of_other);
        let into = of_one.or(in_other, of_other);
        let has_vacancy = into.has_vacancy();
        has_vacancy.then(|| (in_other, into.put(entry).quiet_bits()))
    }

    #[inline(always)]
    fn minus_in_first(p: Bits, q: Bits, entry: Entry, _hint: Hint) -> Minus {
        let (Some(p), Some(q)) = (Self::quiet(p), Self::quiet(q)) else {
            return Minus::Marked;
        };
        let (found_in_p, found_in_q) = (p.unmarked_matches(entry), q.unmarked_matches(entry));
        if found_in_p | found_in_q == 0 {
            return Minus::Nothing;
        }
        let in_p = found_in_p != 0;
        let found = select_unpredictable(in_p, found_in_p, found_in_q);
        let from = q.or(in_p, p);
        let new = from.taken(found & found.wrapping_neg()).quiet_bits();
        Minus::Taken { in_p, new }
    }
}

impl<L: SemiSorted> Contents<L> {
    /// This one, or if `is_other` the other one. Both are quiet.
    #[inline(always)]
    fn or(self, is_other: bool, other: Self) -> Self {
        Self {
            raws: select_unpredictable(is_other, other.raws, self.raws),
            prefixes: select_unpredictable(is_other, other.prefixes, self.prefixes),
            set: select_unpredictable(is_other, other.set, self.set),
            ..Self::EMPTY
        }
    }
}

/// True if either word holds `fingerprint`; `None` if one of them is not quiet.
#[inline(always)]
fn either_holds<L: SemiSorted>(p: u64, q: u64, fingerprint: Fingerprint) -> Option<bool> {
    let (of_p, of_q) = (quiet_prefixes::<L>(p)?, quiet_prefixes::<L>(q)?);
    #[cfg(target_feature = "sse2")]
    if L::RAW_BITS == 8 {
        return Some(either_matches_in_vector::<L>(
            [p, q],
            [of_p, of_q],
            fingerprint,
        ));
    }
    let (raw, prefix) = Contents::<L>::parts(Entry::untagged(fingerprint));
    let (raw, prefix) = (raw * L::ONES, prefix * L::ONES);
    // As for packed words: exact for the lowest lane that is 0. What is above the lanes borrows
    // from none of them.
    let zero = |bits: u64| bits.wrapping_sub(L::ONES) & !bits;
    let (p, q) = ((p ^ raw) | (of_p ^ prefix), (q ^ raw) | (of_q ^ prefix));
    Some((zero(p) | zero(q)) & L::TOPS != 0)
}

/// The comparison for lanes of 8 bits: one of bytes for the raw bits of both words, and one for the
/// prefixes.
#[cfg(target_feature = "sse2")]
#[inline(always)]
fn either_matches_in_vector<L: SemiSorted>(
    words: [u64; 2],
    of: [u64; 2],
    fingerprint: Fingerprint,
) -> bool {
    let both = |[p, q]: [u64; 2]| set_i64_m128i(q as i64, p as i64);
    let raw = set_splat_i8_m128i(fingerprint.bits() as i8);
    let prefix = set_splat_i8_m128i((fingerprint.bits() >> 8) as i8);
    let same_raw = cmp_eq_mask_i8_m128i(both(words), raw);
    let same_prefix = cmp_eq_mask_i8_m128i(both(of), prefix);
    // Above the lanes there is the head.
    let lanes = (1 << L::SLOTS) - 1;
    let found = move_mask_i8_m128i(bitand_m128i(same_raw, same_prefix));
    found & (lanes | lanes << 8) != 0
}

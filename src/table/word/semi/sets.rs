//! Multisets of prefixes, and their numbers in the order of a dictionary.

use crate::table::word::lanes::MAX_SLOTS;

/// The most prefixes that there are.
pub(super) const ROW: usize = 32;

/// The multisets of `size` numbers below `below`.
pub(super) const fn multisets(below: u64, size: usize) -> u64 {
    let (mut sets, mut number) = (1, 0);
    while number < size as u64 {
        sets = sets * (below + number) / (number + 1);
        number += 1;
    }
    sets
}

/// What each prefix adds to the number of its set, by the slot in which it stands.
///
/// In the combinatorial number system (Knuth, *The Art of Computer Programming* 4A, §7.2.1.3) a
/// number is a sum of binomials. Those sums count the sets from the last one: a prefix adds the
/// multisets of as many larger prefixes as there are slots from its own on. Counted from the first
/// set it adds what is missing from that for the prefix 0.
pub(super) const fn ranks(slots: usize, prefixes: u64) -> [[u32; ROW]; MAX_SLOTS] {
    let mut ranks = [[0; ROW]; MAX_SLOTS];
    let mut slot = 0;
    while slot < slots {
        let (mut prefix, left) = (0, slots - slot);
        while prefix < prefixes {
            let larger = prefixes - 1 - prefix;
            let missing = multisets(prefixes - 1, left) - multisets(larger, left);
            ranks[slot][prefix as usize] = missing as u32;
            prefix += 1;
        }
        slot += 1;
    }
    ranks
}

/// The sets of `slots` prefixes in their order, each with its smallest prefix in the lowest lane.
pub(crate) const fn prefixes_of_heads<const SETS: usize>(
    slots: usize,
    raw_bits: u32,
    prefixes: u64,
) -> [u64; SETS] {
    let mut all = [0; SETS];
    let mut set = [0; MAX_SLOTS];
    let mut number = 0;
    while number < SETS {
        let (mut lanes, mut slot) = (0, slots);
        while slot > 0 {
            slot -= 1;
            lanes = lanes << raw_bits | set[slot];
        }
        all[number] = lanes;
        number += 1;
        // The next set: the last prefix that can be larger is, and none after it is smaller.
        let mut slot = slots;
        while slot > 0 && set[slot - 1] == prefixes - 1 {
            slot -= 1;
        }
        assert!((slot == 0) == (number == SETS), "the number of sets");
        if slot > 0 {
            let next = set[slot - 1] + 1;
            while slot <= slots {
                set[slot - 1] = next;
                slot += 1;
            }
        }
    }
    all
}

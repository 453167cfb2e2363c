//! A set of words by their places, on the stack.

use super::MAX_NODES;
use arrayvec::ArrayVec;

/// Half of the table is in use at most.
const TABLE: usize = (2 * MAX_NODES).next_power_of_two();

/// A hash table with linear probing. As long as it is empty it costs nothing.
#[derive(Default)]
pub(super) struct Places {
    places: ArrayVec<usize, MAX_NODES>,
    /// Indices of `places` and one, or 0; nothing as long as there are none.
    table: ArrayVec<u16, TABLE>,
}

impl Places {
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.table.clear();
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// False if it is in already. The first `MAX_NODES` fit.
    #[inline(always)]
    pub(super) fn insert(&mut self, place: usize) -> bool {
        if self.table.is_empty() {
            let zeros: &[u16] = &[0; TABLE];
            let fits = self.table.try_extend_from_slice(zeros);
            debug_assert!(fits.is_ok());
        }
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let hash = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (hash >> (u64::BITS - TABLE.ilog2())) as usize;
        while let Some(index) = usize::from(self.table[slot]).checked_sub(1) {
            if self.places[index] == place {
                return false;
            }
            slot = (slot + 1) % TABLE;
        }
        self.places.push(place);
        self.table[slot] = self.places.len() as u16;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_in_once() {
        let mut places = Places::default();
        for round in 0..2 {
            assert!(places.is_empty(), "{round}");
            let all = (0..MAX_NODES).map(|place| place.wrapping_mul(8).wrapping_sub(8 * round));
            for place in all.clone() {
                assert!(places.insert(place), "{place:#x}");
                assert!(!places.insert(place), "{place:#x}");
            }
            assert!(!all.into_iter().any(|place| places.insert(place)));
            places.clear();
        }
    }

    /// One slot after the other is taken, round the end of the table.
    #[test]
    fn places_of_one_hash() {
        let mut places = Places::default();
        let last = (1_usize..).filter(|&place| {
            let hash = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (hash >> (u64::BITS - TABLE.ilog2())) as usize == TABLE - 1
        });
        let last: Vec<usize> = last.take(50).collect();
        assert!(last.iter().all(|&place| places.insert(place)));
        assert!(!last.iter().any(|&place| places.insert(place)));
        assert!(places.table[0] != 0 && places.table[TABLE - 1] != 0);
    }
}

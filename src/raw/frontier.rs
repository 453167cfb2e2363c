//! Where scans are: relocations must not carry a fingerprint past them.
//!
//! | promise | a copy that is in the filter throughout a scan is in the scan |
//! |---|---|
//! | how | DESIGN, section 8, "The frontier" |
//! | why | PROOF, section 10 (L7) |
//! | checked by | snapshot, clear, merge, growth_snapshot |
//! | break it | `cargo xtask break FrontierIgnored` |
//!
//! Snapshots, merges, digests and clears scan a filter; all that is said of snapshots here holds
//! for the others, too. A snapshot scans the buckets chunk by chunk. A move within the part already
//! scanned, or within the part still to come, is harmless. A move from one part to the other could
//! slip past the scan or be seen twice. So a mover that has set its outline looks at the frontiers,
//! and gives the move up if one of them is between its buckets. No thread waits, and a scan leaves
//! no trace.
//!
//! Either the mover sees that the scan has entered the chunk of the outline, or the scan sees the
//! outline. Each first writes, then has a SeqCst fence, and then reads what the other has written
//! (Dekker's pattern).

use crate::{
    fault,
    step::Step,
    sync::{self, AtomicU32, Ordering, fence_after_exchange, full_fence},
};

/// Buckets that a snapshot scans at a time, for a filter that doubles `levels`
/// times: some 4 KiB of each plane, and less where there are many planes. In a model
/// so few that there are several chunks.
pub(crate) const fn chunk_buckets(levels: u32) -> usize {
    if cfg!(guira_loom) {
        return 1;
    }
    if cfg!(guira_shuttle) {
        return 2;
    }
    match 512_usize.checked_shr(levels) {
        Some(buckets) if buckets > 8 => buckets,
        _ => 8,
    }
}

/// Snapshots that can run at once without stopping relocations altogether: with
/// the number of the others, half a cache line of them.
const PLACES: usize = if sync::IN_MODEL { 1 } else { 7 };

/// The places of all snapshots that run.
pub(crate) struct Frontiers {
    chunk_buckets: u32,
    /// 0: no snapshot. 1: a snapshot that has not begun to scan. 2c + 2: one that scans chunk c
    /// now. 2c + 3: one that has scanned chunk c and not entered the next. There are at most 2^29
    /// chunks, as the buckets of a plane are at most 2^32.
    places: [AtomicU32; PLACES],
    /// Snapshots that found no place in `places`.
    others: AtomicU32,
    /// In a model without snapshots: each look would only multiply its interleavings.
    #[cfg(guira_loom)]
    pub(crate) unused: bool,
}

impl Frontiers {
    pub(crate) fn new(chunk_buckets: usize) -> Self {
        let places = std::array::from_fn(|_| AtomicU32::new(0));
        Self {
            chunk_buckets: chunk_buckets as u32,
            places,
            others: AtomicU32::new(0),
            #[cfg(guira_loom)]
            unused: false,
        }
    }

    /// Buckets that a snapshot scans at a time.
    pub(crate) fn chunk_buckets(&self) -> usize {
        self.chunk_buckets as usize
    }

    /// True if no snapshot is between the two buckets, or at one of them. Call it after the outline
    /// is set in one of them.
    pub(crate) fn may_cross(&self, from: usize, to: usize) -> bool {
        #[cfg(guira_loom)]
        if self.unused {
            return true;
        }
        // Pairs with the fence of `enter`. If our fence comes first, the scan sees the outline;
        // if that one does, we see where the scan is (PROOF, L7).
        fence_after_exchange();
        self.may_cross_hint(from, to)
    }

    /// [`may_cross`](Self::may_cross) for a search: without being sure.
    pub(crate) fn may_cross_hint(&self, from: usize, to: usize) -> bool {
        #[cfg(guira_loom)]
        if self.unused {
            return true;
        }
        // Relaxed: the fences order it.
        self.others.load(Ordering::Relaxed) == 0
            && self
                .places
                .iter()
                // Relaxed: as above.
                .all(|place| match place.load(Ordering::Relaxed) {
                    0 => true,
                    place => {
                        let side = |bucket: usize| {
                            let chunk = (bucket / self.chunk_buckets as usize) as u32;
                            (2 * chunk + 2).cmp(&place)
                        };
                        side(from).is_ne() && side(from) == side(to)
                    }
                })
    }

    /// True if no snapshot runs, as far as can be seen.
    pub(crate) fn are_idle(&self) -> bool {
        #[cfg(guira_loom)]
        if self.unused {
            return true;
        }
        // Relaxed: a hint.
        let none = |place: &AtomicU32| place.load(Ordering::Relaxed) == 0;
        none(&self.others) && self.places.iter().all(none)
    }

    /// Registers a snapshot, until the result is dropped.
    pub(crate) fn register(&self) -> Frontier<'_> {
        let free = |place: &&AtomicU32| {
            // Relaxed: `enter` orders it.
            place
                .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        let place = self.places.iter().find(free);
        if place.is_none() {
            // Relaxed: as above.
            self.others.fetch_add(1, Ordering::Relaxed);
        }
        Frontier { all: self, place }
    }
}

/// The place of one snapshot.
pub(crate) struct Frontier<'a> {
    all: &'a Frontiers,
    place: Option<&'a AtomicU32>,
}

impl Frontier<'_> {
    /// The scan enters this chunk.
    pub(crate) fn enter(&self, chunk: usize) {
        self.set(2 * chunk as u32 + 2);
        // Pairs with the fence of `may_cross`.
        full_fence();
    }

    /// The scan has loaded all words of this chunk. A writer that is slow to take
    /// them holds up no move on either side.
    pub(crate) fn leave(&self, chunk: usize) {
        self.set(2 * chunk as u32 + 3);
    }

    fn set(&self, to: u32) {
        if let Some(place) = self.place {
            // Release: a mover that sees chunks as scanned may move in them: what
            // was read of them was read before.
            place.store(to, fault::order(Step::Enter, Ordering::Release));
        }
    }
}

impl Drop for Frontier<'_> {
    fn drop(&mut self) {
        // Release: as in `set`, for all chunks.
        match self.place {
            Some(place) => place.store(0, Ordering::Release),
            None => {
                self.all.others.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    /// The buckets of 16 to which a move from `from` may go.
    fn permitted(frontiers: &Frontiers, from: usize) -> Range<usize> {
        let to: Vec<usize> = (0..16)
            .filter(|&to| frontiers.may_cross(from, to))
            .collect();
        let seeming = (0..16).filter(|&to| frontiers.may_cross_hint(from, to));
        assert!(seeming.eq(to.iter().copied()));
        let (Some(first), Some(last)) = (to.first(), to.last()) else {
            return 0..0;
        };
        assert_eq!(to.len(), last - first + 1, "one side");
        *first..last + 1
    }

    #[test]
    fn a_move_stays_on_its_side_of_a_snapshot() {
        let frontiers = Frontiers::new(4);
        assert_eq!(frontiers.chunk_buckets(), 4);
        for _ in 0..2 {
            assert!(frontiers.are_idle());
            assert_eq!(permitted(&frontiers, 5), 0..16);
            let frontier = frontiers.register();
            assert!(!frontiers.are_idle());
            // All is still to come.
            assert_eq!(permitted(&frontiers, 5), 0..16);
            for chunk in 0..4 {
                let (start, end) = (4 * chunk, 4 * chunk + 4);
                frontier.enter(chunk);
                for from in 0..16 {
                    let side = match from {
                        _ if from < start => 0..start,
                        _ if from < end => 0..0,
                        _ => end..16,
                    };
                    assert_eq!(permitted(&frontiers, from), side, "{from} at {chunk}");
                }
                frontier.leave(chunk);
                for from in 0..16 {
                    let side = if from < end { 0..end } else { end..16 };
                    assert_eq!(permitted(&frontiers, from), side, "{from} after {chunk}");
                }
            }
        }
    }

    #[test]
    fn beside_more_snapshots_than_places_nothing_moves() {
        let frontiers = Frontiers::new(4);
        let mut running: Vec<_> = (0..PLACES).map(|_| frontiers.register()).collect();
        assert_eq!(permitted(&frontiers, 5), 0..16);
        running.push(frontiers.register());
        assert_eq!(permitted(&frontiers, 5), 0..0);
        running.drain(..PLACES);
        assert!(!frontiers.are_idle());
        assert_eq!(permitted(&frontiers, 5), 0..0);
        running.clear();
        assert!(frontiers.are_idle());
        assert_eq!(permitted(&frontiers, 5), 0..16);
    }

    #[test]
    fn chunks_are_smaller_where_there_are_more_planes() {
        let sizes = [0, 1, 5, 6, 7, 31, 70].map(chunk_buckets);
        assert_eq!(sizes, [512, 256, 16, 8, 8, 8, 8]);
    }
}

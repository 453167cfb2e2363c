//! Where scans are: relocations must not carry a fingerprint past them.
//!
//! | promise | a copy that is in the filter throughout a scan is in the scan |
//! |---|---|
//! | how | DESIGN, section 8, "The frontier" |
//! | why | PROOF, section 10 (L7) |
//! | checked by | snapshot, clear, merge, growth_snapshot, help |
//! | break it | `cargo xtask break FrontierIgnored` |
//!
//! Snapshots, merges, digests and clears scan a filter, chunk by chunk of its buckets. A move within
//! the part already scanned, or within the part still to come, is harmless. A move from one part to
//! the other could slip past the scan or be seen twice. So a mover that has set its outline looks at
//! the frontiers, and gives the move up if one of them is between its buckets. An insert that finds
//! no other path scans further chunks for the scan, until its path lies on one side. No thread waits.
//!
//! Either the mover sees that a thread has entered the chunk of the outline, or that thread sees the
//! outline. Each first writes, then has a SeqCst fence, and then reads what the other has written
//! (Dekker's pattern).

pub(crate) mod memory;
mod pass;
mod registry;
pub(crate) mod scan;

use super::crew::places::{Place, PlacesAtHand};
use crate::{
    fault::faulty,
    sync::{Ordering, SmallCounter, fence_after_exchange, once::NoMemory},
};
use pass::Pass;
use registry::{Found, Registry};
use std::sync::Arc;

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

/// The frontiers of all scans that run.
pub(crate) struct Frontiers {
    chunk_buckets: u32,
    /// The number of scans that run. It is above 0 before a scan is in `scans`, and until it is not.
    running: SmallCounter,
    /// The first pass of each scan.
    scans: Registry,
    /// In a model without snapshots: each look would only multiply its interleavings.
    #[cfg(guira_loom)]
    pub(crate) unused: bool,
}

impl Frontiers {
    pub(crate) fn new(chunk_buckets: usize) -> Self {
        Self {
            chunk_buckets: chunk_buckets as u32,
            running: SmallCounter::new(0),
            scans: Registry::default(),
            #[cfg(guira_loom)]
            unused: false,
        }
    }

    #[cfg(guira_faults)]
    pub(crate) fn field(&self) -> crate::coherence::Field {
        crate::coherence::Field::of("frontiers.running", &self.running)
    }

    /// Buckets that a snapshot scans at a time.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn chunk_buckets(&self) -> usize {
        self.chunk_buckets as usize
    }

    /// True if no scan is between the two buckets, or at one of them. Call it after the outline is
    /// set in one of them. Only a filter that processes share has `places`.
    #[inline(always)]
    pub(crate) fn may_cross(
        &self,
        places: Option<PlacesAtHand<'_>>,
        from: usize,
        to: usize,
    ) -> bool {
        #[cfg(guira_loom)]
        if self.unused {
            return true;
        }
        // Pairs with the fence of `Pass::enter`. If our fence comes first, the scan sees the
        // outline; if that one does, we see where the scan is (PROOF, L7).
        fence_after_exchange();
        self.are_idle(places) || self.permit(places, from, to)
    }

    /// True if the scans that run permit a move between the two buckets.
    #[cold]
    #[inline(never)]
    fn permit(&self, places: Option<PlacesAtHand<'_>>, from: usize, to: usize) -> bool {
        self.look(places).permits(from, to)
    }

    /// True if no scan runs, as far as can be seen.
    #[inline]
    pub(crate) fn are_idle(&self, places: Option<PlacesAtHand<'_>>) -> bool {
        #[cfg(guira_loom)]
        if self.unused {
            return true;
        }
        // Relaxed: a hint; in `may_cross` the fences order it.
        self.running.load(Ordering::Relaxed) == 0 && places.is_none_or(PlacesAtHand::are_idle)
    }

    /// The scans that run, as far as can be seen.
    pub(crate) fn look<'a>(&self, places: Option<PlacesAtHand<'a>>) -> Look<'a> {
        Look {
            found: self.scans.load(),
            places,
            chunk_buckets: self.chunk_buckets,
        }
    }

    /// A thread enters a chunk for the scans that run, and stops there.
    #[cfg(test)]
    pub(crate) fn stop_in(&self, chunk: usize) {
        for pass in self.look(None).passes() {
            pass.last().enter(chunk);
        }
    }

    /// Registers a scan, until the result is dropped.
    pub(crate) fn register(
        &self,
        buckets: usize,
        level: Option<u32>,
        place: Option<Place>,
    ) -> Result<Registered<'_>, NoMemory> {
        let first = self.add(buckets, level, place)?;
        Ok(Registered { all: self, first })
    }

    /// Adds the first pass of a scan to the list of running scans.
    fn add(
        &self,
        buckets: usize,
        level: Option<u32>,
        place: Option<Place>,
    ) -> Result<Arc<Pass>, NoMemory> {
        let pass = Pass::new(buckets, self.chunk_buckets as usize, level);
        let mut pass = pass.inspect_err(|_| place.iter().for_each(Place::end))?;
        pass.place = place;
        let first = Arc::new(pass);
        // Relaxed: a thread that finds the pass has acquired it, and this increment with it.
        self.running.fetch_add(1, Ordering::Relaxed);
        let with_this = |list: &[Arc<Pass>]| [list, std::slice::from_ref(&first)].concat();
        self.scans.update(with_this);
        Ok(first)
    }

    /// Registers a scan whose thread stops before its first chunk.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn register_stopped(
        &self,
        buckets: usize,
        level: Option<u32>,
        place: Option<Place>,
    ) {
        self.add(buckets, level, place).expect("memory");
    }

    /// The scan whose thread has stopped.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn stopped(&self) -> Registered<'_> {
        let found = self.scans.load();
        let first = found.as_ref().and_then(|list| list.first());
        let first = first.expect("a scan").clone();
        Registered { all: self, first }
    }
}

/// The scans that a thread has found.
pub(crate) struct Look<'a> {
    found: Found,
    places: Option<PlacesAtHand<'a>>,
    chunk_buckets: u32,
}

impl Look<'_> {
    fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.found
            .iter()
            .flat_map(|list| list.iter())
            .map(|pass| &**pass)
    }

    /// [`Frontiers::may_cross`]; without a fence before it a hint.
    pub(crate) fn permits(&self, from: usize, to: usize) -> bool {
        self.passes().all(|pass| pass.permits(from, to)) && self.places_permit(from, to)
    }

    /// True if no scan of any process is between the two buckets, or at one of them.
    fn places_permit(&self, from: usize, to: usize) -> bool {
        let chunk = |bucket| bucket / self.chunk_buckets as usize;
        let permit = |places: PlacesAtHand<'_>| places.permit(chunk(from), chunk(to));
        faulty!(self.places.is_none_or(permit), PlacesIgnored => true)
    }
}

/// A scan that runs.
pub(crate) struct Registered<'a> {
    all: &'a Frontiers,
    first: Arc<Pass>,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let is_other = |pass: &&Arc<Pass>| !Arc::ptr_eq(pass, &self.first);
        let without_this = |list: &[Arc<Pass>]| list.iter().filter(is_other).cloned().collect();
        self.all.scans.update(without_this);
        // Release: a mover that sees no scan may move anywhere: what this one read was read before.
        self.all.running.fetch_sub(1, Ordering::Release);
        if let Some(place) = &self.first.place {
            place.end();
        }
    }
}

#[cfg(test)]
mod tests;

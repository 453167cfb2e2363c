//! Where snapshots are: relocations must not carry a fingerprint past them.
//!
//! A snapshot scans the buckets chunk by chunk. A move within the part already
//! scanned, or within the part still to come, does no harm; one from here to
//! there could slip past the scan or be seen twice. So a mover, once its outline
//! stands, looks at the frontiers and gives up a move that one of them parts.
//! Nobody waits, and nothing is kept of it.
//!
//! Either the mover sees that the scan has entered the chunk of the outline, or
//! the scan sees the outline: each first writes, then has a SeqCst fence, then
//! reads what the other has written (Dekker's pattern).

use crate::{
    fault::{self, Event, Fault},
    sync::{AtomicU64, Ordering, fence},
};

/// Buckets that a snapshot scans at a time, for a filter that doubles `levels`
/// times: some 4 KiB of each plane, and less where there are many planes.
pub(crate) const fn chunk_buckets(levels: u32) -> usize {
    if cfg!(loom) {
        return 1;
    }
    match 512_usize.checked_shr(levels) {
        Some(buckets) if buckets > 8 => buckets,
        _ => 8,
    }
}

/// Snapshots that can run at once without stopping relocations altogether.
const SLOTS: usize = if cfg!(loom) { 1 } else { 3 };

/// The places of all snapshots that run.
pub(crate) struct Frontiers {
    chunk_buckets: usize,
    /// 0: no snapshot; c + 1: one that scans chunk c now.
    chunks: [AtomicU64; SLOTS],
    /// Snapshots that found no place in `chunks`.
    others: AtomicU64,
}

impl Frontiers {
    pub(crate) fn new(chunk_buckets: usize) -> Self {
        let chunks = std::array::from_fn(|_| AtomicU64::new(0));
        Self {
            chunk_buckets,
            chunks,
            others: AtomicU64::new(0),
        }
    }

    /// Buckets that a snapshot scans at a time.
    pub(crate) fn chunk_buckets(&self) -> usize {
        self.chunk_buckets
    }

    /// True if no snapshot is between the two buckets, or at one of them. To be
    /// asked after the outline stands in one of them.
    pub(crate) fn permit(&self, from: usize, to: usize) -> bool {
        if !fault::is(Fault::NoFence) {
            fence(Ordering::SeqCst);
        }
        fault::is(Fault::FrontierIgnored) || self.seem_to_permit(from, to)
    }

    /// [`permit`](Self::permit) for a search: without being sure.
    pub(crate) fn seem_to_permit(&self, from: usize, to: usize) -> bool {
        // Relaxed: the fences order it.
        self.others.load(Ordering::Relaxed) == 0
            && self
                .chunks
                .iter()
                .all(|chunk| match chunk.load(Ordering::Relaxed) {
                    0 => true,
                    chunk => {
                        let side = |bucket: usize| {
                            (bucket / self.chunk_buckets + 1).cmp(&(chunk as usize))
                        };
                        side(from).is_ne() && side(from) == side(to)
                    }
                })
    }

    /// Registers a snapshot, until the result is dropped.
    pub(crate) fn begin(&self) -> Frontier<'_> {
        let free = |chunk: &&AtomicU64| {
            // Relaxed: `enter` orders it.
            chunk
                .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        let chunk = self.chunks.iter().find(free);
        if chunk.is_none() {
            self.others.fetch_add(1, Ordering::Relaxed);
        }
        Frontier { all: self, chunk }
    }
}

/// The place of one snapshot.
pub(crate) struct Frontier<'a> {
    all: &'a Frontiers,
    chunk: Option<&'a AtomicU64>,
}

impl Frontier<'_> {
    /// The scan goes on to this chunk.
    pub(crate) fn enter(&self, chunk: usize) {
        if let Some(place) = self.chunk {
            // Release: a mover that sees the chunks before this one as scanned
            // may move in them: what was read of them was read before.
            place.store(
                chunk as u64 + 1,
                fault::order(Event::Enter, Ordering::Release),
            );
        }
        if !fault::is(Fault::NoFence) {
            fence(Ordering::SeqCst);
        }
    }
}

impl Drop for Frontier<'_> {
    fn drop(&mut self) {
        // Release: as in `enter`, for all chunks.
        match self.chunk {
            Some(place) => place.store(0, Ordering::Release),
            None => {
                self.all.others.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

//! What a filter needs for its next level: allocated and published once, by the first thread.

use super::planes::Planes;
use crate::sync::{self, AtomicU64};
use crossbeam_utils::CachePadded;

/// What a filter needs to go to level k; published when it does.
#[repr(C)]
pub(crate) struct Segment {
    /// The planes from 2^(k - 1) to 2^k - 1. At the front, so that a lookup finds them
    /// without an addition.
    pub(super) planes: Planes,
    /// The split pointer (Litwin, *Linear Hashing*, VLDB 1980): how many words of the planes
    /// before them are split for sure, the first ones.
    pub(super) split_pointer: CachePadded<AtomicU64>,
}

impl Segment {
    pub(super) fn new(words: usize) -> Option<Self> {
        Some(Self {
            planes: Planes::doubling(sync::zeroed(words)?),
            split_pointer: CachePadded::new(AtomicU64::new(0)),
        })
    }
}

/// A segment that is published once, by the first thread; the others use that one. No thread waits.
pub(super) struct OnceSegment {
    /// An array of one, because a box of an array can be made of a vector, whose
    /// allocation may fail.
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    segment: once_cell::race::OnceBox<[Segment; 1]>,
    #[cfg(any(guira_loom, guira_shuttle))]
    published: AtomicU64,
    #[cfg(any(guira_loom, guira_shuttle))]
    segment: Segment,
}

#[cfg(not(any(guira_loom, guira_shuttle)))]
impl OnceSegment {
    /// One that has not been published, of any size.
    pub(super) fn new(_words: usize) -> Self {
        Self {
            segment: once_cell::race::OnceBox::new(),
        }
    }

    /// The segment, if it is published. Acquire: its words are seen zeroed.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&Segment> {
        self.segment.get().map(|[segment]| segment)
    }

    /// The segment, published now if it was not; `None` if there is no memory.
    pub(super) fn publish(&self, words: usize) -> Option<&Segment> {
        if self.get().is_none()
            && let Some(segment) = Self::allocate(words)
        {
            // An error says that another thread was first: its segment counts.
            let _ = self.segment.set(segment);
        }
        // Also if there was no memory: another thread may have had it.
        self.get()
    }

    fn allocate(words: usize) -> Option<Box<[Segment; 1]>> {
        let mut segment = Vec::new();
        segment.try_reserve_exact(1).ok()?;
        segment.push(Segment::new(words)?);
        segment.try_into().ok()
    }
}

#[cfg(any(guira_loom, guira_shuttle))]
impl OnceSegment {
    pub(super) fn new(words: usize) -> Self {
        Self {
            published: AtomicU64::new(0),
            segment: Segment::new(words).expect("a few bytes"),
        }
    }

    pub(super) fn get(&self) -> Option<&Segment> {
        // What is never published need not be looked at: that would be a step more.
        let published = !self.segment.planes.words.is_empty()
            && self.published.load(sync::Ordering::Acquire) == 1;
        published.then_some(&self.segment)
    }

    pub(super) fn publish(&self, words: usize) -> Option<&Segment> {
        if crate::fault::memory_is_refused() {
            return self.get();
        }
        debug_assert!(words > 0 && words == self.segment.planes.words.len());
        // AcqRel: stands for what `once_cell` does; Release pairs with the load of `get`.
        self.published.fetch_max(1, sync::Ordering::AcqRel);
        Some(&self.segment)
    }
}

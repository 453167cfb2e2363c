//! The memory for a filter's next level, which the first thread that has allocated it publishes.

use super::planes::Planes;
use crate::sync::{self, AtomicU64};
use crossbeam_utils::CachePadded;

/// The memory that a filter needs for level k; published when the level begins.
#[repr(C)]
pub(crate) struct Segment {
    /// The planes from 2^(k - 1) to 2^k - 1. The first field, so that a lookup finds them without an
    /// addition.
    pub(super) planes: Planes,
    /// The split pointer (Litwin, *Linear Hashing*, VLDB 1980): a lower bound of the number of leading
    /// words, of all earlier planes, that are split.
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

/// A segment that is published once, by the first thread; the others use that segment. No thread waits.
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
    /// A segment that has not been published, of any size.
    pub(super) fn new(_words: usize) -> Self {
        Self {
            segment: once_cell::race::OnceBox::new(),
        }
    }

    /// The segment, if it is published. Acquire: its words are observed zeroed.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&Segment> {
        self.segment.get().map(|[segment]| segment)
    }

    /// The segment, which is published if necessary; `None` if there is no memory.
    pub(super) fn publish(&self, words: usize) -> Option<&Segment> {
        if self.get().is_none()
            && let Some(segment) = Self::allocate(words)
        {
            // An error says that another thread was first: its segment counts.
            let _ = self.segment.set(segment);
        }
        // Even without memory here, another thread may have published a segment.
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
        // A segment that is never published need not be checked, which would be another step.
        let published = !self.segment.planes.words.is_empty()
            && self.published.load(sync::Ordering::Acquire) == 1;
        published.then_some(&self.segment)
    }

    pub(super) fn publish(&self, words: usize) -> Option<&Segment> {
        if crate::fault::memory_is_refused() {
            return self.get();
        }
        debug_assert!(words > 0 && words == self.segment.planes.words.len());
        // AcqRel, as in `once_cell`; Release pairs with the load of `get`.
        self.published.fetch_max(1, sync::Ordering::AcqRel);
        Some(&self.segment)
    }
}

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
    fn new(words: usize) -> Option<Self> {
        Some(Self {
            planes: Planes::doubling(sync::zeroed(words)?),
            split_pointer: CachePadded::new(AtomicU64::new(0)),
        })
    }
}

/// The segments of a filter, by the number of their level, counted from the first level. Number 0 is
/// never published, because plane 0 is not in a segment.
pub(super) struct Segments {
    /// A filter that has not grown has no list of segments, because there may be very many such
    /// filters.
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    list: once_cell::race::OnceBox<[OnceSegment; Self::MOST]>,
    #[cfg(any(guira_loom, guira_shuttle))]
    list: Box<[OnceSegment]>,
}

#[cfg(not(any(guira_loom, guira_shuttle)))]
impl Segments {
    /// More than any filter has levels.
    pub(super) const MOST: usize = 20;

    /// The segments of a filter that starts with `buckets` buckets and can double `more` times.
    pub(super) fn new(_buckets: usize, more: u32) -> Self {
        assert!((more as usize) < Self::MOST, "a filter of {more} doublings");
        Self {
            list: once_cell::race::OnceBox::new(),
        }
    }

    /// The segment with this number, if it is published. Acquire: the list and the words are observed
    /// as they were when they were published.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<&Segment> {
        self.list.get()?[number].get()
    }

    /// The segment with this number, which is published if necessary; `None` if there is no memory.
    pub(super) fn publish(&self, number: usize, words: usize) -> Option<&Segment> {
        if self.list.get().is_none()
            && let Some(list) = Self::allocate()
        {
            // An error says that another thread was first: its list counts.
            let _ = self.list.set(list);
        }
        // Even without memory here, another thread may have published a list.
        self.list.get()?[number].publish(words)
    }

    fn allocate() -> Option<Box<[OnceSegment; Self::MOST]>> {
        let mut list = Vec::new();
        list.try_reserve_exact(Self::MOST).ok()?;
        list.resize_with(Self::MOST, || OnceSegment::new(0));
        list.try_into().ok()
    }

    /// The list. Its first segment is never published.
    fn list(&self) -> &[OnceSegment] {
        self.list.get().map_or(&[], |list| list)
    }
}

#[cfg(any(guira_loom, guira_shuttle))]
impl Segments {
    pub(super) fn new(buckets: usize, more: u32) -> Self {
        let segments = (0..more).map(|level| OnceSegment::new(buckets << level));
        let none = (more > 0).then(|| OnceSegment::new(0));
        Self {
            list: none.into_iter().chain(segments).collect(),
        }
    }

    pub(super) fn get(&self, number: usize) -> Option<&Segment> {
        self.list.get(number)?.get()
    }

    pub(super) fn publish(&self, number: usize, words: usize) -> Option<&Segment> {
        self.list[number].publish(words)
    }

    fn list(&self) -> &[OnceSegment] {
        &self.list
    }
}

impl Segments {
    /// The segments that are published.
    pub(super) fn published(&self) -> impl Iterator<Item = &Segment> {
        self.list().iter().skip(1).map_while(OnceSegment::get)
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let of_segment =
            |segment: &Segment| size_of::<Segment>() + size_of_val(&*segment.planes.words);
        size_of_val(self.list()) + self.published().map(of_segment).sum::<usize>()
    }
}

/// A segment that is published once, by the first thread; the others use that segment. No thread waits.
struct OnceSegment {
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
    fn new(_words: usize) -> Self {
        Self {
            segment: once_cell::race::OnceBox::new(),
        }
    }

    /// The segment, if it is published. Acquire: its words are observed zeroed.
    #[inline(always)]
    fn get(&self) -> Option<&Segment> {
        self.segment.get().map(|[segment]| segment)
    }

    /// The segment, which is published if necessary; `None` if there is no memory.
    fn publish(&self, words: usize) -> Option<&Segment> {
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
    fn new(words: usize) -> Self {
        Self {
            published: AtomicU64::new(0),
            segment: Segment::new(words).expect("a few bytes"),
        }
    }

    fn get(&self) -> Option<&Segment> {
        // A segment that is never published need not be checked, which would be another step.
        let published = !self.segment.planes.words.is_empty()
            && self.published.load(sync::Ordering::Acquire) == 1;
        published.then_some(&self.segment)
    }

    fn publish(&self, words: usize) -> Option<&Segment> {
        if crate::fault::memory_is_refused() {
            return self.get();
        }
        debug_assert!(words > 0 && words == self.segment.planes.words.len());
        // AcqRel, as in `once_cell`; Release pairs with the load of `get`.
        self.published.fetch_max(1, sync::Ordering::AcqRel);
        Some(&self.segment)
    }
}

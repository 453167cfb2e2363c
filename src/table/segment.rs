//! The memory of each level: the planes that it adds, which the first thread that has allocated them
//! publishes.
//!
//! In a filter that processes share, all segments have their places from the start, and each process has
//! its own list of all of them. What is published there is how many of them are in use: see
//! [`shared`](super::shared).

use super::{parts::Parts, view::Planes};
use crate::{memory::Storage, sync::once::Once};

/// The memory that a filter needs for level k; published when the level begins. It is a cache line of
/// its own, because lookups read it.
#[repr(C, align(64))]
pub(crate) struct Segment<P: Storage> {
    /// The planes from 2^(k - 1) to 2^k - 1, or plane 0. The first field, so that a lookup finds them
    /// without an addition.
    pub(super) planes: Planes<P>,
    /// The words of all earlier planes, and which of them are split. `None` beside plane 0.
    pub(super) parts: Option<Parts<P>>,
}

impl<P: Storage> Segment<P> {
    fn first(words: P::Words) -> Self {
        Self {
            planes: Planes::first(words),
            parts: None,
        }
    }

    fn added(words: usize) -> Option<Self> {
        Some(Self::of(P::zeroed(words)?, Parts::new(words)?))
    }

    /// The segment of these planes; the earlier words are in these parts.
    pub(super) fn of(words: P::Words, parts: Parts<P>) -> Self {
        Self {
            planes: Planes::added(words),
            parts: Some(parts),
        }
    }
}

/// The segments of a filter, by the number of their level, counted from the first level. Number 0 is there
/// from the start, and has plane 0.
pub(super) struct Segments<P: Storage> {
    list: Box<[Once<Segment<P>>]>,
}

impl<P: Storage> Segments<P> {
    /// The segments of a filter that can double `more` times. `None` if there is no memory.
    pub(super) fn new(first: P::Words, more: u32) -> Option<Self> {
        let later = (0..more).map(|_| Some(Once::new()));
        Self::list(first, more, later)
    }

    /// Segments that processes share: plane 0, and those of `more` doublings.
    #[cfg(feature = "shared")]
    pub(super) fn shared(
        first: P::Words,
        more: u32,
        later: impl Iterator<Item = Option<Segment<P>>>,
    ) -> Option<Self> {
        Self::list(first, more, later.map(|segment| Once::with(segment?)))
    }

    fn list(
        first: P::Words,
        more: u32,
        later: impl Iterator<Item = Option<Once<Segment<P>>>>,
    ) -> Option<Self> {
        let mut list = Vec::new();
        list.try_reserve_exact(1 + more as usize).ok()?;
        list.push(Once::with(Segment::first(first))?);
        for segment in later {
            list.push(segment?);
        }
        Some(Self { list: list.into() })
    }

    /// The segment with this number, if it is published. Acquire: the words are observed as they were when
    /// they were published.
    ///
    /// If processes share the segments, it is there in any case.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<&Segment<P>> {
        self.list.get(number)?.get()
    }

    /// The planes of the segment with this number. The thread has seen that it is published, by the hint or
    /// by a word that was split. Acquire: as [`get`](Self::get).
    #[inline(always)]
    pub(super) fn planes(&self, number: usize) -> &Planes<P> {
        let segment = self.get(number);
        &segment
            .expect("a segment is published before a word of it is made")
            .planes
    }

    /// The segment with this number, which is published if necessary; `None` if there is no memory.
    pub(super) fn publish(&self, number: usize, words: usize) -> Option<&Segment<P>> {
        #[cfg(any(guira_loom, guira_shuttle))]
        if crate::fault::memory_is_refused() {
            return self.get(number);
        }
        let segment = self.list.get(number)?;
        segment.get_or_publish(|| Segment::added(words))
    }

    /// The segments that are published, in order.
    pub(super) fn published(&self) -> impl Iterator<Item = &Segment<P>> {
        self.list.iter().map_while(Once::get)
    }

    /// Gives back all segments but the first one.
    pub(super) fn shrink(&mut self) {
        self.list[1..].fill_with(Once::new);
    }

    /// The number of words of all segments that are published.
    pub(super) fn words(&self) -> usize {
        let words = |segment: &Segment<P>| segment.planes.words.len();
        self.published().map(words).sum()
    }

    /// Bytes on the heap, without those of the words.
    pub(super) fn bytes(&self) -> usize {
        let of_segment = |segment: &Segment<P>| {
            size_of_val(segment) + segment.parts.as_ref().map_or(0, Parts::bytes)
        };
        size_of_val(&*self.list) + self.published().map(of_segment).sum::<usize>()
    }

    /// The [`bytes`](Self::bytes) of a filter with planes of `buckets` buckets that can double `more` times,
    /// and has doubled so often.
    pub(super) fn bytes_for(buckets: usize, more: u32, doublings: u32) -> usize {
        let list = (1 + more as usize) * size_of::<Once<Segment<P>>>();
        let segments = (1 + doublings as usize) * size_of::<Segment<P>>();
        let parts = (0..doublings).map(|number| Parts::<P>::bytes_for(buckets << number));
        list + segments + parts.sum::<usize>()
    }
}

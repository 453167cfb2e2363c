//! The memory for a filter's next level, which the first thread that has allocated it publishes.

use super::{parts::Parts, planes::Planes, word::lanes::LEVELS};
use crate::{
    memory::Storage,
    sync::{self, once::Once},
};
use std::array;

/// The memory that a filter needs for level k; published when the level begins. It is a cache line of
/// its own, because lookups read it.
#[repr(C, align(64))]
pub(crate) struct Segment<P: Storage> {
    /// The planes from 2^(k - 1) to 2^k - 1. The first field, so that a lookup finds them without an
    /// addition.
    pub(super) planes: Planes<P>,
    /// The words of all earlier planes, and which of them are split.
    pub(super) parts: Parts,
}

impl<P: Storage> Segment<P> {
    fn new(words: usize) -> Option<Self> {
        Some(Self {
            planes: Planes::new(P::zeroed(words)?),
            parts: Parts::new(words)?,
        })
    }
}

/// The segments of a filter, by the number of their level, counted from the first level. Number 0 is
/// never published, because plane 0 is not in a segment.
///
/// A filter that has not grown has no list of segments, because there may be very many such filters.
pub(super) struct Segments<P: Storage>(Once<List<P>>);

/// The number of levels, which is more than the doublings of any filter.
pub(super) const MOST: usize = if sync::IN_MODEL { 6 } else { LEVELS };

type List<P> = [Once<Segment<P>>; MOST];

impl<P: Storage> Segments<P> {
    pub(super) fn new() -> Self {
        // In most models the list is there from the start, so that no step looks for it.
        #[cfg(any(guira_loom, guira_shuttle))]
        if !crate::fault::list_is_late() {
            return Self(Once::with(Self::list()));
        }
        Self(Once::new())
    }

    fn list() -> List<P> {
        array::from_fn(|_| Once::new())
    }

    /// The segment with this number, if it is published. Acquire: the list and the words are observed
    /// as they were when they were published.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<&Segment<P>> {
        // The look would be a step of a model, though it finds nothing.
        if sync::IN_MODEL && number == 0 {
            return None;
        }
        self.0.get()?[number].get()
    }

    /// The segment with this number, which is published if necessary; `None` if there is no memory.
    pub(super) fn publish(&self, number: usize, words: usize) -> Option<&Segment<P>> {
        #[cfg(any(guira_loom, guira_shuttle))]
        if crate::fault::memory_is_refused() {
            return self.get(number);
        }
        let list = self.0.get_or_publish(|| Some(Self::list()))?;
        list[number].get_or_publish(|| Segment::new(words))
    }

    /// The segments that are published.
    pub(super) fn published(&self) -> impl Iterator<Item = &Segment<P>> {
        let list = self.0.get().into_iter().flatten();
        list.skip(1).map_while(Once::get)
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let of_segment = |segment: &Segment<P>| {
            let words = size_of_val(&*segment.planes.words);
            size_of::<Segment<P>>() + words + segment.parts.bytes()
        };
        self.0.get().map_or(0, size_of_val) + self.published().map(of_segment).sum::<usize>()
    }
}

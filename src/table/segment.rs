//! The memory for a filter's next level, which the first thread that has allocated it publishes.
//!
//! In a filter that processes share, all segments have their places from the start, and each process has
//! its own list of all of them. What is published there is how many of them are in use: see
//! [`shared`](super::shared).

use super::{parts::Parts, planes::Planes, word::lanes::LEVELS};
use crate::{
    memory::{Extra, Storage},
    sync::{self, AtomicU64, once::Once},
};
use arrayvec::ArrayVec;
use std::array;

/// The memory that a filter needs for level k; published when the level begins. It is a cache line of
/// its own, because lookups read it.
#[repr(C, align(64))]
pub(crate) struct Segment<P: Storage> {
    /// The planes from 2^(k - 1) to 2^k - 1. The first field, so that a lookup finds them without an
    /// addition.
    pub(super) planes: Planes<P>,
    /// The words of all earlier planes, and which of them are split.
    pub(super) parts: Parts<P>,
}

impl<P: Storage> Segment<P> {
    fn new(words: usize) -> Option<Self> {
        Some(Self {
            planes: Planes::new(P::zeroed(words)?),
            parts: Parts::new(words)?,
        })
    }

    /// The segment of these planes; the earlier words are in these parts.
    #[cfg(feature = "shared")]
    pub(super) fn of(planes: Planes<P>, parts: Parts<P>) -> Self {
        Self { planes, parts }
    }
}

/// The segments of a filter, by the number of their level, counted from the first level. Number 0 is
/// never published, because plane 0 is not in a segment.
///
/// A filter that has not grown has no list of segments, because there may be very many such filters.
pub(super) struct Segments<P: Storage> {
    list: Once<List<P>>,
    /// All segments from number 1 on, if processes share them.
    shared: P::Extra<All<P>>,
}

/// The number of levels, which is more than the doublings of any filter.
pub(super) const MOST: usize = if sync::IN_MODEL { 6 } else { LEVELS };

type List<P> = [Once<Segment<P>>; MOST];

/// All segments of a filter from number 1 on. Only the first ones are in use.
pub(super) type All<P> = ArrayVec<Segment<P>, MOST>;

impl<P: Storage> Segments<P> {
    pub(super) fn new() -> Self {
        // In most models the list is there from the start, so that no step looks for it.
        #[cfg(any(guira_loom, guira_shuttle))]
        if !crate::fault::list_is_late() {
            return Self::with(Once::with(Self::list()));
        }
        Self::with(Once::new())
    }

    fn with(list: Once<List<P>>) -> Self {
        Self {
            list,
            shared: P::Extra::default(),
        }
    }

    /// Segments that processes share.
    #[cfg(feature = "shared")]
    pub(super) fn shared(all: All<P>) -> Self {
        Self {
            list: Once::new(),
            shared: P::Extra::made(|| all),
        }
    }

    fn list() -> List<P> {
        array::from_fn(|_| Once::new())
    }

    /// The segment with this number, if it is published. Acquire: the list and the words are observed
    /// as they were when they were published.
    ///
    /// If processes share the segments, it is there in any case.
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<&Segment<P>> {
        self.find(number, None, Some)
    }

    /// The planes of the segment with this number, or `first` if it is not published. Acquire: as
    /// [`get`](Self::get).
    #[inline(always)]
    pub(super) fn planes_or<'a>(&'a self, number: usize, first: &'a Planes<P>) -> &'a Planes<P> {
        self.find(number, first, |segment| &segment.planes)
    }

    /// What `of` makes of the segment with this number, or `none`. It is chosen where a filter that has not
    /// grown has branched off already, so that lookups there need not choose again.
    #[inline(always)]
    fn find<'a, R>(&'a self, number: usize, none: R, of: impl FnOnce(&'a Segment<P>) -> R) -> R {
        if P::SHARED {
            let all = self.shared.get();
            let segment = all.and_then(|all| all.get(number.wrapping_sub(1)));
            return segment.map_or(none, of);
        }
        // The look would be a step of a model, though it finds nothing.
        if sync::IN_MODEL && number == 0 {
            return none;
        }
        match self.list.get() {
            // The remainder changes nothing, and spares lookups the check of the bounds.
            Some(list) => list[number % MOST].get().map_or(none, of),
            None => none,
        }
    }

    /// The segment with this number, which is published if necessary; `None` if there is no memory.
    pub(super) fn publish(&self, number: usize, words: usize) -> Option<&Segment<P>> {
        #[cfg(any(guira_loom, guira_shuttle))]
        if crate::fault::memory_is_refused() {
            return self.get(number);
        }
        let list = self.list.get_or_publish(|| Some(Self::list()))?;
        list[number].get_or_publish(|| Segment::new(words))
    }

    /// The segments that are published.
    pub(super) fn published(&self) -> impl Iterator<Item = &Segment<P>> {
        let list = self.list.get().into_iter().flatten();
        list.skip(1).map_while(Once::get)
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let of_segment = |segment: &Segment<P>| {
            let words = size_of_val(&*segment.planes.words);
            size_of::<Segment<P>>() + words + segment.parts.bytes()
        };
        self.list.get().map_or(0, size_of_val) + self.published().map(of_segment).sum::<usize>()
    }

    /// The [`bytes`](Self::bytes) of a filter with planes of `buckets` buckets that has doubled so often.
    pub(super) fn bytes_for(buckets: usize, doublings: u32) -> usize {
        let of_segment = |number: u32| {
            let words = buckets << number;
            size_of::<Segment<P>>() + words * size_of::<AtomicU64>() + Parts::<P>::bytes_for(words)
        };
        match doublings {
            0 => 0,
            _ => size_of::<List<P>>() + (0..doublings).map(of_segment).sum::<usize>(),
        }
    }
}

//! The addresses of the words of a plane.

use crate::{
    memory::Storage,
    sync::{self, AtomicU64},
};
use std::ops::Range;

/// The words of plane 0, or of the successive planes that a doubling adds.
pub(crate) struct Planes<P: Storage> {
    pub(crate) words: P::Words,
    /// The number of words of all earlier planes.
    before: usize,
}

impl<P: Storage> Planes<P> {
    /// The words of plane 0.
    pub(super) fn first(words: P::Words) -> Self {
        Self { words, before: 0 }
    }

    /// The words that a doubling adds: as many as there are before them.
    pub(super) fn added(words: P::Words) -> Self {
        Self {
            before: words.len(),
            words,
        }
    }
}

/// The words of one plane.
#[derive(Clone, Copy)]
pub(super) struct Plane<'a> {
    words: &'a [AtomicU64],
    /// The first word of the plane.
    start: usize,
}

impl<'a> Plane<'a> {
    /// A plane of all of `words`.
    #[inline(always)]
    pub(super) fn of(words: &'a [AtomicU64]) -> Self {
        Self { words, start: 0 }
    }

    /// The plane with this number, of `buckets` words.
    #[inline(always)]
    pub(super) fn within<P: Storage>(planes: &'a Planes<P>, plane: u64, buckets: usize) -> Self {
        Self {
            words: &planes.words,
            start: plane as usize * buckets - planes.before,
        }
    }

    #[inline(always)]
    pub(super) fn atomic(self, bucket: usize) -> &'a AtomicU64 {
        &self.words[self.start + bucket]
    }

    #[inline(always)]
    pub(super) fn prefetch(self, bucket: usize) {
        sync::prefetch(self.words, self.start + bucket);
    }

    /// The words of these buckets.
    pub(super) fn row(self, buckets: Range<usize>) -> &'a [AtomicU64] {
        &self.words[self.start..][buckets]
    }
}

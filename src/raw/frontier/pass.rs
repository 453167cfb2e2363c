//! One pass of a scan: how far it is, and the images that there are.

use crate::{
    fault::{self, faulty},
    raw::crew::places::Place,
    step::Step,
    sync::{
        self, AtomicU64, Ordering,
        once::{NoMemory, Once},
    },
};
use std::ops::Range;

/// The words of a chunk, as one thread has read them.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// Plane by plane.
    pub(crate) words: Vec<u64>,
    /// The level whose planes were read.
    pub(crate) level: u32,
    /// In an expiring filter the epoch in which they were read.
    pub(crate) epoch: u64,
}

/// A pass over all chunks, in ascending order, by one thread or several.
///
/// A thread *enters* a chunk when the one before it has an image. It then has a SeqCst fence, loads
/// the words, and publishes what it has read. The first image of a chunk counts.
pub(crate) struct Pass {
    buckets: usize,
    chunk_buckets: usize,
    /// The level whose planes all chunks are read in; `None` if each chunk has its own.
    pub(super) level: Option<u32>,
    /// How many chunks have been entered: all before the last of these have an image.
    entered: AtomicU64,
    /// One for each chunk. The scan's own thread keeps what it has read for itself, and publishes
    /// an image without words.
    images: Box<[Once<Image>]>,
    /// Where the scan is, for other processes.
    pub(super) place: Option<Place>,
    /// The pass that makes this one void, as it has met a level beyond its planes.
    successor: Once<Pass>,
}

/// On which side of a pass a chunk is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    ToCome,
    /// Entered, and without an image.
    Between,
    Scanned,
}

impl Pass {
    pub(super) fn new(
        buckets: usize,
        chunk_buckets: usize,
        level: Option<u32>,
    ) -> Result<Self, NoMemory> {
        let chunks = buckets.div_ceil(chunk_buckets);
        let mut images = Vec::new();
        images.try_reserve_exact(chunks).map_err(|_| NoMemory)?;
        images.resize_with(chunks, Once::new);
        Ok(Self {
            buckets,
            chunk_buckets,
            level,
            entered: AtomicU64::new(0),
            place: None,
            images: images.into(),
            successor: Once::new(),
        })
    }

    pub(super) fn chunks(&self) -> usize {
        self.images.len()
    }

    pub(super) fn buckets(&self, chunk: usize) -> Range<usize> {
        let start = chunk * self.chunk_buckets;
        start..self.buckets.min(start + self.chunk_buckets)
    }

    /// The pass that counts: the last one.
    pub(super) fn last(&self) -> &Self {
        let mut last = self;
        while let Some(next) = last.successor.get() {
            last = next;
        }
        last
    }

    /// The pass after this one.
    pub(super) fn successor(&self) -> Option<&Self> {
        self.successor.get()
    }

    /// This pass is void: another one begins, over the planes of `level`.
    pub(super) fn restart(&self, level: u32) -> Result<(), NoMemory> {
        let mut next = Self::new(self.buckets, self.chunk_buckets, Some(level))?;
        next.place = self.place.as_ref().map(Place::of_next_pass);
        self.successor.publish(next).map(|_| ())
    }

    /// The first chunk without an image; the number of chunks if all have one.
    pub(super) fn next(&self) -> usize {
        // Acquire: the thread that entered it has seen the images before it.
        let entered = self.entered.load(Ordering::Acquire) as usize;
        match entered.checked_sub(1) {
            Some(last) if self.images[last].get().is_none() => last,
            _ => entered,
        }
    }

    /// Enters a chunk. The caller has seen an image of the one before it.
    pub(super) fn enter(&self, chunk: usize) {
        self.enter_unfenced(chunk);
        // Pairs with the fence of `Frontiers::may_cross`.
        sync::full_fence();
    }

    pub(super) fn enter_unfenced(&self, chunk: usize) {
        // Release: a mover that sees chunks as scanned may move in them, because they were read
        // before. Whichever thread enters first, the fence of each comes after that.
        let order = fault::order(Step::Enter, Ordering::AcqRel);
        self.entered.fetch_max(chunk as u64 + 1, order);
        if let Some(place) = &self.place {
            place.enter(chunk);
        }
    }

    /// The image of a chunk, if there is one.
    pub(super) fn image(&self, chunk: usize) -> Option<&Image> {
        self.images[chunk].get()
    }

    /// Publishes an image of a chunk that was entered: false if there is one already.
    pub(super) fn publish(&self, chunk: usize, image: Image) -> Result<bool, NoMemory> {
        let is_first = self.images[chunk].publish(image);
        if let Some(place) = &self.place {
            place.leave(chunk);
        }
        is_first
    }

    /// True if both buckets are scanned, or both are still to come.
    pub(super) fn permits(&self, from: usize, to: usize) -> bool {
        let last: &Self = faulty!(self.last(), RestartOverlooked => self);
        // Relaxed: the fences order it.
        let entered = last.entered.load(Ordering::Relaxed) as usize;
        let side = |bucket: usize| {
            let chunk = bucket / last.chunk_buckets;
            if chunk >= entered {
                Side::ToCome
            } else if chunk + 1 < entered || last.images[chunk].get().is_some() {
                Side::Scanned
            } else {
                Side::Between
            }
        };
        side(from) != Side::Between && side(from) == side(to)
    }
}

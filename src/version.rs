//! Striped version counters: how a reader learns that a relocation passed it.

use crate::{
    fault::{self, Event},
    sync::{self, AtomicU64, Ordering},
    table::count_load,
};

/// Version counters, each shared by the pairs whose lower bucket falls on it.
///
/// 64 bits do not wrap: a counter that advances a billion times a second takes
/// 584 years. So a reader that was preempted between observing and validating
/// cannot meet the same version again after an advance.
pub(crate) struct Versions {
    stripes: Box<[AtomicU64]>,
    mask: usize,
}

/// A version that a reader observed, and the stripe it came from.
#[derive(Clone, Copy)]
pub(crate) struct Version<'a> {
    stripe: &'a AtomicU64,
    observed: u64,
}

impl Version<'_> {
    /// True if no relocation towards the pair's lower bucket advanced the version since.
    ///
    /// Relaxed: the words read before it were read with Acquire, so this load
    /// cannot come before them, and whoever erased what the reader missed had
    /// advanced the version before it released the word that the reader saw.
    #[inline(always)]
    pub(crate) fn validate(self) -> bool {
        count_load();
        self.stripe.load(Ordering::Relaxed) == self.observed
    }
}

impl Versions {
    /// One stripe for each 8 buckets, at most 512: the stripes then take up
    /// 4 KiB, which stay in the first-level cache of every core that reads.
    pub(crate) fn new(buckets: usize) -> Option<Self> {
        let stripes = (buckets / 8).next_power_of_two().min(512);
        Some(Self {
            stripes: sync::zeroed(stripes)?,
            mask: stripes - 1,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.stripes)
    }

    /// The version of the pair whose lower bucket is `p`, before its words are read.
    ///
    /// Acquire: pairs with the Release of [`advance`](Self::advance): a reader
    /// that observes an advance sees the shadow set before it (DESIGN, I3).
    #[inline(always)]
    pub(crate) fn observe(&self, p: usize) -> Version<'_> {
        count_load();
        let stripe = &self.stripes[p & self.mask];
        let observed = stripe.load(fault::order(Event::Observe, Ordering::Acquire));
        Version { stripe, observed }
    }

    /// Announces a move towards `p`, between its shadow and its decision.
    ///
    /// AcqRel: Release pairs with [`observe`](Self::observe); as a
    /// read-modify-write it leaves no release sequence of the stripe broken.
    #[inline]
    pub(crate) fn advance(&self, p: usize) {
        let order = fault::order(Event::Advance, Ordering::AcqRel);
        self.stripes[p & self.mask].fetch_add(1, order);
    }
}

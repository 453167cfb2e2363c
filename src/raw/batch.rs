//! Batches: the words of many items are prefetched before any is looked at, so
//! that their cache misses overlap. Then each item is treated as one by one.

use super::RawFilter;
use crate::table::{
    class::{Class, alternate},
    layout::Layout,
    word::Word,
};
use arrayvec::ArrayVec;

/// Items whose words are prefetched together: more than the line-fill buffers of
/// a core (10 to 24 on those at hand), few enough to stay in its first cache.
pub(crate) const GROUP: usize = 32;

impl<L: Layout> RawFilter<L> {
    /// The classes of up to [`GROUP`] hashes; their words are on the way into the cache.
    #[inline(always)]
    pub(crate) fn prefetch_group(
        &self,
        hashes: impl Iterator<Item = u64>,
    ) -> ArrayVec<Class, GROUP> {
        let prefetched = |hash| {
            let class = self.class(hash);
            for bucket in [class.p, class.q] {
                self.table.prefetch(class.fingerprint, bucket);
            }
            class
        };
        hashes.map(prefetched).collect()
    }

    /// [`prefetch_group`](Self::prefetch_group) for inserts: prefetches also the words
    /// that a search for a path will look at first.
    #[inline(always)]
    pub(crate) fn prefetch_group_to_insert(
        &self,
        hashes: impl Iterator<Item = u64>,
    ) -> ArrayVec<Class, GROUP> {
        let group = self.prefetch_group(hashes);
        let view = self.table.view();
        for &class in &group {
            let (p, q, _) = view.load_pair_at_hint(class);
            let [p, q] = [p, q].map(Word::without_reservation);
            if !p.has_vacancy() && !q.has_vacancy() {
                self.prefetch_alternates(class.p, p);
                self.prefetch_alternates(class.q, q);
            }
        }
        group
    }

    /// Brings the alternates of the residents of a bucket into the cache.
    #[cold]
    fn prefetch_alternates(&self, bucket: usize, word: Word<L>) {
        for fingerprint in word.residents() {
            let to = alternate(fingerprint, bucket, self.table.buckets());
            self.table.prefetch(fingerprint, to);
        }
    }
}

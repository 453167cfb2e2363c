//! Batches: the loads of many items are issued before any is looked at, so that
//! their cache misses overlap. The protocol of each item is that of one by one.

use crate::{
    cuckoo::{Cuckoo, Seen},
    fault::Event,
    hash::{Class, alternate},
    layout::Layout,
    word::Word,
};

/// Items whose loads are in flight together: more than the line-fill buffers of
/// a core (10 to 24 on those at hand), few enough to stay in its first cache.
pub(crate) const GROUP: usize = 32;

impl<L: Layout> Cuckoo<L> {
    /// The classes of up to [`GROUP`] hashes, and the loads of their lookups. For
    /// writes to come, the loads bring the words into the cache.
    #[inline]
    pub(crate) fn look_group(&self, hashes: &[u64]) -> [(Class, Seen<'_, L>); GROUP] {
        debug_assert!(hashes.len() <= GROUP);
        let looked = |&hash: &u64| {
            let class = self.class(hash);
            (class, self.look(class))
        };
        let mut group = [looked(&0); GROUP];
        for (slot, hash) in group.iter_mut().zip(hashes) {
            *slot = looked(hash);
        }
        group
    }

    /// `contains` for up to [`GROUP`] hashes at once.
    #[inline]
    pub(crate) fn contains_group(&self, hashes: &[u64], results: &mut [bool]) {
        debug_assert!(hashes.len() == results.len());
        let group = self.look_group(hashes);
        for (result, &(class, seen)) in results.iter_mut().zip(&group) {
            *result = self.judge(class, seen);
        }
    }

    /// [`look_group`](Self::look_group) for inserts: brings the words, too, that a
    /// search will look at first.
    #[inline]
    pub(crate) fn look_group_to_insert(&self, hashes: &[u64]) -> [(Class, Seen<'_, L>); GROUP] {
        let group = self.look_group(hashes);
        for &(class, seen) in &group[..hashes.len()] {
            let (p, q) = seen.words();
            if !p.has_vacancy() && !q.has_vacancy() {
                self.touch_alternates(class.p, p);
                self.touch_alternates(class.q, q);
            }
        }
        group
    }

    /// Brings the alternates of the residents of a bucket into the cache.
    #[cold]
    fn touch_alternates(&self, bucket: usize, word: Word<L>) {
        let table = self.table.view();
        for fingerprint in word.residents() {
            let to = alternate(fingerprint, bucket, table.buckets());
            table.load(Event::Prepare, fingerprint, to);
        }
    }
}

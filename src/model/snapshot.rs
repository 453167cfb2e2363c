//! Snapshots in the hands of the models.

use super::{Item, Model, Small};
use crate::{frontier::Frontiers, word::Word};

impl<const SLOTS: usize> Model<SLOTS> {
    /// The same filter, of which snapshots are taken, that scan `buckets` buckets at a time, not one.
    #[must_use]
    pub fn scanned_by(mut self, buckets: usize) -> Self {
        self.0.frontiers = Frontiers::new(buckets);
        self
    }

    /// `CuckooFilter::write_to`: how many copies of each item are in the snapshot.
    pub fn scan<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        #[cfg(loom)]
        assert!(!self.0.frontiers.unused, "say scanned_by");
        let words = self.0.image().words;
        items.map(|item| {
            let words = [item.0.p, item.0.q].map(|bucket| words[bucket]);
            let words = words.map(Word::<Small<SLOTS, 0>>::from_bits);
            assert!(words.iter().all(|word| word.is_image(0)), "{words:?}");
            let copies = words.map(|word| word.count(item.0.fingerprint));
            copies.iter().sum()
        })
    }
}

//! An expiring filter that grows, in the hands of the models.

use super::{super::growth::PHASE_BITS, Expiring, Item};

/// An expiring filter of a few buckets that can grow.
pub type GrowingExpiring<const SLOTS: usize, const E: u64 = 1> = Expiring<SLOTS, E, PHASE_BITS>;

impl<const SLOTS: usize, const E: u64> GrowingExpiring<SLOTS, E> {
    /// A filter in its epoch `epoch`, in which each bucket holds the given items, last seen in the given
    /// epochs, and which can double `levels` times.
    pub fn growing(epoch: u64, residents: &[&[(Item, u64)]], levels: u32) -> Self {
        Self::with_levels(epoch, residents, levels)
    }

    /// Brings the word of `item` in `bucket` from `level` to the next one.
    pub fn split(&self, item: Item, bucket: usize, level: u32) {
        let table = &self.0.table;
        table.begin_level(level).expect("a few bytes");
        table.split(item.0.fingerprint.low_bits(level), bucket, level);
    }

    /// Begins the level after `level`, and splits all its words.
    pub fn complete_level(&self, level: u32) {
        self.0.table.begin_level(level).expect("a few bytes");
        self.0.table.finish_level();
    }

    /// `ExpiringFilter::write_to`: how many live copies of each item are in the snapshot.
    pub fn scan<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned");
        let (table, size) = (&self.0.table, self.0.frontiers.chunk_buckets());
        let image = self.0.image();
        let planes = image.len() / table.buckets();
        let mut copies = [0; ITEMS];
        // The image goes chunk by chunk, and in a chunk plane by plane.
        for (chunk, words) in image.chunks(size * planes).enumerate() {
            let start = chunk * size;
            for (class, _) in table.copies_in(start..start + words.len() / planes, words) {
                let of_item = |item: &Item| {
                    let fingerprint = class.fingerprint.bits();
                    item.fingerprint() == fingerprint && item.buckets() == [class.p, class.q]
                };
                for (item, copies) in items.iter().zip(&mut copies) {
                    *copies += usize::from(of_item(item));
                }
            }
        }
        copies
    }
}

//! Snapshots, merges and clears in the hands of the models.

use super::{Item, Model, Small};
use crate::{
    raw::frontier::Frontiers,
    table::{
        layout::{Layout, Word},
        word::{Bits, Bucket, Phases},
    },
};
use std::{convert::Infallible, ops::Range};

impl<const SLOTS: usize, const PHASE_BITS: u32, const SEMI_SORTED: bool>
    Model<SLOTS, PHASE_BITS, SEMI_SORTED>
where
    Small<SLOTS, PHASE_BITS, SEMI_SORTED>: Layout,
{
    /// The same filter, with snapshots that scan `buckets` buckets at a time.
    #[must_use]
    pub fn scanned_by(mut self, buckets: usize) -> Self {
        self.0.frontiers = Frontiers::new(buckets);
        self
    }

    /// `CuckooFilter::write_to`: how many copies of each item are in the snapshot.
    pub fn scan<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned_by");
        let image = self.0.image();
        let (buckets, size) = (self.0.table.buckets(), self.0.frontiers.chunk_buckets());
        let planes = image.len() / buckets;
        let mut copies = [0; ITEMS];
        // The image goes chunk by chunk, and in a chunk plane by plane.
        for (chunk, words) in image.chunks(size * planes).enumerate() {
            let start = chunk * size;
            Self::count_copies(
                start..start + words.len() / planes,
                words,
                items,
                &mut copies,
            );
        }
        copies
    }

    /// Adds the copies of each item in the words of some buckets.
    fn count_copies<const ITEMS: usize>(
        buckets: Range<usize>,
        words: &[u64],
        items: [Item; ITEMS],
        copies: &mut [usize; ITEMS],
    ) {
        for (index, &bits) in words.iter().enumerate() {
            let (plane, bucket) = (index / buckets.len(), buckets.start + index % buckets.len());
            let word = Word::<Small<SLOTS, PHASE_BITS, SEMI_SORTED>>::unpack(bits);
            let is_image = Word::<Small<SLOTS, PHASE_BITS, SEMI_SORTED>>::is_image(Bits(bits));
            assert!(is_image, "plane {plane}: {word:?}");
            for (item, copies) in items.iter().zip(&mut *copies) {
                let here = item.0.fingerprint.low_bits(word.level()) == plane as u64;
                if here && (bucket == item.0.p || bucket == item.0.q) {
                    *copies += word.count(item.entry());
                }
            }
        }
    }

    /// The same filter, while another thread takes a snapshot: it has begun, and stopped before
    /// its first chunk. `helped`: chunks that others have scanned for it since.
    #[must_use]
    pub fn snapshot_begun(self, helped: usize) -> Self {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned_by");
        let level = self.0.table.scan_level();
        let buckets = self.0.table.buckets();
        self.0.frontiers.register_stopped(buckets, Some(level));
        self.help(helped);
        self
    }

    /// The thread of that snapshot continues: how many copies of each item are in it.
    pub fn end_snapshot<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        let mut scan = self.0.resume_scan();
        let mut copies = [0; ITEMS];
        while let Ok::<_, Infallible>(Some(chunk)) = scan.next() {
            if chunk.begins {
                copies = [0; ITEMS];
            }
            Self::count_copies(chunk.buckets, &chunk.image.words, items, &mut copies);
        }
        copies
    }

    /// What an insert does that a scan is in the way of: scans up to `chunks` chunks. False if there
    /// is nothing to scan.
    pub fn help(&self, chunks: usize) -> bool {
        self.0.help_scans(chunks)
    }

    /// `CuckooFilter::clear`.
    pub fn clear(&self) {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned_by");
        self.0.clear();
    }

    /// `CuckooFilter::union_with`: true if there was room.
    pub fn union_with(&self, other: &Self) -> bool {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned_by");
        let mut added = 0;
        let of_other = |class| other.0.copies_for_union(class);
        let raise = &mut |classes: &[_]| self.0.raise_classes(&of_other, classes, &mut added);
        other.0.scan_classes(raise).is_ok()
    }

    /// `CuckooFilter::merge`: true if all copies were.
    pub fn merge(&self, other: &Self) -> bool {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned_by");
        let mut merged = 0;
        let insert = &mut |classes: &[_]| self.0.insert_classes(classes, &mut merged);
        other.0.scan_classes(insert).is_ok()
    }
}

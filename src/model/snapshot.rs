//! Snapshots, merges and clears for the models.

use super::{Item, Model, Small};
use crate::{
    raw::{
        RawFilter,
        copies::Seen,
        frontier::Frontiers,
        lower::{DIFFERENCE, INTERSECTION, Keep, Other},
    },
    table::{
        layout::{Layout, Word},
        word::{Bucket, Phases},
    },
};
use std::{convert::Infallible, ops::Range};

impl<const SLOTS: usize, const PHASE_BITS: u32, const SEMI_SORTED: bool>
    Model<SLOTS, PHASE_BITS, SEMI_SORTED>
where
    Small<SLOTS, PHASE_BITS, SEMI_SORTED>: Layout,
{
    /// The same filter, whose snapshots scan `buckets` buckets at a time.
    #[must_use]
    pub fn scanned_by(mut self, buckets: usize) -> Self {
        self.0.frontiers = Frontiers::new(buckets);
        self
    }

    /// As `CuckooFilter::write_to`. Returns the number of copies of each item in the snapshot.
    pub fn scan<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        scan(&self.0, items)
    }

    /// The same filter during a snapshot of another thread, which has stopped before its first
    /// chunk. Other threads have scanned `helped` chunks for it.
    #[must_use]
    pub fn snapshot_begun(self, helped: usize) -> Self {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned_by");
        let level = self.0.table.scan_level();
        let buckets = self.0.table.buckets();
        self.0
            .frontiers
            .register_stopped(buckets, Some(level), None);
        self.help(helped);
        self
    }

    /// Continues and ends that snapshot. Returns the number of copies of each item in it.
    pub fn end_snapshot<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        let mut scan = self.0.resume_scan();
        let mut copies = [0; ITEMS];
        while let Ok::<_, Infallible>(Some(chunk)) = scan.next() {
            if chunk.begins {
                copies = [0; ITEMS];
            }
            count_copies::<Small<SLOTS, PHASE_BITS, SEMI_SORTED>, _>(
                chunk.buckets,
                &chunk.image.words,
                items,
                &mut copies,
            );
        }
        copies
    }

    /// As an insert that a scan blocks: scans up to `chunks` chunks. False if there is nothing to
    /// scan.
    pub fn help(&self, chunks: usize) -> bool {
        self.0.help_scans(chunks)
    }

    /// `CuckooFilter::clear`.
    pub fn clear(&self) {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned_by");
        self.0.clear();
    }

    /// As `CuckooFilter::union_with`. True if there was room.
    pub fn union_with(&self, other: &Self) -> bool {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned_by");
        let mut added = 0;
        let of_other = |class, age| other.0.present_for_union(class, age);
        let raise = &mut |copies: &[_]| {
            let singles = other.0.find_singles(copies);
            self.0.raise_copies(&of_other, singles, copies, &mut added)
        };
        other.0.scan_copies(&|_| (), raise).is_ok()
    }

    /// As `CuckooFilter::intersect_with`.
    pub fn intersect_with(&self, other: &Self) {
        lower_all(&self.0, &other.0, INTERSECTION);
    }

    /// As `CuckooFilter::difference_with`.
    pub fn difference_with(&self, other: &Self) {
        lower_all(&self.0, &other.0, DIFFERENCE);
    }

    /// What an intersection does for one item, if the other filter has `there` copies.
    pub fn lower(&self, item: Item, there: usize) {
        lower(&self.0, item, there);
    }

    /// What an intersection does for one item.
    pub fn lower_to(&self, other: &Self, item: Item) {
        lower_by(&self.0, &other.0, INTERSECTION, &[(item.0, 0)]);
    }

    /// True if the item has one copy, as an intersection sees it.
    pub fn has_single(&self, item: Item) -> bool {
        self.0.lookups().has_single(item.0)
    }

    /// As `CuckooFilter::merge`. True if all copies were merged.
    pub fn merge(&self, other: &Self) -> bool {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned_by");
        let mut merged = 0;
        let insert = &mut |copies: &[_]| self.0.insert_copies(copies, &mut merged);
        other.0.scan_copies(&|_| (), insert).is_ok()
    }
}

/// An intersection or a difference.
pub(super) fn lower_all<L: Layout>(raw: &RawFilter<L>, other: &RawFilter<L>, keep: Keep) {
    #[cfg(guira_loom)]
    assert!(!raw.frontiers.unused, "say scanned_by");
    let Ok(()) = raw.scan_copies(&|_| (), &mut |copies| {
        lower_by(raw, other, keep, copies);
        Ok::<_, Infallible>(())
    });
}

/// What it does with copies that a scan has met.
fn lower_by<L: Layout>(raw: &RawFilter<L>, other: &RawFilter<L>, keep: Keep, copies: &[Seen]) {
    let of_other = Other {
        find: &|copies| other.find_classes(copies),
        count: &|class| other.count_class(class),
    };
    raw.lower_copies(of_other, keep, copies);
}

/// What an intersection does for one item, if the other filter has `there` copies.
pub(super) fn lower<L: Layout>(raw: &RawFilter<L>, item: Item, there: usize) {
    let of_other = Other {
        find: &|_| u32::from(there > 0),
        count: &|_| Some(there),
    };
    raw.lower_copies(of_other, INTERSECTION, &[(item.0, 0)]);
}

/// The number of copies of each item in a snapshot.
pub(super) fn scan<L: Layout, const ITEMS: usize>(
    raw: &RawFilter<L>,
    items: [Item; ITEMS],
) -> [usize; ITEMS] {
    #[cfg(guira_loom)]
    assert!(!raw.frontiers.unused, "say scanned_by");
    let image = raw.image();
    let (buckets, size) = (raw.table.buckets(), raw.frontiers.chunk_buckets());
    let planes = image.len() / buckets;
    let mut copies = [0; ITEMS];
    // The image is ordered by chunk, and within a chunk by plane.
    for (chunk, words) in image.chunks(size * planes).enumerate() {
        let start = chunk * size;
        let of_chunk = start..start + words.len() / planes;
        count_copies::<L, ITEMS>(of_chunk, words, items, &mut copies);
    }
    copies
}

/// Adds the number of copies of each item in the words of some buckets.
fn count_copies<L: Layout, const ITEMS: usize>(
    buckets: Range<usize>,
    words: &[u64],
    items: [Item; ITEMS],
    copies: &mut [usize; ITEMS],
) {
    for (index, &bits) in words.iter().enumerate() {
        let (plane, bucket) = (index / buckets.len(), buckets.start + index % buckets.len());
        let word = Word::<L>::unpack(bits);
        let is_image = Word::<L>::is_image(bits);
        assert!(is_image, "plane {plane}: {word:?}");
        for (item, copies) in items.iter().zip(&mut *copies) {
            let here = item.0.fingerprint.low_bits(word.level()) == plane as u64;
            if here && (bucket == item.0.p || bucket == item.0.q) {
                *copies += word.count(item.entry());
            }
        }
    }
}

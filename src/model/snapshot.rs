//! Snapshots, merges, clears, unions and intersections for the models.

use super::{Filter, Item};
use crate::{
    raw::{
        copies::Seen,
        frontier::Frontiers,
        lower::{DIFFERENCE, INTERSECTION, Keep, Other},
    },
    table::{
        layout::{Layout, Word},
        word::Bucket,
    },
};
use std::{convert::Infallible, ops::Range};

impl<L: Layout> Filter<L> {
    /// The same filter, which is scanned.
    #[must_use]
    pub fn scanned(self) -> Self {
        let buckets = self.0.frontiers.chunk_buckets();
        self.scanned_by(buckets)
    }

    /// The same filter, whose snapshots scan `buckets` buckets at a time.
    #[must_use]
    pub fn scanned_by(mut self, buckets: usize) -> Self {
        self.0.frontiers = Frontiers::new(buckets);
        self
    }

    /// Panics if the moves of the filter do not look for scans.
    fn check_scanned(&self) {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned");
    }

    /// As `CuckooFilter::write_to`. Returns the number of copies of each item in the snapshot.
    pub fn scan<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        self.check_scanned();
        let image = self.0.image();
        let (buckets, size) = (self.0.table.buckets(), self.0.frontiers.chunk_buckets());
        let planes = image.len() / buckets;
        let mut copies = [0; ITEMS];
        // The image is ordered by chunk, and within a chunk by plane.
        for (chunk, words) in image.chunks(size * planes).enumerate() {
            let start = chunk * size;
            let of_chunk = start..start + words.len() / planes;
            self.count_copies(of_chunk, words, items, &mut copies);
        }
        copies
    }

    /// Adds the number of copies of each item in the words of some buckets.
    fn count_copies<const ITEMS: usize>(
        &self,
        buckets: Range<usize>,
        words: &[u64],
        items: [Item; ITEMS],
        copies: &mut [usize; ITEMS],
    ) {
        for &bits in words {
            assert!(Word::<L>::is_image(bits), "{:?}", Word::<L>::unpack(bits));
        }
        for (class, entry) in self.0.table.copies_in(buckets, words) {
            for (item, copies) in items.iter().zip(&mut *copies) {
                if item.0 == class {
                    *copies += Word::<L>::copies_of(entry);
                }
            }
        }
    }

    /// The same filter during a snapshot of another thread, which has stopped before its first
    /// chunk. Other threads have scanned `helped` chunks for it.
    #[must_use]
    pub fn snapshot_begun(self, helped: usize) -> Self {
        self.check_scanned();
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
            self.count_copies(chunk.buckets, &chunk.image.words, items, &mut copies);
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
        self.check_scanned();
        self.0.clear();
    }

    /// As `CuckooFilter::union_with`: how many copies were added or made younger. `None` if there was no
    /// room.
    pub fn union_with(&self, other: &Self) -> Option<usize> {
        other.check_scanned();
        let mut changed = 0;
        let of_other = |class, age| other.0.present_for_union(class, age);
        let raise = &mut |copies: &[_]| {
            let singles = other.0.find_singles(copies);
            self.0
                .raise_copies(&of_other, singles, copies, &mut changed)
        };
        let raised = other.0.scan_copies(&|_| (), raise);
        raised.is_ok().then_some(changed)
    }

    /// As `CuckooFilter::intersect_with`.
    pub fn intersect_with(&self, other: &Self) {
        self.lower_all(other, INTERSECTION);
    }

    /// As `CuckooFilter::difference_with`.
    pub fn difference_with(&self, other: &Self) {
        self.lower_all(other, DIFFERENCE);
    }

    /// An intersection or a difference.
    fn lower_all(&self, other: &Self, keep: Keep) {
        self.check_scanned();
        let Ok(()) = self.0.scan_copies(&|_| (), &mut |copies| {
            self.lower_by(other, keep, copies);
            Ok::<_, Infallible>(())
        });
    }

    /// What it does with copies that a scan has met.
    fn lower_by(&self, other: &Self, keep: Keep, copies: &[Seen]) {
        let of_other = Other {
            find: &|copies| other.0.find_classes(copies),
            count: &|class| other.0.count_class(class),
        };
        self.0.lower_copies(of_other, keep, copies);
    }

    /// What an intersection does for one item.
    pub fn lower_to(&self, other: &Self, item: Item) {
        self.lower_by(other, INTERSECTION, &[(item.0, 0)]);
    }

    /// What an intersection does for one item, if the other filter has `there` live copies.
    pub fn lower(&self, item: Item, there: usize) {
        let of_other = Other {
            find: &|_| u32::from(there > 0),
            count: &|_| Some(there),
        };
        self.0.lower_copies(of_other, INTERSECTION, &[(item.0, 0)]);
    }

    /// True if the item has one copy, as an intersection sees it.
    pub fn has_single(&self, item: Item) -> bool {
        self.0.lookups().has_single(item.0)
    }

    /// As `CuckooFilter::merge`. True if all live copies were merged.
    pub fn merge(&self, other: &Self) -> bool {
        other.check_scanned();
        let mut merged = 0;
        let insert = &mut |copies: &[_]| self.0.insert_copies(copies, &mut merged);
        other.0.scan_copies(&|_| (), insert).is_ok()
    }
}

//! The copies in a filter, class by class: scanned while threads use the filter.

use crate::{
    raw::{
        RawFilter,
        any::{AnyFilter, with_layout},
        batch::GROUP,
        frontier::{memory::ScanError, scan::Chunk},
    },
    table::{
        class::Class,
        layout::{Layout, Word},
        word::Bucket,
    },
};
use arrayvec::ArrayVec;

impl<L: Layout> RawFilter<L> {
    /// Passes the class of each copy to `take`, up to [`GROUP`] at a time, until `take` fails. As
    /// in a snapshot, these are at least the copies that are present during the whole call.
    ///
    /// Unlike a snapshot's, the scan does not start again when the filter doubles. Each chunk
    /// counts by its last load, over as many planes as there are by then (PROOF, section 10).
    pub(crate) fn scan_classes<E: ScanError>(
        &self,
        take: &mut dyn FnMut(&[Class]) -> Result<(), E>,
    ) -> Result<(), E> {
        let table = &self.table;
        let mut scan = self.begin_scan(None)?;
        let mut group = ArrayVec::<Class, GROUP>::new();
        while let Some(Chunk { buckets, image, .. }) = scan.next()? {
            for (index, &bits) in image.words.iter().enumerate() {
                let (plane, bucket) = (index / buckets.len(), index % buckets.len());
                let (one, bucket) = (table.one_of_plane(plane as u64), buckets.start + bucket);
                let residents = Word::<L>::unpack(bits).residents(one);
                for fingerprint in residents.map(L::fingerprint) {
                    group.push(Class::of_resident(fingerprint, bucket, table.buckets()));
                    if group.is_full() {
                        take(&group)?;
                        group.clear();
                    }
                }
            }
        }
        take(&group)
    }
}

impl AnyFilter {
    /// [`RawFilter::scan_classes`].
    pub(crate) fn scan_classes<E: ScanError>(
        &self,
        take: &mut dyn FnMut(&[Class]) -> Result<(), E>,
    ) -> Result<(), E> {
        with_layout!(self, raw => raw.scan_classes(take))
    }
}

//! The copies in a filter, class by class: scanned while threads use the filter.

use super::image::chunks;
use crate::{
    raw::{
        RawFilter,
        any::{AnyFilter, with_layout},
        batch::GROUP,
    },
    table::{
        class::Class,
        layout::Layout,
        word::{Bucket, Word},
    },
};
use arrayvec::ArrayVec;

impl<L: Layout> RawFilter<L> {
    /// Passes the class of each copy to `take`, up to [`GROUP`] at a time, until `take` fails. As
    /// in a snapshot, these are at least the copies that are present during the whole call.
    ///
    /// Unlike a snapshot's, the scan does not start again when the filter doubles. Each chunk
    /// counts by its last load, over as many planes as there are by then (PROOF, section 10).
    pub(crate) fn scan_classes<E>(
        &self,
        take: &mut dyn FnMut(&[Class]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (table, size) = (&self.table, self.frontiers.chunk_buckets());
        let frontier = self.frontiers.register();
        let mut words = Vec::new();
        let mut group = ArrayVec::<Class, GROUP>::new();
        for (chunk, buckets) in chunks(table.buckets(), size).enumerate() {
            frontier.enter(chunk);
            loop {
                // Higher each time, so it ends: what `read_chunk` found is published.
                let level = table.scan_level();
                words.resize(buckets.len() * table.planes_at(level), 0);
                if table.read_chunk(buckets.clone(), level, &mut words) {
                    break;
                }
            }
            frontier.leave(chunk);
            for (index, &bits) in words.iter().enumerate() {
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
    pub(crate) fn scan_classes<E>(
        &self,
        take: &mut dyn FnMut(&[Class]) -> Result<(), E>,
    ) -> Result<(), E> {
        with_layout!(self, raw => raw.scan_classes(take))
    }
}

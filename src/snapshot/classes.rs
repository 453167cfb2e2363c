//! A scan of all copies by class, while threads use the filter.

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
    /// Passes the class of each copy to `take`, in groups of at most [`GROUP`], until `take` fails.
    /// As in a snapshot, every copy that is present during the whole call is included.
    ///
    /// Unlike a snapshot, the scan does not start again when the filter doubles. The last load of a
    /// chunk counts, over the planes that exist at that time (PROOF, section 10).
    pub(crate) fn scan_classes<E: ScanError>(
        &self,
        take: &mut dyn FnMut(&[Class]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut scan = self.begin_scan(None)?;
        let mut group = ArrayVec::<Class, GROUP>::new();
        while let Some(Chunk { buckets, image, .. }) = scan.next()? {
            let entries = self.table.copies_in(buckets, &image.words);
            let copies = entries
                .flat_map(|(class, entry)| std::iter::repeat_n(class, Word::<L>::copies_of(entry)));
            for class in copies {
                group.push(class);
                if group.is_full() {
                    take(&group)?;
                    group.clear();
                }
            }
        }
        take(&group)
    }
}

impl AnyFilter {
    /// See [`RawFilter::scan_classes`].
    pub(crate) fn scan_classes<E: ScanError>(
        &self,
        take: &mut dyn FnMut(&[Class]) -> Result<(), E>,
    ) -> Result<(), E> {
        with_layout!(self, raw => raw.scan_classes(take))
    }
}

//! merge: inserts the classes that a scan of another filter has found.

use super::RawFilter;
use crate::{
    error::InsertError,
    table::{class::Class, layout::Layout},
};

impl<L: Layout> RawFilter<L> {
    /// Prefetches both words of each class.
    pub(crate) fn prefetch_words(&self, classes: impl Iterator<Item = Class>) {
        for class in classes {
            for bucket in [class.p, class.q] {
                self.table.prefetch(class.fingerprint, bucket);
            }
        }
    }

    /// Inserts a copy of each class, and adds to `inserted` how many. All words are prefetched
    /// first, so that their cache misses overlap: at most [`GROUP`](super::batch::GROUP) classes.
    pub(crate) fn insert_classes(
        &self,
        classes: &[Class],
        inserted: &mut usize,
    ) -> Result<(), InsertError> {
        self.prefetch_words(classes.iter().copied());
        for &class in classes {
            self.insert(class)?;
            *inserted += 1;
        }
        Ok(())
    }
}

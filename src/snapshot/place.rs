//! A plain filter that is built from the words of its snapshot.

use super::assembly;
use crate::{
    error::SnapshotError,
    filter::CuckooFilter,
    geometry::Geometry,
    memory::Extra,
    raw::{
        RawFilter,
        any::{AnyFilter, of_series, with_layout},
    },
    table::{Table, layout::Layout, scan::Restored},
};
use std::{hash::BuildHasher, ops::Range};

/// A filter that is built chunk by chunk.
pub(super) struct Place {
    geometry: Geometry,
    raw: AnyFilter,
    restored: Restored,
    /// The error of the first impossible word. The cause may be corrupted bytes, which the checksum
    /// reports first.
    result: Result<(), SnapshotError>,
}

impl Place {
    /// A table with room for all planes after this number of doublings.
    pub(super) fn new(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
        let levels = geometry.series.table_levels();
        let raw =
            of_series!(geometry.series, L => RawFilter::<L>::for_images(geometry, doublings)?);
        Ok(Self {
            geometry,
            raw,
            restored: Restored::new(levels.first, levels.first + doublings),
            result: Ok(()),
        })
    }

    /// Returns the filter, once all its words have arrived.
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: S,
    ) -> Result<CuckooFilter<S>, SnapshotError> {
        let Self {
            geometry,
            mut raw,
            restored,
            result,
        } = self;
        result?;
        with_layout!(&mut raw, raw => raw.complete_restore(&restored));
        Ok(CuckooFilter::of_parts(hasher, raw, geometry))
    }
}

impl assembly::Place for Place {
    /// The number is the tag of a chunk, and does not depend on its words. [`finish`](Self::finish)
    /// reports impossible words.
    fn put(&mut self, buckets: Range<usize>, words: &[u64], _: u64) -> Result<(), SnapshotError> {
        if self.result.is_ok() {
            let restored = &mut self.restored;
            self.result =
                with_layout!(&self.raw, raw => raw.table.store_image(buckets, words, restored));
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        with_layout!(&self.raw, raw => raw.bytes())
    }
}

impl<L: Layout> RawFilter<L> {
    /// An empty filter with room for the words of a snapshot after this number of doublings.
    pub(crate) fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        let table = Table::for_images(buckets, levels, levels.first + doublings);
        let raw = table.and_then(Self::with_table);
        let raw = raw.ok_or(SnapshotError::Memory {
            buckets: buckets << doublings,
        })?;
        Ok(raw.growing_early())
    }

    /// Sets the length and the level, after all words are stored.
    pub(crate) fn complete_restore(&mut self, restored: &Restored) {
        self.len.add(restored.items);
        if let Some(repeats) = self.repeats.get() {
            repeats.add(restored.repeats);
        }
        self.table.set_level(restored.lowest);
    }
}

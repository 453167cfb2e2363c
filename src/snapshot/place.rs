//! A plain filter that is built from the words of its snapshot.

use super::{assembly, image::Sink};
use crate::{
    error::SnapshotError,
    filter::CuckooFilter,
    geometry::{self, Geometry},
    raw::{
        RawFilter,
        any::{AnyFilter, of_series, with_layout},
        frontier::chunk_buckets,
    },
    table::{Table, layout::Layout, scan::Restored},
};
use std::{hash::BuildHasher, ops::Range};

/// A filter, chunk by chunk.
pub(super) struct Place {
    geometry: Geometry,
    raw: AnyFilter,
    restored: Restored,
    /// The first word that no filter can have written. It may be wrong because bytes were changed,
    /// which the checksum says first.
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

    fn store(&mut self, buckets: Range<usize>, words: &[u64]) {
        if self.result.is_ok() {
            let restored = &mut self.restored;
            self.result =
                with_layout!(&self.raw, raw => raw.table.store_image(buckets, words, restored));
        }
    }

    /// The filter, after all its words have come.
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
        with_layout!(&mut raw, raw => raw.has_stored(&restored));
        Ok(CuckooFilter {
            hasher,
            raw,
            geometry,
        })
    }
}

impl assembly::Place for Place {
    /// The number is the tag of a chunk, which says nothing about its words.
    /// [`finish`](Self::finish) reports impossible words.
    fn put(&mut self, buckets: Range<usize>, words: &[u64], _: u64) -> Result<(), SnapshotError> {
        self.store(buckets, words);
        Ok(())
    }

    fn bytes(&self) -> usize {
        with_layout!(&self.raw, raw => raw.bytes())
    }
}

impl<L: Layout> RawFilter<L> {
    /// An empty filter with room for the words of an image after this number of doublings.
    fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        let table = Table::for_images(buckets, levels, levels.first + doublings);
        let raw = table.and_then(Self::with_table);
        let raw = raw.ok_or(SnapshotError::Memory {
            buckets: buckets << doublings,
        })?;
        Ok(raw.growing_at(geometry::grow_at))
    }

    /// After all images are stored.
    fn has_stored(&mut self, restored: &Restored) {
        self.len.add(restored.items);
        self.table.set_level(restored.lowest);
    }
}

/// A scan whose words become another filter.
pub(super) struct Copying {
    geometry: Geometry,
    place: Option<Place>,
    /// Where the next chunk begins.
    bucket: usize,
}

impl Copying {
    pub(super) fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            place: None,
            bucket: 0,
        }
    }

    /// The filter, after the last pass.
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: S,
    ) -> Result<CuckooFilter<S>, SnapshotError> {
        self.place.ok_or(SnapshotError::Truncated)?.finish(hasher)
    }
}

impl Sink for Copying {
    type Error = SnapshotError;

    fn begin_pass(&mut self, doublings: u32) -> Result<(), SnapshotError> {
        // The table of an earlier pass is dropped before the next one is allocated.
        self.place = None;
        self.bucket = 0;
        self.place = Some(Place::new(self.geometry, doublings)?);
        Ok(())
    }

    fn chunk(&mut self, words: &[u64]) -> Result<(), SnapshotError> {
        let Geometry {
            buckets, series, ..
        } = self.geometry;
        let end = buckets.min(self.bucket + chunk_buckets(series.levels));
        if let Some(place) = &mut self.place {
            place.store(self.bucket..end, words);
        }
        self.bucket = end;
        Ok(())
    }
}

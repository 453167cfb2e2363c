//! A plain filter that is built from the words of its snapshot.

use super::assembly;
use crate::{
    error::SnapshotError,
    filter::CuckooFilter,
    geometry::Geometry,
    raw::{
        RawFilter,
        any::{AnyFilter, of_series, with_layout},
        restore::Restart,
    },
    table::{scan::Restored, time::beginning::Beginning},
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
        let restart = Restart {
            chunks: &[],
            epoch: 0,
            oldest: 0,
            beginning: Beginning::default(),
        };
        with_layout!(&mut raw, raw => raw.complete(&restored, &restart));
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
                with_layout!(&self.raw, raw => raw.store_chunk(buckets, words, (0, 0), restored));
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        with_layout!(&self.raw, raw => raw.bytes())
    }
}

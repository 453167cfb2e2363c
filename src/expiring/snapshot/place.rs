//! An expiring filter that is built of the words of its snapshot.

use crate::{
    error::SnapshotError,
    expiring::{
        ExpiringFilter, Window,
        any::{AnyExpiring, of_series, with_layout},
    },
    geometry::Geometry,
    raw::{RawFilter, restore::Restart},
    snapshot::assembly,
    table::{scan::Restored, time::beginning::Beginning},
};
use std::{hash::BuildHasher, ops::Range};

/// A filter, chunk by chunk.
pub(super) struct Place {
    geometry: Geometry,
    window: Window,
    raw: AnyExpiring,
    restored: Restored,
    /// For each chunk the epoch in which it was read.
    epochs: Vec<u64>,
    /// The first word that no filter can have written. It may be wrong because bytes were changed,
    /// which the checksum says first.
    result: Result<(), SnapshotError>,
}

impl Place {
    /// A table with room for all planes after this number of doublings.
    pub(super) fn new(
        geometry: Geometry,
        window: Window,
        doublings: u32,
    ) -> Result<Self, SnapshotError> {
        let levels = geometry.series.table_levels();
        Ok(Self {
            geometry,
            window,
            raw: of_series!(geometry.series, L => RawFilter::<L>::for_images(geometry, doublings)?),
            restored: Restored::new(levels.first, levels.first + doublings),
            epochs: Vec::new(),
            result: Ok(()),
        })
    }

    /// The filter in the epoch `end`, modulo [`CYCLE`](crate::raw::restore::CYCLE), which began at `beginning`, after all its
    /// words have come.
    /// Copies that have died since their chunk was read are left out.
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: S,
        end: u64,
        beginning: Beginning,
    ) -> Result<ExpiringFilter<S>, SnapshotError> {
        let Self {
            geometry,
            window,
            mut raw,
            restored,
            epochs,
            result,
        } = self;
        result?;
        let restart = Restart {
            chunks: &epochs,
            epoch: end,
            oldest: window.epochs.into(),
            beginning,
        };
        with_layout!(&mut raw, raw => raw.complete(&restored, &restart));
        Ok(ExpiringFilter::from_parts(hasher, raw, geometry, window))
    }
}

impl assembly::Place for Place {
    /// The number is the epoch in which the words were read. A word that cannot be is an error of
    /// [`finish`](Self::finish).
    fn put(
        &mut self,
        buckets: Range<usize>,
        words: &[u64],
        epoch: u64,
    ) -> Result<(), SnapshotError> {
        let reserved = self.epochs.try_reserve(1);
        reserved.map_err(|_| SnapshotError::Memory {
            buckets: self.geometry.buckets,
        })?;
        self.epochs.push(epoch);
        if self.result.is_ok() {
            let oldest = u64::from(self.window.epochs);
            let restored = &mut self.restored;
            self.result = with_layout!(
                &self.raw,
                raw => raw.store_chunk(buckets, words, (epoch, oldest), restored)
            );
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of::<u64>() * self.epochs.capacity() + with_layout!(&self.raw, raw => raw.bytes())
    }
}

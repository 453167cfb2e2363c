//! Passes over the words of a filter. Only the last one counts.

use super::{
    assembly::{Assembly, Place},
    item::{Came, Next},
};
use crate::{
    error::SnapshotError,
    geometry::Geometry,
    raw::{frontier::chunk_buckets, image::Sink},
};

/// The passes of a snapshot, as they come, and the filter `P` that the last one becomes.
pub(crate) struct Passes<P> {
    geometry: Geometry,
    /// Bytes that the buckets may take up.
    most: usize,
    /// The current pass, or `None` before its level has arrived.
    pass: Option<Assembly<P>>,
    /// The lowest level that the next pass can have.
    least: u32,
}

impl<P: Place> Passes<P> {
    /// Before the first pass of a filter whose buckets take up at most `most` bytes.
    pub(crate) fn new(geometry: Geometry, most: usize) -> Self {
        Self {
            geometry,
            most,
            pass: None,
            least: 0,
        }
    }

    fn levels(&self) -> u32 {
        self.geometry.series.levels
    }

    /// Begins a pass at this level. Each pass has more planes than the one before, so all passes
    /// together have less than twice the words of the last one.
    pub(crate) fn begin(&mut self, level: u64) -> Result<Next, SnapshotError> {
        let levels = self.levels();
        if !(u64::from(self.least)..=u64::from(levels)).contains(&level) {
            return Err(SnapshotError::Geometry {
                what: "level",
                found: level,
            });
        }
        let doublings = level as u32;
        self.least = doublings + 1;
        let planes = (self.geometry.buckets, doublings);
        self.pass = Some(Assembly::begin(planes, chunk_buckets(levels), self.most)?);
        Ok(Next::Number)
    }

    /// The next chunk of the present pass; `None` if a pass has to begin.
    pub(crate) fn next_chunk(&self) -> Option<Next> {
        let pass = self.pass.as_ref();
        pass.map(|pass| Next::Chunk(pass.next_words()))
    }

    /// Ends the present pass, which is void; false if it cannot be. A pass has a chunk at least, and the
    /// one at the last level is not cut off.
    pub(crate) fn end(&mut self) -> bool {
        let begun = self.pass.as_ref().is_some_and(|pass| !pass.is_empty());
        let is_void = begun && self.least <= self.levels();
        if is_void {
            // Frees the old table before the next one is allocated.
            self.pass = None;
        }
        is_void
    }

    /// Takes the words of the next chunk, which came with `number`. `make` allocates the filter with room
    /// for all planes after a number of doublings. True if this was the last chunk.
    pub(crate) fn put(
        &mut self,
        came: Came<'_>,
        number: u64,
        make: impl FnOnce(u32) -> Result<P, SnapshotError>,
    ) -> Result<bool, SnapshotError> {
        let pass = self.pass.as_mut().ok_or(SnapshotError::Truncated)?;
        let doublings = pass.doublings();
        pass.put(came, number, || make(doublings))?;
        Ok(pass.is_complete())
    }

    /// The filter of the last pass. The decoder calls this only when all chunks have come.
    pub(crate) fn finish(self) -> Result<P, SnapshotError> {
        self.pass.ok_or(SnapshotError::Truncated)?.finish()
    }

    /// Words of the table that is being built, in all planes.
    pub(crate) fn words(&self) -> usize {
        let of_pass = self.pass.as_ref().map(Assembly::words);
        of_pass.unwrap_or(self.geometry.buckets)
    }

    /// Bytes on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        self.pass.as_ref().map_or(0, Assembly::memory_usage)
    }
}

/// Builds another filter from the words of a scan. `make` allocates it with room for all planes after a
/// number of doublings.
pub(crate) struct Copying<P, F> {
    geometry: Geometry,
    make: F,
    place: Option<P>,
    /// Where the next chunk begins.
    bucket: usize,
}

impl<P: Place, F: Fn(u32) -> Result<P, SnapshotError>> Copying<P, F> {
    pub(crate) fn new(geometry: Geometry, make: F) -> Self {
        Self {
            geometry,
            make,
            place: None,
            bucket: 0,
        }
    }

    /// Returns the filter, after the last pass.
    pub(crate) fn finish(self) -> Result<P, SnapshotError> {
        self.place.ok_or(SnapshotError::Truncated)
    }
}

impl<P: Place, F: Fn(u32) -> Result<P, SnapshotError>> Sink for Copying<P, F> {
    fn begin_pass(&mut self, doublings: u32) -> Result<(), SnapshotError> {
        // The table of an earlier pass is dropped before the next one is allocated.
        self.place = None;
        self.bucket = 0;
        self.place = Some((self.make)(doublings)?);
        Ok(())
    }

    fn chunk(&mut self, words: &[u64], epoch: u64) -> Result<(), SnapshotError> {
        let Geometry {
            buckets, series, ..
        } = self.geometry;
        let start = self.bucket;
        self.bucket = buckets.min(start + chunk_buckets(series.levels));
        if let Some(place) = &mut self.place {
            place.put(start..self.bucket, words, epoch);
        }
        Ok(())
    }
}

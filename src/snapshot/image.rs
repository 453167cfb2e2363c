//! The words of a filter at rest: scanned while all threads go on, and restored.

use crate::{
    error::SnapshotError,
    geometry::Geometry,
    raw::RawFilter,
    raw::frontier::chunk_buckets,
    table::Table,
    table::grow::{Planes, Restored},
    table::layout::Layout,
};
use std::{convert::Infallible, ops::Range};

/// The words of one pass over the filter.
pub(crate) struct Image {
    /// There are 2^`level` planes.
    pub(super) level: u32,
    /// Chunk by chunk of buckets, and in a chunk plane by plane.
    pub(crate) words: Vec<u64>,
}

/// Where a scan puts what it has read.
pub(super) trait Sink {
    type Error;

    /// A pass begins, over 2^`level` planes; what an earlier one put is void.
    fn begin(&mut self, level: u32, first: bool) -> Result<(), Self::Error>;

    /// The words of the next chunk of buckets, plane by plane.
    fn chunk(&mut self, words: &[u64]) -> Result<(), Self::Error>;
}

impl Sink for Image {
    type Error = Infallible;

    fn begin(&mut self, level: u32, _first: bool) -> Result<(), Infallible> {
        self.level = level;
        self.words.clear();
        Ok(())
    }

    fn chunk(&mut self, words: &[u64]) -> Result<(), Infallible> {
        self.words.extend_from_slice(words);
        Ok(())
    }
}

impl<L: Layout> RawFilter<L> {
    /// Hands all words to `sink`: every item present during the whole call is
    /// in one of them.
    pub(super) fn scan<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let planes = &self.table.planes;
        let frontier = self.frontiers.begin();
        let mut words = Vec::new();
        let mut first = true;
        'pass: loop {
            let level = planes.scan_level();
            sink.begin(level, first)?;
            first = false;
            let size = self.frontiers.chunk_buckets();
            for (chunk, buckets) in chunks(self.table.buckets(), size).enumerate() {
                frontier.enter(chunk);
                words.resize(buckets.len() << level, 0);
                let complete = planes.scan(buckets, level, &mut words);
                frontier.leave(chunk);
                if !complete {
                    continue 'pass;
                }
                sink.chunk(&words)?;
            }
            return Ok(());
        }
    }

    /// The words, as a snapshot has them.
    pub(crate) fn image(&self) -> Image {
        let mut image = Image {
            level: 0,
            words: Vec::with_capacity(self.table.planes.words()),
        };
        let Ok(()) = self.scan(&mut image);
        image
    }

    /// The filter that `image` is of.
    pub(super) fn restore(geometry: Geometry, image: Image) -> Result<Self, SnapshotError> {
        let Geometry {
            buckets, levels, ..
        } = geometry;
        let level = image.level;
        let memory = || SnapshotError::Memory {
            buckets: buckets << level,
        };
        let mut restored = Restored::new(level);
        let planes = if level == 0 {
            Planes::of_image(levels, image.words, &mut restored)?
        } else {
            let planes = Planes::for_images(buckets, levels, level).ok_or_else(memory)?;
            let mut rest = &image.words[..];
            for buckets in chunks(buckets, chunk_buckets(levels)) {
                let (words, after) = rest.split_at(buckets.len() << level);
                planes.restore(buckets, words, &mut restored)?;
                rest = after;
            }
            planes.at_level(restored.lowest)
        };
        let raw = Self::with_table(Table { planes })
            .ok_or_else(memory)?
            .growing_when(geometry.due());
        raw.len.add(restored.items);
        Ok(raw)
    }
}

/// The chunks in which the buckets of a plane are scanned.
pub(super) fn chunks(buckets: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..buckets)
        .step_by(size)
        .map(move |start| start..buckets.min(start + size))
}

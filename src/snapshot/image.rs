//! The words of a filter at rest: scanned while all threads go on, and restored.

use crate::{
    error::SnapshotError,
    geometry::{self, Geometry},
    raw::{
        RawFilter,
        any::{AnyFilter, with_layout},
        frontier::chunk_buckets,
    },
    table::{Table, layout::Layout, scan::Restored},
};
use std::{convert::Infallible, ops::Range};

/// The words of one pass over the filter.
pub(crate) struct Image {
    /// How often the filter had doubled: there are 2^`doublings` planes.
    pub(super) doublings: u32,
    /// Chunk by chunk of buckets, and in a chunk plane by plane.
    pub(crate) words: Vec<u64>,
}

/// Where a scan puts what it has read.
pub(super) trait Sink {
    type Error;

    /// A pass begins, over 2^`doublings` planes; what an earlier one put is void.
    fn begin_pass(&mut self, doublings: u32, first: bool) -> Result<(), Self::Error>;

    /// The words of the next chunk of buckets, plane by plane.
    fn chunk(&mut self, words: &[u64]) -> Result<(), Self::Error>;
}

impl Sink for Image {
    type Error = Infallible;

    fn begin_pass(&mut self, doublings: u32, _first: bool) -> Result<(), Infallible> {
        self.doublings = doublings;
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
        let table = &self.table;
        let mut scan = self.begin_scan(Some(table.scan_level()));
        let mut first = true;
        while let Some(chunk) = scan.next() {
            if chunk.begins {
                sink.begin_pass(chunk.image.level - table.first_level(), first)?;
                first = false;
            }
            sink.chunk(&chunk.image.words)?;
        }
        Ok(())
    }

    /// The words, as a snapshot has them.
    pub(crate) fn image(&self) -> Image {
        let mut image = Image {
            doublings: 0,
            words: Vec::with_capacity(self.table.words()),
        };
        let Ok(()) = self.scan(&mut image);
        image
    }

    /// An empty filter that has room for the words of an image after so many doublings.
    pub(super) fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
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

    /// The filter that `image` is of.
    pub(super) fn from_image(geometry: Geometry, image: Image) -> Result<Self, SnapshotError> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        let Image { doublings, words } = image;
        let mut restored = Restored::new(levels.first, levels.first + doublings);
        let mut raw = if doublings == 0 {
            let table = Table::of_image(levels, words, &mut restored)?;
            Self::with_table(table)
                .ok_or(SnapshotError::Memory { buckets })?
                .growing_at(geometry::grow_at)
        } else {
            let raw = Self::for_images(geometry, doublings)?;
            let mut rest = &words[..];
            for buckets in chunks(buckets, chunk_buckets(levels.more)) {
                let (words, after) = rest.split_at(buckets.len() << doublings);
                raw.table.store_image(buckets, words, &mut restored)?;
                rest = after;
            }
            raw
        };
        raw.has_stored(&restored);
        Ok(raw)
    }
}

impl AnyFilter {
    /// After all images are stored.
    pub(super) fn has_stored(&mut self, restored: &Restored) {
        with_layout!(self, raw => raw.has_stored(restored));
    }
}

/// The chunks in which the buckets of a plane are scanned.
pub(crate) fn chunks(buckets: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..buckets)
        .step_by(size)
        .map(move |start| start..buckets.min(start + size))
}

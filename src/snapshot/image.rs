//! Scans of all words of a filter, while threads use the filter.

use crate::{
    raw::{RawFilter, frontier::memory::ScanError},
    table::layout::Layout,
};
#[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
use std::convert::Infallible;

/// Where a scan puts what it has read.
pub(super) trait Sink {
    type Error: ScanError;

    /// A pass begins, over 2^`doublings` planes, which are more than in the pass before. What that
    /// one put is void. At least one chunk follows.
    fn begin_pass(&mut self, doublings: u32) -> Result<(), Self::Error>;

    /// The words of the next chunk of buckets, plane by plane.
    fn chunk(&mut self, words: &[u64]) -> Result<(), Self::Error>;
}

/// The words of one pass over the filter, chunk by chunk of buckets, and in a chunk plane by plane.
#[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
#[derive(Default)]
struct Image(Vec<u64>);

#[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
impl Sink for Image {
    type Error = Infallible;

    fn begin_pass(&mut self, _doublings: u32) -> Result<(), Infallible> {
        self.0.clear();
        Ok(())
    }

    fn chunk(&mut self, words: &[u64]) -> Result<(), Infallible> {
        self.0.extend_from_slice(words);
        Ok(())
    }
}

impl<L: Layout> RawFilter<L> {
    /// Hands all words to `sink`: every item present during the whole call is
    /// in one of them.
    pub(super) fn scan<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let table = &self.table;
        let mut scan = self.begin_scan(Some(table.scan_level()))?;
        while let Some(chunk) = scan.next()? {
            if chunk.begins {
                sink.begin_pass(chunk.image.level - table.first_level())?;
            }
            sink.chunk(&chunk.image.words)?;
        }
        Ok(())
    }

    /// The words, as a snapshot has them.
    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn image(&self) -> Vec<u64> {
        let mut image = Image::default();
        let Ok(()) = self.scan(&mut image);
        image.0
    }
}

//! Scans of all words of a filter, while threads use the filter.

use super::{Now, RawFilter, frontier::scan::Chunk};
use crate::{
    error::SnapshotError,
    table::{
        layout::{Layout, Word},
        time::{Moment, Time},
        word::Bucket,
    },
};

/// Receives what a scan reads. An error ends the scan.
pub(crate) trait Sink {
    /// Begins a pass over 2^`doublings` planes, more than in the pass before, whose chunks no
    /// longer count. At least one chunk follows.
    fn begin_pass(&mut self, doublings: u32) -> Result<(), SnapshotError>;

    /// Takes the words of the next chunk of buckets, plane by plane, and the epoch in which they were
    /// read, which is 0 in a filter without time.
    fn chunk(&mut self, words: &[u64], epoch: u64) -> Result<(), SnapshotError>;
}

/// The words of one pass, by chunk of buckets, and within a chunk by plane.
#[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
#[derive(Default)]
pub(crate) struct Image(pub(crate) Vec<u64>);

#[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
impl Sink for Image {
    fn begin_pass(&mut self, _doublings: u32) -> Result<(), SnapshotError> {
        self.0.clear();
        Ok(())
    }

    fn chunk(&mut self, words: &[u64], _epoch: u64) -> Result<(), SnapshotError> {
        self.0.extend_from_slice(words);
        Ok(())
    }
}

impl<L: Layout> RawFilter<L> {
    /// Passes all words to `sink`, without copies that are dead in the epoch of their chunk. Every item
    /// that is present during the whole call is in one of them.
    ///
    /// The sink is dynamic, so that this is not compiled for each writer of a snapshot.
    pub(crate) fn scan(&self, sink: &mut dyn Sink) -> Result<(), SnapshotError> {
        let (table, most) = (&self.table, self.time.most());
        let mut scan = self.begin_scan::<SnapshotError>(Some(table.scan_level()))?;
        let mut words = Vec::new();
        while let Some(Chunk { begins, image, .. }) = scan.next::<SnapshotError>()? {
            if begins {
                sink.begin_pass(image.level - table.first_level())?;
            }
            if !L::EXPIRES {
                sink.chunk(&image.words, image.epoch)?;
                continue;
            }
            let now = Now::<L>::of(image.epoch, most);
            let live = |&word: &u64| now.without_dead(Word::<L>::unpack(word), 0).pack();
            words.clear();
            words.extend(image.words.iter().map(live));
            sink.chunk(&words, image.epoch)?;
        }
        Ok(())
    }

    /// The words, in the order of a snapshot.
    #[cfg(any(test, guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn image(&self) -> Vec<u64> {
        let mut image = Image::default();
        self.scan(&mut image).expect("there is memory");
        image.0
    }
}

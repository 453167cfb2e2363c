//! A filter that is built from the words of its snapshot.

use super::{assembly, header::Header};
use crate::{
    error::SnapshotError,
    filter::Filter,
    lifetime::{Kind, Lifetime, Timing},
    raw::{
        any::{Layouts, Ops},
        frontier::chunk_buckets,
        restore::Restart,
    },
    table::{
        scan::Restored,
        time::{Now, beginning::Beginning},
    },
};
use std::{hash::BuildHasher, ops::Range};

/// A filter, chunk by chunk.
pub(super) struct Place<T: Kind> {
    header: Header,
    raw: T::Raw,
    restored: Restored,
    /// For each chunk the epoch in which it was read, if items expire.
    epochs: Vec<u64>,
    /// The first word that no filter can have written, and where its chunk begins. It may be wrong because
    /// bytes were changed, which the checksum says first.
    wrong: Option<(usize, SnapshotError)>,
}

impl<T: Lifetime> Place<T> {
    /// A table with room for all planes after this number of doublings.
    pub(super) fn new(header: Header, doublings: u32) -> Result<Self, SnapshotError> {
        let buckets = header.geometry.buckets;
        let levels = header.geometry.series.table_levels();
        let raw = T::Raw::for_images(header.geometry, doublings)?;
        let mut epochs = Vec::new();
        if T::EXPIRES {
            let chunks = buckets.div_ceil(chunk_buckets(header.geometry.series.levels));
            let reserved = epochs.try_reserve_exact(chunks);
            reserved.map_err(|_| SnapshotError::Memory { buckets })?;
            epochs.resize(chunks, 0);
        }
        Ok(Self {
            header,
            raw,
            restored: Restored::new(levels.first, levels.first + doublings),
            epochs,
            wrong: None,
        })
    }

    /// The filter at the moment `now` in the epoch `epoch`, modulo [`CYCLE`](crate::raw::restore::CYCLE),
    /// when the last epochs began as `beginning` says, after all its words have come.
    pub(super) fn finish<S: BuildHasher + 'static>(
        mut self,
        hasher: S,
        (epoch, now): (u64, Now),
        beginning: Beginning,
    ) -> Result<Filter<S, T>, SnapshotError> {
        if let Some((_, error)) = self.wrong {
            return Err(error);
        }
        let restart = Restart {
            chunks: &self.epochs,
            epoch,
            now,
            most: self.header.window.epochs.into(),
            beginning,
        };
        self.raw.complete(&self.restored, &restart);
        let window = self.header.window;
        Ok(Filter::of_parts(
            hasher,
            self.raw,
            window,
            T::Timing::start(window),
        ))
    }
}

impl<T: Kind> assembly::Place for Place<T> {
    /// The number is the epoch in which the words were read. A word that cannot be is an error of
    /// [`finish`](Self::finish).
    fn put(&mut self, buckets: Range<usize>, words: &[u64], epoch: u64) {
        let chunk = buckets.start / chunk_buckets(self.header.geometry.series.levels);
        if let Some(then) = self.epochs.get_mut(chunk) {
            *then = epoch;
        }
        // Chunks come in any order, and the error is the same in each.
        let start = buckets.start;
        if self.wrong.as_ref().is_none_or(|&(first, _)| start < first) {
            let then = (epoch, self.header.window.epochs.into());
            let stored = self
                .raw
                .store_chunk(buckets, words, then, &mut self.restored);
            if let Err(error) = stored {
                self.wrong = Some((start, error));
            }
        }
    }

    fn bytes(&self) -> usize {
        size_of::<u64>() * self.epochs.capacity() + self.raw.bytes()
    }
}

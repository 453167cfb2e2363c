//! A filter that is built from the words of a snapshot, before other threads have it.

use super::{Now, RawFilter, frontier::chunk_buckets};
use crate::{
    error::SnapshotError,
    fault::faulty,
    geometry::Geometry,
    table::{
        Table,
        layout::{Layout, Word},
        scan::Restored,
        time::{
            self, Moment, Time,
            beginning::{Beginning, Reading},
        },
        word::Bucket,
    },
};
use std::{ops::Range, time::Duration};

/// The time of a filter that is restored.
pub(crate) struct Restart<'a> {
    /// For each chunk the epoch in which it was read.
    pub(crate) chunks: &'a [u64],
    /// The epoch at the end of the snapshot.
    pub(crate) epoch: u64,
    /// The moment then, whose epoch is that one modulo [`CYCLE`].
    pub(crate) now: time::Now,
    /// E: the age of the oldest live copies, at most.
    pub(crate) most: u64,
    /// When the last epochs began.
    pub(crate) beginning: Beginning,
}

/// Epochs are counted modulo this in a filter that is restored.
///
/// A snapshot from anyone may name an epoch that no filter reaches. If the filter continued there,
/// one epoch later its own snapshot would be refused. The ages of copies do not change, because the
/// number of tags divides this one.
pub(crate) const CYCLE: u64 = 1 << (time::Now::EPOCH_BITS - 2);

impl<L: Layout> RawFilter<L> {
    /// The moment, and how long ago the last epochs began, the last one first.
    pub(crate) fn end_and_ages(&self, clock: impl Fn() -> Reading) -> (time::Now, Vec<Duration>) {
        loop {
            let now = self.moment();
            let ages = self.time.ages(now, clock());
            // The ages may belong to other epochs if one has begun in the time between.
            if self.time.is_still(now) {
                return (now.timed(), ages);
            }
        }
    }

    /// The moment, and what is known of the beginnings of the last epochs.
    ///
    /// The beginnings are read first. Otherwise a later epoch could begin between the reads, and the
    /// copy would have the beginning of that later epoch. It would then consider its own epoch
    /// over, and never end it.
    pub(crate) fn end_and_beginning(&self) -> (time::Now, Beginning) {
        let early = faulty!(None, EndBeforeBeginning => Some(self.moment()));
        let beginning = self.time.beginning();
        (early.unwrap_or_else(|| self.moment()).timed(), beginning)
    }

    /// A filter with room for all planes after this number of doublings, whose words are all to be
    /// stored.
    pub(crate) fn for_images(geometry: Geometry, doublings: u32) -> Result<Self, SnapshotError> {
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        let table = Table::for_images(buckets, levels, levels.first + doublings);
        let raw = table.and_then(Self::with_table);
        let raw = raw.ok_or(SnapshotError::Memory {
            buckets: buckets << doublings,
        })?;
        Ok(raw.growing_early())
    }

    /// Stores the words of `buckets`, which were read in the epoch `epoch`. An error is a word that no
    /// scan can have made.
    pub(crate) fn store_chunk(
        &self,
        buckets: Range<usize>,
        words: &[u64],
        (epoch, oldest): (u64, u64),
        restored: &mut Restored,
    ) -> Result<(), SnapshotError> {
        self.table.store_image(buckets.clone(), words, restored)?;
        if !L::EXPIRES {
            return Ok(());
        }
        let then = Now::<L>::of(epoch, oldest);
        let holds_dead = |&bits: &u64| {
            let word = Word::<L>::unpack(bits);
            then.without_dead(word, 0) != word
        };
        let Some(index) = words.iter().position(holds_dead) else {
            return Ok(());
        };
        Err(SnapshotError::Word {
            bucket: buckets.start + index % buckets.len(),
            plane: index / buckets.len(),
            bits: words[index],
        })
    }

    /// Completes the filter, after all its words are stored. Copies that have died since their chunk
    /// was read are left out.
    pub(crate) fn complete(&mut self, restored: &Restored, restart: &Restart<'_>) {
        self.len.add(restored.items - restored.repeats);
        self.len.add_repeats(restored.repeats);
        self.table.set_level(restored.lowest);
        if L::EXPIRES {
            self.len.subtract(self.leave_out_dead(restart));
            self.time = L::Time::at(restart.now, restart.most, restart.beginning.duplicate());
        }
    }

    /// Leaves out the copies that have died between the epoch of their chunk and the last one, and
    /// returns how many these are.
    fn leave_out_dead(&self, restart: &Restart<'_>) -> u64 {
        let size = chunk_buckets(self.table.levels().more);
        let mut died = 0;
        for (chunk, &epoch) in restart.chunks.iter().enumerate() {
            // In whole numbers: since `epoch` more epochs may have begun than tags tell apart.
            let since = restart.epoch - epoch;
            let then = Now::<L>::of(epoch, restart.now.oldest());
            let start = chunk * size;
            let buckets = start..self.table.buckets().min(start + size);
            self.table.rewrite(buckets, |word| {
                let kept = then.without_dead(word, since);
                died += u64::from(word.occupied() - kept.occupied());
                self.len.subtract_repeats(word.repeats() - kept.repeats());
                kept
            });
        }
        died
    }
}

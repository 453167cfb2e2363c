//! An expiring filter that is built of the words of its snapshot.

use crate::{
    error::SnapshotError,
    expiring::{
        ExpiringFilter, Window,
        any::{AnyExpiring, of_series, with_layout, with_layout_or},
    },
    geometry::Geometry,
    raw::{RawFilter, frontier::chunk_buckets},
    snapshot::assembly,
    table::{
        layout::{PackedLayout, Word},
        scan::Restored,
        time::{Epochs, Moment, Now, beginning::Beginning},
        word::Bucket,
    },
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

/// Epochs are counted modulo this in a filter that is restored.
///
/// A snapshot from anyone may name an epoch that no filter reaches. If the filter continued there,
/// one epoch later its own snapshot would be refused. The ages of copies do not change, because the
/// number of tags divides this one.
pub(super) const CYCLE: u64 = 1 << (Now::EPOCH_BITS - 2);

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

    /// The filter at the moment `now` in the epoch `end`, modulo [`CYCLE`], when the last epochs began as
    /// `beginning` says, after all its words have come.
    /// Copies that have died since their chunk was read are left out.
    pub(super) fn finish<S: BuildHasher + 'static>(
        self,
        hasher: S,
        (end, now): (u64, Now),
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
        with_layout_or!(&mut raw, raw => {
            raw.complete_restore(&restored);
            raw.len.subtract(raw.leave_out_dead(&epochs, end, now.oldest()));
            raw.time = Epochs::new(window.epochs.into()).continued(now, beginning);
            // What is dead has been left out.
            raw.time.sweep_ends(raw.moment());
        }, _shared => unreachable!("a filter is read into memory of its own"));
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
            let (then, restored) = (Now::new(epoch, oldest), &mut self.restored);
            self.result = with_layout_or!(
                &self.raw,
                raw => raw.store_chunk(buckets, words, then, restored),
                _shared => unreachable!("a filter is read into memory of its own")
            );
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of::<u64>() * self.epochs.capacity() + with_layout!(&self.raw, raw => raw.bytes())
    }
}

impl<L: PackedLayout<Time = Epochs>> RawFilter<L> {
    /// Stores the words of `buckets`, read at the moment `then`. An error is a word that no scan can
    /// have made.
    fn store_chunk(
        &self,
        buckets: Range<usize>,
        words: &[u64],
        then: Now,
        restored: &mut Restored,
    ) -> Result<(), SnapshotError> {
        self.table.store_image(buckets.clone(), words, restored)?;
        let holds_dead = |&bits: &u64| {
            let word = Word::<L>::unpack(bits);
            word.without_dead(then) != word
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

    /// Leaves out the copies that have died between the epoch of their chunk and `end`, and returns
    /// how many these are.
    fn leave_out_dead(&self, epochs: &[u64], end: u64, oldest: u64) -> u64 {
        let size = chunk_buckets(self.table.levels().more);
        let mut died = 0;
        for (chunk, &epoch) in epochs.iter().enumerate() {
            // In whole numbers: since `epoch` more epochs may have begun than tags tell apart.
            let since = end - epoch;
            let then = Now::new(epoch, oldest);
            let start = chunk * size;
            let buckets = start..self.table.buckets().min(start + size);
            self.table.rewrite(buckets, |word| {
                let is_dead = |entry| Moment::<Word<L>>::age(then, entry) + since > oldest;
                let kept = word.without_entries(is_dead);
                died += u64::from(word.occupied() - kept.occupied());
                kept
            });
        }
        died
    }
}

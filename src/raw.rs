//! The protocol: the operations on classes, in one layout.
//!
//! `docs/DESIGN.md` describes the states and operations. `docs/PROOF.md` and `docs/proof/` have the
//! proof and the pairs of orderings; they use the names of [`Step`](crate::step::Step).

mod advance;
pub(crate) mod any;
mod attempts;
pub(crate) mod batch;
mod clear;
pub(crate) mod copies;
pub(crate) mod counters;
pub(crate) mod crew;
pub(crate) mod expire;
pub(crate) mod frontier;
mod hop;
pub(crate) mod image;
mod insert;
pub(crate) mod len;
mod lookup;
pub(crate) mod lower;
mod merge;
pub(crate) mod moves;
pub(crate) mod pieces;
mod refresh;
pub(crate) mod relocate;
mod remove;
pub(crate) mod restore;
mod search;
#[cfg(feature = "shared")]
pub(crate) mod shared;
mod shrink;
mod token;
pub(crate) mod union;
mod unique;
pub(crate) mod version;

use crate::{
    geometry::{Geometry, Series},
    memory::{Extra, Storage},
    stats::Stats,
    table::{
        Levels, Table,
        class::Class,
        layout::{Layout, Word},
        time::{self, Moment, Time, beginning::Beginning},
    },
};
use counters::Counting;
use crew::{Crew, places::Place};
use frontier::{Frontiers, chunk_buckets, memory::NoSeat};
use len::Len;
use std::time::Duration;
use version::Versions;

/// The buckets of one filter, and all other state of the protocol.
pub(crate) struct RawFilter<L: Layout> {
    pub(crate) table: Table<L>,
    pub(crate) versions: Versions<L::Storage>,
    pub(crate) frontiers: Frontiers,
    pub(crate) len: Len<L::Storage, L::Kind, L::Counted>,
    pub(crate) time: L::Time,
    /// The threads at work in a filter that processes share.
    pub(crate) crew: <L::Storage as Storage>::Extra<Crew>,
}

/// A moment of a filter's time.
pub(crate) type Now<L> = <<L as Layout>::Time as Time<Word<L>>>::Now;

impl<L: Layout> RawFilter<L> {
    /// An empty filter of `buckets` buckets that go through `levels`;
    /// `None` if there is no memory.
    pub(crate) fn new(buckets: usize, levels: Levels) -> Option<Self> {
        Self::with_table(Table::new(buckets, levels)?)
    }

    /// The filter with the words of `table`, whose items are not counted yet.
    pub(crate) fn with_table(table: Table<L>) -> Option<Self> {
        let (buckets, levels) = (table.buckets(), table.levels().more);
        Some(Self {
            versions: Versions::new(buckets)?,
            frontiers: Frontiers::new(chunk_buckets(levels)),
            len: Len::new(table.words()),
            time: L::Time::default(),
            crew: Default::default(),
            table,
        })
    }

    /// An empty filter of this geometry, in which copies with an age of at most `oldest` are live;
    /// `None` if there is no memory for it.
    pub(crate) fn empty(geometry: &Geometry, oldest: u64) -> Option<Self> {
        let raw = Self::new(geometry.buckets, geometry.series.table_levels())?;
        let beginning = Beginning::in_epoch(0, vec![Duration::ZERO]);
        let time = L::Time::at(time::Now::new(0, oldest), oldest, beginning);
        Some(raw.growing_early().with_time(time))
    }

    /// The filter, which from now on begins levels early: before it runs out of room.
    pub(crate) fn growing_early(mut self) -> Self {
        self.table.begin_early();
        self
    }

    /// The moment at which the call reads the time.
    #[inline(always)]
    pub(crate) fn moment(&self) -> Now<L> {
        self.time.now()
    }

    /// The number of the epoch; 0 without time.
    pub(crate) fn epoch(&self) -> u64 {
        self.moment().number()
    }

    /// The filter with this time.
    pub(crate) fn with_time(self, time: L::Time) -> Self {
        Self { time, ..self }
    }

    /// The threads at work, if processes share the filter.
    #[inline(always)]
    pub(crate) fn crew(&self) -> Option<&Crew> {
        self.crew.get()
    }

    /// What identifies the memory of the filter, if processes share it.
    pub(crate) fn memory(&self) -> Option<[u64; 2]> {
        self.crew()?.members.memory()
    }

    /// A place for a scan, if processes share the filter.
    pub(crate) fn place(&self) -> Result<Option<Place>, NoSeat> {
        let take = |crew: &Crew| crew.places.take().ok_or(NoSeat);
        self.crew().map(take).transpose()
    }

    /// The series of the words.
    pub(crate) fn series(&self) -> Series {
        Series::of_layout::<L>(self.table.levels())
    }

    /// Removes everything. The counters and the epoch stay.
    pub(crate) fn reset(&mut self) {
        self.table.clear();
        self.len.reset();
        // Nothing is dead.
        self.time.note_swept(self.moment());
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.versions.bytes() + self.len.bytes()
    }

    /// The [`bytes`](Self::bytes) of a filter with planes of `buckets` buckets that has doubled so often.
    pub(crate) fn bytes_for(buckets: usize, more: u32, doublings: u32) -> usize {
        let words = buckets << doublings;
        Table::<L>::bytes_for(buckets, more, doublings)
            + Versions::<L::Storage>::bytes_for(buckets)
            + Len::<L::Storage, L::Kind, L::Counted>::bytes_for(words)
    }

    /// What threads share.
    #[cfg(guira_faults)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        let mut fields = self.table.fields();
        fields.push(self.versions.field());
        fields.push(self.frontiers.field());
        fields.extend(self.len.fields());
        fields
    }

    /// The counters off the fast path, for this thread.
    pub(crate) fn counters(&self) -> Counting<'_> {
        self.len.counters()
    }

    /// The fields of [`Stats`] that are counted off the fast path. The others are 0.
    pub(crate) fn stats(&self) -> Stats {
        self.len.stats()
    }

    #[inline(always)]
    pub(crate) fn class(&self, hash: u64) -> Class {
        self.table.view().class(hash)
    }
}

#[cfg(test)]
mod growing_expiring_tests;
#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
pub(crate) mod tests;

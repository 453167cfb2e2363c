//! The protocol: the operations on classes, in one layout.
//!
//! `docs/DESIGN.md` describes the states and operations. `docs/PROOF.md` has the proof and the pairs
//! of orderings; it uses the names of [`Step`](crate::step::Step).

mod advance;
pub(crate) mod any;
pub(crate) mod batch;
mod clear;
mod copies;
pub(crate) mod counters;
mod expire;
pub(crate) mod frontier;
mod insert;
mod len;
mod lookup;
mod merge;
pub(crate) mod moves;
mod refresh;
pub(crate) mod relocate;
mod remove;
mod search;
mod token;
pub(crate) mod union;
mod unique;
pub(crate) mod version;

use crate::table::{
    Levels, Table,
    class::Class,
    layout::{Layout, Word},
    time::Time,
};
use counters::Counters;
use frontier::{Frontiers, chunk_buckets};
use len::Len;
use version::Versions;

/// The buckets of one filter, and all other state of the protocol.
pub(crate) struct RawFilter<L: Layout> {
    pub(crate) table: Table<L>,
    pub(crate) versions: Versions,
    pub(crate) frontiers: Frontiers,
    pub(crate) len: Len,
    grow_at: GrowAt,
    /// In a box, because writers write them and lookups read the cache line of the other fields.
    pub(crate) counters: Box<Counters>,
    pub(crate) time: L::Time,
}

/// A moment of a filter's time.
type Now<L> = <<L as Layout>::Time as Time<Word<L>>>::Now;

/// Returns the number of items at which the next level begins. The arguments are the number of buckets
/// of a plane, the levels of the filter, and the current level.
pub(crate) type GrowAt = fn(usize, Levels, u32) -> usize;

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
            len: if L::GROWS {
                Len::growing(table.words())
            } else {
                Len::new(buckets)
            },
            grow_at: |_, _, _| usize::MAX,
            counters: Box::default(),
            time: L::Time::default(),
            table,
        })
    }

    /// The filter, which from now on begins levels early: before it runs out of room.
    pub(crate) fn growing_at(self, grow_at: GrowAt) -> Self {
        Self { grow_at, ..self }
    }

    /// The filter with this time.
    pub(crate) fn with_time(self, time: L::Time) -> Self {
        Self { time, ..self }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Counters>() + self.table.bytes() + self.versions.bytes() + self.len.bytes()
    }

    /// What threads share.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        let mut fields = self.table.fields();
        fields.push(self.versions.field());
        fields.push(self.frontiers.field());
        fields.extend(self.len.fields());
        fields.extend(self.counters.fields());
        fields
    }

    #[inline(always)]
    pub(crate) fn class(&self, hash: u64) -> Class {
        self.table.view().class(hash)
    }
}

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
pub(crate) mod tests;

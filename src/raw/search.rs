//! Search for a path: words that relocations can reach, breadth first, up to an empty slot.
//!
//! | promise | a path that is there throughout is found, in the words of one level |
//! |---|---|
//! | how | DESIGN, section 5 |
//! | why | PROOF, section 8 |
//! | checked by | insert, growth_insert |
//! | break it | `cargo xtask break SearchForgetsPlane` |

use super::{RawFilter, moves::Hop};
use crate::{
    fault::faulty,
    sync,
    table::{
        class::alternate,
        entry::{Entry, Fingerprint},
        layout::Layout,
        time::Time,
        word::{Bucket, lanes::MAX_SLOTS},
    },
};
use arrayvec::ArrayVec;

/// Words that a search probes before it gives up. They suffice for the load factors of `geometry`,
/// and `Full` is returned within microseconds if no other thread's moves are in the way. (In models
/// tables and stacks are tiny.)
const MAX_PROBES: usize = if sync::IN_MODEL { 64 } else { 1024 };

/// The same for a filter between two levels: to split a few words is cheaper than
/// a long search. (A level begins only after a long one.)
const MAX_PROBES_TO_SPLIT: usize = 64;

/// Below this many probes duplicates are not tracked: tracking would cost more than it saves.
const FEW: usize = MAX_PROBES / 8;

// The roots have been expanded by then.
const _: () = assert!(FEW > MAX_SLOTS);

/// The roots, and the probes; the last word's residents may exceed their bound.
const MAX_NODES: usize = 2 + MAX_PROBES + MAX_SLOTS;

/// Hashes of buckets.
const HASHES: usize = 4 * MAX_PROBES;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The last node has an empty slot.
    Path,
    /// No path, but a move in progress may have hidden one.
    Blocked,
    /// No path as far as a search may look.
    NotSoFar,
    /// No path: all words that relocations can reach were full, each when it was
    /// looked at.
    Nothing,
}

/// A word that the search has reached.
#[derive(Clone, Copy)]
struct Node {
    bucket: usize,
    /// The bits of the parent's resident whose alternate this bucket is; of a root, those of the
    /// fingerprint that wants in. Entries have 32 bits at most.
    entry: u32,
    /// Index of the parent; its own index for a root.
    parent: u32,
}

impl Node {
    fn entry(&self) -> Entry {
        Entry::new(self.entry.into())
    }
}

/// Breadth-first search over the words that relocations can reach.
///
/// It lies on the stack, so that an insert needs no memory but to grow.
#[derive(Default)]
pub(crate) struct Search {
    nodes: ArrayVec<Node, MAX_NODES>,
    /// By a hash of its bucket the last node with that hash; in use from [`FEW`] probes on.
    /// Many residents may lead to one bucket, and copies of one item all do: without it
    /// their ways would use up a search among few buckets. (All words of a search are of
    /// one plane, but between two levels, where a search is short.)
    last: ArrayVec<u16, HASHES>,
    /// The filter's level before the search.
    pub(crate) level: u32,
    /// A scan in progress forbids a move that the search looked at.
    parted: bool,
}

impl Search {
    /// Searches from `roots`, buckets of `fingerprint`, for a word with an empty slot.
    /// `wary`: knows of each stripe whether it is held before it goes that way, not only
    /// of a path's when it has one. It is slower, and holds are rare and short.
    pub(crate) fn run<L: Layout>(
        &mut self,
        raw: &RawFilter<L>,
        fingerprint: Fingerprint,
        roots: &[usize],
        wary: bool,
    ) -> Found {
        let table = &raw.table;
        self.nodes.clear();
        self.last.clear();
        self.parted = false;
        self.level = table.level();
        let max_probes = if table.is_growing(self.level) {
            MAX_PROBES_TO_SPLIT
        } else {
            MAX_PROBES
        };
        let (view, now) = (table.view(), raw.time.now());
        for &bucket in roots {
            let root = self.nodes.len();
            self.push(bucket, Entry::untagged(fingerprint), root);
            if view
                .load_for_update(fingerprint, bucket)
                .word()
                .has_vacancy()
            {
                return Found::Path;
            }
        }
        let scans = (!raw.frontiers.are_idle()).then(|| raw.frontiers.look());
        let is_held = |hop: Hop| raw.versions.of(hop.class::<L>()).is_held();
        let mut blocked = false;
        let (mut next, mut probes) = (0, 0);
        while next < self.nodes.len() && probes < max_probes {
            let (parent, from) = (next, self.nodes[next]);
            next += 1;
            let one = L::fingerprint(from.entry());
            let word = view.load_for_update(one, from.bucket).word();
            if !word.is_unmarked() {
                blocked = true;
                continue;
            }
            let residents = faulty!(word.residents(one), SearchForgetsPlane => word.residents(Fingerprint::NONE));
            for entry in residents {
                probes += 1;
                let fingerprint = L::fingerprint(entry);
                let to = alternate(fingerprint, from.bucket, view.buckets());
                raw.expire_on_the_way(&view, to, now);
                let word = view.load_for_update(fingerprint, to).word();
                // A move that a scan would refuse, or a held stripe, gets no further
                // than its outline.
                let parted = scans
                    .as_ref()
                    .is_some_and(|scans| !scans.permits(from.bucket, to));
                let hop = Hop {
                    entry,
                    from: from.bucket,
                    to,
                };
                self.parted |= parted;
                let held = wary && is_held(hop);
                if parted || held || !word.is_unmarked() {
                    blocked = true;
                    continue;
                }
                let known = self.is_ancestor(parent, to)
                    || !self.last.is_empty() && !self.learn(self.nodes.len(), to);
                if known {
                    continue;
                }
                self.push(to, entry, parent);
                if word.has_vacancy() {
                    if !self.hops().any(is_held) {
                        return Found::Path;
                    }
                    blocked = true;
                }
            }
            if self.last.is_empty() && probes >= FEW {
                self.know_buckets(next);
            }
        }
        if blocked {
            Found::Blocked
        } else if next < self.visited() {
            Found::NotSoFar
        } else {
            Found::Nothing
        }
    }

    #[inline(always)]
    fn push(&mut self, bucket: usize, entry: Entry, parent: usize) {
        self.nodes.push(Node {
            bucket,
            entry: entry.bits() as u32,
            parent: parent as u32,
        });
    }

    /// True if `bucket` lies on the path to node `index`: a path that crosses
    /// itself would undo its own moves.
    fn is_ancestor(&self, mut index: usize, bucket: usize) -> bool {
        loop {
            let node = &self.nodes[index];
            if node.bucket == bucket {
                return true;
            }
            if node.parent as usize == index {
                return false;
            }
            index = node.parent as usize;
        }
    }

    /// From here on `bucket` is known to be reached: by node `number`, if it was not yet. True
    /// if it was not.
    ///
    /// Of two buckets with one hash, only the later one is known. Hardly one bucket in ten is
    /// forgotten, and it costs some probes if it is reached again. To keep both would take an
    /// unpredictable branch.
    #[inline(always)]
    fn learn(&mut self, number: usize, bucket: usize) -> bool {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let hash = (bucket as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let last = &mut self.last[(hash >> (u64::BITS - HASHES.ilog2())) as usize];
        // Where there is none yet, the first root, which is reached.
        let new = self.nodes[usize::from(*last)].bucket != bucket;
        if new {
            *last = number as u16;
        }
        new
    }

    /// From here on buckets are known. Of the nodes from `next` on, which have no children
    /// yet, those of buckets that are reached already are dropped.
    #[cold]
    fn know_buckets(&mut self, next: usize) {
        let nothing: &[u16] = &[0; HASHES];
        let fits = self.last.try_extend_from_slice(nothing);
        debug_assert!(fits.is_ok());
        let mut kept = 0;
        for index in 0..self.nodes.len() {
            let node = self.nodes[index];
            if self.learn(kept, node.bucket) || index < next {
                self.nodes[kept] = node;
                kept += 1;
            }
        }
        self.nodes.truncate(kept);
    }

    /// True if a scan in progress was in the way.
    pub(super) fn was_parted(&self) -> bool {
        self.parted
    }

    /// How many words the search has reached.
    pub(crate) fn visited(&self) -> usize {
        self.nodes.len()
    }

    /// The words that the search has reached: each by a fingerprint that led there, and
    /// its bucket.
    pub(crate) fn reached<L: Layout>(&self) -> impl Iterator<Item = (Fingerprint, usize)> + Clone {
        let nodes = self.nodes.iter();
        nodes.map(|node| (L::fingerprint(node.entry()), node.bucket))
    }

    /// The hops of the path that was found, the last one first.
    pub(crate) fn hops(&self) -> impl Iterator<Item = Hop> {
        let mut index = self.nodes.len() - 1;
        std::iter::from_fn(move || {
            let node = &self.nodes[index];
            let parent = node.parent as usize;
            let hop = Hop {
                entry: node.entry(),
                from: self.nodes[parent].bucket,
                to: node.bucket,
            };
            (parent != index).then(|| {
                index = parent;
                hop
            })
        })
    }
}

#[cfg(test)]
mod tests;

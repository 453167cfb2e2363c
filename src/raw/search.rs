//! Breadth-first search for a path of relocations that ends at an empty slot.
//!
//! | promise | a path that is there throughout is found, in the words of one level |
//! |---|---|
//! | how | DESIGN, section 5 |
//! | why | PROOF, section 8 |
//! | checked by | insert, growth_insert |
//! | break it | `cargo xtask break SearchForgetsPlane` |

use super::{
    RawFilter,
    crew::{Hands, Line},
    frontier::Look,
    moves::Hop,
};
use crate::{
    fault::faulty,
    memory::Storage,
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

/// The maximum number of words that a search probes. It suffices for the load factors of `geometry`,
/// and `Full` is returned within microseconds if no other thread's moves interfere. (In models,
/// tables and stacks are tiny.)
const MAX_PROBES: usize = if sync::IN_MODEL { 64 } else { 1024 };

/// The maximum for a filter between two levels, where splitting a few words is cheaper than a long
/// search. (A level begins only after a long search.)
const MAX_PROBES_TO_SPLIT: usize = 64;

/// Below this many probes duplicates are not tracked: tracking would cost more than it saves.
const FEW: usize = MAX_PROBES / 8;

// The roots have been expanded before.
const _: () = assert!(FEW > MAX_SLOTS);

/// The maximum number of nodes: the roots and the probes. The residents of the last word may exceed
/// the bound on probes.
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
    /// No path within the allowed number of probes.
    NotSoFar,
    /// No path: every word that relocations can reach was full when it was probed.
    Nothing,
}

/// A word that the search has reached.
#[derive(Clone, Copy)]
struct Node {
    /// There are at most 2^32 buckets, and fewer in models.
    bucket: u32,
    /// Index of the parent; its own index for a root.
    parent: u32,
    /// The parent's resident whose alternate bucket this is. For a root, the fingerprint to be
    /// inserted.
    entry: Entry,
}

impl Node {
    fn bucket(&self) -> usize {
        self.bucket as usize
    }
}

/// Breadth-first search over the words that relocations can reach.
///
/// It is on the stack, so an insert allocates only to grow. It is made at run time, because the compiler
/// would initialise all of a constant.
#[derive(Default)]
pub(crate) struct Search {
    nodes: ArrayVec<Node, MAX_NODES>,
    /// For each hash of a bucket, the last node with that hash; used from [`FEW`] probes on. Many
    /// residents may lead to one bucket, and all copies of an item do. Without this table a search
    /// would be spent on few buckets. (All words of a search are in one plane, except between two
    /// levels, where searches are short.)
    last: ArrayVec<u16, HASHES>,
    /// The filter's level before the search.
    pub(crate) level: u32,
    /// True if a scan in progress forbids a move that the search considered.
    parted: bool,
}

impl Search {
    /// Searches from `roots`, buckets of `fingerprint`, for a word with an empty slot. A `wary` search
    /// checks the stripe and the gate of each hop before it follows it. Other searches check only the
    /// stripes of a path that they have found: that is faster, and it is rare that a stripe is held or a
    /// gate taken.
    pub(crate) fn run<L: Layout>(
        &mut self,
        raw: &RawFilter<L>,
        hands: impl Hands,
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
        let places = hands.places();
        let scans = (!raw.frontiers.are_idle(places)).then(|| raw.frontiers.look(places));
        let checks_hops = wary || scans.is_some();
        let mut blocked = false;
        let (mut next, mut probes) = (0, 0);
        while next < self.nodes.len() && probes < max_probes {
            let (parent, from) = (next, self.nodes[next]);
            next += 1;
            let one = L::fingerprint(from.entry);
            let word = view.load_for_update(one, from.bucket()).word();
            if !word.is_unmarked() {
                blocked = true;
                continue;
            }
            let residents = faulty!(word.residents(one), SearchForgetsPlane => word.residents(Fingerprint::NONE));
            for entry in residents {
                probes += 1;
                let fingerprint = L::fingerprint(entry);
                // The entry of another layout is its fingerprint, and not 0.
                let may_be_none = L::Storage::SHARED && (L::GROWS || L::EXPIRES);
                if may_be_none && !L::is_of_item(fingerprint) {
                    continue;
                }
                let to = alternate(fingerprint, from.bucket(), view.buckets());
                raw.expire_on_the_way(hands, &view, fingerprint, to, now);
                let word = view.load_for_update(fingerprint, to).word();
                let hop = Hop {
                    entry,
                    from: from.bucket(),
                    to,
                };
                let stopped = checks_hops && self.is_stopped(raw, hands, scans.as_ref(), wary, hop);
                if stopped || !word.is_unmarked() {
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
                    if self.is_free(raw) {
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

    /// True if a scan, or another thread, would stop a move after its outline.
    #[cold]
    #[inline(never)]
    fn is_stopped<L: Layout>(
        &mut self,
        raw: &RawFilter<L>,
        hands: impl Hands,
        scans: Option<&Look<'_>>,
        wary: bool,
        hop: Hop,
    ) -> bool {
        let parted = scans.is_some_and(|scans| !scans.permits(hop.from, hop.to));
        self.parted |= parted;
        let is_taken = |line: &Line<'_>| line.is_taken(hop.class::<L>());
        parted || wary && (is_held(raw, hop) || hands.line().is_some_and(is_taken))
    }

    /// True if no stripe of the path's hops is held. (This is apart from the loop, which has no registers
    /// to spare.)
    #[inline(never)]
    fn is_free<L: Layout>(&self, raw: &RawFilter<L>) -> bool {
        !self.hops().any(|hop| is_held(raw, hop))
    }

    #[inline(always)]
    fn push(&mut self, bucket: usize, entry: Entry, parent: usize) {
        self.nodes.push(Node {
            bucket: bucket as u32,
            parent: parent as u32,
            entry,
        });
    }

    /// True if `bucket` is on the path to node `index`. A path that crosses itself would undo its own
    /// moves.
    fn is_ancestor(&self, mut index: usize, bucket: usize) -> bool {
        loop {
            let node = &self.nodes[index];
            if node.bucket() == bucket {
                return true;
            }
            if node.parent as usize == index {
                return false;
            }
            index = node.parent as usize;
        }
    }

    /// Records that node `number` has reached `bucket`. Returns true if it is the first known node to
    /// do so.
    ///
    /// Of two buckets with one hash, only the later one is recorded. Fewer than one bucket in ten is
    /// forgotten, and reaching it again costs some probes. Keeping both would take an unpredictable
    /// branch.
    #[inline(always)]
    fn learn(&mut self, number: usize, bucket: usize) -> bool {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let hash = (bucket as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let last = &mut self.last[(hash >> (u64::BITS - HASHES.ilog2())) as usize];
        // Unused entries are 0, the first root, which has been reached.
        let new = self.nodes[usize::from(*last)].bucket() != bucket;
        if new {
            *last = number as u16;
        }
        new
    }

    /// Starts to record buckets. Drops nodes from `next` on, which have no children yet, if their
    /// buckets have been reached already.
    #[cold]
    fn know_buckets(&mut self, next: usize) {
        let nothing: &[u16] = &[0; HASHES];
        let fits = self.last.try_extend_from_slice(nothing);
        debug_assert!(fits.is_ok());
        let mut kept = 0;
        for index in 0..self.nodes.len() {
            let node = self.nodes[index];
            if self.learn(kept, node.bucket()) || index < next {
                self.nodes[kept] = node;
                kept += 1;
            }
        }
        self.nodes.truncate(kept);
    }

    /// True if a scan in progress prevented a move.
    pub(super) fn was_parted(&self) -> bool {
        self.parted
    }

    /// The number of words that the search has reached.
    pub(crate) fn visited(&self) -> usize {
        self.nodes.len()
    }

    /// The words that the search has reached, each as its bucket and a fingerprint that led there.
    pub(crate) fn reached<L: Layout>(&self) -> impl Iterator<Item = (Fingerprint, usize)> + Clone {
        let nodes = self.nodes.iter();
        nodes.map(|node| (L::fingerprint(node.entry), node.bucket()))
    }

    /// The hops of the path, from the last to the first.
    pub(crate) fn hops(&self) -> impl Iterator<Item = Hop> {
        let mut index = self.nodes.len() - 1;
        std::iter::from_fn(move || {
            let node = &self.nodes[index];
            let parent = node.parent as usize;
            let hop = Hop {
                entry: node.entry,
                from: self.nodes[parent].bucket(),
                to: node.bucket(),
            };
            (parent != index).then(|| {
                index = parent;
                hop
            })
        })
    }
}

/// True if a thread holds the stripe of a hop.
fn is_held<L: Layout>(raw: &RawFilter<L>, hop: Hop) -> bool {
    raw.versions.of(hop.class::<L>()).is_held()
}

#[cfg(test)]
mod tests;

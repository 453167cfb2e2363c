//! Filters of several processes on the same words, for models of recovery.
//!
//! Each process has a filter of its own, as in `guira-shm`. What one of them leaves when it dies is
//! what its threads have done up to then. Whether a process lives, and which one repairs it, are
//! numbers with Release and Acquire, as the kernel's locks are.

mod expiring;

pub use expiring::{ExpiringProcess, ExpiringProcesses, STEPS_OF_WITHHOLD, Withholds};

use super::{Filter, Item, Small, growth::PHASE_BITS as GROWS};
use crate::{
    fault::{self, Fault, faulty},
    memory::{Members, Memory, Seat},
    raw::{
        Now, RawFilter,
        crew::{Repaired, TakenLine},
        moves::{Fill, Hop},
        shared::SharedPlace,
    },
    step::Step,
    sync::{self, AtomicU64, Ordering},
    table::{
        Levels,
        entry::Entry,
        layout::{Layout, Shared},
        time::Moment,
        word::Bucket,
    },
};
use std::{ops::Range, sync::Arc};

pub use crate::raw::moves::stopped::{STEPS, STEPS_OF_PATH};

/// The processes of a model, by their numbers.
#[expect(missing_debug_implementations, reason = "models show words")]
pub struct Group<L: Layout> {
    filters: Vec<Filter<Shared<L>>>,
    locks: Arc<Locks>,
}

/// Processes whose filter does not forget. With a phase it can grow.
pub type Processes<const PHASE_BITS: u32 = 0> = Group<Small<2, PHASE_BITS>>;

/// Processes whose filter can grow.
pub type GrowingProcesses = Processes<GROWS>;

/// The filter of one process.
pub type Process<const PHASE_BITS: u32 = 0> = Filter<Shared<Small<2, PHASE_BITS>>>;

type RawOf<const PHASE_BITS: u32> = RawFilter<Shared<Small<2, PHASE_BITS>>>;

/// The filter of one process, which can grow.
pub type GrowingProcess = Process<GROWS>;

/// What the locks of the processes say: 0 while one lives.
struct Locks(Vec<AtomicU64>);

/// The process is dead.
const DEAD: u64 = 1;

/// The process is dead, and another one repairs it.
const CLAIMED: u64 = 2;

impl Locks {
    fn new(processes: usize) -> Arc<Self> {
        Arc::new(Self((0..processes).map(|_| AtomicU64::new(0)).collect()))
    }

    fn die(&self, process: usize) {
        // Release: the kernel ends the lock of a process after all that the process has done.
        self.0[process].store(DEAD, Ordering::Release);
    }

    fn is_alive(&self, process: usize) -> bool {
        // Acquire: pairs with the Release of `die`.
        let lock = self.0[process].load(Ordering::Acquire);
        // The lock of a repairer is not that of a life.
        faulty!(lock == 0, RepairerLives => lock != DEAD)
    }

    /// Claims a process that is dead, unless another one does.
    fn claim(&self, process: usize) -> bool {
        let (new, acquire) = (CLAIMED, Ordering::Acquire);
        // AcqRel: as locks are.
        let claim = self.0[process].compare_exchange(DEAD, new, Ordering::AcqRel, acquire);
        faulty!(claim.is_ok(), FalseDeath => true)
    }

    /// The repair is over.
    fn end_claim(&self, process: usize) {
        self.die(process);
    }
}

impl<L: Layout> Filter<Shared<L>> {
    /// A scan that ends before its first chunk.
    pub fn begin_and_end_scan(&self) {
        let place = self.0.place().expect("a seat");
        place.expect("processes share it").end();
    }

    fn line(&self) -> TakenLine<'_> {
        let crew = self.0.crew().expect("processes share it");
        crew.take_line().expect("a line")
    }
}

impl<const PHASE_BITS: u32> Process<PHASE_BITS> {
    /// Relocates a copy of `item`. False if the move was given up.
    pub fn relocate(&self, item: Item, from: usize) -> bool {
        self.relocate_entry(item.hop(item.entry(), from))
    }

    /// Relocates each item out of the bucket given with it, in this order. Every item except the
    /// first moves into the slot that the one before has left. False if one of them was given up.
    pub fn relocate_path(&self, path: &[(Item, usize)]) -> bool {
        let hops = path
            .iter()
            .map(|&(item, from)| item.hop(item.entry(), from))
            .collect::<Vec<_>>();
        self.0
            .relocate(&self.line().for_moves(), hops.into_iter(), Fill::Hole)
    }
}

impl GrowingProcess {
    /// Splits the word of `item` in `bucket` from `level` to the next one. False if that has not
    /// begun.
    pub fn split_begun(&self, item: Item, bucket: usize, level: u32) -> bool {
        let table = &self.0.table;
        let has_begun = table.is_growing(level);
        if has_begun {
            table.split(item.0.fingerprint.low_bits(level), bucket, level);
        }
        has_begun
    }

    /// True if a process that opens the filter would refuse what is said of its growth.
    pub fn has_wrong_progress(&self) -> bool {
        self.0.table.wrong_progress().is_some()
    }
}

/// Memory that is there when it is committed.
struct Late {
    words: Box<[AtomicU64]>,
    /// The words from this one on are not committed.
    end: AtomicU64,
}

impl Memory for Late {
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    fn commit(&self, words: Range<usize>) -> bool {
        // Relaxed: as in `touch`.
        self.end.fetch_max(words.end as u64, Ordering::Relaxed);
        true
    }

    fn touch(&self, word: usize) {
        // Relaxed: the kernel orders more than that.
        let end = self.end.load(Ordering::Relaxed);
        assert!((word as u64) < end, "a word without memory");
    }
}

/// The seat of one process.
struct Only {
    member: usize,
    locks: Arc<Locks>,
}

impl Members for Only {
    fn seat(&self) -> Option<Seat> {
        Some(Seat::new(self.member as u32, 0))
    }

    fn is_alive(&self, member: usize) -> bool {
        self.locks.is_alive(member)
    }

    fn repair_dead(&self, _at_once: bool, _repair: &mut dyn FnMut(usize) -> bool) -> bool {
        false
    }
}

impl Processes {
    /// Processes with a filter in which each bucket holds the given items.
    pub fn new(processes: usize, residents: &[&[Item]]) -> Self {
        let words = sync::zeroed(64).expect("a few bytes");
        Self::with(Arc::new(words), processes, residents, 0)
    }
}

impl GrowingProcesses {
    /// Processes with a filter in which each bucket holds the given items, and which can double
    /// `levels` times.
    pub fn growing(processes: usize, residents: &[&[Item]], levels: u32) -> Self {
        let words = sync::zeroed(128).expect("a few bytes");
        Self::with(Arc::new(words), processes, residents, levels)
    }

    /// The same, where words have memory only after they are committed.
    pub fn growing_in_late_memory(processes: usize, residents: &[&[Item]], levels: u32) -> Self {
        let late = Late {
            words: sync::zeroed(128).expect("a few bytes"),
            end: AtomicU64::new(0),
        };
        Self::with(Arc::new(late), processes, residents, levels)
    }

    /// The process commits the segment of the level after `level`, and dies before it says that the
    /// segment is in use.
    pub fn die_in_begin(&self, process: usize, level: u32) {
        let progress = self.of(process).0.table.progress();
        let progress = progress.expect("processes share it");
        let number = level as usize + 1;
        if fault::is(Fault::PublishBeforeCommit) {
            progress.publish(number);
        } else {
            progress.commit(number);
        }
        self.die(process);
    }
}

impl<const PHASE_BITS: u32> Processes<PHASE_BITS> {
    fn with(memory: Arc<dyn Memory>, processes: usize, residents: &[&[Item]], more: u32) -> Self {
        let levels = Levels { first: 0, more };
        let all = Self::on(memory, processes, residents.len(), levels, 0);
        all.of(0)
            .fill(residents, |item| (*item, item.entry()), Bucket::plus);
        all
    }

    /// The process makes the first `steps` steps of a move, and dies.
    pub fn die_in_move(&self, process: usize, item: Item, from: usize, steps: usize) {
        self.die_moving(process, item.hop(item.entry(), from), None, steps);
    }

    /// The process makes the first `steps` steps of a move that leaves the outline of another item
    /// where the first one was, and dies.
    pub fn die_in_path(&self, process: usize, item: Item, from: usize, next: Item, steps: usize) {
        let next = Some(next.entry());
        self.die_moving(process, item.hop(item.entry(), from), next, steps);
    }

    fn die_moving(&self, process: usize, hop: Hop, next: Option<Entry>, steps: usize) {
        self.of(process).0.stop_in_move(hop, next, steps);
        self.die(process);
    }

    /// The process does this with a line, and dies.
    fn die_after(&self, process: usize, act: impl FnOnce(&RawOf<PHASE_BITS>, &TakenLine<'_>)) {
        let filter = self.of(process);
        let line = filter.line();
        act(&filter.0, &line);
        line.stop();
        self.die(process);
    }

    /// The process holds the stripe of the item, and dies.
    pub fn die_in_hold(&self, process: usize, item: Item) {
        self.die_after(process, |raw, line| {
            raw.hold_and_stop(&line.for_moves(), item.0)
        });
    }

    /// The process names the stripe of the item, and dies before it holds it.
    pub fn die_before_hold(&self, process: usize, item: Item) {
        self.die_after(process, |raw, line| {
            raw.name_and_stop(&line.for_moves(), item.0)
        });
    }

    /// The process holds the stripe of the item for a while. True if it was held until the end.
    pub fn hold(&self, process: usize, item: Item) -> bool {
        let (raw, line) = (&self.of(process).0, self.of(process).line());
        raw.is_held_throughout(&line.for_moves(), item.0)
    }

    /// The process reserves a slot of a bucket for the item, and dies.
    pub fn die_with_reservation(&self, process: usize, item: Item, bucket: usize) {
        self.die_after(process, |raw, line| {
            raw.reserve_and_stop(line, item.0, bucket)
        });
    }

    /// The process begins a scan, enters the first `chunks` chunks, and dies.
    pub fn die_in_scan(&self, process: usize, chunks: usize) {
        let raw = &self.of(process).0;
        let place = raw.place().expect("a seat");
        raw.frontiers
            .register_stopped(raw.table.buckets(), None, place);
        raw.help_scans(chunks);
        self.die(process);
    }

    /// The words with a reservation.
    pub fn reservations(&self) -> usize {
        self.of(0).0.census().reservations
    }

    /// The copies of an item at rest.
    pub fn copies(&self, item: Item) -> usize {
        self.ages(item).len()
    }
}

impl<L: Layout> Group<L> {
    /// Processes with an empty filter, which do not look at the scans of each other.
    fn on(
        memory: Arc<dyn Memory>,
        processes: usize,
        buckets: usize,
        levels: Levels,
        oldest: u64,
    ) -> Self {
        let locks = Locks::new(processes);
        let filter = |member: usize| {
            let locks = locks.clone();
            let place = SharedPlace {
                memory: memory.clone(),
                start: 0,
                most_members: processes,
                members: Arc::new(Only { member, locks }),
                own: Arc::new(sync::zeroed(2).expect("a few bytes")),
            };
            let raw = RawFilter::in_words(buckets, levels, oldest, place);
            Filter::unscanned(raw.expect("enough words"))
        };
        let filters = (0..processes).map(filter).collect();
        Self { filters, locks }
    }

    /// The same processes, which look at the scans of each other.
    #[must_use]
    pub fn that_scan(mut self) -> Self {
        for filter in &mut self.filters {
            filter.0.frontiers.unused = false;
        }
        self
    }

    /// The filter of a process.
    pub fn of(&self, process: usize) -> &Filter<Shared<L>> {
        &self.filters[process]
    }

    fn die(&self, process: usize) {
        self.locks.die(process);
    }

    /// Process `by` repairs what `process` has left, if that is dead, and no other process repairs it.
    pub fn repair(&self, by: usize, process: usize) -> bool {
        let raw = &self.of(by).0;
        let early = fault::is(Fault::RepairTrustsOldNow).then(|| raw.moment());
        let dead = self.locks.claim(process);
        if dead {
            raw.repair_by(process, &|| early.unwrap_or_else(|| raw.moment()));
            self.locks.end_claim(process);
        }
        dead
    }

    /// Repairs what is left when all threads are done, and panics if anything is left then.
    pub fn at_rest(&self, dead: &[usize]) -> Repaired {
        let by = &self.of(0).0;
        let repair = |process: usize| {
            self.locks.claim(process);
            let repaired = by.repair(process);
            self.locks.end_claim(process);
            repaired
        };
        let mut done = Repaired::default();
        for &process in dead {
            done += repair(process);
        }
        // What was left to a later repair.
        for &process in dead {
            assert_eq!(repair(process).left, 0, "something is left for ever");
        }
        let census = by.census();
        assert_eq!(census.marks, 0, "a mark is left");
        assert_eq!(census.reservations, 0, "a reservation is left");
        assert_eq!(census.gates, 0, "a gate is taken");
        assert_eq!(census.holds, 0, "a hold is left");
        assert!(!census.is_scanned, "a scan is left");
        done
    }

    /// The ages of the copies of an item at rest, the youngest one first.
    pub fn ages(&self, item: Item) -> Vec<u64> {
        let (raw, fingerprint) = (&self.of(0).0, item.0.fingerprint);
        let now: Now<Shared<L>> = raw.moment();
        let mut ages = Vec::new();
        for bucket in item.buckets() {
            let word = raw.table.load(Step::ReadP, fingerprint, bucket);
            let residents = word.residents(fingerprint);
            let of_item = residents.filter(|&entry| L::fingerprint(entry) == fingerprint);
            ages.extend(of_item.map(|entry| now.age(entry)));
        }
        ages.sort_unstable();
        ages
    }
}

//! Filters of several processes on the same words, for models of recovery.
//!
//! Each process has a filter of its own, as in `guira-shm`. What one of them leaves when it dies is
//! what its threads have done up to then. Whether a process lives, and which one repairs it, are
//! numbers with Release and Acquire, as the kernel's locks are.

mod expiring;

pub use expiring::{ExpiringProcess, ExpiringProcesses, STEPS_OF_WITHHOLD, Withholds};

use super::{Item, Small, growth::PHASE_BITS as GROWS, hop, put, snapshot};
use crate::{
    error::InsertError,
    fault::{self, Fault, faulty},
    memory::{Members, Memory, Seat},
    raw::{
        RawFilter,
        crew::{Crew, Hand, Repaired, TakenLine},
        moves::{Fill, Hop},
        shared::SharedPlace,
    },
    step::Step,
    sync::{self, AtomicU64, Ordering},
    table::{Levels, layout::Shared, word::Bucket},
};
use std::{ops::Range, sync::Arc};

pub use crate::raw::moves::stopped::{STEPS, STEPS_OF_PATH};

/// The processes of a model, by their numbers.
#[expect(missing_debug_implementations, reason = "models show words")]
pub struct Processes<const PHASE_BITS: u32 = 0> {
    filters: Vec<Process<PHASE_BITS>>,
    locks: Arc<Locks>,
}

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

/// The filter of one process.
#[expect(missing_debug_implementations, reason = "models show words")]
pub struct Process<const PHASE_BITS: u32 = 0>(RawFilter<Shared<Small<2, PHASE_BITS>>>);

/// Processes whose filter can grow.
pub type GrowingProcesses = Processes<GROWS>;

/// One of these processes.
pub type GrowingProcess = Process<GROWS>;

impl<const PHASE_BITS: u32> Process<PHASE_BITS> {
    /// `CuckooFilter::contains`.
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(item.0)
    }

    /// `CuckooFilter::insert`.
    pub fn insert(&self, item: Item) -> bool {
        self.0.insert(item.0).is_ok()
    }

    /// `CuckooFilter::insert_unique`.
    ///
    /// # Errors
    ///
    /// As `CuckooFilter::insert_unique`.
    pub fn insert_unique(&self, item: Item) -> Result<bool, InsertError> {
        self.0.insert_unique(item.0)
    }

    /// A scan that ends before its first chunk.
    pub fn begin_and_end_scan(&self) {
        let place = self.0.place().expect("a seat");
        place.expect("processes share it").end();
    }

    /// As `CuckooFilter::write_to`. Returns the number of copies of each item in the snapshot.
    pub fn scan<const ITEMS: usize>(&self, items: [Item; ITEMS]) -> [usize; ITEMS] {
        snapshot::scan(&self.0, items)
    }

    /// `CuckooFilter::remove`.
    pub fn remove(&self, item: Item) -> bool {
        self.0.remove(item.0)
    }

    /// What an intersection does for one item, if the other filter has `there` copies.
    pub fn lower(&self, item: Item, there: usize) {
        snapshot::lower(&self.0, item, there);
    }

    /// Relocates a copy of `item`. False if the move was given up.
    pub fn relocate(&self, item: Item, from: usize) -> bool {
        self.0
            .move_by(
                &self.line().for_moves(),
                Hand::First,
                hop(item, from),
                false,
                Fill::Hole,
            )
            .is_some()
    }

    /// Relocates each item out of the bucket given with it, in this order. Every item except the
    /// first moves into the slot that the one before has left. False if one of them was given up.
    pub fn relocate_path(&self, path: &[(Item, usize)]) -> bool {
        let hops: Vec<Hop> = path.iter().map(|&(item, from)| hop(item, from)).collect();
        self.0
            .relocate(&self.line().for_moves(), hops.into_iter(), Fill::Hole)
    }

    fn line(&self) -> TakenLine<'_> {
        self.crew().line().expect("a line")
    }

    fn crew(&self) -> &Crew {
        self.0.crew().expect("processes share it")
    }
}

impl GrowingProcess {
    /// Begins the level after `level`, unless it has begun.
    pub fn begin_level(&self, level: u32) {
        self.0.table.begin_level(level).expect("a few words");
    }

    /// Splits the word of `item` in `bucket` from `level` to the next one. False if that has not
    /// begun.
    pub fn split(&self, item: Item, bucket: usize, level: u32) -> bool {
        let table = &self.0.table;
        let has_begun = table.is_growing(level);
        if has_begun {
            table.split(item.0.fingerprint.low_bits(level), bucket, level);
        }
        has_begun
    }

    /// `CuckooFilter::finish_growth`.
    pub fn finish_growth(&self) {
        self.0.table.finish_level();
    }

    /// True if a process that opens the filter would refuse what is said of its growth.
    pub fn has_wrong_progress(&self) -> bool {
        self.0.table.wrong_progress().is_some()
    }

    /// The number of complete levels, which the process learns from the others.
    pub fn level(&self) -> u32 {
        self.0.table.level()
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
        Self::on(Arc::new(words), processes, residents, 0)
    }
}

impl GrowingProcesses {
    /// Processes with a filter in which each bucket holds the given items, and which can double
    /// `levels` times.
    pub fn growing(processes: usize, residents: &[&[Item]], levels: u32) -> Self {
        let words = sync::zeroed(128).expect("a few bytes");
        Self::on(Arc::new(words), processes, residents, levels)
    }

    /// The same, where words have memory only after they are committed.
    pub fn growing_in_late_memory(processes: usize, residents: &[&[Item]], levels: u32) -> Self {
        let late = Late {
            words: sync::zeroed(128).expect("a few bytes"),
            end: AtomicU64::new(0),
        };
        Self::on(Arc::new(late), processes, residents, levels)
    }

    /// The process commits the segment of the level after `level`, and dies before it says that the
    /// segment is in use.
    pub fn die_in_begin(&self, process: usize, level: u32) {
        let progress = self.filters[process].0.table.progress();
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
    fn on(memory: Arc<dyn Memory>, processes: usize, residents: &[&[Item]], more: u32) -> Self {
        let locks = Locks::new(processes);
        let filter = |member: usize| {
            let place = SharedPlace {
                memory: memory.clone(),
                start: 0,
                most_members: processes,
                members: Arc::new(Only {
                    member,
                    locks: locks.clone(),
                }),
                own: Arc::new(sync::zeroed(2).expect("a few bytes")),
            };
            let levels = Levels { first: 0, more };
            let raw = RawFilter::in_words(residents.len(), levels, 0, place);
            let mut raw = raw.expect("enough words");
            raw.frontiers.unused = true;
            Process(raw)
        };
        let filters: Vec<_> = (0..processes).map(filter).collect();
        for (bucket, items) in residents.iter().enumerate() {
            for item in *items {
                put(&filters[0].0, *item, bucket);
            }
        }
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
    pub fn of(&self, process: usize) -> &Process<PHASE_BITS> {
        &self.filters[process]
    }

    /// The process makes the first `steps` steps of a move, and dies.
    pub fn die_in_move(&self, process: usize, item: Item, from: usize, steps: usize) {
        self.filters[process]
            .0
            .stop_in_move(hop(item, from), None, steps);
        self.die(process);
    }

    /// The process makes the first `steps` steps of a move that leaves the outline of another item
    /// where the first one was, and dies.
    pub fn die_in_path(&self, process: usize, item: Item, from: usize, next: Item, steps: usize) {
        let next = Some(next.entry());
        self.filters[process]
            .0
            .stop_in_move(hop(item, from), next, steps);
        self.die(process);
    }

    /// The process holds the stripe of the item, and dies.
    pub fn die_in_hold(&self, process: usize, item: Item) {
        let (raw, line) = (&self.filters[process].0, self.filters[process].line());
        raw.hold_and_stop(&line.for_moves(), item.0);
        line.stop();
        self.die(process);
    }

    /// The process names the stripe of the item, and dies before it holds it.
    pub fn die_before_hold(&self, process: usize, item: Item) {
        let (raw, line) = (&self.filters[process].0, self.filters[process].line());
        raw.name_and_stop(&line.for_moves(), item.0);
        line.stop();
        self.die(process);
    }

    /// The process holds the stripe of the item for a while. True if it was held until the end.
    pub fn hold(&self, process: usize, item: Item) -> bool {
        let (raw, line) = (&self.filters[process].0, self.filters[process].line());
        raw.is_held_throughout(&line.for_moves(), item.0)
    }

    /// The process reserves a slot of a bucket for the item, and dies.
    pub fn die_with_reservation(&self, process: usize, item: Item, bucket: usize) {
        let (raw, line) = (&self.filters[process].0, self.filters[process].line());
        raw.reserve_and_stop(&line, item.0, bucket);
        line.stop();
        self.die(process);
    }

    /// The process begins a scan, enters the first `chunks` chunks, and dies.
    pub fn die_in_scan(&self, process: usize, chunks: usize) {
        let raw = &self.filters[process].0;
        let place = raw.place().expect("a seat");
        raw.frontiers
            .register_stopped(raw.table.buckets(), None, place);
        raw.help_scans(chunks);
        self.die(process);
    }

    fn die(&self, process: usize) {
        self.locks.die(process);
    }

    /// Process `by` repairs what `process` has left, if that is dead, and no other process repairs it.
    pub fn repair(&self, by: usize, process: usize) -> bool {
        let dead = self.locks.claim(process);
        if dead {
            self.filters[by].0.repair(process);
            self.locks.end_claim(process);
        }
        dead
    }

    /// Repairs what is left when all threads are done, and panics if anything is left then.
    pub fn at_rest(&self, dead: &[usize]) -> Repaired {
        let by = &self.filters[0].0;
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

    /// The words with a reservation.
    pub fn reservations(&self) -> usize {
        self.filters[0].0.census().reservations
    }

    /// The copies of an item at rest.
    pub fn copies(&self, item: Item) -> usize {
        let table = &self.filters[0].0.table;
        let copies = item.buckets().map(|bucket| {
            let word = table.load(Step::ReadP, item.0.fingerprint, bucket);
            word.count(item.entry())
        });
        copies[0] + copies[1]
    }
}

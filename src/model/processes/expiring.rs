//! Expiring filters of several processes on the same words.

use super::{Locks, Members, Only, SharedPlace, fault};
use crate::{
    error::InsertError,
    fault::Fault,
    memory::Memory,
    model::{Item, expiring::Tagged, hop},
    raw::{
        RawFilter,
        crew::{Hand, Repaired},
        moves::Fill,
    },
    step::Step,
    sync,
    table::{
        Levels,
        entry::Entry,
        layout::{Layout, Shared, Word},
        time::{Moment, Now, beginning::Reading},
        word::Bucket,
    },
};
use std::{sync::Arc, time::Duration};

pub use crate::raw::expire::stopped::STEPS_OF_WITHHOLD;

/// E: the age of the oldest live copies.
const OLDEST: u64 = 1;

type Words = Shared<Tagged<2, 0>>;

/// The processes of a model with an expiring filter, by their numbers.
#[expect(missing_debug_implementations, reason = "models show words")]
pub struct ExpiringProcesses {
    filters: Vec<ExpiringProcess>,
    locks: Arc<Locks>,
}

/// The filter of one process.
#[expect(missing_debug_implementations, reason = "models show words")]
pub struct ExpiringProcess(RawFilter<Words>);

/// What a thread does with a copy that it withholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withholds {
    /// It sweeps it.
    Sweep,
    /// It gives it another tag.
    Refresh,
}

impl ExpiringProcess {
    /// `ExpiringFilter::contains`.
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(item.0)
    }

    /// `ExpiringFilter::insert`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::insert`.
    pub fn insert(&self, item: Item) -> Result<(), InsertError> {
        self.0.insert(item.0)
    }

    /// `ExpiringFilter::refresh`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::refresh`.
    pub fn refresh(&self, item: Item) -> Result<bool, InsertError> {
        self.0.refresh(item.0)
    }

    /// `ExpiringFilter::remove`.
    pub fn remove(&self, item: Item) -> bool {
        self.0.remove(item.0)
    }

    /// `ExpiringFilter::advance`.
    pub fn advance(&self) -> bool {
        self.0.advance()
    }

    /// `ExpiringFilter::begin_epoch`.
    pub fn begin_epoch(&self) -> bool {
        self.0.begin_epoch().is_some()
    }

    /// `ExpiringFilter::tick`, by a clock that shows this number of nanoseconds.
    pub fn tick(&self, length: u64, clock: u64) -> bool {
        let clock = || Reading::own(Duration::from_nanos(clock));
        let length = Duration::from_nanos(length);
        self.0.begin_due_epoch(length, clock).is_some()
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.0.moment().epoch()
    }

    /// True if a process that opens the filter would refuse its time.
    pub fn has_wrong_time(&self) -> bool {
        self.0.time.wrong_time().is_some()
    }

    /// What the clock of the filter showed before the machine started, for the `boot`th time.
    pub fn base(&self, boot: u64) -> u64 {
        self.0.time.base(boot, true)
    }

    /// The same, in a process that only reads.
    pub fn base_of_reader(&self, boot: u64) -> u64 {
        self.0.time.base(boot, false)
    }

    /// Relocates the copy of `item` that was last seen in the epoch `seen`. False if the move was given
    /// up.
    pub fn relocate(&self, item: Item, seen: u64, from: usize) -> bool {
        let crew = self.0.crew().expect("processes share it");
        let mut hop = hop(item, from);
        hop.entry = entry(item, seen);
        let taken = crew.line().expect("a line");
        let line = taken.for_moves();
        self.0
            .move_by(&line, Hand::First, hop, false, Fill::Hole)
            .is_some()
    }

    /// A thread has the gate of the item for a while. False if another one had it.
    pub fn pass_gate(&self, item: Item, seen: u64) -> bool {
        self.0.pass_gate(item.buckets()[0], entry(item, seen))
    }
}

/// The entry of a copy of `item` that was last seen in the epoch `seen`.
fn entry(item: Item, seen: u64) -> Entry {
    let then = Now::new(seen, OLDEST);
    Moment::<Word<Words>>::aged_entry(then, item.0.fingerprint, 0)
}

impl ExpiringProcesses {
    /// Processes with a filter in its epoch `epoch`, in which each bucket holds the given items, last
    /// seen in the given epochs.
    pub fn new(processes: usize, epoch: u64, residents: &[&[(Item, u64)]]) -> Self {
        let memory: Arc<dyn Memory> = Arc::new(sync::zeroed(128).expect("a few bytes"));
        let locks = Locks::new(processes);
        let filter = |member: usize| {
            let members: Arc<dyn Members> = Arc::new(Only {
                member,
                locks: locks.clone(),
            });
            let place = SharedPlace {
                memory: memory.clone(),
                start: 0,
                most_members: processes,
                members,
                own: Arc::new(sync::zeroed(2).expect("a few bytes")),
            };
            let raw = RawFilter::in_words(residents.len(), Levels::FIXED, OLDEST, place);
            let mut raw = raw.expect("enough words");
            raw.frontiers.unused = true;
            ExpiringProcess(raw)
        };
        let filters: Vec<_> = (0..processes).map(filter).collect();
        let first = &filters[0].0;
        for _ in 0..epoch {
            let now = first.moment();
            assert!(first.time.tick(now, first.time.next(now, now.oldest())));
        }
        for (bucket, items) in residents.iter().enumerate() {
            for &(item, seen) in *items {
                let entry = entry(item, seen);
                let put = |word: Word<Words>| word.has_vacancy().then(|| word.plus(entry));
                let fingerprint = item.0.fingerprint;
                let put = first.table.update(Step::Claim, fingerprint, bucket, put);
                assert!(put, "bucket {bucket} is full");
                first.len.add(1);
            }
        }
        Self { filters, locks }
    }

    /// The filter of a process.
    pub fn of(&self, process: usize) -> &ExpiringProcess {
        &self.filters[process]
    }

    /// The process takes the first `steps` of the gates and marks with which an intersection guards a copy
    /// of `item` in each word, and dies. The copies were last seen in the epoch `seen`.
    pub fn die_guarding(&self, process: usize, (item, seen): (Item, u64), steps: usize) {
        self.filters[process]
            .0
            .stop_guarding(item.0, entry(item, seen), steps);
        self.locks.die(process);
    }

    /// The process makes the first `steps` steps that withhold the copy of `item` which was last seen in
    /// the epoch `seen`, and end that, and dies.
    pub fn die_withholding(
        &self,
        process: usize,
        (item, seen): (Item, u64),
        bucket: usize,
        withholds: Withholds,
        steps: usize,
    ) {
        let refreshes = withholds == Withholds::Refresh;
        let raw = &self.filters[process].0;
        raw.stop_withholding(bucket, entry(item, seen), refreshes, steps);
        self.die(process);
    }

    /// The process sweeps the first `buckets` words, and dies before the sweep counts.
    pub fn die_in_sweep(&self, process: usize, buckets: usize) {
        self.filters[process].0.stop_in_sweep(buckets);
        self.die(process);
    }

    /// The process begins the next epoch, makes the first `steps` steps of the record of its beginning at
    /// this reading of the clock, and dies.
    pub fn die_in_tick(&self, process: usize, clock: u64, steps: usize) {
        let raw = &self.filters[process].0;
        let begun = raw.begin_epoch().expect("no other thread begins one");
        let beginning = &raw.time.beginning;
        let read =
            || beginning.record_reading(begun.epoch(), Reading::own(Duration::from_nanos(clock)));
        let record = || beginning.record_epoch(begun.epoch() + 1);
        let all: [&dyn Fn(); 2] = match fault::is(Fault::RecordedFirst) {
            true => [&record, &read],
            false => [&read, &record],
        };
        all.iter().take(steps).for_each(|step| step());
        self.die(process);
    }

    fn die(&self, process: usize) {
        self.locks.die(process);
    }

    /// Process `by` repairs what `process` has left, if that is dead.
    pub fn repair(&self, by: usize, process: usize) -> bool {
        let raw = &self.filters[by].0;
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
        let by = &self.filters[0].0;
        let mut done = Repaired::default();
        for &process in dead {
            done += by.repair(process);
        }
        let census = by.census();
        assert_eq!(census.marks, 0, "a mark is left");
        assert_eq!(census.gates, 0, "a gate is taken");
        assert_eq!(census.holds, 0, "a hold is left");
        done
    }

    /// The ages of the copies of an item at rest, the youngest one first.
    pub fn ages(&self, item: Item) -> Vec<u64> {
        let raw = &self.filters[0].0;
        let now = raw.moment();
        let mut ages = Vec::new();
        for bucket in item.buckets() {
            let word = raw.table.load(Step::ReadP, item.0.fingerprint, bucket);
            let residents = word.residents(item.0.fingerprint);
            let of_item =
                residents.filter(|&entry| Words::fingerprint(entry) == item.0.fingerprint);
            ages.extend(of_item.map(|entry| Moment::<Word<Words>>::age(now, entry)));
        }
        ages.sort_unstable();
        ages
    }
}

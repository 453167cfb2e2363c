//! Expiring filters of several processes on the same words.

use super::{Group, Levels, fault};
use crate::{
    fault::Fault,
    model::{
        Filter, Item,
        expiring::{Tagged, entry},
    },
    sync,
    table::{layout::Shared, time::beginning::Reading, word::Bucket},
};
use std::{sync::Arc, time::Duration};

pub use crate::raw::expire::stopped::STEPS_OF_WITHHOLD;

/// E: the age of the oldest live copies.
const OLDEST: u64 = 1;

type Words = Tagged<2, OLDEST, 0, 0>;

/// The processes of a model with an expiring filter, by their numbers.
pub type ExpiringProcesses = Group<Words>;

/// The filter of one process.
pub type ExpiringProcess = Filter<Shared<Words>>;

/// What a thread does with a copy that it withholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withholds {
    /// It sweeps it.
    Sweep,
    /// It gives it another tag.
    Refresh,
}

impl ExpiringProcess {
    /// `ExpiringFilter::tick`, by a clock that shows this number of nanoseconds.
    pub fn tick(&self, length: u64, clock: u64) -> bool {
        let clock = || Reading::own(Duration::from_nanos(clock));
        let length = Duration::from_nanos(length);
        self.0.begin_due_epoch(length, clock).is_some()
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

    /// A thread has the gate of the item for a while. False if another one had it.
    pub fn pass_gate(&self, item: Item, seen: u64) -> bool {
        self.0
            .pass_gate(item.buckets()[0], entry::<Words>(item, seen))
    }
}

impl ExpiringProcesses {
    /// Processes with a filter in its epoch `epoch`, in which each bucket holds the given items, last
    /// seen in the given epochs.
    pub fn new(processes: usize, epoch: u64, residents: &[&[(Item, u64)]]) -> Self {
        let memory = Arc::new(sync::zeroed(128).expect("a few bytes"));
        let all = Self::on(memory, processes, residents.len(), Levels::FIXED, OLDEST);
        let first = all.of(0);
        for _ in 0..epoch {
            let (now, time) = (first.0.moment(), &first.0.time);
            assert!(time.tick(now, time.next(now, now.oldest())));
        }
        let of = |&(item, seen): &_| (item, entry::<Words>(item, seen));
        first.fill(residents, of, Bucket::plus);
        all
    }

    /// The process takes the first `steps` of the gates and marks with which an intersection guards a copy
    /// of `item` in each word, and dies. The copies were last seen in the epoch `seen`.
    pub fn die_guarding(&self, process: usize, (item, seen): (Item, u64), steps: usize) {
        self.of(process)
            .0
            .stop_guarding(item.0, entry::<Words>(item, seen), steps);
        self.die(process);
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
        let raw = &self.of(process).0;
        raw.stop_withholding(bucket, entry::<Words>(item, seen), refreshes, steps);
        self.die(process);
    }

    /// The process sweeps the first `buckets` words, and dies before the sweep counts.
    pub fn die_in_sweep(&self, process: usize, buckets: usize) {
        self.of(process).0.stop_in_sweep(buckets);
        self.die(process);
    }

    /// The process begins the next epoch, makes the first `steps` steps of the record of its beginning at
    /// this reading of the clock, and dies.
    pub fn die_in_tick(&self, process: usize, clock: u64, steps: usize) {
        let raw = &self.of(process).0;
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
}

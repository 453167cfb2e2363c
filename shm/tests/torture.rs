//! Processes that are killed: nothing that was acknowledged is lost, and nothing is left.
//!
//! `GUIRA_SHM_DEATHS` is the number of processes to kill; a long run has 100 000. With
//! `GUIRA_SHM_GROWING` all filters grow.
//!
//! The diary of the workers says of each item whether it is in the filter, and of each lock who has it. The
//! winner has a lock until it removes the item again.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened and mapped")]
// Each test uses its part of what they have in common.
#![allow(dead_code)]

mod common;

use common::{
    adopt_orphans, create, fits, growing, of_layout, only, open, reader, role,
    torture::{self, Diary, Episode, LOCKS, Sums, Thread, Tortured, WORKERS, choose_items},
};
use guira::Builder;
#[cfg(guira_faults)]
use guira::model::Step;
use guira_shm::{SharedFilter, SharedReader};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{collections::BTreeMap, path::Path, sync::atomic::Ordering::SeqCst, time::Instant};

/// The items of each worker.
const ITEMS: u64 = 220;

/// What a worker has said of an item. Only what is said after the call is certain.
const ABSENT: u64 = 0;
const PRESENT: u64 = 1;
const UNCERTAIN: u64 = 2;

/// Deaths until all workers are killed, and the filter is checked and replaced. One that grows is replaced
/// earlier, because it grows while the workers insert their first items.
const DEATHS_OF_A_FILTER: u64 = 500;
const DEATHS_OF_A_GROWING_FILTER: u64 = 25;

/// The bits of the fingerprints of one filter after the other: 9, 11 and 13 are semi-sorted. Others grow,
/// which is called 0 bits here.
const LAYOUTS: [u32; 8] = [10, 12, 15, 20, 30, 9, 11, 13];

/// One filter in this number is fixed.
const ONE_IS_FIXED: usize = 5;

/// The filter of this layout.
fn builder(bits: u32) -> Builder {
    match bits {
        0 => growing(FIRST_CAPACITY, CAPACITY),
        _ => of_layout(CAPACITY, bits),
    }
}

/// So small that most inserts relocate, and some find no room.
const CAPACITY: usize = ((WORKERS * ITEMS) as usize * 54) / 100;

/// The capacity of a filter that grows, before it does.
const FIRST_CAPACITY: usize = 20;

/// A role: inserts and removes items until the process is killed.
#[test]
fn worker() {
    if let Some(arguments) = role() {
        torture::work::<SharedFilter>(&arguments);
    }
}

/// True if an item is in the filter that no other thread inserts or removes. A lookup may find an item
/// that is absent, while others relocate; it never misses one that is present.
fn is_in(filter: &SharedFilter, item: &u64) -> bool {
    (0..100).all(|_| filter.contains(item))
}

impl Tortured for SharedFilter {
    type Reader = SharedReader;

    const ITEMS: u64 = ITEMS;

    #[cfg(guira_faults)]
    const OWN_STEPS: &'static [Step] = &[
        Step::Commit,
        Step::Publish,
        Step::Freeze,
        Step::Copy,
        Step::Cut,
        Step::MovePointer,
        Step::EndPart,
        Step::Complete,
        Step::RaiseHint,
    ];

    #[cfg(guira_faults)]
    const RARE_STEPS: &'static [Step] = &[
        Step::Commit,
        Step::Publish,
        Step::EndPart,
        Step::Complete,
        Step::RaiseHint,
    ];

    fn of_file(file: &Path) -> Self {
        open(file)
    }

    fn reader_of_file(file: &Path) -> SharedReader {
        reader(file)
    }

    fn call(thread: &Thread<'_, Self>, number: u64, random: &mut StdRng) {
        let filter = thread.filter;
        match random.random_range(0..400) {
            0 => filter.write_to(std::io::sink()).unwrap(),
            1..40 => thread.use_lock(random.random_range(0..LOCKS)),
            40..160 => thread.look_up(number),
            160..300 => thread.change(number, |item| filter.insert(item).is_ok()),
            _ => thread.change(number, |item| filter.insert_unique(item) == Ok(true)),
        }
    }

    /// The last call for an item, whose process was killed, has taken effect, or it has not.
    fn resolve(&self, diary: &Diary, worker: u64, number: u64) {
        let said = diary.said(worker, number);
        if said.load(SeqCst) == UNCERTAIN {
            said.store(u64::from(is_in(self, &diary.item(worker, number))), SeqCst);
        }
    }

    fn check_item(&self, reader: &SharedReader, diary: &Diary, worker: u64, number: u64) {
        let said = diary.said(worker, number);
        let item = diary.item(worker, number);
        match said.load(SeqCst) {
            PRESENT => assert!(
                self.contains(&item) && reader.contains(&item),
                "item {number} of worker {worker} is lost"
            ),
            _ => assert!(
                !is_in(self, &item),
                "item {number} of worker {worker} is a ghost"
            ),
        }
    }
}

impl Thread<'_, SharedFilter> {
    fn look_up(&self, number: u64) {
        let said = self.diary.said(self.worker, number).load(SeqCst);
        let item = self.diary.item(self.worker, number);
        assert_eq!(is_in(self.filter, &item), said == PRESENT, "item {number}");
    }

    /// Removes an item that is in the filter, and inserts one that is not.
    fn change(&self, number: u64, insert: impl Fn(&u64) -> bool) {
        let said = self.diary.said(self.worker, number);
        let item = self.diary.item(self.worker, number);
        let is_present = said.load(SeqCst) == PRESENT;
        said.store(UNCERTAIN, SeqCst);
        let now = if is_present {
            assert!(self.filter.remove(&item), "item {number} is lost");
            ABSENT
        } else if insert(&item) {
            PRESENT
        } else {
            ABSENT
        };
        said.store(now, SeqCst);
    }

    /// Takes a lock and gives it back, unless another thread has it.
    fn use_lock(&self, number: u64) {
        let lock = self.diary.lock(number);
        if self.filter.insert_unique(&lock) == Ok(true) {
            let (owner, own) = (
                self.diary.said_of_lock(number),
                1 + 2 * self.worker + self.thread,
            );
            assert_eq!(owner.swap(own, SeqCst), 0, "lock {number} has two winners");
            assert!(self.filter.contains(&lock), "lock {number} is lost");
            assert_eq!(owner.swap(0, SeqCst), own, "lock {number} has two winners");
            assert!(self.filter.remove(&lock), "lock {number} is lost");
        }
    }
}

impl Episode<SharedFilter> {
    /// After the end of all workers: repairs, and then finds what must be there, and nothing else.
    fn check(mut self, bits: u32) {
        assert_eq!(self.filter.repair().left, 0);
        assert_eq!(self.filter.repair().processes, 0);
        // The splits that have begun, too.
        self.filter.as_filter().finish_growth();
        let mut present = 0;
        for worker in 0..WORKERS {
            for number in 0..ITEMS {
                let item = self.diary.item(worker, number);
                let count = self.filter.count(&item) as u64;
                let said = self.diary.said(worker, number).load(SeqCst);
                assert_eq!(count, said, "item {number} of worker {worker}");
                present += count;
            }
        }
        assert!(present > 0);
        for number in 0..LOCKS {
            let lock = self.diary.lock(number);
            let count = self.filter.count(&lock);
            let has_owner = self.diary.said_of_lock(number).load(SeqCst) != 0;
            assert!(count < 2, "lock {number} has two winners");
            assert!(count == 1 || !has_owner, "lock {number} is lost");
            present += count as u64;
        }
        let census = self.filter.census();
        assert_eq!(census, only(present as usize), "nothing else is left");
        for item in self.diary.items() {
            let item = item.load(SeqCst);
            let is_present = self.filter.contains(&item);
            assert_eq!(self.filter.remove(&item), is_present);
        }
        assert_eq!(self.filter.recount().unwrap(), 0);
        // There is as much room as in a new filter. One that grows can split its words in another order,
        // and then has another room.
        let new = builder(bits).build().unwrap();
        let here = fits(|item| self.filter.insert(item).is_ok());
        match bits {
            0 => assert!(here >= CAPACITY, "{here}"),
            _ => assert_eq!(here, fits(|item| new.insert(item).is_ok())),
        }
    }
}

#[test]
fn workers_are_killed_and_nothing_is_lost() {
    let deaths = torture::deaths(60);
    let all_grow = std::env::var_os("GUIRA_SHM_GROWING").is_some();
    let begun = Instant::now();
    let mut random = StdRng::seed_from_u64(7);
    let mut items_of = BTreeMap::new();
    let (mut sums, mut doublings) = (Sums::default(), 0);
    adopt_orphans();
    while sums.died < deaths {
        let bits = match sums.filters % ONE_IS_FIXED {
            1 if !all_grow => LAYOUTS[sums.filters / ONE_IS_FIXED % LAYOUTS.len()],
            _ => 0,
        };
        let items = items_of.entry(bits).or_insert_with(|| {
            let filter = builder(bits).build().unwrap();
            choose_items::<SharedFilter>(&filter)
        });
        let episode = Episode::new(|file| create(file, builder(bits)), items);
        let most = match bits {
            0 => DEATHS_OF_A_GROWING_FILTER,
            _ => DEATHS_OF_A_FILTER,
        };
        let here = most.min(deaths - sums.died);
        episode.kill_workers(here, &mut random, &mut sums);
        let grown = episode.filter.stats().doublings;
        assert!(bits != 0 || here < 20 || grown >= 2, "{grown} doublings");
        doublings += grown;
        episode.check(bits);
        println!("{sums}, {doublings} doublings, {:?}", begun.elapsed());
    }
}

//! Processes that are killed while they use an expiring filter: no item expires early, none comes back, and
//! nothing is left.
//!
//! `GUIRA_SHM_DEATHS` is the number of processes to kill.
//!
//! All workers let time pass. Their diary says of each item in which epochs it is certainly found, and in
//! which it can be found. It also says when a lock was taken last. The winner has a lock until the item
//! expires.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened and mapped")]
#![allow(dead_code)]

mod common;

use common::{
    adopt_orphans, create_expiring, expiring_reader, fits, only, open_expiring, role,
    torture::{self, Diary, Episode, LOCKS, Sums, Thread, Tortured, WORKERS, choose_items},
};
#[cfg(guira_faults)]
use guira::model::Step;
use guira::{ExpiringBuilder, ExpiringFilter, shared::Census};
use guira_shm::{SharedExpiringFilter, SharedExpiringReader};
use nix::time::{ClockId, clock_gettime};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{path::Path, sync::atomic::Ordering::SeqCst, time::Duration};

/// The items of each worker.
const ITEMS: u64 = 150;

/// E.
const EPOCHS: u64 = 5;

const EPOCH: Duration = Duration::from_millis(5);

/// Deaths until all workers are killed, and the filter is checked and replaced.
const DEATHS_OF_A_FILTER: u64 = 100;

/// The bits of the fingerprints of one filter after the other.
const LAYOUTS: [u32; 3] = [11, 16, 26];

fn builder(bits: u32) -> ExpiringBuilder {
    ExpiringFilter::builder(EPOCH * EPOCHS as u32)
        .epochs(EPOCHS as u32)
        .capacity((SharedExpiringFilter::ALL / 2) as usize)
        .fingerprint_bits(bits)
        .seed(1)
}

/// A filter of one process with the same settings, in which no item expires.
fn timeless(bits: u32) -> ExpiringFilter {
    let filter = builder(bits).build().unwrap();
    filter.tick_by_hand();
    filter
}

/// The TTL in milliseconds.
const TTL: u64 = EPOCH.as_millis() as u64 * EPOCHS;

/// The clock of the filters, in milliseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).unwrap();
    Duration::from(time).as_millis() as u64
}

/// What is known of an item: the last epoch in which it is certainly found, and the last one in which it can
/// be found. Both are plus 1, and 0 if there is none. An item expires by the clock if epochs are late, so it
/// is certainly found only `until` a time, modulo 2^24 milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    surely: u64,
    at_most: u64,
    until: u64,
}

impl Known {
    const ABSENT: Self = Self {
        surely: 0,
        at_most: 0,
        until: 0,
    };

    /// The largest number of an epoch, which no episode reaches.
    const LAST_EPOCH: u64 = (1 << 20) - 1;

    const LAST_TIME: u64 = (1 << 24) - 1;

    /// It was last seen in one of these epochs, by a call that began at the time `at`.
    fn seen(from: u64, to: u64, at: u64) -> Self {
        Self {
            surely: from + EPOCHS + 1,
            at_most: to + EPOCHS + 1,
            until: (at + TTL) & Self::LAST_TIME,
        }
    }

    /// True if it must be found by a call that has ended in the epoch `epoch` before this.
    fn is_certain(self, epoch: u64) -> bool {
        let left = self.until.wrapping_sub(now() + 1) & Self::LAST_TIME;
        epoch < self.surely && left <= TTL
    }

    fn pack(self) -> u64 {
        assert!(self.surely.max(self.at_most) <= Self::LAST_EPOCH);
        self.surely << 44 | self.at_most << 24 | self.until
    }

    fn of(word: u64) -> Self {
        Self {
            surely: word >> 44,
            at_most: word >> 24 & Self::LAST_EPOCH,
            until: word & Self::LAST_TIME,
        }
    }
}

/// A role: inserts, refreshes and removes items, and lets time pass, until the process is killed.
#[test]
fn worker() {
    if let Some(arguments) = role() {
        torture::work::<SharedExpiringFilter>(&arguments);
    }
}

impl Tortured for SharedExpiringFilter {
    type Reader = SharedExpiringReader;

    const ITEMS: u64 = ITEMS;

    #[cfg(guira_faults)]
    const OWN_STEPS: &'static [Step] = &[
        Step::Withhold,
        Step::Empty,
        Step::Release,
        Step::Renew,
        Step::Tick,
        Step::Swept,
        Step::Began,
        Step::Latest,
    ];

    #[cfg(guira_faults)]
    const RARE_STEPS: &'static [Step] = &[Step::Tick, Step::Swept, Step::Began, Step::Latest];

    fn of_file(file: &Path) -> Self {
        open_expiring(file)
    }

    fn reader_of_file(file: &Path) -> SharedExpiringReader {
        expiring_reader(file)
    }

    fn call(thread: &Thread<'_, Self>, number: u64, random: &mut StdRng) {
        let filter = thread.filter;
        match random.random_range(0..400) {
            0 => filter.write_to(std::io::sink()).unwrap(),
            1..20 => drop(filter.tick().unwrap()),
            20..40 => thread.take_lock(random.random_range(0..LOCKS)),
            40..160 => filter.check_item(thread.reader, thread.diary, thread.worker, number),
            160..240 => thread.insert(number, |item| filter.insert(item).is_ok()),
            240..280 => thread.insert(number, |item| filter.insert_unique(item) == Ok(true)),
            280..340 => thread.refresh(number),
            _ => thread.remove(number),
        }
    }

    /// What a killed process was doing with an item, it did before now.
    fn resolve(&self, diary: &Diary, worker: u64, number: u64) {
        let said = diary.said(worker, number);
        let known = Known::of(said.load(SeqCst));
        if known.at_most == Known::LAST_EPOCH {
            let at_most = self.epoch() + EPOCHS + 1;
            said.store(Known { at_most, ..known }.pack(), SeqCst);
        }
    }

    /// In the present epoch, an item is found as it is known, by the filter and by a reader.
    fn check_item(&self, reader: &Self::Reader, diary: &Diary, worker: u64, number: u64) {
        let known = Known::of(diary.said(worker, number).load(SeqCst));
        let item = diary.item(worker, number);
        let from = self.epoch();
        let found = (0..50).all(|_| self.contains(&item) && reader.contains(&item));
        let to = self.epoch();
        assert!(
            found || !known.is_certain(to),
            "item {number} has expired early: {known:?} in {to}"
        );
        if from >= known.at_most {
            assert!(!found, "item {number} is back: {known:?} in {from}");
        }
    }
}

impl Thread<'_, SharedExpiringFilter> {
    /// Inserts an item that can have no copy.
    fn insert(&self, number: u64, insert: impl Fn(&u64) -> bool) {
        let said = self.diary.said(self.worker, number);
        let item = self.diary.item(self.worker, number);
        let (at, from) = (now(), self.filter.epoch());
        if Known::of(said.load(SeqCst)).at_most > from {
            return;
        }
        // The call may see any epoch that begins before it returns.
        said.store(
            Known {
                at_most: Known::LAST_EPOCH,
                ..Known::ABSENT
            }
            .pack(),
            SeqCst,
        );
        let inserted = insert(&item);
        let to = self.filter.epoch();
        let known = match inserted {
            true => Known::seen(from, to, at),
            // If an epoch has begun, a copy may be left.
            false => Known {
                surely: 0,
                ..Known::seen(from, to, at)
            },
        };
        said.store(known.pack(), SeqCst);
    }

    fn refresh(&self, number: u64) {
        let said = self.diary.said(self.worker, number);
        let item = self.diary.item(self.worker, number);
        let (at, from) = (now(), self.filter.epoch());
        let known = Known::of(said.load(SeqCst));
        said.store(
            Known {
                at_most: Known::LAST_EPOCH,
                ..known
            }
            .pack(),
            SeqCst,
        );
        let refreshed = self.filter.refresh(&item);
        let to = self.filter.epoch();
        let now = match refreshed {
            Ok(true) => Known::seen(from, to, at),
            // It is false only if the item can have expired.
            Ok(false) => {
                assert!(!known.is_certain(to), "item {number} has expired early");
                Known::ABSENT
            }
            Err(_) => Known {
                at_most: known.at_most.max(to + EPOCHS + 1),
                ..known
            },
        };
        said.store(now.pack(), SeqCst);
    }

    /// Removes all copies of an item. A refresh beside a mark may have added some.
    fn remove(&self, number: u64) {
        let said = self.diary.said(self.worker, number);
        let item = self.diary.item(self.worker, number);
        let known = Known::of(said.load(SeqCst));
        said.store(Known { surely: 0, ..known }.pack(), SeqCst);
        let mut removed = 0;
        while self.filter.remove(&item) {
            removed += 1;
        }
        let epoch = self.filter.epoch();
        assert!(
            removed > 0 || !known.is_certain(epoch),
            "item {number} has expired early"
        );
        said.store(Known::ABSENT.pack(), SeqCst);
    }

    /// Takes a lock, unless it is taken. The calls of two winners have a TTL between them.
    fn take_lock(&self, number: u64) {
        let (item, winner) = (self.diary.lock(number), self.diary.said_of_lock(number));
        let from = now();
        if self.filter.insert_unique(&item) == Ok(true) {
            let to = now();
            let before = winner.swap(from << 32 | to, SeqCst);
            let (other_from, other_to) = (before >> 32, before & u64::from(u32::MAX));
            // The second of two calls ends a TTL after the first one began, or later.
            let both = to < other_from + TTL && other_to < from + TTL;
            assert!(
                !both,
                "lock {number} has two winners: {other_from} {other_to}, {from} {to}"
            );
        }
    }
}

impl Episode<SharedExpiringFilter> {
    /// After the end of all workers: repairs, and lets all items expire.
    fn check(mut self, bits: u32) {
        assert_eq!(self.filter.repair().left, 0);
        assert_eq!(self.filter.repair().processes, 0);
        let census = self.filter.census();
        assert_eq!(census, only(census.items), "nothing else is left");
        for _ in 0..EPOCHS + 20 {
            for worker in 0..WORKERS {
                for number in 0..ITEMS {
                    self.check_item(worker, number);
                }
            }
            assert!(self.filter.advance().unwrap());
        }
        assert_eq!(self.filter.census(), Census::default(), "all has expired");
        assert_eq!(self.filter.recount().unwrap(), 0);
        let new = timeless(bits);
        let here = fits(|item| self.filter.insert(item).is_ok());
        let there = fits(|item| new.insert(item).is_ok());
        assert_eq!(here, there, "room");
    }
}

#[test]
fn nothing_expires_early_or_comes_back_when_processes_are_killed() {
    let deaths = torture::deaths(100);
    let mut random = StdRng::seed_from_u64(rand::random());
    let (mut sums, mut epochs) = (Sums::default(), 0);
    adopt_orphans();
    while sums.died < deaths {
        let bits = LAYOUTS[sums.filters % LAYOUTS.len()];
        let items = choose_items::<SharedExpiringFilter>(&timeless(bits));
        let episode = Episode::new(|file| create_expiring(file, builder(bits)), &items);
        let here = DEATHS_OF_A_FILTER.min(deaths - sums.died);
        episode.kill_workers(here, &mut random, &mut sums);
        epochs += episode.filter.epoch();
        episode.check(bits);
        println!("{sums}, {epochs} epochs");
    }
    assert!(epochs > 10, "{epochs} epochs");
}

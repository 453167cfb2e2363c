//! Processes that are killed while they use an expiring filter: no item expires early, none comes back, and
//! nothing is left.
//!
//! Half of them have two threads. They are also stopped while others die, and fork children, which are
//! killed as well.
//!
//! `GUIRA_SHM_DEATHS` is the number of processes to kill.
//! In a build with `RUSTFLAGS="--cfg guira_faults"` half of them die before a step that is chosen for them.
//!
//! All workers let time pass. They keep a diary, a file that they map as well. It says of each item of a
//! worker in which epochs it is certainly found, and in which it can be found. It also says when a lock was
//! taken last. A lock is an item too: the worker whose `insert_unique` returns true has the lock, until the
//! item expires.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened and mapped")]
#![allow(dead_code)]

mod common;

use common::{
    adopt_orphans, create_expiring, directory, expiring_reader, in_child_that_is_killed, kill_all,
    open_expiring, path, role, signal, start, text,
};
use guira::{ExpiringBuilder, ExpiringFilter, shared::Census};
use guira_shm::{SharedExpiringFilter, SharedExpiringReader};
use memmap2::{MmapOptions, MmapRaw};
use nix::{
    sys::signal::Signal,
    time::{ClockId, clock_gettime},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    fs::File,
    ops::Deref,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::Child,
    slice,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// Workers at a time.
const WORKERS: u64 = 4;

/// The threads of a worker: the first half of the workers has one each.
fn threads(worker: u64) -> u64 {
    1 + worker / (WORKERS / 2)
}

/// The items of each worker.
const ITEMS: u64 = 150;

/// The items that are locks.
const LOCKS: u64 = 40;

/// All items, and the locks.
const ALL: u64 = WORKERS * ITEMS + LOCKS;

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
        .capacity((ALL / 2) as usize)
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

/// What workers say, in memory that outlives them. It has a word for each item and each lock, and then the
/// items. At the end it has the calls of each thread, and whether the worker has made some.
struct Diary(MmapRaw);

const WORDS: u64 = 2 * ALL + 2 * 8 * WORKERS;

impl Diary {
    fn create(path: &Path) -> Self {
        File::create_new(path).unwrap().set_len(8 * WORDS).unwrap();
        Self::open(path)
    }

    fn open(path: &Path) -> Self {
        let file = File::options().read(true).write(true).open(path);
        let map = MmapOptions::new()
            .len(8 * WORDS as usize)
            .map_raw(&file.unwrap());
        Self(map.unwrap())
    }

    fn item(&self, worker: u64, number: u64) -> u64 {
        self[(ALL + worker * ITEMS + number) as usize].load(SeqCst)
    }

    fn said(&self, worker: u64, number: u64) -> &AtomicU64 {
        &self[(worker * ITEMS + number) as usize]
    }

    fn lock(&self, number: u64) -> (u64, &AtomicU64) {
        let at = WORKERS * ITEMS + number;
        let item = self[(ALL + at) as usize].load(SeqCst);
        (item, &self[at as usize])
    }

    /// The calls that a thread has made, in a cache line of its own.
    fn calls(&self, thread: u64) -> &AtomicU64 {
        &self[(2 * ALL + 8 * thread) as usize]
    }

    /// Whether the worker has made some calls, in the cache line of its first thread's calls.
    fn has_begun(&self, worker: u64) -> &AtomicU64 {
        &self[(2 * ALL + 16 * worker + 1) as usize]
    }

    /// How often workers have forked, in the cache line of the calls of the first worker's first thread.
    fn forks(&self) -> &AtomicU64 {
        &self[(2 * ALL + 2) as usize]
    }

    /// What a killed process was doing with an item, it did before now.
    fn resolve(&self, filter: &SharedExpiringFilter, worker: u64, number: u64) {
        let said = self.said(worker, number);
        let known = Known::of(said.load(SeqCst));
        if known.at_most == Known::LAST_EPOCH {
            let at_most = filter.epoch() + EPOCHS + 1;
            said.store(Known { at_most, ..known }.pack(), SeqCst);
        }
    }
}

impl Deref for Diary {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        let start = self.0.as_mut_ptr().cast::<AtomicU64>().cast_const();
        // SAFETY: the mapping has this length, and lasts as long as `self`; all processes access its
        // words as atomics only.
        unsafe { slice::from_raw_parts(start, WORDS as usize) }
    }
}

/// Chooses the items of all workers, and then the locks. No two of them have one class.
fn choose_items(bits: u32) -> Vec<u64> {
    let filter = timeless(bits);
    let mut chosen = Vec::new();
    for item in 0.. {
        if chosen.len() as u64 == ALL {
            break;
        }
        filter.insert(&item).unwrap();
        if !chosen.iter().any(|other| filter.contains(other)) {
            chosen.push(item);
        }
        assert!(filter.remove(&item));
    }
    chosen
}

/// A role: inserts, refreshes and removes items, and lets time pass, until the process is killed.
#[test]
fn worker() {
    let Some(arguments) = role() else { return };
    let [file, diary, worker, seed] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let filter = open_expiring(&path(file));
    let reader = expiring_reader(&path(file));
    let diary = Diary::open(&path(diary));
    let (worker, seed) = (worker.parse::<u64>().unwrap(), seed.parse::<u64>().unwrap());
    // What fails in one thread ends the process, and so the test.
    thread::scope(|scope| {
        for thread in 0..threads(worker) {
            let (filter, reader, diary) = (&filter, &reader, &diary);
            scope.spawn(move || {
                let thread = Thread {
                    filter,
                    reader,
                    diary,
                    worker,
                    thread,
                };
                let work = std::panic::AssertUnwindSafe(|| thread.work(seed));
                if std::panic::catch_unwind(work).is_err() {
                    std::process::exit(1);
                }
            });
        }
    });
}

/// A thread of a worker, which has every second item of the worker if there are two threads.
struct Thread<'a> {
    filter: &'a SharedExpiringFilter,
    reader: &'a SharedExpiringReader,
    diary: &'a Diary,
    worker: u64,
    thread: u64,
}

impl Thread<'_> {
    fn work(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed ^ self.thread << 63);
        die_before_a_step(&mut random);
        let calls = self.diary.calls(2 * self.worker + self.thread);
        let before = calls.load(SeqCst);
        loop {
            match random.random_range(0..1000) {
                0 => self.fork(&mut random),
                _ => self.call(&mut random),
            }
            if calls.fetch_add(1, SeqCst) == before + 100 {
                self.diary.has_begun(self.worker).store(1, SeqCst);
            }
        }
    }

    fn call(&self, random: &mut StdRng) {
        let threads = threads(self.worker);
        let number = random.random_range(0..ITEMS / threads) * threads + self.thread;
        match random.random_range(0..400) {
            0 => self.filter.write_to(std::io::sink()).unwrap(),
            1..20 => drop(self.filter.tick().unwrap()),
            20..40 => self.take_lock(random.random_range(0..LOCKS)),
            40..160 => look_up(self.filter, self.reader, self.diary, self.worker, number),
            160..240 => self.insert(number, |item| self.filter.insert(item).is_ok()),
            240..280 => self.insert(number, |item| self.filter.insert_unique(item) == Ok(true)),
            280..340 => self.refresh(number),
            _ => self.remove(number),
        }
    }

    /// A child makes the calls of this thread until it is killed.
    fn fork(&self, random: &mut StdRng) {
        let time = Duration::from_micros(random.random_range(0..1000));
        self.diary.forks().fetch_add(1, SeqCst);
        in_child_that_is_killed(time, || {
            for _ in 0..1000 {
                self.call(random);
            }
        });
        for number in (self.thread..ITEMS).step_by(threads(self.worker) as usize) {
            self.diary.resolve(self.filter, self.worker, number);
        }
    }

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
        let (item, winner) = self.diary.lock(number);
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

/// In the present epoch, an item is found as it is known, by the filter and by a reader.
fn look_up(
    filter: &SharedExpiringFilter,
    reader: &SharedExpiringReader,
    diary: &Diary,
    worker: u64,
    number: u64,
) {
    let known = Known::of(diary.said(worker, number).load(SeqCst));
    let item = diary.item(worker, number);
    let from = filter.epoch();
    let found = (0..50).all(|_| filter.contains(&item) && reader.contains(&item));
    let to = filter.epoch();
    assert!(
        found || !known.is_certain(to),
        "item {number} has expired early: {known:?} in {to}"
    );
    if from >= known.at_most {
        assert!(!found, "item {number} is back: {known:?} in {from}");
    }
}

/// In a build with faults, half of the workers die before some step of their own.
#[cfg(guira_faults)]
fn die_before_a_step(random: &mut StdRng) {
    use guira::model::Step;
    const STEPS: [Step; 29] = [
        Step::Claim,
        Step::Outline,
        Step::Advance,
        Step::Shadow,
        Step::Decide,
        Step::Deliver,
        Step::Erase,
        Step::Settle,
        Step::Retract,
        Step::Take,
        Step::Kill,
        Step::Hold,
        Step::EndHold,
        Step::Reserve,
        Step::Confirm,
        Step::Cancel,
        Step::Enter,
        Step::Note,
        Step::Gate,
        Step::Leave,
        Step::Appear,
        Step::Withhold,
        Step::Empty,
        Step::Release,
        Step::Renew,
        Step::Tick,
        Step::Swept,
        Step::Began,
        Step::Latest,
    ];
    if random.random() {
        let last = STEPS[random.random_range(0..STEPS.len())];
        let few = matches!(last, Step::Tick | Step::Swept | Step::Began | Step::Latest);
        let number = random.random_range(0..if few { 3 } else { 500 });
        common::dying::die_before(number, move |step| step == last);
    }
}

#[cfg(not(guira_faults))]
fn die_before_a_step(_: &mut StdRng) {}

/// One filter, and the workers that use it until they are killed.
struct Episode<'a> {
    bits: u32,
    file: &'a Path,
    diary_file: &'a Path,
    filter: SharedExpiringFilter,
    reader: SharedExpiringReader,
    diary: Diary,
}

impl Episode<'_> {
    fn begin(&self, worker: u64, seed: u64) -> Child {
        self.diary.has_begun(worker).store(0, SeqCst);
        let arguments = [
            text(self.file),
            text(self.diary_file),
            worker.to_string(),
            seed.to_string(),
        ];
        start("worker", &arguments)
    }

    fn has_begun(&self, worker: u64) -> bool {
        self.diary.has_begun(worker).load(SeqCst) == 1
    }

    /// Kills a worker that has made some calls, unless it is dead, and resolves what it was not certain of.
    fn end(&self, child: &mut Child, worker: u64) {
        while !self.has_begun(worker) && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(100));
        }
        let status = kill_all(child);
        assert_eq!(status.signal(), Some(9), "worker {worker} has failed");
        for number in 0..ITEMS {
            self.diary.resolve(&self.filter, worker, number);
            look_up(&self.filter, &self.reader, &self.diary, worker, number);
        }
    }

    /// After the end of all workers: repairs, and lets all items expire.
    fn check(mut self) {
        assert_eq!(self.filter.repair().left, 0);
        assert_eq!(self.filter.repair().processes, 0);
        let census = self.filter.census();
        let nothing = Census {
            items: census.items,
            ..Census::default()
        };
        assert_eq!(census, nothing, "nothing else is left");
        for _ in 0..EPOCHS + 20 {
            for worker in 0..WORKERS {
                for number in 0..ITEMS {
                    look_up(&self.filter, &self.reader, &self.diary, worker, number);
                }
            }
            assert!(self.filter.advance().unwrap());
        }
        assert_eq!(self.filter.census(), Census::default(), "all has expired");
        assert_eq!(self.filter.recount().unwrap(), 0);
        let fits = |insert: &dyn Fn(u64) -> bool| (0..).take_while(|&item| insert(item)).count();
        let new = timeless(self.bits);
        let here = fits(&|item| self.filter.insert(&item).is_ok());
        let there = fits(&|item| new.insert(&item).is_ok());
        assert_eq!(here, there, "room");
    }
}

#[test]
fn nothing_expires_early_or_comes_back_when_processes_are_killed() {
    let deaths = std::env::var("GUIRA_SHM_DEATHS").map_or(100, |deaths| deaths.parse().unwrap());
    let mut random = StdRng::seed_from_u64(rand::random());
    let (mut died, mut calls, mut filters, mut epochs) = (0, 0, 0, 0);
    let (mut stops, mut forks) = (0, 0);
    adopt_orphans();
    while died < deaths {
        let bits = LAYOUTS[filters % LAYOUTS.len()];
        let directory = directory();
        let file = directory.path().join("filter");
        let diary_file = directory.path().join("diary");
        let episode = Episode {
            bits,
            file: &file,
            diary_file: &diary_file,
            filter: create_expiring(&file, builder(bits)),
            reader: expiring_reader(&file),
            diary: Diary::create(&diary_file),
        };
        for (word, item) in episode.diary[ALL as usize..].iter().zip(choose_items(bits)) {
            word.store(item, SeqCst);
        }
        let begin = |worker| episode.begin(worker, random.random());
        let mut workers: Vec<Child> = (0..WORKERS).map(begin).collect();
        let here = DEATHS_OF_A_FILTER.min(deaths - died);
        for _ in WORKERS..here.max(WORKERS) {
            // One in a while does nothing, whatever it has begun.
            let stopped = random.random_range(0..2 * workers.len());
            if let Some(child) = workers.get(stopped) {
                signal(child, Signal::SIGSTOP);
                stops += 1;
            }
            thread::sleep(Duration::from_millis(random.random_range(0..12)));
            let is_dead = |child: &mut Child| child.try_wait().unwrap().is_some();
            let dead = workers.iter_mut().position(is_dead);
            let worker = dead.unwrap_or_else(|| random.random_range(0..workers.len()));
            let child = &mut workers[worker];
            // It may have to make some calls before it dies.
            if stopped == worker && !episode.has_begun(worker as u64) {
                signal(child, Signal::SIGCONT);
            }
            episode.end(child, worker as u64);
            *child = episode.begin(worker as u64, random.random());
            if let Some(child) = workers.get(stopped) {
                signal(child, Signal::SIGCONT);
            }
        }
        for (child, worker) in workers.iter_mut().zip(0..) {
            episode.end(child, worker);
        }
        died += here.max(WORKERS);
        let of_thread = |thread| episode.diary.calls(thread).load(SeqCst);
        calls += (0..2 * WORKERS).map(of_thread).sum::<u64>();
        epochs += episode.filter.epoch();
        forks += episode.diary.forks().load(SeqCst);
        episode.check();
        filters += 1;
        println!(
            "{died} deaths, {stops} stops, {forks} forks, {filters} filters, {epochs} epochs, {calls} calls"
        );
    }
    assert!(epochs > 10, "{epochs} epochs");
}

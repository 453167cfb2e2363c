//! Processes that are killed: nothing that was acknowledged is lost, and nothing is left.
//!
//! Half of them have two threads. They are also stopped while others die, and fork children, which are
//! killed as well.
//!
//! `GUIRA_SHM_DEATHS` is the number of processes to kill; a long run has 100 000. With
//! `GUIRA_SHM_GROWING` all filters grow.
//! In a build with `RUSTFLAGS="--cfg guira_faults"` half of them die before a step that is chosen for them.
//!
//! The workers keep a diary, a file that they map as well. It says of each item of a worker whether the
//! item is in the filter, and of each lock who has it. A lock is an item too: the worker whose
//! `insert_unique` returns true has the lock, until it removes the item again.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened and mapped")]
// Each test uses its part of what they have in common.
#![allow(dead_code)]

mod common;

use common::{
    adopt_orphans, create, directory, growing, in_child_that_is_killed, kill_all, of_layout, open,
    path, reader, role, signal, start, text,
};
use guira::{Builder, shared::Census};
use guira_shm::{SharedFilter, SharedReader};
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::signal::Signal;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    collections::BTreeMap,
    fs::File,
    ops::Deref,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::Child,
    slice,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

/// Workers at a time.
const WORKERS: u64 = 4;

/// The threads of a worker: the first half of the workers has one each.
fn threads(worker: u64) -> u64 {
    1 + worker / (WORKERS / 2)
}

/// The items of each worker.
const ITEMS: u64 = 220;

/// The items that are locks.
const LOCKS: u64 = 40;

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

/// What workers say, in memory that outlives them.
struct Diary(MmapRaw);

/// All items, and the locks.
const ALL: u64 = WORKERS * ITEMS + LOCKS;

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

    /// What is said of an item.
    fn said(&self, worker: u64, number: u64) -> &AtomicU64 {
        &self[(worker * ITEMS + number) as usize]
    }

    /// Who has a lock: the number of a thread, or 0.
    fn owner(&self, lock: u64) -> &AtomicU64 {
        &self[(WORKERS * ITEMS + lock) as usize]
    }

    /// All items, and then the locks.
    fn items(&self) -> &[AtomicU64] {
        &self[ALL as usize..2 * ALL as usize]
    }

    fn item(&self, worker: u64, number: u64) -> u64 {
        self.items()[(worker * ITEMS + number) as usize].load(SeqCst)
    }

    fn lock(&self, number: u64) -> u64 {
        self.items()[(WORKERS * ITEMS + number) as usize].load(SeqCst)
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

    /// The last call for an item, whose process was killed, has taken effect, or it has not.
    fn resolve(&self, filter: &SharedFilter, worker: u64, number: u64) {
        let said = self.said(worker, number);
        if said.load(SeqCst) == UNCERTAIN {
            said.store(u64::from(is_in(filter, &self.item(worker, number))), SeqCst);
        }
    }

    fn all_calls(&self) -> u64 {
        let threads = 0..2 * WORKERS;
        threads.map(|thread| self.calls(thread).load(SeqCst)).sum()
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

/// Chooses the items of all workers, and then the locks. No two of them have one class, so that a lookup
/// of one finds no other.
fn choose_items(bits: u32) -> Vec<u64> {
    let filter = builder(bits).build().unwrap();
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

/// So small that most inserts relocate, and some find no room.
const CAPACITY: usize = ((WORKERS * ITEMS) as usize * 54) / 100;

/// The capacity of a filter that grows, before it does.
const FIRST_CAPACITY: usize = 20;

/// A role: one or two threads that insert and remove items until the process is killed.
#[test]
fn worker() {
    let Some(arguments) = role() else { return };
    let [file, diary, worker, seed] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let (filter, diary) = (open(&path(file)), Diary::open(&path(diary)));
    let (worker, seed) = (worker.parse::<u64>().unwrap(), seed.parse::<u64>().unwrap());
    // What fails in one thread ends the process, and so the test.
    thread::scope(|scope| {
        for thread in 0..threads(worker) {
            let (filter, diary) = (&filter, &diary);
            scope.spawn(move || {
                let thread = Thread {
                    filter,
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

/// True if an item is in the filter that no other thread inserts or removes. A lookup may find an item
/// that is absent, while others relocate; it never misses one that is present.
fn is_in(filter: &SharedFilter, item: &u64) -> bool {
    (0..100).all(|_| filter.contains(item))
}

/// A thread of a worker, which has every second item of the worker if there are two threads.
struct Thread<'a> {
    filter: &'a SharedFilter,
    diary: &'a Diary,
    worker: u64,
    thread: u64,
}

impl Thread<'_> {
    fn work(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed ^ self.thread << 63);
        die_before_a_step(&mut random);
        let before = self.calls().load(SeqCst);
        loop {
            match random.random_range(0..1000) {
                0 => self.fork(&mut random),
                _ => self.call(&mut random),
            }
            // A worker that is killed sooner shows little.
            if self.calls().fetch_add(1, SeqCst) == before + 100 {
                self.diary.has_begun(self.worker).store(1, SeqCst);
            }
        }
    }

    fn calls(&self) -> &AtomicU64 {
        self.diary.calls(2 * self.worker + self.thread)
    }

    /// The numbers of the items of this thread.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        (self.thread..ITEMS).step_by(threads(self.worker) as usize)
    }

    fn call(&self, random: &mut StdRng) {
        let threads = threads(self.worker);
        let number = random.random_range(0..ITEMS / threads) * threads + self.thread;
        match random.random_range(0..400) {
            0 => self.filter.write_to(std::io::sink()).unwrap(),
            1..40 => self.use_lock(random.random_range(0..LOCKS)),
            40..160 => self.look_up(number),
            160..300 => self.change(number, |item| self.filter.insert(item).is_ok()),
            _ => self.change(number, |item| self.filter.insert_unique(item) == Ok(true)),
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
        for number in self.numbers() {
            self.diary.resolve(self.filter, self.worker, number);
        }
    }

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
            let (owner, own) = (self.diary.owner(number), 1 + 2 * self.worker + self.thread);
            assert_eq!(owner.swap(own, SeqCst), 0, "lock {number} has two winners");
            assert!(self.filter.contains(&lock), "lock {number} is lost");
            assert_eq!(owner.swap(0, SeqCst), own, "lock {number} has two winners");
            assert!(self.filter.remove(&lock), "lock {number} is lost");
        }
    }
}

/// In a build with faults, half of the threads die before some step of their own.
#[cfg(guira_faults)]
fn die_before_a_step(random: &mut StdRng) {
    use guira::model::Step;
    const STEPS: [Step; 30] = [
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
    if random.random() {
        let last = STEPS[random.random_range(0..STEPS.len())];
        let few = matches!(
            last,
            Step::Commit | Step::Publish | Step::EndPart | Step::Complete | Step::RaiseHint
        );
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
    filter: SharedFilter,
    reader: SharedReader,
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
            let said = self.diary.said(worker, number);
            let item = self.diary.item(worker, number);
            match said.load(SeqCst) {
                PRESENT => assert!(
                    self.filter.contains(&item) && self.reader.contains(&item),
                    "item {number} of worker {worker} is lost"
                ),
                _ => assert!(
                    !is_in(&self.filter, &item),
                    "item {number} of worker {worker} is a ghost"
                ),
            }
        }
    }

    /// After the end of all workers: repairs, and then finds what must be there, and nothing else.
    fn check(mut self) {
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
            let has_owner = self.diary.owner(number).load(SeqCst) != 0;
            assert!(count < 2, "lock {number} has two winners");
            assert!(count == 1 || !has_owner, "lock {number} is lost");
            present += count as u64;
        }
        let census = self.filter.census();
        let nothing = Census {
            items: present as usize,
            ..Census::default()
        };
        assert_eq!(census, nothing, "nothing else is left");
        for item in self.diary.items() {
            let item = item.load(SeqCst);
            let is_present = self.filter.contains(&item);
            assert_eq!(self.filter.remove(&item), is_present);
        }
        assert_eq!(self.filter.recount().unwrap(), 0);
        // There is as much room as in a new filter. One that grows can split its words in another order,
        // and then has another room.
        let new = builder(self.bits).build().unwrap();
        let fits = |insert: &dyn Fn(u64) -> bool| (0..).take_while(|&item| insert(item)).count();
        let here = fits(&|item| self.filter.insert(&item).is_ok());
        match self.bits {
            0 => assert!(here >= CAPACITY, "{here}"),
            _ => assert_eq!(here, fits(&|item| new.insert(&item).is_ok())),
        }
    }
}

#[test]
fn workers_are_killed_and_nothing_is_lost() {
    let deaths = std::env::var("GUIRA_SHM_DEATHS").map_or(60, |text| text.parse().unwrap());
    let all_grow = std::env::var_os("GUIRA_SHM_GROWING").is_some();
    let begun = Instant::now();
    let mut random = StdRng::seed_from_u64(7);
    let mut items_of = BTreeMap::new();
    let (mut died, mut calls, mut chosen, mut filters, mut doublings) = (0, 0, 0, 0, 0);
    let (mut stops, mut forks) = (0, 0);
    adopt_orphans();
    while died < deaths {
        let directory = directory();
        let [file, diary] = ["filter", "diary"].map(|name| directory.path().join(name));
        let bits = match filters % ONE_IS_FIXED {
            1 if !all_grow => LAYOUTS[filters / ONE_IS_FIXED % LAYOUTS.len()],
            _ => 0,
        };
        let episode = Episode {
            bits,
            file: &file,
            diary_file: &diary,
            filter: create(&file, builder(bits)),
            reader: reader(&file),
            diary: Diary::create(&diary),
        };
        let items = items_of.entry(bits).or_insert_with(|| choose_items(bits));
        for (place, &item) in episode.diary.items().iter().zip(&*items) {
            place.store(item, SeqCst);
        }
        let mut workers: Vec<_> = (0..WORKERS)
            .map(|worker| episode.begin(worker, random.random()))
            .collect();
        let most = match bits {
            0 => DEATHS_OF_A_GROWING_FILTER,
            _ => DEATHS_OF_A_FILTER,
        };
        let here = most.min(deaths - died);
        for _ in WORKERS..here.max(WORKERS) {
            // One in a while does nothing, whatever it has begun.
            let stopped = random.random_range(0..2 * workers.len());
            if let Some(child) = workers.get(stopped) {
                signal(child, Signal::SIGSTOP);
                stops += 1;
            }
            thread::sleep(Duration::from_millis(random.random_range(0..12)));
            // One that is dead already, or any one.
            let is_dead = |child: &mut Child| child.try_wait().unwrap().is_some();
            let dead = workers.iter_mut().position(is_dead);
            chosen += u64::from(dead.is_some());
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
        forks += episode.diary.forks().load(SeqCst);
        calls += episode.diary.all_calls();
        let grown = episode.filter.stats().doublings;
        assert!(bits != 0 || here < 20 || grown >= 2, "{grown} doublings");
        doublings += grown;
        episode.check();
        filters += 1;
        println!(
            "{died} deaths, {chosen} of them at a chosen step; {stops} stops, {forks} forks, {filters} filters, \
             {doublings} doublings, {calls} calls, {:?}",
            begun.elapsed()
        );
    }
}

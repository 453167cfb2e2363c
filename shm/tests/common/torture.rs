//! Workers that use a filter until they are killed.
//!
//! Half of them have two threads. They are also stopped while others die, and fork children, which are
//! killed as well.
//! In a build with `RUSTFLAGS="--cfg guira_faults"` half of them die before a step that is chosen for them.
//!
//! The workers keep a diary, a file that they map as well. It says what they know of each item of a worker,
//! and of each lock. A lock is an item too: the worker whose `insert_unique` returns true has the lock.

use super::{directory, in_child_that_is_killed, kill_all, path, signal, start, text};
#[cfg(guira_faults)]
use guira::model::Step;
use guira::{Filter, Lifetime, SeededState};
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::signal::Signal;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    fmt,
    fs::File,
    ops::Deref,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::Child,
    slice,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// Workers at a time.
pub(crate) const WORKERS: u64 = 4;

/// The items that are locks.
pub(crate) const LOCKS: u64 = 40;

/// The threads of a worker: the first half of the workers has one each.
fn threads(worker: u64) -> u64 {
    1 + worker / (WORKERS / 2)
}

/// A kind of filter, and what its workers do.
pub(crate) trait Tortured: Sized + Sync {
    type Reader: Sync;

    /// The items of each worker.
    const ITEMS: u64;

    /// The items of all workers, and the locks.
    const ALL: u64 = WORKERS * Self::ITEMS + LOCKS;

    /// The steps that come in filters of this kind only.
    #[cfg(guira_faults)]
    const OWN_STEPS: &'static [Step];

    /// Those of them that a worker comes to a few times at most.
    #[cfg(guira_faults)]
    const RARE_STEPS: &'static [Step];

    fn of_file(file: &Path) -> Self;

    fn reader_of_file(file: &Path) -> Self::Reader;

    /// Makes a call for the item with this number, or another one.
    fn call(thread: &Thread<'_, Self>, number: u64, random: &mut StdRng);

    /// Decides what is said of an item. The last call for it may have ended early, with its process.
    fn resolve(&self, diary: &Diary, worker: u64, number: u64);

    /// Finds an item as the diary says, when no worker has a call for it.
    fn check_item(&self, reader: &Self::Reader, diary: &Diary, worker: u64, number: u64);
}

/// What workers say, in memory that outlives them. It has a word for each item and each lock, and then the
/// items. At the end it has the calls of each thread, and whether the worker has made some.
pub(crate) struct Diary {
    map: MmapRaw,
    items_of_a_worker: u64,
    all: u64,
}

impl Diary {
    fn create<F: Tortured>(path: &Path) -> Self {
        File::create_new(path)
            .unwrap()
            .set_len(8 * Self::words::<F>())
            .unwrap();
        Self::open::<F>(path)
    }

    fn open<F: Tortured>(path: &Path) -> Self {
        let file = File::options().read(true).write(true).open(path);
        let map = MmapOptions::new()
            .len(8 * Self::words::<F>() as usize)
            .map_raw(&file.unwrap());
        Self {
            map: map.unwrap(),
            items_of_a_worker: F::ITEMS,
            all: F::ALL,
        }
    }

    fn words<F: Tortured>() -> u64 {
        2 * F::ALL + 2 * 8 * WORKERS
    }

    /// What is said of an item.
    pub(crate) fn said(&self, worker: u64, number: u64) -> &AtomicU64 {
        &self[(worker * self.items_of_a_worker + number) as usize]
    }

    /// What is said of a lock.
    pub(crate) fn said_of_lock(&self, number: u64) -> &AtomicU64 {
        self.said(WORKERS, number)
    }

    /// All items, and then the locks.
    pub(crate) fn items(&self) -> &[AtomicU64] {
        &self[self.all as usize..2 * self.all as usize]
    }

    pub(crate) fn item(&self, worker: u64, number: u64) -> u64 {
        self.items()[(worker * self.items_of_a_worker + number) as usize].load(SeqCst)
    }

    pub(crate) fn lock(&self, number: u64) -> u64 {
        self.item(WORKERS, number)
    }

    /// The calls that a thread has made, in a cache line of its own.
    fn calls(&self, thread: u64) -> &AtomicU64 {
        &self[(2 * self.all + 8 * thread) as usize]
    }

    /// Whether the worker has made some calls, in the cache line of its first thread's calls.
    fn has_begun(&self, worker: u64) -> &AtomicU64 {
        &self[(2 * self.all + 16 * worker + 1) as usize]
    }

    /// How often workers have forked, in the cache line of the calls of the first worker's first thread.
    fn forks(&self) -> &AtomicU64 {
        &self[(2 * self.all + 2) as usize]
    }

    fn all_calls(&self) -> u64 {
        let threads = 0..2 * WORKERS;
        threads.map(|thread| self.calls(thread).load(SeqCst)).sum()
    }
}

impl Deref for Diary {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        let start = self.map.as_mut_ptr().cast::<AtomicU64>().cast_const();
        // SAFETY: the mapping has this length, and lasts as long as `self`; all processes access its
        // words as atomics only.
        unsafe { slice::from_raw_parts(start, self.map.len() / 8) }
    }
}

/// Chooses the items of all workers, and then the locks. No two of them have one class in `filter`, so that
/// a lookup of one finds no other.
pub(crate) fn choose_items<F: Tortured>(filter: &Filter<SeededState, impl Lifetime>) -> Vec<u64> {
    let mut chosen = Vec::new();
    for item in 0.. {
        if chosen.len() as u64 == F::ALL {
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

/// Plays the role `worker`: one or two threads that make calls until the process is killed.
pub(crate) fn work<F: Tortured>(arguments: &[String]) {
    let [file, diary, worker, seed] = arguments else {
        panic!("{arguments:?}");
    };
    let (filter, reader) = (F::of_file(&path(file)), F::reader_of_file(&path(file)));
    let diary = Diary::open::<F>(&path(diary));
    let (worker, seed) = (worker.parse::<u64>().unwrap(), seed.parse::<u64>().unwrap());
    // What fails in one thread ends the process, and so the test.
    thread::scope(|scope| {
        for thread in 0..threads(worker) {
            let thread = Thread {
                filter: &filter,
                reader: &reader,
                diary: &diary,
                worker,
                thread,
            };
            scope.spawn(move || {
                let work = std::panic::AssertUnwindSafe(|| thread.work(seed));
                if std::panic::catch_unwind(work).is_err() {
                    std::process::exit(1);
                }
            });
        }
    });
}

/// A thread of a worker, which has every second item of the worker if there are two threads.
pub(crate) struct Thread<'a, F: Tortured> {
    pub(crate) filter: &'a F,
    pub(crate) reader: &'a F::Reader,
    pub(crate) diary: &'a Diary,
    pub(crate) worker: u64,
    pub(crate) thread: u64,
}

impl<F: Tortured> Thread<'_, F> {
    fn work(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed ^ self.thread << 63);
        #[cfg(guira_faults)]
        die_before_a_step::<F>(&mut random);
        let calls = self.diary.calls(2 * self.worker + self.thread);
        let before = calls.load(SeqCst);
        loop {
            match random.random_range(0..1000) {
                0 => self.fork(&mut random),
                _ => self.call(&mut random),
            }
            // A worker that is killed sooner shows little.
            if calls.fetch_add(1, SeqCst) == before + 100 {
                self.diary.has_begun(self.worker).store(1, SeqCst);
            }
        }
    }

    fn call(&self, random: &mut StdRng) {
        let threads = threads(self.worker);
        let number = random.random_range(0..F::ITEMS / threads) * threads + self.thread;
        F::call(self, number, random);
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
        for number in (self.thread..F::ITEMS).step_by(threads(self.worker) as usize) {
            self.filter.resolve(self.diary, self.worker, number);
        }
    }
}

/// Half of the threads die before some step of their own.
#[cfg(guira_faults)]
fn die_before_a_step<F: Tortured>(random: &mut StdRng) {
    const STEPS: [Step; 21] = [
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
    ];
    if random.random() {
        let steps = [&STEPS, F::OWN_STEPS].concat();
        let last = steps[random.random_range(0..steps.len())];
        let is_rare = F::RARE_STEPS.contains(&last);
        let number = random.random_range(0..if is_rare { 3 } else { 500 });
        super::dying::die_before(number, move |step| step == last);
    }
}

/// The number of processes to kill, which `GUIRA_SHM_DEATHS` can change.
pub(crate) fn deaths(default: u64) -> u64 {
    std::env::var("GUIRA_SHM_DEATHS").map_or(default, |text| text.parse().unwrap())
}

/// What has happened in all episodes.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) died: u64,
    chosen: u64,
    stops: u64,
    forks: u64,
    pub(crate) filters: usize,
    calls: u64,
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            died,
            chosen,
            stops,
            forks,
            filters,
            calls,
        } = self;
        write!(
            f,
            "{died} deaths, {chosen} of them at a chosen step; {stops} stops, {forks} forks, {filters} filters, \
             {calls} calls"
        )
    }
}

/// One filter, and the workers that use it until they are killed.
pub(crate) struct Episode<F: Tortured> {
    pub(crate) filter: F,
    pub(crate) reader: F::Reader,
    pub(crate) diary: Diary,
    file: PathBuf,
    diary_file: PathBuf,
    _directory: tempfile::TempDir,
}

impl<F: Tortured> Episode<F> {
    pub(crate) fn new(create: impl FnOnce(&Path) -> F, items: &[u64]) -> Self {
        let directory = directory();
        let [file, diary_file] = ["filter", "diary"].map(|name| directory.path().join(name));
        let diary = Diary::create::<F>(&diary_file);
        for (place, &item) in diary.items().iter().zip(items) {
            place.store(item, SeqCst);
        }
        Self {
            filter: create(&file),
            reader: F::reader_of_file(&file),
            diary,
            file,
            diary_file,
            _directory: directory,
        }
    }

    /// Kills this many workers, each when it has made some calls. The last ones are not replaced.
    pub(crate) fn kill_workers(&self, deaths: u64, random: &mut StdRng, sums: &mut Sums) {
        let mut workers: Vec<_> = (0..WORKERS)
            .map(|worker| self.begin(worker, random.random()))
            .collect();
        for _ in WORKERS..deaths.max(WORKERS) {
            // One in a while does nothing, whatever it has begun.
            let stopped = random.random_range(0..2 * workers.len());
            if let Some(child) = workers.get(stopped) {
                signal(child, Signal::SIGSTOP);
                sums.stops += 1;
            }
            thread::sleep(Duration::from_millis(random.random_range(0..12)));
            // One that is dead already, or any one.
            let is_dead = |child: &mut Child| child.try_wait().unwrap().is_some();
            let dead = workers.iter_mut().position(is_dead);
            sums.chosen += u64::from(dead.is_some());
            let worker = dead.unwrap_or_else(|| random.random_range(0..workers.len()));
            let child = &mut workers[worker];
            // It may have to make some calls before it dies.
            if stopped == worker && !self.has_begun(worker as u64) {
                signal(child, Signal::SIGCONT);
            }
            self.end(child, worker as u64);
            *child = self.begin(worker as u64, random.random());
            if let Some(child) = workers.get(stopped) {
                signal(child, Signal::SIGCONT);
            }
        }
        for (child, worker) in workers.iter_mut().zip(0..) {
            self.end(child, worker);
        }
        sums.died += deaths.max(WORKERS);
        sums.forks += self.diary.forks().load(SeqCst);
        sums.calls += self.diary.all_calls();
        sums.filters += 1;
    }

    fn begin(&self, worker: u64, seed: u64) -> Child {
        self.diary.has_begun(worker).store(0, SeqCst);
        let arguments = [
            text(&self.file),
            text(&self.diary_file),
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
        for number in 0..F::ITEMS {
            self.filter.resolve(&self.diary, worker, number);
            self.check_item(worker, number);
        }
    }

    pub(crate) fn check_item(&self, worker: u64, number: u64) {
        let (filter, reader) = (&self.filter, &self.reader);
        filter.check_item(reader, &self.diary, worker, number);
    }
}

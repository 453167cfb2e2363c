//! A filter in shared memory beside the same filter on the heap, in one process:
//! `cargo bench -p guira-shm`, or with `-- --quick` the filter in the cache only. Then two processes beside
//! two threads, and how long it takes to open 1 GiB.
//!
//! Both take turns in each round. The ratio is the median of the ratios of all rounds; above 1 the
//! filter in shared memory is faster.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(
    unsafe_code,
    reason = "opens files of filters, and starts child processes"
)]
mod linux {
    use guira::CuckooFilter;
    use guira_shm::SharedFilter;
    use nix::{
        time::ClockId,
        unistd::{ForkResult, fork},
    };
    use std::{
        error::Error,
        hint::black_box,
        io::{Read, Write},
        path::Path,
        time::{Duration, Instant},
    };

    /// Slots of the filters, as powers of two, and the rounds: in the second-level cache, and behind all
    /// caches.
    const SIZES: [(u32, usize); 2] = [(17, 41), (26, 3)];

    /// What is measured, in this order in each round.
    const CALLS: [&str; 8] = [
        "insert, 0 to 80 %",
        "insert, 80 to 95 %",
        "lookup, present",
        "lookup, absent",
        "remove",
        "insert_unique, absent, 0 to 80 %",
        "insert_unique, absent, 80 to 95 %",
        "insert_unique, present",
    ];

    /// The methods that both kinds of filter have.
    trait Filter {
        fn contains(&self, item: u64) -> bool;
        fn insert(&self, item: u64) -> bool;
        fn insert_unique(&self, item: u64) -> bool;
        fn remove(&self, item: u64) -> bool;
    }

    macro_rules! filter {
        ($type:ty) => {
            impl Filter for $type {
                #[inline]
                fn contains(&self, item: u64) -> bool {
                    self.contains(&item)
                }

                #[inline]
                fn insert(&self, item: u64) -> bool {
                    self.insert(&item).is_ok()
                }

                #[inline]
                fn insert_unique(&self, item: u64) -> bool {
                    self.insert_unique(&item) == Ok(true)
                }

                #[inline]
                fn remove(&self, item: u64) -> bool {
                    self.remove(&item)
                }
            }
        };
    }

    filter!(CuckooFilter);
    filter!(SharedFilter);

    /// The processor time of this thread: other programs do not count.
    fn now() -> Duration {
        let now = ClockId::CLOCK_THREAD_CPUTIME_ID.now();
        now.map_or(Duration::ZERO, Duration::from)
    }

    /// Nanoseconds of a call for each item.
    #[inline(always)]
    fn time(items: std::ops::Range<u64>, mut call: impl FnMut(u64) -> bool) -> f64 {
        let count = items.end - items.start;
        let start = now();
        let trues = items.filter(|&item| call(black_box(item))).count();
        black_box(trues);
        (now() - start).as_nanos() as f64 / count as f64
    }

    /// One round, which leaves the filter empty.
    #[inline(never)]
    fn round<F: Filter>(filter: &F, slots: u64) -> [f64; CALLS.len()] {
        let (some, most) = (slots / 100 * 80, slots / 100 * 95);
        let insert = |item| filter.insert(item);
        let unique = |item| filter.insert_unique(item);
        let contains = |item| filter.contains(item);
        let remove = |item| filter.remove(item);
        let plain = [
            time(0..some, insert),
            time(some..most, insert),
            time(0..most, contains),
            time(slots..slots + most, contains),
            time(0..most, remove),
        ];
        let unique = [
            time(0..some, unique),
            time(some..most, unique),
            time(0..most, unique),
        ];
        time(0..most, remove);
        let mut all = plain.into_iter().chain(unique);
        [(); CALLS.len()].map(|()| all.next().unwrap_or(f64::NAN))
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    fn compare(dir: &Path, log_slots: u32, rounds: usize) -> Result<(), Box<dyn Error>> {
        let slots = 1_u64 << log_slots;
        let builder = || {
            let capacity = (slots / 100 * 95) as usize;
            CuckooFilter::builder().capacity(capacity).seed(7)
        };
        let heap = builder().build()?;
        let path = dir.join("filter");
        // SAFETY: nothing else truncates or writes a file in this directory.
        let mapped = unsafe { SharedFilter::create(&path, builder()) }?;
        mapped.attach()?;
        let slots = (heap.buckets() * heap.bucket_slots()) as u64;
        // The first round touches all pages.
        let mut all = Vec::new();
        for number in 0..=rounds {
            let times = if number % 2 == 0 {
                let heap = round(&heap, slots);
                (heap, round(&mapped, slots))
            } else {
                let mapped = round(&mapped, slots);
                (round(&heap, slots), mapped)
            };
            all.push(times);
        }
        all.remove(0);
        println!("\n2^{log_slots} slots, ns a call, medians of {rounds} rounds\n");
        println!("| call | heap | shared memory | ratio |\n|---|---|---|---|");
        for (at, call) in CALLS.iter().enumerate() {
            let heap = median(all.iter().map(|(heap, _)| heap[at]).collect());
            let mapped = median(all.iter().map(|(_, mapped)| mapped[at]).collect());
            let ratios = all.iter().map(|(heap, mapped)| heap[at] / mapped[at]);
            let ratio = median(ratios.collect());
            println!("| {call} | {heap:.1} | {mapped:.1} | {ratio:.2} |");
        }
        drop(mapped);
        std::fs::remove_file(&path)?;
        Ok(())
    }

    /// The calls of each thread and each process.
    const SHARE: u64 = 1 << 20;

    /// Nanoseconds of a call: of 100 calls `writes` insert or remove an item of this worker, and the others
    /// look an item up.
    #[inline(never)]
    fn work<F: Filter>(filter: &F, worker: u64, items: u64, writes: u64) -> f64 {
        let mut state = worker + 1;
        let (mut present, mut next) = (false, 0);
        time(0..SHARE, |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (random, chosen) = (state >> 33, (state >> 40) % 100);
            if chosen >= writes {
                return filter.contains(random % items);
            }
            let own = (worker + 1) << 40 | next;
            if present {
                present = false;
                next += 1;
                filter.remove(own)
            } else {
                present = filter.insert(own);
                present
            }
        })
    }

    fn by_threads(filter: &CuckooFilter, items: u64, writes: u64) -> f64 {
        std::thread::scope(|scope| {
            let workers = [0, 1].map(|it| scope.spawn(move || work(filter, it, items, writes)));
            let times = workers.map(|worker| worker.join().unwrap_or(f64::NAN));
            times.iter().sum::<f64>() / 2.0
        })
    }

    fn by_processes(filter: &SharedFilter, items: u64, writes: u64) -> Result<f64, Box<dyn Error>> {
        let (mut times, mut result) = std::io::pipe()?;
        for worker in [0, 1] {
            // SAFETY: this process has one thread.
            if matches!(unsafe { fork() }?, ForkResult::Child) {
                let time = work(filter, worker, items, writes);
                let written = result.write_all(&time.to_ne_bytes());
                std::process::exit(i32::from(written.is_err()));
            }
        }
        drop(result);
        let mut sum = 0.0;
        for _ in [0, 1] {
            let mut time = [0; 8];
            times.read_exact(&mut time)?;
            sum += f64::from_ne_bytes(time);
        }
        filter.repair();
        Ok(sum / 2.0)
    }

    fn compare_processes(dir: &Path, rounds: usize) -> Result<(), Box<dyn Error>> {
        const ITEMS: u64 = 100_000;
        let builder = || {
            CuckooFilter::builder()
                .capacity(ITEMS as usize * 100 / 97)
                .seed(7)
        };
        let heap = builder().build()?;
        let path = dir.join("processes");
        // SAFETY: as in `compare`.
        let mapped = unsafe { SharedFilter::create(&path, builder()) }?;
        for item in 0..ITEMS {
            heap.insert(&item)?;
            mapped.insert(&item)?;
        }
        println!("\nTwo threads, and two processes: ns a call, medians of {rounds} rounds\n");
        println!("| writes | threads | processes | ratio |\n|---|---|---|---|");
        for writes in [0, 10, 50, 100] {
            let (mut all, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
            for _ in 0..rounds {
                let threads = by_threads(&heap, ITEMS, writes);
                let processes = by_processes(&mapped, ITEMS, writes)?;
                all[0].push(threads);
                all[1].push(processes);
                ratios.push(threads / processes);
            }
            let ([threads, processes], ratio) = (all.map(median), median(ratios));
            println!("| {writes} % | {threads:.1} | {processes:.1} | {ratio:.2} |");
        }
        std::fs::remove_file(&path)?;
        Ok(())
    }

    /// Opens a filter of 1 GiB, whose pages are in memory.
    fn open(dir: &Path) -> Result<(), Box<dyn Error>> {
        let path = dir.join("large");
        let builder = CuckooFilter::builder().capacity(500_000_000).seed(7);
        // SAFETY: as in `compare`.
        drop(unsafe { SharedFilter::create(&path, builder) }?);
        let bytes = std::fs::metadata(&path)?.len();
        let mut times = Vec::new();
        for item in 0..101_u64 {
            let start = Instant::now();
            // SAFETY: as in `compare`.
            let filter = unsafe { SharedFilter::open(&path) }?;
            black_box(filter.contains(&item));
            times.push(start.elapsed().as_nanos() as f64 / 1e3);
        }
        let time = median(times);
        println!("\n{bytes} bytes are opened, and asked for one item, in {time:.0} µs");
        std::fs::remove_file(&path)?;
        Ok(())
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let quick = std::env::args().any(|argument| argument == "--quick");
        let dir = tempfile::tempdir_in("/dev/shm")?;
        for (log_slots, rounds) in SIZES.into_iter().take(if quick { 1 } else { 2 }) {
            compare(dir.path(), log_slots, rounds)?;
        }
        compare_processes(dir.path(), 11)?;
        open(dir.path())?;
        Ok(())
    }
}

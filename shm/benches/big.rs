//! A filter with more items than 32 bits can count: nothing may be lost, and a snapshot must be equal.
//!
//! `cargo bench -p guira-shm --bench big -- KIND ITEMS RATE FOLDER`, where the kind is `fixed`, `grown` or
//! `shared`, and the folder gets the snapshot. A shared filter is in `/dev/shm`. Prints a table. Without
//! arguments, each kind is run with a million items.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "opens the file of a filter")]
mod linux {
    use guira::{CuckooFilter, Prefer};
    use guira_shm::SharedFilter;
    use std::{
        error::Error,
        ops::Range,
        path::Path,
        thread,
        time::{Duration, Instant},
    };

    /// Items that threads insert or look up by one call.
    const BATCH: u64 = 1024;

    /// Of this number of items one is looked up.
    const LOOKED_UP: u64 = 64;

    /// Of this number of items one is removed and inserted again.
    const REMOVED: u64 = 4096;

    /// The absent items that are looked up, and the first of them.
    const ABSENT: u64 = 1 << 27;
    const FIRST_ABSENT: u64 = 1 << 40;

    /// A filter that grows has been made for this part of the items, and has doubled this often at least.
    const GROWTH: u64 = 64;
    const DOUBLINGS: u32 = 4;

    const HEADER: &str = "\
| filter | items | layout | memory | inserts | lost | false positives | digest | saved | loaded | equal | most memory |
|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---|---:|";

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        // Cargo adds `--bench`.
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        println!("{HEADER}");
        match arguments[..] {
            [kind, items, rate, folder, ..] => {
                let (items, rate) = (items.parse()?, rate.parse()?);
                println!("{}", row(kind, items, rate, Path::new(folder))?);
            }
            _ => {
                for kind in ["fixed", "grown", "shared"] {
                    let row = row(kind, 1_000_000, 0.01, &std::env::temp_dir())?;
                    println!("{row}");
                }
            }
        }
        Ok(())
    }

    /// Fills a filter, saves it and loads it again. What it finds is a row of the table.
    fn row(kind: &str, items: u64, rate: f64, folder: &Path) -> Result<String, Box<dyn Error>> {
        let asked = CuckooFilter::builder().false_positive_rate(rate).seed(7);
        let asked = asked.capacity(usize::try_from(items)?);
        let directory = tempfile::tempdir_in(folder)?;
        let saved = directory.path().join("big.guira");
        let (mut cells, digest) = match kind {
            "fixed" => used(&asked.prefer(Prefer::Space).build()?, items, &saved)?,
            "grown" => {
                let first = usize::try_from(items / GROWTH)?;
                let asked = asked.max_capacity(usize::try_from(items)?);
                let filter = asked.capacity(first).build()?;
                let used = used(&filter, items, &saved)?;
                assert!(filter.stats().doublings >= DOUBLINGS, "{filter:?}");
                used
            }
            "shared" => {
                let directory = tempfile::tempdir_in("/dev/shm")?;
                let file = directory.path().join("big");
                // SAFETY: only this process knows the directory.
                let shared = unsafe { SharedFilter::create(&file, asked) }?;
                let used = used(shared.as_filter(), items, &saved)?;
                drop(shared);
                // SAFETY: as above.
                let opened = unsafe { SharedFilter::open(&file) }?;
                assert!(opened.was_closed_cleanly());
                assert_eq!(opened.as_filter().digest(), used.1);
                used
            }
            _ => return Err(format!("{kind} is not fixed, grown or shared").into()),
        };
        // The first filter is gone, so that memory has room for this one.
        let (loaded, time) = timed(|| CuckooFilter::load(&saved));
        let loaded = loaded?;
        assert_eq!((loaded.len() as u64, loaded.digest()), (items, digest));
        assert_eq!(missing(&loaded, items), 0);
        cells.push(format!("{:.0} s", time.as_secs_f64()));
        cells.push("yes".into());
        cells.push(most_memory()?);
        Ok(format!("| {kind} | {} |", cells.join(" | ")))
    }

    /// Fills the filter, asks it and saves it: the cells of the row, and the digest.
    fn used(
        filter: &CuckooFilter,
        items: u64,
        saved: &Path,
    ) -> Result<(Vec<String>, u128), Box<dyn Error>> {
        let (_, filling) =
            timed(|| two_threads(0..items, |numbers| insert(filter, numbers, items)));
        assert_eq!(filter.len() as u64, items);
        say("filled", filling);
        let (lost, time) = timed(|| missing(filter, items));
        say("looked up", time);
        assert_eq!(lost, 0);
        let (false_positives, time) = timed(|| false_positives(filter));
        say("absent items looked up", time);
        let (digest, digesting) = timed(|| filter.digest());
        say("digested", digesting);
        // Each item that is removed comes back, maybe to another place.
        for number in (0..items).step_by(REMOVED as usize) {
            assert!(filter.remove(&number), "{number}");
        }
        assert_eq!(filter.len() as u64, items - items.div_ceil(REMOVED));
        for number in (0..items).step_by(REMOVED as usize) {
            filter.insert(&number)?;
        }
        assert_eq!(filter.digest(), digest);
        let (done, saving) = timed(|| filter.save(saved));
        done?;
        say("saved", saving);
        let cells = vec![
            items.to_string(),
            format!(
                "{} bits × {}",
                filter.fingerprint_bits() - filter.stats().doublings,
                filter.bucket_slots()
            ),
            format!("{:.2} GB", filter.memory_usage() as f64 / 1e9),
            format!(
                "{:.0} s, {:.1} M/s",
                filling.as_secs_f64(),
                items as f64 / filling.as_secs_f64() / 1e6
            ),
            format!("{lost} of {}", items.div_ceil(LOOKED_UP)),
            format!(
                "{:.4} %, at most {:.4} %",
                100.0 * false_positives as f64 / ABSENT as f64,
                100.0 * filter.false_positive_rate()
            ),
            format!("{:.0} s", digesting.as_secs_f64()),
            format!("{:.0} s", saving.as_secs_f64()),
        ];
        Ok((cells, digest))
    }

    /// Inserts these numbers.
    fn insert(filter: &CuckooFilter, numbers: Range<u64>, items: u64) {
        let start = Instant::now();
        for (index, batch) in batches(numbers, 1).enumerate() {
            filter.insert_batch(&batch).expect("as many items fit");
            if (index as u64).is_multiple_of((items / BATCH / 50).max(1)) {
                say(&format!("{} of {items}", filter.len()), start.elapsed());
            }
        }
    }

    /// How many of the items that are looked up are denied.
    fn missing(filter: &CuckooFilter, items: u64) -> u64 {
        let count = |numbers| found(filter, batches(numbers, LOOKED_UP));
        let asked = items.div_ceil(LOOKED_UP);
        asked - two_threads(0..items, count).into_iter().sum::<u64>()
    }

    /// How many of the absent items seem present.
    fn false_positives(filter: &CuckooFilter) -> u64 {
        let absent = FIRST_ABSENT..FIRST_ABSENT + ABSENT;
        two_threads(absent, |numbers| found(filter, batches(numbers, 1)))
            .into_iter()
            .sum()
    }

    fn found(filter: &CuckooFilter, batches: impl Iterator<Item = Vec<u64>>) -> u64 {
        let mut answers = [false; BATCH as usize];
        let of = |batch: Vec<u64>| {
            let answers = &mut answers[..batch.len()];
            filter.contains_batch(&batch, answers);
            answers.iter().filter(|&&found| found).count() as u64
        };
        batches.map(of).sum()
    }

    /// Those of the numbers that are multiples of `step`, in batches.
    fn batches(numbers: Range<u64>, step: u64) -> impl Iterator<Item = Vec<u64>> {
        let (first, end) = (numbers.start.next_multiple_of(step), numbers.end);
        let starts = (first..end).step_by((BATCH * step) as usize);
        starts.map(move |start| {
            let batch = start..end.min(start + BATCH * step);
            batch.step_by(step as usize).collect()
        })
    }

    /// Gives each thread half of the numbers.
    fn two_threads<T: Send>(numbers: Range<u64>, work: impl Fn(Range<u64>) -> T + Sync) -> [T; 2] {
        let middle = numbers.start.midpoint(numbers.end);
        thread::scope(|scope| {
            let halves = [numbers.start..middle, middle..numbers.end];
            let threads = halves.map(|half| scope.spawn(|| work(half)));
            threads.map(|thread| thread.join().expect("a thread that does not panic"))
        })
    }

    /// The most memory that this process had, as the kernel says.
    fn most_memory() -> Result<String, Box<dyn Error>> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let text = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kibibytes: u64 = text.ok_or("the kernel does not say")?.parse()?;
        Ok(format!("{:.2} GB", kibibytes as f64 * 1024.0 / 1e9))
    }

    fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
        let start = Instant::now();
        (work(), start.elapsed())
    }

    /// Tells the user where a run of an hour is.
    fn say(what: &str, time: Duration) {
        eprintln!("{what}: {:.1} s", time.as_secs_f64());
    }
}

//! Workloads: operations of guira in different proportions.

#[cfg(not(guira_faults))]
pub mod measured;
#[cfg(guira_faults)]
pub mod simulated;

use guira::{CuckooFilter, Hashed};
use std::ops::Range;

/// The number of lanes of keys. Each thread inserts into its own lane and removes from it.
const LANES: usize = 128;

/// The operations of each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// This percentage of lookups, half of them of present keys. The other operations are inserts
    /// and removes in turn.
    Mix(u64),
    /// Only inserts.
    Insert,
    /// Only removes.
    Remove,
    /// Inserts while a level is split.
    Split,
}

/// A filter, and the operations of its threads.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The name in tables.
    pub name: &'static str,
    /// The operations of each thread.
    pub job: Job,
    /// The percentage of slots in use at the start.
    pub load: usize,
    /// Log2 of the number of slots.
    pub log_slots: u32,
}

impl Workload {
    /// The number of operations until a thread runs out of items or empty slots.
    #[must_use]
    pub fn most_operations(&self) -> u64 {
        let slots = 1_u64 << self.log_slots;
        let percent = match self.job {
            Job::Mix(_) | Job::Split => return u64::MAX,
            Job::Insert => 90 - self.load,
            Job::Remove => self.load,
        };
        slots / 100 * percent as u64 / LANES as u64
    }
}

/// The workloads of the tables. The large ones have `log_large` slots.
#[must_use]
pub fn all(log_large: u32) -> Vec<Workload> {
    let workload = |name, job, load, log_slots| Workload {
        name,
        job,
        load,
        log_slots,
    };
    vec![
        workload("lookups, in cache", Job::Mix(100), 95, 18),
        workload("inserts, in cache", Job::Insert, 50, 18),
        workload("removes, in cache", Job::Remove, 95, 18),
        workload("churn, in cache", Job::Mix(0), 90, 18),
        workload("lookups", Job::Mix(100), 95, log_large),
        workload("90/5/5", Job::Mix(90), 90, log_large),
        workload("50/25/25", Job::Mix(50), 90, log_large),
        workload("churn", Job::Mix(0), 95, log_large),
        workload("inserts during a split", Job::Split, 100, log_large),
    ]
}

/// The workloads that can run for any length of time.
#[must_use]
pub fn steady(log_large: u32) -> Vec<Workload> {
    let mut workloads = all(log_large);
    workloads.retain(|workload| matches!(workload.job, Job::Mix(_)));
    workloads
}

/// The keys of one thread. The numbers from `tail` to `head` are in the filter.
#[derive(Clone, Copy, Debug)]
struct Lane {
    index: usize,
    tail: u64,
    head: u64,
}

impl Lane {
    fn hash(index: usize, number: u64) -> u64 {
        mix(((index as u64) << 40) | number)
    }

    fn insert(&mut self, filter: &CuckooFilter) -> bool {
        let inserted = filter
            .insert(&Hashed(Self::hash(self.index, self.head)))
            .is_ok();
        self.head += u64::from(inserted);
        inserted
    }

    fn remove(&mut self, filter: &CuckooFilter) {
        assert!(self.tail < self.head, "lane {} is empty", self.index);
        let removed = filter.remove(&Hashed(Self::hash(self.index, self.tail)));
        assert!(removed, "an item of lane {} was lost", self.index);
        self.tail += 1;
    }
}

/// The output function of SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number
/// Generators*, OOPSLA 2014).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A filled filter that threads can use.
#[derive(Debug)]
pub struct Stage {
    workload: Workload,
    filter: CuckooFilter,
    lanes: Vec<Lane>,
}

impl Stage {
    /// The numbers that are in the filter, by lane.
    fn windows(&self) -> Vec<Range<u64>> {
        self.lanes.iter().map(|it| it.tail..it.head).collect()
    }
}

/// The numbers of operations of each thread.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Operations of the warm-up.
    pub warm_up: u64,
    /// Measured operations.
    pub measured: u64,
}

impl Stage {
    /// Fills a filter in this thread.
    ///
    /// # Panics
    ///
    /// If the filter is full too early.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        // With 15 bits there are four slots in each word, so the number of slots is a power of two.
        let slots = 1_usize << workload.log_slots;
        let builder = CuckooFilter::builder().seed(1);
        let filter = match workload.job {
            Job::Split => builder.capacity(slots / 2).max_capacity(slots * 4),
            _ => builder.capacity(slots * 95 / 100).fingerprint_bits(15),
        };
        let filter = filter.build().expect("the filter is within the limits");
        let lanes = (0..LANES).map(|index| Lane {
            index,
            tail: 0,
            head: 0,
        });
        let mut stage = Self {
            workload,
            filter,
            lanes: lanes.collect(),
        };
        stage.fill();
        stage
    }

    fn fill(&mut self) {
        let slots = self.filter.buckets() * self.filter.bucket_slots();
        let items = slots * self.workload.load / 100;
        let small = self.filter.memory_usage();
        for item in 0..items {
            let inserted = self.lanes[item % LANES].insert(&self.filter);
            assert!(inserted, "the filter is full at {item} of {items} items");
            // A level begins when its memory has been allocated.
            if self.workload.job == Job::Split && self.filter.memory_usage() > small + small / 2 {
                return;
            }
        }
    }
}

/// What a thread has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The end of the warm-up.
    WarmedUp,
    /// The beginning of an operation.
    Begins,
    /// The end of an operation.
    Ends,
}

/// The operations of one thread.
fn work(
    job: Job,
    filter: &CuckooFilter,
    lane: &mut Lane,
    windows: &[Range<u64>],
    length: Length,
    mut comes_to: impl FnMut(Event),
) {
    let mut random = mix(lane.index as u64 ^ (lane.head << 8));
    let mut inserts = true;
    for operation in 0..length.warm_up + length.measured {
        if operation == length.warm_up {
            comes_to(Event::WarmedUp);
        }
        random = mix(random);
        comes_to(Event::Begins);
        match job {
            Job::Mix(lookups) if random % 100 < lookups => lookup(filter, mix(random), windows),
            Job::Mix(_) => {
                if inserts {
                    lane.insert(filter);
                } else {
                    lane.remove(filter);
                }
                inserts = !inserts;
            }
            Job::Insert | Job::Split => {
                assert!(lane.insert(filter), "the filter is full");
            }
            Job::Remove => lane.remove(filter),
        }
        comes_to(Event::Ends);
    }
}

/// Looks up a key of any lane, or an absent key.
fn lookup(filter: &CuckooFilter, random: u64, windows: &[Range<u64>]) {
    let lane = random as usize % LANES;
    let window = &windows[lane];
    let length = window.end - window.start;
    let number = if (random >> 32) & 1 == 0 || length == 0 {
        (1 << 39) | (random >> 40)
    } else {
        window.start + (random >> 33) % length
    };
    std::hint::black_box(filter.contains(&Hashed(Lane::hash(lane, number))));
}

//! Workloads: operations of guira in different proportions.

use crate::{
    machine::{self, LINE, Machine, Transfers},
    processor::Processor,
    simulation::{self, Body, Outcome},
};
use guira::{
    CuckooFilter,
    coherence::{self, Access, Field, Kind},
};
use std::{ops::Range, sync::Once};

/// The cycles of other work. These are assumptions, not measurements.
const AROUND_ACCESS: u64 = 3;
const AROUND_OPERATION: u64 = 12;

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
            .insert_hash(Self::hash(self.index, self.head))
            .is_ok();
        self.head += u64::from(inserted);
        inserted
    }

    fn remove(&mut self, filter: &CuckooFilter) {
        assert!(self.tail < self.head, "lane {} is empty", self.index);
        let removed = filter.remove_hash(Self::hash(self.index, self.tail));
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

/// The numbers of operations of each thread.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Operations of the warm-up.
    pub warm_up: u64,
    /// Measured operations.
    pub measured: u64,
}

/// The results of a workload.
#[derive(Debug)]
pub struct Run {
    /// Millions of operations per second.
    pub rate: f64,
    /// The number of measured operations.
    pub operations: u64,
    /// The number of transfers.
    pub transfers: u64,
    /// Lines with transfers.
    pub lines: Vec<HotLine>,
}

/// A line and its transfers.
#[derive(Clone, Debug)]
pub struct HotLine {
    /// The fields in the line.
    pub fields: String,
    /// True if the line holds items.
    pub holds_items: bool,
    /// The number of transfers of the line.
    pub transfers: u64,
}

impl Run {
    /// The most transferred line without items, and its share of all transfers.
    #[must_use]
    pub fn hottest(&self) -> Option<(&HotLine, f64)> {
        let line = self.lines.iter().find(|line| !line.holds_items)?;
        Some((line, line.transfers as f64 / self.transfers as f64))
    }
}

impl Stage {
    /// Fills a filter in this thread.
    ///
    /// # Panics
    ///
    /// If the filter is full too early.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        static OBSERVED: Once = Once::new();
        OBSERVED.call_once(|| coherence::observe(observe));
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

    /// Runs `threads` threads on a processor, each on its own core.
    #[must_use]
    pub fn run(&mut self, processor: Processor, threads: usize, length: Length) -> Run {
        let mut machine = Machine::new(processor, threads);
        for field in self.filter.fields() {
            if field.name == "table.words" {
                machine.warm(field.addresses);
            }
        }
        let (job, filter) = (self.workload.job, &self.filter);
        let windows: Vec<Range<u64>> = self.lanes.iter().map(|it| it.tail..it.head).collect();
        let windows = &windows;
        let bodies = self.lanes[..threads].iter_mut().map(|lane| {
            let body: Body<'_> = Box::new(move || work(job, filter, lane, windows, length));
            body
        });
        let bodies = bodies.collect();
        let outcome = simulation::run(machine, AROUND_ACCESS, coherence::simulate_thread, bodies);
        self.report(&outcome, threads as u64 * length.measured)
    }

    fn report(&self, outcome: &Outcome, operations: u64) -> Run {
        let fields = self.filter.fields();
        let transfers = outcome.machine.transfers();
        Run {
            rate: outcome.rate * 1000.0,
            operations,
            transfers: transfers.iter().map(|line| line.count).sum(),
            lines: transfers.into_iter().map(|it| hot(&fields, it)).collect(),
        }
    }
}

fn hot(fields: &[Field], line: Transfers) -> HotLine {
    let addresses = line.address..line.address + LINE;
    let mut inside: Vec<&Field> = fields
        .iter()
        .filter(|it| it.addresses.start < addresses.end && addresses.start < it.addresses.end)
        .collect();
    inside.sort_by_key(|field| field.addresses.len());
    let mut names: Vec<&str> = inside.iter().map(|field| field.name).collect();
    names.dedup();
    HotLine {
        fields: names.join(", "),
        holds_items: inside.iter().any(|field| field.holds_items),
        transfers: line.count,
    }
}

fn observe(access: Access) {
    let kind = match access.kind {
        Kind::Load => machine::Kind::Load,
        Kind::Store => machine::Kind::Store,
        Kind::Exchange => machine::Kind::Exchange,
    };
    simulation::access(access.address, kind);
}

/// The operations of one thread.
fn work(job: Job, filter: &CuckooFilter, lane: &mut Lane, windows: &[Range<u64>], length: Length) {
    let mut random = mix(lane.index as u64 ^ (lane.head << 8));
    let mut inserts = true;
    for operation in 0..length.warm_up + length.measured {
        if operation == length.warm_up {
            simulation::warmed_up();
        }
        random = mix(random);
        simulation::work(AROUND_OPERATION);
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
        simulation::complete();
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
    std::hint::black_box(filter.contains_hash(Lane::hash(lane, number)));
}

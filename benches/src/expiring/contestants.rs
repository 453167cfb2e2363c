//! The contestants: each remembers a number of keys, at one rate of false positives.

use super::window::{Seen, Window};
use crate::hasher::{self, SharedHasher};
use arc_swap::ArcSwap;
use cuckoo_clock::config::{CuckooConfiguration, TtlConfig};
use guira::{CuckooFilter, ExpiringFilter, SeededState};
use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, BuildHasherDefault},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// guira's name.
pub(super) const OURS: &str = "guira, 16 bits × 3, 12 steps";
/// That of eight filters.
pub(super) const EIGHT: &str = "8 rotating filters";

/// The steps of guira, of cuckoo-clock, and of the map.
const STEPS: u32 = 12;

/// A contestant as the tables list it.
#[derive(Clone, Copy, Debug)]
pub struct Contestant {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub note: &'static str,
    /// Steps of a TTL.
    pub steps: u32,
    /// Makes one for this number of keys within a TTL.
    pub make: fn(usize) -> Box<dyn Window>,
}

/// All of them, guira first.
#[must_use]
pub fn contestants() -> [Contestant; 5] {
    [
        Contestant {
            name: OURS,
            note: "lock-free; one table",
            steps: STEPS,
            make: |items| Box::new(expiring(items)),
        },
        Contestant {
            name: "2 rotating filters",
            note: "guira's plain filters behind `arc-swap`; each is asked for half the rate",
            steps: 1,
            make: |items| Box::new(Rotating::new(items, 2)),
        },
        Contestant {
            name: EIGHT,
            note: "the same, with an eighth of the rate each",
            steps: 7,
            make: |items| Box::new(Rotating::new(items, 8)),
        },
        Contestant {
            name: "cuckoo-clock with TTL",
            note: "a mutex for each bucket; 17 bits and 4 of time × 4",
            steps: STEPS,
            make: |items| Box::new(clock(items)),
        },
        Contestant {
            name: "64 × Mutex<HashMap>",
            note: "exact: the keys, each with its step",
            steps: STEPS,
            make: |items| Box::new(Map::new(items)),
        },
    ]
}

fn expiring(items: usize) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(Duration::from_secs(3600))
        .capacity(items)
        .epochs(STEPS)
        .fingerprint_bits(16)
        .seed(hasher::SEED);
    builder.build().expect("a layout of guira, and memory")
}

impl Window for ExpiringFilter {
    #[inline(always)]
    fn first_seen(&self, key: u64) -> Seen {
        match self.insert_unique(&key) {
            Ok(true) => Seen::First,
            Ok(false) => Seen::Before,
            Err(_) => Seen::Refused,
        }
    }

    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        ExpiringFilter::contains(self, &key)
    }

    fn step(&self) {
        self.advance();
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }
}

/// Several filters. The newest takes the keys, and each step discards the oldest.
struct Rotating {
    /// The newest first.
    filters: ArcSwap<Vec<Arc<CuckooFilter>>>,
    make: Box<dyn Fn() -> Arc<CuckooFilter> + Send + Sync>,
}

impl Rotating {
    fn new(items: usize, count: usize) -> Self {
        let rate = expiring(items).false_positive_rate() / count as f64;
        let in_a_step = items.div_ceil(count - 1);
        let make = move || {
            let builder = CuckooFilter::builder()
                .capacity(in_a_step)
                .false_positive_rate(rate);
            let built = builder.hasher(hasher::state()).build();
            Arc::new(built.expect("a layout of guira, and memory"))
        };
        Self {
            filters: ArcSwap::from_pointee((0..count).map(|_| make()).collect()),
            make: Box::new(make),
        }
    }
}

impl Window for Rotating {
    #[inline(always)]
    fn first_seen(&self, key: u64) -> Seen {
        let filters = self.filters.load();
        let hash = filters[0].hasher().hash_one(key);
        let (newest, older) = filters.split_first().expect("there are two at least");
        if older.iter().any(|filter| filter.contains_hash(hash)) {
            return Seen::Before;
        }
        match newest.insert_unique_hash(hash) {
            Ok(true) => Seen::First,
            Ok(false) => Seen::Before,
            Err(_) => Seen::Refused,
        }
    }

    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        let filters = self.filters.load();
        let hash = filters[0].hasher().hash_one(key);
        filters.iter().any(|filter| filter.contains_hash(hash))
    }

    fn step(&self) {
        let now = self.filters.load();
        let kept = now[..now.len() - 1].iter().cloned();
        let next = std::iter::once((self.make)()).chain(kept).collect();
        self.filters.store(Arc::new(next));
    }

    fn bytes(&self) -> usize {
        let filters = self.filters.load();
        filters.iter().map(|filter| filter.memory_usage()).sum()
    }
}

/// An item lives for 12 to 13 scans of the table.
fn clock(items: usize) -> cuckoo_clock::CuckooFilter<SeededState> {
    let ttl = TtlConfig {
        ttl: (STEPS + 1).try_into().expect("not 0"),
        ttl_bits: 4.try_into().expect("4 bits are allowed"),
    };
    let room = items * 27 / 24;
    let configuration = CuckooConfiguration::builder(room)
        .fingerprint_bits(17.try_into().expect("17 bits are allowed"))
        .bucket_size(4.try_into().expect("4 slots are allowed"))
        .with_ttl(ttl)
        .build();
    cuckoo_clock::CuckooFilter::new(
        configuration.expect("a valid configuration"),
        hasher::state(),
    )
}

impl Window for cuckoo_clock::CuckooFilter<SeededState> {
    /// Its `insert_if_not_present` does not say which it was. So the caller asks before, and two may
    /// both be first.
    #[inline(always)]
    fn first_seen(&self, key: u64) -> Seen {
        if Window::contains(self, key) {
            return Seen::Before;
        }
        match self.insert_if_not_present(&key) {
            None => Seen::First,
            Some(_) => Seen::Refused,
        }
    }

    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        cuckoo_clock::CuckooFilter::contains(self, &key)
    }

    fn step(&self) {
        self.scan_and_update_ttl();
    }

    fn bytes(&self) -> usize {
        self.get_memory_usage()
    }
}

type Shard = HashMap<u64, u32, BuildHasherDefault<SharedHasher>>;

/// The keys, each with the step in which it came.
struct Map {
    shards: Vec<Mutex<Shard>>,
    step: AtomicU32,
}

impl Map {
    const SHARDS: usize = 64;

    fn new(items: usize) -> Self {
        let room = items / Self::SHARDS * 27 / 24;
        let shard = || Mutex::new(Shard::with_capacity_and_hasher(room, Default::default()));
        Self {
            shards: (0..Self::SHARDS).map(|_| shard()).collect(),
            step: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    fn shard<R>(&self, shard: usize, of: impl FnOnce(&mut Shard) -> R) -> R {
        let mut shard = self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        of(&mut shard)
    }

    /// Keys are random numbers already.
    #[inline(always)]
    fn of(key: u64) -> usize {
        (key >> 58) as usize
    }
}

impl Window for Map {
    #[inline(always)]
    fn first_seen(&self, key: u64) -> Seen {
        self.shard(Self::of(key), |shard| match shard.entry(key) {
            Entry::Occupied(_) => Seen::Before,
            Entry::Vacant(vacant) => {
                vacant.insert(self.step.load(Ordering::Relaxed));
                Seen::First
            }
        })
    }

    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        self.shard(Self::of(key), |shard| shard.contains_key(&key))
    }

    fn step(&self) {
        let now = self.step.fetch_add(1, Ordering::Relaxed) + 1;
        for shard in 0..Self::SHARDS {
            self.shard(shard, |shard| {
                shard.retain(|_, &mut seen| now.saturating_sub(seen) <= STEPS);
            });
        }
    }

    /// A slot of a key and a step, and a byte of control, for each of a power of two.
    fn bytes(&self) -> usize {
        let slots = |shard: usize| {
            self.shard(shard, |shard| {
                (shard.capacity() * 8).div_ceil(7).next_power_of_two()
            })
        };
        (0..Self::SHARDS)
            .map(|shard| slots(shard) * (size_of::<(u64, u32)>() + 1))
            .sum()
    }
}

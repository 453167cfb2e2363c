//! What remembers the keys of a window: each a number of keys, at one rate of false positives.

use crate::{
    hasher,
    keys::mix,
    peer::Peer,
    peers::{guira_with, peer},
};
use arc_swap::ArcSwap;
use cuckoo_clock::config::{CuckooConfiguration, TtlConfig};
use dashmap::{DashMap, Entry};
use guira::{CuckooFilter, ExpiringFilter, Hashed, SeededState};
use std::{
    hash::BuildHasher,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// The answer to "is this key new?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is, and is remembered from now on.
    First,
    /// It came before.
    Before,
    /// It cannot be remembered.
    Refused,
}

/// A set whose items expire; its time advances in epochs.
pub(super) trait Window: Peer {
    /// Remembers the key if it is new.
    fn first_seen(&self, key: &u64) -> Seen;

    /// Begins the next epoch.
    fn begin_epoch(&self);

    /// Asks for the keys with these numbers, 64 at most. For each answer (first, before, refused)
    /// the keys that had it, as bits. Each contestant has its own copy of this loop.
    fn see_all(&self, numbers: Range<u64>) -> [u64; 3] {
        let mut answers = [0; 3];
        for (place, number) in numbers.enumerate() {
            answers[self.first_seen(&mix(number)) as usize] |= 1 << place;
        }
        answers
    }
}

/// The epochs of guira, of cuckoo-clock, and of the map.
const EPOCHS: u32 = 12;

/// A contestant as the tables list it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contestant {
    pub(super) name: &'static str,
    /// Epochs of a TTL.
    pub(super) epochs: u32,
    /// Makes one for this number of keys within a TTL.
    pub(super) make: fn(usize) -> Box<dyn Window>,
}

/// All of them, guira first.
pub(super) fn contestants() -> [Contestant; 5] {
    let contestant = |name, epochs, make| Contestant { name, epochs, make };
    [
        contestant("guira, 16 bits × 3, 12 epochs", EPOCHS, |items| {
            Box::new(expiring(items))
        }),
        contestant("2 rotating filters", 1, |items| {
            Box::new(Rotating::new(items, 2))
        }),
        contestant("8 rotating filters", 7, |items| {
            Box::new(Rotating::new(items, 8))
        }),
        contestant("cuckoo-clock with TTL", EPOCHS, |items| {
            Box::new(clock(items))
        }),
        contestant("dashmap::DashMap", EPOCHS, |items| {
            let epochs = DashMap::with_capacity_and_hasher(items * 27 / 24, hasher::state());
            Box::new(Map {
                epochs,
                now: AtomicU32::new(0),
            })
        }),
    ]
}

/// One of guira with the default number of epochs, which is [`EPOCHS`].
pub(super) fn expiring(items: usize) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(Duration::from_secs(3600)).capacity(items);
    let built = builder.fingerprint_bits(16).seed(hasher::SEED).build();
    built.expect("a layout of guira, and memory")
}

impl Window for ExpiringFilter {
    #[inline(always)]
    fn first_seen(&self, key: &u64) -> Seen {
        match self.insert_unique(key) {
            Ok(true) => Seen::First,
            Ok(false) => Seen::Before,
            Err(_) => Seen::Refused,
        }
    }

    fn begin_epoch(&self) {
        self.advance();
    }
}

/// Several filters. The newest takes the keys, and each epoch discards the oldest.
struct Rotating {
    /// The newest first.
    filters: ArcSwap<Vec<Arc<CuckooFilter>>>,
    make: Box<dyn Fn() -> Arc<CuckooFilter> + Send + Sync>,
}

impl Rotating {
    fn new(items: usize, count: usize) -> Self {
        let rate = expiring(items).false_positive_rate() / count as f64;
        let in_an_epoch = items.div_ceil(count - 1);
        let make = move || {
            let builder = CuckooFilter::builder().capacity(in_an_epoch);
            Arc::new(guira_with(builder.false_positive_rate(rate)))
        };
        Self {
            filters: ArcSwap::from_pointee((0..count).map(|_| make()).collect()),
            make: Box::new(make),
        }
    }
}

impl Window for Rotating {
    #[inline(always)]
    fn first_seen(&self, key: &u64) -> Seen {
        let filters = self.filters.load();
        let hash = hasher::state().hash_one(key);
        let (newest, older) = filters.split_first().expect("there are two at least");
        if older.iter().any(|filter| filter.contains(&Hashed(hash))) {
            return Seen::Before;
        }
        match newest.insert_unique(&Hashed(hash)) {
            Ok(true) => Seen::First,
            Ok(false) => Seen::Before,
            Err(_) => Seen::Refused,
        }
    }

    fn begin_epoch(&self) {
        let now = self.filters.load();
        let kept = now[..now.len() - 1].iter().cloned();
        let next = std::iter::once((self.make)()).chain(kept).collect();
        self.filters.store(Arc::new(next));
    }
}

peer!(Rotating, |it, key|
    insert it.filters.load()[0].insert(key).is_ok(),
    contains {
        let hash = hasher::state().hash_one(key);
        let filters = it.filters.load();
        filters.iter().any(|filter| filter.contains(&Hashed(hash)))
    },
    bytes it.filters.load().iter().map(|filter| filter.memory_usage()).sum());

/// An item lives for 12 to 13 scans of the table.
fn clock(items: usize) -> cuckoo_clock::CuckooFilter<SeededState> {
    let ttl = TtlConfig {
        ttl: (EPOCHS + 1).try_into().expect("not 0"),
        ttl_bits: 4.try_into().expect("4 bits are allowed"),
    };
    let builder = CuckooConfiguration::builder(items * 27 / 24)
        .fingerprint_bits(17.try_into().expect("17 bits are allowed"))
        .bucket_size(4.try_into().expect("4 slots are allowed"));
    let configuration = builder.with_ttl(ttl).build();
    let configuration = configuration.expect("a valid configuration");
    cuckoo_clock::CuckooFilter::new(configuration, hasher::state())
}

impl Window for cuckoo_clock::CuckooFilter<SeededState> {
    /// Its `insert_if_not_present` does not say which it was. So the caller asks before, and two may
    /// both be first.
    #[inline(always)]
    fn first_seen(&self, key: &u64) -> Seen {
        if self.contains(key) {
            return Seen::Before;
        }
        match self.insert_if_not_present(key) {
            None => Seen::First,
            Some(_) => Seen::Refused,
        }
    }

    fn begin_epoch(&self) {
        self.scan_and_update_ttl();
    }
}

/// The keys, each with the epoch in which it came.
struct Map {
    epochs: DashMap<u64, u32, SeededState>,
    now: AtomicU32,
}

// A place takes a key and an epoch, and a byte of control.
peer!(Map, |it, key|
    insert it.first_seen(key) == Seen::First,
    contains it.epochs.contains_key(key),
    bytes (it.epochs.capacity() * 8 / 7).next_power_of_two() * (size_of::<(u64, u32)>() + 1));

impl Window for Map {
    #[inline(always)]
    fn first_seen(&self, key: &u64) -> Seen {
        match self.epochs.entry(*key) {
            Entry::Occupied(_) => Seen::Before,
            Entry::Vacant(vacant) => {
                vacant.insert(self.now.load(Ordering::Relaxed));
                Seen::First
            }
        }
    }

    fn begin_epoch(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.epochs
            .retain(|_, &mut seen| now.saturating_sub(seen) <= EPOCHS);
    }
}

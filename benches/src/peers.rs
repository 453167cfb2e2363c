//! The contestants. All hash with guira's hasher.

use crate::{
    hasher::{self, SharedHasher},
    peer::Peer,
};
use crossbeam_utils::CachePadded;
use guira::{BuildError, CuckooFilter, ExpiringFilter, SeededState};
use rand::{SeedableRng, rngs::SmallRng};
use std::{
    hash::BuildHasher,
    sync::{Mutex, RwLock},
};

/// The rate that peers are asked for where they take one: that of guira's
/// 15-bit fingerprints, to which the fixed sizes of the others come nearest.
const RATE: f64 = 0.00023;

/// The peer that is a chain of filters with longer fingerprints from link to link, so that it keeps its
/// rate.
pub(crate) const SCALABLE: &str = "RwLock<scalable_cuckoo_filter>";

/// How much a contestant is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Items for which it has room at first, where it can grow.
    pub first: u64,
    /// Items for which it has room in the end.
    pub items: u64,
    /// The rate of false positives that it is asked for, where it can be asked.
    pub rate: Option<f64>,
}

impl Room {
    /// Room for a part of this number of items at first, which grows.
    #[must_use]
    pub fn growing(items: u64, times: u64, rate: f64) -> Self {
        Self {
            first: (items / times).max(1),
            items,
            rate: Some(rate),
        }
    }

    /// Room for this number of items from the beginning.
    #[must_use]
    pub fn of(items: u64) -> Self {
        Self {
            first: items,
            items,
            rate: None,
        }
    }
}

/// What a contestant can do, and not all of them can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Can {
    /// It can delete.
    Delete,
    /// It holds a copy of a key for each insert.
    Copy,
    /// It is quick enough to be filled with tens of millions of items.
    BeLarge,
    /// It can begin with room for a part of the items.
    Grow,
    /// It can be asked for a rate.
    TakeRate,
}

/// A contestant: its name, what it is, and how it is made.
#[derive(Debug)]
pub struct Entry {
    /// How tables and plots call it.
    pub name: &'static str,
    /// What it can do.
    pub abilities: &'static [Can],
    /// Makes one.
    pub make: fn(Room) -> Box<dyn Peer>,
}

impl Entry {
    /// True if it can do this.
    #[must_use]
    pub fn can(&self, what: Can) -> bool {
        self.abilities.contains(&what)
    }
}

/// Implements [`Peer`] for a filter. The expressions can use the filter and a key.
macro_rules! peer {
    (
        $filter:ty, |$it:ident, $key:ident| insert $insert:expr, contains $contains:expr,
        $(remove $remove:expr,)? bytes $bytes:expr $(, settle $settle:expr)?
    ) => {
        impl $crate::peer::Peer for $filter {
            #[inline(always)]
            fn insert(&self, $key: &u64) -> bool {
                let $it = self;
                $insert
            }

            #[inline(always)]
            fn contains(&self, $key: &u64) -> bool {
                let $it = self;
                $contains
            }

            $(#[inline(always)]
            fn remove(&self, $key: &u64) -> bool {
                let $it = self;
                $remove
            })?

            fn bytes(&self) -> usize {
                let $it = self;
                $bytes
            }

            $(fn settle(&self) {
                let $it = self;
                $settle
            })?
        }
    };
}
pub(crate) use peer;

const POISONED: &str = "no thread panics with the lock held";

peer!(CuckooFilter, |it, key|
    insert it.insert(key).is_ok(),
    contains it.contains(key),
    remove it.remove(key),
    bytes it.memory_usage(),
    settle it.finish_growth());

// One whose items expire.
peer!(ExpiringFilter, |it, key|
    insert it.insert(key).is_ok(),
    contains it.contains(key),
    remove it.remove(key),
    bytes it.memory_usage());

/// guira with fingerprints of 15 bits, or with what it chooses for a rate.
///
/// # Errors
///
/// If guira does not offer the rate with so much growth.
pub fn guira(room: Room) -> Result<CuckooFilter, BuildError> {
    let builder = CuckooFilter::builder().capacity(room.first as usize);
    let builder = match room.rate {
        Some(rate) => builder.false_positive_rate(rate),
        None => builder.fingerprint_bits(15),
    };
    let builder = match room.first < room.items {
        true => builder.max_capacity(room.items as usize),
        false => builder,
    };
    builder.hasher(hasher::state()).build()
}

/// A filter for `items` items with fingerprints of `bits` bits.
///
/// # Panics
///
/// If there is no such layout, or no memory.
#[must_use]
pub fn with_bits(items: u64, bits: u32) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(items as usize);
    guira_with(builder.fingerprint_bits(bits))
}

/// A filter of guira with the hasher of all.
///
/// # Panics
///
/// If there is no such layout, or no memory.
pub(crate) fn guira_with(builder: guira::Builder) -> CuckooFilter {
    let built = builder.hasher(hasher::state()).build();
    built.expect("a layout of guira, and memory")
}

type Atomic = atomic_cuckoo_filter::CuckooFilter<SharedHasher>;

/// Bits of a fingerprint: 4, 8, 16 or 32 are on offer.
const ATOMIC_BITS: usize = 16;

peer!(Atomic, |it, key|
    insert it.insert(key).is_ok(),
    contains it.contains(key),
    remove it.remove(key),
    bytes size_of_val(it) + it.capacity() * ATOMIC_BITS / 8);

fn atomic(items: u64) -> Atomic {
    let builder = atomic_cuckoo_filter::CuckooFilterBuilder::default();
    let builder = builder.capacity(items as usize).bucket_size(4);
    let built = builder.fingerprint_size(ATOMIC_BITS).build();
    built.expect("a valid configuration")
}

// A fingerprint that comes back was put out of the filter: it may be this key's.
peer!(cuckoo_clock::CuckooFilter<SeededState>, |it, key|
    insert it.insert(key).is_none(),
    contains it.contains(key),
    remove it.remove(key),
    bytes it.get_memory_usage());

fn clock(items: u64) -> cuckoo_clock::CuckooFilter<SeededState> {
    let builder = cuckoo_clock::config::CuckooConfiguration::builder(items as usize)
        .fingerprint_bits(16.try_into().expect("16 bits are allowed"))
        .bucket_size(4.try_into().expect("4 slots are allowed"));
    let configuration = builder.build().expect("a valid configuration");
    cuckoo_clock::CuckooFilter::new(configuration, hasher::state())
}

type Plain = cuckoofilter::CuckooFilter<SharedHasher>;

// An error means that another item was dropped for this one.
peer!(RwLock<Plain>, |it, key|
    insert it.write().expect(POISONED).add(key).is_ok(),
    contains it.read().expect(POISONED).contains(key),
    remove it.write().expect(POISONED).delete(key),
    bytes it.read().expect(POISONED).memory_usage());

/// 64 filters for one writer, each with a lock.
struct Sharded(Vec<CachePadded<Mutex<Plain>>>);

impl Sharded {
    fn new(items: u64) -> Self {
        let shard = |_| CachePadded::new(Mutex::new(Plain::with_capacity(items as usize / 64)));
        Self((0..64).map(shard).collect())
    }

    /// The shard comes from the hash of the hash: the filter uses all its bits.
    #[inline(always)]
    fn with(&self, key: &u64, of: impl FnOnce(&mut Plain, &u64) -> bool) -> bool {
        let hash = hasher::state().hash_one(key);
        let shard = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        of(&mut self.0[shard as usize].lock().expect(POISONED), &hash)
    }
}

peer!(Sharded, |it, key|
    insert it.with(key, |shard, hash| shard.add(hash).is_ok()),
    contains it.with(key, |shard, hash| shard.contains(hash)),
    remove it.with(key, |shard, hash| shard.delete(hash)),
    bytes it.0.iter().map(|shard| shard.lock().expect(POISONED).memory_usage()).sum());

type Quotient = qfilter::Filter<Box<[u8]>, SeededState>;

peer!(RwLock<Quotient>, |it, key|
    insert it.write().expect(POISONED).insert_duplicated(key).is_ok(),
    contains it.read().expect(POISONED).contains(key),
    remove it.write().expect(POISONED).remove(key),
    bytes it.read().expect(POISONED).memory_usage());

fn quotient(room: Room) -> RwLock<Quotient> {
    let rate = room.rate.unwrap_or(RATE);
    let filter = Quotient::new_with_hasher(room.items, rate, hasher::state());
    RwLock::new(filter.expect("a valid configuration"))
}

type Scalable = scalable_cuckoo_filter::ScalableCuckooFilter<u64, SharedHasher, SmallRng>;

// It grows rather than refuse.
peer!(RwLock<Scalable>, |it, key|
    insert {
        it.write().expect(POISONED).insert(key);
        true
    },
    contains it.read().expect(POISONED).contains(key),
    remove it.write().expect(POISONED).remove(key),
    bytes it.read().expect(POISONED).bits() as usize / 8);

fn scalable(room: Room) -> RwLock<Scalable> {
    let builder = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
        .initial_capacity(room.first as usize)
        .false_positive_probability(room.rate.unwrap_or(RATE))
        .hasher(SharedHasher::default())
        .rng(SmallRng::seed_from_u64(1));
    RwLock::new(builder.finish())
}

type Bloom = fastbloom::AtomicBloomFilter<SeededState>;

// It takes everything, at the price of its rate.
peer!(Bloom, |it, key|
    insert {
        it.insert(key);
        true
    },
    contains it.contains(key),
    bytes it.num_bits() / 8);

fn bloom(room: Room) -> Bloom {
    let builder = fastbloom::AtomicBloomFilter::with_false_pos(room.rate.unwrap_or(RATE));
    builder
        .hasher(hasher::state())
        .expected_items(room.items as usize)
}

type Papaya = papaya::HashSet<u64, SeededState>;

// A set keeps one copy: the second is refused. papaya does not tell its size. It has 9 bytes for each
// place of its table, which it does not fill beyond three quarters, and an allocation of 32 bytes for each key.
peer!(Papaya, |it, key|
    insert it.pin().insert(*key),
    contains it.pin().contains(key),
    remove it.pin().remove(key),
    bytes it.len() * 32 + (it.len() * 8 / 6).next_power_of_two() * 9);

type Dash = dashmap::DashSet<u64, SeededState>;

// A place of its tables takes a key and a byte.
peer!(Dash, |it, key|
    insert it.insert(*key),
    contains it.contains(key),
    remove it.remove(key).is_some(),
    bytes (it.capacity() * 8 / 7).next_power_of_two() * (size_of::<u64>() + 1));

/// All contestants; guira is the first, the closest peer the second.
#[must_use]
pub fn all() -> Vec<Entry> {
    use Can::{BeLarge, Copy, Delete, Grow, TakeRate};
    let entry = |name, abilities, make| Entry {
        name,
        abilities,
        make,
    };
    vec![
        entry("guira", &[Delete, Copy, BeLarge, Grow, TakeRate], |room| {
            Box::new(guira(room).expect("a rate on offer, and memory"))
        }),
        entry("atomic-cuckoo-filter", &[Delete, Copy, BeLarge], |room| {
            Box::new(atomic(room.items))
        }),
        entry("cuckoo-clock", &[Delete, Copy], |room| {
            Box::new(clock(room.items))
        }),
        entry("RwLock<cuckoofilter>", &[Delete, Copy, BeLarge], |room| {
            Box::new(RwLock::new(Plain::with_capacity(room.items as usize)))
        }),
        entry("64 × Mutex<cuckoofilter>", &[Delete, Copy], |room| {
            Box::new(Sharded::new(room.items))
        }),
        entry(
            "RwLock<qfilter>",
            &[Delete, Copy, BeLarge, TakeRate],
            |room| Box::new(quotient(room)),
        ),
        entry(SCALABLE, &[Delete, Copy, Grow, TakeRate], |room| {
            Box::new(scalable(room))
        }),
        entry("fastbloom (atomic)", &[BeLarge, TakeRate], |room| {
            Box::new(bloom(room))
        }),
        entry("papaya::HashSet", &[Delete, Grow], |room| {
            let (first, state) = (room.first as usize, hasher::state());
            Box::new(Papaya::with_capacity_and_hasher(first, state))
        }),
        entry("dashmap::DashSet", &[Delete, Grow], |room| {
            let (first, state) = (room.first as usize, hasher::state());
            Box::new(Dash::with_capacity_and_hasher(first, state))
        }),
    ]
}

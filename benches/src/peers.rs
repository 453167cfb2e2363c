//! The contestants. All hash with guira's hasher.

use crate::{
    entry::Entry,
    hasher::{self, SharedHasher},
    keys::Key,
    lanes::Contestant,
};
use crossbeam_utils::CachePadded;
use guira::{CuckooFilter, SeededState};
use rand::{SeedableRng, rngs::SmallRng};
use std::{
    hash::{BuildHasher, DefaultHasher, Hasher},
    sync::{Arc, Mutex, MutexGuard, RwLock},
};

/// The rate that peers are asked for where they take one: that of guira's
/// 15-bit fingerprints, to which the fixed sizes of the others come nearest.
const RATE: f64 = 0.00023;

/// Implements [`Peer`] for a filter: the four expressions have the filter and a key.
macro_rules! peer {
    (
        $filter:ty, |$it:ident, $key:ident|
        insert $insert:expr, contains $contains:expr, remove $remove:expr, bytes $bytes:expr
    ) => {
        impl<K: $crate::keys::Key> $crate::peer::Peer<K> for $filter {
            #[inline(always)]
            fn insert(&self, $key: &K) -> bool {
                let $it = self;
                $insert
            }

            #[inline(always)]
            fn contains(&self, $key: &K) -> bool {
                let $it = self;
                $contains
            }

            #[inline(always)]
            fn remove(&self, $key: &K) -> bool {
                let $it = self;
                $remove
            }

            fn bytes(&self) -> usize {
                let $it = self;
                $bytes
            }
        }
    };
}
const POISONED: &str = "no thread panics with the lock held";

/// The filter that all this is about, with access to what only it has.
#[derive(Debug)]
pub struct Guira(pub CuckooFilter);

impl Guira {
    /// A filter for `items` items with fingerprints of `bits` bits.
    ///
    /// # Panics
    ///
    /// If there is no such layout, or no memory.
    #[must_use]
    pub fn new(items: usize, bits: u32) -> Self {
        let builder = CuckooFilter::builder()
            .capacity(items)
            .fingerprint_bits(bits);
        let built = builder.hasher(hasher::state()).build();
        Self(built.expect("a layout of guira, and memory for it"))
    }
}

peer!(Guira, |it, key|
    insert it.0.insert(key).is_ok(),
    contains it.0.contains(key),
    remove it.0.remove(key),
    bytes it.0.memory_usage());

// Shared with a thread that is no contestant: one that takes snapshots.
peer!(Arc<Guira>, |it, key|
    insert it.0.insert(key).is_ok(),
    contains it.0.contains(key),
    remove it.0.remove(key),
    bytes it.0.memory_usage());

type Atomic<H> = atomic_cuckoo_filter::CuckooFilter<H>;

/// Bits of a fingerprint: 4, 8, 16 or 32 are on offer.
const ATOMIC_BITS: usize = 16;

peer!(Atomic<SharedHasher>, |it, key|
    insert it.insert(key).is_ok(),
    contains it.contains(key),
    remove it.remove(key),
    bytes size_of_val(it) + it.capacity() * ATOMIC_BITS / 8);

peer!(Atomic<DefaultHasher>, |it, key|
    insert it.insert(key).is_ok(),
    contains it.contains(key),
    remove it.remove(key),
    bytes size_of_val(it) + it.capacity() * ATOMIC_BITS / 8);

fn atomic<H: Hasher + Default>(items: usize) -> Atomic<H> {
    let builder = atomic_cuckoo_filter::CuckooFilterBuilder::<H>::default();
    let builder = builder.capacity(items).bucket_size(4);
    let built = builder.fingerprint_size(ATOMIC_BITS).build();
    built.expect("a valid configuration")
}

// A fingerprint that comes back was put out of the filter: it may be this key's.
peer!(cuckoo_clock::CuckooFilter<SeededState>, |it, key|
    insert it.insert(key).is_none(),
    contains it.contains(key),
    remove it.remove(key),
    bytes it.get_memory_usage());

fn clock(items: usize) -> cuckoo_clock::CuckooFilter<SeededState> {
    let builder = cuckoo_clock::config::CuckooConfiguration::builder(items)
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

/// Filters for one writer, each with a lock.
struct Sharded(Vec<CachePadded<Mutex<Plain>>>);

impl Sharded {
    const SHARDS: usize = 64;

    fn new(items: usize) -> Self {
        let shard = |_| CachePadded::new(Mutex::new(Plain::with_capacity(items / Self::SHARDS)));
        Self((0..Self::SHARDS).map(shard).collect())
    }

    /// The shard comes from the hash of the hash: the filter uses all its bits.
    #[inline(always)]
    fn shard<K: Key>(&self, key: &K) -> (u64, MutexGuard<'_, Plain>) {
        let hash = hasher::state().hash_one(key);
        let shard = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        (hash, self.0[shard as usize].lock().expect(POISONED))
    }

    #[inline(always)]
    fn with<K: Key>(&self, key: &K, of: impl FnOnce(&mut Plain, &u64) -> bool) -> bool {
        let (hash, mut shard) = self.shard(key);
        of(&mut shard, &hash)
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

fn quotient(items: usize, rate: f64) -> RwLock<Quotient> {
    let filter = Quotient::new_with_hasher(items as u64, rate, hasher::state());
    RwLock::new(filter.expect("a valid configuration"))
}

type Scalable<K> = scalable_cuckoo_filter::ScalableCuckooFilter<K, SharedHasher, SmallRng>;

// It grows rather than refuse.
peer!(RwLock<Scalable<K>>, |it, key|
    insert {
        it.write().expect(POISONED).insert(key);
        true
    },
    contains it.read().expect(POISONED).contains(key),
    remove it.write().expect(POISONED).remove(key),
    bytes it.read().expect(POISONED).bits() as usize / 8);

fn scalable<K: Key>(items: usize) -> RwLock<Scalable<K>> {
    let builder = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
        .initial_capacity(items)
        .false_positive_probability(RATE)
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
    remove unreachable!("{} bits cannot forget {}", it.num_bits(), size_of_val(key)),
    bytes it.num_bits() / 8);

fn bloom(items: usize, rate: f64) -> Bloom {
    let builder = fastbloom::AtomicBloomFilter::with_false_pos(rate).hasher(hasher::state());
    builder.expected_items(items)
}

type Papaya<K> = papaya::HashSet<K, SeededState>;

// A set keeps one copy: the second is refused. papaya does not tell its size. It has 9 bytes for each
// place of its table, which it does not fill beyond three quarters, and an allocation for each key.
peer!(Papaya<K>, |it, key|
insert it.pin().insert(key.clone()),
contains it.pin().contains(key),
remove it.pin().remove(key),
bytes {
    let allocation = (size_of::<K>() + 8).next_multiple_of(16).max(32);
    it.len() * allocation + (it.len() * 8 / 6).next_power_of_two() * 9
});

/// The closest peer with the hasher that it has by default.
#[must_use]
pub fn closest_with_own_hasher<K: Key>() -> Entry<K> {
    Entry {
        name: "atomic-cuckoo-filter, own hasher",
        note: "the same as its users get it: by default it hashes with the standard library's SipHash",
        make: |items| Box::new(atomic::<DefaultHasher>(items)),
        ..all().swap_remove(1)
    }
}

/// [`all`], and after the closest peer the same with its own hasher: where the
/// cost of hashing shows.
#[must_use]
pub fn all_with_own_hasher<K: Key>() -> Vec<Entry<K>> {
    let mut entries = all();
    entries.insert(2, closest_with_own_hasher());
    entries
}

/// All contestants; guira is the first, the closest peer the second.
#[must_use]
pub fn all<K: Key>() -> Vec<Entry<K>> {
    // What most have in common.
    const fn entry<K>(
        name: &'static str,
        note: &'static str,
        make: fn(usize) -> Box<dyn Contestant<K>>,
    ) -> Entry<K> {
        Entry {
            name,
            note,
            deletes: true,
            copies: true,
            large: true,
            make,
        }
    }
    const ONE_LOCK: &str = "one lock; asked for a rate of 0.023 %";
    vec![
        entry("guira", "lock-free; 15 bits × 4", |items| {
            Box::new(Guira::new(items, 15))
        }),
        entry(
            "atomic-cuckoo-filter",
            "one lock for evictions and removes; 16 bits × 4",
            |items| Box::new(atomic::<SharedHasher>(items)),
        ),
        Entry {
            large: false,
            ..entry(
                "cuckoo-clock",
                "a mutex for each bucket; 16 bits × 4",
                |items| Box::new(clock(items)),
            )
        },
        entry("RwLock<cuckoofilter>", "one lock; 8 bits × 4", |items| {
            Box::new(RwLock::new(Plain::with_capacity(items)))
        }),
        Entry {
            large: false,
            ..entry(
                "64 × Mutex<cuckoofilter>",
                "a lock for each of 64 shards; 8 bits × 4; hashes twice",
                |items| Box::new(Sharded::new(items)),
            )
        },
        entry("RwLock<qfilter>", ONE_LOCK, |items| {
            Box::new(quotient(items, RATE))
        }),
        Entry {
            large: false,
            ..entry("RwLock<scalable_cuckoo_filter>", ONE_LOCK, |items| {
                Box::new(scalable(items))
            })
        },
        Entry {
            deletes: false,
            copies: false,
            ..entry(
                "fastbloom (atomic)",
                "lock-free, no deletes; asked for a rate of 0.023 %",
                |items| Box::new(bloom(items, RATE)),
            )
        },
        Entry {
            copies: false,
            large: false,
            ..entry(
                "papaya::HashSet",
                "lock-free, exact: stores the keys",
                |items| Box::new(Papaya::with_capacity_and_hasher(items, hasher::state())),
            )
        },
    ]
}

/// A peer for this number of items and this rate.
pub type AskedFor<K> = fn(usize, f64) -> Box<dyn Contestant<K>>;

/// The peers that do not grow and take a rate, with their names in [`all`].
#[must_use]
pub fn asked_for<K: Key>() -> [(&'static str, AskedFor<K>); 2] {
    [
        ("RwLock<qfilter>", |items, rate| {
            Box::new(quotient(items, rate))
        }),
        ("fastbloom (atomic)", |items, rate| {
            Box::new(bloom(items, rate))
        }),
    ]
}

//! The filters. Each is made for a number of items, and for a rate if that constructor takes one.

use crate::{
    filter::{Filter, filter, shared_filter},
    weak::{Identity, Weak},
};
use rand::{SeedableRng, rngs::StdRng};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs::File,
    hash::{BuildHasher, BuildHasherDefault, Hasher},
    io::{BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// The rate that is asked for, where a filter takes one.
const RATE: f64 = 0.001;

type Make = fn(usize) -> Box<dyn Filter>;
type Load = fn(&Path) -> Box<dyn Filter>;

/// A package and the filter of it that is asked.
pub struct Peer {
    /// As the registry calls it.
    pub package: &'static str,
    /// Makes a filter for this number of items.
    pub make: Make,
    /// The same with the hash that is the key itself, if the package takes a hasher.
    pub make_weak: Option<Make>,
    /// Reads a file that [`Filter::save`] has written.
    pub load: Option<Load>,
    /// Bits of the argument that says for how many items, or bits, a filter is made.
    pub argument_bits: usize,
}

const fn bits<Argument, Made>(_: fn(Argument) -> Made) -> usize {
    size_of::<Argument>() * 8
}

const fn second_bits<First, Argument, Made>(_: fn(First, Argument) -> Made) -> usize {
    size_of::<Argument>() * 8
}

const fn second_bits_of_three<First, Argument, Third, Made>(
    _: fn(First, Argument, Third) -> Made,
) -> usize {
    size_of::<Argument>() * 8
}

const fn first_bits<Argument, Second, Made>(_: fn(Argument, Second) -> Made) -> usize {
    size_of::<Argument>() * 8
}

fn write(path: &Path, bytes: &[u8]) -> bool {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.expect("a new file in a folder of this program");
    true
}

fn write_json(path: &Path, filter: &impl Serialize) -> bool {
    let file = File::create_new(path).expect("a new file in a folder of this program");
    serde_json::to_writer(BufWriter::new(file), filter).expect("a filter that can be written");
    true
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the file that was saved")
}

fn read_json<F: Filter + DeserializeOwned + 'static>(path: &Path) -> Box<dyn Filter> {
    let file = File::open(path).expect("the file that was saved");
    let filter: F = serde_json::from_reader(BufReader::new(file)).expect("a filter that was saved");
    Box::new(filter)
}

shared_filter!([S: BuildHasher + Sync + 'static] guira::CuckooFilter<S>, |it, key|
    insert it.insert(key).is_ok(),
    insert_unique it.insert_unique(key) == Ok(true),
    contains it.contains(key),
    remove it.remove(key),
    load |_items| it.load_factor(),
    save |path| write(path, &it.to_bytes()));

fn guira_with<S: BuildHasher + Sync + 'static>(items: usize, hasher: S) -> Box<dyn Filter> {
    let builder = guira::CuckooFilter::builder().capacity(items);
    let built = builder.false_positive_rate(RATE).hasher(hasher).build();
    Box::new(built.expect("a rate on offer, and memory"))
}

type Atomic<H> = atomic_cuckoo_filter::CuckooFilter<H>;

shared_filter!([H: Hasher + Default + Sync] Atomic<H>, |it, key|
    insert it.insert(key).is_ok(),
    insert_unique matches!(it.insert_unique(key), Ok(true)),
    contains it.contains(key),
    remove it.remove(key),
    load |items| items as f64 / it.capacity() as f64,
    save |path| write(path, &it.to_bytes()));

fn atomic<H: Hasher + Default + Sync + 'static>(items: usize) -> Box<dyn Filter> {
    let builder = atomic_cuckoo_filter::CuckooFilterBuilder::<H>::default();
    Box::new(
        builder
            .capacity(items)
            .build()
            .expect("a valid configuration"),
    )
}

type Expiring<H> = expiring_atomic_filter::ExpiringAtomicFilter<H>;

// Of its filters one takes inserts, and the capacity is that of two.
shared_filter!([H: Hasher + Default + Clone + Sync] Expiring<H>, |it, key|
    insert it.insert(key).is_ok(),
    insert_unique matches!(it.insert_unique(key), Ok(true)),
    contains it.contains(key),
    remove it.remove(key),
    load |items| items as f64 / (it.capacity() / 2) as f64,
    save |path| write_json(path, it));

fn expiring<H: Hasher + Default + Clone + Sync + 'static>(items: usize) -> Box<dyn Filter> {
    let mut builder = expiring_atomic_filter::ExpiringAtomicFilterBuilder::<H>::default();
    builder.capacity(items).ttl(86400).expiration_period(86400);
    Box::new(builder.build().expect("a valid configuration"))
}

type Clock<S> = cuckoo_clock::CuckooFilter<S>;
type ClockState = cuckoo_clock::ExportableRandomState;

// A fingerprint that comes back was put out of the filter.
shared_filter!([] Clock<ClockState>, |it, key|
insert it.insert(key).is_none(),
contains it.contains(key),
remove it.remove(key),
load |items| items as f64 / (it.get_bucket_count() * 4) as f64,
save |path| {
    let mut bytes = Vec::new();
    it.exporter().write_to(&mut bytes).expect("memory");
    write(path, &bytes)
});

// Named in full, here and below, because the method of `Filter` takes `&mut self`, as `it` is.
filter!([] Clock<Weak>, |it, key|
    insert Clock::insert(it, key).is_none(),
    contains it.contains(key));

fn clock_for(items: usize) -> cuckoo_clock::config::CuckooConfiguration {
    let builder = cuckoo_clock::config::CuckooConfiguration::builder(items);
    let builder = builder.bucket_size(4.try_into().expect("4 slots are allowed"));
    builder.build().expect("a valid configuration")
}

type Plain<H> = cuckoofilter::CuckooFilter<H>;

// An error means that another item was put out for this one. Each slot has a byte.
filter!([H: Hasher + Default] Plain<H>, |it, key|
insert it.add(key).is_ok(),
contains it.contains(key),
remove it.delete(key),
load |items| items as f64 / it.export().values.len() as f64,
save |path| {
    let exported = it.export();
    write_json(path, &(exported.values, exported.length))
});

fn load_plain(path: &Path) -> Box<dyn Filter> {
    let (values, length) = serde_json::from_slice(&read(path)).expect("the pair that was saved");
    let exported = cuckoofilter::ExportedCuckooFilter { values, length };
    Box::new(Plain::<std::hash::DefaultHasher>::from(exported))
}

/// A filter in a file, behind a lock for several threads.
struct Mapped {
    filter: cuckoofilter_mmap::ConcurrentCuckooFilter<u64>,
    capacity: usize,
    path: PathBuf,
}

shared_filter!([] Mapped, |it, key|
    insert it.filter.insert(key).is_ok(),
    insert_unique matches!(it.filter.insert(key), Ok(true)),
    contains it.filter.contains(key),
    remove matches!(it.filter.delete(key), Ok(true)),
    load |items| items as f64 / it.capacity as f64,
    save |path| it.filter.flush().and_then(|()| std::fs::copy(&it.path, path)).is_ok());

fn mapped(items: usize) -> Box<dyn Filter> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("oracle-{}-{number}", std::process::id()));
    let built = cuckoofilter_mmap::CuckooFilterBuilder::new(items).build(&path);
    mapped_from(
        built.expect("a file in the folder of temporary files"),
        path,
    )
}

fn mapped_from(filter: cuckoofilter_mmap::CuckooFilter<u64>, path: PathBuf) -> Box<dyn Filter> {
    let capacity = filter.capacity();
    let filter = cuckoofilter_mmap::ConcurrentCuckooFilter::new(filter);
    Box::new(Mapped {
        filter,
        capacity,
        path,
    })
}

fn load_mapped(path: &Path) -> Box<dyn Filter> {
    let opened = cuckoofilter_mmap::CuckooFilter::open(path, Default::default(), 500, false);
    mapped_from(opened.expect("the file that was saved"), path.to_owned())
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // A file that is left is in the folder of temporary files.
        let _ = std::fs::remove_file(&self.path);
    }
}

type Scalable<H> = scalable_cuckoo_filter::ScalableCuckooFilter<u64, H>;

filter!([] Scalable<scalable_cuckoo_filter::DefaultHasher>, |it, key|
    insert {
        it.insert(key);
        true
    },
    contains it.contains(key),
    remove it.remove(key),
    load |items| items as f64 / it.capacity() as f64,
    save |path| write_json(path, it));

filter!([] Scalable<Identity>, |it, key|
    insert {
        it.insert(key);
        true
    },
    contains it.contains(key));

fn scalable_weak(items: usize) -> Box<dyn Filter> {
    let builder =
        scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new().initial_capacity(items);
    let builder = builder
        .false_positive_probability(RATE)
        .hasher(Identity::default());
    Box::new(builder.finish::<u64>())
}

type Listed = probabilistic_collections::cuckoo::CuckooFilter<u64>;

filter!([] Listed, |it, key|
    insert {
        it.insert(key);
        true
    },
    contains it.contains(key),
    remove {
        let before = it.len();
        it.remove(key);
        it.len() < before
    },
    load |items| items as f64 / (it.bucket_len() * it.entries_per_index()) as f64,
    save |path| write_json(path, it));

type Packed<B> = pdatastructs::filters::cuckoofilter::CuckooFilter<u64, StdRng, B>;

filter!([B: BuildHasher + Clone + Eq] Packed<B>, |it, key|
    insert pdatastructs::filters::Filter::insert(it, key).is_ok(),
    contains pdatastructs::filters::Filter::query(it, key),
    remove it.delete(key),
    load |items| items as f64 / (it.n_buckets() * it.bucketsize()) as f64);

// Made by its rate, as its documentation shows, the filter has at least eight times as many slots as items.
fn packed<B: BuildHasher + Clone + Eq + Default + 'static>(items: usize) -> Box<dyn Filter> {
    let (random, buckets) = (
        StdRng::seed_from_u64(1),
        items.div_ceil(4).next_power_of_two(),
    );
    Box::new(Packed::with_params_and_hash(
        random,
        4,
        buckets,
        12,
        B::default(),
    ))
}

type Quotient<S> = qfilter::Filter<Box<[u8]>, S>;

filter!([] Quotient<qfilter::StableBuildHasher>, |it, key|
    insert it.insert_duplicated(key).is_ok(),
    contains it.contains(key),
    remove it.remove(key),
    save |path| write_json(path, it));

filter!([] Quotient<Weak>, |it, key|
    insert it.insert_duplicated(key).is_ok(),
    contains it.contains(key));

type Fast<S> = fastbloom::AtomicBloomFilter<S>;

shared_filter!([] Fast<fastbloom::DefaultHasher>, |it, key|
    insert {
        it.insert(key);
        true
    },
    insert_unique !it.insert(key),
    contains it.contains(key),
    save |path| write_json(path, it));

filter!([] Fast<Weak>, |it, key|
    insert {
        Fast::insert(it, key);
        true
    },
    contains it.contains(key));

filter!([] growable_bloom_filter::GrowableBloom, |it, key|
    insert {
        it.insert(key);
        true
    },
    contains it.contains(key),
    save |path| write_json(path, it));

filter!([] bloomfilter::Bloom<u64>, |it, key|
    insert {
        it.set(key);
        true
    },
    contains it.check(key),
    save |path| write(path, &it.to_bytes()));

/// All filters; the first is guira.
pub fn all() -> Vec<Peer> {
    use std::hash::DefaultHasher;
    vec![
        Peer {
            package: "guira",
            make: |items| guira_with(items, guira::SeededState::default()),
            make_weak: Some(|items| guira_with(items, Weak::default())),
            load: Some(|path| Box::new(guira::CuckooFilter::load(path).expect("a snapshot"))),
            argument_bits: bits(guira::CuckooFilter::with_capacity),
        },
        Peer {
            package: "atomic-cuckoo-filter",
            make: atomic::<DefaultHasher>,
            make_weak: Some(atomic::<Identity>),
            load: Some(|path| {
                let read = Atomic::<DefaultHasher>::from_bytes(&read(path));
                Box::new(read.expect("the bytes that were saved"))
            }),
            argument_bits: bits(Atomic::<DefaultHasher>::with_capacity),
        },
        Peer {
            package: "expiring-atomic-filter",
            make: expiring::<DefaultHasher>,
            make_weak: Some(expiring::<Identity>),
            load: Some(read_json::<Expiring<DefaultHasher>>),
            argument_bits: bits(Expiring::<DefaultHasher>::with_capacity),
        },
        Peer {
            package: "cuckoo-clock",
            make: |items| Box::new(Clock::new_random_exportable(clock_for(items))),
            make_weak: Some(|items| Box::new(Clock::new(clock_for(items), Weak::default()))),
            load: Some(|path| {
                let read = Clock::<ClockState>::import(&*read(path));
                Box::new(read.expect("the bytes that were saved"))
            }),
            argument_bits: bits(cuckoo_clock::config::CuckooConfiguration::builder),
        },
        Peer {
            package: "cuckoofilter",
            make: |items| Box::new(Plain::<DefaultHasher>::with_capacity(items)),
            make_weak: Some(|items| Box::new(Plain::<Identity>::with_capacity(items))),
            load: Some(load_plain),
            argument_bits: bits(Plain::<DefaultHasher>::with_capacity),
        },
        Peer {
            package: "cuckoofilter-mmap",
            make: mapped,
            make_weak: None,
            load: Some(load_mapped),
            argument_bits: bits(cuckoofilter_mmap::CuckooFilterBuilder::new),
        },
        Peer {
            package: "scalable_cuckoo_filter",
            make: |items| Box::new(Scalable::new(items, RATE)),
            make_weak: Some(scalable_weak),
            load: Some(read_json::<Scalable<scalable_cuckoo_filter::DefaultHasher>>),
            argument_bits: first_bits(Scalable::<scalable_cuckoo_filter::DefaultHasher>::new),
        },
        Peer {
            package: "probabilistic-collections",
            make: |items| Box::new(Listed::new(items)),
            make_weak: None, // it takes two hashers, whose results must differ
            load: Some(read_json::<Listed>),
            argument_bits: bits(Listed::new),
        },
        Peer {
            package: "pdatastructs",
            make: packed::<BuildHasherDefault<DefaultHasher>>,
            make_weak: Some(packed::<Weak>),
            load: None,
            argument_bits: second_bits_of_three(Packed::with_properties_4),
        },
        Peer {
            package: "qfilter",
            make: |items| Box::new(qfilter::Filter::new(items as u64, RATE).expect("a valid rate")),
            make_weak: Some(|items| {
                let made = Quotient::new_with_hasher(items as u64, RATE, Weak::default());
                Box::new(made.expect("a valid rate"))
            }),
            load: Some(read_json::<Quotient<qfilter::StableBuildHasher>>),
            argument_bits: first_bits(<qfilter::Filter>::new),
        },
        Peer {
            package: "fastbloom",
            make: |items| Box::new(Fast::with_false_pos(RATE).expected_items(items)),
            make_weak: Some(|items| {
                Box::new(
                    Fast::with_false_pos(RATE)
                        .hasher(Weak::default())
                        .expected_items(items),
                )
            }),
            load: Some(read_json::<Fast<fastbloom::DefaultHasher>>),
            argument_bits: bits(Fast::<fastbloom::DefaultHasher>::with_num_bits),
        },
        Peer {
            package: "growable-bloom-filter",
            make: |items| Box::new(growable_bloom_filter::GrowableBloom::new(RATE, items)),
            make_weak: None,
            load: Some(read_json::<growable_bloom_filter::GrowableBloom>),
            argument_bits: second_bits(growable_bloom_filter::GrowableBloom::new),
        },
        Peer {
            package: "bloomfilter",
            make: |items| {
                let made = bloomfilter::Bloom::<u64>::new_for_fp_rate(items, RATE);
                Box::new(made.expect("a valid rate"))
            },
            make_weak: None,
            load: Some(|path| {
                let made = bloomfilter::Bloom::<u64>::from_bytes(read(path));
                Box::new(made.expect("the bytes that were saved"))
            }),
            argument_bits: first_bits(bloomfilter::Bloom::<u64>::new_for_fp_rate),
        },
    ]
}

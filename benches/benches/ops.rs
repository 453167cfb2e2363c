//! The loops of one thread, for work on one of them:
//! `cargo bench -p guira-benches --bench ops -- miss`.

use criterion::{
    BatchSize, Bencher, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use guira_benches::{
    keys::{Asked, Walk},
    lanes::Contestant,
    measure::{items, size},
    ops::{BATCHES, LAYOUTS},
    peer::Peer,
    peers::{self, Guira},
};
use std::hint::black_box;

/// Lookups of one iteration.
const STEPS: u64 = 1 << 14;

/// Tables in the second- and in the third-level cache.
const SIZES: [u32; 2] = [16, 20];

/// What is looked up.
const LOOKUPS: [(&str, Asked); 3] = [
    ("hit", Asked::Hits),
    ("miss", Asked::Misses),
    ("half", Asked::HALF),
];

/// Times `look`, each time on a walk that begins elsewhere.
fn walk(bencher: &mut Bencher<'_>, asked: Asked, count: u64, look: impl Fn(Walk) -> u64) {
    let mut round = 0;
    bencher.iter(|| {
        round += 1;
        black_box(look(Walk::new(asked, count, round)))
    });
}

fn lookups(criterion: &mut Criterion) {
    for (name, asked) in LOOKUPS {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(STEPS));
        for log_slots in SIZES {
            let count = items(log_slots);
            for entry in peers::all::<u64>() {
                let peer = (entry.make)(count as usize);
                peer.insert_all(0..count);
                group.bench_function(BenchmarkId::new(entry.name, size(log_slots)), |bencher| {
                    walk(bencher, asked, count, |walk| peer.lookup(walk, STEPS));
                });
            }
        }
    }
}

fn inserts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("insert 0-100 %");
    for log_slots in SIZES {
        let count = items(log_slots);
        group
            .throughput(Throughput::Elements(count))
            .sample_size(10);
        for entry in peers::all::<u64>() {
            group.bench_function(BenchmarkId::new(entry.name, size(log_slots)), |bencher| {
                let insert = |peer: &mut Box<dyn Contestant<u64>>| peer.insert_all(0..count);
                let make = || (entry.make)(count as usize);
                bencher.iter_batched_ref(make, insert, BatchSize::PerIteration);
            });
        }
    }
}

fn layouts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("layouts, miss");
    group.throughput(Throughput::Elements(STEPS));
    let count = items(16);
    for (bits, slots) in LAYOUTS {
        let guira = Guira::new(count as usize, bits);
        let peer: &dyn Peer<u64> = &guira;
        peer.insert_all(0..count);
        group.bench_function(format!("{bits} bits × {slots}"), |bencher| {
            walk(bencher, Asked::Misses, count, |walk| {
                peer.lookup(walk, STEPS)
            });
        });
    }
}

fn batches(criterion: &mut Criterion) {
    for log_slots in SIZES {
        let count = items(log_slots);
        let guira = Guira::new(count as usize, 15);
        Peer::<u64>::insert_all(&guira, 0..count);
        for (name, asked) in LOOKUPS {
            let mut group = criterion.benchmark_group(format!("batches, {name}"));
            group.throughput(Throughput::Elements(STEPS));
            for batch in BATCHES {
                group.bench_function(BenchmarkId::new(size(log_slots), batch), |bencher| {
                    let look = |walk| guira.lookup_in_batches::<u64>(walk, STEPS, batch);
                    walk(bencher, asked, count, look);
                });
            }
            group.bench_function(BenchmarkId::new(size(log_slots), "iterator"), |bencher| {
                let look = |walk| guira.lookup_by_iterator::<u64>(walk, STEPS);
                walk(bencher, asked, count, look);
            });
        }
    }
}

fn batches_of_writes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batches, writes");
    group.sample_size(10);
    for log_slots in SIZES {
        let count = items(log_slots);
        let make = || Guira::new(count as usize, 15);
        let insert = |guira: &Guira, batch| guira.insert_in_batches::<u64>(0..count, batch);
        let walk = Walk::new(Asked::Hits, count, 0);
        for batch in BATCHES {
            let at = format!("{}/{batch}", size(log_slots));
            group.throughput(Throughput::Elements(count));
            group.bench_function(BenchmarkId::new("insert", &at), |bencher| {
                let insert = |guira: &mut Guira| insert(guira, batch);
                bencher.iter_batched_ref(make, insert, BatchSize::PerIteration);
            });
            let full = || {
                let guira = make();
                insert(&guira, batch);
                guira
            };
            group.throughput(Throughput::Elements(STEPS));
            group.bench_function(BenchmarkId::new("remove", &at), |bencher| {
                let remove = |guira: &mut Guira| guira.remove_in_batches::<u64>(walk, STEPS, batch);
                bencher.iter_batched_ref(full, remove, BatchSize::PerIteration);
            });
        }
    }
}

criterion_group!(
    benches,
    lookups,
    inserts,
    layouts,
    batches,
    batches_of_writes
);
criterion_main!(benches);

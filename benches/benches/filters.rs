//! The loops of one thread, for work on one of them:
//! `cargo bench -p guira-benches -- miss`.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use guira_benches::{
    keys::{Asked, Walk},
    measure::{items, size},
    one_thread::BATCHES,
    peer::Peer,
    peers::{self, Room, with_bits},
    special::{How, Special},
};
use std::hint::black_box;

/// Lookups of one iteration.
const STEPS: u64 = 1 << 14;

/// Tables in the second- and in the third-level cache.
const SIZES: [u32; 2] = [16, 20];

type Make = Box<dyn Fn(u64) -> Box<dyn Peer>>;

/// All peers, and guira grown 64 times and in batches.
fn contestants() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    for peers::Entry { name, make, .. } in peers::all() {
        all.push((name.into(), Box::new(move |count| make(Room::of(count)))));
    }
    let grown = |count| peers::guira(Room::growing(count, 64, 0.001)).expect("a rate on offer");
    all.push((
        "guira, grown".into(),
        Box::new(move |it| Box::new(grown(it))),
    ));
    for size in BATCHES {
        let make = move |count| Special(with_bits(count, 15), How::Batches(size));
        let name = format!("guira, batches of {size}");
        all.push((name, Box::new(move |count| Box::new(make(count)))));
    }
    all
}

fn lookups(criterion: &mut Criterion) {
    for asked in Asked::ALL {
        let mut group = criterion.benchmark_group(asked.name());
        group.throughput(Throughput::Elements(STEPS));
        for log_slots in SIZES {
            let count = items(log_slots);
            for (name, make) in contestants() {
                let peer = make(count);
                peer.insert_all(0..count);
                peer.settle();
                group.bench_function(BenchmarkId::new(name, size(log_slots)), |bencher| {
                    let mut round = 0;
                    bencher.iter(|| {
                        round += 1;
                        black_box(peer.lookup(Walk::new(asked, count, round), STEPS))
                    });
                });
            }
        }
    }
}

fn inserts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("insert 0-100 %");
    group.sample_size(10);
    for log_slots in SIZES {
        let count = items(log_slots);
        group.throughput(Throughput::Elements(count));
        for (name, make) in contestants() {
            group.bench_function(BenchmarkId::new(name, size(log_slots)), |bencher| {
                let insert = |peer: &mut Box<dyn Peer>| peer.insert_all(0..count);
                bencher.iter_batched_ref(|| make(count), insert, BatchSize::PerIteration);
            });
        }
    }
}

criterion_group!(benches, lookups, inserts);
criterion_main!(benches);

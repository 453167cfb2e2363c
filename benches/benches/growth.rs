//! What growth costs, for work on it:
//! `cargo bench -p guira-benches --bench growth -- fill`.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use guira_benches::{
    growth::growing,
    keys::{Asked, Walk},
    measure::items,
    peer::Peer,
    peers::Guira,
};
use std::hint::black_box;

/// Lookups of one iteration.
const STEPS: u64 = 1 << 14;

/// The table: in the third-level cache.
const LOG_SLOTS: u32 = 20;

type Make = fn(u64) -> Guira;

/// A filter that grows 64 times, and one built large.
const FILTERS: [(&str, Make); 2] = [
    ("grown", growing),
    ("built large", |count| Guira::new(count as usize, 15)),
];

fn fill(criterion: &mut Criterion) {
    let count = items(LOG_SLOTS);
    let mut group = criterion.benchmark_group("fill");
    group
        .throughput(Throughput::Elements(count))
        .sample_size(10);
    for (name, make) in FILTERS {
        group.bench_function(name, |bencher| {
            let insert = |guira: &mut Guira| Peer::<u64>::insert_all(guira, 0..count);
            bencher.iter_batched_ref(|| make(count), insert, BatchSize::PerIteration);
        });
    }
}

fn lookups(criterion: &mut Criterion) {
    let count = items(LOG_SLOTS);
    for (asked, title) in [
        (Asked::Hits, "hit after growth"),
        (Asked::Misses, "miss after growth"),
        (Asked::HALF, "half after growth"),
    ] {
        let mut group = criterion.benchmark_group(title);
        group.throughput(Throughput::Elements(STEPS));
        for (name, make) in FILTERS {
            let guira = make(count);
            let peer: &dyn Peer<u64> = &guira;
            peer.insert_all(0..count);
            guira.0.finish_growth();
            group.bench_function(name, |bencher| {
                let mut round = 0;
                bencher.iter(|| {
                    round += 1;
                    black_box(peer.lookup(Walk::new(asked, count, round), STEPS))
                });
            });
        }
    }
}

criterion_group!(benches, fill, lookups);
criterion_main!(benches);

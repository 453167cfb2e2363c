//! How fast snapshots are made and read, for work on them:
//! `cargo bench -p guira-benches --bench snapshot -- to_bytes`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use guira::CuckooFilter;
use guira_benches::{growth::growing, measure::items, peer::Peer, peers::Guira};
use std::hint::black_box;

/// A table of 8 MiB.
const LOG_SLOTS: u32 = 22;

fn snapshots(criterion: &mut Criterion) {
    let count = items(LOG_SLOTS);
    let filters = [
        ("fixed", Guira::new(count as usize, 15)),
        ("grown", growing(count)),
    ];
    let mut group = criterion.benchmark_group("snapshot");
    group.sample_size(20);
    for (name, guira) in filters {
        let peer: &dyn Peer<u64> = &guira;
        peer.insert_all(0..count);
        guira.0.finish_growth();
        let bytes = guira.0.to_bytes();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("copy and checksum", name), |bencher| {
            bencher.iter(|| {
                let copy = black_box(&bytes).to_vec();
                black_box(crc32fast::hash(&copy))
            });
        });
        group.bench_function(BenchmarkId::new("to_bytes", name), |bencher| {
            bencher.iter(|| black_box(guira.0.to_bytes()));
        });
        group.bench_function(BenchmarkId::new("from_bytes", name), |bencher| {
            bencher.iter(|| black_box(CuckooFilter::from_bytes(black_box(&bytes))));
        });
    }
    group.finish();
}

criterion_group!(benches, snapshots);
criterion_main!(benches);

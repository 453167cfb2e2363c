//! Two filters that become one, on one thread, beside batches of the same number of items:
//! `cargo bench -p guira-benches --bench combine`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use guira::CuckooFilter;
use guira_benches::{
    keys::mix,
    measure::{items, size, thread_time},
};
use std::{hint::black_box, ops::Range, time::Duration};

/// Tables in the third-level cache, and out of cache.
const SIZES: [u32; 2] = [20, 25];

const BATCH: usize = 256;

/// A filter for `count` items: fixed, or grown 32 times when it is full.
fn filter(count: u64, is_growing: bool) -> CuckooFilter {
    let builder = CuckooFilter::builder().seed(1);
    let builder = match is_growing {
        false => builder.capacity(count as usize).fingerprint_bits(15),
        true => builder
            .capacity(count as usize / 32)
            .max_capacity(count as usize)
            .false_positive_rate(0.001),
    };
    builder.build().expect("a rate on offer, and memory")
}

/// A filter like `empty`, with the keys of these numbers.
fn filled(empty: &CuckooFilter, numbers: Range<u64>) -> CuckooFilter {
    let filter = empty.clone();
    let keys: Vec<u64> = numbers.map(mix).collect();
    for keys in keys.chunks(BATCH) {
        filter.insert_batch(keys).expect("all items fit");
    }
    filter
}

fn combine(criterion: &mut Criterion) {
    for (log_slots, kind) in SIZES
        .iter()
        .flat_map(|&log| [(log, "fixed"), (log, "grown")])
    {
        let count = items(log_slots);
        let half = count / 2;
        let empty = filter(count, kind == "grown");
        let [first, second, all] = [0..half, half..count, 0..count].map(|it| filled(&empty, it));
        let mut group = criterion.benchmark_group(format!("{} slots, {kind}", size(log_slots)));
        group.sample_size(10);
        // What `run` does to copies of `into`, without the time to make them.
        let mut bench =
            |name: &str, count: u64, into: &CuckooFilter, run: &dyn Fn(&CuckooFilter)| {
                group.throughput(Throughput::Elements(count));
                group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                    bencher.iter_custom(|iterations| {
                        let mut taken = Duration::ZERO;
                        for _ in 0..iterations {
                            let copy = into.clone();
                            let start = thread_time();
                            run(black_box(&copy));
                            taken += thread_time() - start;
                        }
                        taken
                    });
                });
            };
        let keys: Vec<u64> = (half..count).map(mix).collect();
        bench("insert_batch", count - half, &first, &|filter| {
            for keys in keys.chunks(BATCH) {
                filter.insert_batch(keys).expect("all items fit");
            }
        });
        bench("insert_unique_batch", count - half, &first, &|filter| {
            let mut inserted = [false; BATCH];
            for keys in keys.chunks(BATCH) {
                let inserted = &mut inserted[..keys.len()];
                filter
                    .insert_unique_batch(keys, inserted)
                    .expect("all items fit");
            }
        });
        bench("merge", count - half, &first, &|filter| {
            filter.merge(&second).expect("all items fit");
        });
        bench("union_with", count - half, &first, &|filter| {
            filter.union_with(&second).expect("all items fit");
        });
        // All items stay, or half of them.
        bench("intersect_with the same", count, &all, &|filter| {
            filter.intersect_with(&all).expect("memory");
        });
        bench("intersect_with a half", count, &all, &|filter| {
            filter.intersect_with(&first).expect("memory");
        });
        bench("difference_with a half", count, &all, &|filter| {
            filter.difference_with(&first).expect("memory");
        });
    }
}

criterion_group!(benches, combine);
criterion_main!(benches);

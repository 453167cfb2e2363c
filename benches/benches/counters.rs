//! What counters cost, on one thread: words with counters beside words of the same size without.
//! `cargo bench -p guira-benches --bench counters`

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use guira::CuckooFilter;
use guira_benches::keys::mix;
use std::hint::black_box;

/// In the second-level cache.
const ITEMS: u64 = 100_000;

/// The slots of a word, and the bits of fingerprint and counter.
const WORDS: [(u32, u32, u32); 8] = [
    (5, 12, 0),
    (5, 8, 4),
    (4, 15, 0),
    (4, 11, 4),
    (3, 20, 0),
    (3, 16, 4),
    (3, 12, 8),
    (2, 30, 0),
];

fn filter(fingerprint_bits: u32, counter_bits: u32) -> CuckooFilter {
    let builder = CuckooFilter::builder()
        .capacity(ITEMS as usize)
        .fingerprint_bits(fingerprint_bits);
    let builder = match counter_bits {
        0 => builder,
        bits => builder.counter_bits(bits),
    };
    builder.build().expect("a layout")
}

/// Four fifths of what fits.
fn keys() -> impl Iterator<Item = u64> {
    (0..ITEMS * 4 / 5).map(mix)
}

fn counters(criterion: &mut Criterion) {
    let mut bench = |name: &str, copies: u32, run: fn(&CuckooFilter) -> u64| {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(ITEMS * 4 / 5));
        for (slots, fingerprint_bits, counter_bits) in WORDS {
            // Without counters, further copies need slots.
            if counter_bits == 0 && ["insert a repeat", "remove a repeat"].contains(&name) {
                continue;
            }
            let made = || {
                let filter = filter(fingerprint_bits, counter_bits);
                for _ in 0..copies {
                    keys().for_each(|key| filter.insert(&key).expect("room"));
                }
                filter
            };
            let words = format!("{slots} x ({fingerprint_bits} + {counter_bits})");
            group.bench_function(BenchmarkId::from_parameter(words), |bencher| {
                bencher.iter_batched_ref(
                    made,
                    |filter| black_box(run(filter)),
                    BatchSize::PerIteration,
                );
            });
        }
    };
    bench("hit", 1, |filter| {
        keys().map(|key| u64::from(filter.contains(&key))).sum()
    });
    bench("miss", 1, |filter| {
        keys().map(|key| u64::from(filter.contains(&!key))).sum()
    });
    bench("insert an item", 0, |filter| {
        keys()
            .map(|key| u64::from(filter.insert(&key).is_ok()))
            .sum()
    });
    bench("insert a repeat", 1, |filter| {
        keys()
            .map(|key| u64::from(filter.insert(&key).is_ok()))
            .sum()
    });
    bench("remove an item", 1, |filter| {
        keys().map(|key| u64::from(filter.remove(&key))).sum()
    });
    bench("remove a repeat", 2, |filter| {
        keys().map(|key| u64::from(filter.remove(&key))).sum()
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30);
    targets = counters
}
criterion_main!(benches);

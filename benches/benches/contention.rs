//! Threads on one filter, for work on one scenario:
//! `cargo bench -p guira-benches --bench contention -- churn`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use guira_benches::{
    arena::Arena,
    contention::{SCENARIOS, THREADS},
    peers,
};
use std::time::Duration;

/// How long the threads run for one sample.
const RUN: Duration = Duration::from_millis(50);

/// The table: in the third-level cache.
const LOG_SLOTS: u32 = 20;

/// A time for one operation of all threads together.
fn scenarios(criterion: &mut Criterion) {
    for scenario in SCENARIOS
        .into_iter()
        .filter(|scenario| scenario.keeps_going())
    {
        let mut group = criterion.benchmark_group(scenario.name);
        group
            .sample_size(10)
            .measurement_time(RUN * 20)
            .warm_up_time(RUN);
        for entry in peers::all::<u64>()
            .into_iter()
            .filter(|entry| scenario.admits(entry))
        {
            let mut arena = Arena::new(&entry, LOG_SLOTS, scenario.load);
            for threads in THREADS {
                group.bench_function(BenchmarkId::new(entry.name, threads), |bencher| {
                    bencher.iter_custom(|iterations| {
                        let (tally, elapsed) = arena.run(scenario.job, threads, RUN);
                        elapsed.mul_f64(iterations as f64 / tally.operations as f64)
                    });
                });
            }
        }
    }
}

criterion_group!(benches, scenarios);
criterion_main!(benches);

//! A step of a large table, and lookups beside it.

use crate::{
    crew::crew,
    effort::Effort,
    hasher,
    keys::{Asked, Key, Walk},
    latency::Latencies,
};
use guira::ExpiringFilter;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// What a step costs.
#[derive(Clone, Debug)]
pub struct Advance {
    /// The bytes of the table.
    pub bytes: usize,
    /// Seconds of a step in which nothing dies, and of one in which a part of the items does.
    pub seconds: [f64; 2],
    /// How many items that were.
    pub died: usize,
    /// Lookups without steps, and while another thread begins them all the time.
    pub lookups: [Latencies; 2],
}

/// A table of as many bytes as 2^`log_huge` slots of 16 bits.
pub(super) fn measure(effort: Effort) -> Advance {
    let buckets = 1_usize << (effort.log_huge - 2);
    // 3 slots a bucket; about 7 in 8 of them are for the items of a TTL and the rest for time.
    let filter = ExpiringFilter::builder(Duration::from_secs(3600))
        .capacity(buckets * 2)
        .fingerprint_bits(16)
        .seed(hasher::SEED)
        .build()
        .expect("a layout of guira, and memory");
    // A twelfth of it, which dies at once in the end.
    let count = buckets as u64 / 6;
    crew(2, |index| {
        let keys: Vec<u64> = (0..4096).collect();
        let mut first = count / 2 * index as u64;
        let end = first + count / 2;
        while first < end {
            let keys: Vec<u64> = keys.iter().map(|key| u64::nth(first + key)).collect();
            filter.insert_batch(&keys).expect("there is room");
            first += 4096;
        }
    });
    let step = || {
        let start = Instant::now();
        filter.advance();
        start.elapsed().as_secs_f64()
    };
    step();
    let none_died = step();
    let (stop, mut alone, mut beside) = (
        AtomicBool::new(false),
        Latencies::default(),
        Latencies::default(),
    );
    look(&filter, count, effort, &mut alone);
    thread::scope(|scope| {
        scope.spawn(|| {
            // As long as all live.
            while !stop.load(Ordering::Relaxed) && filter.epoch() < u64::from(filter.epochs()) {
                filter.advance();
            }
        });
        look(&filter, count, effort, &mut beside);
        stop.store(true, Ordering::Relaxed);
    });
    while filter.epoch() < u64::from(filter.epochs()) {
        filter.advance();
    }
    let before = filter.len();
    let all_died = step();
    Advance {
        bytes: filter.memory_usage(),
        seconds: [none_died, all_died],
        died: before - filter.len(),
        lookups: [alone, beside],
    }
}

fn look(filter: &ExpiringFilter, count: u64, effort: Effort, latencies: &mut Latencies) {
    let mut walk = Walk::new(Asked::HALF, count, 1);
    let start = Instant::now();
    while start.elapsed() < 10 * effort.run {
        for _ in 0..256 {
            let key = u64::nth(walk.next_number());
            latencies.lookup::<true>(|| filter.contains(&key));
        }
    }
}

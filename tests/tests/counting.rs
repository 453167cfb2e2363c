//! With counters, many copies of an item occupy one slot. Of n inserts exactly n removes return
//! true, and `count` is exact. Copies neither fill the filter nor make it grow.

use crate::common::{
    filters::{COUNTING, GROWABLE_COUNTING, most_copies, tiny_counting},
    stress::stress_time,
};
use guira::{BuildError, Builder, CuckooFilter, InsertError, Prefer};
use rand::{
    RngExt, SeedableRng,
    distr::{Distribution, weighted::WeightedIndex},
    rngs::SmallRng,
};
use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

/// Each layout with counters, for some capacity.
fn layouts(capacity: usize) -> impl Iterator<Item = CuckooFilter> {
    let builder = move |(bits, counter_bits)| {
        let builder = CuckooFilter::builder().capacity(capacity).seed(1);
        builder.fingerprint_bits(bits).counter_bits(counter_bits)
    };
    let build = |builder: Builder| builder.build().expect("a filter");
    let fixed = COUNTING.into_iter().map(builder).map(build);
    let growing = GROWABLE_COUNTING.into_iter().map(builder);
    fixed.chain(growing.map(move |builder| build(builder.max_capacity(8 * capacity))))
}

#[test]
fn ten_thousand_copies_of_one_item_among_a_million_others() {
    for counter_bits in [4, 8] {
        let builder = CuckooFilter::builder().capacity(1_100_000).seed(1);
        let filter = builder
            .counter_bits(counter_bits)
            .build()
            .expect("a filter");
        filter.try_extend(1..=1_000_000_u64).expect("they fit");
        let before = filter.slots_in_use();
        let copies = most_copies(&filter).min(10_000);
        for _ in 0..copies {
            filter.insert(&0_u64).expect("the copies fit");
        }
        assert_eq!(filter.count(&0_u64), copies);
        assert_eq!(filter.len(), 1_000_000 + copies);
        let of_slot = 1 << counter_bits;
        assert!(filter.slots_in_use() <= before + copies.div_ceil(of_slot) + 1);
        for left in (0..copies).rev() {
            assert!(filter.remove(&0_u64));
            assert_eq!(filter.count(&0_u64), left);
        }
        assert!(!filter.remove(&0_u64));
        assert_eq!(filter.slots_in_use(), before);
        assert!((1..=1_000_000_u64).all(|item| filter.count(&item) >= 1));
    }
}

#[test]
fn counters_that_are_all_full_are_an_error_that_says_so() {
    for filter in layouts(100) {
        filter.finish_growth();
        for _ in 0..most_copies(&filter) {
            filter.insert("ani").expect("the copies fit");
        }
        let error = filter.insert("ani");
        assert_eq!(error, Err(InsertError::TooManyCopies));
        assert_eq!(filter.slots_in_use(), 2 * filter.bucket_slots());
        assert_eq!(filter.stats().doublings, 0);
        while filter.remove("ani") {}
        assert!(filter.is_empty() && filter.slots_in_use() == 0);
    }
}

#[test]
fn copies_make_no_filter_grow() {
    for bits in GROWABLE_COUNTING {
        let filter = tiny_counting(bits, 2);
        let items: Vec<u64> = (0..filter.capacity() as u64 / 2).collect();
        for _ in 0..1 << bits.1 {
            filter.insert_batch(&items).expect("the copies fit");
        }
        assert_eq!(filter.stats().doublings, 0, "{bits:?}");
        assert_eq!(filter.len(), items.len() << bits.1);
    }
}

#[test]
fn the_capacity_is_a_number_of_distinct_items() {
    for capacity in [1, 2, 3, 10, 100, 1_000, 20_000] {
        for seed in 0..(20_000 / capacity as u64).clamp(1, 50) {
            for (bits, counter_bits) in COUNTING {
                let builder = CuckooFilter::builder().capacity(capacity).seed(seed);
                let builder = builder.fingerprint_bits(bits).counter_bits(counter_bits);
                let filter = builder.build().expect("a filter");
                for item in 0..capacity {
                    let inserted = filter.insert(&item);
                    assert_eq!(inserted, Ok(()), "{bits}, {capacity}, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn the_rate_told_is_the_rate_measured() {
    for (bits, counter_bits) in COUNTING.into_iter().filter(|&(bits, _)| bits < 20) {
        let builder = CuckooFilter::builder().capacity(50_000).seed(1);
        let builder = builder.fingerprint_bits(bits).counter_bits(counter_bits);
        let filter = builder.build().expect("a filter");
        filter.try_extend(0..50_000_u64).expect("they fit");
        let absent = 4_000_000_u64;
        let found = filter.contains_iter(1 << 40..(1 << 40) + absent);
        let found = found.filter(|&found| found).count() as f64;
        let expected = absent as f64 * filter.false_positive_rate();
        let tolerance = 5.0 * expected.sqrt() + 5.0;
        assert!(
            (found - expected).abs() <= tolerance,
            "{bits}: {found}, {expected}"
        );
    }
}

/// The numbers of docs/GUIDE.md: bits for each item at 1 %, for a million items.
#[test]
fn counters_cost_what_the_page_says() {
    let builder = || {
        CuckooFilter::builder()
            .capacity(1_000_000)
            .false_positive_rate(0.01)
    };
    let bits = |builder: Builder| {
        let buckets = builder.build().expect("a filter").buckets();
        format!("{:.1}", 64.0 * buckets as f64 / 1e6)
    };
    assert_eq!(bits(builder()), "12.5");
    assert_eq!(bits(builder().counter_bits(4)), "16.8");
    assert_eq!(bits(builder().counter_bits(8)), "23.2");
}

/// The classes of filters with and without counters are the same, if fingerprints and buckets are.
#[test]
fn a_filter_without_counters_is_merged_into_one_with() {
    let plain = CuckooFilter::builder()
        .capacity(800)
        .fingerprint_bits(12)
        .seed(1);
    let plain = plain.build().expect("a filter");
    let counting = CuckooFilter::builder()
        .fingerprint_bits(12)
        .counter_bits(8)
        .seed(1);
    let counting = (1..).map(|capacity| counting.clone().capacity(capacity).build());
    let counting = counting.map(|filter| filter.expect("a filter"));
    let counting = { counting }
        .find(|filter| filter.buckets() >= plain.buckets())
        .expect("a larger one");
    assert_eq!(counting.buckets(), plain.buckets());
    for item in 0..100_u32 {
        plain.insert(&item).expect("there is room");
    }
    for copies in 1..=20 {
        counting.merge(&plain).expect("there is room");
        assert!((0..100_u32).all(|item| counting.count(&item) >= copies));
    }
    assert_eq!(counting.len(), 2_000);
}

#[test]
fn what_cannot_be_built_is_an_error() {
    let builder = || CuckooFilter::builder().capacity(100);
    for asked in [0, 1, 3, 5, 16, u32::MAX] {
        let error = builder().counter_bits(asked).build().err();
        let allowed = vec![4, 8];
        assert_eq!(error, Some(BuildError::CounterBits { asked, allowed }));
    }
    let error = builder()
        .counter_bits(8)
        .prefer(Prefer::Space)
        .build()
        .err();
    assert_eq!(error, Some(BuildError::CountersInSpace { counter_bits: 8 }));
    let error = builder().counter_bits(8).fingerprint_bits(11).build().err();
    let allowed = vec![12, 22];
    assert_eq!(
        error,
        Some(BuildError::FingerprintBits { asked: 11, allowed })
    );
}

/// Threads insert and remove items by a Zipf distribution, so that some have many copies. Each item
/// belongs to one thread, which knows its number of copies.
///
/// `GUIRA_STRESS_SECONDS` is the time in all.
#[test]
fn skewed_items_are_counted_exactly() {
    const ITEMS: usize = 1_000;
    let budget = stress_time().unwrap_or(Duration::from_secs(1));
    let weights = (1..=ITEMS).map(|rank| (rank as f64).powf(-1.2));
    let skewed = WeightedIndex::new(weights).expect("weights");
    let rounds = [2, 4, 8, 16]
        .map(|threads| [(11, 4), (13, 4), (22, 8), (28, 8)].map(|bits| (threads, bits)));
    let rounds = rounds.as_flattened();
    for (round, &(threads, bits)) in rounds.iter().enumerate() {
        let filter = tiny_counting(bits, 200);
        let capacity = filter.max_capacity();
        // An item whose class is that of another one is left out.
        let mut items = Vec::new();
        for item in 0..ITEMS {
            if items.len() < capacity && !filter.contains(&item) {
                filter.insert(&item).expect("there is room");
                items.push(item);
            }
        }
        let (start, end) = (
            Barrier::new(threads),
            Instant::now() + budget / rounds.len() as u32,
        );
        let work = |thread: usize| {
            let mut random = SmallRng::seed_from_u64((round * 64 + thread) as u64);
            let own: Vec<usize> = items
                .iter()
                .copied()
                .skip(thread)
                .step_by(threads)
                .collect();
            let mut copies = vec![1_usize; own.len()];
            start.wait();
            // On a busy machine a thread may begin late.
            let mut begun = false;
            while !begun || Instant::now() < end {
                begun = true;
                for _ in 0..100 {
                    let place = skewed.sample(&mut random) % own.len();
                    let (item, copies) = (own[place], &mut copies[place]);
                    match random.random_range(0..5) {
                        0..2 => match filter.insert(&item) {
                            Ok(()) => *copies += 1,
                            Err(InsertError::TooManyCopies) => assert!(*copies > 60),
                            Err(InsertError::Full | InsertError::Contended) => {}
                            Err(error) => panic!("{error}"),
                        },
                        2..4 => {
                            assert_eq!(filter.remove(&item), *copies > 0, "{item}");
                            *copies = copies.saturating_sub(1);
                        }
                        _ => {
                            assert_eq!(filter.count(&item), *copies, "{item}");
                            assert!(*copies == 0 || filter.contains(&item));
                        }
                    }
                }
            }
            own.into_iter().zip(copies).collect::<Vec<_>>()
        };
        let copies: Vec<(usize, usize)> = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || work(thread)))
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"));
            joined.flatten().collect()
        });
        for &(item, copies) in &copies {
            assert_eq!(filter.count(&item), copies, "{item}");
        }
        let all: usize = copies.iter().map(|&(_, copies)| copies).sum();
        assert_eq!(filter.len(), all);
        for (item, copies) in copies {
            assert!((0..copies).all(|_| filter.remove(&item)) && !filter.remove(&item));
        }
        assert_eq!((filter.len(), filter.slots_in_use()), (0, 0));
    }
}

#[test]
fn shrinking_keeps_counts() {
    for bits in GROWABLE_COUNTING {
        let mut filter = tiny_counting(bits, 2);
        let items = filter.max_capacity() as u64;
        filter.try_extend(0..items).expect("they fit");
        for item in 10..items {
            assert!(filter.remove(&item));
        }
        for _ in 0..20 {
            filter.try_extend(0..10_u64).expect("the copies fit");
        }
        assert!(filter.shrink_to_fit(), "{bits:?}");
        assert_eq!(filter.stats().doublings, 0, "{bits:?}");
        assert!(
            (0..10_u64).all(|item| filter.count(&item) >= 21),
            "{bits:?}"
        );
        assert_eq!(filter.len(), 210);
    }
}

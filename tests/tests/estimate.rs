//! `Builder::estimate` says what filters take.

use guira::{
    Builder, CuckooFilter, Estimate, ExpiringFilter, Filter, Lifetime, Prefer, SeededState,
};
use proptest::{prelude::*, test_runner::RngSeed};
use std::time::Duration;

/// The most items of a filter, so that the test is fast.
const MOST_ITEMS: usize = 60_000;

/// A filter doubles when it is nearly full. If its items leave more room than this share of its slots,
/// because its planes are small or its buckets have one slot, it doubles later than it may.
const FULL: f64 = 0.9;

/// What a filter is asked for.
#[derive(Clone, Copy, Debug)]
struct Setting {
    capacity: usize,
    max_capacity: Option<usize>,
    rate: f64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Space,
    Counting(u32),
    Expiring(u32),
}

fn settings() -> impl Strategy<Value = Setting> {
    let kind = prop_oneof![
        4 => Just(Kind::Plain),
        1 => Just(Kind::Space),
        2 => prop_oneof![Just(4), Just(8)].prop_map(Kind::Counting),
        3 => (1..=13_u32).prop_map(Kind::Expiring),
    ];
    let doublings = prop_oneof![1 => Just(None), 3 => (0.0..10.0_f64).prop_map(Some)];
    let numbers = (0.0..14.0_f64, doublings, -8.5..-0.5_f64);
    (numbers, kind).prop_map(|((capacity, doublings, rate), kind)| {
        let items = |log: f64| (log.exp2() as usize).min(MOST_ITEMS);
        let max_capacity = doublings.map(|doublings| items(capacity + doublings));
        Setting {
            capacity: items(capacity),
            max_capacity: max_capacity.filter(|_| !matches!(kind, Kind::Space)),
            rate: 10_f64.powf(rate),
            kind,
        }
    })
}

/// Compares the estimate with a filter that goes through each size. `standing` is the number of items in
/// the filter when this number of them arrive in a TTL. Rejects settings that no filter has.
fn compare<T: Lifetime>(
    builder: Builder<SeededState, T>,
    setting: Setting,
    standing: impl Fn(usize) -> usize,
) -> Result<(), TestCaseError> {
    let builder = builder.capacity(setting.capacity);
    let builder = builder.false_positive_rate(setting.rate);
    let builder = match setting.max_capacity {
        Some(items) => builder.max_capacity(items),
        None => builder,
    };
    let estimate = match builder.estimate() {
        Ok(estimate) => estimate,
        Err(error) => {
            prop_assert_eq!(builder.build().err(), Some(error.clone()));
            return Err(TestCaseError::reject(error.to_string()));
        }
    };
    let filter = builder.build().expect("as the estimate says");
    prop_assert_eq!(estimate.bytes(), filter.memory_usage());
    prop_assert_eq!(estimate.fingerprint_bits(), filter.fingerprint_bits());
    let (mut before, mut inserted, mut can_be_late) = (0, 0, false);
    for size in estimate.sizes() {
        // Tables of a few buckets can have room for more items than the next one begins with.
        if size.items <= before {
            continue;
        }
        // Two items whose pairs are the same one can fill it, and then the filter grows.
        let can_be_early = size.bucket_slots == 1;
        for items in [before + (size.items - before) / 2, size.items] {
            for item in inserted..standing(items) {
                filter.insert(&item).expect("it fits");
            }
            inserted = inserted.max(standing(items));
            at_stage(&filter, &estimate)?;
            let (said, is) = (estimate.bytes_at(items), filter.memory_usage());
            prop_assert!(
                is_near(said, is) || can_be_early && said < is || can_be_late && is < said,
                "{items}: {said} is {is}, {estimate:?}"
            );
        }
        before = size.items;
        let slots = (size.buckets * size.bucket_slots) as f64;
        can_be_late = (standing(before) as f64) < FULL * slots;
        if filter.stats().buckets_to_split == 0 {
            at_rest(&filter, &estimate)?;
        }
    }
    filter.finish_growth();
    at_rest(&filter, &estimate)
}

fn is_near(said: usize, is: usize) -> bool {
    said.abs_diff(is) * 50 <= is
}

/// Compares a filter that may be in the middle of a doubling with the size that it is to have.
fn at_stage<T: Lifetime>(
    filter: &Filter<SeededState, T>,
    estimate: &Estimate,
) -> Result<(), TestCaseError> {
    let stats = filter.stats();
    let begun = stats.doublings + u32::from(stats.buckets_to_split > 0);
    let (said, is) = (
        estimate.sizes()[begun as usize].bytes,
        filter.memory_usage(),
    );
    prop_assert!(is_near(said, is), "{stats:?}: {said} is {is}, {estimate:?}");
    Ok(())
}

/// Compares a filter between two doublings with its size.
fn at_rest<T: Lifetime>(
    filter: &Filter<SeededState, T>,
    estimate: &Estimate,
) -> Result<(), TestCaseError> {
    let size = estimate.sizes()[filter.stats().doublings as usize];
    prop_assert_eq!(size.bytes, filter.memory_usage());
    prop_assert_eq!(size.items, filter.capacity());
    prop_assert_eq!(size.buckets, filter.buckets());
    prop_assert_eq!(size.bucket_slots, filter.bucket_slots());
    prop_assert_eq!(
        size.copies,
        (2 * filter.bucket_slots()) << filter.counter_bits()
    );
    prop_assert_eq!(size.false_positive_rate, filter.false_positive_rate());
    prop_assert!(size.false_positive_rate <= estimate.false_positive_rate());
    Ok(())
}

fn as_many(items: usize) -> usize {
    items
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_global_rejects: 5_000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn estimates_are_within_2_percent_of_filters_at_each_size(setting in settings()) {
        let plain = CuckooFilter::builder().seed(1);
        match setting.kind {
            Kind::Plain => compare(plain, setting, as_many)?,
            Kind::Space => compare(plain.prefer(Prefer::Space), setting, as_many)?,
            Kind::Counting(bits) => compare(plain.counter_bits(bits), setting, as_many)?,
            Kind::Expiring(epochs) => {
                let builder = ExpiringFilter::builder(Duration::from_secs(3600)).seed(1);
                let standing = |items| items + items * 3 / (2 * epochs as usize);
                compare(builder.epochs(epochs), setting, standing)?;
            }
        }
    }
}

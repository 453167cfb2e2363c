//! Batches by item and by hash, `try_extend` and iterators of lookups give the results of single calls
//! in order, up to the first error. They do in both kinds of filters, in each layout and epoch.

use crate::common::filters::{BITS, GROWABLE_BITS};
use guira::{
    BatchError, Builder, CuckooFilter, ExpiringFilter, Filter, Hashed, InsertError, Lifetime,
    SeededState,
};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    cell::Cell,
    collections::BTreeSet,
    panic::{self, AssertUnwindSafe},
    time::Duration,
};

type Seeded<T> = Filter<SeededState, T>;
type Single<T> = fn(&Seeded<T>, &u64) -> Result<bool, InsertError>;
type Batch<T, Q> = fn(&Seeded<T>, &[Q], &mut [bool]) -> Result<(), BatchError>;

/// Three forms of one operation.
struct Operation<T: Lifetime> {
    name: &'static str,
    single: Single<T>,
    by_item: Batch<T, u64>,
    by_hash: Batch<T, Hashed>,
}

/// An [`Operation`], whose batches of items and of hashes are one expression of two types.
macro_rules! operation {
    ($name:literal, $single:expr, |$filter:ident, $items:ident, $results:ident| $batch:expr) => {
        Operation {
            name: $name,
            single: $single,
            by_item: |$filter, $items, $results| $batch,
            by_hash: |$filter, $items, $results| $batch,
        }
    };
}

/// Sets the results of the items that were inserted.
fn inserted(done: Result<(), BatchError>, results: &mut [bool]) -> Result<(), BatchError> {
    let count = done.map_or_else(|error| error.index, |()| results.len());
    results[..count].fill(true);
    done
}

/// The operations of filters of both kinds.
fn operations<T: Lifetime>() -> Vec<Operation<T>> {
    vec![
        operation!(
            "insert",
            |filter, item| filter.insert(item).map(|()| true),
            |filter, items, results| inserted(filter.insert_batch(items), results)
        ),
        operation!(
            "extend",
            |filter, item| filter.insert(item).map(|()| true),
            |filter, items, results| inserted(filter.try_extend(items.to_vec()), results)
        ),
        operation!(
            "insert_unique",
            |filter, item| filter.insert_unique(item),
            |filter, items, results| filter.insert_unique_batch(items, results)
        ),
        operation!(
            "remove",
            |filter, item| Ok(filter.remove(item)),
            |filter, items, results| {
                filter.remove_batch(items, results);
                Ok(())
            }
        ),
        operation!(
            "contains",
            |filter, item| Ok(filter.contains(item)),
            |filter, items, results| {
                filter.contains_batch(items, results);
                Ok(())
            }
        ),
        operation!(
            "contains_iter",
            |filter, item| Ok(filter.contains(item)),
            |filter, items, results| {
                let mut found = filter.contains_iter(items.to_vec());
                let mut results = results.iter_mut();
                // It is advanced first, so that the fold begins in the middle of a sequence.
                for (found, result) in found.by_ref().take(7).zip(results.by_ref()) {
                    *result = found;
                }
                found.for_each(|found| *results.next().expect("a result each") = found);
                Ok(())
            }
        ),
    ]
}

fn hashes<T: Lifetime>(filter: &Seeded<T>, items: &[u64]) -> Vec<Hashed> {
    items.iter().map(|item| filter.hash_of(item)).collect()
}

/// Filters with the same seed for single calls, for batches of items, and for batches of hashes. Their
/// `bytes` must be the same.
struct Three<T: Lifetime> {
    filters: [Seeded<T>; 3],
    bytes: fn(&Seeded<T>) -> Vec<u8>,
}

impl<T: Lifetime> Three<T> {
    /// Performs one operation on all three filters, and returns the results, which must be the same.
    /// From the item without room on, results stay as they are.
    fn agree(&self, it: &Operation<T>, items: &[u64], case: &str) -> BTreeSet<Option<bool>> {
        let [singly, by_item, by_hash] = &self.filters;
        let before: Vec<bool> = (0..items.len()).map(|place| place % 2 == 0).collect();
        let [mut expected, mut of_items, mut of_hashes] = [(); 3].map(|()| before.clone());
        let mut seen = BTreeSet::new();
        let error = items.iter().enumerate().find_map(|(index, item)| {
            let result = (it.single)(singly, item);
            seen.insert(result.ok());
            result
                .map(|result| expected[index] = result)
                .err()
                .map(|error| (index, error))
        });
        let batches = [
            (it.by_item)(by_item, items, &mut of_items),
            (it.by_hash)(by_hash, &hashes(by_hash, items), &mut of_hashes),
        ];
        let errors = batches.map(|done| done.err().map(|error| (error.index, error.error)));
        assert_eq!(errors, [error; 2], "{} of {case}", it.name);
        assert_eq!(of_items, expected, "{} by item of {case}", it.name);
        assert_eq!(of_hashes, expected, "{} by hash of {case}", it.name);
        let lens = self.filters.each_ref().map(Filter::len);
        assert_eq!(lens, [lens[0]; 3], "{} of {case}", it.name);
        let [singly, by_item, by_hash] = self.filters.each_ref().map(self.bytes);
        let is_same = singly == by_item && singly == by_hash;
        assert!(is_same, "after {} the filters of {case} differ", it.name);
        seen
    }
}

/// The results of operations, by name.
type Results = BTreeSet<(&'static str, Option<bool>)>;

/// Performs operations on random items, and `between` them something else. The items of a batch are up to
/// several times the 32 that are looked up together.
fn assert_agree<T: Lifetime>(
    builder: &Builder<SeededState, T>,
    operations: &[Operation<T>],
    bytes: fn(&Seeded<T>) -> Vec<u8>,
    between: fn(&Seeded<T>),
) -> Results {
    let mut seen = Results::new();
    for (capacity, most) in [(120, 120), (1_000, 1_000), (60, 1_000)] {
        let builder = builder.clone().seed(1).capacity(capacity);
        let builder = match capacity == most {
            true => builder,
            false => builder.max_capacity(most),
        };
        // Some layouts do not grow so far.
        let Ok(filter) = builder.clone().build() else {
            continue;
        };
        let case = format!("{filter:?}");
        let others = [(); 2].map(|()| builder.clone().build().expect("the same filter"));
        let [by_item, by_hash] = others;
        let filters = [filter, by_item, by_hash];
        let three = Three { filters, bytes };
        let mut random = SmallRng::seed_from_u64(capacity as u64);
        for call in 0..200 {
            // Each length is the first one of some operation.
            let length = match call % 2 {
                0 => call / 2,
                _ => random.random_range(0..200),
            };
            let items: Vec<u64> = (0..length).map(|_| random.random_range(0..400)).collect();
            let operation = &operations[random.random_range(0..operations.len())];
            let results = three.agree(operation, &items, &case);
            seen.extend(results.into_iter().map(|result| (operation.name, result)));
            if random.random_ratio(1, 4) {
                three.filters.iter().for_each(between);
            }
        }
    }
    seen
}

/// Checks that each operation has had each of its results. An insert never returns false, and each of the
/// inserts was refused.
fn assert_all_seen<T: Lifetime>(operations: &[Operation<T>], seen: &Results) {
    for &Operation { name, .. } in operations {
        let is_insert = matches!(name, "insert" | "extend");
        assert!(seen.contains(&(name, Some(true))), "{name}: true");
        assert!(
            is_insert || seen.contains(&(name, Some(false))),
            "{name}: false"
        );
        let may_fail = is_insert || name.starts_with("insert");
        assert!(!may_fail || seen.contains(&(name, None)), "{name}: error");
    }
}

#[test]
fn plain_filters_answer_batches_as_single_calls() {
    let (operations, mut seen) = (operations(), Results::new());
    for bits in BITS.into_iter().chain(GROWABLE_BITS) {
        let builder = CuckooFilter::builder().fingerprint_bits(bits);
        let bytes = CuckooFilter::to_bytes;
        seen.extend(assert_agree(&builder, &operations, bytes, |_| ()));
    }
    assert_all_seen(&operations, &seen);
}

#[test]
fn expiring_filters_answer_batches_as_single_calls() {
    let mut operations = operations();
    operations.push(operation!(
        "insert_or_refresh",
        |filter, item| filter.insert_or_refresh(item),
        |filter, items, results| filter.insert_or_refresh_batch(items, results)
    ));
    operations.push(operation!(
        "refresh",
        |filter, item| filter.refresh(item),
        |filter, items, results| filter.refresh_batch(items, results)
    ));
    let bytes = |filter: &ExpiringFilter| filter.to_bytes_at(|| Duration::ZERO);
    let mut seen = Results::new();
    for bits in [9, 11, 16, 26] {
        let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(3);
        let builder = builder.fingerprint_bits(bits);
        seen.extend(assert_agree(&builder, &operations, bytes, |filter| {
            assert!(filter.advance(), "no other thread begins epochs");
        }));
    }
    assert_all_seen(&operations, &seen);
}

/// Filters of both kinds for this number of items.
fn both(capacity: usize) -> (CuckooFilter, ExpiringFilter) {
    let plain = CuckooFilter::builder().capacity(capacity).seed(1);
    let expiring = ExpiringFilter::builder(Duration::from_secs(60)).capacity(capacity);
    let expiring = expiring.epochs(3).fingerprint_bits(16).seed(1);
    (
        plain.build().expect("a filter"),
        expiring.build().expect("a filter"),
    )
}

#[test]
fn each_batch_wants_a_result_for_each_item() {
    fn assert_wanted<T: Lifetime>(filter: &Seeded<T>, name: &str, batch: Batch<T, u64>) {
        for results in [1, 3] {
            let run = || batch(filter, &[1, 2], &mut vec![false; results]);
            let ran = panic::catch_unwind(AssertUnwindSafe(run));
            assert!(ran.is_err(), "{name} of 2 items with {results} results");
        }
        assert!(filter.is_empty(), "{name}");
    }
    fn assert_all_wanted<T: Lifetime>(filter: &Seeded<T>) {
        for it in operations::<T>() {
            if matches!(it.name, "insert_unique" | "remove" | "contains") {
                assert_wanted(filter, it.name, it.by_item);
            }
        }
    }
    let (plain, expiring) = both(10);
    assert_all_wanted(&plain);
    assert_all_wanted(&expiring);
    let refresh = ExpiringFilter::insert_or_refresh_batch;
    assert_wanted(&expiring, "insert_or_refresh", refresh);
    assert_wanted(&expiring, "refresh", ExpiringFilter::refresh_batch);
}

/// The iterator reads a bounded number of items ahead, and none before the first call of `next`.
#[test]
fn an_iterator_of_lookups_says_how_many_are_left_and_is_64_items_ahead_at_most() {
    fn assert_lookups_end<T: Lifetime>(filter: &Seeded<T>) {
        let taken = Cell::new(0);
        let items = (0..1000_u64).inspect(|_| taken.set(taken.get() + 1));
        let mut found = filter.contains_iter(items);
        assert_eq!(taken.get(), 0);
        for left in (1..=1000).rev() {
            assert_eq!(found.size_hint(), (left, Some(left)));
            assert_eq!(found.next(), Some(false));
            assert!((1..=64).contains(&(taken.get() + left - 1000)));
        }
        assert_eq!(found.size_hint(), (0, Some(0)));
        assert_eq!([(); 3].map(|()| found.next()), [None; 3]);
    }
    let (plain, expiring) = both(100);
    assert_lookups_end(&plain);
    assert_lookups_end(&expiring);
}

/// A lookup reads the epoch when its result is computed, not when the iterator is created.
#[test]
fn an_iterator_of_lookups_sees_epochs_that_begin() {
    let (_, filter) = both(1_000);
    let items: Vec<u64> = (0..500).collect();
    filter.insert_batch(&items).expect("room");
    let mut found = filter.contains_iter(&items);
    assert!(found.by_ref().take(100).all(|found| found));
    (0..=3).for_each(|_| assert!(filter.advance()));
    // At most one group of results has already been computed.
    let live = found.filter(|&found| found).count();
    assert!(live < 32, "{live} of dead items");
}

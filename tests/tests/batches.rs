//! Batches by hash and by item, and `Extend`, give the results of single calls in order.

pub(crate) mod three;

use guira::{CuckooFilter, Forever, InsertError};
use three::{
    ITEMS, Three, assert_batches_want_a_result_each, assert_ends_at_the_first_error,
    assert_lookups_end, hashes,
};

fn filter(capacity: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(capacity).seed(1);
    builder.build().expect("a filter")
}

/// Numbers that occur two or three times each.
fn items() -> Vec<u64> {
    (0..ITEMS as u64).map(|item| item * item % 31).collect()
}

fn three() -> Three<Forever> {
    Three::new(|| filter(1_000), CuckooFilter::to_bytes)
}

#[test]
fn a_batch_of_hashes_is_one_of_their_items() {
    let (three, items) = (three(), items());
    three.insert(&items);
    assert_eq!(three.by_hash.len(), ITEMS);
    assert_eq!(three.remove(&items[..50]), [true; 50]);
    let found = three.contains(&items);
    assert!(found.contains(&true) && found.contains(&false));
}

#[test]
fn a_unique_batch_adds_each_item_once() {
    let (three, items) = (three(), items());
    three.insert(&items[3..4]);
    let inserted = three.insert_unique(&items);
    assert!(!inserted[3] && inserted[4]);
    assert_eq!(three.by_item.len(), three.singly.len());
    assert!(items.iter().all(|item| three.by_item.count(item) == 1));
}

#[test]
fn a_unique_batch_ends_at_the_first_error() {
    let items: Vec<u64> = (0..1_000).collect();
    let filter = filter(100);
    let unique = CuckooFilter::insert_unique_batch;
    let index = assert_ends_at_the_first_error(&filter, &items, unique);

    // The next batch ends at its first item, so its results do not change either.
    let mut again = [false, true];
    let rest = &hashes(&filter, &items[index..index + 2]);
    let error = filter.insert_unique_batch(rest, &mut again);
    assert_eq!(error.expect_err("still full").index, 0);
    assert_eq!(again, [false, true]);
}

#[test]
fn each_batch_wants_a_result_for_each_item() {
    assert_batches_want_a_result_each(&filter(10));
}

#[test]
fn extend_inserts_what_comes() {
    for count in [0, 1, 31, 32, 33, 64, 500_u64] {
        let extended = filter(1_000);
        extended.try_extend(0..count).expect("room");
        extended.try_extend([1_000_u64, 1_001]).expect("room");
        let inserted = filter(1_000);
        for item in (0..count).chain([1_000, 1_001]) {
            inserted.insert(&item).expect("room");
        }
        assert_eq!(extended.to_bytes(), inserted.to_bytes());
    }
}

#[test]
fn threads_extend_a_filter_that_they_share() {
    let filter = filter(4_000);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let filter = &filter;
            scope.spawn(move || {
                let items = 1_000 * thread..1_000 * (thread + 1);
                filter.try_extend(items).expect("room");
            });
        }
    });
    assert_eq!(filter.len(), 4_000);
    assert!((0..4_000_u64).all(|item| filter.contains(&item)));
}

/// No item is dropped silently: the error names the first item without room.
#[test]
fn an_extension_of_a_full_filter_says_where_it_ended() {
    let filter = filter(100);
    let error = filter.try_extend(0..1_000_u64).expect_err("a full filter");
    assert_eq!(error.error, InsertError::Full);
    assert!(error.index >= 100);
    assert_eq!(filter.len(), error.index);
    assert!((0..error.index as u64).all(|item| filter.contains(&item)));
}

/// Sequences of each length, up to several times the 32 items that an iterator reads ahead.
#[test]
fn an_iterator_of_lookups_answers_as_they_would_one_by_one() {
    for bits in [10, 12, 15, 20, 30] {
        let builder = CuckooFilter::builder().capacity(500).seed(1);
        let filter = builder.fingerprint_bits(bits).build().expect("a filter");
        for item in (0..300_u64).step_by(3) {
            filter.insert(&item).expect("there is room");
        }
        for length in (0..150).chain([1000]) {
            let one_by_one: Vec<bool> = (0..length).map(|item| filter.contains(&item)).collect();
            let by_loop: Vec<bool> = filter.contains_iter(0..length).collect();
            assert_eq!(by_loop, one_by_one, "{bits} bits, {length} items");
            let mut by_fold = Vec::new();
            let mut answers = filter.contains_iter(0..length);
            // The iterator is advanced first, so that the fold begins in the middle of a sequence.
            by_fold.extend(answers.by_ref().take(7));
            answers.for_each(|found| by_fold.push(found));
            assert_eq!(by_fold, one_by_one, "{bits} bits, {length} items");
            let mut results = vec![false; length as usize];
            let items: Vec<u64> = (0..length).collect();
            filter.contains_batch(&items, &mut results);
            assert_eq!(results, one_by_one, "{bits} bits, {length} items");
        }
    }
}

#[test]
fn an_iterator_of_lookups_says_how_many_are_left_and_ends() {
    assert_lookups_end(&filter(100));
}

/// The iterator reads a bounded number of items ahead, and none before the first call of `next`.
#[test]
fn an_iterator_of_lookups_is_64_items_ahead_at_most() {
    let filter = filter(100);
    let taken = std::cell::Cell::new(0);
    let items = (0..1000_u64).inspect(|_| taken.set(taken.get() + 1));
    let answers = filter.contains_iter(items);
    assert_eq!(taken.get(), 0);
    for (answered, _) in answers.enumerate() {
        assert!((1..=64).contains(&(taken.get() - answered)));
    }
    assert_eq!(taken.get(), 1000);
}

/// A batch updates `len` once. At its end, another thread reads the exact length, whether or not
/// the batch failed.
#[test]
fn a_batch_counts_what_it_did() {
    let filter = filter(1_000);
    let items: Vec<u64> = (0..700).collect();
    filter.insert_batch(&items).expect("there is room");
    assert_eq!(filter.len(), 700);
    let mut removed = [false; 100];
    filter.remove_batch(&items[..100], &mut removed);
    let gone = removed.iter().filter(|&&removed| removed).count();
    assert_eq!(filter.len(), 700 - gone);
    // The batch fills the filter exactly.
    let many: Vec<u64> = (1_000..3_000).collect();
    let error = filter.insert_batch(&many).expect_err("too many");
    assert_eq!(filter.len(), 700 - gone + error.index);
}

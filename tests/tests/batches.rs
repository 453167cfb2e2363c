//! Batches by hash and by item, and `Extend`, give the results of single calls in order.

use guira::{BatchError, CuckooFilter, Hashed, InsertError};
use std::panic::{self, AssertUnwindSafe};

/// Two groups of items that are looked up together, and a part of a third.
const ITEMS: usize = 75;

fn filter(capacity: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(capacity).seed(1);
    builder.build().expect("a filter")
}

/// Numbers that occur two or three times each.
fn items() -> Vec<u64> {
    (0..ITEMS as u64).map(|item| item * item % 31).collect()
}

fn hashes(filter: &CuckooFilter, items: &[u64]) -> Vec<Hashed> {
    let hash = |item| filter.hash_of(item);
    items.iter().map(hash).collect()
}

#[test]
fn a_batch_of_hashes_is_one_of_their_items() {
    let (by_item, by_hash) = (filter(1_000), filter(1_000));
    let items = items();
    let hashes = hashes(&by_item, &items);
    by_item.insert_batch(&items).expect("room");
    by_hash.insert_batch(&hashes).expect("room");
    assert_eq!(by_hash.len(), ITEMS);
    assert_eq!(by_hash.to_bytes(), by_item.to_bytes());

    let mut removed = [[false; ITEMS]; 2];
    by_item.remove_batch(&items[..50], &mut removed[0][..50]);
    by_hash.remove_batch(&hashes[..50], &mut removed[1][..50]);
    assert_eq!(removed[0], removed[1]);
    assert!(removed[0][..50].iter().all(|&removed| removed));
    assert_eq!(by_hash.to_bytes(), by_item.to_bytes());

    let mut found = [[false; ITEMS]; 2];
    by_item.contains_batch(&items, &mut found[0]);
    by_hash.contains_batch(&hashes, &mut found[1]);
    assert_eq!(found[0], found[1]);
    let one_by_one: Vec<bool> = items.iter().map(|item| by_item.contains(item)).collect();
    assert_eq!(found[0][..], one_by_one);
    assert!(one_by_one.contains(&true) && one_by_one.contains(&false));
}

#[test]
fn a_unique_batch_adds_each_item_once() {
    let (one_by_one, by_item, by_hash) = (filter(1_000), filter(1_000), filter(1_000));
    let items = items();
    for filter in [&one_by_one, &by_item, &by_hash] {
        filter.insert(&items[3]).expect("room");
    }
    let expected: Vec<bool> = items
        .iter()
        .map(|item| one_by_one.insert_unique(item).expect("room"))
        .collect();
    let mut inserted = [[false; ITEMS]; 2];
    by_item
        .insert_unique_batch(&items, &mut inserted[0])
        .expect("room");
    by_hash
        .insert_unique_batch(&hashes(&by_hash, &items), &mut inserted[1])
        .expect("room");
    for inserted in inserted {
        assert_eq!(inserted[..], expected);
    }
    assert!(!expected[3] && expected[4]);
    assert_eq!(by_item.len(), one_by_one.len());
    assert!(items.iter().all(|item| by_item.count(item) == 1));
    assert_eq!(by_item.to_bytes(), one_by_one.to_bytes());
    assert_eq!(by_hash.to_bytes(), one_by_one.to_bytes());
}

/// All items before the error are decided. From it on, neither the filter nor `inserted` changes.
#[test]
fn a_unique_batch_ends_at_the_first_error() {
    let items: Vec<u64> = (0..1_000).collect();
    let filter = filter(100);
    let mut inserted = vec![true; items.len()];
    filter.insert(&items[2]).expect("room");
    let error = filter.insert_unique_batch(&items, &mut inserted);
    let BatchError { index, error, .. } = error.expect_err("more items than slots");
    assert_eq!(error, InsertError::Full);
    assert!((100..1_000).contains(&index), "{index}");
    assert!(!inserted[2]);
    let added = inserted[..index].iter().filter(|&&added| added).count();
    assert_eq!(filter.len(), 1 + added);
    assert!(items[..index].iter().all(|item| filter.contains(item)));
    assert!(inserted[index..].iter().all(|&inserted| inserted));
    assert_eq!(filter.insert_unique(&items[index]), Err(InsertError::Full));

    // The next batch ends at its first item, so its results do not change either.
    let mut again = [false, true];
    let rest = &hashes(&filter, &items[index..index + 2]);
    let error = filter.insert_unique_batch(rest, &mut again);
    assert_eq!(error.expect_err("still full").index, 0);
    assert_eq!(again, [false, true]);
}

#[test]
fn each_batch_wants_a_result_for_each_item() {
    let filter = filter(10);
    let panics = |operation: &dyn Fn(&mut [bool])| {
        [1, 3].iter().all(|&results| {
            let run = || operation(&mut vec![false; results]);
            panic::catch_unwind(AssertUnwindSafe(run)).is_err()
        })
    };
    assert!(panics(&|results| filter.contains_batch(&[1, 2], results)));
    assert!(panics(&|results| filter.remove_batch(&[1, 2], results)));
    assert!(panics(&|results| {
        let _ = filter.insert_unique_batch(&[1, 2], results);
    }));
    assert!(filter.is_empty());
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
    let filter = filter(100);
    let mut answers = filter.contains_iter(0..100_u64);
    for left in (1..=100).rev() {
        assert_eq!(answers.size_hint(), (left, Some(left)));
        assert_eq!(answers.next(), Some(false));
    }
    assert_eq!(answers.size_hint(), (0, Some(0)));
    for _ in 0..3 {
        assert_eq!(answers.next(), None);
    }
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

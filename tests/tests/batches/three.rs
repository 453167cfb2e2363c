//! Laws of batches: they give the results of single calls in order, by item and by hash.

use guira::{BatchError, Filter, Hashed, InsertError, Lifetime, SeededState};
use std::panic::{self, AssertUnwindSafe};

/// Two groups of items that are looked up together, and a part of a third.
pub(crate) const ITEMS: usize = 75;

pub(crate) fn hashes<T: Lifetime>(filter: &Filter<SeededState, T>, items: &[u64]) -> Vec<Hashed> {
    let hash = |item| filter.hash_of(item);
    items.iter().map(hash).collect()
}

/// The results of a batch of `length` items.
fn answers(length: usize, batch: impl FnOnce(&mut [bool])) -> Vec<bool> {
    let mut answers = vec![false; length];
    batch(&mut answers);
    answers
}

/// [`Three::agree`], whose batches of items and of hashes are one expression of two types.
macro_rules! agree {
    ($three:expr, $items:expr, $single:expr, |$filter:ident, $many:ident, $answers:ident| $batch:expr) => {
        $three.agree(
            $items,
            $single,
            |$filter, $many, $answers| $batch,
            |$filter, $many, $answers| $batch,
        )
    };
}
pub(crate) use agree;

/// Three filters with the same seed: for single calls, batches of items and batches of hashes.
pub(crate) struct Three<T: Lifetime> {
    pub(crate) singly: Filter<SeededState, T>,
    pub(crate) by_item: Filter<SeededState, T>,
    pub(crate) by_hash: Filter<SeededState, T>,
    /// The bytes of a filter, which must be the same for all.
    bytes: fn(&Filter<SeededState, T>) -> Vec<u8>,
}

impl<T: Lifetime> Three<T> {
    pub(crate) fn new(
        filter: impl Fn() -> Filter<SeededState, T>,
        bytes: fn(&Filter<SeededState, T>) -> Vec<u8>,
    ) -> Self {
        let [singly, by_item, by_hash] = [(); 3].map(|()| filter());
        Self {
            singly,
            by_item,
            by_hash,
            bytes,
        }
    }

    pub(crate) fn all(&self) -> [&Filter<SeededState, T>; 3] {
        [&self.singly, &self.by_item, &self.by_hash]
    }

    /// Performs one operation on all three filters, and returns the result, which must be the same
    /// for all.
    pub(crate) fn agree(
        &self,
        items: &[u64],
        single: impl Fn(&Filter<SeededState, T>, &u64) -> bool,
        by_item: impl Fn(&Filter<SeededState, T>, &[u64], &mut [bool]),
        by_hash: impl Fn(&Filter<SeededState, T>, &[Hashed], &mut [bool]),
    ) -> Vec<bool> {
        let hashes = hashes(&self.by_hash, items);
        let expected: Vec<bool> = items
            .iter()
            .map(|item| single(&self.singly, item))
            .collect();
        let [items, hashes] = [
            answers(items.len(), |answers| {
                by_item(&self.by_item, items, answers)
            }),
            answers(items.len(), |answers| {
                by_hash(&self.by_hash, &hashes, answers);
            }),
        ];
        assert_eq!(items, expected, "by item");
        assert_eq!(hashes, expected, "by hash");
        let [singly, by_item, by_hash] = self.all().map(self.bytes);
        assert!(singly == by_item && singly == by_hash, "the filters differ");
        expected
    }

    pub(crate) fn insert(&self, items: &[u64]) {
        agree!(
            self,
            items,
            |filter, item| filter.insert(item).is_ok(),
            |filter, items, answers| {
                filter.insert_batch(items).expect("room");
                answers.fill(true);
            }
        );
    }

    pub(crate) fn insert_unique(&self, items: &[u64]) -> Vec<bool> {
        agree!(
            self,
            items,
            |filter, item| filter.insert_unique(item).expect("room"),
            |filter, items, first| {
                filter.insert_unique_batch(items, first).expect("room");
            }
        )
    }

    pub(crate) fn remove(&self, items: &[u64]) -> Vec<bool> {
        agree!(
            self,
            items,
            |filter, item| filter.remove(item),
            |filter, items, removed| {
                filter.remove_batch(items, removed);
            }
        )
    }

    pub(crate) fn contains(&self, items: &[u64]) -> Vec<bool> {
        agree!(
            self,
            items,
            |filter, item| filter.contains(item),
            |filter, items, found| {
                filter.contains_batch(items, found);
            }
        )
    }
}

pub(crate) type Batch<T> =
    fn(&Filter<SeededState, T>, &[u64], &mut [bool]) -> Result<(), BatchError>;

/// Fills a filter by a batch of unique items, and returns the index of the first one without room.
/// All before it are decided. From it on, neither the filter nor the results change.
pub(crate) fn assert_ends_at_the_first_error<T: Lifetime>(
    filter: &Filter<SeededState, T>,
    items: &[u64],
    batch: Batch<T>,
) -> usize {
    filter.insert(&items[2]).expect("room");
    let mut first = vec![true; items.len()];
    let error = batch(filter, items, &mut first);
    let BatchError { index, error, .. } = error.expect_err("more items than slots");
    assert_eq!(error, InsertError::Full);
    assert!((100..items.len()).contains(&index), "{index}");
    assert!(!first[2] && first[index..].iter().all(|&first| first));
    let added = first[..index].iter().filter(|&&first| first).count();
    assert_eq!(filter.len(), 1 + added);
    assert!(items[..index].iter().all(|item| filter.contains(item)));
    assert_eq!(filter.insert_unique(&items[index]), Err(InsertError::Full));
    index
}

/// Checks that a batch of two items wants two results.
pub(crate) fn assert_wants_a_result_each(batch: impl Fn(&[u64], &mut [bool])) {
    for results in [1, 3] {
        let run = || batch(&[1, 2], &mut vec![false; results]);
        let ran = panic::catch_unwind(AssertUnwindSafe(run));
        assert!(ran.is_err(), "{results} results");
    }
}

/// Checks that each batch of an empty filter of either kind wants a result for each item.
pub(crate) fn assert_batches_want_a_result_each<T: Lifetime>(filter: &Filter<SeededState, T>) {
    assert_wants_a_result_each(|items, results| filter.contains_batch(items, results));
    assert_wants_a_result_each(|items, results| filter.remove_batch(items, results));
    assert_wants_a_result_each(|items, results| {
        let _ = filter.insert_unique_batch(items, results);
    });
    assert!(filter.is_empty());
}

/// Checks that the lookups of an empty filter say how many are left, and end.
pub(crate) fn assert_lookups_end<T: Lifetime>(filter: &Filter<SeededState, T>) {
    let mut found = filter.contains_iter(0..100_u64);
    for left in (1..=100).rev() {
        assert_eq!(found.size_hint(), (left, Some(left)));
        assert_eq!(found.next(), Some(false));
    }
    assert_eq!(found.size_hint(), (0, Some(0)));
    for _ in 0..3 {
        assert_eq!(found.next(), None);
    }
}

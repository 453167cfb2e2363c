//! If a `Hash` implementation panics, the filter does not change, because each operation hashes the
//! item first.

use guira::CuckooFilter;
use std::{
    hash::{Hash, Hasher},
    panic::{self, AssertUnwindSafe},
};

/// A number whose hash panics if it is negative.
struct Moody(i64);

impl Hash for Moody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(self.0 >= 0, "not now");
        self.0.hash(state);
    }
}

const ITEMS: i64 = 900;

fn filled(max: usize) -> CuckooFilter {
    let filter = CuckooFilter::builder().capacity(1_000).max_capacity(max);
    let filter = filter.seed(1).build().expect("a filter");
    for item in 0..ITEMS {
        filter.insert(&Moody(item)).expect("room");
    }
    filter
}

fn panics<R>(operation: impl FnOnce() -> R) -> bool {
    panic::catch_unwind(AssertUnwindSafe(operation)).is_err()
}

/// Checks that the filter holds these items and works.
fn assert_whole(filter: &CuckooFilter, items: impl Iterator<Item = i64> + Clone) {
    assert_eq!(filter.len(), items.clone().count());
    for item in items {
        let item = Moody(item);
        assert!(filter.contains(&item), "false negative of {}", item.0);
        assert!(filter.remove(&item), "remove of {}", item.0);
        filter.insert(&item).expect("its own room");
    }
}

#[test]
fn one_item_at_a_time() {
    for max in [1_000, 100_000] {
        let filter = filled(max);
        let moody = Moody(-1);
        assert!(panics(|| filter.insert(&moody)));
        assert!(panics(|| filter.insert_unique(&moody)));
        assert!(panics(|| filter.remove(&moody)));
        assert!(panics(|| filter.contains(&moody)));
        assert!(panics(|| filter.count(&moody)));
        assert_whole(&filter, 0..ITEMS);
    }
}

/// A batch has processed the items before some index, which is at most that of the item that
/// panics, and no item from it on.
#[test]
fn in_batches() {
    for at in [0, 1, 15, 16, 31, 32, 40, 63, 70] {
        let filter = filled(1_000);
        let mut batch: Vec<Moody> = (ITEMS..ITEMS + 71).map(Moody).collect();
        batch[at].0 = -1;
        let mut results = vec![false; batch.len()];

        assert!(panics(|| filter.insert_batch(&batch).unwrap()));
        let inserted = filter.len() as i64 - ITEMS;
        assert!((0..=at as i64).contains(&inserted), "{inserted} of {at}");
        assert_whole(&filter, 0..ITEMS + inserted);

        assert!(panics(|| filter.contains_batch(&batch, &mut results)));
        assert_whole(&filter, 0..ITEMS + inserted);

        results.fill(false);
        assert!(panics(|| filter.remove_batch(&batch, &mut results)));
        let removed = results.iter().filter(|&&removed| removed).count();
        assert_eq!(filter.len() as i64, ITEMS + inserted - removed as i64);
        assert!(removed as i64 <= inserted);
        assert_whole(
            &filter,
            (0..ITEMS).chain(ITEMS + removed as i64..ITEMS + inserted),
        );
    }
}

/// As for a batch. `try_extend` hashes a group of items before it inserts them. A batch hashes each
/// item when it processes the item 32 places before it.
#[test]
fn in_batches_of_other_kinds() {
    type Insert = fn(&CuckooFilter, Vec<Moody>);
    type Inserted = fn(i64) -> i64;
    let kinds: [(Insert, Inserted); 2] = [
        (
            |filter, items| filter.try_extend(items).unwrap(),
            |at| at / 32 * 32,
        ),
        (
            |filter, items| {
                let mut inserted = vec![false; items.len()];
                filter.insert_unique_batch(&items, &mut inserted).unwrap();
            },
            |at| (at - 32).max(0),
        ),
    ];
    for (insert, expected) in kinds {
        for at in [0, 31, 32, 63, 70] {
            let filter = filled(1_000);
            let mut batch: Vec<Moody> = (ITEMS..ITEMS + 71).map(Moody).collect();
            batch[at].0 = -1;
            assert!(panics(|| insert(&filter, batch)));
            let inserted = filter.len() as i64 - ITEMS;
            assert_eq!(inserted, expected(at as i64), "{at}");
            assert_whole(&filter, 0..ITEMS + inserted);
        }
    }
}

/// The number of calls of `insert_unique` in flight is limited by the number of tokens, so a call
/// that panics must return its token.
#[test]
fn no_token_is_lost() {
    let filter = filled(1_000);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let all = (0..2_000).all(|_| panics(|| assert!(filter.insert_unique(&Moody(-1)).is_ok())));
    panic::set_hook(hook);
    assert!(all);
    assert_eq!(filter.insert_unique(&Moody(ITEMS)), Ok(true));
    assert_whole(&filter, 0..=ITEMS);
}

//! Batches and iterators of an expiring filter give the results of single calls in order: by item
//! and by hash, in each epoch.

use crate::batches::three::{
    Batch, ITEMS, Three, agree, assert_batches_want_a_result_each, assert_ends_at_the_first_error,
    assert_lookups_end, assert_wants_a_result_each, hashes,
};
use guira::{Expiring, ExpiringFilter, InsertError};
use std::time::Duration;

/// The fingerprint sizes, each with a layout of its own.
const BITS: [u32; 4] = [9, 11, 16, 26];

const EPOCHS: u32 = 3;

fn filter(bits: u32, capacity: usize) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(EPOCHS);
    let builder = builder.fingerprint_bits(bits).capacity(capacity).seed(1);
    builder.build().expect("a filter")
}

/// Numbers that occur at most twice each, because both buckets of an item may be the same, with two
/// slots.
fn items() -> Vec<u64> {
    (0..ITEMS as u64).map(|item| item * 7 % 38).collect()
}

fn three(bits: u32) -> Three<Expiring> {
    let bytes = |filter: &ExpiringFilter| filter.to_bytes_at(|| Duration::ZERO);
    Three::new(|| filter(bits, 1_000), bytes)
}

impl Three<Expiring> {
    fn advance(&self) {
        for filter in self.all() {
            assert!(filter.advance(), "no other thread begins epochs");
        }
    }

    fn insert_or_refresh(&self, items: &[u64]) -> Vec<bool> {
        agree!(
            self,
            items,
            |filter, item| filter.insert_or_refresh(item).expect("room"),
            |filter, items, first| {
                let done = filter.insert_or_refresh_batch(items, first);
                done.expect("room");
            }
        )
    }

    fn refresh(&self, items: &[u64]) -> Vec<bool> {
        agree!(
            self,
            items,
            |filter, item| filter.refresh(item).expect("room"),
            |filter, items, present| {
                filter.refresh_batch(items, present).expect("room");
            }
        )
    }
}

#[test]
fn inserts_add_a_copy_of_the_current_epoch() {
    for bits in BITS {
        let (three, items) = (three(bits), items());
        three.insert(&items[..38]);
        assert_eq!(three.singly.len(), 38);
        three.advance();
        three.insert(&items[38..]);
        assert_eq!(three.singly.len(), ITEMS);
    }
}

#[test]
fn unique_inserts_add_what_is_absent_or_has_expired() {
    for bits in BITS {
        let (three, items) = (three(bits), items());
        three.insert(&items[3..4]);
        let first = three.insert_unique(&items);
        assert!(!first[3] && first[4], "{bits} bits");
        for _ in 0..EPOCHS {
            three.advance();
            assert!(!three.insert_unique(&items).contains(&true), "{bits} bits");
        }
        // The batch did not reset the time of these items.
        three.advance();
        assert!(three.insert_unique(&items)[3], "{bits} bits");
    }
}

#[test]
fn inserts_or_refreshes_keep_an_item_once_and_for_its_whole_time() {
    for bits in BITS {
        let (three, items) = (three(bits), items());
        three.insert(&items[3..4]);
        let first = three.insert_or_refresh(&items);
        assert!(!first[3] && first[4], "{bits} bits");
        let len = three.singly.len();
        for _ in 0..3 * EPOCHS {
            three.advance();
            let first = three.insert_or_refresh(&items);
            assert!(!first.contains(&true), "{bits} bits");
            assert_eq!(three.singly.len(), len);
        }
    }
}

#[test]
fn refreshes_reset_the_time_of_what_is_present() {
    for bits in BITS {
        let (three, items) = (three(bits), items());
        let (present, absent) = ([items[0], items[1]], items[2]);
        three.insert(&present);
        for _ in 0..2 * EPOCHS {
            three.advance();
            let refreshed = three.refresh(&[present[0], absent, present[1]]);
            assert_eq!(refreshed, [true, false, true], "{bits} bits");
        }
        assert_eq!(three.singly.len(), 2);
        (0..=EPOCHS).for_each(|_| three.advance());
        assert_eq!(three.refresh(&items), [false; ITEMS], "{bits} bits");
    }
}

#[test]
fn removes_take_one_copy_each_until_none_is_left() {
    for bits in BITS {
        let (three, items) = (three(bits), items());
        three.insert(&items[..38]);
        three.advance();
        three.insert(&items[38..]);
        assert_eq!(three.remove(&items), [true; ITEMS], "{bits} bits");
        assert_eq!(three.remove(&items), [false; ITEMS], "{bits} bits");
        assert!(three.singly.is_empty());
    }
}

/// Sequences of each length, up to several times the 32 items that an iterator reads ahead, in the
/// epochs in which some items have expired.
#[test]
fn lookups_find_what_is_live() {
    for bits in BITS {
        let three = three(bits);
        let [early, late]: [Vec<u64>; 2] = [0, 150].map(|first| (first..300).step_by(3).collect());
        three.insert(&early);
        (0..EPOCHS).for_each(|_| three.advance());
        three.insert(&late);
        for _ in 0..=EPOCHS + 1 {
            for length in (0..100).chain([400]) {
                let items: Vec<u64> = (0..length).collect();
                let expected = three.contains(&items);
                let filter = &three.by_item;
                assert!(filter.contains_iter(&items).eq(expected.iter().copied()));
                let hashes = hashes(filter, &items);
                assert!(filter.contains_iter(hashes).eq(expected));
            }
            three.advance();
        }
        let dead: Vec<u64> = (0..400).collect();
        assert_eq!(three.contains(&dead), [false; 400], "{bits} bits");
    }
}

#[test]
fn an_iterator_of_lookups_says_how_many_are_left_and_ends() {
    assert_lookups_end(&filter(16, 100));
}

/// A lookup reads the epoch when its result is computed, not when the iterator is created.
#[test]
fn an_iterator_of_lookups_sees_epochs_that_begin() {
    let filter = filter(16, 1_000);
    let items: Vec<u64> = (0..500).collect();
    filter.insert_batch(&items).expect("room");
    let mut found = filter.contains_iter(&items);
    assert!(found.by_ref().take(100).all(|found| found));
    (0..=EPOCHS).for_each(|_| assert!(filter.advance()));
    // At most one group of results has already been computed.
    let live = found.filter(|&found| found).count();
    assert!(live < 32, "{live} of dead items");
}

#[test]
fn a_batch_ends_at_the_first_error() {
    let batches: [Batch<Expiring>; 4] = [
        ExpiringFilter::insert_unique_batch,
        ExpiringFilter::insert_or_refresh_batch,
        |filter, items, first| filter.insert_unique_batch(&hashes(filter, items), first),
        |filter, items, first| filter.insert_or_refresh_batch(&hashes(filter, items), first),
    ];
    let items: Vec<u64> = (0..2_000).collect();
    for batch in batches {
        assert_ends_at_the_first_error(&filter(16, 100), &items, batch);
    }
    for by_hash in [false, true] {
        let filter = filter(16, 100);
        let inserted = match by_hash {
            false => filter.insert_batch(&items),
            true => filter.insert_batch(&hashes(&filter, &items)),
        };
        let error = inserted.expect_err("more items than slots");
        assert_eq!(
            (filter.len(), error.error),
            (error.index, InsertError::Full)
        );
    }
}

#[test]
fn each_batch_wants_a_result_for_each_item() {
    let filter = filter(16, 10);
    assert_batches_want_a_result_each(&filter);
    let batches: [Batch<Expiring>; 2] = [
        ExpiringFilter::insert_or_refresh_batch,
        ExpiringFilter::refresh_batch,
    ];
    for batch in batches {
        assert_wants_a_result_each(|items, results| {
            let _ = batch(&filter, items, results);
        });
    }
    assert!(filter.is_empty());
}

//! Keys that share one class, or one pair, fill the pair and are refused then. All other items are
//! unaffected. A client that does not know the seed cannot construct such keys.

use guira::{CuckooFilter, InsertError};

const SEED: u64 = 42;

fn filter(bits: u32, max: Option<usize>, seed: u64) -> CuckooFilter {
    let mut builder = CuckooFilter::builder().capacity(300).fingerprint_bits(bits);
    if let Some(max) = max {
        builder = builder.max_capacity(max).false_positive_rate(0.1);
    }
    builder.seed(seed).build().expect("a filter")
}

/// Keys of the class of the first key, as a client that knows the seed can find them. In a filter
/// with one item, `contains` reveals the class.
fn hostile(bits: u32, count: usize) -> Vec<u64> {
    let probe = filter(bits, None, SEED);
    let first = 1 << 50;
    probe.insert(&first).unwrap();
    (first..)
        .filter(|key| probe.contains(key))
        .take(count)
        .collect()
}

#[test]
fn keys_of_one_class_fill_their_pair_and_harm_nothing_else() {
    for bits in [10, 12, 15] {
        let filter = filter(bits, None, SEED);
        let most = 2 * filter.bucket_slots();
        let keys = hostile(bits, most + 10);
        for item in 0..200_u64 {
            filter.insert(&item).unwrap();
        }
        let full = keys
            .iter()
            .filter(|key| filter.insert(*key) == Err(InsertError::TooManyCopies))
            .count();
        assert_eq!(full, 10, "{bits} bits: all but 2 S copies");
        assert_eq!(filter.count(&keys[0]), most, "{bits} bits");
        assert_eq!(
            filter.insert_unique(&keys[most]),
            Ok(false),
            "{bits} bits: present"
        );

        for item in 200..260_u64 {
            assert_eq!(
                filter.insert(&item),
                Ok(()),
                "{bits} bits: {item} is affected by the crafted keys"
            );
        }
        assert!(
            (0..260_u64).all(|item| filter.contains(&item)),
            "{bits} bits: an item was lost"
        );
        assert_eq!(filter.len(), 260 + most);

        let removed = keys.iter().filter(|key| filter.remove(*key)).count();
        assert_eq!(removed, most, "{bits} bits");
        assert!(
            (0..260_u64).all(|item| filter.remove(&item)),
            "{bits} bits: an item was lost"
        );
        assert!(filter.is_empty());
    }
}

#[test]
fn the_same_keys_are_harmless_under_another_seed() {
    for bits in [10, 12, 15] {
        let keys = hostile(bits, 30);
        for seed in [SEED + 1, 0, u64::MAX] {
            let filter = filter(bits, None, seed);
            for key in &keys {
                assert_eq!(filter.insert(key), Ok(()), "{bits} bits, seed {seed}");
            }
            assert!(
                keys.iter().all(|key| filter.count(key) <= 2),
                "{bits} bits, seed {seed}"
            );
        }
    }
}

#[test]
fn two_filters_have_different_seeds_by_default() {
    let (a, b) = (
        CuckooFilter::with_capacity(10),
        CuckooFilter::with_capacity(10),
    );
    assert_ne!(a.hasher().seed(), b.hasher().seed());
}

/// Keys of many classes of one pair. No item that fills the pair can be relocated out of it.
fn pair(bits: u32, max: Option<usize>, count: usize) -> Vec<u64> {
    let probe = filter(bits, max, SEED);
    let first = 1 << 51;
    for _ in 0..2 * probe.bucket_slots() {
        probe.insert(&first).unwrap();
    }
    (first..)
        .filter(|key| {
            probe.insert(key).map(|()| assert!(probe.remove(key))) == Err(InsertError::Full)
        })
        .take(count)
        .collect()
}

#[test]
fn keys_of_one_pair_overfill_it_and_harm_nothing_else() {
    for (bits, max) in [
        (10, None),
        (15, None),
        (30, None),
        (14, Some(10_000)),
        (27, Some(100_000)),
    ] {
        let filter = filter(bits, max, SEED);
        let most = 2 * filter.bucket_slots();
        let keys = pair(bits, max, most + 10);
        let results: Vec<_> = keys.iter().map(|key| filter.insert(key)).collect();
        assert!(results[..most].iter().all(Result::is_ok), "{bits} bits");
        let refused = |result: &Result<(), InsertError>| *result == Err(InsertError::Full);
        assert!(
            results[most..].iter().all(refused),
            "{bits} bits: the pair is full"
        );
        assert!(
            keys[most..]
                .iter()
                .all(|key| filter.insert_unique(key) != Ok(true))
        );
        // An attacker must not cause a nearly empty filter to grow.
        assert_eq!(filter.stats().buckets_to_split, 0, "{bits} bits");

        // By chance, an item may belong to that pair. In a filter that has no other items, this
        // shows.
        let (of_pair, items): (Vec<u64>, Vec<u64>) = (0..250).partition(|item| {
            let inserted = filter.insert(item);
            inserted.is_err() || !filter.remove(item)
        });
        assert!(of_pair.len() <= 2, "{bits} bits: {of_pair:?}");
        for item in &items {
            let unique = filter.insert_unique(item);
            assert!(unique.is_ok(), "{bits} bits: {item} is refused");
            assert_eq!(filter.remove(item), unique == Ok(true), "{bits} bits");
        }
        for item in &items {
            assert_eq!(
                filter.insert(item),
                Ok(()),
                "{bits} bits: {item} is refused"
            );
        }
        assert!(items.iter().all(|item| filter.contains(item)));
        assert!(keys[..most].iter().all(|key| filter.contains(key)));
        assert_eq!(filter.len(), items.len() + most);
        let present = items.iter().chain(&keys[..most]);
        assert!(present.into_iter().all(|item| filter.remove(item)));
        assert!(filter.is_empty());
    }
}

/// A filter that can grow doubles for such keys, which costs memory, but only while at least 1/16
/// of its slots is in use.
#[test]
fn keys_of_one_pair_make_a_filter_grow_to_sixteen_times_its_slots_at_most() {
    let (bits, max) = (27, Some(100_000));
    let filter = filter(bits, max, SEED);
    let items = filter.capacity() as u64;
    for item in 0..items {
        assert_eq!(filter.insert(&item), Ok(()));
    }
    let before = filter.stats();
    assert_eq!((before.doublings, before.buckets_to_split), (0, 0));
    // Enough keys to fill the pair in each of sixteen planes.
    let keys = pair(bits, max, 16 * 2 * filter.bucket_slots() + 40);
    let (mut inserted, mut refused) = (Vec::new(), 0);
    for key in &keys {
        match filter.insert(key) {
            Ok(()) => inserted.push(key),
            Err(error) => {
                assert_eq!(error, InsertError::Full);
                refused += 1;
            }
        }
    }
    assert!(
        inserted.len() > 2 * filter.bucket_slots(),
        "the filter grew for these keys"
    );
    assert!(refused > 0, "further keys are refused");
    filter.finish_growth();
    let level = filter.stats().doublings;
    assert!((1..=4).contains(&level), "level {level}");
    assert!((0..items).all(|item| filter.contains(&item)));
    assert!(inserted.into_iter().all(|key| filter.contains(key)));
}

#[test]
fn keys_of_one_pair_are_harmless_under_another_seed() {
    for bits in [10, 15, 30] {
        let keys = pair(bits, None, 40);
        for seed in [SEED + 1, 0, u64::MAX] {
            let filter = filter(bits, None, seed);
            assert!(
                keys.iter().all(|key| filter.insert(key).is_ok()),
                "{bits} bits, {seed}"
            );
        }
    }
}

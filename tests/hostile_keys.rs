//! Keys made to share one class fill their pair and get Full. All other items go
//! on as before; and for whoever does not know the seed such keys cannot be made.

use guira::{CuckooFilter, InsertError};

const SEED: u64 = 42;

fn filter(bits: u32, seed: u64) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(300).fingerprint_bits(bits);
    builder.seed(seed).build().expect("a filter")
}

/// Keys of the class of the first, found by one who knows the seed: in a filter
/// that holds nothing else, `contains` betrays the class.
fn hostile(bits: u32, count: usize) -> Vec<u64> {
    let probe = filter(bits, SEED);
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
        let filter = filter(bits, SEED);
        let most = 2 * filter.bucket_slots();
        let keys = hostile(bits, most + 10);
        for item in 0..200_u64 {
            filter.insert(&item).unwrap();
        }
        let full = keys
            .iter()
            .filter(|key| filter.insert(*key) == Err(InsertError::Full))
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
                "{bits} bits: {item} pays for the others"
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
            let filter = filter(bits, seed);
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

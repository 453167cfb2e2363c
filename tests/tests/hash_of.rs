//! Each operation on an item is the operation on its hash, which `hash_of` returns, with any hasher.

use crate::common::identity::Identity;
use guira::{CuckooFilter, ExpiringFilter, Hashed, SeededState};
use std::{
    hash::{BuildHasher, Hasher},
    time::Duration,
};

/// The keys 0 to 7 are inserted, each in another way.
const KEYS: [u64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

fn plain<S: BuildHasher>(hasher: S) -> CuckooFilter<S> {
    let builder = CuckooFilter::builder().capacity(1000).hasher(hasher);
    builder.build().expect("a filter")
}

fn test<S: BuildHasher>(filter: &CuckooFilter<S>) {
    filter.insert(&0_u64).expect("room");
    assert_eq!(filter.insert_unique(&1_u64), Ok(true));
    filter.insert_batch(&[2_u64]).expect("room");
    let mut inserted = [false];
    filter
        .insert_unique_batch(&[3_u64], &mut inserted)
        .expect("room");
    filter.try_extend([4_u64]).expect("room");
    filter
        .insert_batch(&[filter.hash_of(&5_u64)])
        .expect("room");
    filter.insert(&filter.hash_of(&6_u64)).expect("room");
    assert_eq!(filter.insert_unique(&filter.hash_of(&7_u64)), Ok(true));

    let hashes = KEYS.map(|key| filter.hash_of(&key));
    for (key, hash) in KEYS.iter().zip(hashes) {
        assert!(filter.contains(key) && filter.contains(&hash));
        assert_eq!((filter.count(key), filter.count(&hash)), (1, 1));
    }
    assert!(filter.contains_iter(KEYS).all(|found| found));
    assert!(filter.contains_iter(hashes).all(|found| found));
    let mut found = [false; 8];
    filter.contains_batch(&KEYS, &mut found);
    assert_eq!(found, [true; 8]);

    assert!(filter.remove(&7_u64) && filter.remove(&hashes[0]));
    let mut removed = [false; 6];
    filter.remove_batch(&KEYS[1..7], &mut removed);
    assert_eq!(removed, [true; 6]);
    assert!(filter.is_empty());
}

fn test_expiring<S: BuildHasher>(filter: &ExpiringFilter<S>) {
    filter.insert(&0_u64).expect("room");
    assert_eq!(filter.insert_unique(&1_u64), Ok(true));
    filter.insert_batch(&[2_u64]).expect("room");
    filter.try_extend([3_u64]).expect("room");
    assert_eq!(filter.insert_or_refresh(&4_u64), Ok(true));
    for key in 5..8_u64 {
        filter.insert(&filter.hash_of(&key)).expect("room");
    }

    let hashes = KEYS.map(|key| filter.hash_of(&key));
    for (key, hash) in KEYS.iter().zip(hashes) {
        assert!(filter.contains(key) && filter.contains(&hash));
        assert_eq!(filter.refresh(key), Ok(true));
        assert_eq!((filter.count(key), filter.count(&hash)), (1, 1));
    }
    assert!(filter.contains_iter(KEYS).all(|found| found));
    let mut found = [false; 8];
    filter.contains_batch(&KEYS, &mut found);
    assert_eq!(found, [true; 8]);
    assert!(filter.remove(&7_u64) && filter.remove(&hashes[0]));
    assert!(!filter.contains(&0_u64) && !filter.contains(&hashes[7]));
}

/// A hasher with a lifetime, which hashes as the one it borrows.
#[derive(Clone, Copy)]
struct Borrowed<'a, S>(&'a S);

impl<S: BuildHasher> BuildHasher for Borrowed<'_, S> {
    type Hasher = S::Hasher;

    fn build_hasher(&self) -> S::Hasher {
        self.0.build_hasher()
    }
}

#[test]
fn items_and_their_hashes_are_one() {
    let state = SeededState::new(7);
    test(&plain(state.clone()));
    test(&plain(Identity::default()));
    test(&plain(Borrowed(&state)));
}

#[test]
fn items_of_expiring_filters_and_their_hashes_are_one() {
    let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(1000);
    let state = SeededState::new(7);
    test_expiring(&builder.clone().seed(7).build().expect("a filter"));
    let weak = builder.clone().hasher(Identity::default());
    test_expiring(&weak.build().expect("a filter"));
    let borrowed = builder.hasher(Borrowed(&state));
    test_expiring(&borrowed.build().expect("a filter"));
}

/// What FORMAT.md says: the result of another hasher is hashed as an integer, with the seed 0.
#[test]
fn results_of_the_default_hasher_are_hashes_and_those_of_others_are_hashed_again() {
    let state = SeededState::new(7);
    let again = |hash| Hashed(SeededState::new(0).hash_u64(hash));
    let hash = Hashed(state.hash_one("ani"));
    assert_eq!(plain(state.clone()).hash_of("ani"), hash);
    let borrowed = plain(Borrowed(&state));
    assert_eq!(borrowed.hash_of("ani"), again(hash.0));
    let mut identity = Identity::default().build_hasher();
    identity.write_u64(42);
    assert_eq!(identity.finish(), 42);
    assert_eq!(plain(Identity::default()).hash_of(&42_u64), again(42));
}

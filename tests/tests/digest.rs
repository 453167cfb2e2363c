//! Two filters have the same digest exactly if they hold the same copies, wherever these are
//! stored.

use crate::{
    common::{
        class_digest::{absorb, copy, value},
        filters::GROWABLE_BITS,
    },
    snapshot::common::{
        layouts::{LAYOUTS, filter as empty},
        words::copies,
    },
};
use guira::CuckooFilter;
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use std::{collections::HashSet, sync::Barrier, thread};

fn insert_all(filter: &CuckooFilter, items: &[u64]) {
    for item in items {
        filter.insert(item).expect("room");
    }
}

/// Computes the digest from the words of a snapshot, as `docs/FORMAT.md` describes it, without the
/// library.
fn expected(snapshot: &[u8]) -> u128 {
    let number = |at: usize| u64::from_le_bytes(snapshot[at..at + 8].try_into().expect("8 bytes"));
    let start = (0..8).fold((0, 0), |state, word| absorb(state, number(8 * word)));
    let copies = copies(snapshot).into_iter();
    copies.fold(value(start), |digest, (bucket, fingerprint)| {
        digest.wrapping_add(copy(start, number(16), bucket, fingerprint))
    })
}

#[test]
fn it_is_as_the_format_says() {
    for bits in LAYOUTS {
        for capacity in [1, 50, 5_000] {
            let filter = empty(bits, capacity);
            assert_eq!(filter.digest(), expected(&filter.to_bytes()));
            let items: Vec<u64> = (0..filter.max_capacity() as u64).collect();
            // A filter that can grow is in the middle of a doubling at some of these points.
            for part in items.chunks(items.len().div_ceil(20)) {
                insert_all(&filter, part);
                assert_eq!(filter.digest(), expected(&filter.to_bytes()));
            }
        }
    }
}

/// The digest of the example in `docs/FORMAT.md`.
#[test]
fn it_does_not_change_from_release_to_release() {
    let builder = CuckooFilter::builder().capacity(1).fingerprint_bits(15);
    let filter = builder.seed(7).build().expect("a filter");
    filter.insert("ani").expect("room");
    let format = include_str!("../../docs/FORMAT.md");
    let digest = format!("{:#034x}", filter.digest());
    assert!(format.contains(&digest), "{digest}");
}

#[test]
fn the_order_of_inserts_does_not_matter() {
    let mut random = StdRng::seed_from_u64(1);
    for bits in LAYOUTS {
        // The filter is filled completely, so that most items are relocated. Some items are
        // inserted twice.
        let mut items: Vec<u64> = (0..980).chain(0..20).collect();
        let wanted = {
            let filter = empty(bits, 1_000);
            insert_all(&filter, &items);
            filter.digest()
        };
        let mut places = HashSet::new();
        for _ in 0..5 {
            items.shuffle(&mut random);
            let filter = empty(bits, 1_000);
            insert_all(&filter, &items);
            assert_eq!(filter.digest(), wanted);
            places.insert(filter.to_bytes());
        }
        assert!(places.len() > 1, "the items are in other places");
    }
}

#[test]
fn growth_does_not_matter() {
    for bits in GROWABLE_BITS {
        let filter = empty(bits, 1_000);
        let items: Vec<u64> = (0..4_000).collect();
        let (mut inserted, mut sweeping) = (0, 0);
        for part in items.chunks(4) {
            insert_all(&filter, part);
            inserted += part.len();
            if filter.stats().buckets_to_split == 0 || sweeping == 20 {
                continue;
            }
            sweeping += 1;
            // The digest is the same in the middle of a doubling, after it, and for items that are
            // inserted one by one.
            let before = filter.digest();
            let copy = CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot");
            assert_eq!(copy.digest(), before);
            copy.finish_growth();
            assert_eq!(copy.stats().buckets_to_split, 0);
            assert_eq!(copy.digest(), before);
            assert_eq!(copy.clone().digest(), before);
            let other = empty(bits, 1_000);
            let reversed: Vec<u64> = items[..inserted].iter().rev().copied().collect();
            insert_all(&other, &reversed);
            assert_eq!(other.digest(), before);
        }
        assert!(sweeping > 2, "{sweeping}: it has doubled");

        // One filter has grown, and the other has not.
        for item in &items[100..] {
            assert!(filter.remove(item));
        }
        let small = empty(bits, 1_000);
        insert_all(&small, &items[..100]);
        assert!(filter.stats().doublings > small.stats().doublings);
        assert_eq!(filter.digest(), small.digest());
    }
}

/// Threads fill two filters of different sizes, each in a different order.
#[test]
fn filters_that_threads_made_grow_differently_far_have_one_digest() {
    const THREADS: u64 = 4;
    for bits in GROWABLE_BITS {
        let [small, large] = [(); 2].map(|()| empty(bits, 2_000));
        let share = |thread: u64, items: u64| (0..items).filter(move |it| it % THREADS == thread);
        let all_are_in = Barrier::new(THREADS as usize);
        thread::scope(|scope| {
            for own in 0..THREADS {
                let (small, large, all_are_in) = (&small, &large, &all_are_in);
                scope.spawn(move || {
                    insert_all(large, &share(own, 8_000).collect::<Vec<_>>());
                    insert_all(small, &share(own, 1_000).collect::<Vec<_>>());
                    all_are_in.wait();
                    assert!(share(own, 8_000).skip(250).all(|item| large.remove(&item)));
                });
            }
        });
        assert!(
            large.stats().doublings > small.stats().doublings,
            "{bits} bits"
        );
        assert_eq!(large.digest(), small.digest(), "{bits} bits");
        large.merge(&small).expect("room");
        small.merge(&small.clone()).expect("room");
        assert_eq!(large.digest(), small.digest(), "{bits} bits, each twice");
    }
}

#[test]
fn a_copy_more_or_less_matters() {
    let mut random = StdRng::seed_from_u64(2);
    for bits in LAYOUTS {
        let filter = empty(bits, 1_000);
        let mut digests = HashSet::from([filter.digest()]);
        for item in 0..500_u64 {
            filter.insert(&item).expect("room");
            assert!(digests.insert(filter.digest()), "one item more");
        }
        for _ in 0..100 {
            let item = random.random_range(0..500_u64);
            let before = filter.digest();
            filter.insert(&item).expect("room");
            assert_ne!(filter.digest(), before, "a second copy");
            assert!(filter.remove(&item));
            assert_eq!(filter.digest(), before);
            assert!(filter.remove(&item));
            assert_ne!(filter.digest(), before, "one copy less");
            filter.insert(&item).expect("room");
            assert_eq!(filter.digest(), before);
        }
    }
}

#[test]
fn the_header_matters() {
    let digest = |bits: u32, capacity: usize, seed: u64| {
        let builder = CuckooFilter::builder().capacity(capacity);
        let builder = builder.fingerprint_bits(bits).seed(seed);
        let filter = builder.build().expect("a filter");
        let empty = filter.digest();
        filter.insert("ani").expect("room");
        [empty, filter.digest()]
    };
    let digests = [
        digest(15, 1_000, 1),
        digest(15, 1_001, 1),
        digest(15, 1_000, 2),
        digest(20, 1_000, 1),
        digest(15, 2_000, 1),
    ];
    let distinct: HashSet<u128> = digests.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), 10);
}

//! A merge of two expiring filters keeps the time of each copy.

use guira::{ExpiringFilter, MergeError, Mismatch};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(60);

/// With fingerprints of 9, 11, 16 and 26 bits.
const BITS: [u32; 4] = [9, 11, 16, 26];

fn filter(bits: u32, epochs: u32, seed: u64) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL).fingerprint_bits(bits);
    let builder = builder.epochs(epochs).capacity(1_000).seed(seed);
    builder.build().expect("a filter")
}

/// The number of epochs that begin before `item` is absent.
fn epochs_left(filter: &ExpiringFilter, item: u64) -> u32 {
    let copy = filter.clone();
    (0..)
        .find(|_| !(copy.contains(&item) && copy.advance()))
        .unwrap()
}

/// A copy that was seen `age` epochs ago lives for the epochs that it has left, and one more. The
/// epochs of the two filters may begin at different times.
#[test]
fn copies_keep_their_time() {
    for (bits, epochs) in BITS.into_iter().flat_map(|bits| [(bits, 1), (bits, 5)]) {
        for ahead in [0, 1, 7, 100] {
            let (here, there) = (filter(bits, epochs, 1), filter(bits, epochs, 1));
            for _ in 0..ahead {
                here.advance();
            }
            for age in (0..=epochs).rev() {
                there.insert(&u64::from(age)).expect("room");
                if age > 0 {
                    there.advance();
                }
            }
            here.merge(&there).expect("room");
            assert_eq!(here.len(), epochs as usize + 1);
            for age in 0..=epochs {
                let (item, place) = (u64::from(age), format!("{bits} bits, {epochs}, {ahead}"));
                let left = epochs_left(&there, item);
                assert_eq!(left, epochs + 1 - age, "{place}");
                let merged = epochs_left(&here, item);
                assert_eq!(merged, left + u32::from(age > 0), "{place}, {age} old");
            }
        }
    }
}

#[test]
fn what_is_dead_is_not_merged() {
    let (here, there) = (filter(16, 3, 1), filter(16, 3, 1));
    there.try_extend(0..500_u64).expect("room");
    for _ in 0..3 {
        there.advance();
    }
    there.try_extend(500..600_u64).expect("room");
    // The epoch begins without a sweep.
    assert!(there.begin_epoch());
    assert_eq!(there.len(), 600);
    here.merge(&there).expect("room");
    assert_eq!(here.len(), 100);
    assert!((500..600_u64).all(|item| here.contains(&item)));
}

/// The merge reads many chunks that contain marks of concurrent writers.
#[test]
fn all_that_stays_is_merged_while_threads_write() {
    let builder = ExpiringFilter::builder(TTL).capacity(20_000).seed(1);
    let (here, there) = (builder.clone().build().unwrap(), builder.build().unwrap());
    there.try_extend(0..8_000_u64).expect("room");
    std::thread::scope(|scope| {
        let there = &there;
        let writer = scope.spawn(move || {
            for item in 100_000..108_000_u64 {
                there.insert(&item).expect("room");
                assert!(there.remove(&item));
            }
        });
        here.merge(there).expect("room");
        writer.join().expect("no panic");
    });
    assert!((0..8_000_u64).all(|item| here.contains(&item)));
}

#[test]
fn filters_that_differ_are_refused_by_name() {
    let here = filter(16, 3, 1);
    let refused = |other: &ExpiringFilter| here.merge(other).expect_err("they differ");
    assert_eq!(refused(&here), MergeError::SameFilter);
    assert_eq!(
        refused(&filter(26, 3, 1)),
        MergeError::Geometry(Mismatch::FingerprintBits {
            this: 16,
            other: 26
        })
    );
    let builder = ExpiringFilter::builder(2 * TTL).fingerprint_bits(16);
    let longer = builder.epochs(3).capacity(1_000).seed(1).build().unwrap();
    assert_eq!(
        refused(&longer),
        MergeError::Geometry(Mismatch::Ttl {
            this: TTL,
            other: 2 * TTL
        })
    );
    assert!(matches!(
        refused(&filter(16, 3, 2)),
        MergeError::Hasher { .. }
    ));
    let (short, buckets) = (filter(16, 1, 1), here.buckets());
    assert_ne!(short.buckets(), buckets);
    assert!(matches!(
        refused(&short),
        MergeError::Geometry(Mismatch::Buckets { .. })
    ));
    // These filters have the same number of buckets, but different TTLs.
    let others = (1..).map(|capacity| {
        let builder = ExpiringFilter::builder(TTL).fingerprint_bits(16).seed(1);
        builder.epochs(2).capacity(capacity).build().unwrap()
    });
    let mut others = others.skip_while(|other| other.buckets() < buckets);
    let other = others.next().expect("a large one");
    assert_eq!(other.buckets(), buckets);
    assert_eq!(
        refused(&other),
        MergeError::Geometry(Mismatch::Epochs { this: 3, other: 2 })
    );
    assert!(here.is_empty());
}

#[test]
fn a_merge_without_room_says_how_far_it_came() {
    let (here, there) = (filter(16, 3, 1), filter(16, 3, 1));
    here.try_extend(0..1_400_u64).expect("room");
    there.try_extend(10_000..11_400_u64).expect("room");
    let Err(MergeError::Insert { merged, .. }) = here.merge(&there) else {
        panic!("2800 items in the room of 1500");
    };
    assert_eq!(here.len(), 1_400 + merged);
    assert!((0..1_400_u64).all(|item| here.contains(&item)));
}

//! An error names its reason, and prints it once.

use guira::{BuildError, CuckooFilter, ExpiringFilter, InsertError, MergeError, SnapshotError};
use std::{
    error::Error,
    io::{self, Read},
    time::Duration,
};

/// The texts of an error and of its causes.
fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    let errors = std::iter::successors(Some(error), |&error| error.source());
    errors.map(ToString::to_string).collect()
}

/// A reader that always fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the cable is cut"))
    }
}

fn full() -> CuckooFilter {
    let filter = CuckooFilter::builder().capacity(100).seed(1).build();
    let filter = filter.expect("a filter");
    filter.try_extend(0..1_000_u32).expect_err("too many items");
    filter
}

#[test]
fn a_chain_of_errors_repeats_no_text() {
    let filter = full();
    let other = CuckooFilter::builder()
        .capacity(100)
        .seed(1)
        .build()
        .unwrap();
    other.try_extend(1_000..1_090_u32).expect("room");
    let errors: [(Box<dyn Error>, usize); 4] = [
        (filter.insert_batch(&[5_000_u64; 20]).unwrap_err().into(), 2),
        (filter.merge(&other).unwrap_err().into(), 2),
        (CuckooFilter::read_from(Broken).unwrap_err().into(), 2),
        (
            CuckooFilter::from_bytes(b"no snapshot, for sure")
                .unwrap_err()
                .into(),
            1,
        ),
    ];
    for (error, length) in errors {
        let texts = chain(&*error);
        assert_eq!(texts.len(), length, "{texts:?}");
        for (place, text) in texts.iter().enumerate() {
            let repeated = texts[..place].iter().any(|before| before.contains(text));
            assert!(!repeated, "{texts:?}");
        }
    }
}

#[test]
fn an_insert_that_fails_says_why() {
    let filter = full();
    let refused = (2_000..).find_map(|item: u32| filter.insert(&item).err());
    assert_eq!(refused, Some(InsertError::Full));
    let copies = CuckooFilter::builder().capacity(100).seed(1).build();
    let copies = copies.expect("a filter");
    let refused = (0..100).find_map(|_| copies.insert("copy").err());
    assert_eq!(refused, Some(InsertError::TooManyCopies));
    assert_eq!(copies.insert("another"), Ok(()));
    assert!(!InsertError::TooManyCopies.is_transient());

    // In an expiring filter, copies of different ages count, too.
    let copies = ExpiringFilter::with_capacity(100, Duration::from_secs(60));
    let refused = (0..100).find_map(|_| {
        copies.advance();
        (0..3).find_map(|_| copies.insert("copy").err())
    });
    assert_eq!(refused, Some(InsertError::TooManyCopies));
    assert_eq!(copies.count("copy"), 2 * copies.bucket_slots());
}

#[test]
fn each_refused_insert_is_counted() {
    let filter = full();
    let failed = || filter.stats().failed_inserts;
    let before = failed();
    let refused = (2_000..).find_map(|item: u32| filter.insert_unique(&item).err());
    assert_eq!((refused, failed()), (Some(InsertError::Full), before + 1));
    let refused = (3_000..).find_map(|item: u32| filter.insert(&item).err());
    assert_eq!((refused, failed()), (Some(InsertError::Full), before + 2));
}

#[test]
fn capacity_zero_is_refused() {
    let refused = CuckooFilter::builder().capacity(0).build().err();
    assert_eq!(refused, Some(BuildError::ZeroCapacity));
    let expiring = ExpiringFilter::builder(Duration::from_secs(60)).capacity(0);
    assert_eq!(expiring.build().err(), Some(BuildError::ZeroCapacity));
}

#[test]
fn errors_can_be_told_apart_by_type() {
    let broken = CuckooFilter::read_from(Broken).unwrap_err();
    assert!(matches!(broken, SnapshotError::Io(_)));
    let filter = full();
    assert_eq!(filter.merge(&filter), Err(MergeError::SameFilter));
}

//! The public types are `Send` and `Sync`, have `Debug` output, and serve as errors.

use guira::{
    BatchError, BuildError, Builder, CuckooFilter, InsertError, SeededHasher, SeededState,
    SnapshotError, Stats,
};
use std::{
    collections::hash_map::RandomState,
    error::Error,
    fmt::Debug,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::{Arc, LazyLock},
    thread,
};

fn shared<T: Send + Sync + Debug + 'static>() {}

#[test]
fn all_types_can_be_shared_and_shown() {
    shared::<CuckooFilter>();
    shared::<CuckooFilter<RandomState>>();
    shared::<Builder>();
    shared::<SeededState>();
    shared::<SeededHasher>();
    shared::<Stats>();
    shared::<InsertError>();
    shared::<BatchError>();
    shared::<BuildError>();
    shared::<SnapshotError>();
}

#[test]
fn a_filter_outlives_a_panic() {
    fn unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
    unwind_safe::<CuckooFilter>();
}

#[test]
fn an_arc_and_a_static_will_do() {
    static SEEN: LazyLock<CuckooFilter> = LazyLock::new(|| CuckooFilter::with_capacity(100));

    let filter = Arc::new(CuckooFilter::with_capacity(100));
    let threads: Vec<_> = (0..4_u32)
        .map(|thread| {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                filter.insert(&thread).unwrap();
                SEEN.insert(&thread).unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!((0..4_u32).all(|thread| filter.contains(&thread) && SEEN.contains(&thread)));
    assert_eq!((filter.len(), SEEN.len()), (4, 4));
}

#[test]
fn debug_says_what_matters_and_no_items() {
    let filter = CuckooFilter::builder()
        .capacity(4)
        .fingerprint_bits(15)
        .seed(1)
        .build()
        .unwrap();
    filter.insert("koel").unwrap();
    let text = format!("{filter:?}");
    assert!(
        text.starts_with("CuckooFilter { len: 1, capacity: 4, fingerprint_bits: 15, buckets: "),
        "{text}"
    );
    assert!(text.len() < 200, "{text}");
}

#[test]
fn errors_are_errors_with_a_text() {
    let full: Box<dyn Error + Send + Sync> = InsertError::Full.into();
    assert_eq!(full.to_string(), "the filter is full");
    assert!(full.source().is_none());
    assert_eq!(
        InsertError::TooManyInFlight.to_string(),
        "all 512 tokens of insert_unique are in use"
    );

    let filter = CuckooFilter::builder()
        .capacity(1)
        .fingerprint_bits(30)
        .seed(1)
        .build()
        .unwrap();
    let error: BatchError = filter.insert_batch(&[7_u64; 20]).unwrap_err();
    assert_eq!(error.index, filter.len());
    assert_eq!(error.error, InsertError::TooManyCopies);
    assert_eq!(
        error.to_string(),
        format!("item {} of the batch was not inserted", filter.len())
    );
    assert_eq!(
        error.source().expect("the cause").to_string(),
        "the filter is full of copies of this item"
    );

    let error = CuckooFilter::builder()
        .false_positive_rate(2.0)
        .build()
        .unwrap_err();
    assert!(error.source().is_none());
    assert!(
        error
            .to_string()
            .starts_with("false-positive rate 2 is not in the range"),
        "{error}"
    );
}

#[test]
#[should_panic(expected = "a result for each item")]
fn contains_batch_wants_a_result_for_each_item() {
    CuckooFilter::with_capacity(10).contains_batch(&[1_u64, 2], &mut [false]);
}

#[test]
#[should_panic(expected = "a result for each item")]
fn remove_batch_wants_a_result_for_each_item() {
    CuckooFilter::with_capacity(10).remove_batch(&[1_u64], &mut [false; 2]);
}

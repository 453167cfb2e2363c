//! Filters with a custom hasher. Reading a snapshot requires the same hasher, and another one is
//! refused.

use guira::{CuckooFilter, SeededState, SnapshotError};
use std::hash::{BuildHasher, Hasher};

/// The default hasher under another type. It is wrong in one of the methods that feed it.
#[derive(Clone, Debug)]
struct Own {
    state: SeededState,
    odd: Option<Method>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Bytes,
    Byte,
    Number,
}

struct OwnHasher<H> {
    inner: H,
    odd: Option<Method>,
}

impl BuildHasher for Own {
    type Hasher = OwnHasher<<SeededState as BuildHasher>::Hasher>;

    fn build_hasher(&self) -> Self::Hasher {
        OwnHasher {
            inner: self.state.build_hasher(),
            odd: self.odd,
        }
    }
}

impl<H> OwnHasher<H> {
    fn is(&self, method: Method) -> bool {
        self.odd == Some(method)
    }
}

impl<H: Hasher> Hasher for OwnHasher<H> {
    fn write(&mut self, bytes: &[u8]) {
        match bytes.split_last() {
            Some((_, bytes)) if self.is(Method::Bytes) => self.inner.write(bytes),
            _ => self.inner.write(bytes),
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.inner.write_u8(value ^ u8::from(self.is(Method::Byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.inner
            .write_u64(value ^ u64::from(self.is(Method::Number)));
    }

    fn finish(&self) -> u64 {
        self.inner.finish()
    }
}

fn own(odd: Option<Method>) -> Own {
    Own {
        state: SeededState::new(7),
        odd,
    }
}

fn filter() -> CuckooFilter<Own> {
    let filter = CuckooFilter::builder()
        .capacity(1_000)
        .hasher(own(None))
        .build()
        .expect("a filter");
    for item in 0..1_000_u64 {
        filter.insert(&item).expect("1 000 items fit");
    }
    filter
}

#[test]
fn a_snapshot_is_read_with_the_hasher_that_it_was_made_with() {
    let filter = filter();
    let bytes = filter.to_bytes();
    let restored = CuckooFilter::restore()
        .hasher(own(None))
        .read_from(&bytes[..])
        .expect("a snapshot");
    assert!((0..1_000_u64).all(|item| restored.contains(&item)));
    assert_eq!(restored.to_bytes(), bytes);
    assert_eq!(filter.clone().to_bytes(), bytes);
}

#[test]
fn another_hasher_is_refused() {
    let bytes = filter().to_bytes();
    for odd in [Method::Bytes, Method::Byte, Method::Number] {
        let error = CuckooFilter::restore()
            .hasher(own(Some(odd)))
            .read_from(&bytes[..]);
        let error = error.expect_err("another hasher");
        assert!(
            matches!(error, SnapshotError::Hasher { found, expected } if found != expected),
            "{odd:?}: {error}"
        );
    }
    let state = std::hash::RandomState::new();
    let error = CuckooFilter::restore().hasher(state).read_from(&bytes[..]);
    assert!(matches!(error, Err(SnapshotError::Hasher { .. })));
}

#[test]
fn the_default_hasher_is_refused_and_the_error_says_what_to_do() {
    let error = CuckooFilter::from_bytes(&filter().to_bytes()).expect_err("another hasher");
    assert!(matches!(error, SnapshotError::Hasher { .. }));
    let message = error.to_string();
    assert!(message.contains("was made with another hasher"));
    assert!(message.contains("`restore().hasher(...)`"));
}

/// Its results are the same, but filters hash them again.
#[test]
fn a_hasher_with_the_results_of_the_default_one_is_another_one() {
    let filter = CuckooFilter::builder().seed(7).build().expect("a filter");
    let read = CuckooFilter::restore()
        .hasher(own(None))
        .read_from(&filter.to_bytes()[..]);
    assert!(matches!(read, Err(SnapshotError::Hasher { .. })));
}

/// The default hasher with the same seed is the same hasher, however it is constructed.
#[test]
fn the_default_hasher_can_be_given_as_well() {
    let filter = CuckooFilter::builder().seed(9).build().expect("a filter");
    filter.insert("smooth-billed ani").expect("room");
    let bytes = filter.to_bytes();
    let read = |seed| {
        CuckooFilter::restore()
            .hasher(SeededState::new(seed))
            .read_from(&bytes[..])
    };
    assert!(
        read(9)
            .expect("the same hasher")
            .contains("smooth-billed ani")
    );
    assert!(matches!(read(8), Err(SnapshotError::Hasher { .. })));
}

//! Reading a snapshot takes at most twice its size in memory. If the allocator refuses memory, the
//! result is a typed error.

use crate::limited::{allow, allow_all};
use guira::{CuckooFilter, SnapshotError};

/// Reads a snapshot with at most `limit` bytes more than are in use now.
fn read_within(limit: usize, bytes: &[u8]) -> Result<CuckooFilter, SnapshotError> {
    allow(limit);
    let read = CuckooFilter::from_bytes(bytes);
    allow_all();
    read
}

pub(crate) fn run() {
    // Makes the allocations that happen once per thread.
    CuckooFilter::from_bytes(&CuckooFilter::with_capacity(1).to_bytes()).unwrap();
    let builder = CuckooFilter::builder().seed(1);
    let fixed = builder.clone().capacity(1_000_000).build().unwrap();
    let growable = builder.capacity(10_000).max_capacity(800_000);
    let (not_grown, grown) = (growable.clone().build().unwrap(), growable.build().unwrap());
    for (filter, items) in [(fixed, 1_000_000), (not_grown, 10_000), (grown, 700_000)] {
        for item in 0..items {
            filter.insert(&item).unwrap();
        }
        let bytes = filter.to_bytes();
        let place = format!("{} bytes, level {}", bytes.len(), filter.stats().doublings);
        let read = read_within(2 * bytes.len() + (64 << 10), &bytes);
        let read = read.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(read.len(), items, "{place}");
        assert!((0..items).all(|item| read.contains(&item)), "{place}");
        drop(read);
        // The memory ends at different points of the call.
        for limit in (1..20).map(|twentieth| bytes.len() * twentieth / 20) {
            match read_within(limit, &bytes) {
                Err(SnapshotError::Memory { buckets }) => assert_eq!(buckets, filter.buckets()),
                other => panic!(
                    "{place}, {limit} bytes allowed: {:?}",
                    other.map(|f| f.len())
                ),
            }
        }
    }
    println!("test a_snapshot_is_read_within_twice_its_bytes ... ok");
}

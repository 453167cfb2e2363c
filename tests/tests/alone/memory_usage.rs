//! `memory_usage` is the number of bytes that the allocator handed out for a filter, at every size.

use crate::limited::allocated;
use guira::CuckooFilter;

pub(crate) fn run() {
    // Makes the allocations that happen once per thread.
    CuckooFilter::with_capacity(1).insert(&0).unwrap();
    for (capacity, max_capacity, rate) in [
        (1, None, 0.01),
        (1_000, None, 0.02),
        (100_000, None, 0.000_001),
        (1_000, Some(1_000), 0.02),
        (1, Some(100_000), 0.001),
        (1_000, Some(60_000), 0.03),
        (300, Some(10_000), 0.000_1),
    ] {
        let place = format!("{capacity} to {max_capacity:?} at {rate}");
        let before = allocated();
        let builder = CuckooFilter::builder()
            .capacity(capacity)
            .false_positive_rate(rate)
            .seed(1);
        let builder = match max_capacity {
            Some(items) => builder.max_capacity(items),
            None => builder,
        };
        let filter = builder.build().unwrap();
        let max_capacity = filter.max_capacity();
        let check = |items: usize| {
            let heap = allocated() - before;
            let said = filter.memory_usage();
            assert_eq!(
                said,
                size_of_val(&filter) + heap,
                "{place}, with {items} items"
            );
            assert_eq!(said, filter.stats().memory_usage);
        };
        check(0);
        let mut level = 0;
        for item in 0..max_capacity {
            filter.insert(&item).unwrap();
            if filter.stats().doublings != level || item % 1_000 == 0 {
                check(item + 1);
                level = filter.stats().doublings;
            }
        }
        check(max_capacity);
        assert_eq!(level > 0, max_capacity > capacity, "{place}: it grew");
        drop(filter);
        assert_eq!(allocated(), before, "{place}: all memory was freed");
    }
    println!("test memory_usage_is_what_was_allocated ... ok");
}

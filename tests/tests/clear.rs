//! A clear removes everything that was inserted before it, while other threads use the filter.

use crate::common::{filters::BITS, stop::Stop};
use guira::CuckooFilter;
use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

const ITEMS: u64 = 2_000;

/// Fixed filters with each of these fingerprint sizes, and filters that grow.
fn filters() -> impl Iterator<Item = CuckooFilter> {
    let fixed = BITS.into_iter().map(|bits| {
        let builder = CuckooFilter::builder().fingerprint_bits(bits).seed(1);
        builder.capacity(2 * ITEMS as usize)
    });
    let growing = CuckooFilter::builder().capacity(100).seed(1);
    let growing = growing.max_capacity(4 * ITEMS as usize);
    let all = fixed.chain([growing]);
    all.map(|builder| builder.build().expect("a filter"))
}

/// The items of one thread. The upper bits are the number of the thread.
fn item(thread: u64, number: u64) -> u64 {
    thread << 32 | number
}

#[test]
fn nothing_stays_of_what_was_there_before() {
    for filter in filters() {
        let stop = AtomicBool::new(false);
        let kept = AtomicU64::new(0);
        thread::scope(|scope| {
            for number in 1..4 {
                let (filter, stop, kept) = (&filter, &stop, &kept);
                // Inserts and removes its own items, so that others are relocated. A clear may
                // remove them first.
                scope.spawn(move || {
                    let mut next = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let mine = item(number, next % 300);
                        if filter.insert(&mine).is_ok() {
                            kept.fetch_add(filter.remove(&mine).into(), Ordering::Relaxed);
                        }
                        next += 1;
                    }
                });
            }
            let stopping = Stop(&stop);
            let mut rounds = 0;
            while rounds < 20 || kept.load(Ordering::Relaxed) == 0 {
                rounds += 1;
                // The clear removes all items of this thread, and some items of the others.
                for number in 0..ITEMS {
                    filter.insert(&item(9, number)).expect("room");
                }
                filter.clear();
                let left = (0..ITEMS).filter(|&number| filter.contains(&item(9, number)));
                // An item of another thread may be mistaken for one of them.
                let left = left.count();
                assert!(left <= 20, "{left} of {ITEMS} items are left");
            }
            drop(stopping);
        });
        filter.clear();
        assert_eq!(filter.len(), 0, "len and the words agree");
        assert_eq!(filter.digest(), {
            let header = filter.header();
            CuckooFilter::from_header(&header, usize::MAX)
                .expect("its own header")
                .digest()
        });
    }
}

#[test]
fn two_of_them_remove_each_copy_once() {
    for filter in filters() {
        for _ in 0..20 {
            for item in 0..ITEMS {
                filter.insert(&item).expect("room");
            }
            let start = Barrier::new(2);
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        start.wait();
                        filter.clear();
                    });
                }
            });
            assert_eq!(filter.len(), 0);
        }
    }
}

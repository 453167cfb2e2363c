//! Time passes in a filter without a tick: each write lets it pass.

use guira::ExpiringFilter;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

fn filter(ttl: Duration) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(ttl).epochs(4).capacity(10_000);
    builder.fingerprint_bits(26).build().expect("a filter")
}

/// Makes a write of this kind until `ani` has expired.
fn expires(write: impl Fn(&ExpiringFilter)) {
    let filter = filter(Duration::from_millis(20));
    filter.insert("ani").expect("room");
    while filter.contains("ani") {
        write(&filter);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_kind_of_write_lets_time_pass() {
    let room = "there is room";
    let other = &["koel"];
    expires(|filter| _ = filter.remove("koel"));
    expires(|filter| {
        filter.insert("koel").expect(room);
        assert!(filter.remove("koel"));
    });
    expires(|filter| _ = filter.insert_unique("koel").expect(room));
    expires(|filter| _ = filter.refresh("koel").expect(room));
    expires(|filter| _ = filter.insert_or_refresh("koel").expect(room));
    expires(|filter| filter.remove_batch(other, &mut [false]));
    expires(|filter| {
        filter.insert_batch(other).expect(room);
        assert!(filter.remove("koel"));
    });
    expires(|filter| {
        let inserted = &mut [false];
        filter.insert_unique_batch(other, inserted).expect(room);
    });
    expires(|filter| filter.refresh_batch(other, &mut [false]).expect(room));
    expires(|filter| {
        let inserted = &mut [false];
        filter.insert_or_refresh_batch(other, inserted).expect(room);
    });
    expires(|filter| {
        filter.try_extend(other).expect(room);
        assert!(filter.remove("koel"));
    });
}

#[test]
fn a_clone_and_a_restored_filter_let_time_pass_too() {
    let first = filter(Duration::from_millis(20));
    first.insert("ani").expect("room");
    let restored = ExpiringFilter::from_bytes(&first.to_bytes()).expect("its snapshot");
    for filter in [first.clone(), restored] {
        while filter.contains("ani") {
            filter.remove("koel");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A filter whose caller decides what time it is waits for the caller.
#[test]
fn a_filter_that_is_ticked_by_hand_waits() {
    let by_hand: [fn(&ExpiringFilter); 4] = [
        |filter| filter.tick_by_hand(),
        |filter| _ = filter.tick_at(|| Duration::ZERO),
        |filter| _ = filter.begin_due_epoch_at(|| Duration::ZERO),
        |filter| _ = filter.begin_epoch(),
    ];
    for tick in by_hand {
        let filter = filter(Duration::from_millis(4));
        tick(&filter);
        filter.insert("ani").expect("room");
        let epoch = filter.epoch();
        thread::sleep(Duration::from_millis(30));
        filter.insert("koel").expect("room");
        assert!(filter.contains("ani"));
        assert_eq!(filter.epoch(), epoch);
    }
}

/// Threads insert and look up, and none ticks. No item is gone before its TTL.
#[test]
fn nothing_expires_early_beside_writes() {
    let ttl = Duration::from_millis(40);
    for threads in [1, 2, 8] {
        let (filter, ends) = (&filter(ttl), &AtomicBool::new(false));
        thread::scope(|scope| {
            let insert = |thread: u64| {
                let mut items = Vec::new();
                for round in 0_u64.. {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let item = thread << 32 | round;
                    let seen = Instant::now();
                    if filter.insert(&item).is_err() {
                        continue;
                    }
                    items.push((item, seen));
                    let (item, seen) = items[round as usize * 7 % items.len()];
                    let found = filter.contains(&item);
                    assert!(found || seen.elapsed() >= ttl, "{item} is gone early");
                    if round % 64 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
            };
            for thread in 0..threads {
                scope.spawn(move || insert(thread));
            }
            // Several TTLs by the filter's own count.
            while filter.epoch() < 20 {
                thread::sleep(Duration::from_millis(1));
            }
            ends.store(true, Ordering::Relaxed);
        });
    }
}

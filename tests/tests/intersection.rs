//! What both filters have stays during an intersection, while other threads write. `combined` has the
//! laws of filters at rest.

use crate::combined::{Kind, empty};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// Items that are in both filters are never absent, while others come and go in both, and several threads
/// intersect.
#[test]
fn beside_writers_what_both_filters_have_stays() {
    const KEYS: u64 = 4_000;
    for kind in [
        Kind::Plain(15),
        Kind::SemiSorted(1e-3),
        Kind::Plain(18),
        Kind::Counting(16, 4),
    ] {
        // Nearly full, so that inserts relocate.
        let [filter, other] = [(); 2].map(|()| empty(kind, 3 * KEYS as usize));
        for key in 0..KEYS {
            filter.insert_unique(&key).expect("room");
            other.insert_unique(&key).expect("room");
            // A second copy, which is one too many.
            filter.insert(&key).expect("room");
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = [0, 1]
                .map(|number: u64| {
                    let (filter, other) = (&filter, &other);
                    scope.spawn(move || {
                        for round in 0..20 {
                            for key in 0..KEYS / 8 {
                                let passing = KEYS * (1 + number) + key + round;
                                // Of a class that is too full the filters get no copy.
                                let _ = other
                                    .insert(&passing)
                                    .is_ok_and(|()| other.remove(&passing));
                                let _ = filter.insert(&passing);
                            }
                        }
                    })
                })
                .into();
            for _ in 0..2 {
                let (filter, other, done) = (&filter, &other, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        filter.intersect_with(other).expect("compatible filters");
                    }
                });
            }
            let (filter, done) = (&filter, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for key in 0..KEYS {
                        assert!(filter.contains(&key), "{kind:?}: {key}");
                    }
                }
            });
            for writer in writers {
                writer.join().expect("no panic");
            }
            done.store(true, Ordering::Relaxed);
        });
        filter.intersect_with(&other).expect("compatible filters");
        for key in 0..KEYS {
            let copies = filter.count(&key);
            assert!((1..=other.count(&key)).contains(&copies), "{kind:?}: {key}");
        }
        assert!(filter.len() <= other.len(), "{kind:?}: {}", filter.len());
    }
}

//! Keys that other threads change during a listing, and the charge for growth.

use super::*;
use guira_commands::Options;
use std::collections::BTreeSet;
use std::{
    sync::{Barrier, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

fn unlimited(options: Options) -> Entry {
    let growth = Growth::furthest(&options, usize::MAX).unwrap();
    Filter::build(options, growth).unwrap().into()
}

/// A save of many filters takes long. It must not keep filters alive that are deleted in this time.
#[test]
fn entries_are_looked_up_when_their_turn_comes() {
    let keyspace = Keyspace::new(usize::MAX);
    for key in [b"a", b"b"] {
        keyspace.reserve(key, &Options::default().into()).unwrap();
    }
    let mut entries = keyspace.entries();
    assert!(entries.next().is_some_and(|(key, _)| *key == *b"a"));
    keyspace.delete(b"b");
    assert!(entries.next().is_none());
}

/// A late thread would charge for the growth a second time, for a moment.
#[test]
fn one_of_all_is_told_that_a_filter_has_grown() {
    let filter = unlimited(Options::default());
    let told = AtomicUsize::new(0);
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 1..=2_000 {
                    if barrier.wait().is_leader() {
                        filter.charged_buckets.store(0, Ordering::Relaxed);
                    }
                    barrier.wait();
                    told.fetch_add(filter.has_grown().into(), Ordering::Relaxed);
                    barrier.wait();
                    assert_eq!(told.load(Ordering::Relaxed), round);
                }
            });
        }
    });
}

/// A save with a duplicate key could not be loaded.
#[test]
fn no_key_is_there_twice() {
    let keyspace = Keyspace::new(usize::MAX);
    let options = Options {
        capacity: 4,
        expansion: 0,
        ..Options::default()
    };
    let keys: Vec<String> = (0..20).map(|key| format!("key {key}")).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // `stop` may already be set when the thread starts.
            loop {
                for key in &keys {
                    keyspace.delete(key.as_bytes());
                    keyspace
                        .reserve(key.as_bytes(), &options.into())
                        .expect("a small filter");
                }
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            let entries: Vec<_> = keyspace.entries().collect();
            let distinct: BTreeSet<_> = entries.iter().map(|(key, _)| key).collect();
            assert_eq!(entries.len(), distinct.len());
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(keyspace.entries().count(), keys.len());
    for key in &keys {
        assert!(keyspace.delete(key.as_bytes()));
    }
    assert_eq!((keyspace.used(), keyspace.len()), (0, 0));
}

/// Freeing a large filter takes long. The last reference may be that of a thread that serves clients.
#[test]
fn large_filters_are_freed_by_the_reaper_only() {
    let large = Options {
        capacity: 2_000_000,
        expansion: 0,
        ..Options::default()
    };
    let keyspace = Keyspace::new(usize::MAX);
    let make = |key: &[u8]| {
        let entry = keyspace.reserve(key, &large.into()).unwrap();
        assert!(entry.memory_usage() >= LARGE);
        entry
    };
    type Ending<'a> = &'a dyn Fn(&[u8]);
    let endings: [Ending<'_>; 6] = [
        &|key| assert!(keyspace.delete(key)),
        &|_| keyspace.clear(),
        &|key| {
            keyspace
                .reserve(b"other", &Options::default().into())
                .unwrap();
            assert!(keyspace.rename(b"other", key, true).unwrap());
        },
        &|key| {
            keyspace
                .reserve(b"other", &Options::default().into())
                .unwrap();
            assert!(keyspace.copy(b"other", key, true).unwrap());
        },
        &|key| {
            let passed = |_| Deadline::Set(1);
            assert_eq!(keyspace.change_deadline(key, passed), Some(true));
        },
        &|key| {
            let growth = Growth::furthest(&Options::default(), usize::MAX).unwrap();
            let small = Filter::build(Options::default(), growth).unwrap();
            keyspace.replace(vec![(key.into(), small, None)]);
        },
    ];
    for (index, end) in endings.iter().enumerate() {
        let entry = make(b"k");
        end(b"k");
        let weak = Arc::downgrade(&entry);
        assert_eq!(keyspace.gone(), 1, "{index}");
        keyspace.reap();
        assert_eq!(keyspace.gone(), 1, "{index}: it is still in use");
        // As if this thread were the last one to serve a client with it.
        drop(entry);
        assert!(
            weak.upgrade().is_some(),
            "{index}: this thread has freed it"
        );
        // The map may keep it for a moment, too.
        for _ in 0..1_000 {
            if !keyspace.has_gone() {
                break;
            }
            keyspace.reap();
            keyspace.map.guard().flush();
            thread::yield_now();
        }
        assert_eq!((keyspace.gone(), weak.strong_count()), (0, 0), "{index}");
        keyspace.clear();
    }
    // Small filters are freed at once.
    keyspace.reserve(b"k", &Options::default().into()).unwrap();
    keyspace.delete(b"k");
    assert!(!keyspace.has_gone());
}

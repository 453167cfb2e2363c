//! Processes that only read an expiring filter, and what they find while writers let time pass, or do not.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened, and processes forked")]
#![allow(dead_code)]

mod common;

use common::{
    BOOT, HOUR, TIME, builder, create, create_expiring, directory, expiring_reader,
    in_child_of_a_user, open_expiring, path,
    readers::{check_mapping, is_denied, kill_watcher, watch},
    role, set_word,
};
use guira::{ExpiringBuilder, Hashed};
use guira_shm::{OpenError, SharedExpiringFilter, SharedExpiringReader};
use std::{
    fs,
    hash::RandomState,
    os::{fd::AsFd, unix::fs::PermissionsExt},
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// One item seldom looks like another.
fn expiring(capacity: usize, ttl: Duration) -> ExpiringBuilder {
    common::expiring(capacity, ttl).fingerprint_bits(26)
}

fn error(path: &Path) -> OpenError {
    // SAFETY: no other program knows the directory of this test.
    unsafe { SharedExpiringReader::open(path) }.unwrap_err()
}

#[test]
fn a_reader_answers_as_the_filter_does_in_each_layout_and_epoch() {
    let directory = directory();
    for (number, bits) in [9, 11, 16, 26].into_iter().enumerate() {
        let file = directory.path().join(number.to_string());
        let filter = create_expiring(&file, expiring(1_000, HOUR).fingerprint_bits(bits));
        let reader = expiring_reader(&file);
        assert!(reader.is_empty());
        assert_eq!(reader.capacity(), filter.capacity());
        assert_eq!(reader.max_capacity(), filter.max_capacity());
        assert_eq!((reader.ttl(), reader.epochs()), (HOUR, 2));
        assert_eq!(reader.epoch_length(), HOUR / 2);
        let items: Vec<u32> = (0..2_000).collect();
        for epoch in 0..5_u32 {
            for item in 200 * epoch..200 * epoch + 200 {
                filter.insert(&item).unwrap();
                assert!(reader.contains(&item));
            }
            assert_eq!(reader.epoch(), u64::from(epoch));
            assert_eq!(reader.is_swept(), filter.is_swept());
            let (mut by_filter, mut by_reader) = (vec![false; 2_000], vec![false; 2_000]);
            let mut by_hash = vec![false; 2_000];
            filter.contains_batch(&items, &mut by_filter);
            reader.contains_batch(&items, &mut by_reader);
            let hashes: Vec<Hashed> = items.iter().map(|it| reader.hash_of(it)).collect();
            reader.contains_batch(&hashes, &mut by_hash);
            assert!(by_filter == by_reader && by_filter == by_hash);
            for (item, hash) in items.iter().zip(hashes) {
                assert_eq!(reader.contains(&hash), by_filter[*item as usize]);
                assert_eq!(reader.count(item), filter.count(item));
                assert_eq!(reader.count(&hash), filter.count(&hash));
            }
            assert_eq!(reader.len(), filter.len());
            assert_eq!(reader.stats().items, filter.stats().items);
            assert!(filter.advance().unwrap());
        }
        assert_eq!(reader.participants(), filter.participants());
        assert_eq!(reader.participants().in_use, 1, "a reader has no seat");
    }
}

#[test]
fn a_reader_cannot_write_its_mapping() {
    let directory = directory();
    let file = directory.path().join("filter");
    drop(create_expiring(&file, expiring(100, HOUR)));
    let reader = expiring_reader(&file);
    check_mapping(&file);
    assert!(!reader.contains("ani") && reader.epoch_age().is_some());
}

/// Without a writer no epoch begins, so an item is found for longer than its TTL. It expires when a writer
/// has begun the epochs, and the reader sees how late they are.
#[test]
fn nothing_expires_for_a_reader_until_a_writer_ticks() {
    let directory = directory();
    let file = directory.path().join("filter");
    let ttl = Duration::from_millis(20);
    let filter = create_expiring(&file, expiring(100, ttl));
    filter.insert("ani").unwrap();
    drop(filter);
    let reader = expiring_reader(&file);
    let since = Instant::now();
    while since.elapsed() < 4 * ttl {
        assert!(reader.contains("ani") && reader.epoch() == 0);
        thread::sleep(ttl / 8);
    }
    assert!(reader.epoch_age().unwrap() >= 4 * ttl);
    let writer = open_expiring(&file);
    for epoch in 1..=2 {
        assert!(reader.contains("ani"));
        let since = Instant::now();
        while !writer.tick().unwrap() {
            thread::yield_now();
        }
        assert_eq!(reader.epoch(), epoch);
        assert!(reader.epoch_age().unwrap() <= since.elapsed());
    }
    assert!(reader.contains("ani"));
    while !writer.tick().unwrap() {
        thread::yield_now();
    }
    assert!(!reader.contains("ani") && reader.is_empty());
}

/// An item that came when an epoch was late lives for its TTL from then on. So lookups must not go by the
/// clock.
#[test]
fn an_item_of_a_late_epoch_is_found_for_its_ttl() {
    let directory = directory();
    let file = directory.path().join("filter");
    let ttl = Duration::from_millis(40);
    let filter = create_expiring(&file, expiring(100, ttl));
    let reader = expiring_reader(&file);
    thread::sleep(3 * ttl);
    filter.insert("ani").unwrap();
    let since = Instant::now();
    while reader.contains("ani") {
        filter.tick().unwrap();
    }
    assert!(since.elapsed() >= ttl);
}

/// Items that are refreshed in each epoch are always found, and the others never again once they are gone.
#[test]
fn a_reader_misses_no_live_item_and_no_expired_one_comes_back() {
    const LIVE: u64 = 100;
    let directory = directory();
    let file = directory.path().join("filter");
    // So full that most inserts relocate.
    let filter = create_expiring(&file, expiring(400, HOUR));
    for item in 0..LIVE {
        filter.insert(&item).unwrap();
    }
    let reader = expiring_reader(&file);
    let (is_over, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let lookups = scope.spawn(|| {
            let mut rounds = 0;
            while !is_over.load(Ordering::Relaxed) {
                assert!((0..LIVE).all(|item| reader.contains(&item)));
                // Those of an epoch that has been over for more than two others.
                let epoch = begun.load(Ordering::Acquire);
                if let Some(old) = epoch.checked_sub(3) {
                    let first = LIVE + 200 * old;
                    let found = (first..first + 200).filter(|item| reader.contains(item));
                    // One may look like another that is there.
                    assert!(found.count() < 2, "epoch {old} in {epoch}");
                }
                rounds += 1;
            }
            rounds
        });
        for epoch in 0..300_u64 {
            let first = LIVE + 200 * epoch;
            for item in first..first + 200 {
                // The filter may be full.
                let _ = filter.insert(&item);
                let _ = filter.remove(&item) && filter.insert(&item).is_ok();
            }
            for item in 0..LIVE {
                assert_eq!(filter.refresh(&item), Ok(true));
            }
            assert!(filter.advance().unwrap());
            begun.store(epoch + 1, Ordering::Release);
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(lookups.join().unwrap() > 0);
    });
    assert!(filter.stats().relocations > 1_000);
}

#[test]
fn who_may_only_read_the_file_can_open_a_reader_and_nothing_else() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create_expiring(&file, expiring(100, HOUR));
    filter.insert("ani").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(in_child_of_a_user(|| {
        let reader = expiring_reader(&file);
        // SAFETY: no other program knows the directory of this test.
        let opened = unsafe { SharedExpiringFilter::open(&file) };
        reader.contains("ani")
            && reader.epoch_age().is_some()
            && opened.is_err_and(|error| is_denied(&error))
    }));
}

#[test]
fn what_is_no_expiring_filter_is_refused() {
    let directory = directory();
    let file = directory.path().join("filter");
    assert!(matches!(error(&file), OpenError::Io(_)));
    fs::write(&file, [7; 8192]).unwrap();
    assert!(matches!(error(&file), OpenError::NotAFilter));
    fs::remove_file(&file).unwrap();
    drop(create(&file, builder(100)));
    assert!(matches!(error(&file), OpenError::DoesNotExpire));
    fs::remove_file(&file).unwrap();
    drop(create_expiring(&file, expiring(100, HOUR)));
    let mut bytes = fs::read(&file).unwrap();
    // The epoch.
    bytes[8 * TIME + 7] = 0xff;
    fs::write(&file, bytes).unwrap();
    assert!(matches!(error(&file), OpenError::Control { .. }));
}

#[test]
fn a_memfd_has_readers() {
    let hasher = RandomState::new();
    let builder = expiring(100, HOUR).hasher(hasher.clone());
    let filter = SharedExpiringFilter::create_memfd(builder).unwrap();
    filter.insert("ani").unwrap();
    let descriptor = || {
        filter
            .memfd()
            .unwrap()
            .as_fd()
            .try_clone_to_owned()
            .unwrap()
    };
    assert!(SharedExpiringReader::from_memfd(descriptor()).is_err());
    let reader = SharedExpiringReader::from_memfd_with_hasher(descriptor(), hasher).unwrap();
    assert!(reader.contains("ani"));
    for _ in 0..3 {
        assert!(filter.advance().unwrap());
    }
    assert!(!reader.contains("ani"));
    let unsealed = fs::File::from(
        nix::sys::memfd::memfd_create(c"unsealed", nix::sys::memfd::MFdFlags::empty()).unwrap(),
    );
    let error = SharedExpiringReader::from_memfd(unsealed.into()).unwrap_err();
    assert!(matches!(error, OpenError::NotSealed));
}

/// The first process that opens a filter after a restart of the machine is a reader. It has the clock that
/// writers will have, and writes nothing.
#[test]
fn a_reader_has_the_clock_of_writers_after_a_restart() {
    let directory = directory();
    let file = directory.path().join("filter");
    drop(create_expiring(&file, expiring(100, HOUR)));
    let mut bytes = fs::read(&file).unwrap();
    // Before the restart the machine ran for ten years, and the epoch began at the end.
    let years = 10 * 365 * 86_400 * 1_000_000_000_u64;
    set_word(&mut bytes, TIME + 8 * 3, 1 << 63 | years);
    set_word(&mut bytes, TIME + 8 * BOOT, 7);
    fs::write(&file, &bytes).unwrap();
    let reader = expiring_reader(&file);
    let before = reader.epoch_age().unwrap();
    assert!(fs::read(&file).unwrap() == bytes, "the file has changed");
    let writer = open_expiring(&file);
    assert!(fs::read(&file).unwrap() != bytes);
    let between = writer.epoch_age().unwrap();
    assert!(before <= between && between <= reader.epoch_age().unwrap());
    assert!(between < before + Duration::from_secs(60));
    // One that comes later has it, too.
    let late = expiring_reader(&file).epoch_age().unwrap();
    assert!(between <= late && late < between + Duration::from_secs(60));
}

/// A role: reads the filter until it is killed.
#[test]
fn watcher() {
    let Some(arguments) = role() else { return };
    let reader = expiring_reader(&path(&arguments[0]));
    watch(&arguments[1], || reader.contains("ani"));
}

#[test]
fn a_reader_that_is_killed_leaves_nothing() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create_expiring(&file, expiring(100, HOUR));
    filter.insert("ani").unwrap();
    kill_watcher(&file);
    assert_eq!(filter.repair().processes, 0);
    assert!(filter.advance().unwrap() && filter.is_swept());
}

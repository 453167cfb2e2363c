//! Processes that only read a filter.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened, and processes forked")]
#![allow(dead_code)]

mod common;

use common::{
    builder, create, directory, in_child_of_a_user, of_layout, path, reader,
    readers::{check_mapping, is_denied, kill_watcher, watch},
    role,
};
use guira_shm::{OpenError, SharedFilter, SharedReader};
use nix::unistd::Uid;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

#[test]
fn a_reader_answers_as_the_filter_does_in_each_layout() {
    let directory = directory();
    for (number, bits) in [10, 12, 15, 20, 30, 9, 11, 13].into_iter().enumerate() {
        let file = directory.path().join(number.to_string());
        let filter = create(&file, of_layout(1_000, bits));
        let reader = reader(&file);
        assert!(reader.is_empty() && reader.capacity() == filter.capacity());
        for item in 0..900_u32 {
            filter.insert(&item).unwrap();
            assert!(reader.contains(&item));
        }
        let items: Vec<u32> = (0..2_000).collect();
        let (mut by_filter, mut by_reader) = (vec![false; 2_000], vec![false; 2_000]);
        filter.contains_batch(&items, &mut by_filter);
        reader.contains_batch(&items, &mut by_reader);
        assert_eq!(by_filter, by_reader);
        for item in &items {
            let hash = reader.hash_of(item);
            assert_eq!(reader.contains(&hash), by_filter[*item as usize]);
            assert_eq!(reader.count(item), filter.count(item));
            assert_eq!(reader.count(&hash), filter.count(item));
        }
        assert_eq!(reader.len(), 900);
        assert_eq!(reader.stats().failed_inserts, 0);
        assert_eq!(reader.participants(), filter.participants());
        assert_eq!(reader.participants().in_use, 1, "a reader has no seat");
    }
}

#[test]
fn a_reader_cannot_write_its_mapping() {
    let directory = directory();
    let file = directory.path().join("filter");
    drop(create(&file, builder(100)));
    let reader = reader(&file);
    check_mapping(&file);
    assert!(!reader.contains("ani"));
}

#[test]
fn a_reader_never_misses_an_item_beside_writers() {
    let directory = directory();
    let file = directory.path().join("filter");
    // So full that most inserts relocate.
    let filter = create(&file, builder(500));
    for item in 0..400_u64 {
        filter.insert(&item).unwrap();
    }
    let reader = reader(&file);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let lookups = scope.spawn(|| {
            let mut rounds = 0;
            while !is_over.load(Ordering::Relaxed) {
                assert!((0..400_u64).all(|item| reader.contains(&item)));
                rounds += 1;
            }
            rounds
        });
        for item in 0..200_000_u64 {
            let item = 1_000 + item % 1_000;
            if filter.insert(&item).is_ok() && item % 8 != 0 {
                assert!(filter.remove(&item));
            } else {
                filter.remove(&(item - 8));
            }
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
    let filter = create(&file, builder(100));
    filter.insert("ani").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // SAFETY: no other program knows the directory of this test.
    let reader_error = || unsafe { SharedReader::open(&file) }.err();
    // SAFETY: as above.
    let filter_error = || unsafe { SharedFilter::open(&file) }.err();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(in_child_of_a_user(|| {
        let reader = reader(&file);
        reader.contains("ani")
            && reader.len() == 1
            && filter_error().as_ref().is_some_and(is_denied)
    }));
    // A new file is for its owner only.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    if Uid::effective().is_root() {
        assert!(in_child_of_a_user(|| reader_error()
            .as_ref()
            .is_some_and(is_denied)));
    }
}

#[test]
fn files_that_are_no_filters_are_refused() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let error = || unsafe { SharedReader::open(&file) }.expect_err("no filter");
    assert!(matches!(error(), OpenError::Io(_)));
    fs::write(&file, [7; 8192]).unwrap();
    assert!(matches!(error(), OpenError::NotAFilter));
    fs::remove_file(&file).unwrap();
    drop(create(&file, builder(100)));
    let good = fs::read(&file).unwrap();
    fs::write(&file, &good[..good.len() - 8]).unwrap();
    assert!(matches!(error(), OpenError::Length { .. }));
    let mut bytes = good.clone();
    bytes[30] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert!(matches!(error(), OpenError::Checksum { .. }));
    fs::write(&file, &good).unwrap();
    assert!(!reader(&file).contains("ani"));
}

/// A role: reads the filter until it is killed.
#[test]
fn watcher() {
    let Some(arguments) = role() else { return };
    let reader = reader(&path(&arguments[0]));
    watch(&arguments[1], || reader.contains("ani"));
}

#[test]
fn a_reader_that_is_killed_leaves_nothing() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(100));
    filter.insert("ani").unwrap();
    kill_watcher(&file);
    assert_eq!(filter.repair().processes, 0);
}

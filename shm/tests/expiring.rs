//! Expiring filters in shared memory: files, time, and what several processes see of it.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{
    BASE, BOOT, HOUR, TIME, builder, create, create_expiring, directory, expiring, in_child,
    open_expiring, path, role, set_word, start, text, word,
};
use guira::ExpiringFilter;
use guira_shm::{OpenError, SharedExpiringFilter, SharedFilter, SharedReader};
use std::{fs, path::Path, thread, time::Duration};

fn error(path: &Path) -> OpenError {
    // SAFETY: no other program knows the directory of this test.
    unsafe { SharedExpiringFilter::open(path) }.unwrap_err()
}

#[test]
fn processes_share_items_and_time() {
    let directory = directory();
    let file = directory.path().join("filter");
    let here = create_expiring(&file, expiring(1_000, HOUR));
    let there = open_expiring(&file);
    assert_eq!(here.insert_unique("ani"), Ok(true));
    assert_eq!(there.insert_unique("ani"), Ok(false));
    assert_eq!(there.insert_or_refresh("koel"), Ok(true));
    for epoch in 1..=2 {
        assert!(here.advance().unwrap());
        assert_eq!(there.epoch(), epoch);
        assert!(there.contains("ani") && there.contains("koel"));
        assert_eq!(there.refresh("koel"), Ok(true));
    }
    assert!(there.advance().unwrap() && there.is_swept() && here.is_swept());
    assert!(!here.contains("ani") && here.contains("koel"));
    assert_eq!(here.census().items, 1);
    assert!(here.remove("koel") && !there.remove("koel"));
    assert_eq!(here.census().items, 0);
    let participants = here.participants();
    assert_eq!((participants.in_use, participants.max), (2, 63));
}

/// A role: inserts items, begins the next epoch, and ends.
#[test]
fn process() {
    let Some(arguments) = role() else { return };
    let filter = open_expiring(&path(&arguments[0]));
    let epoch = filter.epoch();
    for item in 100 * epoch..100 * epoch + 100 {
        filter.insert(&item).unwrap();
    }
    assert!(filter.advance().unwrap());
}

#[test]
fn other_processes_insert_and_begin_epochs() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create_expiring(&file, expiring(1_000, HOUR));
    for epoch in 0..6_u64 {
        let status = start("process", &[text(&file)]).wait().unwrap();
        assert!(status.success());
        let now = epoch + 1;
        assert_eq!(filter.epoch(), now);
        for seen in 0..=epoch {
            let is_live = now - seen <= 2;
            let found = (100 * seen..100 * seen + 100).all(|item| filter.contains(&item));
            assert_eq!(found, is_live, "{seen} in {now}");
        }
        assert_eq!(filter.len() as u64, 100 * now.min(2));
    }
}

/// Whichever process ticks, an epoch has its length by the clock of all.
#[test]
fn each_epoch_has_its_length_whichever_process_ticks() {
    let directory = directory();
    let file = directory.path().join("filter");
    let length = Duration::from_millis(20);
    let here = create_expiring(&file, expiring(100, 2 * length));
    let there = open_expiring(&file);
    assert_eq!(here.epoch_length(), length);
    // Its beginning was noted when the file was created.
    assert!(here.epoch_age().is_some());
    for round in 0..10_u64 {
        let (ticks, looks) = if round % 2 == 0 {
            (&here, &there)
        } else {
            (&there, &here)
        };
        while !ticks.tick().unwrap() {
            thread::yield_now();
        }
        // It was due by the clock that both go by.
        let age = looks.epoch_age().expect("it is recorded");
        let since = std::time::Instant::now();
        while !looks.tick().unwrap() {
            thread::yield_now();
        }
        assert!(age + since.elapsed() >= length, "round {round}");
    }
    assert_eq!(here.epoch(), 20);
}

#[test]
fn a_child_uses_the_filter_of_its_parent() {
    let filter = SharedExpiringFilter::create_memfd(expiring(1_000, HOUR)).unwrap();
    filter.insert("ani").unwrap();
    assert!(in_child(|| {
        filter.contains("ani")
            && filter.refresh("ani") == Ok(true)
            && filter.insert_unique("koel") == Ok(true)
            && filter.advance().is_ok_and(|begun| begun)
    }));
    assert_eq!(filter.epoch(), 1);
    assert!(filter.contains("koel"));
    let descriptor = filter.memfd().unwrap().try_clone_to_owned().unwrap();
    let other = SharedExpiringFilter::from_memfd(descriptor).unwrap();
    assert!(other.contains("ani") && other.contains("koel"));
}

#[test]
fn calls_of_time_need_a_seat() {
    let filter = SharedExpiringFilter::create_memfd_for(expiring(100, HOUR), 1).unwrap();
    assert!(in_child(|| {
        filter.attach().is_err()
            && filter.tick().is_err()
            && filter.begin_due_epoch().is_err()
            && filter.advance().is_err()
            && filter.sweep().is_err()
            && filter.clear().is_err()
            && filter.write_to(std::io::sink()).is_err()
    }));
    assert_eq!(filter.epoch(), 0);
    assert!(filter.advance().unwrap());
    // The only free seat is that of a dead process, which is repaired first.
    let filter = SharedExpiringFilter::create_memfd_for(expiring(100, HOUR), 2).unwrap();
    assert!(in_child(|| filter.attach().is_ok()));
    assert!(in_child(|| filter.write_to(std::io::sink()).is_ok()));
    assert_eq!(filter.participants().deaths, 1);
}

#[test]
fn the_kind_of_a_file_is_checked() {
    let directory = directory();
    let (plain, timed) = (
        directory.path().join("plain"),
        directory.path().join("timed"),
    );
    drop(create(&plain, builder(100)));
    drop(create_expiring(&timed, expiring(100, HOUR)));
    assert!(matches!(error(&plain), OpenError::DoesNotExpire));
    // SAFETY: no other program knows the directory of this test.
    let opened = unsafe { SharedFilter::open(&timed) };
    assert!(matches!(opened, Err(OpenError::Expires)));
    // SAFETY: as above.
    let opened = unsafe { SharedReader::open(&timed) };
    assert!(matches!(opened, Err(OpenError::Expires)));
    let grows = expiring(100, HOUR).max_capacity(1_000);
    // SAFETY: as above.
    let created = unsafe { SharedExpiringFilter::create(directory.path().join("new"), grows) };
    assert!(matches!(created, Err(OpenError::Grows)));
    let counting = ExpiringFilter::builder(HOUR).capacity(100).counter_bits(8);
    for counting in [counting.clone(), counting.max_capacity(10_000)] {
        // SAFETY: as above.
        let created =
            unsafe { SharedExpiringFilter::create(directory.path().join("new"), counting) };
        assert!(matches!(created, Err(OpenError::Counters)));
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn a_filter_that_differs_is_not_opened_for_a_builder() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let get = |builder| unsafe { SharedExpiringFilter::open_or_create(&file, builder) };
    let filter = get(expiring(100, HOUR)).unwrap();
    filter.insert("ani").unwrap();
    assert!(get(expiring(100, HOUR).seed(7)).unwrap().contains("ani"));
    let what = |builder| match get(builder) {
        Err(OpenError::Different { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(expiring(200, HOUR)), "capacity");
    assert_eq!(what(expiring(100, 2 * HOUR)), "TTL in nanoseconds");
    assert_eq!(what(expiring(100, HOUR).epochs(3)), "number of epochs");
}

#[test]
fn a_snapshot_has_the_times() {
    let filter = SharedExpiringFilter::create_memfd(expiring(100, HOUR)).unwrap();
    filter.insert("ani").unwrap();
    assert!(filter.advance().unwrap());
    filter.insert("koel").unwrap();
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    let copy = ExpiringFilter::from_bytes(&bytes).unwrap();
    let clone = filter.as_filter().try_clone().unwrap();
    for filter in [copy, clone] {
        assert!(filter.contains("ani") && filter.contains("koel"));
        assert!(filter.advance() && filter.advance());
        assert!(!filter.contains("ani") && filter.contains("koel"));
    }
    filter.clear().unwrap();
    assert!(filter.is_empty() && !filter.contains("koel"));
}

/// A copy that is not of the current epoch lives for an epoch more in the other filter.
#[test]
fn a_copy_of_a_filter_has_the_times() {
    let filter = expiring(100, HOUR).build().unwrap();
    filter.insert("ani").unwrap();
    assert!(filter.advance() && filter.advance());
    filter.insert("koel").unwrap();
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let in_file = unsafe { SharedExpiringFilter::create_copy(&file, &filter, 7) }.unwrap();
    let in_memfd = SharedExpiringFilter::create_memfd_copy(&filter, 7).unwrap();
    for copy in [in_file, in_memfd] {
        assert!(copy.contains("ani") && copy.contains("koel"));
        assert_eq!((copy.len(), copy.participants().max), (2, 7));
        for left in [true, false] {
            assert!(copy.advance().unwrap());
            assert_eq!(copy.contains("ani"), left);
            assert!(copy.contains("koel"));
        }
    }
}

/// The machine has started again: its clock begins at 0, and the clock of the filter continues.
#[test]
fn the_clock_continues_after_a_restart() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create_expiring(&file, expiring(100, HOUR));
    filter.insert("ani").unwrap();
    drop(filter);
    let mut bytes = fs::read(&file).unwrap();
    let [recorded, at, boot, base] = [2, 3, BOOT, BASE].map(|line| word(&bytes, TIME + 8 * line));
    assert_eq!((recorded, base), (1, 0));
    assert!(boot != 0 && at >> 63 == 1);
    // Before the restart the machine ran for ten years, and the epoch began at the end.
    let years = 10 * 365 * 86_400 * 1_000_000_000_u64;
    set_word(&mut bytes, TIME + 8 * 3, 1 << 63 | years);
    set_word(&mut bytes, TIME + 8 * BOOT, boot ^ 1);
    fs::write(&file, &bytes).unwrap();
    let filters = [open_expiring(&file), open_expiring(&file)];
    for filter in &filters {
        let age = filter.epoch_age().expect("it is known");
        let uptime = fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        // What has passed since the start of this machine, and no more.
        assert!(age.as_secs_f64() <= uptime + 0.1, "{age:?} {uptime}");
        assert!(age.as_secs_f64() >= uptime - 60.0, "{age:?} {uptime}");
    }
    let now = fs::read(&file).unwrap();
    assert_eq!(word(&now, TIME + 8 * BASE), years);
    assert_eq!(word(&now, TIME + 8 * BOOT), boot);
    assert!(filters[0].contains("ani"));
}

/// An epoch that a process has begun before it died, without a record of its beginning.
#[test]
fn an_unknown_beginning_is_noted_when_the_file_is_opened() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create_expiring(&file, expiring(100, HOUR));
    assert!(filter.advance().unwrap());
    assert_eq!(filter.epoch_age(), None);
    let other = open_expiring(&file);
    assert!(other.epoch_age().is_some() && filter.epoch_age().is_some());
}

#[test]
fn times_that_cannot_be_are_refused() {
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create_expiring(&file, expiring(100, HOUR));
    filter.insert("ani").unwrap();
    for _ in 0..2 {
        assert!(filter.advance().unwrap());
    }
    drop(filter);
    let good = fs::read(&file).unwrap();
    // The word of the epoch also has the age of the oldest live copies.
    let epoch = |word: u64| word & ((1 << 56) - 1);
    assert_eq!(
        [0, 1].map(|line| epoch(word(&good, TIME + 8 * line))),
        [2, 2]
    );
    let with = |line: usize, number: u64| {
        let mut bytes = good.clone();
        set_word(&mut bytes, TIME + 8 * line, number);
        fs::write(&file, bytes).unwrap();
    };
    for (line, number) in [
        (0, 1 << 63),
        // The age of the oldest live copies, and the number of epochs that go by their number.
        (0, 3 << 60 | 2),
        (0, 3 << 56 | 2),
        (0, 2 << 60 | 1 << 55 | 1),
        (0, u64::MAX),
        (0, 1),
        (1, 3),
        (2, 4),
        (2, u64::MAX),
    ] {
        with(line, number);
        let error = error(&file);
        assert!(
            matches!(
                error,
                OpenError::Control {
                    what: "number of an epoch",
                    ..
                }
            ),
            "{line} {number}: {error:?}"
        );
    }
    // No epoch is due by these readings, or all are; the items are there in this epoch.
    for (line, number) in [
        (5, 0),
        (5, u64::MAX),
        (BOOT, u64::MAX),
        (BASE, u64::MAX),
        (2, 0),
    ] {
        with(line, number);
        let filter = open_expiring(&file);
        assert!(filter.contains("ani"), "{line} {number}");
        let _ = (filter.epoch_age(), filter.tick().unwrap());
        assert!(filter.write_to(std::io::sink()).is_ok());
    }
}

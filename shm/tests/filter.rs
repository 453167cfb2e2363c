//! The file, the processes and the errors of shared filters.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened, and processes forked")]
#![allow(dead_code)]

mod common;

use common::{
    HOUR, builder, create, directory, expiring, fork_for, fuse, growing, in_child, of_layout, open,
    path, recount, role, start, start_and_wait, text,
};
use guira::{BuildError, CuckooFilter, Hashed, InsertError, MergeError, SnapshotError};
use guira_shm::{
    AttachError, OpenError, SharedExpiringFilter, SharedExpiringReader, SharedFilter, SharedReader,
};
use std::{cell::Cell, fs, hash::RandomState, path::Path};

fn error(path: &Path) -> OpenError {
    // SAFETY: no other program knows the directory of this test.
    unsafe { SharedFilter::open(path) }.expect_err("no filter")
}

/// Creates a filter that must be refused.
fn refused(path: &Path, builder: guira::Builder) -> OpenError {
    // SAFETY: as above.
    unsafe { SharedFilter::create(path, builder) }.expect_err("no filter")
}

#[test]
fn two_see_the_items_of_each_other_in_each_layout() {
    let directory = directory();
    for (number, bits) in [10, 12, 15, 20, 30, 9, 11, 13].into_iter().enumerate() {
        let file = directory.path().join(number.to_string());
        let builder = of_layout(1_000, bits);
        let (here, there) = (create(&file, builder.clone()), open(&file));
        for item in 0..1_000_u32 {
            let filter = if item % 2 == 0 { &here } else { &there };
            filter.insert(&item).unwrap();
        }
        assert!((0..1_000_u32).all(|item| here.contains(&item) && there.contains(&item)));
        assert_eq!((here.len(), there.len()), (1_000, 1_000));
        let mut bytes = Vec::new();
        there.write_to(&mut bytes).unwrap();
        let snapshot = CuckooFilter::from_bytes(&bytes).unwrap();
        assert!((0..1_000_u32).all(|item| snapshot.contains(&item)));
        assert!((0..1_000_u32).all(|item| there.remove(&item)));
        assert!(here.is_empty() && here.census().items == 0);
    }
}

#[test]
fn calls_by_hash_and_batches_find_the_same_items_in_each_layout() {
    let directory = directory();
    for (number, bits) in [10, 12, 15, 20, 30, 9, 11, 13].into_iter().enumerate() {
        let file = directory.path().join(number.to_string());
        let (here, there) = (create(&file, of_layout(1_000, bits)), open(&file));
        let hashes: Vec<Hashed> = (0..400_u32).map(|item| here.hash_of(&item)).collect();
        let (single, batch) = hashes.split_at(200);
        for hash in single {
            here.insert(hash).unwrap();
            assert_eq!(there.insert_unique(hash), Ok(false));
        }
        there.as_filter().insert_batch(batch).unwrap();
        let mut inserted = [true; 400];
        let unique = here.as_filter();
        unique.insert_unique_batch(&hashes, &mut inserted).unwrap();
        assert_eq!(inserted, [false; 400]);
        assert_eq!(there.as_filter().count(&hashes[399]), there.count(&399_u32));
        assert!(hashes.iter().all(|hash| here.contains(hash)));
        assert!(single.iter().all(|hash| there.remove(hash)));
        let mut removed = [false; 200];
        here.as_filter().remove_batch(batch, &mut removed);
        assert_eq!((removed, there.len()), ([true; 200], 0));
    }
}

#[test]
fn a_shared_filter_merges_and_unites_with_filters_of_the_heap() {
    let directory = directory();
    for (number, bits) in [10, 12, 15, 20, 30, 9, 11, 13].into_iter().enumerate() {
        let file = directory.path().join(number.to_string());
        let (here, there) = (create(&file, of_layout(1_000, bits)), open(&file));
        let items: Vec<u32> = (0..300).collect();
        here.insert_batch(&items[..200]).unwrap();
        let copy = there.as_filter().try_clone().unwrap();
        assert_eq!(copy.digest(), here.as_filter().digest());
        copy.insert_batch(&items[200..]).unwrap();
        there.as_filter().union_with(&copy).unwrap();
        assert_eq!(
            (here.as_filter().digest(), here.len()),
            (copy.digest(), 300)
        );
        here.clear().unwrap();
        there.as_filter().merge(&copy).unwrap();
        assert_eq!(
            (here.as_filter().digest(), here.len()),
            (copy.digest(), 300)
        );
        copy.clear();
        copy.merge(there.as_filter()).unwrap();
        assert_eq!(copy.digest(), here.as_filter().digest());
        assert_eq!(copy.to_bytes().len(), here.as_filter().snapshot_len_hint());
        let path = file.with_extension("copy");
        // SAFETY: no other program knows the directory of this test.
        let in_file = unsafe { SharedFilter::create_copy(&path, &copy, 7) }.unwrap();
        let in_memfd = SharedFilter::create_memfd_copy(&copy, 7).unwrap();
        for same in [&in_file, &open(&path), &in_memfd] {
            assert_eq!(
                (same.as_filter().digest(), same.len()),
                (copy.digest(), 300)
            );
            assert_eq!(same.participants().max, 7);
        }
        let rates = [
            copy.false_positive_rate(),
            here.as_filter().false_positive_rate(),
        ];
        assert!(rates[0].to_bits() == rates[1].to_bits());
    }
}

#[test]
fn two_handles_of_one_filter_are_one_filter() {
    let directory = directory();
    let file = directory.path().join("filter");
    let (here, there) = (create(&file, builder(1_000)), open(&file));
    let other = create(&directory.path().join("other"), builder(1_000));
    let items: Vec<u32> = (0..500).collect();
    here.insert_batch(&items).unwrap();
    let [this, that] = [here.as_filter(), there.as_filter()];
    assert_eq!(this.merge(that), Err(MergeError::SameFilter));
    assert_eq!(that.union_with(this), Err(MergeError::SameFilter));
    assert_eq!(here.len(), 500);
    other.as_filter().merge(this).unwrap();
    assert_eq!((other.len(), here.len()), (500, 500));
}

#[test]
fn one_call_of_all_processes_inserts_an_item() {
    let directory = directory();
    let file = directory.path().join("filter");
    let (here, there) = (create(&file, builder(10_000)), open(&file));
    let inserted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = [&here, &there, &here, &there]
            .into_iter()
            .map(|filter| {
                let insert = |item: &u32| filter.insert_unique(item) == Ok(true);
                scope.spawn(move || (0..10_000).filter(insert).count())
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    // Some share the class of another one.
    assert!((9_900..=10_000).contains(&inserted), "{inserted}");
    assert_eq!((here.len(), here.census().items), (inserted, inserted));
    there.clear().unwrap();
    assert_eq!((here.len(), here.census().items), (0, 0));
}

#[test]
fn a_file_is_created_once_and_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(100));
    filter.insert("ani").unwrap();
    assert!(matches!(refused(&file, builder(100)), OpenError::Exists));
    assert!(open(&file).contains("ani"), "the file is as it was");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        1,
        "no other file"
    );
}

/// A role: opens the filter or creates it, and inserts items. Its code is the number that it has inserted.
#[test]
fn comer() {
    let Some(arguments) = role() else { return };
    // SAFETY: no other program knows the directory of this test.
    let filter = unsafe { SharedFilter::open_or_create(path(&arguments[0]), builder(1_000)) };
    let filter = filter.unwrap();
    let inserted = (0..100_u32).filter(|item| filter.insert_unique(item) == Ok(true));
    std::process::exit(inserted.count() as i32);
}

#[test]
fn one_of_several_processes_creates_the_file() {
    for round in 0..10 {
        let directory = directory();
        let file = directory.path().join("filter");
        let comers = [(); 6].map(|()| start("comer", &[text(&file)]));
        let inserted = comers.map(|mut comer| comer.wait().unwrap().code().unwrap());
        assert_eq!(inserted.iter().sum::<i32>(), 100, "{round}: {inserted:?}");
        let filter = open(&file);
        assert!((0..100_u32).all(|item| filter.contains(&item)));
        let files = fs::read_dir(directory.path()).unwrap();
        assert_eq!(files.count(), 1, "no other file");
    }
}

#[test]
fn a_filter_that_differs_is_not_opened_instead() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let get = |builder| unsafe { SharedFilter::open_or_create(&file, builder) };
    get(builder(1_000)).unwrap().insert("ani").unwrap();
    assert!(get(builder(1_000).seed(1)).unwrap().contains("ani"));
    let different = |builder, asked_what: &str, numbers| match get(builder) {
        Err(OpenError::Different { what, found, asked }) => {
            (what, [found, asked]) == (asked_what, numbers)
        }
        _ => false,
    };
    let capacity = open(&file).capacity() as u64;
    let larger = builder(5_000).build().unwrap().capacity() as u64;
    assert!(different(builder(5_000), "capacity", [capacity, larger]));
    let asked = builder(1_000).fingerprint_bits(30);
    assert!(matches!(get(asked), Err(OpenError::Different { .. })));
    assert!(matches!(
        get(builder(100).fingerprint_bits(11).counter_bits(4)),
        Err(OpenError::Counters)
    ));
    assert!(matches!(
        get(builder(1_000).capacity(0)),
        Err(OpenError::Build(BuildError::ZeroCapacity))
    ));
    fs::write(&file, [7; 8192]).unwrap();
    assert!(matches!(get(builder(1_000)), Err(OpenError::NotAFilter)));
    assert_eq!(fs::read(&file).unwrap(), [7; 8192]);
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let directory = directory();
    let file = directory.path().join("filter");
    // 12 bits is also the size of a fingerprint in a layout without counters.
    for (fingerprint_bits, counter_bits) in [(11, 4), (12, 8)] {
        let counting = builder(100).fingerprint_bits(fingerprint_bits);
        let counting = counting.counter_bits(counter_bits);
        assert!(matches!(refused(&file, counting), OpenError::Counters));
        let growing = growing(100, 10_000).counter_bits(counter_bits);
        assert!(matches!(refused(&file, growing), OpenError::Counters));
    }
    let none = builder(100).capacity(0);
    let error = refused(&file, none);
    assert!(matches!(error, OpenError::Build(BuildError::ZeroCapacity)));
    for asked in [0, 256] {
        // SAFETY: as above.
        let error = unsafe { SharedFilter::create_for(&file, builder(100), asked) }.unwrap_err();
        assert!(matches!(
            error,
            OpenError::TooManyProcesses { max: 255, .. }
        ));
    }
    assert!(!file.exists());
}

#[test]
fn other_files_are_refused() {
    let directory = directory();
    let file = directory.path().join("filter");
    assert!(matches!(error(&file), OpenError::Io(_)));
    fs::write(&file, [7; 100]).unwrap();
    assert!(matches!(error(&file), OpenError::NotAFilter));
    fs::write(&file, [7; 8192]).unwrap();
    assert!(matches!(error(&file), OpenError::NotAFilter));
    fs::remove_file(&file).unwrap();
    create(&file, builder(100)).insert("ani").unwrap();
    let good = fs::read(&file).unwrap();
    let changed = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[8 * at..8 * at + 8].copy_from_slice(&value.to_ne_bytes());
        fs::write(&file, bytes).unwrap();
        error(&file)
    };
    let version = u64::from_ne_bytes(good[8..16].try_into().unwrap());
    assert!(matches!(
        changed(1, version + 1),
        OpenError::Version { found: 2 }
    ));
    assert!(matches!(
        changed(1, version.swap_bytes()),
        OpenError::Architecture
    ));
    for at in 2..=13 {
        assert!(
            matches!(changed(at, 99), OpenError::Checksum { .. }),
            "{at}"
        );
    }
    for len in [0, 8, 4088] {
        fs::write(&file, &good[..len]).unwrap();
        assert!(matches!(error(&file), OpenError::NotAFilter), "{len}");
    }
    fs::write(&file, [good.as_slice(), &[0]].concat()).unwrap();
    assert!(matches!(error(&file), OpenError::NotAFilter));
    for len in [4096, 8192, good.len() / 2, good.len() - 8] {
        fs::write(&file, &good[..len]).unwrap();
        let error = error(&file);
        assert!(
            matches!(error, OpenError::Length { found, expected }
                if found == len as u64 && expected == good.len() as u64),
            "{error:?}"
        );
    }
    let longer = [&good[..], &[0; 8]].concat();
    fs::write(&file, longer).unwrap();
    assert!(matches!(error(&file), OpenError::Length { .. }));
    fs::write(&file, &good).unwrap();
    assert!(open(&file).contains("ani"));
}

/// A filter with another hasher, in a file or not, is refused, and a reader of it, too.
macro_rules! check_hashers {
    ($builder:expr, $filter:ident, $reader:ident) => {
        let directory = directory();
        let file = directory.path().join("filter");
        let hasher = RandomState::new();
        let builder = $builder.hasher(hasher.clone());
        let is_other = |error| matches!(error, OpenError::Filter(SnapshotError::Hasher { .. }));
        // SAFETY: no other program knows the directory of this test.
        let in_file = unsafe { $filter::create(&file, builder.clone()) }.unwrap();
        let in_memfd = $filter::create_memfd(builder).unwrap();
        let memfd = || in_memfd.memfd().unwrap().try_clone_to_owned().unwrap();
        for filter in [&in_file, &in_memfd] {
            filter.insert("ani").unwrap();
        }
        // SAFETY: as above.
        assert!(is_other(unsafe { $filter::open(&file) }.unwrap_err()));
        // SAFETY: as above.
        assert!(is_other(unsafe { $reader::open(&file) }.unwrap_err()));
        assert!(is_other($filter::from_memfd(memfd()).unwrap_err()));
        assert!(is_other($reader::from_memfd(memfd()).unwrap_err()));
        let filters = [
            // SAFETY: as above.
            unsafe { $filter::open_with_hasher(&file, hasher.clone()) },
            $filter::from_memfd_with_hasher(memfd(), hasher.clone()),
        ];
        let readers = [
            // SAFETY: as above.
            unsafe { $reader::open_with_hasher(&file, hasher.clone()) },
            $reader::from_memfd_with_hasher(memfd(), hasher),
        ];
        assert!(filters.into_iter().all(|it| it.unwrap().contains("ani")));
        assert!(readers.into_iter().all(|it| it.unwrap().contains("ani")));
    };
}

#[test]
fn another_hasher_is_refused() {
    check_hashers!(builder(100), SharedFilter, SharedReader);
    check_hashers!(
        expiring(100, HOUR),
        SharedExpiringFilter,
        SharedExpiringReader
    );
}

#[test]
fn seats_are_given_back_and_are_limited() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let one = unsafe { SharedFilter::create_for(&file, builder(1_000), 2) }.unwrap();
    assert_eq!(one.participants().in_use, 1);
    one.attach().unwrap();
    let two = open(&file);
    assert_eq!(one.participants().in_use, 2);
    let is_too_many =
        |error: &AttachError| matches!(error, AttachError::TooManyProcesses { max: 2 });
    assert!(matches!(error(&file), OpenError::Attach(error) if is_too_many(&error)));
    // A child has none, either.
    assert!(in_child(|| {
        one.attach().is_err_and(|error| is_too_many(&error))
            && one.insert_unique("ani") == Err(InsertError::TooManyInFlight)
            && one.insert("ani").is_ok()
            && one.remove("ani")
            && one.clear().is_err_and(|error| is_too_many(&error))
            && one.write_to(std::io::sink()).is_err()
            && one.as_filter().write_to(std::io::sink()).is_err()
            && one.as_filter().try_clone().is_err()
    }));
    assert!(in_child(|| {
        let digest = std::panic::AssertUnwindSafe(|| one.as_filter().digest());
        let panic = std::panic::catch_unwind(digest).unwrap_err();
        let message = panic.downcast::<String>().unwrap();
        *message == "this process has no seat in the shared filter, and none is free"
    }));
    drop(two);
    assert!(in_child(|| one.insert_unique("ani") == Ok(true)));
    let mut one = one;
    assert_eq!(recount(&mut one), 1);
    assert_eq!(
        (one.participants().in_use, one.participants().deaths),
        (1, 1)
    );
}

/// The only free seat is that of a dead process, which is repaired first.
#[test]
fn calls_that_scan_take_the_seat_of_a_dead_process() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let filter = unsafe { SharedFilter::create_for(&file, builder(100), 2) }.unwrap();
    // Each of these children dies with the seat.
    assert!(in_child(|| filter.attach().is_ok()));
    assert!(in_child(|| filter.write_to(std::io::sink()).is_ok()));
    assert!(in_child(|| filter.clear().is_ok()));
    assert_eq!(filter.repair().processes, 1);
    assert_eq!(filter.participants().deaths, 3);
}

/// A child that outlives its parent has no part in the parent's seat.
#[test]
fn a_child_does_not_keep_the_seat_of_its_parent() {
    use std::{io::Read, mem, os::fd::AsRawFd};
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(100));
    let (mut end, writer) = std::io::pipe().unwrap();
    assert!(in_child(|| {
        mem::forget(open(&file));
        let descriptor = writer.as_raw_fd();
        fork_for(|| {
            // SAFETY: nothing uses it in this process.
            unsafe { nix::libc::close(descriptor) };
            end.read(&mut [0]).is_ok()
        });
        true
    }));
    assert_eq!(filter.repair().processes, 1);
    drop(writer);
}

#[test]
fn as_many_can_share_a_filter_as_can_be_asked_for_and_no_more() {
    const MOST: u32 = 255;
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let first = unsafe { SharedFilter::create_for(&file, builder(1_000), MOST as usize) };
    let mut all = vec![first.unwrap()];
    all.extend((1..MOST).map(|_| open(&file)));
    assert_eq!(all[0].participants().in_use, MOST as usize);
    for (item, filter) in (0_u32..).zip(&all) {
        assert_eq!(filter.insert_unique(&item), Ok(true));
        assert_eq!(filter.repair().processes, 0, "all live");
    }
    for filter in &all {
        assert!((0..MOST).all(|item| filter.contains(&item)));
    }
    for asked in [0, MOST as usize + 1] {
        // SAFETY: as above.
        let refused = unsafe { SharedFilter::create_for(&file, builder(100), asked) };
        assert!(matches!(
            refused,
            Err(OpenError::TooManyProcesses { asked: found, .. }) if found == asked
        ));
    }
    let is_refused = || {
        let OpenError::Attach(AttachError::TooManyProcesses { max }) = error(&file) else {
            return false;
        };
        max == MOST as usize
    };
    assert!(is_refused() && is_refused());
    drop(all.remove(100));
    let last = open(&file);
    assert_eq!(last.insert_unique(&MOST), Ok(true));
    assert!(is_refused());
    assert!((0..=MOST).all(|item| all[200].remove(&item)));
    drop(all);
    assert_eq!((last.participants().in_use, last.len()), (1, 0));
    assert_eq!(last.census(), guira::shared::Census::default());
}

/// A process that loses the file while it uses the filter ends by a signal, and the others can tell.
#[test]
fn a_file_that_is_truncated_ends_the_process_that_uses_it() {
    use nix::{
        sys::{
            signal::Signal,
            wait::{WaitStatus, waitpid},
        },
        unistd::{ForkResult, fork},
    };
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(1_000));
    filter.insert("ani").unwrap();
    let good = fs::read(&file).unwrap();
    let truncate = |len| {
        let file = fs::OpenOptions::new().write(true).open(&file);
        file.unwrap().set_len(len).unwrap();
    };
    truncate(4096);
    // SAFETY: the child only uses the filter, and ends without a return.
    let child = match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let code = i32::from(filter.contains("ani"));
            // SAFETY: it ends the process without its parent's clean-up.
            unsafe { nix::libc::_exit(code) }
        }
    };
    assert!(matches!(
        waitpid(child, None).unwrap(),
        WaitStatus::Signaled(_, Signal::SIGBUS, _)
    ));
    assert!(matches!(
        error(&file),
        OpenError::Length { found: 4096, .. }
    ));
    truncate(good.len() as u64);
    fs::write(&file, &good).unwrap();
    assert!(filter.contains("ani") && open(&file).contains("ani"));
}

/// Each opening tells, whether the death was repaired or not, until the items are counted.
#[test]
fn a_death_is_known_until_the_next_recount() {
    let directory = directory();
    let file = directory.path().join("filter");
    let first = create(&file, builder(100));
    assert!(first.was_closed_cleanly() && open(&file).was_closed_cleanly());
    drop(first);
    assert!(open(&file).was_closed_cleanly());
    for _ in 0..2 {
        // The child ends without closing the filter.
        let is_clean = || open(&file).was_closed_cleanly();
        assert!(in_child(|| {
            let filter = std::mem::ManuallyDrop::new(open(&file));
            filter.was_closed_cleanly()
        }));
        assert!(!is_clean());
        open(&file).repair();
        assert!(!is_clean());
        let mut filter = open(&file);
        recount(&mut filter);
        assert!(!filter.was_closed_cleanly() && is_clean());
    }
}

#[test]
fn a_file_that_is_replaced_takes_no_seat_of_the_new_one() {
    let directory = directory();
    let file = directory.path().join("filter");
    let old = create(&file, builder(100));
    fs::remove_file(&file).unwrap();
    let new = create(&file, builder(100));
    assert!(in_child(|| matches!(old.attach(), Err(AttachError::Io(_)))));
    old.insert("ani").unwrap();
    assert!(old.contains("ani") && !new.contains("ani"));
}

/// A role: opens the filter and inserts an item, and then waits to be killed.
#[test]
fn sitter() {
    let Some(arguments) = role() else { return };
    let filter = open(&path(&arguments[0]));
    filter.insert("ani").unwrap();
    fs::write(&arguments[1], "ready").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn the_seat_of_a_process_that_is_killed_is_free_again() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let filter = unsafe { SharedFilter::create_for(&file, builder(1_000), 2) }.unwrap();
    for death in 1..=3 {
        let mut sitter = start_and_wait("sitter", &file);
        assert!(filter.contains("ani"));
        assert!(matches!(
            error(&file),
            OpenError::Attach(AttachError::TooManyProcesses { max: 2 })
        ));
        assert_eq!(filter.repair().processes, 0, "it lives");
        sitter.kill().unwrap();
        sitter.wait().unwrap();
        assert_eq!(filter.repair().processes, 1);
        assert_eq!(filter.participants().deaths, death);
        assert_eq!(filter.participants().in_use, 1);
    }
    assert_eq!(filter.count("ani"), 3);
}

#[test]
fn a_child_has_a_seat_of_its_own() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let filter = unsafe { SharedFilter::create_for(&file, builder(1_000), 2) }.unwrap();
    // More children than seats, one after the other, and none gives its seat back.
    for child in 0..20_u32 {
        let inserted = in_child(|| {
            filter.insert_unique(&child) == Ok(true) && filter.participants().in_use == 2
        });
        assert!(inserted, "child {child}");
    }
    assert!((0..20_u32).all(|item| filter.contains(&item)));
    // The seat of the parent is still its own.
    let other = open(&file);
    other.repair();
    assert_eq!(other.participants().in_use, 2);
    // A child that drops the filter leaves the parent's seat alone, and what it has mapped itself: where
    // its parent has the lock, the child has room.
    let filter = Cell::new(Some(filter));
    assert!(in_child(|| {
        let page = || memmap2::MmapMut::map_anon(4096).unwrap();
        let pages: Vec<_> = (0..10_000).map(|_| page()).collect();
        drop(filter.take());
        pages.iter().all(|page| page[0] == 0)
    }));
    assert_eq!(other.repair().processes, 0);
    assert_eq!(other.participants().in_use, 2);
}

/// Children whose parents have ended, one after the other.
#[test]
fn a_chain_of_children_uses_up_no_seats() {
    fn chain(filter: &SharedFilter, length: u32) -> bool {
        length == 0
            || filter.insert_unique(&length) == Ok(true) && in_child(|| chain(filter, length - 1))
    }
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(1_000));
    assert!(chain(&filter, 40));
    filter.repair();
    assert_eq!((filter.len(), filter.participants().in_use), (40, 1));
    for round in 0..100_u32 {
        assert!(
            in_child(|| filter.insert_unique(&(round, "round")) == Ok(true)),
            "{round}"
        );
    }
}

/// Children of a server inherit the parent's thread number. If that alone chose the shard, they would all
/// write one cache line. The seat of a process, which it takes first, chooses as well.
#[test]
fn each_child_counts_in_a_shard_of_its_own() {
    const ITEMS: u32 = 1_009;
    const PROCESSES: u32 = 4;
    fn chain(filter: &SharedFilter, process: u32) -> bool {
        filter.attach().is_ok()
            && (0..ITEMS).all(|item| filter.insert(&(process, item)).is_ok())
            && (process == PROCESSES || in_child(|| chain(filter, process + 1)))
    }
    let directory = directory();
    let file = directory.path().join("filter");
    // With this seed no word of the table has the value of a shard.
    let filter = create(&file, builder(8_000).seed(7));
    assert!(chain(&filter, 1));
    assert_eq!(filter.len(), (PROCESSES * ITEMS) as usize);
    let bytes = std::fs::read(&file).unwrap();
    let words = bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes);
    let shards = words.filter(|&word| word == u64::from(ITEMS)).count();
    assert_eq!(shards, PROCESSES as usize);
}

/// Each child begins the next one, and ends before that does. None gives its seat back.
#[test]
fn a_thousand_children_of_children_insert_and_end() {
    const CHILDREN: u32 = 1_000;
    fn chain(filter: &SharedFilter, child: u32) -> bool {
        // SAFETY: as in `in_child`.
        child == CHILDREN
            || filter.insert_unique(&child) == Ok(true)
                && match unsafe { nix::unistd::fork() } {
                    Ok(nix::unistd::ForkResult::Child) => {
                        let code = i32::from(!chain(filter, child + 1));
                        // SAFETY: as in `in_child`.
                        unsafe { nix::libc::_exit(code) }
                    }
                    parent => parent.is_ok(),
                }
    }
    let directory = directory();
    let file = directory.path().join("filter");
    let filter = create(&file, builder(2_000));
    // Its end is that of the last process which has the other one.
    let (mut end, kept) = std::io::pipe().unwrap();
    assert!(in_child(|| chain(&filter, 0)));
    drop(kept);
    std::io::Read::read_to_end(&mut end, &mut Vec::new()).unwrap();
    assert!((0..CHILDREN).all(|child| filter.contains(&child)));
    // The last process ends a little after its pipe.
    while filter.participants().in_use > 1 {
        filter.repair();
        std::thread::yield_now();
    }
    let participants = filter.participants();
    assert_eq!((filter.len(), participants.deaths), (1_000, 1_000));
}

#[test]
fn a_full_file_system_is_an_error_and_leaves_no_file() {
    use nix::{
        mount::{MsFlags, mount},
        sched::{CloneFlags, unshare},
        sys::{
            resource::{Resource, setrlimit},
            signal::{SigHandler, Signal, signal},
        },
    };
    use std::io::ErrorKind;
    let directory = directory();
    let is_refused = |kind: ErrorKind| {
        let builders = [builder(1_000_000), growing(1_000_000, 4_000_000)];
        builders.into_iter().all(|builder| {
            let error = refused(&directory.path().join("filter"), builder);
            let has_kind = matches!(&error, OpenError::Io(error) if error.kind() == kind);
            has_kind && fs::read_dir(directory.path()).is_ok_and(|files| files.count() == 0)
        })
    };
    // A tmpfs that only the child has, if it may mount one.
    let mounts = in_child(|| {
        let none: Option<&str> = None;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        let (flags, size) = (MsFlags::empty(), Some("size=64k"));
        if unshare(CloneFlags::CLONE_NEWNS).is_err()
            || mount(none, "/", none, private, none).is_err()
            || mount(none, directory.path(), Some("tmpfs"), flags, size).is_err()
        {
            println!("no tmpfs can be mounted here");
            return true;
        }
        is_refused(ErrorKind::StorageFull)
    });
    assert!(mounts);
    assert!(in_child(|| {
        // SAFETY: the signal that comes with the error would end the child.
        let ignored = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
        ignored.is_ok()
            && setrlimit(Resource::RLIMIT_FSIZE, 65_536, 65_536).is_ok()
            && is_refused(ErrorKind::FileTooLarge)
    }));
}

#[test]
fn a_file_system_in_user_space_is_refused() {
    let directory = directory();
    let is_refused = |error| matches!(error, OpenError::FileSystem { name: "FUSE" });
    assert!(in_child(|| {
        if let Err(error) = fuse::mount_fuse(directory.path()) {
            println!("no file system in user space can be mounted here: {error}");
            return true;
        }
        is_refused(error(&directory.path().join(fuse::NAME)))
            && is_refused(refused(&directory.path().join("new"), builder(100)))
    }));
}

#[test]
fn a_file_without_permission_is_an_error() {
    use nix::unistd::{Uid, setuid};
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let file = directory.path().join("filter");
    drop(create(&file, builder(100)));
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(in_child(|| {
        // Nothing is forbidden to root.
        let is_user = !Uid::effective().is_root() || setuid(Uid::from_raw(65_534)).is_ok();
        let kind = std::io::ErrorKind::PermissionDenied;
        is_user
            && fs::read(&file).is_ok()
            && matches!(error(&file), OpenError::Io(error) if error.kind() == kind)
            && matches!(
                refused(&directory.path().join("new"), builder(100)),
                OpenError::Io(error) if error.kind() == kind
            )
    }));
}

/// A role: creates a filter, and is killed by the kernel while it does.
#[test]
fn creator_that_dies() {
    use nix::sys::resource::{Resource, setrlimit};
    let Some(arguments) = role() else { return };
    // Who makes a file longer than that gets SIGXFSZ.
    setrlimit(Resource::RLIMIT_FSIZE, 1 << 16, 1 << 16).unwrap();
    let _ = create(&path(&arguments[0]), builder(100_000));
}

#[test]
fn a_process_that_dies_in_create_leaves_no_file() {
    use nix::sys::signal::Signal;
    use std::os::unix::process::ExitStatusExt;
    let directory = directory();
    let file = directory.path().join("filter");
    let status = start("creator_that_dies", &[text(&file)]).wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGXFSZ as i32), "{status}");
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(create(&file, builder(100_000)).insert("ani").is_ok());
}

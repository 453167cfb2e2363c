//! Filters that grow in a file: what each process sees of it, and what it takes.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{create, directory, growing, in_child, open, reader, recount};
use guira::{CuckooFilter, InsertError};
use guira_shm::{OpenError, SharedFilter, SharedReader};
use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// The bytes for which a file has memory.
fn allocated(path: &Path) -> u64 {
    512 * fs::metadata(path).unwrap().blocks()
}

#[test]
fn all_processes_see_a_filter_grow() {
    let directory = directory();
    let file = directory.path().join("filter");
    let (here, there) = (create(&file, growing(500, 40_000)), open(&file));
    let late = (open(&file), reader(&file));
    let (len, first) = (fs::metadata(&file).unwrap().len(), allocated(&file));
    assert!(first < len / 2, "{first} of {len}");
    for item in 0..40_000_u32 {
        let filter = if item % 3 == 0 { &here } else { &there };
        if item % 2 == 0 {
            filter.insert(&item).unwrap();
        } else {
            let inserted = filter.insert_unique(&item).unwrap();
            assert!(inserted || here.count(&item) > 0);
        }
    }
    let doublings = here.stats().doublings;
    assert!(doublings >= 4, "{doublings}");
    assert_eq!(there.capacity(), here.capacity());
    assert_eq!(
        (here.max_capacity(), late.1.max_capacity()),
        (40_000, 40_000)
    );
    // Filters that have looked at nothing so far.
    assert!((0..40_000_u32).all(|item| late.0.contains(&item) && late.1.contains(&item)));
    assert!((0..40_000_u32).all(|item| late.1.count(&item) >= 1));
    assert_eq!(late.0.stats().doublings, doublings);
    let next = open(&file);
    assert_eq!(next.stats().doublings, doublings);
    assert_eq!(fs::metadata(&file).unwrap().len(), len);
    let removed = (0..40_000_u32).filter(|item| late.0.remove(item)).count();
    assert_eq!((removed, here.len()), (here.census().items + removed, 0));
}

/// Planes that the filter may need later are in the file, too, and do not count.
#[test]
fn the_memory_of_a_filter_is_that_of_the_planes_in_use() {
    let directory = directory();
    let here = create(&directory.path().join("filter"), growing(500, 40_000));
    let heap = growing(500, 40_000).build().unwrap();
    for items in [0..100, 100..40_000_u32] {
        for item in items {
            here.insert(&item).unwrap();
            heap.insert(&item).unwrap();
        }
        let [of_file, of_heap] = [here.as_filter(), &heap].map(CuckooFilter::memory_usage);
        assert!(of_file.abs_diff(of_heap) < 6000, "{of_file}, {of_heap}");
    }
}

#[test]
fn a_snapshot_of_a_growing_filter_is_that_of_a_filter_on_the_heap() {
    let directory = directory();
    let file = directory.path().join("filter");
    let (here, there) = (create(&file, growing(500, 40_000)), open(&file));
    let heap = growing(500, 40_000).build().unwrap();
    for item in 0..30_000_u32 {
        here.insert(&item).unwrap();
        heap.insert(&item).unwrap();
        if item.is_power_of_two() {
            let mut bytes = Vec::new();
            there.write_to(&mut bytes).unwrap();
            let copy = CuckooFilter::from_bytes(&bytes).unwrap();
            assert!((0..=item).all(|item| copy.contains(&item)), "{item}");
            assert_eq!(copy.len(), there.len());
            assert_eq!(copy.digest(), there.as_filter().digest());
            assert_eq!(copy.digest(), heap.digest());
        }
    }
    let copy = there.as_filter().try_clone().unwrap();
    there.as_filter().finish_growth();
    assert_eq!(here.stats().buckets_to_split, 0);
    here.clear().unwrap();
    assert!(there.is_empty() && there.census().items == 0);
    there.as_filter().merge(&copy).unwrap();
    assert_eq!(here.as_filter().digest(), heap.digest());
}

#[test]
fn a_process_that_is_late_writes_where_the_others_look() {
    let directory = directory();
    let file = directory.path().join("filter");
    let here = create(&file, growing(100, 20_000));
    // Each of them sees the filter for the first time after some growth, and then is late again.
    let others: Vec<_> = (0..10).map(|_| open(&file)).collect();
    for item in 0..20_000_u32 {
        let other = &others[item as usize / 2_000];
        other.insert(&item).unwrap();
        assert!(here.contains(&item));
        let before = others[(item as usize / 2_000 + 9) % 10].contains(&item);
        assert!(before, "{item}");
    }
    let removes = others.iter().rev().cycle().zip(0..20_000_u32);
    assert!(removes.into_iter().all(|(other, item)| other.remove(&item)));
    assert_eq!(here.census().items, 0);
}

#[test]
fn a_memfd_grows_beside_its_children_and_readers() {
    let filter = SharedFilter::create_memfd(growing(500, 20_000)).unwrap();
    let descriptor = || filter.memfd().unwrap().try_clone_to_owned().unwrap();
    let reader = SharedReader::from_memfd(descriptor()).unwrap();
    let mut filter = filter;
    for child in 0..10_u32 {
        let items = 2_000 * child..2_000 * (child + 1);
        assert!(in_child(|| {
            items.clone().all(|item| filter.insert(&item).is_ok())
                && (0..items.end).all(|item| filter.contains(&item))
        }));
        assert!((0..items.end).all(|item| reader.contains(&item)));
    }
    filter.repair();
    assert_eq!(recount(&mut filter), 20_000);
}

#[test]
fn a_filter_of_another_size_is_not_opened_instead() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let get = |builder| unsafe { SharedFilter::open_or_create(&file, builder) };
    let filter = get(growing(500, 40_000)).unwrap();
    for item in 0..20_000_u32 {
        filter.insert(&item).unwrap();
    }
    // It has grown by now.
    assert!(get(growing(500, 40_000)).unwrap().contains(&19_999_u32));
    for (builder, asked_what) in [
        (growing(600, 40_000), "capacity"),
        (growing(500, 50_000), "maximal capacity"),
        (CuckooFilter::builder().capacity(500), "maximal capacity"),
    ] {
        let error = get(builder).unwrap_err();
        assert!(
            matches!(error, OpenError::Different { what, .. } if what == asked_what),
            "{error:?}"
        );
    }
}

/// On a tmpfs of its own that is full, growth is an error of the insert, and no signal.
#[test]
fn a_full_file_system_is_an_error_of_the_insert() {
    use nix::{
        mount::{MsFlags, mount},
        sched::{CloneFlags, unshare},
    };
    let directory = directory();
    let mounts = in_child(|| {
        let none: Option<&str> = None;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        let (flags, size) = (MsFlags::empty(), Some("size=256k"));
        if unshare(CloneFlags::CLONE_NEWNS).is_err()
            || mount(none, "/", none, private, none).is_err()
            || mount(none, directory.path(), Some("tmpfs"), flags, size).is_err()
        {
            println!("no tmpfs can be mounted here");
            return true;
        }
        let file = directory.path().join("filter");
        let here = create(&file, growing(500, 400_000));
        let there = open(&file);
        let mut inserted = 0_u32;
        let refused = loop {
            match here.insert(&inserted) {
                Ok(()) => inserted += 1,
                Err(error) => break error,
            }
        };
        let is_whole = || {
            let all = (0..inserted).all(|item| there.contains(&item));
            all && there.len() == inserted as usize && there.write_to(std::io::sink()).is_ok()
        };
        println!("{inserted} items, {refused}");
        let is_refused = refused == InsertError::Memory
            && inserted > 500
            && is_whole()
            && there.insert_unique(&inserted) == Err(InsertError::Memory);
        // With more room it grows on.
        let (flags, size) = (MsFlags::MS_REMOUNT, Some("size=16m"));
        let grows = mount(none, directory.path(), none, flags, size).is_ok() && {
            std::thread::sleep(std::time::Duration::from_millis(20));
            (inserted..100_000).all(|item| here.insert(&item).is_ok())
        };
        println!("refused {is_refused}, grows {grows}");
        is_refused && grows && (0..100_000_u32).all(|item| there.contains(&item))
    });
    assert!(mounts);
}

/// The number of doublings that are said to have begun or ended is checked.
#[test]
fn nonsense_in_the_progress_is_refused() {
    const PROGRESS: usize = 512 + PROGRESS_OF_FILTER;
    let directory = directory();
    let file = directory.path().join("filter");
    drop(create(&file, growing(500, 40_000)));
    let good = fs::read(&file).unwrap();
    for progress in [
        [1, 0],
        [0, 2],
        [100, 100],
        [u64::MAX, u64::MAX],
        [0, u64::MAX],
    ] {
        let mut bytes = good.clone();
        for (word, number) in progress.into_iter().enumerate() {
            let at = 8 * (PROGRESS + word);
            assert_eq!(&bytes[at..at + 8], [0; 8]);
            bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
        }
        fs::write(&file, bytes).unwrap();
        // SAFETY: no other program knows the directory of this test.
        let error = unsafe { SharedFilter::open(&file) }.unwrap_err();
        assert!(matches!(error, OpenError::Control { .. }), "{error:?}");
    }
}

/// Where the progress is, behind the first page: after the control words of fixed filters.
const PROGRESS_OF_FILTER: usize = CONTROL.next_multiple_of(512);
const CONTROL: usize = 2 * 64 * 16 + (8 + 512) + 512 * 8 + 512 + 512;

//! Filters in memory without a name, and what others can do with their descriptors.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened, and processes forked")]
#![allow(dead_code)]

mod common;

use common::{builder, command, create, directory, in_child, of_layout, role};
use guira::InsertError;
use guira_shm::{AttachError, OpenError, SharedFilter, SharedReader};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, SealFlag, fcntl, open},
    libc,
    sys::{
        memfd::{MFdFlags, memfd_create},
        stat::Mode,
    },
    unistd::ftruncate,
};
use std::{
    fs::File,
    io::{Read, Write, stdin},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
};

fn memfd(capacity: usize) -> SharedFilter {
    SharedFilter::create_memfd(builder(capacity)).expect("memory")
}

fn descriptor(filter: &SharedFilter) -> OwnedFd {
    let descriptor = filter.memfd().expect("it has no path");
    descriptor.try_clone_to_owned().expect("a descriptor")
}

#[test]
fn two_see_the_items_of_each_other_in_each_layout() {
    for bits in [10, 12, 15, 20, 30, 9, 11, 13] {
        let here = SharedFilter::create_memfd(of_layout(1_000, bits)).unwrap();
        let there = SharedFilter::from_memfd(descriptor(&here)).unwrap();
        for item in 0..1_000_u32 {
            let filter = if item % 2 == 0 { &here } else { &there };
            filter.insert(&item).unwrap();
        }
        assert!((0..1_000_u32).all(|item| here.contains(&item) && there.contains(&item)));
        assert_eq!((here.len(), there.participants().in_use), (1_000, 2));
        assert!((0..1_000_u32).all(|item| there.remove(&item)));
        assert_eq!(here.census(), guira::shared::Census::default());
    }
}

#[test]
fn a_child_shares_it_and_has_a_seat_of_its_own() {
    let filter = SharedFilter::create_memfd_for(builder(1_000), 2).unwrap();
    for child in 1..=20_u32 {
        assert!(in_child(|| {
            filter.insert_unique(&child) == Ok(true) && filter.participants().in_use == 2
        }));
        // It has given nothing back.
        assert_eq!(filter.repair().processes, 1);
    }
    assert!((1..=20_u32).all(|item| filter.contains(&item)));
    assert_eq!((filter.len(), filter.participants().deaths), (20, 20));
    let other = SharedFilter::from_memfd(descriptor(&filter)).unwrap();
    let error = SharedFilter::from_memfd(descriptor(&filter)).unwrap_err();
    assert!(matches!(
        error,
        OpenError::Attach(AttachError::TooManyProcesses { max: 2 })
    ));
    drop(other);
    assert_eq!(filter.participants().in_use, 1);
}

/// A role: has the descriptor of a filter as its input. Inserts an item, says so, and waits to be killed.
#[test]
fn receiver() {
    let Some(_) = role() else { return };
    let descriptor = stdin().as_fd().try_clone_to_owned().unwrap();
    let filter = SharedFilter::from_memfd(descriptor).unwrap();
    assert!(filter.contains("here"));
    assert_eq!(filter.insert_unique("there"), Ok(true));
    // Behind the lines of the test's own program.
    std::io::stderr().write_all(b"\nready").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn another_program_that_gets_the_descriptor_shares_it() {
    let filter = memfd(1_000);
    filter.insert("here").unwrap();
    let mut receiver = command("receiver", &[String::new()])
        .stdin(descriptor(&filter))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut stderr = receiver.stderr.take().unwrap();
    while !said.ends_with(b"\nready") {
        let mut byte = [0];
        let read = stderr.read(&mut byte).unwrap();
        assert_eq!(read, 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    assert!(filter.contains("there"));
    assert_eq!(filter.insert_unique("there"), Ok(false));
    assert_eq!(filter.participants().in_use, 2);
    assert_eq!(filter.repair().processes, 0, "it lives");
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    assert_eq!(filter.repair().processes, 1);
    assert_eq!(filter.count("there"), 1);
}

#[test]
fn its_length_and_its_seals_cannot_change() {
    let filter = memfd(1_000);
    let descriptor = descriptor(&filter);
    let len = File::from(descriptor.try_clone().unwrap())
        .metadata()
        .unwrap()
        .len() as i64;
    for other in [0, 8, len - 4096, len + 4096] {
        assert_eq!(ftruncate(&descriptor, other), Err(Errno::EPERM), "{other}");
    }
    let seal = FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_WRITE);
    assert_eq!(fcntl(&descriptor, seal), Err(Errno::EPERM));
    filter.insert("ani").unwrap();
    assert!(filter.contains("ani"));
}

#[test]
fn a_hole_in_it_is_a_filter_that_answers() {
    let filter = memfd(1_000);
    for item in 0..1_000_u32 {
        filter.insert(&item).unwrap();
    }
    let descriptor = descriptor(&filter);
    let len = File::from(descriptor.try_clone().unwrap())
        .metadata()
        .unwrap()
        .len() as i64;
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the descriptor is open, and the call changes the memory of the file only.
    assert_eq!(
        unsafe { libc::fallocate(descriptor.as_raw_fd(), hole, 0, len) },
        0
    );
    for item in 0..1_000_u32 {
        assert!(!filter.contains(&item));
        let _ = (filter.insert(&item), filter.insert_unique(&item));
        assert!(filter.contains(&item) && filter.remove(&item));
    }
    let (_, _) = (filter.repair(), filter.participants());
    // The header has gone as well.
    let error = SharedFilter::from_memfd(descriptor).unwrap_err();
    assert!(matches!(error, OpenError::NotAFilter));
}

/// Memory that is sealed by these seals.
fn sealed(bytes: &[u8], seals: SealFlag) -> OwnedFd {
    let memfd = memfd_create(c"test", MFdFlags::MFD_ALLOW_SEALING).unwrap();
    let mut file = File::from(memfd);
    file.write_all(bytes).unwrap();
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).unwrap();
    file.into()
}

#[test]
fn what_can_be_truncated_or_is_no_filter_is_refused() {
    let error = |descriptor: OwnedFd| {
        let reader = SharedReader::from_memfd(descriptor.try_clone().unwrap()).unwrap_err();
        let filter = SharedFilter::from_memfd(descriptor).unwrap_err();
        assert_eq!(reader.to_string(), filter.to_string());
        filter
    };
    let directory = directory();
    let path = directory.path().join("filter");
    drop(create(&path, builder(100)));
    let good = std::fs::read(&path).unwrap();
    let file = || File::options().read(true).write(true).open(&path).unwrap();
    let (pipe, _write) = std::io::pipe().unwrap();
    for descriptor in [
        file().into(),
        pipe.into(),
        sealed(&good, SealFlag::empty()),
        sealed(&good, SealFlag::F_SEAL_GROW),
    ] {
        assert!(matches!(error(descriptor), OpenError::NotSealed));
    }
    let shrink = SealFlag::F_SEAL_SHRINK;
    for bytes in [&[][..], &[7; 100], &[7; 8192], &good[..4088], &good[8..]] {
        assert!(matches!(
            error(sealed(bytes, shrink)),
            OpenError::NotAFilter
        ));
    }
    let half = sealed(&good[..good.len() / 2], shrink);
    assert!(matches!(error(half), OpenError::Length { .. }));
    // Memory that another program has sealed is as good as that of this package.
    let filter = SharedFilter::from_memfd(sealed(&good, shrink)).unwrap();
    filter.insert("ani").unwrap();
    assert!(filter.contains("ani") && filter.memfd().is_some());
    assert!(common::open(&path).memfd().is_none());
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let counting = builder(100).fingerprint_bits(12).counter_bits(8);
    let error = SharedFilter::create_memfd(counting).unwrap_err();
    assert!(matches!(error, OpenError::Counters));
    let error = SharedFilter::create_memfd_for(builder(100), 256).unwrap_err();
    assert!(matches!(
        error,
        OpenError::TooManyProcesses {
            asked: 256,
            max: 255
        }
    ));
}

#[test]
fn a_descriptor_that_cannot_be_written_is_for_readers() {
    let filter = memfd(1_000);
    filter.insert("ani").unwrap();
    let path = format!("/proc/self/fd/{}", filter.memfd().unwrap().as_raw_fd());
    let read_only = || open(Path::new(&path), OFlag::O_RDONLY, Mode::empty()).unwrap();
    let reader = SharedReader::from_memfd(read_only()).unwrap();
    assert!(reader.contains("ani") && reader.count("ani") == 1 && !reader.contains("ona"));
    filter.insert("ona").unwrap();
    assert!(reader.contains("ona") && reader.len() == 2);
    let kind = std::io::ErrorKind::PermissionDenied;
    assert!(matches!(
        SharedFilter::from_memfd(read_only()),
        Err(OpenError::Io(error)) if error.kind() == kind
    ));
}

#[test]
fn a_daemon_that_closes_all_descriptors_keeps_its_seat() {
    let filter = memfd(1_000);
    assert!(in_child(|| {
        filter.attach().unwrap();
        // SAFETY: this process opens no file from now on, except in the calls below.
        let closed = unsafe { libc::close_range(3, u32::MAX, 0) };
        closed == 0
            && filter.insert_unique("ani") == Ok(true)
            && filter.write_to(std::io::sink()).is_ok()
            // The number of the descriptor may be that of another file by now.
            && File::open("/dev/null").is_ok()
            && in_child(|| {
                matches!(filter.attach(), Err(AttachError::Io(_)))
                    && filter.insert_unique("ona") == Err(InsertError::TooManyInFlight)
                    && filter.insert("ona").is_ok()
                    && filter.contains("ani")
                    && filter.remove("ona")
            })
    }));
    assert!(filter.contains("ani"));
    assert_eq!(filter.repair().processes, 1);
}

//! Children that die before a chosen step, and files that are as before.

use super::{builder, create, fits, only};
use guira::model::{Step, watch};
use guira_shm::SharedFilter;
use nix::sys::signal::{Signal, raise};
use std::{
    fs,
    ops::Range,
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::Path,
    process::ExitStatus,
};

/// Whether a death before this step differs from one before the next step that writes. `in_growth` covers
/// the steps of splits.
pub(crate) fn writes(step: Step) -> bool {
    !matches!(
        step,
        Step::Observe
            | Step::ReadP
            | Step::ReadQ
            | Step::RereadP
            | Step::RereadQ
            | Step::Validate
            | Step::LoadForUpdate
            | Step::Hint
            | Step::SeeHint
            | Step::SeeSegments
            | Step::SeeParts
            | Step::Freeze
            | Step::Copy
            | Step::Cut
            | Step::MovePointer
            | Step::ReadEpoch
            | Step::RereadEpoch
            | Step::Scan
    )
}

/// From now on counts this thread's steps, and calls `then` before step `number`.
pub(crate) fn before(
    number: usize,
    counts: impl Fn(Step) -> bool + 'static,
    then: impl Fn() + 'static,
) {
    let mut left = Some(number);
    watch(move |step| {
        if counts(step) {
            if left == Some(0) {
                then();
            }
            left = left.and_then(|left| left.checked_sub(1));
        }
    });
}

/// From now on counts this thread's steps, and sends the process a signal before step `number`.
pub(crate) fn signal_before(
    signal: Signal,
    number: usize,
    counts: impl Fn(Step) -> bool + 'static,
) {
    // To this thread, which must not run on until the others have been stopped.
    before(number, counts, move || raise(signal).expect("a signal"));
}

/// From now on counts this thread's steps, and kills the process before step `death`.
pub(crate) fn die_before(death: usize, counts: impl Fn(Step) -> bool + 'static) {
    signal_before(Signal::SIGKILL, death, counts);
}

/// True if a child has died by a signal, and false if it was through before.
pub(crate) fn has_died(status: ExitStatus, case: &str) -> bool {
    let died = status.signal() == Some(Signal::SIGKILL as i32);
    assert!(died || status.success(), "{case}: {status}");
    died
}

/// The file has these bytes, and is still the same file.
pub(crate) fn rewrite(file: &Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(file);
    file.unwrap().write_all_at(bytes, 0).unwrap();
}

/// The items that the filter of the tests is built for.
pub(crate) const CAPACITY: usize = 150;

/// The number of items after which an insert makes a path of at least two moves. (The same calls make the
/// same filter.)
pub(crate) fn items_before_a_path(capacity: usize) -> u64 {
    let filter = builder(capacity).build().unwrap();
    (0..)
        .find(|item| {
            let before = filter.stats().relocations;
            filter.insert(item).expect("there is a path");
            filter.stats().relocations >= before + 2
        })
        .unwrap()
}

/// The file of a filter that has the items, and their number.
pub(crate) fn template(directory: &Path) -> (Vec<u8>, u64) {
    let file = directory.join("template");
    let filter = create(&file, builder(CAPACITY));
    let items = items_before_a_path(CAPACITY);
    for item in 0..items {
        filter.insert(&item).unwrap();
    }
    (fs::read(file).unwrap(), items)
}

/// Nothing is left, the items are there, and those of `maybe` besides at most.
pub(crate) fn check(filter: &SharedFilter, items: Range<u64>, maybe: &[u64], case: &str) {
    // Splits of the dead are ended by any writer.
    filter.as_filter().finish_growth();
    let census = filter.census();
    assert_eq!(census, only(census.items), "{case}");
    let present = (items.end - items.start) as usize;
    assert!(
        (present..=present + maybe.len()).contains(&census.items),
        "{case}: {} of {present}",
        census.items
    );
    for item in items.clone() {
        assert!(filter.contains(&item), "{case}: item {item} is lost");
    }
    for item in items {
        assert!(filter.remove(&item), "{case}: item {item} is lost");
    }
    for item in maybe {
        filter.remove(item);
    }
    assert_eq!(filter.census().items, 0, "{case}: a ghost");
    // There is as much room as in a new filter.
    let here = fits(|item| filter.insert(item).is_ok());
    if filter.max_capacity() > CAPACITY {
        assert!(here >= filter.max_capacity(), "{case}: room for {here}");
    } else {
        let new = builder(CAPACITY).build().unwrap();
        let there = fits(|item| new.insert(item).is_ok());
        assert_eq!(here, there, "{case}: room");
    }
}

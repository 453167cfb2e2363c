//! Children that die before a chosen step, and files that are as before.

use guira::model::{Step, watch};
use nix::sys::signal::{Signal, raise};
use std::{
    fs,
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

/// From now on counts this thread's steps, and sends the process a signal before step `number`.
pub(crate) fn signal_before(
    signal: Signal,
    number: usize,
    counts: impl Fn(Step) -> bool + 'static,
) {
    let mut left = Some(number);
    watch(move |step| {
        if !counts(step) {
            return;
        }
        if left == Some(0) {
            // To this thread, which must not run on until the others have been stopped.
            raise(signal).expect("a signal");
        }
        left = left.and_then(|left| left.checked_sub(1));
    });
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

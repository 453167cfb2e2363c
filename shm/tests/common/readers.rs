//! What readers of filters of each kind must not do.

use super::{start_and_wait, text};
use guira_shm::OpenError;
use std::{fs, io::ErrorKind, path::Path};

/// The only mapping of the file in this process is one that cannot be written.
pub(crate) fn check_mapping(file: &Path) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let of_file = maps.lines().filter(|line| line.contains(&text(file)));
    let rights: Vec<_> = of_file
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(rights, ["r--s"]);
}

pub(crate) fn is_denied(error: &OpenError) -> bool {
    let kind = ErrorKind::PermissionDenied;
    matches!(error, OpenError::Io(error) if error.kind() == kind)
}

/// Kills a child in the role `watcher` while it reads the file, which stays as it was.
pub(crate) fn kill_watcher(file: &Path) {
    let before = fs::read(file).unwrap();
    let mut watcher = start_and_wait("watcher", file);
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    assert!(fs::read(file).unwrap() == before, "the file has changed");
}

/// Plays the role `watcher`: has opened a reader, and looks up an item until it is killed.
pub(crate) fn watch(ready: &str, contains: impl Fn() -> bool) {
    fs::write(ready, "ready").unwrap();
    loop {
        assert!(contains());
    }
}

//! Children of a test: the test's own program, in which a test that has the name of a role plays it.

#[cfg(guira_faults)]
pub(crate) mod dying;
pub(crate) mod fuse;

use guira::{Builder, CuckooFilter, ExpiringBuilder, Prefer};
use guira_shm::{SharedExpiringFilter, SharedExpiringReader, SharedFilter, SharedReader};
use nix::sys::{prctl::set_pdeathsig, signal::Signal};
use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The variable that has the arguments of a role.
const ROLE: &str = "GUIRA_SHM_ROLE";

/// Starts a child in a role, which is the name of a test.
pub(crate) fn start(role: &str, arguments: &[String]) -> Child {
    command(role, arguments).spawn().expect("a process")
}

/// The command that starts a child in a role.
pub(crate) fn command(role: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(env::current_exe().expect("the test itself"));
    command
        .args(["--exact", role, "--nocapture", "--test-threads", "1"])
        .env(ROLE, arguments.join("\n"))
        .stdout(Stdio::null());
    command
}

/// The arguments of this process's role; `None` in the test itself.
pub(crate) fn role() -> Option<Vec<String>> {
    let arguments = env::var(ROLE).ok()?;
    // The child ends with the test, also if that is killed.
    set_pdeathsig(Signal::SIGKILL).expect("a signal");
    Some(arguments.split('\n').map(str::to_owned).collect())
}

/// A file in a directory of its own, on tmpfs if there is any.
pub(crate) fn directory() -> tempfile::TempDir {
    let shm = Path::new("/dev/shm");
    match tempfile::tempdir_in(shm) {
        Ok(directory) => directory,
        Err(_) => tempfile::tempdir().expect("a directory"),
    }
}

/// The name of a file as an argument.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a plain name").to_owned()
}

/// The path in an argument.
pub(crate) fn path(text: &str) -> PathBuf {
    text.into()
}

/// Creates a filter.
pub(crate) fn create(path: &Path, builder: Builder) -> SharedFilter {
    // SAFETY: no other program knows the directory of this test.
    unsafe { SharedFilter::create(path, builder) }.expect("a new file")
}

/// Opens a filter.
pub(crate) fn open(path: &Path) -> SharedFilter {
    // SAFETY: as in `create`.
    unsafe { SharedFilter::open(path) }.expect("a filter")
}

/// Opens a filter for lookups.
pub(crate) fn reader(path: &Path) -> SharedReader {
    // SAFETY: as in `create`.
    unsafe { SharedReader::open(path) }.expect("a filter")
}

/// Creates an expiring filter.
pub(crate) fn create_expiring(path: &Path, builder: ExpiringBuilder) -> SharedExpiringFilter {
    // SAFETY: as in `create`.
    unsafe { SharedExpiringFilter::create(path, builder) }.expect("a new file")
}

/// Opens an expiring filter.
pub(crate) fn open_expiring(path: &Path) -> SharedExpiringFilter {
    // SAFETY: as in `create`.
    unsafe { SharedExpiringFilter::open(path) }.expect("a filter")
}

/// Opens an expiring filter for lookups.
pub(crate) fn expiring_reader(path: &Path) -> SharedExpiringReader {
    // SAFETY: as in `create`.
    unsafe { SharedExpiringReader::open(path) }.expect("a filter")
}

/// A filter for `capacity` items with fingerprints of 20 bits.
pub(crate) fn builder(capacity: usize) -> Builder {
    CuckooFilter::builder()
        .capacity(capacity)
        .fingerprint_bits(20)
        .seed(42)
}

/// A filter for `capacity` items that grows to `max_capacity` items.
pub(crate) fn growing(capacity: usize, max_capacity: usize) -> Builder {
    CuckooFilter::builder()
        .capacity(capacity)
        .max_capacity(max_capacity)
        .seed(42)
}

/// A filter for `capacity` items with fingerprints of these bits: semi-sorted for 9, 11 and 13.
pub(crate) fn of_layout(capacity: usize, bits: u32) -> Builder {
    let builder = CuckooFilter::builder()
        .capacity(capacity)
        .fingerprint_bits(bits)
        .seed(1);
    match bits {
        9 | 11 | 13 => builder.prefer(Prefer::Space),
        _ => builder,
    }
}

/// Runs `child` in a child process, which shares the mapping of this one; true if it returns true.
pub(crate) fn in_child(child: impl FnOnce() -> bool) -> bool {
    use nix::{
        sys::wait::{WaitStatus, waitpid},
        unistd::{ForkResult, fork},
    };
    // SAFETY: the child only uses the filter, whose calls take no lock, and ends without a return.
    match unsafe { fork() }.expect("a process") {
        ForkResult::Parent { child } => {
            waitpid(child, None).expect("the child") == WaitStatus::Exited(child, 0)
        }
        ForkResult::Child => {
            let is_true = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            let code = i32::from(!is_true.unwrap_or(false));
            // SAFETY: it ends the process without its parent's clean-up.
            unsafe { nix::libc::_exit(code) }
        }
    }
}

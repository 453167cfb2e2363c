//! Children of a test: the test's own program, in which a test that has the name of a role plays it.

#[cfg(guira_faults)]
pub(crate) mod dying;
pub(crate) mod fuse;
pub(crate) mod readers;
pub(crate) mod torture;

use guira::{Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter, Prefer, shared::Census};
use guira_shm::{NotAlone, SharedExpiringFilter, SharedExpiringReader, SharedFilter, SharedReader};
use nix::{
    errno::Errno,
    sys::{
        prctl::{set_child_subreaper, set_pdeathsig},
        signal::{Signal, kill, killpg},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, Uid, alarm, fork, getppid, setuid},
};
use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

/// The variable that has the arguments of a role, and the one that has the number of the parent.
const ROLE: &str = "GUIRA_SHM_ROLE";
const PARENT: &str = "GUIRA_SHM_PARENT";

/// Starts a child in a role, which is the name of a test.
pub(crate) fn start(role: &str, arguments: &[String]) -> Child {
    command(role, arguments).spawn().expect("a process")
}

/// Starts a child in a role, whose arguments are the file of a filter, and a file that the child writes when
/// it has begun. Waits until then.
pub(crate) fn start_and_wait(role: &str, file: &Path) -> Child {
    let ready = file.with_extension("ready");
    let mut child = start(role, &[text(file), text(&ready)]);
    while !ready.exists() {
        assert_eq!(child.try_wait().unwrap(), None, "the child has failed");
        thread::yield_now();
    }
    fs::remove_file(ready).unwrap();
    child
}

/// The command that starts a child in a role.
pub(crate) fn command(role: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(env::current_exe().expect("the test itself"));
    command
        .args(["--exact", role, "--nocapture", "--test-threads", "1"])
        .env(ROLE, arguments.join("\n"))
        .env(PARENT, process::id().to_string())
        .stdout(Stdio::null())
        // It forks, and its children are in its group.
        .process_group(0);
    command
}

fn group(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// Sends a signal to a child that was started in a role, and to its own children.
pub(crate) fn signal(child: &Child, signal: Signal) {
    match killpg(group(child), signal) {
        // It is dead, and has left no children.
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("{error}"),
    }
}

/// From now on the children that a dead child leaves are children of this process.
pub(crate) fn adopt_orphans() {
    set_child_subreaper(true).expect("a subreaper");
}

/// Kills a child that was started in a role, and its own children, and waits until the last one is dead.
pub(crate) fn kill_all(child: &mut Child) -> ExitStatus {
    signal(child, Signal::SIGKILL);
    let status = child.wait().expect("a child");
    let children = Pid::from_raw(-group(child).as_raw());
    while waitpid(children, None).is_ok() {}
    status
}

/// The arguments of this process's role; `None` in the test itself.
pub(crate) fn role() -> Option<Vec<String>> {
    let arguments = env::var(ROLE).ok()?;
    // The child ends with the test, also if that is killed.
    set_pdeathsig(Signal::SIGKILL).expect("a signal");
    // No signal comes if the test has ended before.
    let parent = env::var(PARENT).expect("it was started by `command`");
    if getppid().to_string() != parent {
        process::exit(1);
    }
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

/// The word at this place in the bytes of a file.
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap())
}

pub(crate) fn set_word(bytes: &mut [u8], at: usize, word: u64) {
    bytes[8 * at..8 * at + 8].copy_from_slice(&word.to_ne_bytes());
}

/// The name of a file as an argument.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a plain name").to_owned()
}

/// The path in an argument.
pub(crate) fn path(text: &str) -> PathBuf {
    text.into()
}

/// The first word behind the header, where a filter begins.
pub(crate) const START: usize = 512;

/// The first word of the time in an expiring filter: the epoch. A cache line each: swept, recorded, at, boot,
/// base.
pub(crate) const TIME: usize = START + 8_192;

/// The lines of the start of the machine and of its base, after the beginnings of 16 epochs.
pub(crate) const BOOT: usize = 19;
pub(crate) const BASE: usize = 20;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

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

/// A filter for `capacity` items that live for two epochs, with fingerprints of 16 bits.
pub(crate) fn expiring(capacity: usize, ttl: Duration) -> ExpiringBuilder {
    ExpiringFilter::builder(ttl)
        .capacity(capacity)
        .epochs(2)
        .fingerprint_bits(16)
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

/// The census of a filter that has this many items, and in which nothing else is left.
pub(crate) fn only(items: usize) -> Census {
    Census {
        items,
        ..Census::default()
    }
}

/// The number of items for which there is room.
pub(crate) fn fits(insert: impl Fn(&u64) -> bool) -> usize {
    (0..).take_while(insert).count()
}

/// Counts the items. A child that another test has forked while this one took a seat keeps that until it
/// ends.
pub(crate) fn recount(filter: &mut SharedFilter) -> usize {
    loop {
        match filter.recount() {
            Err(NotAlone::InUse) => thread::yield_now(),
            counted => return counted.expect("no other process uses it"),
        }
    }
}

/// Runs `child` in a child process, which shares the mapping of this one; true if it returns true.
pub(crate) fn in_child(child: impl FnOnce() -> bool) -> bool {
    let pid = fork_for(child);
    waitpid(pid, None).expect("the child") == WaitStatus::Exited(pid, 0)
}

/// As `in_child`, but root is another user in the child, because nothing is forbidden to root.
pub(crate) fn in_child_of_a_user(child: impl FnOnce() -> bool) -> bool {
    in_child(|| {
        let is_user = !Uid::effective().is_root() || setuid(Uid::from_raw(65_534)).is_ok();
        is_user && child()
    })
}

/// Runs `work` in a child process, which shares the mapping of this one, and kills it after this time if it
/// still runs.
pub(crate) fn in_child_that_is_killed(time: Duration, work: impl FnOnce()) {
    let pid = fork_for(|| {
        work();
        true
    });
    thread::sleep(time);
    // It is no zombie of another process, because only this thread waits for it.
    kill(pid, Signal::SIGKILL).expect("a child");
    match waitpid(pid, None).expect("the child") {
        WaitStatus::Exited(_, 0) | WaitStatus::Signaled(_, Signal::SIGKILL, _) => {}
        status => panic!("{status:?}"),
    }
}

/// The time after which a child is killed that does not end. The slowest one takes a few seconds.
const MOST_SECONDS: u32 = 300;

/// The child process that runs `child`, and exits with 0 if that returns true.
pub(crate) fn fork_for(child: impl FnOnce() -> bool) -> Pid {
    // SAFETY: the child only uses the filter, whose calls take no lock, and ends without a return.
    match unsafe { fork() }.expect("a process") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            // A child that fails prints a message, for which it may wait for ever: another thread of its
            // parent can have had the lock of the output.
            alarm::set(MOST_SECONDS);
            let is_true = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            let code = i32::from(!is_true.unwrap_or(false));
            // SAFETY: it ends the process without its parent's clean-up.
            unsafe { nix::libc::_exit(code) }
        }
    }
}

//! The server outlives the reader of its log, its terminal and a full disk, even during a save.

use crate::common::{Protocol, Server, ask, command, refusal, until};
use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Two saves succeed, and each writes to the log. Then SIGTERM stops the server.
fn saves_and_ends(server: Server, directory: &TempDir) {
    let mut client = server.client(Protocol::Resp2);
    for item in 0..2 {
        ask::<()>(&mut client, &format!("CF.ADD k {item}"));
        assert_eq!(ask::<String>(&mut client, "SAVE"), "OK");
    }
    ask::<()>(&mut client, "BGSAVE");
    until("it is saved in the background", || {
        let info: String = ask(&mut client, "INFO persistence");
        info.contains("\nsaves:3\r\n") && info.contains("rdb_bgsave_in_progress:0")
    });
    assert_eq!(server.terminate().code(), Some(0));
    assert!(directory.path().join("guira.save").exists());
}

/// The command for a server that logs its saves, with its own directory.
fn logging() -> (TempDir, Command) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let start = command(&["--dir", path, "--log", "info"]);
    (directory, start)
}

#[test]
fn a_reader_of_the_log_that_goes_away_is_not_missed() {
    let (directory, mut start) = logging();
    let mut server = Server::spawn(start.stderr(Stdio::piped()));
    let mut log = BufReader::new(server.process.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    assert!(line.contains(" INFO "), "{line}");
    drop(log);
    saves_and_ends(server, &directory);
}

#[test]
fn a_log_that_cannot_be_written_keeps_nothing_from_its_start() {
    let (directory, mut start) = logging();
    start.stderr(File::options().write(true).open("/dev/full").unwrap());
    saves_and_ends(Server::spawn(&mut start), &directory);
}

/// The exit code reports the error.
#[test]
fn a_refused_start_does_not_need_a_log() {
    for arguments in [
        &["--log", "inof"][..],
        &["--requirepass-file", "/none/such"],
    ] {
        let mut start = command(arguments);
        start.stderr(File::options().write(true).open("/dev/full").unwrap());
        assert_eq!(start.status().unwrap().code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_terminal_that_is_closed_is_not_missed() {
    let directory = TempDir::new().unwrap();
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let side = rustix::fs::open(&name, flags, Mode::empty()).unwrap();
    let path = directory.path().to_str().unwrap();
    let server = command(&["--dir", path, "--log", "info"]);
    // The server leads a session with this terminal, and gets SIGHUP when the terminal closes.
    let mut start = Command::new("setsid");
    start
        .arg("--ctty")
        .arg(server.get_program())
        .args(server.get_args())
        .stdin(copy(&side))
        .stdout(Stdio::piped())
        .stderr(copy(&side));
    let mut server = Server::spawn(&mut start);
    drop(start);
    drop(side);
    let mut terminal = File::from(terminal);
    let mut some = [0; 16];
    assert!(terminal.read(&mut some).unwrap() > 0, "it logs");
    drop(terminal);
    assert!(server.process.try_wait().unwrap().is_none());
    saves_and_ends(server, &directory);
}

fn copy(fd: &OwnedFd) -> Stdio {
    fd.try_clone().unwrap().into()
}

/// A server whose files may have 64 KiB, as if its disk were full, with a filter that is larger.
fn with_little_room() -> (TempDir, Server, redis::Connection) {
    let (directory, server) = logging();
    let mut start = Command::new("sh");
    start
        .args([
            "-c",
            "trap '' XFSZ; exec prlimit --fsize=65536: \"$@\"",
            "sh",
        ])
        .arg(server.get_program())
        .args(server.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(directory.path().join("log")).unwrap());
    let server = Server::spawn(&mut start);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    ask::<()>(&mut client, "SAVE");
    ask::<()>(&mut client, "CF.RESERVE large 1000000 EXPANSION 0");
    (directory, server, client)
}

fn give_room(server: &Server) {
    let status = Command::new("prlimit")
        .args(["--pid", &server.process.id().to_string()])
        .arg("--fsize=unlimited:")
        .status();
    assert!(status.unwrap().success());
}

/// Saves fail with an error, and the previous save stays.
fn refuses_to_save(client: &mut redis::Connection, directory: &Path) {
    let before = fs::read(directory.join("guira.save")).unwrap();
    for _ in 0..2 {
        let error = refusal(client, "SAVE");
        assert!(error.starts_with("ERR saving to "), "{error}");
    }
    assert_eq!(fs::read(directory.join("guira.save")).unwrap(), before);
    assert!(!directory.join("guira.save.tmp").exists());
    let info: String = ask(client, "INFO persistence");
    assert!(info.contains("rdb_last_bgsave_status:err"), "{info}");
}

#[test]
fn a_full_disk_is_an_error_until_there_is_room() {
    let (directory, server, mut client) = with_little_room();
    refuses_to_save(&mut client, directory.path());
    give_room(&server);
    assert_eq!(ask::<String>(&mut client, "SAVE"), "OK");
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_second_sigterm_ends_a_server_whose_disk_is_full() {
    let (directory, mut server, mut client) = with_little_room();
    refuses_to_save(&mut client, directory.path());
    let before = fs::read(directory.path().join("guira.save")).unwrap();
    server.signal("TERM");
    until("it has tried to save", || {
        let log = fs::read_to_string(directory.path().join("log")).unwrap();
        log.contains("so the server continues")
    });
    assert_eq!(ask::<String>(&mut client, "PING"), "PONG");
    server.signal("TERM");
    assert_eq!(server.process.wait().unwrap().code(), Some(1));
    assert_eq!(
        fs::read(directory.path().join("guira.save")).unwrap(),
        before
    );
}

/// Saves hold the seeds of filters.
#[test]
fn only_the_user_of_the_server_can_read_a_save() {
    for umask in ["000", "022", "777"] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("saves");
        fs::create_dir(&path).unwrap();
        // A killed server left this file behind.
        let server = command(&["--dir", path.to_str().unwrap()]);
        let mut start = Command::new("sh");
        start
            .args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"])
            .arg(server.get_program())
            .args(server.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let server = Server::spawn(&mut start);
        let mut client = server.client(Protocol::Resp2);
        ask::<()>(&mut client, "CF.ADD k a");
        let temporary = path.join("guira.save.tmp");
        let mut old = File::create(&temporary).unwrap();
        old.set_permissions(fs::Permissions::from_mode(0o666))
            .unwrap();
        old.write_all(b"old").unwrap();
        ask::<()>(&mut client, "SAVE");
        let mode = |name: &str| fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("guira.save"), 0o600, "umask {umask}");
        assert_eq!(mode("guira.lock") & 0o177, 0, "umask {umask}");
        // Another user may have opened the old file before.
        assert_eq!(old.metadata().unwrap().len(), 3);
    }
}

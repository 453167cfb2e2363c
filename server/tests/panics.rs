//! The server survives a panic, or stops with an error. No part of it stays broken.
//!
//! `cargo test -p guira-server --features faults --test panics`: builds without this feature have
//! no deliberate panics.

mod common;

use common::{Protocol, Server, ask, command, refusal, until};
use std::{
    fs::{self, File},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A server that panics once at `fault` after it is armed.
struct Faulty {
    directory: TempDir,
    server: Server,
}

impl Faulty {
    fn start(fault: &str, arguments: &[&str]) -> Self {
        let directory = TempDir::new().unwrap();
        let mut start = Self::command(directory.path(), arguments);
        start.env("GUIRA_FAULT", fault);
        Self {
            server: Server::spawn(&mut start),
            directory,
        }
    }

    /// The command without the fault. Its log is written to a file.
    fn command(directory: &Path, arguments: &[&str]) -> Command {
        let saves = directory.join("saves");
        let saves = saves.to_str().unwrap();
        let mut start = command(&[&["--dir", saves, "--log", "info"], arguments].concat());
        start
            .env("GUIRA_FAULT_WHEN", directory.join("armed"))
            .env("GUIRA_HOLD_SAVE", directory.join("held"))
            .stderr(File::create(directory.join("log")).unwrap());
        start
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn arm(&self) {
        File::create(self.path("armed")).unwrap();
    }

    /// From now on saves begin, and do not end.
    fn hold_saves(&self) {
        File::create(self.path("held")).unwrap();
    }

    fn release_saves(&self) {
        fs::remove_file(self.path("held")).unwrap();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    fn client(&self) -> redis::Connection {
        self.server.client(Protocol::Resp2)
    }
}

fn persistence(client: &mut redis::Connection) -> String {
    ask(client, "INFO persistence")
}

/// A task panics during a save. The server stops with an error, but only after it has saved.
#[test]
fn a_panic_in_a_task_of_the_server_ends_it_after_a_save() {
    let metrics = ["--metrics", "127.0.0.1:0"];
    let every_second = ["--save-every", "1s"];
    for (fault, arguments) in [
        ("signals", &[][..]),
        ("hangup", &[]),
        ("save-every", &every_second),
        ("sweep", &[]),
        ("tick", &[]),
        ("scrapes", &metrics),
    ] {
        let mut faulty = Faulty::start(fault, arguments);
        let mut client = faulty.client();
        ask::<()>(&mut client, "CF.RESERVE forgets 100 WINDOW 1 EPOCHS 13");
        ask::<()>(&mut client, "CF.ADD expires a");
        faulty.hold_saves();
        let begun: Result<String, _> = common::try_ask(&mut client, "BGSAVE");
        // The save at the interval may have begun before.
        assert!(begun.is_ok() || fault == "save-every", "{begun:?}");
        until("a save is in progress", || {
            persistence(&mut client).contains("rdb_bgsave_in_progress:1")
        });
        // This change is not in the save that is in progress.
        ask::<()>(&mut client, "CF.ADD k a");
        faulty.arm();
        match fault {
            "signals" => faulty.server.signal("TERM"),
            "hangup" => faulty.server.signal("HUP"),
            // If the deadline passes during the command, it deletes the key itself.
            "sweep" => ask::<()>(&mut client, "PEXPIRE expires 500"),
            "scrapes" => {
                let log = faulty.log();
                let address = log.split("metrics are shown address=").nth(1).unwrap();
                let address = address.split_whitespace().next().unwrap();
                TcpStream::connect(address).unwrap();
            }
            _ => {}
        }
        until(&format!("{fault} has panicked"), || {
            faulty.log().contains("a task has panicked")
        });
        faulty.release_saves();
        let status = faulty.server.process.wait().unwrap();
        let log = faulty.log();
        assert_eq!(status.code(), Some(1), "{fault}: {log}");
        assert!(log.contains(&format!("on purpose: {fault}")), "{log}");
        assert!(log.contains("the server ends error=the task for"), "{log}");
        let mut again = Faulty::command(faulty.directory.path(), &[]);
        let server = Server::spawn(&mut again);
        let mut client = server.client(Protocol::Resp2);
        assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1, "{fault}");
    }
}

/// A signal stops a server that has panicked, even if its save hangs.
#[test]
fn sigterm_ends_a_server_that_has_panicked_and_cannot_save() {
    let mut faulty = Faulty::start("hangup", &[]);
    let mut client = faulty.client();
    ask::<()>(&mut client, "CF.ADD k a");
    faulty.hold_saves();
    faulty.arm();
    faulty.server.signal("HUP");
    until("it has panicked", || {
        faulty.log().contains("a task has panicked")
    });
    faulty.server.signal("TERM");
    let status = faulty.server.process.wait().unwrap();
    assert_eq!(status.code(), Some(1), "{}", faulty.log());
}

/// This save fails, and the next one succeeds.
#[test]
fn a_panic_in_a_save_is_an_error_of_that_save() {
    for save in ["SAVE", "BGSAVE", "SHUTDOWN"] {
        let faulty = Faulty::start("save", &[]);
        let mut client = faulty.client();
        ask::<()>(&mut client, "CF.ADD k a");
        faulty.arm();
        match save {
            "BGSAVE" => {
                ask::<()>(&mut client, save);
                until("it has failed", || {
                    let info = persistence(&mut client);
                    info.contains("rdb_bgsave_in_progress:0")
                        && info.contains("rdb_last_bgsave_status:err")
                });
            }
            _ => {
                let error = refusal(&mut client, save);
                assert!(
                    error.ends_with("guira.save failed by a panic: see the log"),
                    "{error}"
                );
            }
        }
        assert!(!fs::exists(faulty.path("saves/guira.save.tmp")).unwrap());
        assert!(faulty.log().contains("on purpose: save"));
        ask::<()>(&mut client, "SAVE");
        assert!(persistence(&mut client).contains("rdb_last_bgsave_status:ok"));
        assert!(faulty.server.terminate().success());
    }
}

/// The client is disconnected, and the server serves others.
#[test]
fn a_panic_in_a_command_ends_one_connection() {
    let faulty = Faulty::start("command", &["--metrics", "127.0.0.1:0"]);
    let mut client = faulty.client();
    ask::<()>(&mut client, "CF.ADD k a");
    faulty.hold_saves();
    ask::<()>(&mut client, "BGSAVE");
    let mut raw = faulty.server.raw();
    assert_eq!(raw.ask("PING\r\n"), "+PONG");
    faulty.arm();
    raw.send("PING\r\n");
    assert_eq!(raw.rest(), b"");
    until("it is counted out", || {
        let info: String = ask(&mut client, "INFO clients");
        info.contains("connected_clients:1\r\n")
    });
    let log = faulty.log();
    assert!(log.contains("on purpose: command"), "{log}");
    let address = log.split("metrics are shown address=").nth(1).unwrap();
    let address = address.split_whitespace().next().unwrap();
    let text = common::get(address.parse().unwrap(), "/metrics", "text/plain");
    assert!(text.contains("\nguira_panics_total 1\n"), "{text}");
    faulty.release_saves();
    until("the save has ended", || {
        persistence(&mut client).contains("rdb_bgsave_in_progress:0")
    });
    ask::<()>(&mut client, "SAVE");
    assert!(faulty.server.terminate().success());
}

/// A server is promoted while it has a complete copy, but has not replaced its keys yet. The control
/// replaces them all the same.
#[test]
fn a_copy_changes_nothing_after_a_promotion() {
    for (fault, is_kept) in [("none", true), ("promotion", false)] {
        let primary = Server::start(&[]);
        let address = format!("127.0.0.1:{}", primary.port);
        let directory = TempDir::new().unwrap();
        let [held, log] = ["held", "log"].map(|name| directory.path().join(name));
        File::create(&held).unwrap();
        let mut start = command(&["--replica-of", &address, "--log", "info"]);
        start
            .env("GUIRA_FAULT", fault)
            .env("GUIRA_HOLD_COPY", &held)
            .stderr(File::create(&log).unwrap());
        let standby = Server::spawn(&mut start);
        let mut client = standby.client(Protocol::Resp2);
        until("a copy is held", || held.with_extension("reached").exists());
        ask::<()>(&mut client, "REPLICAOF NO ONE");
        ask::<()>(&mut client, "CF.ADD own a");
        fs::remove_file(&held).unwrap();
        let end = match is_kept {
            true => "a copy was dropped",
            false => "copied the keys of the primary",
        };
        until(end, || fs::read_to_string(&log).unwrap().contains(end));
        assert_eq!(ask::<bool>(&mut client, "CF.EXISTS own a"), is_kept);
    }
}

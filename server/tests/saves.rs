//! A restarted server has everything that was saved, whatever happened in between.

use crate::common::{Protocol, Server, ask, info, refusal, shut_down, until};
use redis::{Connection, Value};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
};
use tempfile::TempDir;

fn directory() -> (TempDir, String) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    (directory, path)
}

/// A server that saves to its own directory, a client, and the item "a" in "k".
fn with_an_item() -> (TempDir, String, Server, Connection) {
    let (guard, path) = directory();
    let server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    (guard, path, server, client)
}

fn insert(client: &mut Connection, key: &str, items: std::ops::Range<u32>) {
    let items: Vec<u32> = items.collect();
    let mut command = redis::cmd("CF.INSERT");
    let inserted: Vec<bool> = command
        .arg(key)
        .arg("ITEMS")
        .arg(items)
        .query(client)
        .unwrap();
    assert!(inserted.into_iter().all(|inserted| inserted));
}

fn holds(client: &mut Connection, key: &str, items: std::ops::Range<u32>) -> bool {
    // A request has a limit.
    const GROUP: u32 = 100_000;
    let end = items.end;
    items.step_by(GROUP as usize).all(|first| {
        let group: Vec<u32> = (first..end.min(first + GROUP)).collect();
        let mut command = redis::cmd("CF.MEXISTS");
        let found: Vec<bool> = command.arg(key).arg(group).query(client).unwrap();
        found.into_iter().all(|present| present)
    })
}

#[test]
fn a_restarted_server_has_what_was_saved() {
    let (_guard, path) = directory();
    for end in ["SAVE", "BGSAVE", "SIGTERM"] {
        let server = Server::start(&["--dir", &path]);
        let mut client = server.client(Protocol::Resp3);
        ask::<()>(&mut client, "FLUSHALL");
        insert(&mut client, "a", 0..10_000);
        insert(&mut client, "\r\n\0", 0..10);
        ask::<()>(&mut client, "CF.RESERVE counts 100 COUNTERS 8");
        (0..500).for_each(|_| ask::<()>(&mut client, "CF.ADD counts hot"));
        ask::<()>(&mut client, "CF.DEL a 5");
        // The item may share its fingerprint with another item.
        let left: i64 = ask(&mut client, "CF.COUNT a 5");
        let info: Value = ask(&mut client, "CF.INFO a");
        match end {
            "SIGTERM" => assert!(server.terminate().success()),
            _ => {
                ask::<()>(&mut client, end);
                until("the save ends", || {
                    let info: String = ask(&mut client, "INFO persistence");
                    info.contains("\nsaves:1\r\n")
                });
                server.signal("KILL");
                drop(server);
            }
        }
        let server = Server::start(&["--dir", &path]);
        let mut client = server.client(Protocol::Resp3);
        assert_eq!(ask::<Value>(&mut client, "CF.INFO a"), info, "{end}");
        assert!(holds(&mut client, "a", 6..10_000) && holds(&mut client, "\r\n\0", 0..10));
        assert_eq!(ask::<i64>(&mut client, "CF.COUNT a 5"), left);
        assert_eq!(ask::<i64>(&mut client, "CF.COUNT counts hot"), 500);
        shut_down(&mut client, "SHUTDOWN NOSAVE");
    }
}

#[test]
fn the_end_saves_unless_it_should_not() {
    let (_guard, path) = directory();
    let saved = || fs::exists(Path::new(&path).join("guira.save")).unwrap();
    let server = Server::start(&["--dir", &path, "--save-on-exit", "false"]);
    ask::<()>(&mut server.client(Protocol::Resp2), "CF.ADD k a");
    assert!(server.terminate().success());
    assert!(!saved());
    let mut server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    assert_eq!(refusal(&mut client, "SHUTDOWN x"), "ERR syntax error");
    shut_down(&mut client, "SHUTDOWN NOSAVE");
    assert!(server.process.wait().unwrap().success());
    assert!(!saved());
    let mut server = Server::start(&["--dir", &path, "--save-on-exit", "false"]);
    shut_down(&mut server.client(Protocol::Resp2), "SHUTDOWN SAVE");
    assert!(server.process.wait().unwrap().success());
    assert!(saved());
}

#[test]
fn a_server_that_cannot_save_does_not_shut_down() {
    let (_guard, path, mut server, mut client) = with_an_item();
    // A directory of this name makes every save fail.
    let temporary = Path::new(&path).join("guira.save.tmp");
    fs::create_dir(&temporary).unwrap();
    let error = refusal(&mut client, "SHUTDOWN");
    assert!(error.starts_with("ERR saving to "), "{error}");
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
    fs::remove_dir(temporary).unwrap();
    shut_down(&mut client, "SHUTDOWN");
    assert!(server.process.wait().unwrap().success());
    assert!(fs::exists(Path::new(&path).join("guira.save")).unwrap());
}

#[test]
fn a_server_that_cannot_save_is_not_ended_by_a_signal() {
    let (_guard, path, mut server, mut client) = with_an_item();
    let temporary = Path::new(&path).join("guira.save.tmp");
    for signal in ["TERM", "INT"] {
        ask::<()>(&mut client, "SAVE");
        fs::create_dir(&temporary).unwrap();
        assert!(!has_failed(&mut client));
        server.signal(signal);
        until("the save has failed", || has_failed(&mut client));
        assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
        fs::remove_dir(&temporary).unwrap();
    }
    ask::<()>(&mut client, "CF.ADD k b");
    server.signal("TERM");
    assert!(server.process.wait().unwrap().success());
    let server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k b"), 1);
}

/// True if the last save failed and none is in progress.
fn has_failed(client: &mut redis::Connection) -> bool {
    let info: String = ask(client, "INFO persistence");
    info.contains("rdb_last_bgsave_status:err") && info.contains("rdb_bgsave_in_progress:0")
}

/// A user at the terminal can stop the server in any case.
#[test]
fn a_second_interrupt_ends_a_server_that_cannot_save() {
    let (_guard, path, mut server, mut client) = with_an_item();
    fs::create_dir(Path::new(&path).join("guira.save.tmp")).unwrap();
    server.signal("INT");
    until("the save has failed", || has_failed(&mut client));
    server.signal("INT");
    assert_eq!(server.process.wait().unwrap().code(), Some(1));
    assert!(!fs::exists(Path::new(&path).join("guira.save")).unwrap());
}

/// A closed terminal does not end the server.
#[test]
fn sighup_is_passed_over() {
    let (_guard, path) = directory();
    let server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    server.signal("HUP");
    ask::<()>(&mut client, "CF.ADD k a");
    assert!(server.terminate().success());
}

#[test]
fn sigterm_finishes_what_is_in_flight() {
    let (_guard, path) = directory();
    let server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    let port = server.port;
    let adder = thread::spawn(move || {
        let client = redis::Client::open(("127.0.0.1", port)).unwrap();
        let mut client = client.get_connection().unwrap();
        let mut pipeline = redis::pipe();
        let mut done = 0;
        loop {
            pipeline.clear();
            for item in done..done + 100 {
                pipeline.cmd("CF.ADD").arg("k").arg(item).ignore();
            }
            match pipeline.query::<()>(&mut client) {
                Ok(()) => done += 100,
                // Every pipeline that got its replies is in the save.
                Err(_) => return done,
            }
        }
    });
    until("items come in", || {
        ask::<i64>(&mut client, "CF.COUNT k 5000") > 0
    });
    assert!(server.terminate().success());
    let done: u32 = adder.join().unwrap();
    let server = Server::start(&["--dir", &path]);
    assert!(holds(&mut server.client(Protocol::Resp3), "k", 0..done));
}

#[test]
fn saves_are_made_by_the_clock() {
    let (_guard, path) = directory();
    let server = Server::start(&["--dir", &path, "--save-every", "1s"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    let mut saves = || {
        // A save without changes is left out.
        ask::<()>(&mut client, "CF.ADDNX k a");
        info(&mut client, "persistence", "saves:")
    };
    // A save may be in progress now.
    let before = saves();
    until("two saves are made", || saves() >= before + 2);
    server.signal("KILL");
    drop(server);
    let server = Server::start(&["--dir", &path]);
    assert_eq!(
        ask::<i64>(&mut server.client(Protocol::Resp2), "CF.COUNT k a"),
        1
    );
}

/// A save is left out if nothing has changed since the last one.
#[test]
fn what_has_not_changed_is_not_saved_again() {
    let (_guard, path) = directory();
    let server = Server::start(&["--dir", &path, "--save-every", "1s"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    until("the change is saved", || {
        info(&mut client, "persistence", "rdb_changes_since_last_save:") == 0
    });
    let saves = info(&mut client, "persistence", "saves:");
    // The next save is not for nothing: it comes after two intervals in which nothing has changed.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(info(&mut client, "persistence", "saves:"), saves);
    // The counters of commands start again, and the change is still to be saved.
    ask::<()>(&mut client, "CF.ADD k b");
    ask::<()>(&mut client, "CONFIG RESETSTAT");
    until("the other change is saved", || {
        info(&mut client, "persistence", "saves:") > saves
    });
}

/// With a directory, the default saves every minute.
#[test]
fn a_directory_means_saves() {
    let (_guard, path) = directory();
    let server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    let setting: (String, String) = ask(&mut client, "CONFIG GET save");
    assert_eq!(setting.1, "60 1");
    let server = Server::start(&["--dir", &format!("{path}/none"), "--save-every", "0"]);
    let mut client = server.client(Protocol::Resp2);
    let setting: (String, String) = ask(&mut client, "CONFIG GET save");
    assert_eq!(setting.1, "");
}

/// The log of a server that gets a key and stops at SIGTERM.
fn log_of(arguments: &[&str]) -> String {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut start = crate::common::command(&[arguments, &["--log", "info"]].concat());
    start.stderr(log.reopen().unwrap());
    let server = Server::spawn(&mut start);
    ask::<()>(&mut server.client(Protocol::Resp2), "CF.ADD k a");
    assert!(server.terminate().success());
    fs::read_to_string(log.path()).unwrap()
}

/// The log of a server without a directory says what that means, and what is lost in the end.
#[test]
fn what_is_not_saved_is_said() {
    let (_guard, path) = directory();
    let (warned, lost) = ("all keys are in memory only", "all keys are lost");
    let changes = "changes since the last save are lost";
    let log = log_of(&[]);
    assert_eq!(log.matches(warned).count(), 1, "{log}");
    assert_eq!(log.matches(lost).count(), 1, "{log}");
    let log = log_of(&["--dir", &path]);
    assert!(
        ![warned, lost, changes].iter().any(|it| log.contains(it)),
        "{log}"
    );
    let log = log_of(&["--dir", &path, "--save-on-exit", "false"]);
    assert_eq!(log.matches(changes).count(), 1, "{log}");
}

/// The output of a server that does not start.
fn refused_start(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_guira-server"))
        .args(["--port", "0"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_damaged_save_is_reported_by_name_and_refused() {
    let (_guard, path) = directory();
    let server = Server::start(&["--dir", &path]);
    let mut client = server.client(Protocol::Resp2);
    insert(&mut client, "k", 0..1_000);
    ask::<()>(&mut client, "SAVE");
    server.signal("KILL");
    drop(server);
    let file = Path::new(&path).join("guira.save");
    let bytes = fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 0x10;
    let cases = [
        (damaged, "the filter k in it is damaged"),
        (
            bytes[..bytes.len() / 2].to_vec(),
            "it is cut off after 0 filters",
        ),
        (
            bytes[..bytes.len() - 1].to_vec(),
            "it is cut off after 1 filters",
        ),
        (Vec::new(), "it is cut off"),
        (
            b"something else".to_vec(),
            "it is not a save of this server",
        ),
    ];
    for (bytes, expected) in cases {
        fs::write(&file, &bytes).unwrap();
        let said = refused_start(&["--dir", &path]);
        assert!(
            said.contains(expected) && said.contains("guira.save"),
            "{said}"
        );
        assert_eq!(fs::read(&file).unwrap(), bytes, "the file is left as it is");
    }
    fs::write(&file, &bytes).unwrap();
    let server = Server::start(&["--dir", &path]);
    assert!(holds(&mut server.client(Protocol::Resp3), "k", 0..1_000));
    // A directory serves only one server.
    let said = refused_start(&["--dir", &path]);
    assert!(said.contains("in use by another guira-server"), "{said}");
}

/// kill -9 at any moment of a save: the server restarts with the last completed save.
#[test]
fn a_killed_save_loses_nothing() {
    const STEP: u32 = 20_000;
    let rounds: u32 = if crate::common::long() { 100 } else { 10 };
    let (_guard, path) = directory();
    let file = |name: &str| fs::metadata(Path::new(&path).join(name)).map(|file| file.len());
    let (mut saved, mut cut_off) = (0, 0);
    // This repeats until half of the kills came in time, which takes longer on a noisy machine.
    let mut round = 0;
    while round < rounds || 2 * cut_off < rounds {
        assert!(round < 10 * rounds, "only {cut_off} kills came in time");
        let mut server = Server::start(&["--dir", &path]);
        let mut client = server.client(Protocol::Resp3);
        if saved > 0 {
            assert!(holds(&mut client, "k", 0..saved), "round {round}");
        }
        if saved == 0 {
            // The filter is large, so that a save is written in many parts.
            ask::<()>(&mut client, "CF.RESERVE k 20000000 EXPANSION 0");
        }
        let in_it: i64 = ask(&mut client, "CF.COUNT k 0");
        assert_eq!(in_it, i64::from(saved > 0));
        insert(&mut client, "k", saved..saved + STEP);
        ask::<()>(&mut client, "SAVE");
        saved += STEP;
        // This kills the server during the next save. The temporary file shows how far the save is,
        // and each round lets it run a little longer.
        let port = server.port;
        let saving = thread::spawn(move || {
            let client = redis::Client::open(("127.0.0.1", port)).unwrap();
            client
                .get_connection()
                .and_then(|mut client| redis::cmd("SAVE").query::<()>(&mut client))
        });
        let least = file("guira.save").unwrap() * u64::from(round % 10) / 10;
        until("the save is under way", || {
            saving.is_finished() || file("guira.save.tmp").is_ok_and(|length| length >= least)
        });
        server.process.kill().unwrap();
        drop(server);
        cut_off += u32::from(saving.join().unwrap().is_err());
        round += 1;
    }
    let server = Server::start(&["--dir", &path]);
    assert!(holds(&mut server.client(Protocol::Resp3), "k", 0..saved));
    eprintln!("{round} kills, {cut_off} saves were cut off");
}

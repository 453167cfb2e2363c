//! The log lines that clients can provoke.

use crate::common::{Protocol, Server, ask, command, until};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A server, and its log file.
fn logged(arguments: &[&str]) -> (TempDir, PathBuf, Server) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log");
    let mut start = command(&[&["--log-format", "json"], arguments].concat());
    start.stderr(File::create(&path).unwrap());
    let process = start.spawn().unwrap();
    let mut port = None;
    until("the server is ready", || {
        let text = fs::read_to_string(&path).unwrap();
        let address = text.split("\"listener\":\"127.0.0.1:").nth(1);
        port = address.and_then(|rest| rest.split('"').next()?.parse().ok());
        text.contains("\"message\":\"ready\"")
    });
    let port = port.expect("it listens");
    let server = Server { process, port };
    (directory, path, server)
}

/// The number of log lines with this message.
fn lines(log: &PathBuf, message: &str) -> usize {
    let message = format!("\"message\":\"{message}\"");
    let text = fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.contains(&message)).count()
}

/// A primary that has restarted without its keys takes them from its standby.
#[test]
fn a_copy_that_removes_keys_is_a_warning() {
    const GONE: &str = "keys are gone that the primary does not have any more";
    let primary = Server::start(&[]);
    let mut writer = primary.client(Protocol::Resp2);
    ask::<()>(&mut writer, "CF.ADD k item");
    let address = format!("127.0.0.1:{}", primary.port);
    let arguments = ["--replica-of", &address, "--replica-every", "1s"];
    let (_directory, log, standby) = logged(&[&["--log", "info"], &arguments[..]].concat());
    let mut reader = standby.client(Protocol::Resp2);
    until("the key is copied", || {
        ask::<usize>(&mut reader, "EXISTS k") == 1
    });
    assert_eq!(lines(&log, GONE), 0);
    ask::<()>(&mut writer, "FLUSHALL");
    until("the loss is in the log", || lines(&log, GONE) == 1);
    assert_eq!(ask::<usize>(&mut reader, "EXISTS k"), 0);
}

/// At most ten lines in ten seconds; all ten may come at once.
fn most_lines(since: Instant) -> usize {
    10 * (1 + since.elapsed().as_secs() as usize / 10)
}

/// A log for programs comes without a text for people.
#[test]
fn a_log_of_json_is_all_output() {
    let (_directory, log, mut server) = logged(&["--log", "info"]);
    let mut out = server.process.stdout.take().unwrap();
    assert!(server.terminate().success());
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.lines()
            .all(|line| line.starts_with('{') && line.ends_with('}')),
        "{log}"
    );
}

/// Without a terminal there is one line, and nothing to try.
#[test]
fn programs_are_told_the_port_only() {
    let mut process = command(&[]).spawn().unwrap();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let port = line.trim_end().trim_end_matches('.').rsplit(' ').next();
    let port = port
        .and_then(|port| port.parse().ok())
        .expect("the line ends in the port");
    let server = Server { process, port };
    assert!(server.terminate().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn garbage_writes_few_lines() {
    let (_directory, log, server) = logged(&["--log", "info"]);
    let mut client = server.client(Protocol::Resp2);
    let since = Instant::now();
    for _ in 0..200 {
        let mut hostile = server.raw();
        hostile.send("*x\r\n");
        assert!(hostile.rest().starts_with(b"-ERR Protocol error"));
        let mut browser = server.raw();
        browser.send("POST / HTTP/1.1\r\n");
        assert_eq!(browser.rest(), b"");
    }
    let stats: String = ask(&mut client, "INFO stats");
    assert!(stats.contains("protocol_errors:400\r\n"), "{stats}");
    let most = most_lines(since);
    for message in [
        "a client was disconnected",
        "a client that speaks HTTP was disconnected",
    ] {
        let lines = lines(&log, message);
        assert!((10..=most).contains(&lines), "{lines} lines: {message}");
    }
}

#[test]
fn clients_that_cannot_be_accepted_write_few_lines() {
    let (_directory, log, server) = logged(&["--log", "info", "--maxclients", "5"]);
    let clients: Vec<_> = (0..3).map(|_| server.raw()).collect();
    let mut client = server.client(Protocol::Resp2);
    until("all are there", || {
        ask::<String>(&mut client, "INFO clients").contains("connected_clients:4\r\n")
    });
    assert_eq!(clients.len(), 3);
    // No file descriptor is left, so no client is accepted from here on.
    let process = server.process.id();
    let status = std::process::Command::new("prlimit")
        .args(["--pid", &process.to_string(), "--nofile=3:3"])
        .status();
    assert!(status.unwrap().success());
    let since = Instant::now();
    let waiting = server.raw();
    until("there is a line", || {
        lines(&log, "a client was not accepted") > 0
    });
    std::thread::sleep(Duration::from_secs(2));
    let lines = lines(&log, "a client was not accepted");
    let most = most_lines(since);
    assert!(
        lines <= most,
        "{lines} lines, and it is tried 20 times a second"
    );
    assert_eq!(ask::<String>(&mut client, "PING"), "PONG");
    drop(waiting);
}

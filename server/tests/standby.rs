//! Standbys copy the keys of their primary, and serve reads.

mod hostile;
mod killed;
mod proxy;

use crate::common::{self, Protocol, Server, ask, refusal, request, until};
use proxy::Proxy;
use redis::{Connection, Value};
use std::fs;
use tempfile::TempDir;

const READ_ONLY: &str = "READONLY You can't write against a read only replica.";

/// A standby of the server at this port.
pub(crate) fn standby_of(port: u16, arguments: &[&str]) -> (Server, Connection) {
    let address = format!("127.0.0.1:{port}");
    let own = [
        "--replica-of",
        &address,
        "--replica-every",
        "1s",
        "--log",
        "off",
    ];
    let server = Server::start(&[&own, arguments].concat());
    let client = server.client(Protocol::Resp2);
    (server, client)
}

/// A field of `INFO replication`, if it is present.
fn field(client: &mut Connection, name: &str) -> Option<String> {
    let info: String = ask(client, "INFO replication");
    let mut lines = info.lines();
    lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.to_owned()))
}

fn number(client: &mut Connection, name: &str) -> u64 {
    let value = field(client, name).unwrap_or_else(|| panic!("no {name}"));
    value.parse().unwrap()
}

/// Waits for a copy that begins after this call.
pub(crate) fn copy(client: &mut Connection) {
    // A copy that is in progress may have begun before.
    let copied = number(client, "syncs");
    until("two copies are made", || {
        number(client, "syncs") >= copied + 2
    });
}

/// Waits until another copy has failed.
fn fail(client: &mut Connection) {
    let failed = number(client, "sync_failures");
    until("a copy fails", || number(client, "sync_failures") > failed);
    assert_eq!(field(client, "master_link_status").unwrap(), "down");
}

fn keys(client: &mut Connection) -> Vec<String> {
    let mut keys: Vec<String> = ask(client, "KEYS *");
    keys.sort();
    keys
}

#[test]
fn a_standby_serves_reads_and_refuses_writes() {
    let primary = Server::start(&[]);
    let mut writer = primary.client(Protocol::Resp2);
    for command in [
        "CF.ADD a item",
        "CF.ADD b item",
        "CF.RESERVE w 100 WINDOW 3600",
        "CF.ADD w item",
        "CF.RESERVE c 100 WINDOW 3600 COUNTERS 8",
        "CF.ADDCOUNT c item",
        "CF.ADDCOUNT c item",
        "CF.ADD e item",
        "EXPIRE e 5000",
    ] {
        ask::<()>(&mut writer, command);
    }
    let (standby, mut reader) = standby_of(primary.port, &[]);
    copy(&mut reader);
    assert_eq!(keys(&mut reader), ["a", "b", "c", "e", "w"]);
    for key in ["a", "b", "c", "e", "w"] {
        assert_eq!(ask::<i64>(&mut reader, &format!("CF.EXISTS {key} item")), 1);
        let count = |client: &mut Connection| ask::<i64>(client, &format!("CF.COUNT {key} item"));
        assert_eq!(count(&mut reader), count(&mut writer));
    }
    for key in ["a", "b", "e"] {
        let info = format!("CF.INFO {key}");
        assert_eq!(
            ask::<Value>(&mut reader, &info),
            ask::<Value>(&mut writer, &info)
        );
    }
    let left: i64 = ask(&mut reader, "TTL e");
    assert!((4_000..=5_000).contains(&left), "{left}");
    for write in [
        "CF.ADD a x",
        "CF.ADDCOUNT c x",
        "CF.RESERVE n 10",
        "CF.DEL a item",
        "CF.MADD a x y",
        "CF.LOADCHUNK n 1 x",
        "DEL a",
        "EXPIRE a 1",
        "RENAME a z",
        "COPY a z",
        "FLUSHALL",
    ] {
        assert_eq!(refusal(&mut reader, write), READ_ONLY, "{write}");
    }
    // Calls that would run together, and a transaction.
    let mut raw = standby.raw();
    raw.send(request(&["CF.ADD", "a", "x"]).repeat(40));
    for _ in 0..40 {
        assert_eq!(raw.line(), format!("-{READ_ONLY}"));
    }
    assert_eq!(raw.ask(request(&["MULTI"])), "+OK");
    assert_eq!(
        raw.ask(request(&["CF.ADD", "a", "x"])),
        format!("-{READ_ONLY}")
    );
    let discarded = "-EXECABORT Transaction discarded because of previous errors.";
    assert_eq!(raw.ask(request(&["EXEC"])), discarded);
    assert_eq!(ask::<i64>(&mut reader, "CF.EXISTS a x"), 0);
    // The primary deletes and adds keys.
    ask::<()>(&mut writer, "DEL b");
    ask::<()>(&mut writer, "CF.ADD a second");
    ask::<()>(&mut writer, "PERSIST e");
    copy(&mut reader);
    assert_eq!(keys(&mut reader), ["a", "c", "e", "w"]);
    assert_eq!(ask::<i64>(&mut reader, "CF.EXISTS a second"), 1);
    assert_eq!(ask::<i64>(&mut reader, "TTL e"), -1);
}

#[test]
fn a_standby_is_promoted() {
    let primary = Server::start(&[]);
    let mut writer = primary.client(Protocol::Resp2);
    ask::<()>(&mut writer, "CF.ADD k a");
    let (_standby, mut client) = standby_of(primary.port, &[]);
    copy(&mut client);
    let role: Value = ask(&mut client, "ROLE");
    let Value::Array(role) = role else {
        panic!("{role:?}")
    };
    assert_eq!(role[0], Value::BulkString(b"slave".into()));
    assert_eq!(role[2], Value::Int(primary.port.into()));
    for (name, value) in [
        ("role", "slave"),
        ("master_link_status", "up"),
        ("slave_read_only", "1"),
    ] {
        assert_eq!(field(&mut client, name).unwrap(), value);
    }
    assert!(number(&mut client, "last_sync_age_seconds") < 60);
    let port = primary.port.to_string();
    for (host, port) in [("localhost", &port[..]), ("127.0.0.1", "1"), ("no", "two")] {
        let refused = refusal(&mut client, &format!("REPLICAOF {host} {port}"));
        assert!(
            refused.starts_with("ERR REPLICAOF takes NO ONE"),
            "{refused}"
        );
    }
    assert_eq!(field(&mut client, "role").unwrap(), "slave");
    ask::<()>(&mut client, "REPLICAOF no one");
    assert_eq!(field(&mut client, "role").unwrap(), "master");
    ask::<()>(&mut client, "CF.ADD own b");
    ask::<()>(&mut writer, "CF.ADD later c");
    // The server becomes a standby again, which removes the keys that the primary does not have.
    ask::<()>(&mut client, &format!("REPLICAOF 127.0.0.1 {port}"));
    copy(&mut client);
    assert_eq!(keys(&mut client), ["k", "later"]);
    // A transaction that was queued while the server was a primary.
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    ask::<()>(&mut client, "MULTI");
    ask::<()>(&mut client, "CF.ADD k late");
    let mut other = _standby.client(Protocol::Resp2);
    ask::<()>(&mut other, &format!("REPLICAOF 127.0.0.1 {port}"));
    let replies: Result<Vec<Value>, _> = common::try_ask(&mut client, "EXEC");
    let refused = match replies {
        Err(error) => common::text(&error),
        Ok(replies) => format!("{replies:?}"),
    };
    assert!(refused.contains("READONLY"), "{refused}");
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k late"), 0);
    // A server that is not a standby.
    assert_eq!(ask::<String>(&mut writer, "REPLICAOF NO ONE"), "OK");
    let refused = refusal(&mut writer, "REPLICAOF 127.0.0.1 1");
    assert!(
        refused.starts_with("ERR REPLICAOF takes NO ONE"),
        "{refused}"
    );
}

#[test]
fn a_standby_authenticates() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("password");
    fs::write(&file, "secret\n").unwrap();
    let file = file.to_str().unwrap();
    let primary = Server::start(&["--requirepass", "secret"]);
    for (arguments, is_right) in [
        (&[][..], false),
        (&["--masterauth", "wrong"], false),
        (&["--masterauth", "secret", "--masteruser", "other"], false),
        (&["--masterauth", "secret"], true),
        (
            &["--masterauth-file", file, "--masteruser", "default"],
            true,
        ),
    ] {
        let (_standby, mut client) = standby_of(primary.port, arguments);
        match is_right {
            true => copy(&mut client),
            false => {
                fail(&mut client);
                assert_eq!(number(&mut client, "syncs"), 0, "{arguments:?}");
            }
        }
    }
}

#[test]
fn the_snapshot_is_for_clients_that_may_have_it() {
    let server = Server::start(&["--requirepass", "secret"]);
    let mut raw = server.raw();
    assert_eq!(
        raw.ask("SNAPSHOT BEGIN\r\n"),
        "-NOAUTH Authentication required."
    );
    assert_eq!(raw.ask("AUTH secret\r\n"), "+OK");
    for (command, reply) in [
        (
            "SNAPSHOT",
            "-ERR wrong number of arguments for 'snapshot' command",
        ),
        (
            "SNAPSHOT READ",
            "-ERR wrong number of arguments for 'snapshot|read' command",
        ),
        (
            "SNAPSHOT READ 0",
            "-ERR there is no snapshot: send SNAPSHOT BEGIN",
        ),
        (
            "SNAPSHOT READ -1",
            "-ERR value is not an integer or out of range",
        ),
        (
            "SNAPSHOT END",
            "-ERR unknown subcommand 'END'. Try SNAPSHOT HELP.",
        ),
    ] {
        assert_eq!(raw.ask(format!("{command}\r\n")), reply);
    }
    assert_eq!(raw.ask("SNAPSHOT BEGIN\r\n"), "*2");
    let length = raw.line();
    assert!(length.starts_with(':') && raw.line().starts_with(':'));
    assert_eq!(raw.ask("SNAPSHOT READ 0\r\n"), length.replace(':', "$"));
    let disabled = Server::start(&["--disable-command", "SNAPSHOT,REPLICAOF"]);
    let mut client = disabled.client(Protocol::Resp2);
    assert!(refusal(&mut client, "SNAPSHOT BEGIN").starts_with("ERR unknown command"));
}

/// A standby saves the keys that it has.
#[test]
fn a_standby_saves_and_loads() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let primary = Server::start(&[]);
    ask::<()>(&mut primary.client(Protocol::Resp2), "CF.ADD k a");
    let (standby, mut client) = standby_of(primary.port, &["--dir", path]);
    copy(&mut client);
    ask::<()>(&mut client, "SAVE");
    drop(standby);
    // Its primary is gone, too.
    let port = primary.port;
    drop(primary);
    let (_standby, mut client) = standby_of(port, &["--dir", path]);
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
    fail(&mut client);
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
    assert_eq!(refusal(&mut client, "CF.ADD k b"), READ_ONLY);
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    ask::<()>(&mut client, "CF.ADD k b");
}

#[test]
fn a_standby_keeps_to_its_maxmemory() {
    let primary = Server::start(&[]);
    let mut writer = primary.client(Protocol::Resp2);
    ask::<()>(&mut writer, "CF.ADD small a");
    let (_standby, mut client) = standby_of(primary.port, &["--maxmemory", "4mb"]);
    copy(&mut client);
    ask::<()>(&mut writer, "CF.RESERVE large 10000000 EXPANSION 0");
    ask::<()>(&mut writer, "DEL small");
    fail(&mut client);
    assert_eq!(keys(&mut client), ["small"]);
    let (_, before) = (
        ask::<()>(&mut writer, "DEL large"),
        number(&mut client, "syncs"),
    );
    until("it copies again", || number(&mut client, "syncs") > before);
    copy(&mut client);
    assert!(keys(&mut client).is_empty());
    assert_eq!(common::memory(&mut client, "used_memory_dataset:"), 0);
}

#[test]
fn metrics_tell_the_role_and_the_age() {
    let primary = Server::start(&[]);
    let address = format!("127.0.0.1:{}", primary.port);
    let arguments = [
        "--metrics",
        "127.0.0.1:0",
        "--log",
        "info",
        "--replica-of",
        &address,
    ];
    let (standby, metrics) = Server::spawn_with_metrics(&mut common::command(&arguments));
    let mut client = standby.client(Protocol::Resp2);
    until("it copies", || number(&mut client, "syncs") > 0);
    let shows = |line: &str| common::get(metrics, "/metrics", "text/plain").contains(line);
    for line in [
        "\nguira_is_standby 1",
        "\nguira_syncs_total ",
        "\nguira_sync_failures_total 0",
        "\nguira_last_sync_age_seconds ",
    ] {
        assert!(shows(line), "{line}");
    }
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    assert!(shows("\nguira_is_standby 0"));
    let config: Vec<String> = ask(&mut client, "CONFIG GET replica-*");
    assert_eq!(config, ["replica-every", "60", "replica-of", &address]);
}

/// One standby can be the primary of another.
#[test]
fn standbys_are_chained() {
    let primary = Server::start(&[]);
    ask::<()>(&mut primary.client(Protocol::Resp2), "CF.ADD k a");
    let (middle, mut client) = standby_of(primary.port, &[]);
    copy(&mut client);
    let (_last, mut client) = standby_of(middle.port, &[]);
    copy(&mut client);
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
}

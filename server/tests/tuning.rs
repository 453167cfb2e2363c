//! Settings that are changed while the server runs.

use crate::common::{Protocol, Server, ask, refusal, request, until};
use redis::{Connection, Value};
use std::{collections::HashMap, io::Read};
use tempfile::TempDir;

fn setting(client: &mut Connection, name: &str) -> String {
    let mut settings: HashMap<String, String> = ask(client, &format!("CONFIG GET {name}"));
    settings.remove(name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_lower_maxmemory_refuses_inserts_and_a_higher_one_allows_them() {
    let server = Server::start(&["--maxmemory", "10mb"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 100000 EXPANSION 0");
    ask::<()>(&mut client, "CONFIG SET maxmemory 4kb");
    assert_eq!(setting(&mut client, "maxmemory"), "4096");
    let info: String = ask(&mut client, "INFO memory");
    assert!(info.contains("\r\nmaxmemory:4096\r\n"), "{info}");
    assert!(refusal(&mut client, "CF.ADD k a").starts_with("OOM"));
    assert!(refusal(&mut client, "CF.RESERVE l 100000 EXPANSION 0").contains("maxmemory, 4096,"));
    // Existing items can be read and deleted.
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 0);
    ask::<()>(&mut client, "CONFIG SET maxmemory 20mb");
    assert_eq!(ask::<i64>(&mut client, "CF.ADD k a"), 1);
    ask::<()>(&mut client, "CONFIG SET maxmemory 0");
    assert_eq!(setting(&mut client, "maxmemory"), "0");
    ask::<()>(&mut client, "CF.RESERVE l 10000000 EXPANSION 0");
}

/// A key can grow as far as the limit at its creation allows.
#[test]
fn the_growth_of_a_new_key_follows_maxmemory() {
    let server = Server::start(&["--maxmemory", "1gb"]);
    let mut client = server.client(Protocol::Resp2);
    let most = |client: &mut Connection, key: &str| -> u64 {
        ask::<()>(client, &format!("CF.RESERVE {key} 10000"));
        let text: String = ask(client, &format!("CF.DEBUG {key}"));
        let most = text.split("max_capacity:").nth(1).unwrap();
        most.split(' ').next().unwrap().parse().unwrap()
    };
    let wide = most(&mut client, "a");
    ask::<()>(&mut client, "CONFIG SET maxmemory 1mb");
    let narrow = most(&mut client, "b");
    assert!(narrow < wide, "{narrow} {wide}");
    ask::<()>(&mut client, "CONFIG SET maxmemory 1gb");
    assert_eq!(most(&mut client, "c"), wide);
}

#[test]
fn values_are_checked_before_any_setting_changes() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    for (words, expected) in [
        (
            "maxmemory x",
            "'maxmemory') - invalid value 'x' for '--maxmemory <SIZE>': not a size: give bytes, \
             or a number with kb, mb or gb",
        ),
        (
            "timeout 5 maxclients 0",
            "'maxclients') - invalid value '0' for '--maxclients <N>': not a count: give a number \
             from 1 to 18446744073709551615",
        ),
        (
            "timeout 5 log inof",
            "'log') - invalid value 'inof' for '--log <FILTER>': 'inof' is not a level: give off,",
        ),
        (
            "slowlog-max-len -1",
            "'slowlog-max-len') - invalid value '-1' for '--slowlog-max-len <N>': not a number: \
             give one from 0 to 4294967295",
        ),
        (
            "slowlog-log-slower-than -2",
            "not a time: give -1, or microseconds from 0 to 9223372036854775807",
        ),
        ("timeout 5 TIMEOUT 6", "'timeout') - duplicate parameter"),
        (
            "timeout 5 save-every 60",
            "'save-every') - there is nowhere to save to: start the server with --dir",
        ),
        (
            "maxclients 4000000000",
            "4000000000 clients do not fit: the limit for open files allows from 1 to ",
        ),
    ] {
        let refused = refusal(&mut client, &format!("CONFIG SET {words}"));
        assert!(
            refused.starts_with("ERR CONFIG SET failed (possibly related to argument '")
                && refused.contains(expected),
            "{words}: {refused}"
        );
    }
    assert_eq!(setting(&mut client, "timeout"), "0");
    let refused = refusal(&mut client, "CONFIG SET timeout 5 port 1");
    assert!(
        refused.starts_with("ERR CONFIG SET cannot change 'port': it changes latency-monitor"),
        "{refused}"
    );
    let long = "9".repeat(1_000);
    let refused = refusal(&mut client, &format!("CONFIG SET timeout {long}"));
    assert!(
        refused.ends_with("the value has 1000 bytes, and 256 are allowed"),
        "{refused}"
    );
    assert!(
        refusal(&mut client, "CONFIG SET timeout 5 log")
            .starts_with("ERR wrong number of arguments for 'config|set'")
    );
    assert!(refusal(&mut client, "CONFIG REWRITE").contains("is not supported"));
    assert_eq!(setting(&mut client, "timeout"), "0");
}

/// The server's soft limit for open files.
#[cfg(target_os = "linux")]
fn open_files(server: &Server) -> String {
    let limits = format!("/proc/{}/limits", server.process.id());
    let limits = std::fs::read_to_string(limits).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    line.unwrap().split_whitespace().next().unwrap().to_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn only_a_change_that_is_made_raises_the_limit_for_open_files() {
    let start = crate::common::command(&["--maxclients", "100"]);
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "ulimit -S -n 256 && exec \"$0\" \"$@\""])
        .arg(start.get_program())
        .args(start.get_args())
        .stdout(std::process::Stdio::piped());
    for (name, _) in start.get_envs() {
        shell.env_remove(name);
    }
    let server = Server::spawn(&mut shell);
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(open_files(&server), "256");
    // The second setting is refused, and so is the first.
    refusal(&mut client, "CONFIG SET maxclients 300 save-every 60");
    refusal(&mut client, "CONFIG SET maxclients 4000000000");
    assert_eq!(open_files(&server), "256");
    assert_eq!(setting(&mut client, "maxclients"), "100");
    ask::<()>(&mut client, "CONFIG SET maxclients 300");
    assert_eq!(open_files(&server), "364");
}

#[test]
fn saves_begin_and_end_at_the_interval_that_is_set() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let server = Server::start(&["--dir", path, "--save-every", "0"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    assert_eq!(setting(&mut client, "save"), "");
    ask::<()>(&mut client, "CONFIG SET save-every 1");
    assert_eq!(setting(&mut client, "save"), "1 1");
    let path = directory.path().join("guira.save");
    until("it saves", || path.exists());
    ask::<()>(&mut client, "CONFIG SET save-every 0");
    assert_eq!(setting(&mut client, "save-every"), "0");
    assert_eq!(setting(&mut client, "save"), "");
}

#[test]
fn one_client_too_many_is_one_beyond_the_new_limit() {
    let server = Server::start(&["--maxclients", "1"]);
    let mut client = server.client(Protocol::Resp2);
    let refused = String::from_utf8(server.raw().rest()).unwrap();
    assert_eq!(refused, "-ERR max number of clients reached\r\n");
    ask::<()>(&mut client, "CONFIG SET maxclients 2");
    let info: String = ask(&mut client, "INFO clients");
    assert!(info.contains("maxclients:2\r\n"), "{info}");
    until("the refused client has gone", || {
        let mut next = server.raw();
        next.ask("PING\r\n") == "+PONG"
    });
}

#[test]
fn a_new_limit_for_replies_holds_for_clients_that_are_there() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    for key in 0..100 {
        ask::<()>(&mut client, &format!("CF.ADD {key:01000} a"));
    }
    assert_eq!(ask::<Vec<String>>(&mut client, "KEYS *").len(), 100);
    ask::<()>(&mut client, "CONFIG SET max-output 64kb");
    let refused = refusal(&mut client, "KEYS *");
    assert!(refused.contains("more than the 65536 bytes"), "{refused}");
    // As in Redis, 0 means no limit.
    ask::<()>(&mut client, "CONFIG SET max-output 0");
    assert_eq!(setting(&mut client, "max-output"), "0");
    assert_eq!(ask::<Vec<String>>(&mut client, "KEYS *").len(), 100);
}

/// No value locks out the client that has to correct it.
#[test]
fn the_least_limit_for_replies_leaves_room_to_change_it() {
    let mut start = crate::common::command(&["--max-output", "64kb"]);
    let server = Server::spawn(start.env("GUIRA_REQUIREPASS", "secret"));
    let mut client = server.raw();
    assert_eq!(client.ask("AUTH secret\r\n"), "+OK");
    for value in ["1", "65535"] {
        let refused = client.ask(request(&["CONFIG", "SET", "max-output", value]));
        let expected = format!(
            "'max-output') - invalid value '{value}' for '--max-output <SIZE>': too small: give 0 \
             for no limit, or at least 65536 bytes"
        );
        assert!(refused.ends_with(&expected), "{refused}");
    }
    let mut client = server.raw();
    // This is the largest possible reply, and it arrives completely.
    let all = "AUTH secret\r\nMULTI\r\nINFO everything\r\nCONFIG GET *\r\nEXEC\r\n";
    client.send(all);
    for expected in ["+OK", "+OK", "+QUEUED", "+QUEUED", "*2"] {
        assert_eq!(client.line(), expected);
    }
}

#[test]
fn the_log_has_what_its_new_filter_lets_through() {
    let mut log = tempfile::NamedTempFile::new().unwrap();
    let mut start = crate::common::command(&["--log", "error"]);
    let server = Server::spawn(start.stderr(log.reopen().unwrap()));
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CONFIG SET timeout 1000");
    ask::<()>(&mut client, "CONFIG SET log info");
    assert_eq!(setting(&mut client, "log"), "info");
    ask::<()>(&mut client, "CONFIG SET timeout 2000");
    ask::<()>(&mut client, "CONFIG SET log off");
    ask::<()>(&mut client, "CONFIG SET timeout 3000");
    drop(client);
    assert!(server.terminate().success());
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(text.contains("value=2000"), "{text}");
    assert!(
        !text.contains("value=1000") && !text.contains("value=3000"),
        "{text}"
    );
}

#[test]
fn settings_need_the_password_and_the_command() {
    let mut start = crate::common::command(&[]);
    let server = Server::spawn(start.env("GUIRA_REQUIREPASS", "secret"));
    let mut client = server.raw();
    let set = request(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(client.ask(&set), "-NOAUTH Authentication required.");
    assert_eq!(client.ask("AUTH secret\r\n"), "+OK");
    assert_eq!(client.ask(&set), "+OK");
    let server = Server::start(&["--disable-command", "config"]);
    let refused = server.raw().ask(&set);
    assert!(
        refused.starts_with("-ERR unknown command 'CONFIG'"),
        "{refused}"
    );
}

#[test]
fn latency_is_sampled_from_the_threshold_on() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(ask::<Vec<Value>>(&mut client, "LATENCY LATEST"), []);
    assert_eq!(
        ask::<Vec<Value>>(&mut client, "LATENCY HISTORY command"),
        []
    );
    assert_eq!(ask::<i64>(&mut client, "LATENCY RESET"), 0);
    let text: String = ask(&mut client, "LATENCY DOCTOR");
    assert!(text.starts_with("Latency is not monitored"), "{text}");
    ask::<()>(&mut client, "CONFIG SET latency-monitor-threshold 1");
    // Items are hashed and inserted one after another, which takes longer than a millisecond.
    let items: Vec<String> = (0..200_000).map(|item| item.to_string()).collect();
    let mut insert = redis::cmd("CF.MADD");
    insert.arg("k").arg(&items);
    let _: Vec<i64> = insert.query(&mut client).unwrap();
    let latest: Vec<(String, i64, i64, i64)> = ask(&mut client, "LATENCY LATEST");
    let [(event, at, last, longest)] = latest.as_slice() else {
        panic!("{latest:?}");
    };
    assert_eq!(event, "fast-command");
    assert!(
        *at > 1_600_000_000 && *last >= 1 && longest >= last,
        "{latest:?}"
    );
    let history: Vec<(i64, i64)> = ask(&mut client, "LATENCY HISTORY fast-command");
    assert!(history.contains(&(*at, *last)), "{history:?}");
    let text: String = ask(&mut client, "LATENCY DOCTOR");
    assert!(text.starts_with("fast-command: samples in "), "{text}");
    assert!(ask::<i64>(&mut client, "LATENCY RESET") >= 1);
    assert!(refusal(&mut client, "LATENCY NONE").starts_with("ERR unknown subcommand"));
    assert!(refusal(&mut client, "LATENCY HISTORY").starts_with("ERR wrong number"));
}

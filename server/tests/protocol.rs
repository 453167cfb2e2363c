//! The wire protocol: pipelining, inline commands, both protocols byte by byte, and passwords.

use crate::common::{PROTOCOLS, Protocol, Server, ask, refusal, request};
use redis::Value;
use std::io::Write;

#[test]
fn replies_byte_by_byte() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    let cases = [
        ("PING", "+PONG"),
        ("CF.RESERVE k 1000", "+OK"),
        ("CF.ADD k a", ":1"),
        ("CF.EXISTS k b", ":0"),
        ("CF.RESERVE k 1000", "-ERR item exists"),
        ("CF.DEL none a", "-Not found"),
        ("CLIENT GETNAME", "$-1"),
    ];
    for (words, expected) in cases {
        assert_eq!(client.ask(format!("{words}\r\n")), expected, "{words}");
        let words: Vec<&str> = words.split(' ').collect();
        if words[0] != "CF.RESERVE" || expected != "+OK" {
            assert_eq!(client.ask(request(&words)), expected, "{words:?}");
        }
    }
    assert_eq!(client.ask("HELLO 3\r\nPING end\r\n"), "%7");
    while client.line() != "end" {}
    let cases = [
        ("CF.ADD k a", "#t"),
        ("CF.EXISTS k b", "#f"),
        ("CF.COUNT k a", ":3"),
        ("CLIENT GETNAME", "_"),
    ];
    for (words, expected) in cases {
        assert_eq!(client.ask(format!("{words}\r\n")), expected, "{words}");
    }
    assert_eq!(client.ask("CF.INFO k\r\n"), "%8");
}

#[test]
fn inline_commands_are_words_and_quotes() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    client.send("\r\n \r\n");
    assert_eq!(client.ask("ping\n"), "+PONG");
    assert_eq!(client.ask("CF.ADD \"a key\" 'an item'\r\n"), ":1");
    assert_eq!(
        client.ask(request(&["CF.EXISTS", "a key", "an item"])),
        ":1"
    );
    assert_eq!(client.ask("CF.ADD k \"\\x00\\r\\n\"\r\n"), ":1");
    assert_eq!(client.ask(request(&["CF.EXISTS", "k", "\0\r\n"])), ":1");
    // Both kinds of command in one pipeline.
    client.send(
        [
            b"PING\r\n".to_vec(),
            request(&["PING"]),
            b"PING\r\n".to_vec(),
        ]
        .concat(),
    );
    for _ in 0..3 {
        assert_eq!(client.line(), "+PONG");
    }
}

#[test]
fn pipelines_are_answered_in_order() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        let key = format!("{protocol:?}");
        let mut pipeline = redis::pipe();
        for item in 0..20_000 {
            pipeline.cmd("CF.ADD").arg(&key).arg(item);
            pipeline.cmd("CF.EXISTS").arg(&key).arg(item);
            pipeline.cmd("ECHO").arg(item);
        }
        let replies: Vec<Value> = pipeline.query(&mut client).unwrap();
        assert_eq!(replies.len(), 60_000);
        for (item, replies) in replies.chunks(3).enumerate() {
            assert_eq!(replies[0], protocol.boolean(true));
            assert_eq!(replies[1], protocol.boolean(true));
            assert_eq!(replies[2], Value::BulkString(item.to_string().into()));
        }
    }
}

/// Lookups of one key run together. Their order, other commands between them, and errors must not
/// be mixed up.
#[test]
fn successive_lookups_are_answered_in_order() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    for item in (0..100).step_by(2) {
        assert_eq!(client.ask(format!("CF.ADD k {item}\r\n")), ":1");
    }
    // False positives are left out, because they are correct replies.
    let absent = |client: &mut crate::common::Raw, item: &u32| {
        client.ask(format!("CF.COUNT k {item}\r\n")) == ":0"
    };
    let absent: Vec<u32> = (1..100)
        .step_by(2)
        .filter(|item| absent(&mut client, item))
        .collect();
    let (mut sent, mut expected) = (Vec::new(), Vec::new());
    for (round, item) in (0..100).step_by(2).zip(absent.iter().cycle()) {
        sent.extend(request(&["cf.exists", "k", &round.to_string()]));
        sent.extend(request(&["CF.EXISTS", "k", &item.to_string()]));
        expected.extend([":1", ":0"]);
        match round % 8 {
            0 => {
                sent.extend(request(&["CF.EXISTS", "none", &round.to_string()]));
                expected.push(":0");
            }
            2 => {
                sent.extend(request(&["CF.EXISTS", "k"]));
                expected.push("-ERR wrong number of arguments for 'cf.exists' command");
            }
            4 => {
                sent.extend(b"PING\r\n");
                expected.push("+PONG");
            }
            _ => {}
        }
    }
    sent.extend(request(&["CF.EXISTS", "k", "0"]));
    sent.extend(b"*x\r\n");
    expected.extend([":1", "-ERR Protocol error: invalid multibulk length"]);
    client.send(sent);
    let rest = String::from_utf8(client.rest()).unwrap();
    assert_eq!(rest.lines().collect::<Vec<_>>(), expected);
    let mut client = server.client(Protocol::Resp2);
    let info: String = ask(&mut client, "INFO commandstats");
    // 100 calls in pairs, 13 of another key, 13 without an item, and the last one.
    let counts = info
        .lines()
        .find(|line| line.starts_with("cmdstat_cf.exists:"))
        .unwrap();
    assert!(
        counts.contains("calls=127,") && counts.ends_with("failed_calls=13"),
        "{counts}"
    );
}

/// Adds also keep their order, and an error belongs to its own item.
#[test]
fn successive_adds_are_answered_in_order() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    assert_eq!(
        client.ask("CF.RESERVE k 1000000 EXPANSION 0 ERROR 0.000001\r\n"),
        "+OK"
    );
    let mut sent = Vec::new();
    for item in 0..50 {
        // Every other add has the same item.
        sent.extend(request(&["CF.ADD", "k", "same"]));
        sent.extend(request(&["cf.add", "k", &item.to_string()]));
        match item % 10 {
            3 => sent.extend(request(&["CF.ADD", "other", &item.to_string()])),
            6 => sent.extend(request(&["CF.ADD", "k"])),
            9 => sent.extend(request(&["CF.EXISTS", "k", &item.to_string()])),
            _ => {}
        }
    }
    client.send(sent);
    let mut same = Vec::new();
    for item in 0..50 {
        same.push(client.line());
        assert_eq!(client.line(), ":1", "{item}");
        match item % 10 {
            3 | 9 => assert_eq!(client.line(), ":1"),
            6 => assert_eq!(
                client.line(),
                "-ERR wrong number of arguments for 'cf.add' command"
            ),
            _ => {}
        }
    }
    let count: usize = client.ask("CF.COUNT k same\r\n")[1..].parse().unwrap();
    let full = format!("-Filter is full of copies of this item: {count} is the most");
    let mut expected = vec![":1"; count];
    expected.resize(50, &full);
    assert_eq!(same, expected);
    let mut client = server.client(Protocol::Resp2);
    let info: String = ask(&mut client, "INFO commandstats");
    let counts = info
        .lines()
        .find(|line| line.starts_with("cmdstat_cf.add:"))
        .unwrap();
    let failed = 50 - count + 5;
    assert!(
        counts.contains("calls=110,") && counts.ends_with(&format!("failed_calls={failed}")),
        "{counts}, {count} copies"
    );
}

#[test]
fn requests_may_come_byte_by_byte() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    let requests = [
        request(&["CF.ADD", "k", "a"]),
        b"CF.EXISTS k a\r\n".to_vec(),
    ]
    .concat();
    for byte in requests {
        client.send([byte]);
    }
    assert_eq!(client.line(), ":1");
    assert_eq!(client.line(), ":1");
}

#[test]
fn a_request_of_a_hundred_thousand_items() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    let items: Vec<String> = (0..100_000).map(|item| format!("{item:040}")).collect();
    let inserted: Vec<bool> = redis::cmd("CF.INSERT")
        .arg("k")
        .arg("CAPACITY")
        .arg(items.len())
        .arg("ITEMS")
        .arg(&items)
        .query(&mut client)
        .unwrap();
    assert_eq!(inserted, vec![true; items.len()]);
}

#[test]
fn garbage_ends_a_connection_with_an_error() {
    let server = Server::start(&[]);
    let mut other = server.client(Protocol::Resp3);
    let cases: [(&[u8], &str); 12] = [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*99999999999999999999\r\n", "invalid multibulk length"),
        (b"*2000000000\r\n", "invalid multibulk length"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"*1\r\n*1\r\n$1\r\nx\r\n", "expected '$', got '*'"),
        (b"*1\r\n\xff\r\n", r"expected '$', got '\xff'"),
        (b"*1\r\n$x\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$9223372036854775807\r\n", "invalid bulk length"),
        (b"*2\r\n$4\r\nPING\r\n$536870912\r\n", "invalid bulk length"),
        (b"\"unbalanced\r\n", "unbalanced quotes in request"),
        (&[b'x'; 70_000], "too big inline request"),
    ];
    for (garbage, expected) in cases {
        let mut client = server.raw();
        // The command before the garbage gets its reply.
        client.send(request(&["PING"]));
        // The server may close the connection during this.
        let _ = client.0.get_mut().write_all(garbage);
        let rest = String::from_utf8(client.rest()).unwrap();
        let expected = format!("+PONG\r\n-ERR Protocol error: {expected}\r\n");
        assert_eq!(
            rest,
            expected,
            "{}",
            garbage[..garbage.len().min(40)].escape_ascii()
        );
        assert_eq!(ask::<String>(&mut other, "PING"), "PONG");
    }
    let info: String = ask(&mut other, "INFO stats");
    assert!(info.contains("protocol_errors:12\r\n"), "{info}");
}

#[test]
fn requests_of_nothing_are_passed_over() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    client.send("*0\r\n*-1\r\n");
    assert_eq!(client.ask(request(&["PING"])), "+PONG");
}

#[test]
fn replies_cannot_be_forged_through_names() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    let line = client.ask(request(&["NO\r\n+OK", "x\r\ny"]));
    assert_eq!(
        line,
        "-ERR unknown command 'NO  +OK', with args beginning with: 'x  y' "
    );
    assert_eq!(client.ask(request(&["PING"])), "+PONG");
}

#[test]
fn quit_and_reset() {
    let server = Server::start(&[]);
    let mut client = server.raw();
    assert_eq!(client.ask("CLIENT SETNAME me\r\n"), "+OK");
    assert_eq!(client.ask("RESET\r\n"), "+RESET");
    assert_eq!(client.ask("CLIENT GETNAME\r\n"), "$-1");
    client.send("QUIT\r\nPING\r\n");
    assert_eq!(client.rest(), b"+OK\r\n");
}

#[test]
fn nothing_goes_without_the_password() {
    let mut command = crate::common::command(&[]);
    let server = Server::spawn(command.env("GUIRA_REQUIREPASS", "secret"));
    let mut client = server.raw();
    for words in [
        "PING",
        "CF.ADD k a",
        "INFO",
        "FLUSHALL",
        "SHUTDOWN",
        "SAVE",
        "COMMAND",
    ] {
        // The client sends it twice at once: the first must not let the second through.
        client.send(format!("{words}\r\n{words}\r\n"));
        assert_eq!(client.line(), "-NOAUTH Authentication required.", "{words}");
        assert_eq!(client.line(), "-NOAUTH Authentication required.", "{words}");
    }
    assert!(
        client
            .ask("HELLO 3\r\n")
            .starts_with("-NOAUTH HELLO must be called")
    );
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    for words in [
        "AUTH x",
        "AUTH secre",
        "AUTH secrets",
        "AUTH other secret",
        "HELLO 3 AUTH default x",
    ] {
        assert_eq!(client.ask(format!("{words}\r\n")), wrong, "{words}");
    }
    assert_eq!(client.ask("PING\r\n"), "-NOAUTH Authentication required.");
    assert_eq!(client.ask("AUTH secret\r\n"), "+OK");
    assert_eq!(client.ask("PING\r\n"), "+PONG");
    assert_eq!(client.ask("RESET\r\n"), "+RESET");
    assert_eq!(client.ask("PING\r\n"), "-NOAUTH Authentication required.");
    assert_eq!(
        client.ask("HELLO 3 AUTH default secret SETNAME me\r\n"),
        "%7"
    );
    // Clients that have not authenticated cannot make the server keep much.
    let mut stranger = server.raw();
    stranger.send("*1\r\n$1000000\r\n");
    assert_eq!(
        stranger.rest(),
        b"-ERR Protocol error: invalid bulk length\r\n"
    );

    for protocol in ["resp2", "resp3"] {
        let url = |password: &str| {
            format!(
                "redis://:{password}@127.0.0.1:{}/?protocol={protocol}",
                server.port
            )
        };
        let mut client = redis::Client::open(url("secret"))
            .unwrap()
            .get_connection()
            .unwrap();
        assert_eq!(ask::<String>(&mut client, "PING"), "PONG");
        assert!(
            redis::Client::open(url("wrong"))
                .unwrap()
                .get_connection()
                .is_err()
        );
        let info: String = ask(&mut client, "INFO stats");
        assert!(!info.contains("acl_access_denied_auth:0"), "{info}");
        assert!(refusal(&mut client, "AUTH wrong").starts_with("WRONGPASS"));
    }
}

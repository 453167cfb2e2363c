//! CLIENT, SLOWLOG and CONFIG, which operators use to inspect and change the server.

use crate::common::{PATIENCE, PROTOCOLS, Protocol, Server, ask, refusal, try_ask, until};
use redis::{Connection, Value};
use std::collections::HashMap;

/// The clients that `text` describes.
fn parse(text: &str) -> Vec<HashMap<String, String>> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').expect("a name and a value");
        (name.to_owned(), value.to_owned())
    };
    text.lines()
        .map(|line| line.split(' ').map(pair).collect())
        .collect()
}

#[test]
fn all_clients_are_listed() {
    for protocol in PROTOCOLS {
        let server = Server::start(&[]);
        let mut first = server.client(protocol);
        let mut second = server.client(Protocol::Resp3);
        ask::<()>(&mut first, "CLIENT SETNAME first");
        ask::<()>(&mut first, "CLIENT SETINFO LIB-NAME test");
        ask::<()>(&mut second, "CF.ADD k a");
        let ids: Vec<u64> = vec![ask(&mut first, "CLIENT ID"), ask(&mut second, "CLIENT ID")];
        ask::<()>(&mut second, "CF.ADD k a");
        let list = parse(&ask::<String>(&mut first, "CLIENT LIST"));
        assert_eq!(list.len(), 2, "{list:?}");
        for (client, id) in list.iter().zip(&ids) {
            assert_eq!(client["id"], id.to_string());
            assert!(client["addr"].starts_with("127.0.0.1:"));
            assert_eq!(client["laddr"], format!("127.0.0.1:{}", server.port));
            for (name, value) in [
                ("age", "0"),
                ("idle", "0"),
                ("db", "0"),
                ("user", "default"),
            ] {
                assert!(
                    client[name] == value || name == "age" || name == "idle",
                    "{client:?}"
                );
            }
        }
        assert_eq!(list[0]["name"], "first");
        assert_eq!(list[0]["lib-name"], "test");
        assert_eq!(list[0]["cmd"], "client");
        assert_eq!(list[1]["cmd"], "cf.add");
        assert_eq!(list[1]["resp"], "3");
        let itself = parse(&ask::<String>(&mut second, "CLIENT INFO"));
        assert_eq!(itself.len(), 1);
        assert_eq!(itself[0]["id"], ids[1].to_string());
        let one = ask::<String>(&mut first, &format!("CLIENT LIST ID {} 99", ids[1]));
        assert_eq!(parse(&one)[0]["id"], ids[1].to_string());
        assert_eq!(
            parse(&ask::<String>(&mut first, "CLIENT LIST TYPE normal")).len(),
            2
        );
        assert_eq!(ask::<String>(&mut first, "CLIENT LIST TYPE replica"), "");
        for (words, error) in [
            ("CLIENT LIST TYPE x", "ERR Unknown client type 'x'"),
            ("CLIENT LIST ID x", "ERR Invalid client ID"),
            ("CLIENT LIST ID", "ERR syntax error"),
            ("CLIENT LIST NOW", "ERR syntax error"),
            ("CLIENT NO-EVICT x", "ERR syntax error"),
        ] {
            assert_eq!(refusal(&mut first, words), error);
        }
        drop(second);
        until("the other one has gone", || clients(&mut first) == 1);
    }
}

/// The fields of Redis 7.4, in its order.
#[test]
fn a_client_is_described_in_all_fields() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    let mut other = server.client(Protocol::Resp3);
    let text: String = ask(&mut client, "CLIENT INFO");
    let names: Vec<_> = text
        .trim_end()
        .split(' ')
        .filter_map(|pair| pair.split('=').next())
        .collect();
    let expected = "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free \
                    argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name \
                    lib-ver";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    let fields = &parse(&text)[0];
    assert!(fields["fd"].parse::<i32>().unwrap() > 2, "{text}");
    assert_eq!(
        (&*fields["multi"], &*fields["watch"], &*fields["flags"]),
        ("-1", "0", "N")
    );
    ask::<()>(&mut other, "WATCH a b");
    ask::<()>(&mut other, "MULTI");
    ask::<()>(&mut other, "CF.ADD a x");
    let id: u64 = {
        let list = parse(&ask::<String>(&mut client, "CLIENT LIST"));
        list.iter()
            .map(|it| it["id"].parse().unwrap())
            .max()
            .unwrap()
    };
    let mut seen = || {
        let text: String = ask(&mut client, &format!("CLIENT LIST ID {id}"));
        parse(&text).remove(0)
    };
    let fields = seen();
    assert_eq!(
        (&*fields["multi"], &*fields["watch"], &*fields["flags"]),
        ("1", "2", "x")
    );
    assert!(fields["multi-mem"].parse::<usize>().unwrap() > 0);
    ask::<()>(&mut other, "EXEC");
    let fields = seen();
    assert_eq!(
        (&*fields["multi"], &*fields["watch"], &*fields["flags"]),
        ("-1", "0", "N")
    );
}

/// Other clients see what is left after a refusal.
#[test]
fn a_refused_watch_and_a_refused_command_are_seen() {
    let server = Server::start(&["--maxmemory", "64kb"]);
    let mut client = server.client(Protocol::Resp2);
    let mut other = server.client(Protocol::Resp2);
    let id: u64 = ask(&mut client, "CLIENT ID");
    let mut seen = |name: &str| -> i64 {
        let list = parse(&ask::<String>(&mut other, &format!("CLIENT LIST ID {id}")));
        list[0][name].parse().unwrap()
    };
    let keys: Vec<String> = ('a'..='z')
        .map(|key| key.to_string().repeat(4000))
        .collect();
    let refused = refusal(&mut client, &format!("WATCH {}", keys.join(" ")));
    assert!(refused.starts_with("OOM "), "{refused}");
    let watched = seen("watch");
    assert!((1..26).contains(&watched), "{watched}");
    assert!(seen("multi-mem") >= 4000 * watched);
    ask::<()>(&mut client, "UNWATCH");
    assert_eq!((seen("watch"), seen("multi-mem")), (0, 0));

    ask::<()>(&mut client, "MULTI");
    ask::<()>(&mut client, "CF.EXISTS k a");
    assert_eq!(seen("multi"), 1);
    refusal(&mut client, "CF.EXISTS k");
    assert_eq!(seen("multi"), 0);
    assert!(refusal(&mut client, "EXEC").starts_with("EXECABORT"));
    assert_eq!(seen("multi"), -1);
}

/// The connections on the list.
fn clients(client: &mut Connection) -> usize {
    parse(&ask::<String>(client, "CLIENT LIST")).len()
}

/// Asserts that the server closes the connection, after its current command.
fn assert_ends(client: &mut Connection) {
    until("the connection ends", || {
        match try_ask::<Value>(client, "PING") {
            Ok(_) => false,
            Err(error) => error.is_io_error(),
        }
    });
}

#[test]
fn clients_can_be_ended() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        let id: u64 = ask(&mut client, "CLIENT ID");
        let local = format!("127.0.0.1:{}", server.port);
        for words in [
            "ID {id}",
            "ADDR {addr}",
            "{addr}",
            "LADDR {laddr} ID {id} USER default",
        ] {
            let mut other = server.client(protocol);
            let info = parse(&ask::<String>(&mut other, "CLIENT INFO"));
            let words = words.replace("{id}", &info[0]["id"]);
            let words = words
                .replace("{addr}", &info[0]["addr"])
                .replace("{laddr}", &local);
            let killed: Value = ask(&mut client, &format!("CLIENT KILL {words}"));
            let old_form = !words.contains(' ');
            assert_eq!(killed, if old_form { Value::Okay } else { Value::Int(1) });
            assert_ends(&mut other);
        }
        // A client is listed slightly longer than its connection is open.
        until("they have gone", || clients(&mut client) == 1);
        let mut others: Vec<_> = (0..3).map(|_| server.client(protocol)).collect();
        assert_eq!(ask::<i64>(&mut client, "CLIENT KILL TYPE replica"), 0);
        assert_eq!(
            ask::<i64>(&mut client, "CLIENT KILL TYPE normal SKIPME yes"),
            3
        );
        for other in &mut others {
            assert_ends(other);
        }
        assert_eq!(ask::<i64>(&mut client, "CLIENT KILL MAXAGE 1000"), 0);
        for (words, error) in [
            ("CLIENT KILL 1.2.3.4:5", "ERR No such client"),
            ("CLIENT KILL ID 0", "ERR client-id should be greater than 0"),
            ("CLIENT KILL USER x", "ERR No such user 'x'"),
            ("CLIENT KILL TYPE x", "ERR Unknown client type 'x'"),
            ("CLIENT KILL SKIPME x", "ERR syntax error"),
            ("CLIENT KILL ID 1 SKIPME", "ERR syntax error"),
            (
                "CLIENT KILL",
                "ERR wrong number of arguments for 'client|kill' command",
            ),
        ] {
            assert_eq!(refusal(&mut client, words), error);
        }
        // A client can end its own connection, after the reply.
        assert_eq!(
            ask::<i64>(&mut client, &format!("CLIENT KILL ID {id} SKIPME no")),
            1
        );
        assert_ends(&mut client);
    }
    // A client that does not read its replies is ended, too.
    let mut other = server.raw();
    let id: u64 = other.ask("CLIENT ID\r\n")[1..].parse().unwrap();
    let mut client = server.client(Protocol::Resp2);
    let line = format!("ECHO {}\r\n", "x".repeat(10_000));
    other.send(line.repeat(1000));
    assert_eq!(ask::<i64>(&mut client, &format!("CLIENT KILL ID {id}")), 1);
    until("it has gone", || clients(&mut client) == 1);
}

#[test]
fn slow_commands_are_logged() {
    let server = Server::start(&["--slowlog-log-slower-than", "0", "--slowlog-max-len", "5"]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        ask::<()>(&mut client, "CLIENT SETNAME me");
        assert_eq!(ask::<Value>(&mut client, "SLOWLOG RESET"), Value::Okay);
        type Entry = (i64, i64, i64, Vec<String>, String, String);
        let mut raw = server.raw();
        raw.ask("AUTH default secret\r\n");
        raw.ask(format!("CF.DEL k {}\r\n", "x".repeat(200)));
        raw.ask(format!("EXISTS{}\r\n", " k".repeat(40)));
        let log: Vec<Entry> = ask(&mut client, "SLOWLOG GET 3");
        assert_eq!(log.len(), 3);
        let words: Vec<_> = log.iter().map(|entry| entry.3.clone()).collect();
        assert_eq!(words[0].len(), 32);
        assert_eq!(words[0][31], "... (10 more arguments)");
        assert_eq!(
            words[1][2],
            format!("{}... (72 more bytes)", "x".repeat(128))
        );
        assert_eq!(words[2], ["AUTH", "(redacted)"]);
        assert!(log[0].0 > log[1].0 && log[0].1 > 1_600_000_000);
        assert!(log[0].2 < PATIENCE.as_micros() as i64 && log[0].4.starts_with("127.0.0.1:"));
        let log: Vec<Entry> = ask(&mut client, "SLOWLOG GET");
        assert_eq!(log[0].3, ["SLOWLOG", "GET", "3"]);
        assert_eq!(log[0].5, "me");
        assert_eq!(ask::<Vec<Entry>>(&mut client, "SLOWLOG GET -1").len(), 5);
        assert_eq!(ask::<i64>(&mut client, "SLOWLOG LEN"), 5);
        // The log has the commands of a transaction one by one, and then `EXEC`.
        for words in ["MULTI", "ECHO a", "EXEC"] {
            ask::<()>(&mut client, words);
        }
        let log: Vec<Entry> = ask(&mut client, "SLOWLOG GET 3");
        assert_eq!(log[2].3, ["MULTI"]);
        assert_eq!(
            (&*log[0].3[0], &log[1].3[..]),
            ("EXEC", &["ECHO".into(), "a".into()][..])
        );
        ask::<()>(
            &mut client,
            "CONFIG SET slowlog-log-slower-than 3600000000 slowlog-max-len 2",
        );
        assert_eq!(ask::<i64>(&mut client, "SLOWLOG LEN"), 2);
        ask::<()>(&mut client, "SLOWLOG RESET");
        ask::<()>(&mut client, "PING");
        assert_eq!(ask::<i64>(&mut client, "SLOWLOG LEN"), 0);
        let settings: HashMap<String, String> = ask(&mut client, "CONFIG GET slowlog*");
        assert_eq!(settings["slowlog-log-slower-than"], "3600000000");
        assert_eq!(settings["slowlog-max-len"], "2");
        for (words, error) in [
            (
                "SLOWLOG GET x",
                "ERR count should be greater than or equal to -1",
            ),
            ("SLOWLOG X", "ERR unknown subcommand 'X'. Try SLOWLOG HELP."),
            (
                "CONFIG SET slowlog-max-len 1 slowlog-log-slower-than x",
                "ERR CONFIG SET failed (possibly related to argument 'slowlog-log-slower-than') \
                 - invalid value 'x' for '--slowlog-log-slower-than <MICROSECONDS>': not a time: give \
                 -1, or microseconds from 0 to 9223372036854775807",
            ),
            (
                "CONFIG SET slowlog-max-len",
                "ERR wrong number of arguments for 'config|set' command",
            ),
        ] {
            assert_eq!(refusal(&mut client, words), error);
        }
        let settings: HashMap<String, String> = ask(&mut client, "CONFIG GET slowlog-max-len");
        assert_eq!(settings["slowlog-max-len"], "2", "all or none");
        assert!(!ask::<Vec<String>>(&mut client, "SLOWLOG HELP").is_empty());
        ask::<()>(
            &mut client,
            "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 5",
        );
    }
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CONFIG SET slowlog-log-slower-than -1");
    ask::<()>(&mut client, "SLOWLOG RESET");
    ask::<()>(&mut client, "PING");
    assert_eq!(ask::<i64>(&mut client, "SLOWLOG LEN"), 0);
}

/// The number of counted connections.
fn connected(client: &mut Connection) -> usize {
    let info: String = ask(client, "INFO clients");
    let count = info
        .lines()
        .find_map(|line| line.strip_prefix("connected_clients:"));
    count.expect("they are counted").parse().unwrap()
}

#[test]
fn counters_can_be_reset() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        let id: i64 = ask(&mut client, "CLIENT ID");
        ask::<()>(&mut client, "CF.ADD k a");
        // A deadline that has passed already would delete the key, which is no expiry.
        ask::<()>(&mut client, "PEXPIRE k 500");
        until("it expires, and the one before has gone", || {
            ask::<String>(&mut client, "INFO stats").contains("expired_keys:1\r\n")
                && connected(&mut client) == 1
        });
        assert_eq!(ask::<Value>(&mut client, "CONFIG RESETSTAT"), Value::Okay);
        let info: String = ask(&mut client, "INFO stats commandstats");
        for field in [
            "total_connections_received:0",
            "expired_keys:0",
            "total_error_replies:0",
        ] {
            assert!(info.contains(&format!("{field}\r\n")), "{info}");
        }
        assert!(!info.contains("cf.add"), "{info}");
        let mut next = server.client(protocol);
        assert!(
            ask::<i64>(&mut next, "CLIENT ID") > id,
            "numbers of clients go on"
        );
        assert_eq!(connected(&mut client), 2);
        drop(next);
        until("it has gone", || connected(&mut client) == 1);
    }
}

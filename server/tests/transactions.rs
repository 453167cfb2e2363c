//! MULTI and EXEC: commands are queued and run in order.

use crate::common::{Protocol, Server, ask, in_both, refusal, request, until};
use redis::Value;

fn queued() -> Value {
    Value::SimpleString("QUEUED".into())
}

#[test]
fn commands_are_queued_and_done_in_order() {
    in_both(|protocol, client| {
        let (yes, no) = (protocol.boolean(true), protocol.boolean(false));
        assert_eq!(ask::<Value>(client, "MULTI"), Value::Okay);
        for words in ["CF.EXISTS k a", "CF.ADD k a", "CF.EXISTS k a", "PING"] {
            assert_eq!(ask::<Value>(client, words), queued(), "{words}");
        }
        let Value::Array(replies) = ask(client, "EXEC") else {
            panic!("EXEC is answered with an array");
        };
        let pong = Value::SimpleString("PONG".into());
        assert_eq!(replies, [no, yes.clone(), yes, pong]);
        // The transaction has ended.
        assert_eq!(refusal(client, "EXEC"), "ERR EXEC without MULTI");
        let info: String = ask(client, "INFO commandstats");
        let calls = if protocol == Protocol::Resp2 { 2 } else { 4 };
        let counted = format!("cmdstat_cf.exists:calls={calls},");
        assert!(info.contains(&counted), "each counts once: {info}");
    });
}

/// A command that fails does not stop the commands after it.
#[test]
fn an_error_is_one_of_the_replies() {
    let server = Server::start(&[]);
    let mut raw = server.raw();
    raw.send("MULTI\r\nCF.INFO none\r\nCF.ADD k a\r\nEXEC\r\n");
    let lines: Vec<_> = (0..6).map(|_| raw.line()).collect();
    assert_eq!(
        lines,
        ["+OK", "+QUEUED", "+QUEUED", "*2", "-ERR not found", ":1"]
    );
}

#[test]
fn an_empty_transaction_does_nothing() {
    in_both(|_, client| {
        ask::<()>(client, "MULTI");
        assert_eq!(ask::<Value>(client, "EXEC"), Value::Array(Vec::new()));
    });
}

#[test]
fn what_is_discarded_is_not_done() {
    in_both(|protocol, client| {
        assert_eq!(refusal(client, "DISCARD"), "ERR DISCARD without MULTI");
        ask::<()>(client, "MULTI");
        assert_eq!(ask::<Value>(client, "CF.ADD k a"), queued());
        assert_eq!(ask::<Value>(client, "DISCARD"), Value::Okay);
        assert_eq!(refusal(client, "EXEC"), "ERR EXEC without MULTI");
        assert_eq!(
            ask::<Value>(client, "CF.EXISTS k a"),
            protocol.boolean(false)
        );
        ask::<()>(client, "MULTI");
        ask::<()>(client, "CF.ADD k a");
        assert_eq!(ask::<String>(client, "RESET"), "RESET");
        assert_eq!(refusal(client, "EXEC"), "ERR EXEC without MULTI");
        assert_eq!(ask::<i64>(client, "EXISTS k"), 0);
        if protocol == Protocol::Resp3 {
            ask::<std::collections::HashMap<String, Value>>(client, "HELLO 3");
        }
    });
}

#[test]
fn a_refused_command_ends_the_transaction() {
    let expected = "EXECABORT Transaction discarded because of previous errors.";
    in_both(|_, client| {
        for (words, error) in [
            ("CF.NONE k", "ERR unknown command 'CF.NONE'"),
            (
                "CF.ADD k",
                "ERR wrong number of arguments for 'cf.add' command",
            ),
            ("SAVE", "ERR Command not allowed inside a transaction"),
            ("SHUTDOWN", "ERR Command not allowed inside a transaction"),
            (
                "CONFIG FOO",
                "ERR unknown subcommand 'FOO'. Try CONFIG HELP.",
            ),
            (
                "client foo x",
                "ERR unknown subcommand 'foo'. Try CLIENT HELP.",
            ),
            (
                "OBJECT FOO k",
                "ERR unknown subcommand 'FOO'. Try OBJECT HELP.",
            ),
            (
                "CONFIG GET",
                "ERR wrong number of arguments for 'config|get' command",
            ),
            (
                "MEMORY USAGE",
                "ERR wrong number of arguments for 'memory|usage' command",
            ),
            ("HELLO 2", "ERR Command not allowed inside a transaction"),
        ] {
            ask::<()>(client, "MULTI");
            assert_eq!(ask::<Value>(client, "CF.ADD k a"), queued());
            let refused = refusal(client, words);
            assert!(refused.starts_with(error), "{refused}");
            assert_eq!(ask::<Value>(client, "CF.ADD k b"), queued());
            assert_eq!(refusal(client, "EXEC"), expected, "{words}");
            assert_eq!(ask::<i64>(client, "EXISTS k"), 0);
        }
        // MULTI and WATCH are refused without aborting the transaction.
        ask::<()>(client, "MULTI");
        assert_eq!(
            refusal(client, "MULTI"),
            "ERR MULTI calls can not be nested"
        );
        let refused = refusal(client, "WATCH k");
        assert_eq!(refused, "ERR WATCH inside MULTI is not allowed");
        ask::<()>(client, "CF.ADD k a");
        assert!(ask::<(bool,)>(client, "EXEC").0);
    });
}

/// EXEC runs nothing if a watched key has changed, and replies with a null array.
#[test]
fn a_change_of_a_watched_key_is_seen() {
    let server = Server::start(&[]);
    for protocol in crate::common::PROTOCOLS {
        let mut client = server.client(protocol);
        let mut other = server.client(protocol);
        for (before, change, changes) in [
            ("CF.RESERVE k 1000", "CF.ADD k a", true),
            ("CF.RESERVE k 1000", "CF.ADDNX k a", true),
            ("CF.RESERVE k 1000", "CF.ADDCOUNT k a", true),
            ("CF.RESERVE k 1000", "CF.INSERT k ITEMS a b", true),
            ("CF.RESERVE k 1000", "CF.INSERTNX k ITEMS a b", true),
            ("CF.ADD k a", "CF.DEL k a", true),
            ("CF.ADD k a", "DEL k", true),
            ("CF.ADD k a", "FLUSHALL", true),
            ("CF.ADD k a", "EXPIRE k 100", true),
            ("CF.ADD k a", "RENAME k l", true),
            ("CF.ADD l a", "RENAME l k", true),
            ("CF.ADD l a", "COPY l k", true),
            ("CF.ADD l a", "CF.ADD k a", true),
            ("CF.ADD k a", "CF.EXISTS k a", false),
            ("CF.ADD k a", "CF.DEL k b", false),
            ("CF.ADD l a", "CF.COUNT k a", false),
            ("CF.ADD k a", "CF.ADD l a", false),
            ("CF.ADD l a", "CF.EXISTS k a", false),
        ] {
            ask::<()>(&mut client, "FLUSHALL");
            ask::<()>(&mut client, before);
            assert_eq!(ask::<Value>(&mut client, "WATCH k m"), Value::Okay);
            ask::<Value>(&mut other, change);
            ask::<()>(&mut client, "MULTI");
            ask::<()>(&mut client, "CF.ADD result x");
            let reply: Value = ask(&mut client, "EXEC");
            assert_eq!(
                reply == Value::Nil,
                changes,
                "{before}, {change}: {reply:?}"
            );
            assert_eq!(ask::<bool>(&mut client, "EXISTS result"), !changes);
            // No key is watched any more.
            ask::<Value>(&mut other, "CF.ADD k b");
            ask::<()>(&mut client, "MULTI");
            assert_eq!(ask::<Value>(&mut client, "EXEC"), Value::Array(Vec::new()));
        }
        // Grouped commands count as changes, too.
        ask::<()>(&mut client, "WATCH k");
        let mut raw = server.raw();
        raw.send(request(&["CF.ADD", "k", "a"]).repeat(3));
        for _ in 0..3 {
            assert_eq!(raw.line(), ":1");
        }
        ask::<()>(&mut client, "MULTI");
        assert_eq!(ask::<Value>(&mut client, "EXEC"), Value::Nil);
    }
    let mut raw = server.raw();
    raw.send("WATCH none\r\nCF.ADD none a\r\nMULTI\r\nEXEC\r\n");
    let lines: Vec<_> = (0..4).map(|_| raw.line()).collect();
    assert_eq!(lines, ["+OK", ":1", "+OK", "*-1"]);
}

#[test]
fn what_is_unwatched_may_change() {
    in_both(|_, client| {
        for end in ["UNWATCH", "DISCARD"] {
            ask::<()>(client, "WATCH k");
            ask::<Value>(client, "CF.ADD k a");
            if end == "DISCARD" {
                ask::<()>(client, "MULTI");
            }
            assert_eq!(ask::<Value>(client, end), Value::Okay);
            ask::<()>(client, "MULTI");
            assert_eq!(ask::<Value>(client, "EXEC"), Value::Array(Vec::new()));
        }
    });
}

/// The queued commands of a client take memory, which is limited and freed.
#[test]
fn what_is_queued_is_bounded() {
    let server = Server::start(&["--max-request-size", "4kb", "--max-arguments", "20"]);
    let mut client = server.client(Protocol::Resp2);
    let item = "x".repeat(2000);
    ask::<()>(&mut client, "MULTI");
    ask::<()>(&mut client, &format!("CF.ADD k {item}"));
    let refused = refusal(&mut client, &format!("CF.ADD k {item} "));
    assert!(refused.starts_with("ERR wrong number"), "{refused}");
    ask::<Value>(&mut client, "DISCARD");
    ask::<()>(&mut client, "MULTI");
    ask::<()>(&mut client, &format!("CF.ADD k {item}"));
    let used = |client: &mut redis::Connection| {
        let info: String = ask(client, "INFO memory");
        let used = info
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        used.and_then(|used| used.parse::<usize>().ok()).unwrap()
    };
    let mut other = server.client(Protocol::Resp2);
    assert!(used(&mut other) > 2000);
    let refused = refusal(&mut client, &format!("CF.ADD k {item}{item}"));
    assert!(
        refused.contains("4096 are allowed: --max-request-size"),
        "{refused}"
    );
    assert!(refusal(&mut client, "EXEC").starts_with("EXECABORT"));
    assert_eq!(used(&mut other), 0);
    ask::<()>(&mut client, "MULTI");
    for _ in 0..20 {
        assert_eq!(ask::<Value>(&mut client, "PING"), queued());
    }
    let refused = refusal(&mut client, "PING");
    assert_eq!(
        refused,
        "ERR 20 commands are queued, and no more are allowed: --max-arguments"
    );
    assert!(used(&mut other) > 20 * 4);
    drop(client);
    until("it is given back", || used(&mut other) == 0);
}

/// A reply that is too long closes the connection, but only after all commands have run.
#[test]
fn replies_of_a_transaction_are_bounded() {
    let server = Server::start(&["--max-output", "64kb"]);
    let mut raw = server.raw();
    raw.send("MULTI\r\n");
    let message = "x".repeat(10_000);
    for _ in 0..20 {
        raw.send(format!("ECHO {message}\r\n"));
    }
    raw.send("CF.ADD k a\r\nEXEC\r\n");
    assert_eq!(raw.line(), "+OK");
    for _ in 0..21 {
        assert_eq!(raw.line(), "+QUEUED");
    }
    assert_eq!(raw.rest(), b"");
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(ask::<i64>(&mut client, "EXISTS k"), 1);
}

/// Two clients that add an item depending on what they read do not both add it: if both watch the
/// key, the second sees the change of the first.
#[test]
fn of_clients_that_watch_a_key_one_is_first() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 50;
    let server = Server::start(&[]);
    let items = |client: &mut redis::Connection| {
        let info: Vec<Value> = ask(client, "CF.INFO k");
        match info[7] {
            Value::Int(items) => items,
            _ => panic!("{info:?} has no number of items"),
        }
    };
    let mut client = server.client(Protocol::Resp2);
    // At this rate there are no false positives among so few items.
    ask::<()>(&mut client, "CF.RESERVE k 1000000 ERROR 0.000000002");
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = server.client(Protocol::Resp2);
                let mut done = 0;
                while done < ROUNDS {
                    ask::<()>(&mut client, "WATCH k");
                    let next = items(&mut client);
                    ask::<()>(&mut client, "MULTI");
                    ask::<()>(&mut client, &format!("CF.ADDNX k {next}"));
                    match ask::<Value>(&mut client, "EXEC") {
                        Value::Nil => {}
                        reply => {
                            assert_eq!(reply, Value::Array(vec![Value::Int(1)]));
                            done += 1;
                        }
                    }
                }
            });
        }
    });
    assert_eq!(items(&mut client), (CLIENTS * ROUNDS) as i64);
}

//! What existing clients request besides CF.*: keys, connections, and the server itself.

use crate::common::{Protocol, ask, in_both, refusal};
use redis::Value;

#[test]
fn keys_have_their_commands() {
    in_both(|_, client| {
        for key in ["a", "b1", "b2"] {
            ask::<()>(client, &format!("CF.RESERVE {key} 100"));
        }
        assert_eq!(ask::<i64>(client, "DBSIZE"), 3);
        assert_eq!(ask::<i64>(client, "EXISTS a b1 c a"), 3);
        assert_eq!(ask::<String>(client, "TYPE a"), "MBbloomCF");
        assert_eq!(ask::<String>(client, "TYPE c"), "none");
        let mut keys: Vec<String> = ask(client, "KEYS b*");
        keys.sort();
        assert_eq!(keys, ["b1", "b2"]);
        let (cursor, mut keys): (String, Vec<String>) = ask(client, "SCAN 0 MATCH b* COUNT 10");
        keys.sort();
        assert_eq!(
            (cursor.as_str(), keys),
            ("0", vec!["b1".to_owned(), "b2".to_owned()])
        );
        let (_, keys): (String, Vec<String>) = ask(client, "SCAN 0 TYPE string");
        assert!(keys.is_empty());
        assert_eq!(refusal(client, "SCAN x"), "ERR invalid cursor");
        assert_eq!(refusal(client, "SCAN 0 MATCH"), "ERR syntax error");
        assert_eq!(refusal(client, "SCAN 0 COUNT 0"), "ERR syntax error");
        assert_eq!(
            refusal(client, "SCAN 0 COUNT x"),
            "ERR value is not an integer or out of range"
        );
        assert!(ask::<i64>(client, "MEMORY USAGE a") > 100);
        assert_eq!(ask::<Value>(client, "MEMORY USAGE c"), Value::Nil);
        assert_eq!(
            refusal(client, "MEMORY DOCTOR"),
            "ERR unknown subcommand 'DOCTOR'. Try MEMORY HELP."
        );
        assert_eq!(ask::<i64>(client, "DEL a c"), 1);
        assert_eq!(ask::<i64>(client, "UNLINK b1"), 1);
        for words in ["DEL", "EXISTS", "TYPE", "KEYS", "UNLINK", "SCAN"] {
            let name = words.to_lowercase();
            let expected = format!("ERR wrong number of arguments for '{name}' command");
            assert_eq!(refusal(client, words), expected);
        }
        assert_eq!(refusal(client, "FLUSHALL NOW"), "ERR syntax error");
        ask::<()>(client, "FLUSHALL ASYNC");
        assert_eq!(ask::<i64>(client, "DBSIZE"), 0);
        let info: String = ask(client, "INFO memory");
        assert!(
            info.contains("used_memory:0\r\n"),
            "all memory was given back: {info}"
        );
    });
}

#[test]
fn connections_have_their_commands() {
    in_both(|protocol, client| {
        assert_eq!(ask::<String>(client, "PING"), "PONG");
        assert_eq!(ask::<String>(client, "PING hello"), "hello");
        assert_eq!(ask::<String>(client, "ECHO hello"), "hello");
        assert_eq!(ask::<Value>(client, "SELECT 0"), Value::Okay);
        assert_eq!(refusal(client, "SELECT 1"), "ERR DB index is out of range");
        assert_eq!(
            refusal(client, "SELECT x"),
            "ERR value is not an integer or out of range"
        );
        assert!(ask::<i64>(client, "CLIENT ID") > 0);
        assert_eq!(ask::<Value>(client, "CLIENT GETNAME"), Value::Nil);
        assert_eq!(ask::<Value>(client, "CLIENT SETNAME me"), Value::Okay);
        assert_eq!(ask::<String>(client, "CLIENT GETNAME"), "me");
        assert_eq!(
            ask::<Value>(client, "CLIENT SETINFO LIB-NAME test"),
            Value::Okay
        );
        assert_eq!(
            ask::<Value>(client, "CLIENT SETINFO lib-ver 1.0"),
            Value::Okay
        );
        let info: String = ask(client, "CLIENT INFO");
        assert!(
            info.contains("name=me ") && info.contains("lib-name=test lib-ver=1.0"),
            "{info}"
        );
        assert_eq!(
            refusal(client, "CLIENT SETINFO x y"),
            "ERR Unrecognized option 'x'"
        );
        assert_eq!(
            refusal(client, "CLIENT"),
            "ERR wrong number of arguments for 'client' command"
        );
        assert_eq!(
            refusal(client, "CLIENT NONE"),
            "ERR unknown subcommand 'NONE'. Try CLIENT HELP."
        );
        let version: i64 = match protocol {
            Protocol::Resp2 => 2,
            Protocol::Resp3 => 3,
        };
        let hello: std::collections::HashMap<String, Value> = ask(client, "HELLO");
        assert_eq!(hello["proto"], Value::Int(version));
        assert_eq!(
            refusal(client, "HELLO 4"),
            "NOPROTO unsupported protocol version"
        );
        assert_eq!(
            refusal(client, "HELLO x"),
            "ERR Protocol version is not an integer or out of range"
        );
        assert_eq!(
            refusal(client, "HELLO 3 COLOUR"),
            "ERR Syntax error in HELLO option 'COLOUR'"
        );
        assert!(
            refusal(client, "AUTH x")
                .starts_with("ERR AUTH <password> called without any password")
        );
        assert_eq!(ask::<i64>(client, "WAIT 0 0"), 0);
        assert_eq!(
            refusal(client, "WAIT x 0"),
            "ERR value is not an integer or out of range"
        );
        assert_eq!(refusal(client, "WAIT 0 -1"), "ERR timeout is negative");
        for words in ["WAIT 0", "WAIT 0 0 0", "LASTSAVE x", "TIME x", "ROLE x"] {
            let name = words.split(' ').next().unwrap().to_lowercase();
            let expected = format!("ERR wrong number of arguments for '{name}' command");
            assert_eq!(refusal(client, words), expected);
        }
        let role: (String, i64, Vec<Value>) = ask(client, "ROLE");
        assert_eq!(role, ("master".into(), 0, Vec::new()));
        let info: String = ask(client, "INFO REPLICATION");
        assert!(info.starts_with("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"));
        assert!(ask::<(u64, u64)>(client, "TIME").0 > 1_600_000_000);
    });
}

#[test]
fn the_server_describes_itself() {
    in_both(|_, client| {
        let info: String = ask(client, "INFO");
        for section in [
            "Server",
            "Clients",
            "Memory",
            "Persistence",
            "Stats",
            "Cluster",
            "Filters",
        ] {
            assert!(info.contains(&format!("# {section}\r\n")), "{section}");
        }
        for field in [
            "redis_version:",
            "arch_bits:",
            "cluster_enabled:0",
            "maxclients:10000",
        ] {
            assert!(info.contains(field), "{field}");
        }
        assert!(!info.contains("tcp_port:0\r\n"), "the port that was chosen");
        ask::<()>(client, "CF.ADD k a");
        let info: String = ask(client, "INFO filters keyspace commandstats");
        assert!(
            info.contains("filter_k:items=1,") && info.contains("db0:keys=1,"),
            "{info}"
        );
        assert!(info.contains("cmdstat_cf.add:calls="), "{info}");
        assert!(!info.contains("# Server"));
        let count: i64 = ask(client, "COMMAND COUNT");
        assert_eq!(ask::<Vec<Value>>(client, "COMMAND").len() as i64, count);
        assert_eq!(
            ask::<Vec<String>>(client, "COMMAND LIST").len() as i64,
            count
        );
        let docs: std::collections::HashMap<String, Value> =
            ask(client, "COMMAND DOCS cf.add none");
        assert_eq!(docs.len(), 1);
        let (entry,): (Value,) = ask(client, "COMMAND INFO rename");
        let Value::Array(entry) = entry else {
            panic!("{entry:?} describes no command");
        };
        assert_eq!(entry[0], Value::BulkString(b"rename".into()));
        let numbers = [3, 1, 2, 1].map(Value::Int);
        assert_eq!([1, 3, 4, 5].map(|at| entry[at].clone()), numbers);
        let entries: Vec<Value> = ask(client, "COMMAND INFO cf.add none");
        assert_eq!(entries[1], Value::Nil);
        let config: std::collections::HashMap<String, String> =
            ask(client, "CONFIG GET max* save appendonly");
        assert_eq!(config["maxmemory"], (1_u64 << 30).to_string());
        assert_eq!(config["appendonly"], "no");
        assert_eq!(config["save"], "");
        assert!(!config.contains_key("dir"));
        assert_eq!(
            refusal(client, "SAVE"),
            "ERR there is nowhere to save to: start the server with --dir"
        );
        assert_eq!(
            refusal(client, "BGSAVE"),
            "ERR there is nowhere to save to: start the server with --dir"
        );
        assert!(ask::<i64>(client, "LASTSAVE") > 1_600_000_000);
    });
}

/// No command accepts any number of words, or has an effect before it has checked the number.
#[test]
fn every_command_keeps_to_its_arity() {
    in_both(|_, client| {
        type Entry = (String, i64, Value, i64, i64, i64);
        let rest: Vec<Vec<Value>> = ask(client, "COMMAND");
        for entry in rest {
            let entry = Value::Array(entry[..6].to_vec());
            let (name, arity, ..): Entry = redis::from_redis_value(entry).unwrap();
            let too_few = usize::try_from(arity.unsigned_abs()).unwrap() - 1;
            if too_few > 0 {
                let words = [name.as_str()].into_iter().chain(["x"].into_iter().cycle());
                let words: Vec<_> = words.take(too_few).collect();
                let expected = format!("ERR wrong number of arguments for '{name}' command");
                assert_eq!(refusal(client, &words.join(" ")), expected);
            }
            if arity > 0 {
                let words = format!("{name}{}", " x".repeat(arity as usize));
                let expected = format!("ERR wrong number of arguments for '{name}' command");
                assert_eq!(refusal(client, &words), expected);
            }
        }
        assert_eq!(ask::<String>(client, "PING"), "PONG");
    });
}

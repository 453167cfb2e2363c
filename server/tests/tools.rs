//! Commands that tools and proxies send before all others.

use crate::common::{Protocol, ask, in_both, refusal};
use redis::Value;
use std::collections::{BTreeSet, HashMap};

fn names(reply: Vec<String>) -> BTreeSet<String> {
    reply.into_iter().collect()
}

#[test]
fn the_keys_of_a_command_are_found() {
    in_both(|_, client| {
        for (words, keys) in [
            ("CF.ADD k a", &["k"][..]),
            ("cf.insert k NOCREATE ITEMS a b", &["k"]),
            ("DEL a b c", &["a", "b", "c"]),
            ("COPY a b REPLACE", &["a", "b"]),
            ("WATCH a b", &["a", "b"]),
            ("MEMORY USAGE k", &["k"]),
            ("OBJECT ENCODING k", &["k"]),
        ] {
            let found: Vec<String> = ask(client, &format!("COMMAND GETKEYS {words}"));
            assert_eq!(found, keys, "{words}");
        }
        for (words, expected) in [
            ("NONE k", "ERR Invalid command specified"),
            ("PING", "ERR The command has no key arguments"),
            ("OBJECT HELP", "ERR The command has no key arguments"),
            (
                "CF.ADD k",
                "ERR Invalid number of arguments specified for command",
            ),
        ] {
            let refused = refusal(client, &format!("COMMAND GETKEYS {words}"));
            assert_eq!(refused, expected, "{words}");
        }
        assert!(refusal(client, "COMMAND GETKEYS").starts_with("ERR wrong number of arguments"));
    });
}

#[test]
fn commands_are_listed_by_module_category_and_pattern() {
    in_both(|_, client| {
        let all = names(ask(client, "COMMAND LIST"));
        let of_filters: BTreeSet<_> = all
            .iter()
            .filter(|it| it.starts_with("cf."))
            .cloned()
            .collect();
        let mut list =
            |filter: &str| names(ask(client, &format!("COMMAND LIST FILTERBY {filter}")));
        assert_eq!(list("MODULE guira"), of_filters);
        assert_eq!(list("module none"), BTreeSet::new());
        assert_eq!(list("ACLCAT cuckoo"), of_filters);
        assert_eq!(list("PATTERN CF.*"), of_filters);
        assert_eq!(list("PATTERN *"), all);
        let (reads, writes) = (list("ACLCAT read"), list("ACLCAT write"));
        assert!(reads.is_disjoint(&writes));
        assert!(reads.contains("cf.exists") && writes.contains("cf.mdel"));
        assert!(list("ACLCAT dangerous").contains("shutdown"));
        assert_eq!(list("ACLCAT none"), BTreeSet::new());
        let (fast, slow) = (list("ACLCAT fast"), list("ACLCAT slow"));
        assert!(fast.is_disjoint(&slow));
        assert_eq!(fast.union(&slow).cloned().collect::<BTreeSet<_>>(), all);
        for words in ["FILTERBY MODULE", "FILTERBY SIZE x", "x"] {
            let refused = refusal(client, &format!("COMMAND LIST {words}"));
            assert_eq!(refused, "ERR syntax error", "{words}");
        }
    });
}

#[test]
fn the_value_of_a_key_is_described() {
    in_both(|_, client| {
        ask::<()>(client, "CF.ADD k a");
        assert_eq!(ask::<String>(client, "OBJECT ENCODING k"), "raw");
        assert_eq!(ask::<i64>(client, "object refcount k"), 1);
        for word in ["FREQ", "IDLETIME"] {
            let refused = refusal(client, &format!("OBJECT {word} k"));
            assert!(
                refused.starts_with("ERR accesses to keys are not tracked"),
                "{refused}"
            );
        }
        for word in ["ENCODING", "REFCOUNT", "FREQ", "IDLETIME"] {
            let reply = ask::<Value>(client, &format!("OBJECT {word} none"));
            assert_eq!(reply, Value::Nil, "{word}");
        }
        assert!(!ask::<Vec<String>>(client, "OBJECT HELP").is_empty());
        assert!(refusal(client, "OBJECT ENCODING").starts_with("ERR wrong number of arguments"));
        assert!(refusal(client, "OBJECT SIZE k").starts_with("ERR unknown subcommand 'SIZE'"));
    });
}

#[test]
fn the_module_of_the_commands_is_listed() {
    in_both(|protocol, client| {
        let modules: Vec<HashMap<String, Value>> = ask(client, "MODULE LIST");
        let [module] = modules.as_slice() else {
            panic!("{protocol:?}: {modules:?}");
        };
        assert_eq!(module["name"], Value::BulkString(b"guira".into()));
        assert_eq!(module["ver"], Value::Int(1));
        assert_eq!(module["args"], Value::Array(Vec::new()));
        for words in ["MODULE LOAD x", "MODULE UNLOAD guira"] {
            assert!(
                refusal(client, words).starts_with("ERR the only module"),
                "{words}"
            );
        }
        if protocol == Protocol::Resp3 {
            let reply = ask::<Vec<Value>>(client, "MODULE LIST");
            assert!(matches!(reply[0], Value::Map(_)), "{reply:?}");
        }
    });
}

/// Tools send these first, and continue after the answer of an engine that is no cluster.
#[test]
fn commands_of_clusters_are_refused_as_by_one_server() {
    in_both(|_, client| {
        for words in [
            "READONLY",
            "READWRITE",
            "ASKING",
            "CLUSTER INFO",
            "CLUSTER SLOTS",
            "CLUSTER HELP",
        ] {
            let expected = "ERR This instance has cluster support disabled";
            assert_eq!(refusal(client, words), expected, "{words}");
        }
        for words in ["READONLY x", "CLUSTER"] {
            let refused = refusal(client, words);
            assert!(
                refused.starts_with("ERR wrong number of arguments"),
                "{refused}"
            );
        }
    });
}

#[test]
fn hello_lists_the_module() {
    in_both(|_, client| {
        let hello: HashMap<String, Value> = ask(client, "HELLO");
        assert_eq!(hello["modules"], ask::<Value>(client, "MODULE LIST"));
        let info: String = ask(client, "INFO modules");
        assert!(info.contains("module:name=guira,ver=1,"), "{info}");
    });
}

/// The value of a field in a map, or in the flat array that RESP2 has instead.
fn field(of: &Value, name: &str) -> Value {
    let name = Value::BulkString(name.into());
    let found = match of {
        Value::Map(pairs) => pairs
            .iter()
            .find(|pair| pair.0 == name)
            .map(|pair| pair.1.clone()),
        Value::Array(flat) => flat
            .chunks(2)
            .find(|pair| pair[0] == name)
            .map(|pair| pair[1].clone()),
        other => panic!("{other:?}"),
    };
    found.unwrap_or_else(|| panic!("no {name:?} in {of:?}"))
}

fn array(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_described_with_keys_and_subcommands() {
    in_both(|_, client| {
        for (name, flag, first, last, step) in [
            ("cf.add", "RW", 1, 0, 1),
            ("cf.exists", "RO", 1, 0, 1),
            ("rename", "RW", 1, 1, 1),
            ("del", "RW", 1, -1, 1),
        ] {
            let (entry,): (Value,) = ask(client, &format!("COMMAND INFO {name}"));
            let specifications = array(array(entry).remove(8));
            let [keys] = specifications.as_slice() else {
                panic!("{name}: {specifications:?}");
            };
            let flags = array(field(keys, "flags"));
            assert_eq!(flags[0], Value::SimpleString(flag.into()), "{name}");
            let begin = field(keys, "begin_search");
            assert_eq!(field(&begin, "type"), Value::BulkString(b"index".into()));
            assert_eq!(
                field(&field(&begin, "spec"), "index"),
                Value::Int(first),
                "{name}"
            );
            let find = field(keys, "find_keys");
            assert_eq!(field(&find, "type"), Value::BulkString(b"range".into()));
            let spec = field(&find, "spec");
            let numbers = ["lastkey", "keystep", "limit"].map(|it| field(&spec, it));
            assert_eq!(numbers, [last, step, 0].map(Value::Int), "{name}");
        }
        let (entry,): (Value,) = ask(client, "COMMAND INFO config");
        let entry = array(entry);
        assert_eq!(entry[8], Value::Array(Vec::new()));
        let names: Vec<_> = array(entry[9].clone())
            .into_iter()
            .map(|it| array(it).remove(0))
            .collect();
        let expected = ["get", "help", "resetstat", "rewrite", "set"];
        let expected = expected.map(|it| Value::BulkString(format!("config|{it}").into_bytes()));
        assert_eq!(names, expected);
    });
}

/// Each command with subcommands has `HELP`, which lists them all and refuses further words.
#[test]
fn every_subcommand_is_in_the_help() {
    in_both(|_, client| {
        let entries: Vec<Vec<Value>> = ask(client, "COMMAND");
        let mut commands = 0;
        for entry in entries {
            let subcommands = array(entry[9].clone());
            if subcommands.is_empty() {
                continue;
            }
            commands += 1;
            let name: String = redis::from_redis_value(entry[0].clone()).unwrap();
            let help: Vec<String> = ask(client, &format!("{name} HELP"));
            for subcommand in subcommands {
                let full: String = redis::from_redis_value(array(subcommand).remove(0)).unwrap();
                let (_, word) = full.split_once('|').unwrap();
                let is_shown = |line: &String| line.split(' ').next() == Some(&word.to_uppercase());
                assert!(help.iter().any(is_shown), "{full}: {help:?}");
            }
            let refused = refusal(client, &format!("{name} HELP x"));
            assert_eq!(
                refused,
                format!("ERR wrong number of arguments for '{name}|help' command")
            );
            let refused = refusal(client, &format!("{name} nosuch"));
            let expected = format!(
                "ERR unknown subcommand 'nosuch'. Try {} HELP.",
                name.to_uppercase()
            );
            assert_eq!(refused, expected);
        }
        assert_eq!(commands, 9);
    });
}

#[test]
fn the_memory_of_a_key_has_one_option() {
    in_both(|_, client| {
        ask::<()>(client, "CF.ADD k a");
        let bytes: i64 = ask(client, "MEMORY USAGE k");
        assert!(bytes > 0);
        for options in ["SAMPLES 5", "samples 0", "SAMPLES 1 SAMPLES 2"] {
            assert_eq!(
                ask::<i64>(client, &format!("MEMORY USAGE k {options}")),
                bytes
            );
        }
        for (options, expected) in [
            ("FOO", "ERR syntax error"),
            ("SAMPLES", "ERR syntax error"),
            ("SAMPLES -1", "ERR syntax error"),
            ("SAMPLES +1", "ERR value is not an integer or out of range"),
            ("SAMPLES 5 FOO", "ERR syntax error"),
        ] {
            assert_eq!(
                refusal(client, &format!("MEMORY USAGE k {options}")),
                expected,
                "{options}"
            );
        }
    });
}

/// What the tools of operators read.
#[test]
fn info_has_the_fields_of_redis_that_make_sense() {
    let server = crate::common::Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    let fields = |client: &mut redis::Connection| {
        let info: String = ask(client, "INFO everything");
        let pair = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.to_owned()))
        };
        info.lines().filter_map(pair).collect::<HashMap<_, _>>()
    };
    let before = fields(&mut client);
    for words in [
        "CF.ADD k a",
        "CF.EXISTS k a",
        "CF.EXISTS k b",
        "CF.EXISTS none a",
        "CF.COUNT none a",
    ] {
        ask::<()>(&mut client, words);
    }
    assert_eq!(refusal(&mut client, "CF.INFO none"), "ERR not found");
    let after = fields(&mut client);
    let number = |of: &HashMap<String, String>, name: &str| -> f64 {
        let value = of.get(name).unwrap_or_else(|| panic!("INFO lacks {name}"));
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is {value}"))
    };
    let grown = |name: &str| number(&after, name) - number(&before, name);
    assert_eq!(grown("keyspace_hits"), 2.0);
    assert_eq!(grown("keyspace_misses"), 3.0);
    assert_eq!(grown("rdb_changes_since_last_save"), 1.0);
    assert_eq!(grown("total_reads_processed"), 7.0);
    assert!(grown("total_net_input_bytes") > 100.0 && grown("total_net_output_bytes") > 1000.0);
    assert!(grown("total_writes_processed") >= 7.0);
    for name in [
        "used_cpu_sys",
        "used_cpu_user",
        "used_cpu_sys_children",
        "used_cpu_user_children",
    ] {
        assert!(number(&after, name) >= number(&before, name), "{name}");
    }
    assert!(number(&after, "mem_fragmentation_ratio") > 0.0);
    let resident = number(&after, "used_memory_rss") - number(&after, "used_memory");
    assert_eq!(number(&after, "mem_fragmentation_bytes"), resident);
    for name in [
        "used_memory_human",
        "used_memory_rss_human",
        "used_memory_peak_human",
        "maxmemory_human",
        "used_memory_overhead",
        "mem_clients_normal",
        "mem_allocator",
        "lazyfree_pending_objects",
        "rdb_saves",
        "rdb_last_bgsave_time_sec",
        "aof_enabled",
        "evicted_keys",
    ] {
        assert!(after.contains_key(name), "INFO lacks {name}");
    }
    assert_eq!(after["maxmemory_human"], "1.00G");
    ask::<()>(&mut client, "CONFIG RESETSTAT");
    let reset = fields(&mut client);
    assert_eq!(
        (
            number(&reset, "keyspace_hits"),
            number(&reset, "keyspace_misses")
        ),
        (0.0, 0.0)
    );
    assert_eq!(
        number(&reset, "rdb_changes_since_last_save"),
        1.0,
        "they are not saved"
    );
}

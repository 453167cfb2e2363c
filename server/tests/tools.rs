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

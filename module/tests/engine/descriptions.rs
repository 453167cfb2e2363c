//! What the engine tells clients about the commands.

use super::common::{Engine, ask, is_skipped};
use redis::Value;
use std::collections::HashMap;

/// The categories are compared only if the engine has one for the module.
#[test]
fn commands_have_their_flags_and_categories() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    let expected = [
        (
            "CF.ADD",
            3,
            "denyoom fast module write",
            "@cuckoo @fast @write",
        ),
        (
            "CF.ADDCOUNT",
            3,
            "denyoom fast module write",
            "@cuckoo @fast @write",
        ),
        (
            "CF.ADDNX",
            3,
            "denyoom fast module write",
            "@cuckoo @fast @write",
        ),
        ("CF.COMPACT", 2, "module readonly", "@cuckoo @read"),
        ("CF.COUNT", 3, "fast module readonly", "@cuckoo @fast @read"),
        ("CF.DEBUG", 2, "fast module readonly", "@cuckoo @fast @read"),
        ("CF.DEL", 3, "fast module write", "@cuckoo @fast @write"),
        ("CF.DIFF", -3, "module write", "@cuckoo @write"),
        ("CF.DIGEST", 2, "module readonly", "@cuckoo @read"),
        (
            "CF.EXISTS",
            3,
            "fast module readonly",
            "@cuckoo @fast @read",
        ),
        ("CF.INFO", 2, "fast module readonly", "@cuckoo @fast @read"),
        ("CF.INSERT", -4, "denyoom module write", "@cuckoo @write"),
        ("CF.INSERTNX", -4, "denyoom module write", "@cuckoo @write"),
        ("CF.INTERSECT", -3, "denyoom module write", "@cuckoo @write"),
        ("CF.LOADCHUNK", 4, "denyoom module write", "@cuckoo @write"),
        ("CF.MAKE", 4, "denyoom module write", "@cuckoo @write"),
        ("CF.MADD", -3, "denyoom module write", "@cuckoo @write"),
        ("CF.MDEL", -3, "module write", "@cuckoo @write"),
        ("CF.MERGE", -3, "denyoom module write", "@cuckoo @write"),
        ("CF.MEXISTS", -3, "module readonly", "@cuckoo @read"),
        ("CF.MTOUCH", -3, "module write", "@cuckoo @write"),
        (
            "CF.RESERVE",
            -3,
            "denyoom module movablekeys write",
            "@cuckoo @write",
        ),
        ("CF.SCANDUMP", 3, "module readonly", "@cuckoo @read"),
        ("CF.UNION", -3, "denyoom module write", "@cuckoo @write"),
    ];
    let has_categories = ask::<Vec<String>>(&mut client, "ACL CAT").contains(&"cuckoo".into());
    for (name, arity, flags, categories) in expected {
        let info: Vec<Value> = ask(&mut client, &format!("COMMAND INFO {name}"));
        let Value::Array(info) = &info[0] else {
            panic!("no {name}: {info:?}");
        };
        let words = |value: &Value| {
            let mut words: Vec<String> = redis::from_redis_value(value.clone()).unwrap();
            words.sort();
            words.join(" ")
        };
        assert_eq!(info[1], Value::Int(arity), "{name}");
        assert_eq!(words(&info[2]), flags, "{name}");
        let last = match name {
            "CF.DIFF" | "CF.INTERSECT" | "CF.MERGE" | "CF.UNION" => -1,
            _ => 1,
        };
        assert_eq!(info[3..6], [1, last, 1].map(Value::Int), "{name}");
        if has_categories {
            assert_eq!(words(&info[6]), categories, "{name}");
        }
    }
}

/// The reply for clients that offer completions.
#[test]
fn commands_describe_their_arguments() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client_of("resp3");
    let described: HashMap<String, HashMap<String, Value>> =
        ask(&mut client, "COMMAND DOCS CF.INSERT CF.RESERVE CF.MAKE");
    let arguments = |command: &str| -> Vec<String> {
        let list = described[command]["arguments"].clone();
        let list: Vec<HashMap<String, Value>> = redis::from_redis_value(list).unwrap();
        let shown = list.iter().map(|argument| {
            let of = |field: &str| -> Option<String> {
                let value = argument.get(field)?.clone();
                Some(redis::from_redis_value(value).unwrap())
            };
            let flags: Vec<String> = argument.get("flags").map_or(Vec::new(), |flags| {
                redis::from_redis_value(flags.clone()).unwrap()
            });
            let words = [of("token"), of("name"), of("type")];
            let words = words.into_iter().flatten().chain(flags);
            words.collect::<Vec<_>>().join(" ")
        });
        shown.collect()
    };
    assert_eq!(
        arguments("cf.insert"),
        [
            "key key",
            "CAPACITY capacity integer optional",
            "BUCKETSIZE bucketsize integer optional",
            "MAXITERATIONS maxiterations integer optional",
            "EXPANSION expansion integer optional",
            "ERROR rate double optional",
            "MAXCAPACITY maxcapacity integer optional",
            "WINDOW seconds integer optional",
            "EPOCHS epochs integer optional",
            "COUNTERS bits integer optional",
            "SEED seed integer optional",
            "NOCREATE nocreate pure-token optional",
            "ITEMS item string multiple",
        ]
    );
    assert_eq!(
        arguments("cf.reserve"),
        [
            "key key",
            "capacity integer",
            "BUCKETSIZE bucketsize integer optional",
            "MAXITERATIONS maxiterations integer optional",
            "EXPANSION expansion integer optional",
            "ERROR rate double optional",
            "MAXCAPACITY maxcapacity integer optional",
            "WINDOW seconds integer optional",
            "EPOCHS epochs integer optional",
            "COUNTERS bits integer optional",
            "SEED seed integer optional",
            "LIKE source key optional",
        ]
    );
    assert_eq!(
        arguments("cf.make"),
        ["key key", "options string", "filter string"]
    );
}

//! Filters behave like the engine's own types: ACLs, watches, events, limits, blocked clients.

mod common;

use common::{Engine, PATIENCE, ask, dump, info, is_skipped, is_sound, refusal, try_ask, until};
use redis::{Connection, Value};
use std::{collections::HashMap, thread, time::Duration};

#[path = "../examples/shards.rs"]
#[allow(dead_code)]
mod shards;

/// A command with this many items runs on another thread.
const MANY: usize = 5_000;

fn exist_many(client: &mut Connection, key: &str, count: usize) -> Vec<bool> {
    let items: Vec<usize> = (0..count).collect();
    let mut command = redis::cmd("CF.MEXISTS");
    command
        .arg(key)
        .arg(items)
        .query(client)
        .expect("the engine answers")
}

fn fill(client: &mut Connection, key: &str, count: usize) {
    let items: Vec<usize> = (0..count).collect();
    for some in items.chunks(5_000) {
        let mut command = redis::cmd("CF.INSERT");
        command
            .arg(key)
            .arg("ITEMS")
            .arg(some)
            .query::<Value>(client)
            .expect("they fit");
    }
}

/// Tests of a function that some engines lack are skipped there, and no others are.
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
            "CF.ADDNX",
            3,
            "denyoom fast module write",
            "@cuckoo @fast @write",
        ),
        ("CF.COMPACT", 2, "module readonly", "@cuckoo @read"),
        ("CF.COUNT", 3, "fast module readonly", "@cuckoo @fast @read"),
        ("CF.DEBUG", 2, "fast module readonly", "@cuckoo @fast @read"),
        ("CF.DEL", 3, "fast module write", "@cuckoo @fast @write"),
        (
            "CF.EXISTS",
            3,
            "fast module readonly",
            "@cuckoo @fast @read",
        ),
        ("CF.INFO", 2, "fast module readonly", "@cuckoo @fast @read"),
        ("CF.INSERT", -4, "denyoom module write", "@cuckoo @write"),
        ("CF.INSERTNX", -4, "denyoom module write", "@cuckoo @write"),
        ("CF.LOADCHUNK", 4, "denyoom module write", "@cuckoo @write"),
        ("CF.MAKE", 4, "denyoom module write", "@cuckoo @write"),
        ("CF.MADD", -3, "denyoom module write", "@cuckoo @write"),
        ("CF.MDEL", -3, "module write", "@cuckoo @write"),
        ("CF.MEXISTS", -3, "module readonly", "@cuckoo @read"),
        ("CF.MTOUCH", -3, "module write", "@cuckoo @write"),
        ("CF.RESERVE", -3, "denyoom module write", "@cuckoo @write"),
        ("CF.SCANDUMP", 3, "module readonly", "@cuckoo @read"),
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
        assert_eq!(info[3..6], [1, 1, 1].map(Value::Int), "{name}");
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
        ]
    );
    assert_eq!(
        arguments("cf.make"),
        ["key key", "options string", "filter string"]
    );
}

#[test]
fn rights_are_kept() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<i64>(&mut client, "CF.ADD k a");
    let has_categories = ask::<Vec<String>>(&mut client, "ACL CAT").contains(&"cuckoo".into());
    let rule = match has_categories {
        true => "+@cuckoo -@write",
        false => "+cf.exists +cf.count",
    };
    ask::<()>(
        &mut client,
        &format!("ACL SETUSER reader on nopass ~k {rule}"),
    );
    let mut reader = engine.client();
    ask::<()>(&mut reader, "AUTH reader x");
    assert_eq!(ask::<i64>(&mut reader, "CF.EXISTS k a"), 1);
    for words in [
        "CF.ADD k b",
        "CF.RESERVE k 100",
        "CF.EXISTS other a",
        "GET k",
    ] {
        let refused = refusal(&mut reader, words);
        assert!(refused.starts_with("NOPERM"), "{words}: {refused}");
    }
}

#[test]
fn watches_see_changes_and_nothing_else() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let (mut client, mut other) = (engine.client(), engine.client());
    ask::<i64>(&mut client, "CF.ADD k a");
    let cases = [
        ("CF.ADDNX k a", false),
        ("CF.DEL k z", false),
        ("CF.EXISTS k a", false),
        ("CF.COMPACT k", false),
        ("CF.ADDNX k b", true),
        ("CF.INSERT k ITEMS c", true),
        ("CF.DEL k a", true),
        ("CF.RESERVE l 100", true),
    ];
    for (words, changes) in cases {
        ask::<()>(&mut client, "WATCH k l");
        ask::<Value>(&mut other, words);
        ask::<()>(&mut client, "MULTI");
        ask::<Value>(&mut client, "CF.COUNT k a");
        let done: Value = ask(&mut client, "EXEC");
        assert_eq!(done == Value::Nil, changes, "{words}");
    }
}

#[test]
fn events_name_the_key() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&["--notify-keyspace-events", "Kdg"]);
    let (mut client, mut listener) = (engine.client(), engine.client());
    let mut listener = listener.as_pubsub();
    listener.psubscribe("__keyspace@0__:*").unwrap();
    listener.set_read_timeout(Some(PATIENCE)).unwrap();
    ask::<i64>(&mut client, "CF.ADD k a");
    ask::<i64>(&mut client, "CF.ADDNX k a");
    ask::<i64>(&mut client, "CF.DEL k a");
    ask::<()>(&mut client, "CF.RESERVE l 100");
    ask::<i64>(&mut client, "DEL k");
    for expected in [
        "k cf.reserve",
        "k cf.add",
        "k cf.del",
        "l cf.reserve",
        "k del",
    ] {
        let event = listener.get_message().expect("an event comes");
        let key = event
            .get_channel_name()
            .split_once(':')
            .unwrap()
            .1
            .to_owned();
        let name: String = event.get_payload().unwrap();
        assert_eq!(format!("{key} {name}"), expected);
    }
}

#[test]
fn keys_expire_are_unlinked_and_flushed() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE large 10000000 EXPANSION 0");
    for key in 0..100 {
        ask::<()>(&mut client, &format!("CF.RESERVE k{key} 100"));
    }
    assert_eq!(info(&mut client, "guira_filters"), 101);
    assert!(info(&mut client, "guira_filters_bytes") > 10_000_000);
    assert!(ask::<i64>(&mut client, "MEMORY USAGE large") > 10_000_000);
    for key in 0..100 {
        ask::<()>(&mut client, &format!("PEXPIRE k{key} 10"));
    }
    until("the keys expire", || {
        info(&mut client, "guira_filters") == 1
    });
    ask::<()>(&mut client, "UNLINK large");
    until("the filter is freed", || {
        info(&mut client, "guira_filters_bytes") == 0
    });
    ask::<()>(&mut client, "CF.RESERVE large 10000000 EXPANSION 0");
    ask::<()>(&mut client, "FLUSHALL ASYNC");
    until("the filter is freed", || {
        info(&mut client, "guira_filters_bytes") == 0
    });
    assert_eq!(info(&mut client, "guira_filters"), 0);
    is_sound(&mut client);
}

#[test]
fn the_limit_of_memory_is_kept() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&["--maxmemory", "50mb"]);
    let mut client = engine.client();
    let oom = "OOM command not allowed when used memory > 'maxmemory'.";
    // The table takes no physical memory until it is used, but it is counted.
    assert_eq!(
        refusal(&mut client, "CF.RESERVE k 60000000 EXPANSION 0"),
        oom
    );
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), 0);
    ask::<()>(&mut client, "CF.RESERVE k 10000000 EXPANSION 0");
    ask::<i64>(&mut client, "CF.ADD k a");
    // The dump does not fit.
    ask::<()>(&mut client, "CONFIG SET maxmemory 200mb");
    ask::<()>(&mut client, "CF.RESERVE large 60000000 EXPANSION 0");
    let pieces = dump(&mut client, "large");
    ask::<()>(&mut client, "UNLINK large");
    until("the filter is freed", || {
        info(&mut client, "guira_filters") == 1
    });
    ask::<()>(&mut client, "CONFIG SET maxmemory 50mb");
    // The copy grows as pieces arrive.
    let refused = pieces.iter().find_map(|(position, piece)| {
        let mut command = redis::cmd("CF.LOADCHUNK");
        let command = command.arg("large").arg(position).arg(&piece[..]);
        command.query::<()>(&mut client).err()
    });
    assert_eq!(common::text(&refused.unwrap()), oom);
    assert_eq!(ask::<i64>(&mut client, "EXISTS large"), 0);
    ask::<()>(&mut client, "CONFIG SET maxmemory 1mb");
    assert!(refusal(&mut client, "CF.ADD k b").starts_with("OOM"));
    assert_eq!(ask::<i64>(&mut client, "CF.DEL k a"), 1);
    is_sound(&mut client);
}

#[test]
fn settings_are_shown_changed_and_checked() {
    if is_skipped() {
        return;
    }
    let settings = [
        "--loadmodule",
        "MODULE",
        "max-filter-bytes",
        "1mb",
        "default-capacity",
        "5000",
    ];
    let engine = Engine::start(&settings);
    let mut client = engine.client();
    let shown: HashMap<String, String> = ask(&mut client, "CONFIG GET guira.*");
    let expected = [
        ("guira.default-capacity", "5000"),
        ("guira.default-error-rate", "0.01"),
        ("guira.default-expansion", "1"),
        ("guira.max-filter-bytes", "1048576"),
        ("guira.offload-items", "2000"),
        ("guira.threads", "2"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(shown, HashMap::from(expected));
    let refused = refusal(&mut client, "CF.RESERVE k 10000000");
    assert!(
        refused.starts_with(
            "OOM the filter needs 13333328 bytes, and guira.max-filter-bytes is 1048576"
        )
    );
    ask::<()>(&mut client, "CONFIG SET guira.max-filter-bytes 64mb");
    ask::<()>(&mut client, "CF.RESERVE k 10000000");
    ask::<()>(&mut client, "CONFIG SET guira.default-error-rate 0.001");
    ask::<i64>(&mut client, "CF.ADD made a");
    let debug: String = ask(&mut client, "CF.DEBUG made");
    assert!(debug.contains("false_positive_rate:0.001"), "{debug}");
    ask::<()>(&mut client, "CONFIG SET guira.default-expansion 0");
    ask::<i64>(&mut client, "CF.ADD fixed a");
    let debug: String = ask(&mut client, "CF.DEBUG fixed");
    let number = |name: &str| {
        let field = debug.split(' ').find_map(|field| field.strip_prefix(name));
        field.unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(number("max_capacity:"), number("capacity:"), "{debug}");
    for (setting, reason) in [
        (
            "guira.default-error-rate 1",
            "must be in the range [0.000000002, 1)",
        ),
        ("guira.max-filter-bytes 1gb", "536870912"),
        ("guira.threads 0", "between 1 and 64"),
        ("guira.default-expansion 32769", "between 0 and 32768"),
    ] {
        let refused = refusal(&mut client, &format!("CONFIG SET {setting}"));
        assert!(refused.contains(reason), "{setting}: {refused}");
    }
}

/// Threads run long commands, and the replies are the same as without threads.
#[test]
fn long_commands_are_answered_by_threads() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 100000");
    fill(&mut client, "k", 50_000);
    assert_eq!(
        engine.threads("guira"),
        0,
        "they begin with their first work"
    );
    for protocol in ["resp2", "resp3"] {
        let mut client = engine.client_of(protocol);
        assert!(
            exist_many(&mut client, "k", MANY)
                .into_iter()
                .all(|found| found)
        );
    }
    // Clients are not blocked in a transaction or a script.
    let items: Vec<usize> = (0..MANY).collect();
    let mut pipe = redis::pipe();
    pipe.atomic().cmd("CF.MEXISTS").arg("k").arg(&items);
    let found: (Vec<bool>,) = pipe.query(&mut client).unwrap();
    assert_eq!(found.0, vec![true; MANY]);
    let script = "return redis.call('CF.MEXISTS', KEYS[1], unpack(ARGV))";
    let mut eval = redis::cmd("EVAL");
    let found: Vec<bool> = eval
        .arg(script)
        .arg(1)
        .arg("k")
        .arg(&items)
        .query(&mut client)
        .unwrap();
    assert_eq!(found, vec![true; MANY]);
    // A filter that is deleted during its dumps still exists for the clients that wait for them.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = engine.client();
                for _ in 0..20 {
                    let found = exist_many(&mut client, "k", MANY);
                    // Items may be added to the filter concurrently.
                    assert_eq!(found.len(), MANY);
                    let _ = try_ask::<Value>(&mut client, "CF.SCANDUMP k 1");
                    let _ = try_ask::<Value>(&mut client, "CF.COMPACT k");
                }
            });
        }
        for _ in 0..20 {
            ask::<Value>(&mut client, "UNLINK k");
            ask::<()>(&mut client, "CF.RESERVE k 100000");
            fill(&mut client, "k", 50_000);
        }
    });
    is_sound(&mut client);
}

/// Clients disconnect while a thread works for them.
#[test]
fn clients_may_go_before_they_are_answered() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 3000000 EXPANSION 0");
    fill(&mut client, "k", 100_000);
    for round in 0..50 {
        let mut other = engine.client();
        other
            .set_read_timeout(Some(Duration::from_micros(1 + 40 * round)))
            .unwrap();
        let items: Vec<usize> = (0..50_000).collect();
        let mut command = redis::cmd("CF.MEXISTS");
        let _ = command.arg("k").arg(items).query::<Value>(&mut other);
        let _ = try_ask::<Value>(&mut other, "CF.SCANDUMP k 1");
    }
    let found = exist_many(&mut client, "k", MANY);
    assert!(found.into_iter().all(|found| found));
    until("all have gone", || {
        info(&mut client, "blocked_clients") == 0
    });
    is_sound(&mut client);
}

/// The snapshot of a dump does not block inserts.
#[test]
fn dumps_are_of_one_moment_while_others_write() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 3000000 EXPANSION 0");
    fill(&mut client, "k", 100_000);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut client = engine.client();
            for item in 0..20_000 {
                ask::<i64>(&mut client, &format!("CF.ADD k new{item}"));
            }
        });
        let mut copies = 0;
        while !writer.is_finished() {
            for piece in dump(&mut client, "k") {
                common::load(&mut client, "copy", &piece);
            }
            assert!(
                exist_many(&mut client, "copy", 100_000)
                    .into_iter()
                    .all(|found| found)
            );
            ask::<i64>(&mut client, "DEL copy");
            copies += 1;
        }
        assert!(copies > 0);
    });
    until("no dump is left", || {
        info(&mut client, "guira_dumps_under_way") == 0
    });
    is_sound(&mut client);
}

#[test]
fn the_module_stays_loaded() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&["--enable-module-command", "yes"]);
    let mut client = engine.client();
    let module: Vec<HashMap<String, Value>> = ask(&mut client, "MODULE LIST");
    let guira = Value::BulkString(b"guira".to_vec());
    assert!(
        module.iter().any(|module| module["name"] == guira),
        "{module:?}"
    );
    // A type cannot be unregistered while keys have it.
    let refused = refusal(&mut client, "MODULE UNLOAD guira");
    assert!(refused.contains("data type"), "{refused}");
    ask::<i64>(&mut client, "CF.ADD k a");
    // The module cannot be loaded twice, either.
    let again = format!("MODULE LOAD {}", common::module().display());
    assert!(try_ask::<Value>(&mut client, &again).is_err());
    assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
    is_sound(&mut client);
}

#[test]
fn wrong_arguments_are_named_in_the_log() {
    if is_skipped() {
        return;
    }
    let log = Engine::refuses(&["--loadmodule", "MODULE", "threads", "0"]);
    let expected = "the module is not loaded: the argument 'threads' of the module is '0', and must be from 1 to 64";
    assert!(log.contains(expected), "{log}");
}

#[test]
fn the_example_of_shards_does_what_it_says() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let said = shards::run(&format!("redis://127.0.0.1:{}", engine.port)).unwrap();
    assert_eq!(said, "1000 items are in 64 filters");
    assert_eq!(info(&mut engine.client(), "guira_filters"), 64);
}

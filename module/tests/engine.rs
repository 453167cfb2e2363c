//! Filters behave like the engine's own types: ACLs, watches, events, limits, blocked clients.

#[path = "engine/combined.rs"]
mod combined;
mod common;
#[path = "engine/descriptions.rs"]
mod descriptions;
#[path = "engine/threads.rs"]
mod threads;

use common::{Engine, PATIENCE, ask, dump, info, is_skipped, is_sound, refusal, try_ask, until};
use redis::Value;
use std::collections::HashMap;

#[path = "../examples/shards.rs"]
#[allow(dead_code)]
mod shards;

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
        ("CF.ADDCOUNT k b", true),
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

/// Each item comes in a command of its own. The engine asks the filter for its memory, and `INFO` shows
/// what the module has counted.
#[test]
fn the_memory_of_a_filter_that_grows_is_counted() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let mut client = engine.client();
    ask::<()>(&mut client, "CF.RESERVE k 100");
    let mut memory = || {
        let counted = info(&mut client, "guira_filters_bytes");
        (ask::<i64>(&mut client, "MEMORY USAGE k"), counted)
    };
    let (used, counted) = memory();
    let beside = used - counted;
    let mut adder = engine.client();
    for item in 0..20_000 {
        assert_eq!(ask::<i64>(&mut adder, &format!("CF.ADD k {item}")), 1);
        if item % 100 == 0 {
            let (used, counted) = memory();
            // The module counts in units of 8 bytes.
            assert!(
                (used - counted - beside).abs() <= 8,
                "{item}: {used} and {counted}"
            );
        }
    }
    let (grown, _) = memory();
    assert!(grown > 50 * used, "{grown} after {used}");
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
        ("guira.combine-slots", "100000"),
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
    assert!(refused.starts_with("OOM the filter needs "), "{refused}");
    assert!(
        refused.contains("guira.max-filter-bytes is 1048576"),
        "{refused}"
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
            "must be in the range [2e-9, 1)",
        ),
        ("guira.max-filter-bytes 1gb", "536870912"),
        ("guira.threads 0", "between 1 and 64"),
        ("guira.default-expansion 32769", "between 0 and 32768"),
    ] {
        let refused = refusal(&mut client, &format!("CONFIG SET {setting}"));
        assert!(refused.contains(reason), "{setting}: {refused}");
    }
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

//! Commands in any order, from two clients, leave nothing behind.

#[path = "common/work.rs"]
mod work;

use proptest::prelude::*;

/// A command with arguments that often fit together.
fn command() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec!["k", "l", "m"]);
    let word = prop::sample::select(vec![
        "k",
        "l",
        "m",
        "a",
        "b",
        "0",
        "1",
        "2",
        "-1",
        "100",
        "9223372036854775807",
        "NX",
        "XX",
        "GT",
        "LT",
        "REPLACE",
        "ITEMS",
        "CAPACITY",
        "COUNT",
        "MATCH",
        "*",
        "ID",
        "ADDR",
        "GET",
        "LIST",
        "KILL",
        "RESET",
        "SKIPME",
        "no",
        "usage",
        "resetstat",
    ]);
    let two_keys = prop::sample::select(vec!["RENAME", "RENAMENX", "COPY"]);
    let often = prop::sample::select(vec![
        "CF.ADD",
        "CF.ADDCOUNT",
        "CF.ADDNX",
        "CF.DEL",
        "CF.EXISTS",
        "CF.COUNT",
        "CF.TOUCH",
        "CF.ADDTOUCH",
        "EXPIRE",
        "PEXPIRE",
        "PEXPIREAT",
    ]);
    let alone = prop::sample::select(vec![
        "MULTI",
        "EXEC",
        "DISCARD",
        "UNWATCH",
        "RESET",
        "\"\"",
        "FLUSHALL",
        "INFO",
        "KEYS *",
        "CF.RESERVE k 100 WINDOW 1 EPOCHS 13",
        "CF.RESERVE l 100 WINDOW 3600",
        "CF.RESERVE m 100 WINDOW 1 COUNTERS 8",
        "WATCH k",
        "WATCH l m",
        "PEXPIRE k 1",
        "SCAN 0",
        "CLIENT LIST",
        "SLOWLOG GET",
    ]);
    let names: Vec<_> = guira_server::command::COMMANDS
        .iter()
        .map(|it| it.name)
        .collect();
    let any_name = prop::sample::select(names);
    prop_oneof![
        4 => (often, key.clone(), word.clone()).prop_map(|(a, b, c)| format!("{a} {b} {c}")),
        2 => (two_keys, key.clone(), key).prop_map(|(a, b, c)| format!("{a} {b} {c}")),
        3 => alone.prop_map(str::to_owned),
        3 => (any_name, prop::collection::vec(word, 0..5))
            .prop_map(|(name, words)| format!("{name} {}", words.join(" "))),
    ]
}

fn cases() -> u32 {
    match std::env::var_os("GUIRA_LONG") {
        Some(_) => 20_000,
        None => 200,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn commands_in_any_order_leave_nothing_behind(
        commands in prop::collection::vec(command(), 1..60)
    ) {
        work::work(format!("{}\n", commands.join("\n")).as_bytes());
    }
}

/// The inputs that the fuzzer begins with.
#[test]
fn the_corpus_leaves_nothing_behind() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/commands");
    let mut inputs = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        work::work(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs >= 4);
}

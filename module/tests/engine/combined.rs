//! Keys that are like others are combined: on replicas, in files, with rights, beside writers.

use super::common::{Engine, ask, digest, info, is_skipped, is_sound, refusal, try_ask, until};
use redis::{Connection, Value};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

/// The number of keys that are built side by side, and of writers beside that.
const KEYS: usize = 8;

/// The number of items of each key, and of items per command.
const ITEMS: usize = 1_000;
const BATCH: usize = 500;

fn items(from: usize, count: usize) -> String {
    let items: Vec<_> = (from..from + count).map(|item| item.to_string()).collect();
    items.join(" ")
}

/// Adds the items `from..from + ITEMS` to `key`.
fn build(client: &mut Connection, key: &str, from: usize) {
    for from in (from..from + ITEMS).step_by(BATCH) {
        let line = format!("CF.MADD {key} {}", items(from, BATCH));
        assert_eq!(ask::<Vec<i64>>(client, &line), [1; BATCH]);
    }
}

/// Adds items to a key, and deletes every other one, until it is to stop. Returns how many stay.
fn write(engine: &Engine, key: &str, writer: usize, stop: &AtomicBool) -> usize {
    let mut client = engine.client();
    for number in 0.. {
        let item = format!("{writer}-{number}");
        assert_eq!(ask::<i64>(&mut client, &format!("CF.ADD {key} {item}")), 1);
        if number % 2 == 1 {
            assert_eq!(ask::<i64>(&mut client, &format!("CF.DEL {key} {item}")), 1);
        }
        if stop.load(Relaxed) {
            return number / 2 + 1;
        }
    }
    0
}

/// Adds and deletes items that keys have in common, until it is to stop. What is deleted may be gone.
fn churn(engine: &Engine, key: &str, stop: &AtomicBool) {
    let mut client = engine.client();
    for number in (0..2 * ITEMS).cycle() {
        ask::<Value>(&mut client, &format!("CF.ADDNX {key} {number}"));
        let other = (number * 7 + 1) % (2 * ITEMS);
        ask::<Value>(&mut client, &format!("CF.DEL {key} {other}"));
        if stop.load(Relaxed) {
            return;
        }
    }
}

/// Waits until both have the same filters, and the same in these keys.
fn are_equal(primary: &mut Connection, replica: &mut Connection, keys: &[&str]) {
    until("the replica catches up", || {
        let status: String = ask(replica, "INFO replication");
        status.contains("master_link_status:up")
            && info(primary, "master_repl_offset") == info(replica, "master_repl_offset")
    });
    assert_eq!(digest(primary), digest(replica));
    for key in keys {
        let line = format!("CF.DIGEST {key}");
        assert_eq!(ask::<String>(primary, &line), ask::<String>(replica, &line));
    }
}

#[test]
fn eight_keys_are_combined_beside_writers_and_replicas_are_equal() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&["--appendonly", "yes"]);
    let replica = Engine::start(&[]);
    let client = &mut engine.client();
    let follow = format!("REPLICAOF 127.0.0.1 {}", engine.port);
    ask::<()>(&mut replica.client(), &follow);
    // At this rate and with this seed no item is mistaken for another one.
    ask::<()>(
        client,
        "CF.RESERVE k0 1000 ERROR 0.0000001 MAXCAPACITY 100000 SEED 1",
    );
    let others = (1..KEYS).map(|key| format!("k{key}"));
    for key in others.chain(["merged".into(), "united".into()]) {
        ask::<()>(client, &format!("CF.RESERVE {key} LIKE k0"));
    }
    for (from, key) in (0..KEYS).map(|key| (key * ITEMS, format!("k{key}"))) {
        build(client, &key, from);
    }
    let keys: Vec<_> = (0..KEYS).map(|key| format!("k{key}")).collect();
    let keys = keys.join(" ");
    let stop = AtomicBool::new(false);
    let mut written = [0; 2];
    thread::scope(|scope| {
        let engine = &engine;
        let write = |writer| {
            let (key, stop) = (["merged", "united"][writer % 2], &stop);
            scope.spawn(move || write(engine, key, writer, stop))
        };
        let writers: Vec<_> = (0..KEYS).map(write).collect();
        let lines = [
            "CF.MERGE merged",
            "CF.UNION united",
            "CF.UNION united",
            "CF.MERGE new",
        ];
        let combine = |line| try_ask::<()>(client, &format!("{line} {keys}"));
        let done = lines.map(combine);
        stop.store(true, Relaxed);
        assert_eq!(done, [(); 4].map(Ok));
        for (writer, thread) in writers.into_iter().enumerate() {
            written[writer % 2] += thread.join().unwrap();
        }
    });
    for (key, own) in [("merged", written[0]), ("united", written[1]), ("new", 0)] {
        let described: String = ask(client, &format!("CF.DEBUG {key}"));
        let items = format!(" items:{} ", KEYS * ITEMS + own);
        assert!(described.contains(&items), "{key}: {described}");
    }
    are_equal(client, &mut replica.client(), &["merged", "united", "new"]);
    is_sound(client);
    is_sound(&mut replica.client());
    // The file has the same commands.
    let before = digest(client);
    engine.kill();
    engine.start_again();
    let client = &mut engine.client();
    assert_eq!(digest(client), before);
    is_sound(client);
}

/// Whatever writers add and delete at that time, a replica removes the same.
#[test]
fn keys_are_intersected_and_subtracted_beside_writers_and_replicas_are_equal() {
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&["--appendonly", "yes"]);
    let replica = Engine::start(&[]);
    let client = &mut engine.client();
    let follow = format!("REPLICAOF 127.0.0.1 {}", engine.port);
    ask::<()>(&mut replica.client(), &follow);
    let mut keys = Vec::new();
    for options in [
        "MAXCAPACITY 100000",
        "COUNTERS 8",
        "WINDOW 3600",
        "WINDOW 3600 COUNTERS 4",
    ] {
        let of_kind = ["a", "b", "both", "rest"].map(|name| format!("{}:{name}", keys.len()));
        let [a, b, both, rest] = &of_kind;
        ask::<()>(
            client,
            &format!("CF.RESERVE {a} 1000 ERROR 0.00001 {options}"),
        );
        ask::<()>(client, &format!("CF.RESERVE {b} LIKE {a}"));
        build(client, a, 0);
        build(client, b, ITEMS / 2);
        for key in [both, rest] {
            ask::<()>(client, &format!("CF.UNION {key} {a}"));
        }
        keys.push(of_kind);
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for [a, b, both, rest] in &keys {
            for key in [a, b, both, rest] {
                let (engine, stop) = (&engine, &stop);
                scope.spawn(move || churn(engine, key, stop));
            }
        }
        let mut combine = || -> Result<(), redis::RedisError> {
            for _ in 0..10 {
                for [a, b, both, rest] in &keys {
                    for line in [
                        format!("CF.INTERSECT {both} {a} {b}"),
                        format!("CF.DIFF {rest} {b}"),
                        format!("CF.UNION {both} {a}"),
                        format!("CF.UNION {rest} {a}"),
                    ] {
                        try_ask::<()>(client, &line)?;
                    }
                }
            }
            Ok(())
        };
        let done = combine();
        stop.store(true, Relaxed);
        assert_eq!(done, Ok(()));
    });
    for [a, b, both, rest] in &keys {
        ask::<()>(client, &format!("CF.INTERSECT {both} {a} {b}"));
        ask::<()>(client, &format!("CF.INTERSECT {both}:new {a} {b} {both}"));
        ask::<()>(client, &format!("CF.DIFF {rest} {b}"));
    }
    let keys: Vec<_> = keys.iter().flatten().map(|key| &key[..]).collect();
    are_equal(client, &mut replica.client(), &keys);
    is_sound(client);
    is_sound(&mut replica.client());
    // The file has the same commands.
    let before = digest(client);
    engine.kill();
    engine.start_again();
    let client = &mut engine.client();
    assert_eq!(digest(client), before);
    is_sound(client);
}

/// A new key that is large is made on a thread, and loaded piece by piece.
#[test]
fn large_keys_become_a_new_key_beside_writers() {
    const ITEMS: usize = 20_000;
    if is_skipped() {
        return;
    }
    let mut engine = Engine::start(&["--appendonly", "yes"]);
    let replica = Engine::start(&[]);
    let client = &mut engine.client();
    let follow = format!("REPLICAOF 127.0.0.1 {}", engine.port);
    ask::<()>(&mut replica.client(), &follow);
    let reserve = "ERROR 0.0000001 MAXCAPACITY 400000 SEED 1";
    ask::<()>(client, &format!("CF.RESERVE k0 {ITEMS} {reserve}"));
    ask::<()>(
        client,
        "CF.RESERVE w0 20000 WINDOW 3600 ERROR 0.001 MAXCAPACITY 400000",
    );
    let mut keys = ["k", "w"].map(|_| String::new());
    for (of_kind, kind) in keys.iter_mut().zip(["k", "w"]) {
        for number in 0..KEYS {
            let key = format!("{kind}{number}");
            if number > 0 {
                ask::<()>(client, &format!("CF.RESERVE {key} LIKE {kind}0"));
            }
            for from in (0..ITEMS).step_by(BATCH) {
                let items = items(number * ITEMS + from, BATCH);
                ask::<Value>(client, &format!("CF.MADD {key} {items}"));
            }
            *of_kind += &format!(" {key}");
        }
    }
    let [plain, windowed] = keys;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let engine = &engine;
        let write = |writer: usize| {
            let (key, stop) = (format!("own{writer}"), &stop);
            scope.spawn(move || write(engine, &key, writer, stop))
        };
        let writers: Vec<_> = (0..KEYS).map(write).collect();
        let combine = |line: &String| try_ask::<()>(client, line);
        let done = [
            &format!("CF.MERGE merged{plain}"),
            &format!("CF.UNION united{plain}"),
            &format!("CF.UNION new{windowed}"),
            &"CF.INTERSECT both merged k1".to_owned(),
        ];
        let done = done.map(combine);
        stop.store(true, Relaxed);
        assert_eq!(done, [(); 4].map(Ok));
        writers
            .into_iter()
            .for_each(|it| assert!(it.join().unwrap() > 0));
    });
    for key in ["merged", "united"] {
        let described: String = ask(client, &format!("CF.DEBUG {key}"));
        let items = format!(" items:{} ", KEYS * ITEMS);
        assert!(described.contains(&items), "{key}: {described}");
    }
    let [both, part] = ["both", "k1"].map(|key| ask::<String>(client, &format!("CF.DIGEST {key}")));
    assert_eq!(both, part);
    for (key, from) in ["merged", "united", "new"]
        .into_iter()
        .zip([0, 40_000, 150_000])
    {
        let line = format!("CF.MEXISTS {key} {}", items(from, BATCH));
        assert_eq!(ask::<Vec<i64>>(client, &line), [1; BATCH]);
    }
    // Other clients would wait.
    let refused = refusal(client, &format!("CF.MERGE merged{plain}"));
    assert!(refused.starts_with("ERR the filters have "), "{refused}");
    ask::<()>(client, "MULTI");
    ask::<()>(client, &format!("CF.MERGE other{plain}"));
    let refused = format!("{:?}", try_ask::<Value>(client, "EXEC"));
    assert!(refused.contains("the filters have "), "{refused}");
    // The reasons are those of small keys.
    ask::<()>(client, "CF.RESERVE seed 20000 SEED 2");
    let refused = refusal(client, &format!("CF.MERGE other{plain} seed"));
    assert!(
        refused.contains("does not combine with 'other'"),
        "{refused}"
    );
    assert_eq!(ask::<i64>(client, "EXISTS other"), 0);
    are_equal(client, &mut replica.client(), &["merged", "united", "new"]);
    is_sound(client);
    is_sound(&mut replica.client());
    let before = ask::<String>(client, "CF.DIGEST merged");
    engine.kill();
    engine.start_again();
    let client = &mut engine.client();
    assert_eq!(ask::<String>(client, "CF.DIGEST merged"), before);
    is_sound(client);
}

#[test]
fn keys_of_other_commands_are_known_to_the_engine() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&[]);
    let client = &mut engine.client();
    for (words, keys) in [
        ("CF.MERGE a b c", vec!["a", "b", "c"]),
        ("CF.UNION a b", vec!["a", "b"]),
        ("CF.INTERSECT a b c", vec!["a", "b", "c"]),
        ("CF.DIFF a b", vec!["a", "b"]),
        ("CF.DIGEST a", vec!["a"]),
        ("CF.RESERVE a 100 LIKE b", vec!["a", "b"]),
        ("CF.RESERVE a like b", vec!["a", "b"]),
        ("CF.RESERVE like 100", vec!["like"]),
    ] {
        let found: Vec<String> = ask(client, &format!("COMMAND GETKEYS {words}"));
        assert_eq!(found, keys, "{words}");
    }
    ask::<()>(client, "CF.RESERVE secret 100");
    ask::<()>(client, "ACL SETUSER some on nopass ~own* +@all");
    let some = &mut engine.client();
    ask::<()>(some, "AUTH some x");
    ask::<()>(some, "CF.RESERVE own 100");
    for words in [
        "CF.RESERVE own2 LIKE secret",
        "CF.MERGE own secret",
        "CF.UNION secret own",
        "CF.INTERSECT own own secret",
        "CF.DIFF secret own",
        "CF.DIGEST secret",
    ] {
        let refused = refusal(some, words);
        assert!(refused.starts_with("NOPERM"), "{words}: {refused}");
    }
    ask::<()>(some, "CF.RESERVE own2 LIKE own");
    ask::<()>(some, "CF.MERGE own own2");
    ask::<()>(client, "SET text x");
    assert!(refusal(client, "CF.MERGE own text").starts_with("WRONGTYPE"));
    assert!(refusal(client, "CF.MERGE text own").starts_with("WRONGTYPE"));
    is_sound(client);
}

/// Seeds are secret, because clients that know one can choose items that collide.
#[test]
fn no_log_shows_a_seed() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&["--slowlog-log-slower-than", "0"]);
    let client = &mut engine.client();
    ask::<()>(client, "CF.RESERVE a 100 SEED 47114711 EXPANSION 0");
    ask::<Value>(client, "CF.INSERT b seed 47114711 ITEMS x");
    let log = format!("{:?}", ask::<Value>(client, "SLOWLOG GET 10"));
    assert!(
        log.contains("EXPANSION") && log.contains("redacted"),
        "{log}"
    );
    assert!(
        !log.contains("47114711") && !engine.log().contains("47114711"),
        "{log}"
    );
    is_sound(client);
}

/// In a cluster, all keys of a command are in one slot.
#[test]
fn keys_of_one_slot_are_combined_in_a_cluster() {
    if is_skipped() {
        return;
    }
    let engine = Engine::start(&["--cluster-enabled", "yes"]);
    let client = &mut engine.client();
    ask::<()>(client, "CLUSTER ADDSLOTSRANGE 0 16383");
    until("the cluster is up", || {
        ask::<String>(client, "CLUSTER INFO").contains("cluster_state:ok")
    });
    for words in [
        "CF.RESERVE {s}a 100",
        "CF.RESERVE {s}b LIKE {s}a",
        "CF.MERGE {s}c {s}a {s}b",
        "CF.UNION {s}a {s}b",
        "CF.INTERSECT {s}d {s}a {s}b",
        "CF.DIFF {s}a {s}b",
    ] {
        ask::<()>(client, words);
    }
    for words in [
        "CF.RESERVE {t}b LIKE {s}a",
        "CF.MERGE {s}c {s}a {t}b",
        "CF.UNION {t}a {s}b",
        "CF.INTERSECT {t}a {s}b",
        "CF.DIFF {s}a {t}b",
    ] {
        let refused = refusal(client, words);
        assert!(refused.starts_with("CROSSSLOT"), "{words}: {refused}");
    }
    is_sound(client);
}

//! Keys that are like others are combined, while clients write.

use crate::{
    common::{PROTOCOLS, Server, ask, in_both, memory, refusal, try_ask},
    standby::{copy, standby_of},
};
use redis::{Connection, Value};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

/// The number of keys that are built side by side, and of writers beside that.
const KEYS: usize = 8;

/// The number of items of each key.
const ITEMS: usize = 20_000;

/// The number of keys with one item that is the same.
const COMMON: usize = 2;

/// The number of items per command.
const BATCH: usize = 1_000;

/// Adds the items `from..from + ITEMS` to `key`, and one that some keys have.
fn build(client: &mut Connection, key: &str, from: usize) {
    if from < ITEMS * COMMON {
        ask::<()>(client, &format!("CF.ADD {key} common"));
    }
    for from in (from..from + ITEMS).step_by(BATCH) {
        let items: Vec<_> = (from..from + BATCH).map(|it| it.to_string()).collect();
        let added: Vec<i64> = ask(client, &format!("CF.MADD {key} {}", items.join(" ")));
        assert_eq!(added, [1; BATCH]);
    }
}

fn len(client: &mut Connection, key: &str) -> usize {
    let fields: Vec<Value> = ask(client, &format!("CF.INFO {key}"));
    let name = Value::SimpleString("Number of items inserted".into());
    let at = fields.iter().position(|field| *field == name);
    match fields[at.expect("the field is there") + 1] {
        Value::Int(items) => items as usize,
        ref other => panic!("{other:?}"),
    }
}

/// Writes to a key until it is to stop: adds items of its own, and deletes every other one. Returns the
/// number of items that stay.
fn write(server: &Server, key: &str, writer: usize, stop: &AtomicBool) -> usize {
    let mut client = server.client(PROTOCOLS[0]);
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

#[test]
fn eight_keys_are_built_side_by_side_and_combined_beside_writers() {
    let server = Server::start(&[]);
    let client = || server.client(PROTOCOLS[0]);
    // At this rate and with this seed no item is mistaken for another one.
    let most = 2 * KEYS * ITEMS;
    let made = format!("CF.RESERVE k0 {ITEMS} ERROR 0.0000001 MAXCAPACITY {most} SEED 1");
    ask::<()>(&mut client(), &made);
    for key in 1..KEYS {
        ask::<()>(&mut client(), &format!("CF.RESERVE k{key} LIKE k0"));
    }
    for key in ["merged", "united"] {
        ask::<()>(&mut client(), &format!("CF.RESERVE {key} LIKE k0"));
    }
    thread::scope(|scope| {
        for key in 0..KEYS {
            let mut client = client();
            scope.spawn(move || build(&mut client, &format!("k{key}"), key * ITEMS));
        }
    });
    let keys: Vec<_> = (0..KEYS).map(|key| format!("k{key}")).collect();
    let keys = keys.join(" ");
    let stop = AtomicBool::new(false);
    let mut written = [0; 2];
    thread::scope(|scope| {
        let writers: Vec<_> = (0..KEYS)
            .map(|writer| {
                let (server, stop) = (&server, &stop);
                let key = ["merged", "united"][writer % 2];
                scope.spawn(move || write(server, key, writer, stop))
            })
            .collect();
        let combine = |command| try_ask::<()>(&mut client(), &format!("{command} {keys}"));
        let done = ["CF.MERGE merged", "CF.UNION united"].map(combine);
        stop.store(true, Relaxed);
        assert_eq!(done, [Ok(()), Ok(())]);
        for (writer, thread) in writers.into_iter().enumerate() {
            written[writer % 2] += thread.join().unwrap();
        }
    });
    let client = &mut client();
    assert_eq!(len(client, "merged"), KEYS * ITEMS + COMMON + written[0]);
    assert_eq!(len(client, "united"), KEYS * ITEMS + 1 + written[1]);
    for (key, copies) in [("merged", COMMON), ("united", 1)] {
        assert_eq!(
            ask::<usize>(client, &format!("CF.COUNT {key} common")),
            copies
        );
        for from in (0..KEYS * ITEMS).step_by(BATCH) {
            let items: Vec<_> = (from..from + BATCH).map(|it| it.to_string()).collect();
            let line = format!("CF.MEXISTS {key} {}", items.join(" "));
            assert_eq!(ask::<Vec<i64>>(client, &line), [1; BATCH]);
        }
        for item in (0..KEYS * ITEMS).step_by(997) {
            assert_eq!(
                ask::<usize>(client, &format!("CF.COUNT {key} {item}")),
                1,
                "{item}"
            );
        }
    }
    let (_standby, mut reader) = standby_of(server.port, &[]);
    copy(&mut reader);
    for key in ["k0", "merged", "united"] {
        let digest = format!("CF.DIGEST {key}");
        assert_eq!(
            ask::<String>(&mut reader, &digest),
            ask::<String>(client, &digest)
        );
    }
}

/// Writers add to what is subtracted from, and to what others are combined with.
#[test]
fn keys_are_intersected_and_subtracted_beside_writers() {
    const BOTH: usize = ITEMS / 2;
    let server = Server::start(&[]);
    let client = &mut server.client(PROTOCOLS[0]);
    // At this rate and with this seed no item is mistaken for another one.
    let most = 8 * ITEMS;
    let made = format!("CF.RESERVE a {ITEMS} ERROR 0.0000001 MAXCAPACITY {most} SEED 1");
    ask::<()>(client, &made);
    ask::<()>(client, "CF.RESERVE b LIKE a");
    build(client, "a", 0);
    build(client, "b", BOTH);
    for key in ["both", "rest"] {
        ask::<()>(client, &format!("CF.UNION {key} a"));
    }
    let stop = AtomicBool::new(false);
    let lines = [
        "CF.INTERSECT new a b",
        "CF.INTERSECT both b a",
        "CF.DIFF rest b",
    ];
    let written = thread::scope(|scope| {
        let writers = ["rest", "b", "rest", "b"].into_iter().enumerate();
        let writers: Vec<_> = writers
            .map(|(writer, key)| {
                let (server, stop) = (&server, &stop);
                scope.spawn(move || write(server, key, writer, stop))
            })
            .collect();
        let done = lines.map(|line| try_ask::<()>(client, line));
        stop.store(true, Relaxed);
        assert_eq!(done, [(); 3].map(Ok));
        let written: Vec<_> = writers.into_iter().map(|it| it.join().unwrap()).collect();
        written[0] + written[2]
    });
    assert_eq!(len(client, "both"), ITEMS - BOTH + 1);
    assert_eq!(len(client, "rest"), BOTH + written);
    let items = |from| {
        let items: Vec<_> = (from..from + BATCH)
            .map(|it: usize| it.to_string())
            .collect();
        items.join(" ")
    };
    for from in (0..2 * ITEMS).step_by(BATCH) {
        for (key, range) in [("both", BOTH..ITEMS), ("rest", 0..BOTH)] {
            let line = format!("CF.MEXISTS {key} {}", items(from));
            let expected = [i64::from(range.contains(&from)); BATCH];
            assert_eq!(ask::<Vec<i64>>(client, &line), expected, "{key} {from}");
        }
    }
    let digests = |client: &mut Connection| {
        ["new", "both", "rest"].map(|key| ask::<String>(client, &format!("CF.DIGEST {key}")))
    };
    let before = digests(client);
    assert_eq!(before[0], before[1]);
    // The same commands change nothing more.
    for line in lines {
        ask::<()>(client, line);
    }
    assert_eq!(digests(client), before);
    let (_standby, mut reader) = standby_of(server.port, &[]);
    copy(&mut reader);
    assert_eq!(digests(&mut reader), before);
}

#[test]
fn combined_keys_are_charged_and_refused_before_anything_changes() {
    let server = Server::start(&["--maxmemory", "4mb"]);
    let client = &mut server.client(PROTOCOLS[0]);
    ask::<()>(client, "CF.RESERVE a 1000");
    ask::<()>(client, "CF.RESERVE b LIKE a");
    build(client, "a", 0);
    build(client, "b", ITEMS);
    ask::<()>(client, "CF.MERGE both a b");
    assert_eq!(len(client, "both"), 2 * (ITEMS + 1));
    let usage = |client: &mut Connection, key: &str| -> usize {
        ask(client, &format!("MEMORY USAGE {key}"))
    };
    let charged = |client: &mut Connection| {
        let all = memory(client, "used_memory_dataset:");
        (all - usage(client, "a"), usage(client, "a"))
    };
    let (others, before) = charged(client);
    ask::<()>(client, "CF.MERGE a b");
    let (now, after) = charged(client);
    assert!(
        now == others && after > before,
        "{now}, {others}; {after}, {before}"
    );
    let limit = memory(client, "used_memory_dataset:") + 10_000;
    ask::<()>(client, &format!("CONFIG SET maxmemory {limit}"));
    let digest: String = ask(client, "CF.DIGEST a");
    let refused = refusal(client, "CF.MERGE a b");
    assert!(refused.starts_with("OOM the filter needs "), "{refused}");
    for command in ["CF.UNION", "CF.INTERSECT"] {
        let refused = refusal(client, &format!("{command} new a"));
        assert!(refused.starts_with("OOM the filter needs "), "{refused}");
    }
    assert_eq!(ask::<String>(client, "CF.DIGEST a"), digest);
    assert_eq!(ask::<i64>(client, "EXISTS new"), 0);
    // What only removes needs no memory.
    ask::<()>(client, "CF.INTERSECT a b");
    assert_eq!(len(client, "a"), ITEMS + 1);
    ask::<()>(client, "CF.DIFF a b");
    assert_eq!(len(client, "a"), 0);
}

/// Reads of `WATCH` and transactions, and the descriptions of the commands.
#[test]
fn commands_on_several_keys_are_described_and_watched() {
    in_both(|_, client| {
        ask::<()>(client, "CF.RESERVE a 100");
        ask::<()>(client, "CF.RESERVE b LIKE a");
        ask::<()>(client, "CF.ADD b x");
        for (words, keys) in [
            ("CF.MERGE a b c", vec!["a", "b", "c"]),
            ("CF.UNION a b", vec!["a", "b"]),
            ("CF.INTERSECT a b c", vec!["a", "b", "c"]),
            ("CF.DIFF a b", vec!["a", "b"]),
            ("CF.DIGEST a", vec!["a"]),
            ("CF.RESERVE a 100 LIKE b", vec!["a", "b"]),
            ("CF.RESERVE a LIKE b", vec!["a", "b"]),
            ("CF.RESERVE like 100", vec!["like"]),
        ] {
            let found: Vec<String> = ask(client, &format!("COMMAND GETKEYS {words}"));
            assert_eq!(found, keys, "{words}");
        }
        ask::<()>(client, "WATCH a");
        ask::<()>(client, "CF.MERGE a b");
        ask::<()>(client, "MULTI");
        ask::<()>(client, "CF.DIGEST a");
        assert_eq!(ask::<Value>(client, "EXEC"), Value::Nil);
        ask::<()>(client, "MULTI");
        ask::<()>(client, "CF.UNION a b");
        ask::<()>(client, "CF.MERGE new a b");
        let done: Vec<String> = ask(client, "EXEC");
        assert_eq!(done, ["OK", "OK"]);
        assert_eq!(ask::<i64>(client, "CF.COUNT new x"), 2);
        ask::<()>(client, "CF.INTERSECT new a");
        assert_eq!(ask::<i64>(client, "CF.COUNT new x"), 1);
        ask::<()>(client, "CF.DIFF new b");
        assert_eq!(ask::<i64>(client, "CF.COUNT new x"), 0);
        let refused = refusal(client, "CF.DIFF none a");
        assert_eq!(refused, "ERR the key 'none' does not exist");
    });
}

/// Seeds are secret, because clients that know one can choose items that collide.
#[test]
fn the_slow_log_shows_no_seeds() {
    let server = Server::start(&["--slowlog-log-slower-than", "0"]);
    let client = &mut server.client(PROTOCOLS[0]);
    ask::<()>(client, "CF.RESERVE a 100 SEED 4711 EXPANSION 0");
    ask::<()>(client, "CF.INSERT b seed 4711 ITEMS x");
    let log = format!("{:?}", ask::<Value>(client, "SLOWLOG GET"));
    assert!(
        log.contains("EXPANSION") && log.contains("(redacted)"),
        "{log}"
    );
    assert!(!log.contains("4711"), "{log}");
}

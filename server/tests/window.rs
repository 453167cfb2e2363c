//! Keys that forget: filters with a time window.

mod dumps;

use crate::common::{PATIENCE, PROTOCOLS, Protocol, Server, ask, in_both, refusal, until};
use redis::{Connection, Value};
use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

fn info(client: &mut Connection, key: &str) -> HashMap<String, i64> {
    ask(client, &format!("CF.INFO {key}"))
}

/// A value of `CF.DEBUG`.
fn debug(client: &mut Connection, key: &str, name: &str) -> String {
    let line: String = ask(client, &format!("CF.DEBUG {key}"));
    let start = format!("{name}:");
    let found = line.split(' ').find_map(|word| word.strip_prefix(&start));
    found
        .unwrap_or_else(|| panic!("no {name} in {line}"))
        .to_owned()
}

fn has(client: &mut Connection, line: &str) -> bool {
    ask(client, line)
}

/// A key that was deleted comes back with its window if the insert says it, in one step.
#[test]
fn an_insert_creates_a_key_with_a_window() {
    in_both(|_, client| {
        let insert = "CF.INSERTNX tokens WINDOW 3600 EPOCHS 6 CAPACITY 1000 ITEMS t1";
        for gone in ["FLUSHALL", "DEL tokens", "EXPIRE tokens 0"] {
            assert_eq!(ask::<(i64,)>(client, insert).0, 1, "{gone}");
            assert_eq!(ask::<(i64,)>(client, insert).0, 0, "{gone}");
            let description: String = ask(client, "CF.DEBUG tokens");
            assert!(
                description.contains(" window:3600 epochs:6 "),
                "{description}"
            );
            ask::<()>(client, gone);
        }
        // Without the options the key would have no window, and the items would stay.
        ask::<()>(client, "CF.ADDNX tokens t1");
        let refused = refusal(client, insert);
        assert!(
            refused.starts_with("This filter has no window"),
            "{refused}"
        );
    });
}

#[test]
fn a_window_is_checked_and_shown() {
    in_both(|_, client| {
        let window = "WINDOW: value must be in the range [1, 3153600000], and is";
        let excluded = "exclude each other: with EXPANSION 0 the size is fixed";
        for (line, expected) in [
            ("CF.RESERVE k 9 WINDOW x", "Couldn't parse WINDOW".into()),
            ("CF.RESERVE k 9 WINDOW 0.5", "Couldn't parse WINDOW".into()),
            ("CF.RESERVE k 9 WINDOW 0", format!("{window} 0")),
            (
                "CF.RESERVE k 9 WINDOW 3153600001",
                format!("{window} 3153600001"),
            ),
            (
                "CF.RESERVE k 9 WINDOW 9 EPOCHS 14",
                "EPOCHS: value must be in the range [1, 13], and is 14".into(),
            ),
            (
                "CF.RESERVE k 9 EPOCHS 3",
                "EPOCHS is for filters with a WINDOW".into(),
            ),
            (
                "CF.RESERVE k 9 MAXCAPACITY 99 WINDOW 9 EXPANSION 0",
                format!("MAXCAPACITY and EXPANSION 0 {excluded}"),
            ),
            (
                "CF.RESERVE k 9 WINDOW 9 MAXITERATIONS 0",
                "MAXITERATIONS: value must be in the range [1, 65535]".into(),
            ),
        ] {
            assert_eq!(refusal(client, line), expected, "{line}");
        }
        let rate = refusal(client, "CF.RESERVE k 9 WINDOW 9 ERROR 0.00000001");
        assert!(
            rate.starts_with("ERR 26-bit fingerprints do not reach a false-positive rate of 1e-8"),
            "{rate}"
        );
        assert!(!has(client, "EXISTS k"));

        ask::<()>(
            client,
            "CF.RESERVE k 1000 WINDOW 3600 EXPANSION 0 BUCKETSIZE 4",
        );
        assert_eq!(
            refusal(client, "CF.RESERVE k 9 WINDOW 9"),
            "ERR item exists"
        );
        let shown = info(client, "k");
        assert_eq!(shown["Window in seconds"], 3600);
        assert_eq!(shown["Epochs of the window"], 12);
        assert_eq!(shown["Expansion rate"], 0);
        assert!((0..300_000).contains(&shown["Age of the epoch in milliseconds"]));
        assert_eq!(debug(client, "k", "window"), "3600");
        assert_eq!(debug(client, "k", "epochs"), "12");
        assert_eq!(debug(client, "k", "epoch"), "0");
        assert_eq!(debug(client, "k", "epoch_length"), "300.000");
        assert_eq!(debug(client, "k", "capacity"), "1000");
        let size: i64 = ask(client, "MEMORY USAGE k");
        assert_eq!(size, shown["Size"]);
        assert_eq!(ask::<String>(client, "TYPE k"), "MBbloomCF");
        assert_eq!(ask::<String>(client, "CF.COMPACT k"), "OK");
        ask::<()>(client, "CF.RESERVE plain 9");
        assert_eq!(info(client, "plain").get("Window in seconds"), None);
    });
}

/// The sizes are those in `docs/server/commands.md`.
#[test]
fn a_window_takes_up_so_much_memory() {
    in_both(|_, client| {
        for (capacity, bytes) in [(10_000, 28_000), (1_000_000, 2_400_000)] {
            ask::<()>(
                client,
                &format!("CF.RESERVE {capacity} {capacity} EXPANSION 0 WINDOW 3600"),
            );
            let used: i64 = ask(client, &format!("MEMORY USAGE {capacity}"));
            assert!(
                (used - bytes).abs() < bytes / 50,
                "{used} bytes for {capacity}"
            );
        }
    });
}

#[test]
fn the_commands_of_plain_keys_are_there() {
    in_both(|protocol, client| {
        // At this rate there are no false positives among these items.
        ask::<()>(client, "CF.RESERVE k 100000 ERROR 0.0000002 WINDOW 3600");
        assert!(has(client, "CF.ADD k a") && has(client, "CF.ADD k a"));
        assert!(has(client, "CF.ADDNX k b") && !has(client, "CF.ADDNX k b"));
        let inserted: Value = ask(client, "CF.INSERT k NOCREATE ITEMS c c");
        let yes = protocol.boolean(true);
        assert_eq!(inserted, Value::Array(vec![yes.clone(), yes]));
        let inserted: Vec<i64> = ask(client, "CF.INSERTNX k ITEMS c d");
        assert_eq!(inserted, [0, 1]);
        let found: Vec<bool> = ask(client, "CF.MEXISTS k a b c d e");
        assert_eq!(found, [true, true, true, true, false]);
        let count = |client: &mut Connection, item: &str| -> i64 {
            ask(client, &format!("CF.COUNT k {item}"))
        };
        assert_eq!(["a", "b", "e"].map(|item| count(client, item)), [2, 1, 0]);
        assert!(has(client, "CF.DEL k a"));
        assert!(has(client, "CF.EXISTS k a") && count(client, "a") == 1);
        assert!(has(client, "CF.DEL k a") && !has(client, "CF.DEL k a"));
        let shown = info(client, "k");
        assert_eq!(shown["Number of items inserted"], 4);
        assert_eq!(shown["Number of items deleted"], 2);
    });
}

#[test]
fn a_window_with_counters_is_checked_and_shown() {
    in_both(|_, client| {
        let most = |epochs, bits, most| {
            format!(
                "ERR an item that occurs in each of {epochs} epochs does not fit its buckets with counters \
                 of {bits} bits: at this false-positive rate there are at most {most} epochs"
            )
        };
        for (options, expected) in [
            (
                "COUNTERS 5",
                "COUNTERS: value must be 4 or 8, and is 5".into(),
            ),
            (
                "COUNTERS 8 EPOCHS 14",
                "EPOCHS: value must be in the range [1, 13], and is 14".into(),
            ),
            ("COUNTERS 8 EPOCHS 5", most(5, 8, 4)),
            ("COUNTERS 4 EPOCHS 6 ERROR 0.03", most(6, 4, 5)),
            ("COUNTERS 4 EPOCHS 3 ERROR 0.0001", most(3, 4, 2)),
            (
                "COUNTERS 8 ERROR 0.000001",
                "ERR 19-bit fingerprints do not reach a false-positive rate of 1e-6: \
                 the range is [3.9e-6, 1)"
                    .into(),
            ),
        ] {
            let line = format!("CF.RESERVE k 1000 WINDOW 9 {options}");
            assert_eq!(refusal(client, &line), expected, "{options}");
        }
        assert!(!has(client, "EXISTS k"));
        for (options, bits, epochs) in [
            ("COUNTERS 4 EXPANSION 0 ERROR 0.03", "4", 3),
            ("COUNTERS 8 EXPANSION 0", "8", 2),
            ("COUNTERS 8 EPOCHS 2 MAXCAPACITY 50000", "8", 2),
        ] {
            ask::<()>(client, &format!("CF.RESERVE k 1000 WINDOW 3600 {options}"));
            ask::<()>(client, "CF.RESERVE like LIKE k");
            for key in ["k", "like"] {
                assert_eq!(debug(client, key, "counter_bits"), bits, "{options}");
                assert_eq!(debug(client, key, "window"), "3600", "{options}");
                assert_eq!(
                    info(client, key)["Epochs of the window"],
                    epochs,
                    "{options}"
                );
            }
            let most: usize = debug(client, "k", "max_capacity").parse().unwrap();
            assert_eq!(most > 1000, options.contains("MAXCAPACITY"), "{options}");
            ask::<()>(client, "FLUSHALL");
        }
    });
}

/// One call adds and counts, and what came before the window does not count.
#[test]
fn counts_expire() {
    let server = Server::start(&[]);
    for (protocol, options) in PROTOCOLS
        .into_iter()
        .zip(["EXPANSION 0", "MAXCAPACITY 10000"])
    {
        let mut client = server.client(protocol);
        let client = &mut client;
        ask::<()>(client, "FLUSHALL");
        let options = format!("COUNTERS 8 ERROR 0.001 {options}");
        ask::<()>(
            client,
            &format!("CF.RESERVE k 1000 WINDOW 1 EPOCHS 2 {options}"),
        );
        ask::<()>(
            client,
            &format!("CF.RESERVE hour 1000 WINDOW 3600 {options}"),
        );
        for round in 0..2 {
            let begin = Instant::now();
            let mut last = 0;
            for count in 1..=300 {
                last = ask(client, "CF.ADDCOUNT k a");
                // What was added less than a window ago counts.
                if begin.elapsed() < Duration::from_secs(1) {
                    assert_eq!(last, count, "{options}");
                }
                let of_all: i64 = ask(client, "CF.ADDCOUNT hour a");
                assert_eq!(of_all, 300 * round + count, "{options}");
            }
            assert!((1..=300).contains(&last), "{options}: {last}");
            outlive(client, "k", "a");
            assert!(begin.elapsed() >= Duration::from_secs(1), "{options}");
            assert_eq!(ask::<i64>(client, "CF.COUNT k a"), 0, "{options}");
        }
        assert_eq!(
            refusal(client, "CF.ADDCOUNT none a"),
            "ERR not found: CF.RESERVE key capacity WINDOW seconds COUNTERS 8 makes the key"
        );
        assert!(!has(client, "EXISTS none"));
    }
}

/// Of racing calls at most n get a number up to n, so none passes a limit twice.
#[test]
fn racing_calls_share_one_limit() {
    const CALLS: usize = 1000;
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    ask::<()>(&mut client, "CF.RESERVE k 1000 WINDOW 3600 COUNTERS 8");
    ask::<()>(&mut client, "CF.RESERVE plain 1000 COUNTERS 8");
    for key in ["k", "plain"] {
        let add = |_| {
            let mut client = server.client(Protocol::Resp2);
            let mut calls = redis::pipe();
            for _ in 0..CALLS / 8 {
                calls.cmd("CF.ADDCOUNT").arg(key).arg("a");
            }
            let counts: Vec<usize> = calls.query(&mut client).unwrap();
            assert!(counts.is_sorted_by(|a, b| a < b), "{counts:?}");
            counts
        };
        let mut counts: Vec<usize> = thread::scope(|scope| {
            let clients: Vec<_> = (0..8)
                .map(|number| scope.spawn(move || add(number)))
                .collect();
            clients
                .into_iter()
                .flat_map(|it| it.join().unwrap())
                .collect()
        });
        counts.sort_unstable();
        for (index, count) in counts.iter().enumerate() {
            assert!((index + 1..=CALLS).contains(count), "{index}: {count}");
        }
        assert_eq!(
            ask::<usize>(&mut client, &format!("CF.COUNT {key} a")),
            CALLS
        );
    }
}

#[test]
fn a_window_that_is_full_says_so() {
    in_both(|protocol, client| {
        ask::<()>(client, "CF.RESERVE k 100 WINDOW 3600 EXPANSION 0");
        let items: Vec<u32> = (0..1000).collect();
        let inserted: Vec<Value> = redis::cmd("CF.INSERT")
            .arg("k")
            .arg("ITEMS")
            .arg(&items)
            .query(client)
            .unwrap();
        let yes = protocol.boolean(true);
        let refused = inserted.iter().position(|answer| *answer != yes).unwrap();
        assert!(refused >= 100, "{refused}");
        assert_eq!(
            refusal(client, &format!("CF.ADD k {refused}")),
            "Filter is full: more items came within its window than its capacity"
        );
    });
}

#[test]
fn a_window_grows() {
    in_both(|protocol, client| {
        ask::<()>(client, "CF.RESERVE k 100 WINDOW 3600");
        ask::<()>(client, "CF.RESERVE most 100 WINDOW 3600 MAXCAPACITY 5000");
        let most: u32 = debug(client, "k", "max_capacity").parse().unwrap();
        assert!(most >= 25_600, "{most}");
        assert_eq!(debug(client, "most", "max_capacity"), "5000");
        let items: Vec<u32> = (0..5_000).collect();
        for key in ["k", "most"] {
            let mut insert = redis::cmd("CF.INSERT");
            let inserted: Vec<Value> = insert
                .arg(key)
                .arg("ITEMS")
                .arg(&items)
                .query(client)
                .unwrap();
            assert_eq!(inserted, vec![protocol.boolean(true); 5_000], "{key}");
            assert_ne!(debug(client, key, "doublings"), "0");
            let mut look = redis::cmd("CF.MEXISTS");
            let found: Vec<bool> = look.arg(key).arg(&items).query(client).unwrap();
            assert_eq!(found, [true; 5_000], "{key}");
        }
        // A rate at which no window can grow.
        ask::<()>(client, "CF.RESERVE low 100 WINDOW 3600 ERROR 0.0000001");
        assert_eq!(debug(client, "low", "max_capacity"), "100");
    });
}

/// Waits until the item is forgotten.
fn outlive(client: &mut Connection, key: &str, item: &str) {
    let exists = format!("CF.EXISTS {key} {item}");
    until("it is forgotten", || {
        thread::sleep(Duration::from_millis(2));
        !has(client, &exists)
    });
}

/// The windows of small and of large filters behave alike.
#[test]
fn items_are_forgotten_after_the_window_and_an_epoch() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    for (key, capacity) in [("k", 100), ("large", 1_000_000)] {
        ask::<()>(
            &mut client,
            &format!("CF.RESERVE {key} {capacity} WINDOW 1 EPOCHS 4"),
        );
    }
    ask::<()>(&mut client, "CF.RESERVE other 100 WINDOW 3600");
    ask::<()>(&mut client, "CF.ADD other a");
    ask::<()>(&mut client, "CF.RESERVE plain 100");
    ask::<()>(&mut client, "CF.ADD plain a");
    for key in ["k", "large"] {
        let since = Instant::now();
        assert!(has(&mut client, &format!("CF.ADDNX {key} a")));
        outlive(&mut client, key, "a");
        let lived = since.elapsed();
        assert!(lived >= Duration::from_secs(1), "{key}: {lived:?}");
        // Forgetting may be late on a noisy machine, but not forever.
        assert!(lived < PATIENCE / 2, "{key}: {lived:?}");
        assert!(has(&mut client, &format!("CF.ADDNX {key} a")));
    }
    assert!(has(&mut client, "CF.EXISTS other a") && has(&mut client, "CF.EXISTS plain a"));
    assert_eq!(debug(&mut client, "other", "epoch"), "0");
    // A new name changes nothing.
    ask::<()>(&mut client, "RENAME k renamed");
    let since = Instant::now();
    let before: u64 = debug(&mut client, "renamed", "epoch").parse().unwrap();
    ask::<()>(&mut client, "CF.ADD renamed b");
    outlive(&mut client, "renamed", "b");
    let begun = debug(&mut client, "renamed", "epoch")
        .parse::<u64>()
        .unwrap()
        - before;
    let most = 1 + since.elapsed().as_millis() as u64 / 250;
    assert!(
        (5..=most).contains(&begun),
        "{begun} steps, and {most} at most"
    );
}

#[test]
fn a_touch_begins_the_time_of_an_item_anew() {
    in_both(|protocol, client| {
        // At this rate there are no false positives among these items.
        ask::<()>(
            client,
            "CF.RESERVE k 100000 ERROR 0.0000002 WINDOW 1 EPOCHS 4",
        );
        let answer = |client: &mut Connection, line: &str| ask::<Value>(client, line);
        let [yes, no] = [true, false].map(|answer| protocol.boolean(answer));
        assert_eq!(answer(client, "CF.TOUCH k a"), no);
        assert_eq!(answer(client, "CF.ADDTOUCH k a"), yes);
        assert_eq!(answer(client, "CF.ADDTOUCH k a"), no);
        assert_eq!(answer(client, "CF.TOUCH k a"), yes);
        assert_eq!(ask::<i64>(client, "CF.COUNT k a"), 1);
        assert_eq!(answer(client, "CF.ADD k b"), yes);
        // This is much longer than the window.
        let since = Instant::now();
        let mut last = since;
        while since.elapsed() < Duration::from_secs(2) {
            let now = Instant::now();
            let is_there = answer(client, "CF.TOUCH k a") == yes;
            // Otherwise this thread did not run for that long.
            assert!(is_there || last.elapsed() >= Duration::from_secs(1));
            answer(client, "CF.ADDTOUCH k a");
            answer(client, "CF.ADDTOUCH k c");
            last = now;
            thread::sleep(Duration::from_millis(20));
        }
        assert!(ask::<i64>(client, "CF.COUNT k c") <= 1);
        // No client touched the item.
        outlive(client, "k", "b");
        outlive(client, "k", "a");
        assert!(last.elapsed() >= Duration::from_secs(1));
        assert_eq!(answer(client, "CF.TOUCH k a"), no);
    });
}

#[test]
fn a_touch_is_for_windows() {
    in_both(|protocol, client| {
        assert_eq!(
            ask::<Value>(client, "CF.TOUCH none a"),
            protocol.boolean(false)
        );
        assert_eq!(
            refusal(client, "CF.ADDTOUCH none a"),
            "ERR not found: CF.RESERVE key capacity WINDOW seconds makes the key"
        );
        ask::<()>(client, "CF.ADD plain a");
        for command in ["TOUCH", "ADDTOUCH"] {
            assert_eq!(
                refusal(client, &format!("CF.{command} plain a")),
                "This filter has no window: its items stay until they are deleted"
            );
            let expected = format!(
                "ERR wrong number of arguments for 'cf.{}' command",
                command.to_lowercase()
            );
            assert_eq!(refusal(client, &format!("CF.{command} k")), expected);
        }
        // At this rate there are no false positives among these items.
        ask::<()>(client, "CF.RESERVE k 100000 ERROR 0.0000002 WINDOW 3600");
        ask::<()>(client, "CF.ADD k a");
        for (command, changes) in [("CF.TOUCH k b", false), ("CF.TOUCH k a", true)] {
            ask::<()>(client, "WATCH k");
            ask::<()>(client, command);
            ask::<()>(client, "MULTI");
            ask::<()>(client, "PING");
            assert_eq!(
                ask::<Value>(client, "EXEC") == Value::Nil,
                changes,
                "{command}"
            );
        }
    });
}

/// Keys are created and deleted while their windows advance.
#[test]
fn nothing_is_charged_for_keys_that_have_gone() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    let used = |client: &mut Connection| {
        let info: String = ask(client, "INFO memory");
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = used(&mut client);
    for round in 0..20 {
        for key in 0..50 {
            ask::<()>(
                &mut client,
                &format!("CF.RESERVE {key} 100 WINDOW 1 EPOCHS 13"),
            );
            ask::<()>(&mut client, &format!("CF.ADD {key} a"));
        }
        assert!(used(&mut client) > before);
        ask::<()>(&mut client, "COPY 1 copy");
        ask::<()>(&mut client, "RENAME 2 1");
        ask::<()>(&mut client, "PEXPIRE 3 1");
        ask::<()>(&mut client, "DEL 4 5");
        if round == 19 {
            thread::sleep(Duration::from_millis(200));
        }
        ask::<()>(&mut client, "FLUSHALL");
        until("it is given back", || used(&mut client) == before);
    }
}

#[test]
fn a_copy_has_the_times_of_its_items() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    ask::<()>(&mut client, "CF.RESERVE k 100 WINDOW 1 EPOCHS 2");
    let since = Instant::now();
    ask::<()>(&mut client, "CF.ADD k a");
    until("a step begins", || debug(&mut client, "k", "epoch") != "0");
    assert!(has(&mut client, "COPY k copy"));
    assert_eq!(debug(&mut client, "copy", "window"), "1");
    // The copy continues from the epoch of the original, and does not start from the beginning.
    let step: u64 = debug(&mut client, "copy", "epoch").parse().unwrap();
    assert!(step >= 1);
    outlive(&mut client, "copy", "a");
    assert!(since.elapsed() >= Duration::from_secs(1));
    assert!(!has(&mut client, "CF.EXISTS copy a"));
}

/// The clock keeps running between two servers.
#[test]
fn a_restarted_server_goes_on_with_its_windows() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let server = Server::start(&["--dir", path]);
    let mut client = server.client(Protocol::Resp3);
    ask::<()>(
        &mut client,
        "CF.RESERVE short 100 WINDOW 2 EPOCHS 4 ERROR 0.001",
    );
    ask::<()>(&mut client, "CF.RESERVE long 100 WINDOW 3600 EPOCHS 6");
    ask::<()>(&mut client, "CF.RESERVE counts 100 WINDOW 3600 COUNTERS 8");
    (0..300).for_each(|_| ask::<()>(&mut client, "CF.ADDCOUNT counts hot"));
    ask::<()>(&mut client, "CF.RESERVE plain 100");
    let since = Instant::now();
    for key in ["short", "long", "plain"] {
        ask::<()>(&mut client, &format!("CF.ADD {key} a"));
        ask::<()>(&mut client, &format!("CF.ADD {key} b"));
        ask::<()>(&mut client, &format!("CF.DEL {key} b"));
    }
    ask::<()>(&mut client, "EXPIRE long 1000");
    let shown: Vec<_> = ["short", "long", "plain"]
        .map(|key| info(&mut client, key))
        .into();
    assert!(server.terminate().success());

    let server = Server::start(&["--dir", path]);
    let mut client = server.client(Protocol::Resp3);
    for (key, mut before) in ["short", "long", "plain"].into_iter().zip(shown) {
        let mut now = info(&mut client, key);
        let age = "Age of the epoch in milliseconds";
        let ages = [before.remove(age), now.remove(age)];
        if key == "long" {
            assert!(ages[1] > ages[0], "{ages:?}");
        }
        if key != "short" {
            assert_eq!(now, before, "{key}");
        }
    }
    assert!(ask::<i64>(&mut client, "TTL long") > 900);
    assert_eq!(ask::<i64>(&mut client, "CF.ADDCOUNT counts hot"), 301);
    assert!(has(&mut client, "CF.EXISTS long a") && has(&mut client, "CF.EXISTS plain a"));
    outlive(&mut client, "short", "a");
    assert!(
        since.elapsed() >= Duration::from_secs(2),
        "{:?}",
        since.elapsed()
    );

    // Items that were not seen for this long are forgotten.
    ask::<()>(&mut client, "CF.ADD short c");
    assert!(server.terminate().success());
    thread::sleep(Duration::from_millis(2600));
    let server = Server::start(&["--dir", path]);
    let mut client = server.client(Protocol::Resp3);
    assert!(!has(&mut client, "CF.EXISTS short c"));
    assert_eq!(info(&mut client, "short")["Window in seconds"], 2);
    assert!(has(&mut client, "CF.ADDNX short c"));
}

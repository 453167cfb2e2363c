//! Every command in both protocols, and every error text.

mod common;

use common::{PROTOCOLS, Protocol, Server, ask, refusal};
use redis::Value;

fn in_both(test: impl Fn(Protocol, &mut redis::Connection)) {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        test(protocol, &mut client);
        ask::<()>(&mut client, "FLUSHALL");
    }
}

fn ints(values: &[i64]) -> Value {
    Value::Array(values.iter().map(|&value| Value::Int(value)).collect())
}

/// The tutorial of the Redis documentation, with the answers it shows.
#[test]
fn the_tutorial_of_the_redis_documentation() {
    in_both(|protocol, client| {
        let yes = protocol.boolean(true);
        let no = protocol.boolean(false);
        assert_eq!(
            ask::<Value>(client, "CF.RESERVE bikes:models 1000000"),
            Value::Okay
        );
        let bike = ["bikes:models", "Smoky Mountain Striker"];
        let mut on = |command: &str, item: [&str; 2]| -> Value {
            redis::cmd(command).arg(&item).query(client).unwrap()
        };
        assert_eq!(on("CF.ADD", bike), yes);
        assert_eq!(on("CF.EXISTS", bike), yes);
        assert_eq!(on("CF.EXISTS", ["bikes:models", "Terrible Bike Name"]), no);
        assert_eq!(on("CF.DEL", bike), yes);
        assert_eq!(on("CF.EXISTS", bike), no);
    });
}

#[test]
fn items_are_added_found_counted_and_deleted() {
    in_both(|protocol, client| {
        let (yes, no) = (protocol.boolean(true), protocol.boolean(false));
        assert_eq!(ask::<Value>(client, "CF.ADD k a"), yes);
        assert_eq!(ask::<Value>(client, "CF.ADD k a"), yes);
        assert_eq!(ask::<Value>(client, "CF.ADDNX k a"), no);
        assert_eq!(ask::<Value>(client, "CF.ADDNX k b"), yes);
        assert_eq!(ask::<Value>(client, "CF.COUNT k a"), Value::Int(2));
        assert_eq!(ask::<Value>(client, "CF.COUNT k c"), Value::Int(0));
        assert_eq!(ask::<Value>(client, "CF.EXISTS k b"), yes);
        let found = Value::Array(vec![yes.clone(), yes.clone(), no.clone()]);
        assert_eq!(ask::<Value>(client, "CF.MEXISTS k a b c"), found);
        assert_eq!(ask::<Value>(client, "CF.DEL k a"), yes);
        assert_eq!(ask::<Value>(client, "CF.COUNT k a"), Value::Int(1));
        assert_eq!(ask::<Value>(client, "CF.DEL k a"), yes);
        assert_eq!(ask::<Value>(client, "CF.DEL k a"), no);
    });
}

#[test]
fn a_missing_key_holds_nothing() {
    in_both(|protocol, client| {
        let no = protocol.boolean(false);
        assert_eq!(ask::<Value>(client, "CF.EXISTS none a"), no);
        let none = Value::Array(vec![no.clone(), no]);
        assert_eq!(ask::<Value>(client, "CF.MEXISTS none a b"), none);
        assert_eq!(ask::<Value>(client, "CF.COUNT none a"), Value::Int(0));
        assert_eq!(refusal(client, "CF.DEL none a"), "Not found");
        assert_eq!(refusal(client, "CF.INFO none"), "ERR not found");
        assert_eq!(refusal(client, "CF.DEBUG none"), "ERR not found");
        assert_eq!(
            refusal(client, "CF.COMPACT none"),
            "Cuckoo filter was not found"
        );
        assert_eq!(refusal(client, "CF.SCANDUMP none 0"), "ERR not found");
        assert_eq!(refusal(client, "CF.LOADCHUNK none 2 x"), "ERR not found");
        assert_eq!(
            refusal(client, "CF.INSERT none NOCREATE ITEMS a"),
            "ERR not found"
        );
        assert_eq!(
            refusal(client, "CF.INSERTNX none NOCREATE ITEMS a"),
            "ERR not found"
        );
    });
}

#[test]
fn inserts_of_many_items() {
    in_both(|protocol, client| {
        let (yes, no) = (protocol.boolean(true), protocol.boolean(false));
        let two = Value::Array(vec![yes.clone(), yes.clone()]);
        assert_eq!(ask::<Value>(client, "CF.INSERT k ITEMS a b"), two);
        assert_eq!(
            ask::<Value>(client, "cf.insert k capacity 5000 nocreate items c d"),
            two
        );
        assert_eq!(
            ask::<Value>(client, "CF.INSERTNX k ITEMS a e e"),
            ints(&[0, 1, 0])
        );
        let none_but = Value::Array(vec![yes, no]);
        assert_eq!(ask::<Value>(client, "CF.MEXISTS k e f"), none_but);

        ask::<()>(client, "CF.RESERVE small 4 EXPANSION 0");
        let items: Vec<String> = (0..64).map(|item| item.to_string()).collect();
        let reply: Vec<Value> = ask(
            client,
            &format!("CF.INSERT small ITEMS {}", items.join(" ")),
        );
        let (inserted, full) = match protocol {
            Protocol::Resp2 => (Value::Int(1), Value::Int(-1)),
            Protocol::Resp3 => (Value::Boolean(true), Value::Boolean(false)),
        };
        assert_eq!(reply.len(), 64);
        assert!(
            reply[..4].iter().all(|value| *value == inserted),
            "the capacity fits"
        );
        assert!(reply.contains(&full));
        let present: Vec<bool> = ask(client, &format!("CF.MEXISTS small {}", items.join(" ")));
        for (reply, present) in reply.iter().zip(present) {
            assert!(*reply != inserted || present);
        }
        let reply: Vec<i64> = ask(
            client,
            &format!("CF.INSERTNX small ITEMS {}", items.join(" ")),
        );
        assert!(reply.contains(&0) && reply.contains(&-1), "{reply:?}");
    });
}

#[test]
fn full_filters_say_so() {
    in_both(|_, client| {
        ask::<()>(client, "CF.RESERVE fixed 4 EXPANSION 0");
        let fill = |client: &mut redis::Connection, key: &str| {
            (0..1_000_000)
                .find_map(|item| {
                    common::try_ask::<Value>(client, &format!("CF.ADD {key} {item}")).err()
                })
                .map(|error| common::text(&error))
        };
        assert_eq!(fill(client, "fixed").as_deref(), Some("Filter is full"));
        // At this rate a filter for 4 items cannot grow far.
        ask::<()>(client, "CF.RESERVE limited 4 ERROR 0.00000001");
        assert_eq!(
            fill(client, "limited").as_deref(),
            Some("Maximum expansions reached")
        );
        ask::<()>(client, "CF.RESERVE copies 1000");
        let refused =
            (0..100).find_map(|_| common::try_ask::<Value>(client, "CF.ADD copies a").err());
        let refused = common::text(&refused.expect("copies of one item are bounded"));
        let count: i64 = ask(client, "CF.COUNT copies a");
        assert_eq!(
            refused,
            format!("Filter is full of copies of this item: {count} is the most")
        );
    });
}

/// An item can be refused because others have left many copies in its buckets:
/// no growth could help, and the filter does not say that it has grown too far.
#[test]
fn copies_of_other_items_can_be_in_the_way() {
    in_both(|_, client| {
        for options in ["EXPANSION 0", "EXPANSION 1"] {
            ask::<()>(client, "FLUSHALL");
            ask::<()>(client, &format!("CF.RESERVE k 10000 {options}"));
            let refused = (0..500).find_map(|item| {
                let add = format!("CF.ADD k {item}");
                let error = (0..100).find_map(|_| common::try_ask::<Value>(client, &add).err());
                let text = common::text(&error.expect("copies of one item are bounded"));
                (!text.starts_with("Filter is full of copies of this item")).then_some(text)
            });
            assert_eq!(
                refused.as_deref(),
                Some("Filter is full of copies of items that share the buckets of this one"),
                "{options}"
            );
        }
    });
}

#[test]
fn reserve_checks_its_arguments_in_order() {
    let arity = "ERR wrong number of arguments for 'CF.RESERVE' command";
    let capacity = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
    let cases = [
        ("CF.RESERVE", arity),
        ("CF.RESERVE k", arity),
        ("CF.RESERVE k 100 EXPANSION", arity),
        ("CF.RESERVE k x MAXITERATIONS x", "Bad capacity"),
        (
            "CF.RESERVE k 1 MAXITERATIONS x BUCKETSIZE x",
            "Couldn't parse MAXITERATIONS",
        ),
        (
            "CF.RESERVE k 1 MAXITERATIONS 0",
            "MAXITERATIONS: value must be in the range [1, 65535]",
        ),
        (
            "CF.RESERVE k 1 MAXITERATIONS 65536",
            "MAXITERATIONS: value must be in the range [1, 65535]",
        ),
        (
            "CF.RESERVE k 1 EXPANSION x BUCKETSIZE x",
            "Couldn't parse BUCKETSIZE",
        ),
        (
            "CF.RESERVE k 1 BUCKETSIZE 0",
            "BUCKETSIZE: value must be in the range [1, 255]",
        ),
        (
            "CF.RESERVE k 1 BUCKETSIZE 256",
            "BUCKETSIZE: value must be in the range [1, 255]",
        ),
        ("CF.RESERVE k 1 EXPANSION x", "Couldn't parse EXPANSION"),
        (
            "CF.RESERVE k 1 EXPANSION -1",
            "EXPANSION: value must be in the range [0, 32768]",
        ),
        (
            "CF.RESERVE k 1 EXPANSION 32769",
            "EXPANSION: value must be in the range [0, 32768]",
        ),
        ("CF.RESERVE k 100 ERROR x", "Couldn't parse ERROR"),
        (
            "CF.RESERVE k 100 ERROR 0",
            "ERROR: value must be in the range [0.000000002, 1)",
        ),
        (
            "CF.RESERVE k 100 ERROR 1",
            "ERROR: value must be in the range [0.000000002, 1)",
        ),
        (
            "CF.RESERVE k 100 ERROR NaN",
            "ERROR: value must be in the range [0.000000002, 1)",
        ),
        (
            "CF.RESERVE k 100 ERROR 0.000000001",
            "ERROR: value must be in the range [0.000000002, 1)",
        ),
        ("CF.RESERVE k 100 COLOUR blue", "Unknown argument received"),
        ("CF.RESERVE k 3", capacity),
        ("CF.RESERVE k 9 BUCKETSIZE 5", capacity),
        ("CF.RESERVE k 1073741825", capacity),
        ("CF.RESERVE k 1099511627776", capacity),
        ("CF.RESERVE k -5", capacity),
        ("CF.RESERVE there 100", "ERR item exists"),
        (
            "CF.RESERVE k 1073741824 EXPANSION 0",
            "OOM the filter needs 1073741824 bytes, and of maxmemory, 1048576, there are",
        ),
    ];
    let server = Server::start(&["--maxmemory", "1mb"]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        ask::<()>(&mut client, "CF.RESERVE there 100");
        for (words, expected) in cases {
            let refused = refusal(&mut client, words);
            match expected.starts_with("OOM") {
                true => assert!(refused.starts_with(expected), "{words}: {refused}"),
                false => assert_eq!(refused, expected, "{words}"),
            }
        }
        let keys: Vec<String> = ask(&mut client, "KEYS *");
        assert_eq!(keys, ["there"], "errors make no keys");
        ask::<()>(
            &mut client,
            "CF.RESERVE all 100 MAXITERATIONS 65535 bucketsize 4 Expansion 2 error 0.001",
        );
        ask::<()>(&mut client, "FLUSHDB");
    }
}

#[test]
fn other_commands_check_their_arguments() {
    in_both(|_, client| {
        for words in [
            "CF.ADD",
            "CF.ADD k",
            "CF.ADD k a b",
            "CF.ADDNX k",
            "CF.EXISTS k",
            "CF.EXISTS k a b",
            "CF.MEXISTS k",
            "CF.COUNT k",
            "CF.DEL k",
            "CF.DEL k a b",
            "CF.INFO",
            "CF.INFO a b",
            "CF.DEBUG",
            "CF.COMPACT",
            "CF.COMPACT a b",
            "CF.SCANDUMP k",
            "CF.LOADCHUNK k 1",
            "CF.INSERT k ITEMS",
            "CF.INSERT k NOCREATE ITEMS",
            "CF.INSERT k CAPACITY 100",
            "CF.INSERT k NOCREATE CAPACITY",
            "CF.INSERTNX k ITEMS",
        ] {
            let name = words.split(' ').next().unwrap();
            let expected = format!("ERR wrong number of arguments for '{name}' command");
            assert_eq!(refusal(client, words), expected, "{words}");
        }
        let capacity = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        for command in ["CF.INSERT", "CF.INSERTNX"] {
            let cases = [
                ("k CAPACITY x ITEMS a", "Bad capacity"),
                ("k CAPACITY 3 ITEMS a", capacity),
                ("k CAPACITY 1073741825 ITEMS a", capacity),
                ("k COLOUR blue ITEMS a", "Unknown argument received"),
            ];
            for (words, expected) in cases {
                assert_eq!(
                    refusal(client, &format!("{command} {words}")),
                    expected,
                    "{words}"
                );
            }
        }
        let unknown = refusal(client, "CF.NONE a b");
        assert_eq!(
            unknown,
            "ERR unknown command 'CF.NONE', with args beginning with: 'a' 'b' "
        );
        assert_eq!(ask::<Vec<String>>(client, "KEYS *"), Vec::<String>::new());
    });
}

#[test]
fn info_tells_the_truth_about_the_filter() {
    in_both(|protocol, client| {
        ask::<()>(
            client,
            "CF.RESERVE k 1000 MAXITERATIONS 7 EXPANSION 3 BUCKETSIZE 4",
        );
        ask::<()>(client, "CF.INSERT k ITEMS a b c");
        ask::<()>(client, "CF.DEL k a");
        let pairs: Vec<(String, i64)> = match (protocol, ask(client, "CF.INFO k")) {
            (Protocol::Resp2, Value::Array(flat)) => {
                assert_eq!(flat.len(), 16);
                redis::from_redis_value(Value::Array(flat)).unwrap()
            }
            (Protocol::Resp3, Value::Map(pairs)) => {
                let pair = |(key, value)| {
                    (
                        redis::from_redis_value(key).unwrap(),
                        redis::from_redis_value(value).unwrap(),
                    )
                };
                pairs.into_iter().map(pair).collect()
            }
            (_, other) => panic!("{other:?}"),
        };
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "Size",
            "Number of buckets",
            "Number of filters",
            "Number of items inserted",
            "Number of items deleted",
            "Bucket size",
            "Expansion rate",
            "Max iterations",
        ];
        assert_eq!(names, expected);
        let of = |name: &str| pairs.iter().find(|pair| pair.0 == name).unwrap().1;
        assert!(of("Size") >= 8 * of("Number of buckets"));
        assert!(of("Number of buckets") * of("Bucket size") >= 1000);
        assert_eq!(of("Number of filters"), 1);
        assert_eq!(of("Number of items inserted"), 2);
        assert_eq!(of("Number of items deleted"), 1);
        assert_eq!(of("Expansion rate"), 3);
        assert_eq!(of("Max iterations"), 7);
        let debug: String = ask(client, "CF.DEBUG k");
        assert!(
            debug.starts_with("bktsize:") && debug.contains(" items:2 deletes:1 "),
            "{debug}"
        );
    });
}

#[test]
fn a_filter_grows_and_keeps_its_rate() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    ask::<()>(&mut client, "CF.RESERVE k 1000 ERROR 0.005");
    let items =
        |range: std::ops::Range<u32>| range.map(|item| item.to_string()).collect::<Vec<_>>();
    let before: i64 =
        ask::<std::collections::HashMap<String, i64>>(&mut client, "CF.INFO k")["Size"];
    for thousand in 0..200 {
        let items = items(thousand * 1000..(thousand + 1) * 1000);
        let reply: Vec<bool> = redis::cmd("CF.INSERT")
            .arg("k")
            .arg("ITEMS")
            .arg(items)
            .query(&mut client)
            .unwrap();
        assert!(reply.into_iter().all(|inserted| inserted));
    }
    ask::<()>(&mut client, "CF.COMPACT k");
    let info = ask::<std::collections::HashMap<String, i64>>(&mut client, "CF.INFO k");
    assert!(info["Size"] > 10 * before);
    assert_eq!(info["Number of items inserted"], 200_000);
    let found: Vec<bool> = redis::cmd("CF.MEXISTS")
        .arg("k")
        .arg(items(0..200_000))
        .query(&mut client)
        .unwrap();
    assert!(found.into_iter().all(|present| present));
    let absent: Vec<bool> = redis::cmd("CF.MEXISTS")
        .arg("k")
        .arg(items(1_000_000..1_200_000))
        .query(&mut client)
        .unwrap();
    let wrong = absent.into_iter().filter(|&present| present).count();
    assert!(wrong < 1_200, "{wrong} of 200 000 is more than 0.5 %");
}

#[test]
fn a_filter_grows_for_items_that_are_added_twice() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    // The smaller the filter was at first, the more do copies get in each other's way.
    ask::<()>(&mut client, "CF.RESERVE k 40000");
    let items: Vec<u32> = (0..50_000).collect();
    for _ in 0..2 {
        let inserted: Vec<i64> = redis::cmd("CF.INSERT")
            .arg("k")
            .arg("ITEMS")
            .arg(&items)
            .query(&mut client)
            .unwrap();
        assert_eq!(inserted, vec![1; items.len()]);
    }
}

#[test]
fn the_default_rate_is_not_above_that_of_redisbloom() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp3);
    ask::<()>(&mut client, "CF.RESERVE k 100000 EXPANSION 0");
    let items: Vec<u32> = (0..100_000).collect();
    let inserted: Vec<bool> = redis::cmd("CF.INSERT")
        .arg("k")
        .arg("ITEMS")
        .arg(&items)
        .query(&mut client)
        .unwrap();
    assert!(
        inserted.into_iter().all(|inserted| inserted),
        "the capacity fits"
    );
    let absent: Vec<u32> = (1_000_000..1_200_000).collect();
    let found: Vec<bool> = redis::cmd("CF.MEXISTS")
        .arg("k")
        .arg(&absent)
        .query(&mut client)
        .unwrap();
    let wrong = found.into_iter().filter(|&present| present).count();
    assert!(wrong < 2_900, "{wrong} of 200 000 is more than 1.45 %");
}

#[test]
fn filters_are_dumped_and_loaded() {
    in_both(|protocol, client| {
        // More than one piece.
        ask::<()>(client, "CF.RESERVE k 1000000 EXPANSION 2 MAXITERATIONS 9");
        let items: Vec<u32> = (0..10_000).collect();
        let _: Value = redis::cmd("CF.INSERT")
            .arg("k")
            .arg("ITEMS")
            .arg(&items)
            .query(client)
            .unwrap();
        ask::<()>(client, "CF.DEL k 0");
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut position = 0;
        loop {
            let reply: Value = ask(client, &format!("CF.SCANDUMP k {position}"));
            if let Value::Array(end) = &reply
                && end[..] == [Value::Int(0), Value::Nil]
            {
                break;
            }
            let (next, piece): (u64, Vec<u8>) = redis::from_redis_value(reply).unwrap();
            position = next;
            pieces.push((next, piece));
        }
        assert_eq!(pieces[0].0, 1);
        assert!(pieces.len() > 3);
        assert!(
            pieces.iter().all(|(next, _)| *next < 1 << 53),
            "{protocol:?}"
        );
        let load =
            |client: &mut redis::Connection, key: &str, (position, piece): &(u64, Vec<u8>)| {
                let mut command = redis::cmd("CF.LOADCHUNK");
                command
                    .arg(key)
                    .arg(position)
                    .arg(&piece[..])
                    .query::<Value>(client)
            };
        for piece in &pieces {
            assert_eq!(load(client, "copy", piece).unwrap(), Value::Okay);
        }
        let info = |client: &mut redis::Connection, key: &str| {
            ask::<std::collections::HashMap<String, i64>>(client, &format!("CF.INFO {key}"))
        };
        assert_eq!(info(client, "copy"), info(client, "k"));
        let found: Vec<bool> = redis::cmd("CF.MEXISTS")
            .arg("copy")
            .arg(&items[1..])
            .query(client)
            .unwrap();
        assert!(found.into_iter().all(|present| present));

        let refused = |client: &mut redis::Connection, key: &str, position: u64, piece: &[u8]| {
            common::text(&load(client, key, &(position, piece.to_vec())).unwrap_err())
        };
        assert_eq!(refused(client, "copy", 1, &pieces[0].1), "ERR item exists");
        assert_eq!(
            refused(client, "copy", pieces[1].0, &pieces[1].1),
            "Couldn't load chunk!"
        );
        assert_eq!(refused(client, "new", 0, b"x"), "Invalid position");
        assert_eq!(refused(client, "new", 1, b"x"), "Invalid header");
        assert!(
            refused(client, "new", 1, &[0; 38])
                .starts_with("Invalid header: this is a dump of RedisBloom")
        );
        assert_eq!(
            refused(client, "new", pieces[1].0, &pieces[1].1),
            "ERR not found"
        );
        // Out of order.
        load(client, "new", &pieces[0]).unwrap();
        assert_eq!(
            refused(client, "new", pieces[2].0, &pieces[2].1),
            "Couldn't load chunk!"
        );
        // Damaged.
        load(client, "new", &pieces[0]).unwrap();
        let last = pieces.len() - 1;
        for piece in &pieces[1..last] {
            load(client, "new", piece).unwrap();
        }
        let mut damaged = pieces[last].clone();
        damaged.1[0] ^= 1;
        assert_eq!(
            refused(client, "new", damaged.0, &damaged.1),
            "Couldn't load chunk!"
        );
        assert_eq!(ask::<i64>(client, "EXISTS new"), 0);
        for position in ["x", "-1", "3", "5000000000000"] {
            assert_eq!(
                refusal(client, &format!("CF.SCANDUMP k {position}")),
                "Invalid position"
            );
        }
    });
}

#[test]
fn two_dumps_of_one_key_do_not_mix() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 1000000");
    let (a, _): (u64, Vec<u8>) = ask(&mut client, "CF.SCANDUMP k 1");
    let items: Vec<u32> = (0..100_000).collect();
    let _: Value = redis::cmd("CF.INSERT")
        .arg("k")
        .arg("ITEMS")
        .arg(&items)
        .query(&mut client)
        .unwrap();
    let (b, _): (u64, Vec<u8>) = ask(&mut client, "CF.SCANDUMP k 1");
    let (_, of_a): (u64, Vec<u8>) = ask(&mut client, &format!("CF.SCANDUMP k {a}"));
    let (_, of_b): (u64, Vec<u8>) = ask(&mut client, &format!("CF.SCANDUMP k {b}"));
    let nothing = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte != 0).count() < 1_000;
    assert!(nothing(&of_a) && !nothing(&of_b));
}

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
        assert_eq!(
            refusal(client, "SCAN 0 COUNT 0"),
            "ERR value is not an integer or out of range"
        );
        assert!(ask::<i64>(client, "MEMORY USAGE a") > 100);
        assert_eq!(ask::<Value>(client, "MEMORY USAGE c"), Value::Nil);
        assert_eq!(
            refusal(client, "MEMORY DOCTOR"),
            "ERR only MEMORY USAGE is supported"
        );
        assert_eq!(ask::<i64>(client, "DEL a c"), 1);
        assert_eq!(ask::<i64>(client, "UNLINK b1"), 1);
        for words in ["DEL", "EXISTS", "TYPE", "KEYS", "UNLINK", "SCAN"] {
            let expected = format!("ERR wrong number of arguments for '{words}' command");
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
        assert!(refusal(client, "CLIENT KILL").starts_with("ERR unknown subcommand"));
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
        assert!(refusal(client, "MULTI").starts_with("ERR transactions are not supported"));
        assert_eq!(ask::<i64>(client, "WAIT 0 0"), 0);
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
        let entries: Vec<Value> = ask(client, "COMMAND INFO cf.add none");
        assert_eq!(entries[1], Value::Nil);
        let config: std::collections::HashMap<String, String> =
            ask(client, "CONFIG GET max* save appendonly");
        assert_eq!(config["maxmemory"], (1_u64 << 30).to_string());
        assert_eq!(config["appendonly"], "no");
        assert_eq!(config["save"], "");
        assert!(!config.contains_key("dir"));
        assert!(refusal(client, "CONFIG SET save x").starts_with("ERR settings cannot be changed"));
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

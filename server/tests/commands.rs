//! The CF.* commands in both protocols.

use crate::common::{Protocol, Server, ask, in_both, refusal};
use redis::Value;

fn ints(values: &[i64]) -> Value {
    Value::Array(values.iter().map(|&value| Value::Int(value)).collect())
}

/// The tutorial of the Redis documentation, with the replies that it shows.
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
        // At this rate there are no false positives among these items.
        ask::<()>(client, "CF.RESERVE k 100000 ERROR 0.000001 EXPANSION 0");
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
        // At this rate there are no false positives among these items.
        ask::<()>(client, "CF.RESERVE k 100000 ERROR 0.000001 EXPANSION 0");
        assert_eq!(ask::<Value>(client, "CF.INSERT made ITEMS a b"), two);
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
fn many_items_are_added_deleted_and_touched() {
    in_both(|protocol, client| {
        let (yes, no) = (protocol.boolean(true), protocol.boolean(false));
        let all = |values: &[&Value]| Value::Array(values.iter().map(|&it| it.clone()).collect());
        assert_eq!(ask::<Value>(client, "CF.MADD made a b"), all(&[&yes, &yes]));
        // At this rate there are no false positives among these items.
        ask::<()>(client, "CF.RESERVE k 100000 ERROR 0.000001 EXPANSION 0");
        assert_eq!(
            ask::<Value>(client, "CF.MADD k a b a"),
            all(&[&yes, &yes, &yes])
        );
        assert_eq!(ask::<i64>(client, "CF.COUNT k a"), 2);
        assert_eq!(
            ask::<Value>(client, "CF.MDEL k a x b b"),
            all(&[&yes, &no, &yes, &no])
        );
        assert_eq!(ask::<i64>(client, "CF.COUNT k a"), 1);
        assert_eq!(refusal(client, "CF.MDEL none a"), "Not found");
        assert!(refusal(client, "CF.MTOUCH k a").starts_with("This filter has no window"));
        ask::<()>(client, "CF.RESERVE w 1000 ERROR 0.000001 WINDOW 3600");
        ask::<()>(client, "CF.MADD w a b");
        assert_eq!(ask::<Value>(client, "CF.MTOUCH w a x b"), ints(&[1, 0, 1]));
        assert_eq!(ask::<Value>(client, "CF.MTOUCH none a b"), ints(&[0, 0]));

        ask::<()>(client, "CF.RESERVE small 4 EXPANSION 0");
        let words: Vec<String> = (0..64).map(|item| item.to_string()).collect();
        let reply: Vec<Value> = ask(client, &format!("CF.MADD small {}", words.join(" ")));
        let refused = match protocol {
            Protocol::Resp2 => Value::Int(-1),
            Protocol::Resp3 => Value::Boolean(false),
        };
        assert!(reply[..4].iter().all(|value| *value == yes), "{reply:?}");
        assert!(reply.contains(&refused), "{reply:?}");
    });
}

#[test]
fn full_filters_say_so() {
    in_both(|_, client| {
        ask::<()>(client, "CF.RESERVE fixed 4 EXPANSION 0");
        let fill = |client: &mut redis::Connection, key: &str| {
            (0..1_000_000)
                .find_map(|item| {
                    crate::common::try_ask::<Value>(client, &format!("CF.ADD {key} {item}")).err()
                })
                .map(|error| crate::common::text(&error))
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
            (0..100).find_map(|_| crate::common::try_ask::<Value>(client, "CF.ADD copies a").err());
        let refused = crate::common::text(&refused.expect("copies of one item are bounded"));
        let count: i64 = ask(client, "CF.COUNT copies a");
        assert_eq!(
            refused,
            format!("Filter is full of copies of this item: {count} is the most")
        );
    });
}

/// An item can be refused because many copies of other items fill its buckets. No growth could
/// help, and the error does not claim that the filter has grown too far.
#[test]
fn copies_of_other_items_can_be_in_the_way() {
    in_both(|_, client| {
        for options in ["EXPANSION 0", "EXPANSION 1"] {
            ask::<()>(client, "FLUSHALL");
            ask::<()>(client, &format!("CF.RESERVE k 10000 {options}"));
            let refused = (0..500).find_map(|item| {
                let add = format!("CF.ADD k {item}");
                let error =
                    (0..100).find_map(|_| crate::common::try_ask::<Value>(client, &add).err());
                let text = crate::common::text(&error.expect("copies of one item are bounded"));
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

/// The value of this field of `CF.DEBUG`.
fn debug(client: &mut redis::Connection, key: &str, name: &str) -> usize {
    let debug: String = ask(client, &format!("CF.DEBUG {key}"));
    let mut fields = debug.split(' ').filter_map(|field| field.split_once(':'));
    let value = fields.find_map(|(field, value)| (field == name).then_some(value));
    value.and_then(|value| value.parse().ok()).expect(name)
}

fn size(client: &mut redis::Connection, key: &str) -> usize {
    ask(client, &format!("MEMORY USAGE {key}"))
}

/// Adds the items from `first` up to `end`, which must all fit.
fn fill(client: &mut redis::Connection, key: &str, first: usize, end: usize) {
    for start in (first..end).step_by(50_000) {
        let items: Vec<usize> = (start..end.min(start + 50_000)).collect();
        let mut command = redis::cmd("CF.INSERT");
        let inserted: Vec<i64> = command
            .arg(key)
            .arg("ITEMS")
            .arg(&items)
            .query(client)
            .unwrap();
        assert!(
            inserted.into_iter().all(|inserted| inserted == 1),
            "{start}"
        );
    }
}

#[test]
fn a_filter_grows_a_thousandfold_and_is_small_then() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 4000");
    let (start, items) = (size(&mut client, "k"), 4_000_000);
    fill(&mut client, "k", 0, items);
    ask::<()>(&mut client, "CF.COMPACT k");
    let bits = 8.0 * size(&mut client, "k") as f64 / items as f64;
    assert!(bits < 14.5, "{bits} bits an item");
    assert!(start < 50_000, "it started with {start} bytes");
    // A key that an insert creates is small, because its client chose no size.
    assert!(ask::<bool>(&mut client, "CF.ADD added a"));
    assert!(size(&mut client, "added") < 3_000);
    assert_eq!(debug(&mut client, "added", "max_capacity"), 1 << 20);
}

#[test]
fn growth_costs_few_items_little() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE fixed 100 EXPANSION 0");
    ask::<()>(&mut client, "CF.RESERVE grows 100");
    let buckets = debug(&mut client, "grows", "buckets");
    assert!(buckets <= 2 * debug(&mut client, "fixed", "buckets"));
    assert!(debug(&mut client, "grows", "max_capacity") >= 28_800);
}

/// A filter grows as far as the memory limit allows, and does not stop a power of two earlier.
#[test]
fn a_filter_grows_up_to_the_memory_limit() {
    let limit = 1 << 20;
    let server = Server::start(&["--maxmemory", "1mb"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 10000");
    let most = debug(&mut client, "k", "max_capacity");
    fill(&mut client, "k", 0, most);
    ask::<()>(&mut client, "CF.COMPACT k");
    let bytes = size(&mut client, "k");
    assert!(bytes <= limit, "{bytes} bytes");
    assert!(10 * bytes > 9 * limit, "{bytes} bytes");
    // There is no room for twice this number of items.
    ask::<()>(&mut client, "FLUSHALL");
    ask::<()>(&mut client, "CF.RESERVE k 500000");
    assert_eq!(debug(&mut client, "k", "max_capacity"), 500_000);
}

#[test]
fn max_capacity_is_where_growth_ends() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 1000 MAXCAPACITY 20000");
    assert_eq!(debug(&mut client, "k", "max_capacity"), 20_000);
    fill(&mut client, "k", 0, 20_000);
    let refused = (20_000..100_000).find_map(|item| {
        crate::common::try_ask::<Value>(&mut client, &format!("CF.ADD k {item}")).err()
    });
    assert_eq!(
        crate::common::text(&refused.unwrap()),
        "Maximum expansions reached"
    );
    // With `MAXCAPACITY` a filter can grow further than without it.
    ask::<()>(&mut client, "CF.RESERVE far 100 MAXCAPACITY 10000000");
    assert_eq!(debug(&mut client, "far", "max_capacity"), 10_000_000);
    // `MAXCAPACITY` can also forbid growth.
    ask::<()>(&mut client, "CF.RESERVE same 1000 MAXCAPACITY 1000");
    assert_eq!(debug(&mut client, "same", "max_capacity"), 1000);
    let same = size(&mut client, "same");
    ask::<()>(&mut client, "CF.RESERVE fixed 1000 EXPANSION 0");
    assert_eq!(size(&mut client, "fixed"), same);
}

/// Copies of an item take its counter, and neither room nor memory.
#[test]
fn counters_hold_many_copies_of_an_item() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    for (key, options, most) in [
        ("grows", "COUNTERS 8", 1024),
        ("fixed", "EXPANSION 0 COUNTERS 4", 128),
    ] {
        // With another seed, an item that has the same two buckets as the hot one may take a slot of it.
        ask::<()>(
            &mut client,
            &format!("CF.RESERVE {key} 1000 {options} SEED 2"),
        );
        fill(&mut client, key, 0, 900);
        let before = size(&mut client, key);
        let mut added = 0;
        let refused = loop {
            match crate::common::try_ask::<i64>(&mut client, &format!("CF.ADD {key} hot")) {
                Ok(1) => added += 1,
                Ok(other) => panic!("{other}"),
                Err(refused) => break refused,
            }
        };
        assert_eq!(added, most, "{key}");
        let expected = format!("Filter is full of copies of this item: {most} is the most");
        assert_eq!(crate::common::text(&refused), expected);
        assert_eq!(size(&mut client, key), before, "{key}");
        assert_eq!(
            ask::<i64>(&mut client, &format!("CF.COUNT {key} hot")),
            most
        );
        for _ in 0..most {
            assert_eq!(ask::<i64>(&mut client, &format!("CF.DEL {key} hot")), 1);
        }
        assert_eq!(ask::<i64>(&mut client, &format!("CF.DEL {key} hot")), 0);
    }
}

#[test]
fn a_filter_grows_for_items_that_are_added_twice() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    // The smaller the filter is at first, the more often copies of different items share buckets.
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

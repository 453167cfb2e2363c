//! Keys that expire, that are renamed and that are copied.

mod common;

use common::{Protocol, Server, ask, in_both, long, refusal, shut_down, try_ask, until};
use redis::{Connection, Value};
use std::{
    thread::sleep,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

fn expires(client: &mut Connection) -> (String, u64) {
    let info: String = ask(client, "INFO keyspace stats");
    let keys = info.lines().find_map(|line| line.strip_prefix("db0:"));
    let expired = info
        .lines()
        .find_map(|line| line.strip_prefix("expired_keys:"));
    (
        keys.unwrap_or_default().to_owned(),
        expired.unwrap().parse().unwrap(),
    )
}

#[test]
fn a_key_expires_when_it_is_told_to() {
    in_both(|protocol, client| {
        ask::<()>(client, "CF.ADD k a");
        assert_eq!(ask::<i64>(client, "TTL k"), -1);
        assert_eq!(ask::<i64>(client, "PTTL none"), -2);
        assert_eq!(ask::<i64>(client, "EXPIRETIME k"), -1);
        assert_eq!(ask::<i64>(client, "PEXPIRETIME none"), -2);
        assert_eq!(ask::<i64>(client, "EXPIRE none 100"), 0);
        assert_eq!(ask::<i64>(client, "PERSIST k"), 0);
        assert_eq!(ask::<i64>(client, "EXPIRE k 100"), 1);
        assert_eq!(ask::<i64>(client, "TTL k"), 100);
        assert!((99_000..=100_000).contains(&ask::<i64>(client, "PTTL k")));
        assert!((99..=101).contains(&(ask::<i64>(client, "EXPIRETIME k") - now() / 1000)));
        assert_eq!(expires(client).0, "keys=1,expires=1,avg_ttl=0");
        assert_eq!(ask::<i64>(client, "PERSIST k"), 1);
        assert_eq!(ask::<i64>(client, "TTL k"), -1);
        assert_eq!(expires(client).0, "keys=1,expires=0,avg_ttl=0");
        let at = now() + 50_000;
        assert_eq!(ask::<i64>(client, &format!("PEXPIREAT k {at}")), 1);
        assert_eq!(ask::<i64>(client, "PEXPIRETIME k"), at);
        let at = now() / 1000 + 50;
        assert_eq!(ask::<i64>(client, &format!("EXPIREAT k {at}")), 1);
        assert_eq!(ask::<i64>(client, "EXPIRETIME k"), at);
        let expired = expires(client).1;
        assert_eq!(ask::<i64>(client, "PEXPIRE k 30"), 1);
        let until_gone = Instant::now();
        while ask::<Value>(client, "CF.EXISTS k a") == protocol.boolean(true) {
            assert!(until_gone.elapsed() < Duration::from_secs(10));
        }
        assert!(until_gone.elapsed() > Duration::from_millis(20));
        for (words, expected) in [
            ("EXISTS k", 0),
            ("TTL k", -2),
            ("PERSIST k", 0),
            ("DEL k", 0),
        ] {
            assert_eq!(ask::<i64>(client, words), expected, "{words}");
        }
        assert_eq!(ask::<Vec<String>>(client, "KEYS *"), Vec::<String>::new());
        assert_eq!(refusal(client, "CF.INFO k"), "ERR not found");
        until("it is taken away", || {
            expires(client) == (String::new(), expired + 1)
        });
        let info: String = ask(client, "INFO memory");
        assert!(info.contains("used_memory:0\r\n"), "{info}");
    });
}

/// A key that has expired is as good as none, before anybody has taken it away.
#[test]
fn what_has_expired_makes_room_at_once() {
    in_both(|protocol, client| {
        for round in 0..50 {
            ask::<()>(client, "CF.ADD k old");
            ask::<()>(client, "PEXPIRE k 1");
            sleep(Duration::from_millis(2));
            let old = ask::<Value>(client, "CF.RESERVE k 100");
            assert_eq!(old, Value::Okay, "{round}");
            assert_eq!(
                ask::<Value>(client, "CF.EXISTS k old"),
                protocol.boolean(false)
            );
            assert_eq!(ask::<i64>(client, "TTL k"), -1);
            ask::<()>(client, "DEL k");
        }
    });
}

#[test]
fn a_time_that_is_not_in_the_future_deletes() {
    in_both(|_, client| {
        for words in [
            "EXPIRE k 0",
            "EXPIRE k -1",
            "PEXPIRE k -9",
            "EXPIREAT k 1",
            "PEXPIREAT k 0",
        ] {
            ask::<()>(client, "CF.ADD k a");
            assert_eq!(ask::<i64>(client, words), 1, "{words}");
            assert_eq!(ask::<i64>(client, "EXISTS k"), 0);
            assert_eq!(ask::<i64>(client, "DBSIZE"), 0);
        }
    });
}

#[test]
fn conditions_of_expire_are_kept_to() {
    in_both(|_, client| {
        ask::<()>(client, "CF.ADD k a");
        for (words, changed, left) in [
            ("EXPIRE k 100 XX", 0, -1),
            ("EXPIRE k 100 GT", 0, -1),
            ("EXPIRE k 100 XX LT", 0, -1),
            ("EXPIRE k 100 LT", 1, 100),
            ("EXPIRE k 200 NX", 0, 100),
            ("EXPIRE k 200 LT", 0, 100),
            ("EXPIRE k 200 gt", 1, 200),
            ("EXPIRE k 100 GT XX", 0, 200),
            ("EXPIRE k 150 LT", 1, 150),
            ("EXPIRE k 300 XX", 1, 300),
            ("PEXPIRE k 400000", 1, 400),
        ] {
            assert_eq!(ask::<i64>(client, words), changed, "{words}");
            assert_eq!(ask::<i64>(client, "TTL k"), left, "{words}");
        }
        let never = "ERR NX and XX, GT or LT options at the same time are not compatible";
        let both = "ERR GT and LT options at the same time are not compatible";
        for (words, error) in [
            ("EXPIRE k x", "ERR value is not an integer or out of range"),
            ("EXPIRE k 1 NX XX", never),
            ("EXPIRE k 1 GT NX", never),
            ("EXPIRE k 1 GT LT", both),
            ("EXPIRE k 1 IF", "ERR Unsupported option IF"),
            (
                "EXPIRE k 9223372036854775807",
                "ERR invalid expire time in 'expire' command",
            ),
            (
                "EXPIREAT k 9223372036854776",
                "ERR invalid expire time in 'expireat' command",
            ),
            (
                "PEXPIRE k 9223372036854775807",
                "ERR invalid expire time in 'pexpire' command",
            ),
        ] {
            assert_eq!(refusal(client, words), error);
        }
        // The last of all times.
        assert_eq!(ask::<i64>(client, "PEXPIREAT k 9223372036854775807"), 1);
        assert_eq!(ask::<i64>(client, "PEXPIRETIME k"), i64::MAX);
        assert_eq!(ask::<i64>(client, "EXPIRETIME k"), i64::MAX / 1000);
    });
}

#[test]
fn a_key_is_renamed_with_its_time() {
    in_both(|protocol, client| {
        let yes = protocol.boolean(true);
        assert_eq!(refusal(client, "RENAME k l"), "ERR no such key");
        assert_eq!(refusal(client, "RENAMENX k l"), "ERR no such key");
        ask::<()>(client, "CF.ADD k a");
        ask::<()>(client, "EXPIRE k 100");
        ask::<()>(client, "CF.ADD l b");
        assert_eq!(ask::<i64>(client, "RENAMENX k l"), 0);
        assert_eq!(ask::<i64>(client, "RENAMENX k k"), 0);
        assert_eq!(ask::<Value>(client, "RENAME k k"), Value::Okay);
        assert_eq!(ask::<i64>(client, "TTL k"), 100);
        assert_eq!(ask::<Value>(client, "RENAME k l"), Value::Okay);
        assert_eq!(ask::<Value>(client, "CF.EXISTS l a"), yes);
        assert_eq!(
            ask::<Value>(client, "CF.EXISTS l b"),
            protocol.boolean(false)
        );
        assert_eq!(ask::<i64>(client, "TTL l"), 100);
        assert_eq!(ask::<i64>(client, "EXISTS k"), 0);
        assert_eq!(ask::<i64>(client, "RENAMENX l m"), 1);
        assert_eq!(ask::<i64>(client, "TTL m"), 100);
        assert_eq!(expires(client).0, "keys=1,expires=1,avg_ttl=0");
        let long = "n".repeat(4097);
        let refused = refusal(client, &format!("RENAME m {long}"));
        assert_eq!(refused, "ERR the key has 4097 bytes, and 4096 are allowed");
        // What a key is charged goes with it.
        let long = "n".repeat(4000);
        ask::<()>(client, &format!("RENAME m {long}"));
        assert_eq!(ask::<i64>(client, &format!("TTL {long}")), 100);
        ask::<()>(client, &format!("RENAME {long} m"));
        assert_eq!(ask::<i64>(client, "PEXPIRE m 1"), 1);
        until("it expires", || ask::<i64>(client, "DBSIZE") == 0);
        let info: String = ask(client, "INFO memory");
        assert!(info.contains("used_memory:0\r\n"), "{info}");
    });
}

#[test]
fn a_copy_is_a_filter_of_its_own() {
    in_both(|protocol, client| {
        let (yes, no) = (protocol.boolean(true), protocol.boolean(false));
        ask::<()>(client, "CF.RESERVE k 100 EXPANSION 7 BUCKETSIZE 3");
        ask::<()>(client, "CF.INSERT k ITEMS a b");
        ask::<()>(client, "CF.DEL k b");
        assert_eq!(ask::<i64>(client, "COPY none l"), 0);
        assert_eq!(ask::<i64>(client, "COPY k l"), 1);
        let info: Value = ask(client, "CF.INFO k");
        assert_eq!(ask::<Value>(client, "CF.INFO l"), info);
        assert_eq!(ask::<Value>(client, "CF.DEL l a"), yes);
        assert_eq!(ask::<Value>(client, "CF.EXISTS k a"), yes);
        assert_eq!(ask::<Value>(client, "CF.EXISTS l a"), no);
        assert_eq!(ask::<i64>(client, "TTL l"), -1);
        ask::<()>(client, "EXPIRE k 100");
        assert_eq!(ask::<i64>(client, "COPY k l"), 0);
        assert_eq!(ask::<i64>(client, "COPY k l DB 0 REPLACE"), 1);
        assert_eq!(ask::<Value>(client, "CF.EXISTS l a"), yes);
        assert_eq!(ask::<i64>(client, "TTL l"), 100);
        assert_eq!(expires(client).0, "keys=2,expires=2,avg_ttl=0");
        for (words, error) in [
            ("COPY k l DB 1", "ERR DB index is out of range"),
            (
                "COPY k l DB x",
                "ERR value is not an integer or out of range",
            ),
            ("COPY k l DB", "ERR syntax error"),
            ("COPY k l NOW", "ERR syntax error"),
            (
                "COPY k k",
                "ERR source and destination objects are the same",
            ),
        ] {
            assert_eq!(refusal(client, words), error);
        }
        ask::<()>(client, "DEL k l");
        let info: String = ask(client, "INFO memory");
        assert!(info.contains("used_memory:0\r\n"), "{info}");
    });
    let server = Server::start(&["--maxmemory", "1mb"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 400000 EXPANSION 0");
    let refused = refusal(&mut client, "COPY k l");
    assert!(refused.starts_with("OOM the filter needs "), "{refused}");
    assert_eq!(ask::<i64>(&mut client, "EXISTS k l"), 1);
}

#[test]
fn times_are_saved_with_their_keys() {
    let directory = tempfile::TempDir::new().unwrap();
    let arguments = ["--dir", directory.path().to_str().unwrap()];
    let mut server = Server::start(&arguments);
    let mut client = server.client(Protocol::Resp2);
    for key in ["stays", "soon", "late"] {
        ask::<()>(&mut client, &format!("CF.ADD {key} a"));
    }
    let at = now() + 100_000;
    ask::<()>(&mut client, &format!("PEXPIREAT late {at}"));
    let soon = now() + 1000;
    ask::<()>(&mut client, &format!("PEXPIREAT soon {soon}"));
    shut_down(&mut client, "SHUTDOWN SAVE");
    assert!(server.process.wait().unwrap().success());
    sleep(Duration::from_millis((soon - now()).max(0) as u64 + 1));
    let server = Server::start(&arguments);
    let mut client = server.client(Protocol::Resp2);
    assert_eq!(ask::<i64>(&mut client, "PEXPIRETIME late"), at);
    assert_eq!(ask::<i64>(&mut client, "TTL stays"), -1);
    assert_eq!(ask::<i64>(&mut client, "TTL soon"), -2);
    assert_eq!(expires(&mut client).0, "keys=2,expires=1,avg_ttl=0");
}

/// Keys are renamed again and again while saves are made: none is missing from a save.
#[test]
fn a_save_misses_no_key_that_is_renamed() {
    const KEYS: usize = 20;
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    for _ in 0..if long() { 20 } else { 2 } {
        let server = Server::start(&["--dir", path]);
        let mut client = server.client(Protocol::Resp2);
        ask::<()>(&mut client, "FLUSHALL");
        for key in 0..KEYS {
            ask::<()>(&mut client, &format!("CF.ADD {key}:0 item-{key}"));
        }
        ask::<()>(&mut client, "SAVE");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = server.client(Protocol::Resp2);
                for round in 0.. {
                    for key in 0..KEYS {
                        let (from, to) = (round % 7, (round + 1) % 7);
                        let words = format!("RENAME {key}:{from} {key}:{to}");
                        if try_ask::<()>(&mut client, &words).is_err() {
                            return;
                        }
                    }
                }
            });
            for _ in 0..20 {
                ask::<()>(&mut client, "SAVE");
            }
            server.signal("KILL");
        });
        let server = Server::start(&["--dir", path]);
        let mut client = server.client(Protocol::Resp2);
        for key in 0..KEYS {
            let names: Vec<String> = ask(&mut client, &format!("KEYS {key}:*"));
            assert!(!names.is_empty(), "{key} is lost");
            for name in names {
                assert!(ask::<bool>(
                    &mut client,
                    &format!("CF.EXISTS {name} item-{key}")
                ));
            }
        }
    }
}

/// Many keys expire within a second, and nobody waits long for that.
#[test]
fn many_keys_expire_and_nobody_waits() {
    let (keys, due) = if long() {
        (100_000, 10_000)
    } else {
        (3_000, 1_000)
    };
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    let begin = now() + if long() { 60_000 } else { 6_000 };
    let mut pipe = redis::pipe();
    for key in 0..keys {
        pipe.cmd("CF.RESERVE").arg(key).arg(100).ignore();
        let at = match key < due {
            true => begin + key * 1000 / due,
            false => begin + 3_600_000,
        };
        pipe.cmd("PEXPIREAT").arg(key).arg(at).ignore();
        if key % 1000 == 999 {
            pipe.query::<()>(&mut client).unwrap();
            pipe = redis::pipe();
        }
    }
    let (all, expired) = expires(&mut client);
    assert_eq!(all, format!("keys={keys},expires={keys},avg_ttl=0"));
    assert_eq!(expired, 0);
    assert!(now() < begin, "the keys were made in time");
    sleep(Duration::from_millis((begin - now() - 1000).max(0) as u64));
    let mut longest = [Duration::ZERO; 2];
    while now() < begin + 1500 {
        let phase = usize::from(now() >= begin);
        let begun = Instant::now();
        ask::<Value>(&mut client, &format!("CF.ADDNX {} a", keys - 1));
        longest[phase] = longest[phase].max(begun.elapsed());
    }
    println!("longest before and while keys expired: {longest:?}");
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), keys - due);
    assert_eq!(expires(&mut client).1, due as u64);
    if long() {
        // Whatever else the machine does.
        let most = longest[0] + Duration::from_millis(5);
        assert!(longest[1] < most, "{longest:?}");
    }
}

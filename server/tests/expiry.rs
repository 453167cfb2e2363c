//! Expiring, renaming and copying keys.

use crate::common::{
    PATIENCE, Protocol, Server, ask, in_both, long, memory, refusal, shut_down, try_ask, until,
};
use redis::{Connection, Value};
use std::{
    thread::sleep,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

/// True if the key expires in this number of seconds, or slightly less.
fn expires_in(client: &mut Connection, key: &str, seconds: i64) -> bool {
    let left: i64 = ask(client, &format!("TTL {key}"));
    (seconds - PATIENCE.as_secs() as i64..=seconds).contains(&left)
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
        let before = now();
        assert_eq!(ask::<i64>(client, "EXPIRE k 1000"), 1);
        let after = now();
        assert!(expires_in(client, "k", 1000));
        assert!((940_000..=1_000_000).contains(&ask::<i64>(client, "PTTL k")));
        let at: i64 = ask(client, "PEXPIRETIME k");
        assert!((before + 1_000_000..=after + 1_000_000).contains(&at));
        assert_eq!(ask::<i64>(client, "EXPIRETIME k"), (at + 500) / 1000);
        assert_eq!(expires(client).0, "keys=1,expires=1,avg_ttl=0");
        assert_eq!(ask::<i64>(client, "PERSIST k"), 1);
        assert_eq!(ask::<i64>(client, "TTL k"), -1);
        assert_eq!(expires(client).0, "keys=1,expires=0,avg_ttl=0");
        let at = now() + 500_000;
        assert_eq!(ask::<i64>(client, &format!("PEXPIREAT k {at}")), 1);
        assert_eq!(ask::<i64>(client, "PEXPIRETIME k"), at);
        let at = now() / 1000 + 500;
        assert_eq!(ask::<i64>(client, &format!("EXPIREAT k {at}")), 1);
        assert_eq!(ask::<i64>(client, "EXPIRETIME k"), at);
        let expired = expires(client).1;
        let since = Instant::now();
        assert_eq!(ask::<i64>(client, "PEXPIRE k 30"), 1);
        until("it expires", || {
            ask::<Value>(client, "CF.EXISTS k a") == protocol.boolean(false)
        });
        assert!(since.elapsed() > Duration::from_millis(20));
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

/// An expired key behaves like a missing one, even before it is evicted.
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
            ("EXPIRE k 1000 XX", 0, None),
            ("EXPIRE k 1000 GT", 0, None),
            ("EXPIRE k 1000 XX LT", 0, None),
            ("EXPIRE k 1000 LT", 1, Some(1000)),
            ("EXPIRE k 2000 NX", 0, Some(1000)),
            ("EXPIRE k 2000 LT", 0, Some(1000)),
            ("EXPIRE k 2000 gt", 1, Some(2000)),
            ("EXPIRE k 1000 GT XX", 0, Some(2000)),
            ("EXPIRE k 1500 LT", 1, Some(1500)),
            ("EXPIRE k 3000 XX", 1, Some(3000)),
            ("PEXPIRE k 4000000", 1, Some(4000)),
        ] {
            assert_eq!(ask::<i64>(client, words), changed, "{words}");
            match left {
                Some(left) => assert!(expires_in(client, "k", left), "{words}"),
                None => assert_eq!(ask::<i64>(client, "TTL k"), -1, "{words}"),
            }
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
        // The latest possible time.
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
        ask::<()>(client, "EXPIRE k 1000");
        ask::<()>(client, "CF.ADD l b");
        assert_eq!(ask::<i64>(client, "RENAMENX k l"), 0);
        assert_eq!(ask::<i64>(client, "RENAMENX k k"), 0);
        assert_eq!(ask::<Value>(client, "RENAME k k"), Value::Okay);
        assert!(expires_in(client, "k", 1000));
        assert_eq!(ask::<Value>(client, "RENAME k l"), Value::Okay);
        assert_eq!(ask::<Value>(client, "CF.EXISTS l a"), yes);
        assert_eq!(
            ask::<Value>(client, "CF.EXISTS l b"),
            protocol.boolean(false)
        );
        assert!(expires_in(client, "l", 1000));
        assert_eq!(ask::<i64>(client, "EXISTS k"), 0);
        assert_eq!(ask::<i64>(client, "RENAMENX l m"), 1);
        assert!(expires_in(client, "m", 1000));
        assert_eq!(expires(client).0, "keys=1,expires=1,avg_ttl=0");
        let long = "n".repeat(4097);
        let refused = refusal(client, &format!("RENAME m {long}"));
        assert_eq!(refused, "ERR the key has 4097 bytes, and 4096 are allowed");
        // The charge for a key moves with it.
        let long = "n".repeat(4000);
        ask::<()>(client, &format!("RENAME m {long}"));
        assert!(expires_in(client, &long, 1000));
        ask::<()>(client, &format!("RENAME {long} m"));
        assert_eq!(ask::<i64>(client, "PEXPIRE m 1"), 1);
        until("it is taken away", || memory(client, "used_memory:") == 0);
        assert_eq!(ask::<i64>(client, "DBSIZE"), 0);
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
        ask::<()>(client, "EXPIRE k 1000");
        assert_eq!(ask::<i64>(client, "COPY k l"), 0);
        assert_eq!(ask::<i64>(client, "COPY k l DB 0 REPLACE"), 1);
        assert_eq!(ask::<Value>(client, "CF.EXISTS l a"), yes);
        assert!(expires_in(client, "l", 1000));
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
    until("nothing is left of it", || {
        expires(&mut client).0 == "keys=2,expires=1,avg_ttl=0"
    });
}

/// Keys are renamed again and again while saves are made. No save misses a key.
#[test]
fn a_save_misses_no_key_that_is_renamed() {
    const KEYS: usize = 20;
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    for _ in 0..if long() { 20 } else { 2 } {
        let server = Server::start(&["--dir", path]);
        let mut saver = server.client(Protocol::Resp2);
        ask::<()>(&mut saver, "FLUSHALL");
        for key in 0..KEYS {
            ask::<()>(&mut saver, &format!("CF.ADD {key}:0 item-{key}"));
        }
        ask::<()>(&mut saver, "SAVE");
        std::thread::scope(|scope| {
            // The thread may start after the server was killed.
            let mut client = server.client(Protocol::Resp2);
            scope.spawn(move || {
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
                ask::<()>(&mut saver, "SAVE");
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

/// Many keys expire within a second, and no client waits long for their eviction.
#[test]
fn many_keys_expire_and_nobody_waits() {
    let (keys, due) = if long() {
        (100_000, 10_000)
    } else {
        (3_000, 1_000)
    };
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    let later = now() + 3_600_000;
    for first in (0..keys).step_by(1000) {
        let mut pipe = redis::pipe();
        for key in first..first + 1000 {
            pipe.cmd("CF.RESERVE").arg(key).arg(100).ignore();
            pipe.cmd("PEXPIREAT").arg(key).arg(later).ignore();
        }
        pipe.query::<()>(&mut client).unwrap();
    }
    let all = format!("keys={keys},expires={keys},avg_ttl=0");
    assert_eq!(expires(&mut client), (all, 0));
    let begin = now() + 6_000;
    let mut pipe = redis::pipe();
    for key in 0..due {
        let at = begin + key * 1000 / due;
        pipe.cmd("PEXPIREAT").arg(key).arg(at).ignore();
    }
    pipe.query::<()>(&mut client).unwrap();
    assert!(now() < begin, "the keys were told in time");
    sleep(Duration::from_millis((begin - now() - 1000).max(0) as u64));
    let mut longest = [Duration::ZERO; 2];
    while now() < begin + 1500 {
        let phase = usize::from(now() >= begin);
        // The server works at least as long as the client waits for it, however busy the machine is.
        let before = server.worked();
        ask::<Value>(&mut client, &format!("CF.ADDNX {} a", keys - 1));
        longest[phase] = longest[phase].max(server.worked().saturating_sub(before));
    }
    println!("most work during a request, before and while keys expired: {longest:?}");
    until("they are evicted", || expires(&mut client).1 == due as u64);
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), keys - due);
    if long() {
        let most = longest[0] + Duration::from_millis(5);
        assert!(longest[1] < most, "{longest:?}");
    }
}

//! SCAN in steps, and KEYS.

use crate::common::{Protocol, Server, ask, in_both, refusal};
use redis::Connection;
use std::collections::BTreeSet;

/// A step: the cursor with which to continue, and the keys.
type Step = (u64, Vec<String>);

/// All keys that a scan yields, and the number of steps.
fn scanned(
    client: &mut Connection,
    options: &str,
    mut between: impl FnMut(&mut Connection, u64, &[String]),
) -> (Vec<String>, usize) {
    let (mut cursor, mut all, mut steps) = (0, Vec::new(), 0);
    loop {
        let (next, keys): Step = ask(client, &format!("SCAN {cursor}{options}"));
        between(client, next, &keys);
        all.extend(keys);
        steps += 1;
        if next == 0 {
            return (all, steps);
        }
        cursor = next;
    }
}

fn make(client: &mut Connection, keys: impl Iterator<Item = String>) {
    let mut pipe = redis::pipe();
    for key in keys {
        pipe.cmd("CF.RESERVE").arg(key).arg(8).ignore();
    }
    pipe.query::<()>(client).unwrap();
}

/// As in Redis, where `*` means all keys, and no other pattern matches the empty key.
#[test]
fn only_one_star_matches_the_empty_key() {
    in_both(|_, client| {
        redis::cmd("CF.ADD")
            .arg("")
            .arg("a")
            .query::<()>(client)
            .unwrap();
        ask::<()>(client, "CF.ADD k a");
        let matching = |client: &mut Connection, pattern: &str| {
            let keys: BTreeSet<String> = ask(client, &format!("KEYS {pattern}"));
            let (scanned, _) = scanned(client, &format!(" MATCH {pattern}"), |_, _, _| {});
            assert_eq!(
                scanned.into_iter().collect::<BTreeSet<_>>(),
                keys,
                "{pattern}"
            );
            keys
        };
        let both = BTreeSet::from([String::new(), "k".into()]);
        assert_eq!(matching(client, "*"), both);
        for pattern in ["**", "*?", "k*", "?"] {
            assert_eq!(
                matching(client, pattern),
                BTreeSet::from(["k".into()]),
                "{pattern}"
            );
        }
    });
}

#[test]
fn a_scan_takes_steps_of_the_size_asked_for() {
    in_both(|_, client| {
        make(client, (0..1000).map(|key| format!("key:{key}")));
        for (options, least, most) in [
            ("", 90, 101),
            (" COUNT 1", 990, 1001),
            (" COUNT 100", 10, 11),
            (" COUNT 5000", 1, 1),
            (" COUNT 9223372036854775807", 1, 1),
            (" MATCH key:1* COUNT 100", 10, 11),
        ] {
            let (keys, steps) = scanned(client, options, |_, cursor, keys| {
                // Every client can represent these numbers.
                assert!(cursor < 1 << 48);
                // Two keys with one position are very unlikely.
                assert!(!options.is_empty() || keys.len() <= 11);
            });
            assert!((least..=most).contains(&steps), "{options}: {steps}");
            let distinct: BTreeSet<_> = keys.iter().collect();
            assert_eq!(distinct.len(), keys.len(), "{options}");
            let expected = (0..1000)
                .filter(|key| !options.contains("MATCH") || key.to_string().starts_with('1'));
            assert_eq!(keys.len(), expected.count(), "{options}");
        }
        let (keys, steps) = scanned(client, " TYPE mbbloomcf COUNT 100", |_, _, _| {});
        assert_eq!(keys.len(), 1000);
        // The last step need not know that it is the last.
        assert!((10..=11).contains(&steps), "{steps}");
        let (keys, _) = scanned(client, " TYPE string COUNT 100", |_, _, _| {});
        assert!(keys.is_empty());
        for (words, error) in [
            ("SCAN x", "ERR invalid cursor"),
            ("SCAN -1", "ERR invalid cursor"),
            ("SCAN 18446744073709551616", "ERR invalid cursor"),
            ("SCAN 0 COUNT", "ERR syntax error"),
            ("SCAN 0 COUNT -1", "ERR syntax error"),
            ("SCAN 0 COLOUR 1", "ERR syntax error"),
        ] {
            assert_eq!(refusal(client, words), error, "{words}");
        }
        // There is nothing beyond the last cursor.
        let (next, keys): Step = ask(client, "SCAN 18446744073709551615");
        assert_eq!((next, keys.len()), (0, 0));
    });
}

#[test]
fn what_stays_during_a_scan_is_reported() {
    in_both(|_, client| {
        make(client, (0..500).map(|key| format!("stays:{key}")));
        let mut step = 0;
        let (keys, _) = scanned(client, " COUNT 7", |client, _, _| {
            make(client, (0..5).map(|key| format!("new:{step}:{key}")));
            if step % 2 == 1 {
                ask::<()>(client, &format!("DEL new:{step}:1 new:{}:2", step - 1));
                ask::<()>(client, &format!("RENAME new:{step}:3 renamed:{step}"));
            }
            step += 1;
        });
        let keys: BTreeSet<_> = keys.into_iter().collect();
        for key in 0..500 {
            assert!(keys.contains(&format!("stays:{key}")), "{key}");
        }
    });
}

#[test]
fn keys_that_have_expired_are_not_listed() {
    in_both(|_, client| {
        make(client, ["stays", "goes"].map(String::from).into_iter());
        ask::<()>(client, "PEXPIRE goes 1");
        std::thread::sleep(std::time::Duration::from_millis(3));
        assert_eq!(ask::<Vec<String>>(client, "KEYS *"), ["stays"]);
        assert_eq!(scanned(client, "", |_, _, _| {}).0, ["stays"]);
    });
}

/// The keys have more bytes than a client may be sent at a time. It can still list them.
#[test]
fn long_keys_can_be_listed() {
    let server = Server::start(&["--max-output", "1mb"]);
    let mut client = server.client(Protocol::Resp2);
    let name = |key: i32| format!("{key:04000}");
    make(&mut client, (0..600).map(name));
    assert_eq!(
        refusal(&mut client, "KEYS *"),
        "ERR the keys that fit take more than the 1048576 bytes that a reply may have \
         (--max-output): use SCAN"
    );
    assert_eq!(ask::<Vec<String>>(&mut client, "KEYS *7").len(), 60);
    let (keys, steps) = scanned(&mut client, " COUNT 100000", |_, _, keys| {
        assert!(keys.len() * 4000 < 600_000, "{}", keys.len());
    });
    assert!((4..=6).contains(&steps), "{steps}");
    let found: BTreeSet<_> = keys.into_iter().collect();
    assert!((0..600).all(|key| found.contains(&name(key))));
}

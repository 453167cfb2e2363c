//! CF.SCANDUMP and CF.LOADCHUNK in both protocols.

use crate::common::{Protocol, Server, ask, dump, in_both, refusal};
use redis::{Connection, Value};

#[test]
fn filters_are_dumped_and_loaded() {
    in_both(|protocol, client| {
        // The dump has more than one piece.
        ask::<()>(client, "CF.RESERVE k 1000000 EXPANSION 2 MAXITERATIONS 9");
        let items: Vec<u32> = (0..10_000).collect();
        let _: Value = redis::cmd("CF.INSERT")
            .arg("k")
            .arg("ITEMS")
            .arg(&items)
            .query(client)
            .unwrap();
        ask::<()>(client, "CF.DEL k 0");
        let pieces = dump::dump(client, "k");
        assert_eq!(pieces[0].0, 1);
        assert!(pieces.len() > 3);
        assert!(
            pieces.iter().all(|(next, _)| *next < 1 << 53),
            "{protocol:?}"
        );
        let load = |client: &mut Connection, key: &str, (position, piece): &(u64, Vec<u8>)| {
            dump::load(client, key, *position, piece)
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
            crate::common::text(&load(client, key, &(position, piece.to_vec())).unwrap_err())
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
        // A piece out of order.
        load(client, "new", &pieces[0]).unwrap();
        assert_eq!(
            refused(client, "new", pieces[2].0, &pieces[2].1),
            "Couldn't load chunk!"
        );
        // A damaged piece.
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
    // The empty words of a fixed filter are 0, and those of a filter that can grow are not.
    ask::<()>(&mut client, "CF.RESERVE k 1000000 EXPANSION 0");
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

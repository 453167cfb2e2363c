//! Dumps of keys with a time window.

use super::{has, info};
use crate::common::{Protocol, Server, ask, dump, in_both, refusal, text};
use redis::{Connection, Value};

/// Loads a piece. The error is its text.
fn load(client: &mut Connection, key: &str, position: u64, piece: &[u8]) -> Result<(), String> {
    match dump::load(client, key, position, piece) {
        Ok(_) => Ok(()),
        Err(error) => Err(text(&error)),
    }
}

#[test]
fn a_dump_is_of_its_kind() {
    in_both(|_, client| {
        // The dump has more than one piece.
        ask::<()>(client, "CF.RESERVE k 400000 WINDOW 3600 EPOCHS 6");
        let items: Vec<u32> = (0..10_000).collect();
        let mut insert = redis::cmd("CF.INSERT");
        let _: Value = insert
            .arg("k")
            .arg("ITEMS")
            .arg(&items)
            .query(client)
            .unwrap();
        ask::<()>(client, "CF.DEL k 0");
        let pieces = dump::dump(client, "k");
        assert!(pieces.len() > 2, "{}", pieces.len());
        for (position, piece) in &pieces {
            assert_eq!(load(client, "copy", *position, piece), Ok(()));
        }
        let found: Vec<bool> = redis::cmd("CF.MEXISTS")
            .arg("copy")
            .arg(&items[1..])
            .query(client)
            .unwrap();
        assert!(found.into_iter().all(|present| present));
        let mut shown = ["k", "copy"].map(|key| info(client, key));
        for shown in &mut shown {
            shown.remove("Age of the epoch in milliseconds");
        }
        assert_eq!(shown[0], shown[1]);
        assert_eq!(shown[1]["Epochs of the window"], 6);
        assert!(has(client, "CF.TOUCH copy 1"));

        // A truncated piece, a damaged one, and one of another kind.
        ask::<()>(client, "DEL copy");
        let (header, all) = (&pieces[0].1, &pieces[1..]);
        let bytes: Vec<u8> = all.iter().flat_map(|(_, piece)| piece.clone()).collect();
        for cut in [2, 8, 9, 70] {
            assert_eq!(load(client, "copy", 1, header), Ok(()));
            assert_eq!(load(client, "copy", cut as u64, &bytes[..cut]), Ok(()));
            assert_eq!(
                load(client, "copy", bytes.len() as u64, &bytes[cut..]),
                Ok(())
            );
            assert!(has(client, "CF.EXISTS copy 1") && has(client, "DEL copy"));
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        let longer = [&bytes[..], b"x"].concat();
        for bytes in [&damaged, &longer] {
            assert_eq!(load(client, "copy", 1, header), Ok(()));
            let refused = load(client, "copy", bytes.len() as u64, bytes);
            assert_eq!(refused, Err("Couldn't load chunk!".into()));
        }
        ask::<()>(client, "CF.RESERVE plain 10 EXPANSION 0");
        let plain = dump::dump(client, "plain");
        assert_eq!(load(client, "copy", 1, header), Ok(()));
        let refused = load(client, "copy", plain[1].1.len() as u64, &plain[1].1);
        assert_eq!(refused, Err("Couldn't load chunk!".into()));
        assert_eq!(load(client, "copy", 1, &plain[0].1), Ok(()));
        let refused = load(client, "copy", all[0].1.len() as u64, &all[0].1);
        assert_eq!(refused, Err("Couldn't load chunk!".into()));
        assert!(!has(client, "EXISTS copy"));
    });
}

#[test]
fn a_dump_has_the_counts() {
    in_both(|_, client| {
        for options in ["EXPANSION 0", "MAXCAPACITY 9000"] {
            let options = format!("WINDOW 3600 COUNTERS 8 ERROR 0.001 SEED 7 {options}");
            ask::<()>(client, &format!("CF.RESERVE k 1000 {options}"));
            for item in ["a", "b", "b"].into_iter().cycle().take(300) {
                ask::<i64>(client, &format!("CF.ADDCOUNT k {item}"));
            }
            for (position, piece) in dump::dump(client, "k") {
                assert_eq!(load(client, "copy", position, &piece), Ok(()));
            }
            ask::<()>(client, "COPY k other");
            for key in ["copy", "other"] {
                for (item, count) in [("a", 101), ("b", 201), ("c", 1)] {
                    let counted: i64 = ask(client, &format!("CF.ADDCOUNT {key} {item}"));
                    assert_eq!(counted, count, "{options}: {key} {item}");
                }
            }
            ask::<()>(client, "FLUSHALL");
        }
    });
}

#[test]
fn a_load_is_within_the_memory() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 1000000 WINDOW 3600 EXPANSION 0");
    let pieces = dump::dump(&mut client, "k");
    let small = Server::start(&["--maxmemory", "2mb"]);
    let mut client = small.client(Protocol::Resp2);
    assert_eq!(load(&mut client, "k", 1, &pieces[0].1), Ok(()));
    let refused = load(&mut client, "k", pieces[1].0, &pieces[1].1).unwrap_err();
    assert!(refused.starts_with("OOM the filter needs "), "{refused}");
    let refused = refusal(&mut client, "CF.RESERVE k 4000000 WINDOW 3600");
    assert!(refused.starts_with("OOM the filter needs "), "{refused}");
    assert!(!has(&mut client, "EXISTS k"));
}

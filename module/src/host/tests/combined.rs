//! Commands on several keys.

use super::*;
use crate::{engine::Memory as EngineMemory, windows::Pass};

/// The keys of a node, by name.
type Keys = Vec<(&'static str, FakeKey)>;

/// A node with these keys, which are like the first one.
fn node(names: [&'static str; 4]) -> Keys {
    let first = FakeKey::default();
    let windows = first.windows.clone();
    let key = |name| {
        let windows = windows.clone();
        let key = FakeKey {
            windows,
            ..FakeKey::default()
        };
        (name, key)
    };
    names.map(key).into()
}

/// Runs a command on the keys of a node.
fn at(keys: &mut Keys, flags: Flags, words: &[&[u8]]) -> Done {
    let index = keys
        .iter()
        .position(|(name, _)| name.as_bytes() == words[1]);
    let mut own = std::mem::take(&mut keys[index.unwrap()].1);
    let others: Vec<_> = keys.iter().map(|(name, key)| (*name, key)).collect();
    let done = run_with(&mut own, &others, flags, words);
    keys[index.unwrap()].1 = own;
    done
}

/// Lets time pass at a node.
fn pass(keys: &Keys, milliseconds: u64) {
    let pass = Pass {
        milliseconds,
        wall: 0,
        is_idle: false,
    };
    keys[0].1.windows.pass(pass);
}

/// A replica that runs what was replicated has the same filters, also where items expire. A replica of
/// that replica receives the same.
#[test]
fn a_replica_combines_the_same_keys() {
    for options in [
        "",
        "EXPANSION 0",
        "COUNTERS 8",
        "WINDOW 2 EPOCHS 4",
        "WINDOW 2 COUNTERS 4",
        "SEED 5",
    ] {
        let [mut primary, mut replica] = [(); 2].map(|()| node(["a", "b", "c", "d"]));
        let mut step = |words: &str, expected: &[&str]| {
            let words: Vec<_> = words.split_whitespace().map(str::as_bytes).collect();
            let done = at(&mut primary, CLIENT, &words);
            assert!(!done.reply.is_error(), "{options}: {:?}", done.reply);
            assert_eq!(names(&done), expected, "{options}");
            for told in &done.told {
                let words: Vec<_> = told.iter().map(|word| &word[..]).collect();
                let there = at(&mut replica, PRIMARY, &words);
                assert!(!there.reply.is_error(), "{options}: {:?}", there.reply);
                assert_eq!(there.told, std::slice::from_ref(told), "{options}");
            }
            [&primary, &replica]
                .into_iter()
                .for_each(|keys| pass(keys, 201));
            let digests = |keys: &Keys| keys.iter().map(|(_, key)| digest(key)).collect::<Vec<_>>();
            assert_eq!(digests(&primary), digests(&replica), "{options}");
        };
        step(&format!("CF.RESERVE a 100 {options}"), &["CF.MAKE"]);
        step("CF.RESERVE b LIKE a", &["CF.MAKE"]);
        step("CF.INSERT a ITEMS x x y", &["CF.INSERT"]);
        step("CF.INSERT b ITEMS y z", &["CF.INSERT"]);
        // Keys that do not exist.
        step("CF.MERGE c a b", &["CF.MERGE"]);
        step("CF.UNION d a b", &["CF.UNION"]);
        step("CF.ADD b z", &["CF.ADD"]);
        // Keys that exist.
        step("CF.UNION d b c", &["CF.UNION"]);
        step("CF.MERGE c b", &["CF.MERGE"]);
        step("CF.INTERSECT a c d", &["CF.INTERSECT"]);
        step("CF.DIFF b a", &["CF.DIFF"]);
        let counts = |name: &str| {
            let (_, key) = primary.iter().find(|(own, _)| *own == name).unwrap();
            [b"x", b"y", b"z"].map(|item| filter(key).count(item))
        };
        assert_eq!(counts("c"), [2, 3, 3], "{options}");
        assert_eq!(counts("d"), [2, 2, 2], "{options}");
        assert_eq!(counts("a"), [2, 1, 0], "{options}");
        assert_eq!(counts("b"), [0, 0, 2], "{options}");
    }
}

#[test]
fn what_would_block_the_engine_is_refused() {
    let mut keys = node(["a", "b", "c", "d"]);
    let mut ask = |flags: Flags, words: &str| {
        let words: Vec<_> = words.split(' ').map(str::as_bytes).collect();
        at(&mut keys, flags, &words)
    };
    ask(CLIENT, "CF.RESERVE a 200000 EXPANSION 0");
    ask(CLIENT, "CF.RESERVE b LIKE a");
    for command in ["CF.MERGE", "CF.UNION", "CF.INTERSECT"] {
        let refused = ask(CLIENT, &format!("{command} c a b"));
        let Reply::Error(text) = refused.reply else {
            panic!("{refused:?}");
        };
        assert!(
            text.starts_with("ERR the filters have ") && refused.told.is_empty(),
            "{text}"
        );
        // What the primary has done is done.
        let done = ask(PRIMARY, &format!("{command} d a b"));
        assert_eq!(done.reply, Reply::OK);
    }
}

/// What is to be allocated counts, unlike what is there already: the engine has counted that.
#[test]
fn memory_is_checked_before_keys_are_combined() {
    const MIB: usize = 1 << 20;
    let limited = Flags::of(false, true, false);
    for (flags, more, fits) in [
        (limited, MIB, true),
        (limited, 2 * MIB, false),
        (Flags::of(false, true, true), 99 * MIB, true),
        (Flags::of(false, true, true), 101 * MIB, false),
        (PRIMARY, 2 * MIB, true),
        (CLIENT, 2 * MIB, true),
    ] {
        let key = FakeKey {
            memory: Some(EngineMemory {
                used: 99 << 20,
                limit: 100 << 20,
            }),
            flags,
            ..FakeKey::default()
        };
        let checked = Host::<FakeKey>::check_memory(&key, 0, more);
        assert_eq!(checked.is_ok(), fits, "{flags:?} {more}");
        assert!(Host::<FakeKey>::check_memory(&key, MIB, 0).is_ok());
    }
}

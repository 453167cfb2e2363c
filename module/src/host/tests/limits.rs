//! Keys of other types, and the limits of memory.

use super::*;
use crate::engine::Memory as EngineMemory;

#[test]
fn keys_of_other_types_are_refused() {
    for command in commands::<Host<'_, FakeKey>>() {
        let words: &[&[u8]] = match command.name {
            "CF.INSERT" | "CF.INSERTNX" => &[b"", b"k", b"ITEMS", b"a"],
            "CF.LOADCHUNK" => &[b"", b"k", b"7", b"a"],
            "CF.RESERVE" => &[b"", b"k", b"100"],
            "CF.SCANDUMP" => &[b"", b"k", b"0"],
            _ if command.arity == 2 => &[b"", b"k"],
            _ => &[b"", b"k", b"a"],
        };
        let words = [&[command.name.as_bytes()], &words[1..]].concat();
        let mut key = FakeKey {
            is_of_other_type: true,
            ..FakeKey::default()
        };
        let refused = run(&mut key, CLIENT, &words);
        assert_eq!(refused.reply, WRONG_TYPE, "{}", command.name);
        assert!(refused.told.is_empty());
    }
}

#[test]
fn filters_stay_within_the_limit() {
    let mut key = FakeKey::default();
    let cases = [
        (
            "CF.RESERVE k 1000000000",
            "OOM the filter needs 1556967712 bytes, and guira.max-filter-bytes is 134217728",
        ),
        (
            "CF.RESERVE k 1000 MAXCAPACITY 1000000000",
            "OOM with MAXCAPACITY items the filter needs 1704537624 bytes, and \
             guira.max-filter-bytes is 134217728",
        ),
    ];
    for (words, expected) in cases {
        let refused = ask(&mut key, words);
        assert_eq!(refused.reply, Reply::Error(expected.into()));
        assert!(key.entry.is_none() && refused.told.is_empty());
    }
    // The size to which it may grow is also within the limit.
    ask(&mut key, "CF.RESERVE k 10000000");
    let (now, then) = (filter(&key).capacity(), filter(&key).max_capacity());
    assert!(now >= 10_000_000 && then < 100_000_000, "{now} to {then}");
}

#[test]
fn a_filter_without_memory_is_not_created() {
    let large = "CF.RESERVE k 10000000 EXPANSION 0";
    let words: Vec<_> = large.split(' ').map(str::as_bytes).collect();
    // `used` includes the new table.
    let cases = [
        (Flags::of(false, true, false), 99, 100, true),
        (Flags::of(false, true, false), 101, 100, false),
        (Flags::of(false, true, true), 101, 100, true),
        (Flags::of(false, true, true), 10, 9, false),
        (PRIMARY, 200, 1, true),
        (CLIENT, 200, 1, true),
    ];
    for (flags, used, limit, fits) in cases {
        let mut key = FakeKey {
            memory: Some(EngineMemory {
                used: used << 20,
                limit: limit << 20,
            }),
            ..FakeKey::default()
        };
        let done = run(&mut key, flags, &words);
        assert_eq!(
            done.reply == Reply::OK,
            fits,
            "{flags:?} {used} {limit}: {done:?}"
        );
        assert_eq!(key.entry.is_some(), fits);
    }
}

//! Wrong arguments of the commands, and the texts of the errors, in both protocols.

use crate::common::{PROTOCOLS, Server, ask, in_both, refusal};

#[test]
fn reserve_checks_its_arguments_in_order() {
    let arity = "ERR wrong number of arguments for 'cf.reserve' command";
    let capacity = "Capacity must be in the range [2 * BUCKETSIZE, 25769803776]";
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
            "ERROR: value must be in the range [2e-9, 1)",
        ),
        (
            "CF.RESERVE k 100 ERROR 1",
            "ERROR: value must be in the range [2e-9, 1)",
        ),
        (
            "CF.RESERVE k 100 ERROR NaN",
            "ERROR: value must be in the range [2e-9, 1)",
        ),
        (
            "CF.RESERVE k 100 ERROR 0.000000001",
            "ERROR: value must be in the range [2e-9, 1)",
        ),
        ("CF.RESERVE k 100 COLOUR blue", "Unknown argument received"),
        (
            "CF.RESERVE k 100 MAXCAPACITY x",
            "Couldn't parse MAXCAPACITY",
        ),
        (
            "CF.RESERVE k 100 MAXCAPACITY 99",
            "MAXCAPACITY: value must be in the range [100, 25769803776], and is 99",
        ),
        (
            "CF.RESERVE k 100 MAXCAPACITY -1",
            "MAXCAPACITY: value must be in the range [100, 25769803776], and is -1",
        ),
        (
            "CF.RESERVE k 100 MAXCAPACITY 25769803777",
            "MAXCAPACITY: value must be in the range [100, 25769803776], and is 25769803777",
        ),
        (
            "CF.RESERVE k 100 EXPANSION 0 MAXCAPACITY 200",
            "MAXCAPACITY and EXPANSION 0 exclude each other: with EXPANSION 0 the size is fixed",
        ),
        (
            "CF.RESERVE k 100 COUNTERS 6",
            "COUNTERS: value must be 4 or 8, and is 6",
        ),
        ("CF.RESERVE k 100 COUNTERS all", "Couldn't parse COUNTERS"),
        (
            "CF.RESERVE k 100 WINDOW 60 COUNTERS 16",
            "COUNTERS: value must be 4 or 8, and is 16",
        ),
        ("CF.RESERVE k 3 MAXCAPACITY 2", capacity),
        (
            "CF.RESERVE k 100 ERROR 0.00000001 MAXCAPACITY 400000",
            "ERR 28-bit fingerprints do not reach a false-positive rate of 1e-8: \
             the range is [1.5e-8, 1)",
        ),
        ("CF.RESERVE k 3", capacity),
        ("CF.RESERVE k 9 BUCKETSIZE 5", capacity),
        ("CF.RESERVE k 25769803777", capacity),
        ("CF.RESERVE k 1099511627776", capacity),
        ("CF.RESERVE k -5", capacity),
        // As in RedisBloom, a number is written in one way only.
        ("CF.RESERVE k +5", "Bad capacity"),
        ("CF.RESERVE k 007", "Bad capacity"),
        ("CF.RESERVE k 100 EXPANSION +1", "Couldn't parse EXPANSION"),
        (
            "CF.RESERVE k 100 BUCKETSIZE 02",
            "Couldn't parse BUCKETSIZE",
        ),
        (
            "CF.RESERVE k 100 MAXCAPACITY +900",
            "Couldn't parse MAXCAPACITY",
        ),
        ("CF.RESERVE k 100 WINDOW +60", "Couldn't parse WINDOW"),
        ("CF.RESERVE k 100 COUNTERS 08", "Couldn't parse COUNTERS"),
        ("CF.RESERVE there 100", "ERR item exists"),
    ];
    let server = Server::start(&["--maxmemory", "1mb"]);
    for protocol in PROTOCOLS {
        let mut client = server.client(protocol);
        ask::<()>(&mut client, "CF.RESERVE there 100");
        for (words, expected) in cases {
            assert_eq!(refusal(&mut client, words), expected, "{words}");
        }
        let keys: Vec<String> = ask(&mut client, "KEYS *");
        assert_eq!(keys, ["there"], "errors make no keys");
        ask::<()>(
            &mut client,
            "CF.RESERVE all 100 MAXITERATIONS 65535 bucketsize 4 Expansion 2 error 0.001 maxcapacity 900",
        );
        ask::<()>(&mut client, "FLUSHDB");
    }
}

#[test]
fn reserve_says_how_much_memory_is_missing() {
    let cases = [
        (
            "CF.RESERVE k 100 MAXCAPACITY 10000000",
            "OOM with MAXCAPACITY items the filter needs 17651064 bytes, and maxmemory is 1048576",
        ),
        (
            "CF.RESERVE k 1073741824 EXPANSION 0",
            "OOM the filter needs 1671780569 bytes, and of maxmemory, 1048576, there are",
        ),
    ];
    let server = Server::start(&["--maxmemory", "1mb"]);
    let mut client = server.client(PROTOCOLS[0]);
    for (words, expected) in cases {
        // The number of free bytes depends on the server.
        let refused = refusal(&mut client, words);
        assert!(refused.starts_with(expected), "{words}: {refused}");
    }
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), 0, "errors make no keys");
}

#[test]
fn other_commands_check_their_arguments() {
    in_both(|_, client| {
        for words in [
            "CF.ADD",
            "CF.ADD k",
            "CF.ADD k a b",
            "CF.ADDCOUNT k",
            "CF.ADDCOUNT k a b",
            "CF.ADDNX k",
            "CF.EXISTS k",
            "CF.EXISTS k a b",
            "CF.MADD k",
            "CF.MDEL k",
            "CF.MEXISTS k",
            "CF.MTOUCH k",
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
            let name = words.split(' ').next().unwrap().to_lowercase();
            let expected = format!("ERR wrong number of arguments for '{name}' command");
            assert_eq!(refusal(client, words), expected, "{words}");
        }
        let capacity = "Capacity must be in the range [cf-bucket-size * 2, 25769803776]";
        for command in ["CF.INSERT", "CF.INSERTNX"] {
            let cases = [
                ("k CAPACITY x ITEMS a", "Bad capacity"),
                ("k CAPACITY 3 ITEMS a", capacity),
                ("k CAPACITY 25769803777 ITEMS a", capacity),
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
